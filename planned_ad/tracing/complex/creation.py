"""Complex arrays that are made inside the traced function, and functions that write to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..record.dispatch import handler_of
from ..record.recorder import Recorder
from ..values.creation import array_of_items
from .complex_tracer import ComplexTracer
from .elementwise import into
from .functions import COMPLEX_FUNCTIONS, of_complex, part_of
from .pairs import complex_of


def made_complex(
    recorder: Recorder, obj: Any, dtype: Any = None, order: Any = None, copy: Any = None, ndmin: int = 0
) -> Any:
    """`numpy.array`."""
    kind = type(obj)
    found: Any
    if kind is list or kind is tuple:
        found = array_of_items(recorder, obj, dtype, "F" if order == "F" else "C")
    elif kind is ComplexTracer:
        wanted = obj.dtype if dtype is None else np.dtype(dtype)
        order = "K" if order is None else order
        fits = order in "KA" or obj.geometry.flags[f"{order}_CONTIGUOUS"]
        found = obj if not copy and wanted == obj.dtype and fits else obj.astype(wanted, order)
    else:
        found = complex_of(recorder, obj)
        found = found if dtype is None else found.astype(dtype)
    return found[(*(None,) * (ndmin - found.ndim), ...)] if ndmin > found.ndim else found


@of_complex(np.array)
def array(recorder, object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    return made_complex(recorder, object, dtype, order, copy, ndmin)


@of_complex(np.asarray, np.asanyarray)
def asarray(recorder, a, dtype=None, order=None, *, device=None, copy=None, like=None):
    return made_complex(recorder, a, dtype, order, copy)


@of_complex(np.ascontiguousarray)
def ascontiguousarray(recorder, a, dtype=None, *, like=None):
    return made_complex(recorder, a, dtype, "C", ndmin=1)


@of_complex(np.asfortranarray)
def asfortranarray(recorder, a, dtype=None, *, like=None):
    return made_complex(recorder, a, dtype, "F", ndmin=1)


@of_complex(np.copy)
def copy(recorder, a, order="K", subok=False):
    return complex_of(recorder, a).copy(order)


def like_of(number: float) -> Callable[..., Any]:
    def implementation(recorder, a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        base = np.empty_like(complex_of(recorder, a).geometry, dtype, order, True, shape)
        base[...] = number
        return recorder.concrete(base)

    return implementation


COMPLEX_FUNCTIONS |= {np.zeros_like: like_of(0), np.empty_like: like_of(0), np.ones_like: like_of(1)}


@of_complex(np.full_like)
def full_like(recorder, a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    prototype = a.geometry if type(a) is ComplexTracer or recorder.is_array(a) else np.asarray(a)
    found = recorder.concrete(np.zeros_like(prototype, dtype, order, True, shape))
    found[...] = fill_value
    return found


@of_complex(np.full)
def full(recorder, shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    wanted = np.dtype(dtype) if dtype is not None else complex_of(recorder, fill_value).dtype
    found = recorder.empty(shape, wanted, order)
    found[...] = fill_value
    return found


# Writes.


@of_complex(np.copyto)
def copyto(recorder, dst, src, casting="same_kind", where=True):
    given = recorder.call(np.asarray, (src,), {})
    into(recorder, np.positive, dst, given, where, casting)


def writing(function: Any) -> None:
    """Of a function that writes to its first argument, at places that its second one says or that it knows."""

    @of_complex(function)
    def write(recorder: Recorder, array: Any, *args: Any, **kwargs: Any) -> None:
        for which, target in enumerate((array.real, array.imag)):
            *places, values = args
            if handler_of((target, *places)) is not None:
                raise UnsupportedError(f"numpy.{function.__name__} takes no such complex argument here")
            recorder.call(function, (target, *places, part_of(recorder, values, which)), kwargs)


for _function in (np.fill_diagonal, np.put, np.place, np.putmask):
    writing(_function)
