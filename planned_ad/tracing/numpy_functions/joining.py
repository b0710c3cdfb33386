"""Arrays put together, taken apart, repeated, rolled and padded."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from ...regions.regions import View, c_strides
from ...tape.tape import Value
from ..record.dispatch import implements
from ..record.recorder import Recorder
from ..values.index_boxes import counted
from . import positions, shapes
from .support import (
    asarray,
    axis_of,
    broadcast,
    cast,
    geometry,
    promoted,
    raise_where,
    refuse,
    sequence,
    store,
    unsupported,
)
from .support import reshape as reshaped


def _at(ndim: int, axis: int, index: object) -> tuple[Any, ...]:
    """The subscript that applies `index` to `axis` alone."""
    return (*(index if k == axis else slice(None) for k in range(ndim)), ...)


def joined(recorder: Recorder, values: list[Value], axis: int, out: Any, layouts: list[np.ndarray | None]) -> Any:
    """Values of one dtype, one after the other along `axis`, in a fresh array or in `out`.

    `layouts` are arrays that lie in memory as those joined do (None: in row-major order).
    """
    first = values[0].shape
    if not first:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = axis_of(axis, len(first))
    for value in values:
        if len(value.shape) != len(first) or any(
            n != m for k, (n, m) in enumerate(zip(value.shape, first)) if k != axis
        ):
            raise ValueError(f"arrays to concatenate differ off axis {axis}: shapes {first} and {value.shape}")
    total = tuple(sum(v.shape[k] for v in values) if k == axis else n for k, n in enumerate(first))
    if out is not None and out.shape != total:
        raise ValueError(f"out has shape {out.shape}, the result {total}")
    whole = recorder.concrete(_memory(values, axis, layouts)) if out is None else out
    start = 0
    for value in values:
        stop = start + value.shape[axis]
        store(recorder, value, whole[_at(len(total), axis, slice(start, stop))])
        start = stop
    return whole


def _memory(values: list[Value], axis: int, layouts: list[np.ndarray | None]) -> np.ndarray:
    """Zeros in the layout that NumPy gives the joined array."""
    dtype = values[0].dtype
    parts = [np.zeros(v.shape, dtype) if g is None else np.zeros_like(g, dtype) for v, g in zip(values, layouts)]
    return np.concatenate(parts, axis)


@implements(np.concat)
@implements(np.concatenate)
def concatenate(recorder, arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    refuse("concatenate", casting=None if casting == "same_kind" else casting)
    if len(arrays) == 0:
        raise ValueError("need at least one array to concatenate")
    values = promoted(recorder, *arrays)
    if dtype is not None:
        values = [cast(recorder, v, dtype) for v in values]
    if axis is None:
        values, axis = [reshaped(recorder, v, (v.size,)) for v in values], 0
    layouts = [geometry(recorder, a) for a in arrays]
    fitting = [g if g is not None and g.shape == v.shape else None for g, v in zip(layouts, values)]
    return joined(recorder, values, axis, out, fitting)


@implements(np.stack)
def stack(recorder, arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    parts = [asarray(recorder, a) for a in sequence(arrays)]
    if not parts:
        raise ValueError("need at least one array to stack")
    if len({a.shape for a in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    axis = axis_of(axis, parts[0].ndim + 1)
    slabs = [a[(*(slice(None),) * axis, None)] for a in parts]
    return concatenate(recorder, slabs, axis, out, dtype=dtype, casting=casting)


@implements(np.vstack)
def vstack(recorder, tup, *, dtype=None, casting="same_kind"):
    arrays = [shapes.atleast_2d(recorder, a) for a in sequence(tup)]
    return concatenate(recorder, arrays, 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(recorder, tup, *, dtype=None, casting="same_kind"):
    arrays = [shapes.atleast_1d(recorder, a) for a in sequence(tup)]
    axis = 0 if arrays and arrays[0].ndim == 1 else 1
    return concatenate(recorder, arrays, axis, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(recorder, tup):
    return concatenate(recorder, [shapes.atleast_3d(recorder, a) for a in sequence(tup)], 2)


@implements(np.column_stack)
def column_stack(recorder, tup):
    arrays = [asarray(recorder, a) for a in sequence(tup)]
    columns = [shapes.atleast_2d(recorder, a).T if a.ndim < 2 else a for a in arrays]
    return concatenate(recorder, columns, 1)


@implements(np.append)
def append(recorder, arr, values, axis=None):
    return concatenate(recorder, (arr, values), axis)


@implements(np.block)
def block(recorder, arrays):
    def depth(part):
        return 1 + max(map(depth, part)) if isinstance(part, list) else 0

    def rank(part):
        return max(map(rank, part)) if isinstance(part, list) else asarray(recorder, part).ndim

    levels = depth(arrays)
    ndim = max(levels, rank(arrays))

    def assemble(part, level):
        if isinstance(part, list):
            if not part:
                raise ValueError("List at arrays cannot be empty")
            return concatenate(recorder, [assemble(p, level + 1) for p in part], axis=level - levels)
        a = asarray(recorder, part)
        return a[(None,) * (ndim - a.ndim)]

    result = assemble(arrays, 0)
    return result if levels else recorder.array(recorder.value_of(result))


# Taken apart: the parts are views.


def _implement_split(function: Any) -> None:
    @implements(function)
    def parts(recorder: Recorder, ary: Any, *arguments: Any, **options: Any) -> Any:
        a = asarray(recorder, ary)
        several = [isinstance(p, list | tuple) or np.ndim(p) for p in arguments]
        places = [
            p if recorder.is_concrete(p) else [*map(operator.index, p)] if many else operator.index(p)
            for many, p in zip(several, arguments)
        ]
        pieces = function(a.geometry, *places, **options)
        return type(pieces)(recorder.seen(a, piece) for piece in pieces)


for _function in (
    np.split,
    np.array_split,
    np.hsplit,
    np.vsplit,
    np.dsplit,
    *([np.unstack] if hasattr(np, "unstack") else []),
):
    _implement_split(_function)


# Repeated, rolled, padded.


@implements(np.repeat)
def repeat(recorder, a, repeats, axis=None):
    if not recorder.is_concrete(repeats):
        if recorder.is_scalar(repeats):
            raise unsupported("np.repeat with a traced count", "the count fixes the shape: pass a static integer")
        return _repeated(recorder, asarray(recorder, a), asarray(recorder, repeats), axis)
    value = recorder.value_of(a)
    if axis is None:
        value, axis = reshaped(recorder, value, (value.size,)), 0
    axis = axis_of(axis, len(value.shape))
    counts = np.asarray(recorder.number_of(repeats))
    if counts.size != 1:
        order = np.repeat(np.arange(value.shape[axis]), counts)
        return _row_major(recorder, recorder.array(value)[_at(len(value.shape), axis, order)])
    count, shape = int(counts.reshape(())), value.shape
    if count < 0:
        raise ValueError("repeats may not contain negative values.")
    strides = c_strides(shape)
    each = View(0, (*shape[: axis + 1], count, *shape[axis + 1 :]), (*strides[: axis + 1], 0, *strides[axis + 1 :]))
    whole = (*shape[:axis], shape[axis] * count, *shape[axis + 1 :])
    return recorder.array(reshaped(recorder, recorder.builder.view(value, each), whole))


def _repeated(recorder: Recorder, a: Any, repeats: Any, axis: int | None) -> Any:
    """By traced counts; how many elements there are is the number of the example (a guard), or data, as in `arange`."""
    raise_where(recorder, np.any(repeats < 0), ValueError("repeats may not contain negative values."))
    a, axis = (a.ravel(), 0) if axis is None else (a, axis_of(axis, a.ndim))
    ends = np.cumsum(np.broadcast_to(repeats, (a.shape[axis],))).astype(np.int64)
    places = recorder.call(np.arange, (ends[-1].item(),), {})
    order = recorder.call(np.searchsorted, (ends, places), {"side": "right"})
    return _row_major(recorder, a[_at(a.ndim, axis, order)])


def _row_major(recorder: Recorder, a: Any) -> Any:
    """What index arrays selected, in the memory order of the functions here."""
    return a if not recorder.is_array(a) or a.flags.c_contiguous else recorder.array(recorder.value_of(a))


@implements(np.tile)
def tile(recorder, A, reps):
    value = recorder.value_of(A)
    counts = tuple(int(n) for n in np.atleast_1d(reps))
    ndim = max(len(counts), len(value.shape))
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - len(value.shape)) + value.shape
    pairs = tuple(zip(counts, shape))
    strides = tuple(s for stride in c_strides(shape) for s in (0, stride))
    tiled = recorder.builder.view(value, View(0, tuple(n for pair in pairs for n in pair), strides))
    return recorder.array(reshaped(recorder, tiled, tuple(count * n for count, n in pairs)))


@implements(np.roll)
def roll(recorder, a, shift, axis=None):
    if recorder.is_scalar(shift) and not recorder.is_concrete(shift) and not isinstance(axis, tuple):
        flat = asarray(recorder, a) if axis is not None else asarray(recorder, a).reshape(-1)
        count = flat.shape[axis or 0]
        rolled = np.take(flat, (np.arange(count) - shift) % count, axis=axis or 0)
        return rolled.reshape(np.shape(a))
    if not recorder.is_concrete(shift):
        raise unsupported("np.roll by traced shifts", "pass them as static integers, or roll by one after another")
    value = recorder.value_of(a)
    if axis is None:
        flat = reshaped(recorder, value, (value.size,))
        rolled = _rolled(recorder, flat, {0: int(np.sum(recorder.number_of(shift)))})
        return recorder.array(reshaped(recorder, recorder.value_of(rolled), value.shape))
    shifts: dict[int, int] = {}
    for each, k in np.broadcast(recorder.number_of(shift), axis):
        k = axis_of(k, len(value.shape))
        shifts[k] = shifts.get(k, 0) + int(each)
    return _rolled(recorder, value, shifts, geometry(recorder, a))


def _rolled(recorder: Recorder, value: Value, shifts: dict[int, int], like: np.ndarray | None = None) -> Any:
    """Each block of `value` between the cuts goes to its new place."""
    if value.size == 0:
        return recorder.array(value)
    choices: list[list[tuple[slice, slice]]] = []
    for k, n in enumerate(value.shape):
        s = shifts.get(k, 0) % n
        whole = [(slice(None), slice(None))]
        choices.append([(slice(s, None), slice(None, n - s)), (slice(None, s), slice(n - s, None))] if s else whole)
    base = np.zeros(value.shape, value.dtype) if like is None else np.zeros_like(like)
    source, out = recorder.array(value), recorder.concrete(base)
    for block in itertools.product(*choices):
        out[tuple(to for to, _ in block) + (...,)] = source[tuple(origin for _, origin in block) + (...,)]
    return out


@implements(np.pad)
def pad(recorder, array, pad_width, mode="constant", *, constant_values=0, reflect_type="even", **options):
    """Modes constant, empty (zeros), edge, reflect, symmetric and wrap."""
    a = asarray(recorder, array)
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * a.ndim
        for k, width in pad_width.items():
            widths[k] = (width, width) if np.ndim(width) == 0 else tuple(width)
        pad_width = widths
    widths = [(int(before), int(after)) for before, after in np.broadcast_to(pad_width, (a.ndim, 2))]
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError("index can't contain negative values")
    if callable(mode) or mode not in ("constant", "empty", "edge", "reflect", "symmetric", "wrap"):
        raise unsupported(f"np.pad with mode={mode!r}", "use constant, edge, reflect, symmetric or wrap")
    refuse("pad", reflect_type=None if reflect_type == "even" else reflect_type, **options)
    if mode in ("constant", "empty"):
        return _padded(recorder, a, widths, constant_values)
    return _extended(recorder, a, widths, mode)


def _extended(recorder: Recorder, a: Any, widths: list[tuple[int, int]], mode: Any) -> Any:
    """Axis after axis, the margins are filled from what is there; a later axis has the corners."""
    out, inside = _surrounded(recorder, a, widths)
    out[(*inside, ...)] = a
    for axis, (n, (before, after)) in enumerate(zip(a.shape, widths)):
        sources = np.pad(np.arange(n), (before, after), mode) + before
        rest = (*inside[axis + 1 :], ...)
        for start, stop in ((0, before), (before + n, before + n + after)):
            for margin, source in counted(sources[start:stop]) if start < stop else ():
                there = slice(start + margin.start, start + margin.stop)
                out[(*(slice(None),) * axis, there, *rest)] = out[(*(slice(None),) * axis, source, *rest)]
    return out


def _surrounded(recorder: Recorder, a: Any, widths: list[tuple[int, int]]) -> tuple[Any, list[slice]]:
    """Zeros with margins of these widths around a place for `a`, and where that is."""
    shape = tuple(before + n + after for n, (before, after) in zip(a.shape, widths))
    inside = [slice(before, before + n) for n, (before, _) in zip(a.shape, widths)]
    return recorder.empty(shape, a.dtype, "F" if a.flags.fnc else "C"), inside


def _padded(recorder: Recorder, a: Any, widths: list[tuple[int, int]], numbers: Any) -> Any:
    """Axis after axis, the margins are filled; a later axis has the corners."""
    out, inside = _surrounded(recorder, a, widths)
    if np.ndim(numbers) == 0:
        pairs = [(numbers, numbers)] * a.ndim
    else:
        pairs = [tuple(pair) for pair in np.broadcast_to(numbers, (a.ndim, 2))]
    for axis, ((before, after), (low, high)) in enumerate(zip(widths, pairs)):
        rest = tuple(inside[axis + 1 :])
        if before:
            out[((slice(None),) * axis) + (slice(None, before), *rest, ...)] = low
        if after:
            out[((slice(None),) * axis) + (slice(before + a.shape[axis], None), *rest, ...)] = high
    out[(*inside, ...)] = a
    return out


@implements(np.insert)
def insert(recorder, arr, obj, values, axis=None):
    is_one = positions.is_one_traced(recorder, obj)
    a, axis = _lined(recorder, arr, axis) if is_one else _static_position(recorder, "insert", arr, obj, axis)
    values = asarray(recorder, values)
    values = values[(None,) * (a.ndim - values.ndim)]
    if np.ndim(obj) == 0 and not isinstance(obj, slice):
        values = shapes.view(recorder, values, np.moveaxis, 0, axis)
    if is_one:
        shape = (*a.shape[:axis], values.shape[axis], *a.shape[axis + 1 :])
        values = recorder.array(broadcast(recorder, recorder.value_of(values, a.dtype), shape))
        order = positions.places_with_inserted(recorder, obj, a.shape[axis], shape[axis], axis)
        return np.take(concatenate(recorder, (a, values), axis), order, axis)
    slots = np.arange(a.shape[axis])[obj] if isinstance(obj, slice) else np.asarray(obj)
    count = np.count_nonzero(slots) if slots.dtype == bool else slots.size
    count = values.shape[axis] if count == 1 else count
    # Old elements keep their number, the new ones are -1, -2, ...: NumPy then says where each goes.
    order = np.insert(np.arange(a.shape[axis]), obj, -1 - np.arange(count))
    new = np.flatnonzero(order < 0)
    out = recorder.empty((*a.shape[:axis], len(order), *a.shape[axis + 1 :]), a.dtype, "F" if a.flags.fnc else "C")
    out[_at(a.ndim, axis, np.flatnonzero(order >= 0))] = a
    out[_at(a.ndim, axis, new[np.argsort(-order[new])])] = values
    return out


@implements(np.delete)
def delete(recorder, arr, obj, axis=None):
    if positions.is_one_traced(recorder, obj):
        a, axis = _lined(recorder, arr, axis)
        rest = np.take(a, positions.places_without(recorder, obj, a.shape[axis], axis), axis)
        return rest.copy("F") if a.flags.fnc else rest
    a, axis = _static_position(recorder, "delete", arr, obj, axis)
    rest = a[_at(a.ndim, axis, np.delete(np.arange(a.shape[axis]), obj))]
    if not isinstance(obj, slice) and np.ndim(obj):
        return rest
    return rest.copy("F") if a.flags.fnc else _row_major(recorder, rest)


def _static_position(recorder: Recorder, name: str, arr: object, obj: object, axis: int | None) -> tuple[Any, int]:
    if not (isinstance(obj, slice) or recorder.is_concrete(obj)):
        raise unsupported(
            f"np.{name} at a traced position", "the position fixes the shape: pass it as a static integer"
        )
    return _lined(recorder, arr, axis)


def _lined(recorder: Recorder, arr: object, axis: int | None) -> tuple[Any, int]:
    """An array and the axis that is meant; all of it as one line where that is None."""
    a = asarray(recorder, arr)
    return (a.ravel(), 0) if axis is None else (a, axis_of(axis, a.ndim))
