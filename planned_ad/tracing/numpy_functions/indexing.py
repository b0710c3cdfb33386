"""Choice and indexing: where, clip, take, put and their kin."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..record.dispatch import implements
from ..record.promotion import memory_like
from ..record.recorder import Recorder
from .support import BOOL, NO_VALUE, asarray, axis_of, broadcast, cast, deliver, refuse, unsupported

UNSIGNED_OR_INT = "iu"
OF_UFUNCS = ("where", "dtype", "casting")  # options of clip that are those of the ufunc behind it
CLIP: Any = np._core.umath.clip  # type: ignore[attr-defined]


@functools.cache
def where_wraps() -> bool:
    """Whether integers of Python's that the dtype does not have are no error in `numpy.where`, as before 2.5."""
    try:
        np.where(True, np.zeros(1, np.uint8), 300)
    except OverflowError:
        return False
    return True


@implements(np.where)
def where(recorder, condition, x=NO_VALUE, y=NO_VALUE, /):
    """With one argument, the positions of what is true: their number is fixed by the example (a guard)."""
    if (x is NO_VALUE) != (y is NO_VALUE):
        raise ValueError("either both or neither of x and y should be given")
    if x is NO_VALUE:
        return asarray(recorder, condition).nonzero()
    dtype = recorder.result_type(x, y)
    choice = cast(recorder, recorder.value_of(condition), BOOL)
    to = None if dtype.kind in "iu" and where_wraps() else dtype
    one, other = (recorder.builder.cast(recorder.value_of(v, to), dtype) for v in (x, y))
    shape = np.broadcast_shapes(choice.shape, one.shape, other.shape)
    values = (v if v.shape == () else broadcast(recorder, v, shape) for v in (choice, one, other))
    base = memory_like([condition, x, y], shape, dtype)
    value = recorder.apply("where", *values)
    return recorder.array(value) if base is None else recorder.fresh(base, value)


@implements(np.nonzero)
def nonzero(recorder, a):
    return asarray(recorder, a).nonzero()


@implements(np.flatnonzero)
def flatnonzero(recorder, a):
    return asarray(recorder, a).ravel().nonzero()[0]


@implements(np.select)
def select(recorder, condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError("select takes as many choices as conditions, and at least one")
    if any(asarray(recorder, c).dtype != BOOL for c in condlist):
        raise TypeError("invalid entry in condlist: should be boolean ndarray")
    dtype = recorder.result_type(*choicelist, default)
    result = recorder.array(recorder.value_of(default, dtype))
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        result = where(recorder, condition, recorder.array(recorder.value_of(choice, dtype)), result)
    return result


@implements(np.clip)
def clip(recorder, a, a_min=NO_VALUE, a_max=NO_VALUE, out=None, *, min=NO_VALUE, max=NO_VALUE, **options):
    refuse("clip", **{name: value for name, value in options.items() if name not in OF_UFUNCS})
    low, high = (  # as NumPy names them since 2.1, or before
        None if bound is NO_VALUE else bound
        for bound in (min if a_min is NO_VALUE else a_min, max if a_max is NO_VALUE else a_max)
    )
    a = asarray(recorder, a)
    low, high = _bound(recorder, a, low, np.maximum), _bound(recorder, a, high, np.minimum)
    if low is None and high is None:
        return deliver(recorder, recorder.value_of(a), out)
    if low is None:
        return np.minimum(a, high, out=out, **options)  # type: ignore[arg-type]
    return np.maximum(a, low, out=out, **options) if high is None else CLIP(a, low, high, out=out, **options)


def _bound(recorder, a, bound, nearer):
    """One end for `clip`: an integer of Python's that is beyond what the array can have is none."""
    is_python = type(bound) is int or (recorder.is_scalar(bound) and bound.is_python and bound.dtype.kind == "i")
    if not is_python or a.dtype.kind not in UNSIGNED_OR_INT:
        return bound
    ends = np.iinfo(a.dtype)
    if type(bound) is int:
        return None if (bound < ends.min if nearer is np.maximum else bound > ends.max) else bound
    end = int(ends.min) if nearer is np.maximum else int(ends.max)
    return bound if end > np.iinfo(np.int64).max else nearer(bound, end).item()


# Taking elements out.


def _wrapped(recorder: Recorder, indices: Any, n: int, mode: str, name: str) -> Any:
    """Indices as subscripts: NumPy's modes for those out of range."""
    if not recorder.is_scalar(indices):
        indices = np.asarray(indices) if recorder.is_concrete(indices) else asarray(recorder, indices)
    if indices.dtype.kind not in UNSIGNED_OR_INT:
        raise TypeError(f"{name}: indices must be integers, not {indices.dtype}")
    if mode == "wrap":
        return indices % n
    if mode == "clip":
        return np.clip(indices, 0, n - 1)
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    return indices


@implements(np.take)
def take(recorder, a, indices, axis=None, out=None, mode="raise"):
    a = asarray(recorder, a)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = axis_of(axis, a.ndim)
    chosen = _wrapped(recorder, indices, a.shape[axis], mode, "take")
    result = a[(*(slice(None),) * axis, chosen)]
    return deliver(recorder, recorder.value_of(result), out)


@implements(np.compress)
def compress(recorder, condition, a, axis=None, out=None):
    if not recorder.is_concrete(condition):
        condition, a = asarray(recorder, condition), asarray(recorder, a)
        if condition.ndim != 1:
            raise ValueError("condition must be a 1-d array")
        a, axis = (a.ravel(), 0) if axis is None else (a, axis_of(axis, a.ndim))
        ahead = (slice(None),) * axis
        result = a[(*ahead, slice(len(condition)))][(*ahead, condition != 0)]
        if out is not None:
            raise unsupported("np.compress with `out` and a traced condition", "its result is as long as data say")
        return result
    return take(recorder, a, np.flatnonzero(recorder.number_of(condition)), axis, out)


@implements(np.extract)
def extract(recorder, condition, arr):
    return compress(recorder, np.ravel(condition), asarray(recorder, arr).ravel())


def _along(recorder: Recorder, a: Any, indices: Any, axis: int | None) -> tuple[Any, tuple[Any, ...]]:
    """`a` (flat where axis is None) and the subscripts of what `indices` name along `axis`."""
    indices = np.asarray(indices) if recorder.is_concrete(indices) else asarray(recorder, indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        a, axis = a.reshape(-1), 0
    axis = axis_of(axis, a.ndim)
    if indices.dtype.kind not in UNSIGNED_OR_INT:
        raise IndexError("`indices` must be an integer array")
    if indices.ndim != a.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    subscripts: list[Any] = []
    for k, n in enumerate(a.shape):
        others = tuple(-1 if j == k else 1 for j in range(a.ndim))
        subscripts.append(indices if k == axis else np.arange(n).reshape(others))
    return a, tuple(subscripts)


@implements(np.take_along_axis)
def take_along_axis(recorder, arr, indices, axis=-1):
    a, subscripts = _along(recorder, asarray(recorder, arr), indices, axis)
    return a[subscripts]


@implements(np.put_along_axis)
def put_along_axis(recorder, arr, indices, values, axis):
    if axis is None and arr.ndim != 1:
        raise unsupported("np.put_along_axis with axis=None", "assign to a flat view, x.reshape(-1)[indices] = values")
    a, subscripts = _along(recorder, arr, indices, axis)
    a[subscripts] = values


@implements(np.put)
def put(recorder, a, ind, v, mode="raise"):
    """Positions count through `a` row by row; too few values are taken again from the first."""
    size = int(np.prod(a.shape, dtype=np.int64))
    position = _wrapped(recorder, ind, size, mode, "put").reshape(-1)
    if position.size == 0:
        return
    if mode == "raise":
        position = np.where(position < 0, position + size, position)
    subscripts: list[Any] = []
    for n in reversed(a.shape[1:]):
        subscripts.append(position % n)
        position = position // n
    subscripts.append(position)
    values = asarray(recorder, v).ravel()
    count = subscripts[0].shape[0]
    a[tuple(reversed(subscripts))] = values[np.arange(count) % values.shape[0]]


@implements(np.place)
def place(recorder, arr, mask, vals):
    """Values are taken again from the first where there are too few."""
    values = asarray(recorder, vals).ravel()
    if not values.shape[0]:
        raise ValueError("Cannot insert from an empty array!")
    mask = asarray(recorder, mask)
    mask = mask if mask.dtype == BOOL else mask != 0
    if mask.shape != arr.shape:
        mask = mask.reshape(arr.shape)
    rank = np.cumsum(mask.ravel()).reshape(arr.shape) - 1
    arr[...] = np.where(mask, values[np.maximum(rank, 0) % values.shape[0]].astype(arr.dtype), arr)


@implements(np.choose)
def choose(recorder, a, choices, out=None, mode="raise"):
    choices = list(choices) if not recorder.is_array(choices) else [choices[k] for k in range(choices.shape[0])]
    dtype = recorder.result_type(*choices)
    chosen = _wrapped(recorder, a, len(choices), mode, "choose")
    parts = [asarray(recorder, choice).astype(dtype) for choice in choices]
    shape = np.broadcast_shapes(np.shape(chosen), *(part.shape for part in parts))
    stacked = np.stack([np.broadcast_to(part, shape) for part in parts])
    found = stacked[(np.broadcast_to(asarray(recorder, chosen), shape), *np.ix_(*map(np.arange, shape)))]
    return deliver(recorder, recorder.value_of(found), out)


@implements(np.putmask)
def putmask(recorder, a, mask, values):
    values = asarray(recorder, values)
    if values.ndim and values.shape != a.shape:
        raise unsupported("np.putmask with values of another shape", "use np.where, or assign with a boolean index")
    a[...] = np.where(mask, values.astype(a.dtype), a)
