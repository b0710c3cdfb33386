"""Arrays that are made inside the traced function, by `zeros_like`, `array`, `asarray` and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.dispatch import implements
from ..record.promotion import dtype_of
from ..record.recorder import Recorder
from ..record.traced import TRACERS, TracedArray, owning
from .number_types import ALWAYS_ONE, types_in, types_of


def array_of_items(recorder: Recorder, items: Any, dtype: Any = None, order: Any = "C") -> TracedArray:
    """`numpy.array(items)` for nested lists and tuples with traced items: a fresh array with a store for each item."""
    leaves: list[tuple[tuple[int, ...], Any]] = []
    shape, dtypes = _shape_of(recorder, items, (), leaves), set[np.dtype]()
    if dtype is None:
        dtype = recorder.result_type(*[_typed(recorder, leaf) for _, leaf in leaves])
        dtypes = _dtypes_of([leaf for _, leaf in leaves])
    dtype = np.dtype(dtype)
    out = owning(recorder.empty(shape, dtype, order))
    for position, leaf in leaves:
        out[(*position, ...)] = leaf
    if dtypes:
        out.types = frozenset((kind, False) for kind in dtypes)
    return out


def _dtypes_of(leaves: list[Any]) -> set[np.dtype]:
    """The dtypes that an array of these may have, where it is several."""
    if not any(map(types_in, leaves)):
        return set()
    found: set[np.dtype] = set()
    for leaf in leaves:
        kinds = {leaf.dtype} if getattr(leaf, "ndim", 0) else {kind for kind, _ in types_of(leaf)}
        found = {np.result_type(a, b) for a in found or kinds for b in kinds}
    return found


def array_of_objects(recorder: Recorder, items: Any) -> np.ndarray:
    """`numpy.array(items, dtype=object)`: a plain array, of traced numbers, or arrays unlike in shape."""
    leaves: list[tuple[tuple[int, ...], Any]] = []
    try:
        shape = _shape_of(recorder, items, (), leaves)
    except ValueError:
        shape, leaves = (len(items),), [((k,), item) for k, item in enumerate(items)]
    out = np.empty(shape, object)
    for position, leaf in leaves:
        if len(position) == len(shape):
            out[position] = leaf.item() if recorder.is_scalar(leaf) else leaf
        else:
            for rest in np.ndindex(leaf.shape):
                out[(*position, *rest)] = leaf[rest].item()
    return out


def _typed(recorder: Recorder, leaf: Any) -> Any:
    """A Python number in a list of items is not weak."""
    if hasattr(leaf, "dtype"):
        return np.empty((), leaf.dtype)
    return np.empty((), dtype_of(leaf))


def _shape_of(recorder: Recorder, item: Any, position: tuple[int, ...], leaves: list) -> tuple[int, ...]:
    if type(item) is list or type(item) is tuple:
        shapes = [_shape_of(recorder, part, (*position, k), leaves) for k, part in enumerate(item)]
        if len(set(shapes)) > 1:
            raise ValueError(
                "setting an array element with a sequence. The requested array has an inhomogeneous shape after "
                f"{len(position) + 1} dimensions."
            )
        return (len(item), *(shapes[0] if shapes else ()))
    leaves.append((position, item))
    return item.shape if recorder.is_array(item) else np.shape(item) if isinstance(item, np.ndarray) else ()


def _as_array(recorder: Recorder, obj: Any, dtype: Any, order: Any, copy: bool | None) -> Any:
    """`numpy.array(obj, dtype, copy=copy, order=order)` for traced `obj`."""
    if isinstance(copy, np._CopyMode):
        copy = {np._CopyMode.ALWAYS: True, np._CopyMode.NEVER: False}.get(copy)
    recorder.mark()
    if dtype is not None and np.dtype(dtype) == object:
        return array_of_objects(recorder, obj)
    if recorder.is_array(obj):
        array = obj
        order = "K" if order is None else order.upper()
        wanted = array.dtype if dtype is None else np.dtype(dtype)
        fits = order in "KA" or array.geometry.flags[f"{order}_CONTIGUOUS"]
        if not copy and wanted == array.dtype and fits:
            return array
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(wanted, order)
    if recorder.is_scalar(obj):
        if dtype is not None and np.dtype(dtype).kind == "c":
            return TRACERS.complex_of(obj).astype(dtype)
        made = recorder.array(recorder.value_of(obj, dtype))
        if dtype is None and obj.types:
            made.types = obj.types
        return made
    return array_of_items(recorder, obj, dtype, "F" if order == "F" else "C")


@implements(np.array)
def array(recorder, object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    result = _as_array(recorder, object, dtype, order, copy)
    return result[(*(None,) * (ndmin - result.ndim), ...)] if ndmin > result.ndim else result


@implements(np.asarray)
def asarray(recorder, a, dtype=None, order=None, *, device=None, copy=None, like=None):
    return _as_array(recorder, a, dtype, order, copy)


@implements(np.asanyarray)
def asanyarray(recorder, a, dtype=None, order=None, **options):
    return _as_array(recorder, a, dtype, order, None)


@implements(np.ascontiguousarray)
def ascontiguousarray(recorder, a, dtype=None, *, like=None):
    result = _as_array(recorder, a, dtype, "C", None)
    return result if result.ndim else result[None]


@implements(np.asfortranarray)
def asfortranarray(recorder, a, dtype=None, *, like=None):
    return _as_array(recorder, a, dtype, "F", None)


@implements(np.asarray_chkfinite)
def asarray_chkfinite(recorder, a, dtype=None, order=None):
    return _as_array(recorder, a, dtype, order, None)


def _like(recorder: Recorder, prototype: Any, dtype: Any, order: Any, shape: Any, number: Any) -> Any:
    if type(prototype) is list or type(prototype) is tuple:
        prototype = array_of_items(recorder, prototype)
    prototype = prototype.geometry if recorder.is_array(prototype) else np.empty(prototype.shape, prototype.dtype)
    base = np.empty_like(prototype, dtype, order, True, shape)
    base[...] = number
    return owning(recorder.concrete(base))


@implements(np.zeros_like)
@implements(np.empty_like)
def zeros_like(recorder, a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(recorder, a, dtype, order, shape, 0)


@implements(np.ones_like)
def ones_like(recorder, a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(recorder, a, dtype, order, shape, 1)


@implements(np.full_like)
def full_like(recorder, a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    result = _like(recorder, a, dtype, order, shape, 0)
    result[...] = fill_value
    return result


def full(recorder, shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    types = types_in(fill_value) if dtype is None else ALWAYS_ONE
    if dtype is None:
        dtype = recorder.value_of(fill_value).dtype
    result = owning(recorder.empty(shape, np.dtype(dtype), order))
    result[...] = fill_value
    if types:
        result.types = types
    return result


@implements(np.copyto)
def copyto(recorder, dst, src, casting="same_kind", where=True):
    given = recorder.value_of(src)
    if not recorder.is_array(dst):
        raise TypeError(f"copyto() argument 1 must be numpy.ndarray, not {type(dst).__name__}")
    if not np.can_cast(given.dtype, dst.dtype, casting) and not isinstance(src, int | float):
        raise TypeError(
            f"Cannot cast array data from {given.dtype!r} to {dst.dtype!r} according to the rule {casting!r}"
        )
    if where is True:
        dst[...] = src
        return
    value = recorder.array(recorder.builder.cast(given, dst.dtype))
    dst[...] = np.where(where, value, dst)


@implements(np.shares_memory)
@implements(np.may_share_memory)
def shares_memory(recorder, a, b, max_work=None):
    if not (recorder.is_array(a) and recorder.is_array(b)):
        return False
    if a.storage is not b.storage:
        if recorder.identity is not None:
            recorder.identity.memory_compared(a, b)
        recorder.copies.compared(a.storage, b.storage)
        return False
    return np.shares_memory(a.geometry, b.geometry, max_work)


@implements(np.result_type)
def result_type(recorder, *arrays_and_dtypes):
    is_dtype = (type, np.dtype, str)
    given = [np.empty((), np.dtype(a)) if isinstance(a, is_dtype) else a for a in arrays_and_dtypes]
    return recorder.result_type(*given)


@implements(np.isscalar)
def isscalar(recorder, element):
    return recorder.is_scalar(element)
