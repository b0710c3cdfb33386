"""Views with other shapes: they alias what they show, as NumPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..record.dispatch import implements
from ..record.recorder import Recorder
from .support import NO_VALUE, asarray, axes_of, unsupported


@implements(np.shape)
def shape(recorder, a):
    return asarray(recorder, a).shape


@implements(np.ndim)
def ndim(recorder, a):
    return asarray(recorder, a).ndim


@implements(np.size)
def size(recorder, a, axis=None):
    extents = asarray(recorder, a).shape
    return int(np.prod([extents[k] for k in axes_of(axis, len(extents))], dtype=np.int64))


@implements(np.reshape)
def reshape(recorder, a, /, shape=NO_VALUE, order="C", *, newshape=NO_VALUE, copy=None):
    shape = newshape if shape is NO_VALUE else shape
    return asarray(recorder, a).reshape(shape, order=order, copy=copy)


@implements(np.ravel)
def ravel(recorder, a, order="C"):
    return asarray(recorder, a).ravel(order)


def view(recorder: Recorder, a: Any, function: Callable[..., np.ndarray], *arguments: Any, **options: Any) -> Any:
    """What NumPy's `function` shows of `a`: an array that lies in the same memory."""
    a = asarray(recorder, a)
    geometry = function(a.geometry, *arguments, **options)
    if geometry.size and not np.may_share_memory(geometry, a.geometry):
        raise unsupported(f"np.{function.__name__} where it makes a copy", "index or reshape the array instead")
    return recorder.seen(a, geometry)


def _implement_view(function: Callable[..., Any]) -> None:
    @implements(function)
    def show(recorder: Recorder, a: Any, *arguments: Any, **options: Any) -> Any:
        return view(recorder, a, function, *arguments, **options)


for _function in (
    np.transpose,
    np.permute_dims,
    np.matrix_transpose,
    np.linalg.matrix_transpose,
    np.swapaxes,
    np.moveaxis,
    np.rollaxis,
    np.squeeze,
    np.expand_dims,
    np.broadcast_to,
    np.flip,
    np.fliplr,
    np.flipud,
    np.rot90,
    np.diagonal,
    np.linalg.diagonal,
    np.lib.stride_tricks.sliding_window_view,
):
    _implement_view(_function)


@implements(np.lib.stride_tricks.as_strided)
def as_strided(recorder, x, shape=None, strides=None, subok=False, writeable=True):
    """Read-only, as its elements may lie in the same memory."""
    a = asarray(recorder, x)
    geometry = np.lib.stride_tricks.as_strided(a.geometry, shape, strides, writeable=False)
    (low, high), (first, last) = (np.lib.array_utils.byte_bounds(g) for g in (a.geometry, geometry))
    if geometry.size and (first < low or last > high or any(stride % a.itemsize for stride in geometry.strides)):
        raise unsupported("as_strided beyond the elements of its array", "give it the array that has them all")
    return recorder.seen(a, geometry)


def shape_as_known(recorder, shape):
    """A shape, to be compared: of extents that are data what computes them."""
    return tuple(recorder.value_of(n) if recorder.is_scalar(n) else n for n in shape)


@implements(np.broadcast_shapes)
def broadcast_shapes(recorder, *shapes):
    """Of shapes with extents that are data, where all are the same."""
    if len({shape_as_known(recorder, shape) for shape in shapes}) > 1:
        raise unsupported("np.broadcast_shapes of extents known at run time only", "give arrays of one shape")
    return tuple(shapes[0])


@implements(np.broadcast_arrays)
def broadcast_arrays(recorder, *args, subok=False):
    """Repeated elements are read-only (NumPy warns); known numbers stay known."""

    def of_numbers(obj: Any) -> Any:
        return recorder.concrete(recorder.number_of(obj)) if recorder.is_concrete(obj) else asarray(recorder, obj)

    arrays = [a if recorder.is_array(a) else of_numbers(a) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return tuple(a if a.shape == shape else view(recorder, a, np.broadcast_to, shape) for a in arrays)


def _at_least(function: Callable[..., Any]) -> Callable[..., Any]:
    @implements(function)
    def expand(recorder: Recorder, *arys: Any) -> Any:
        results = tuple(view(recorder, a, function) for a in arys)
        return results[0] if len(results) == 1 else results

    return expand


NUMPYS: tuple[Callable[..., Any], ...] = (np.atleast_1d, np.atleast_2d, np.atleast_3d)
atleast_1d, atleast_2d, atleast_3d = map(_at_least, NUMPYS)


@implements(np.real)
def real(recorder, val):
    return asarray(recorder, val)


@implements(np.imag)
def imag(recorder, val):
    a = asarray(recorder, val)
    return recorder.concrete(np.zeros(a.shape, a.dtype))


@implements(np.iscomplexobj)
def iscomplexobj(recorder, x):
    return False


@implements(np.isrealobj)
def isrealobj(recorder, x):
    return True


@implements(np.copy)
def copy(recorder, a, order="K", subok=False):
    return asarray(recorder, a).copy(order)
