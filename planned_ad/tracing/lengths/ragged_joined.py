"""Arrays joined of which some have extents that loops move; `concatenate((x[:k], x[k + 1:]))` has a fixed one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...regions.affine import exact, ragged
from ...regions.regions import View, contiguous
from ..record.recorder import Recorder
from .ragged import RaggedArray, seen
from .varying import MOVED, refused


def joined_arrays(recorder: Recorder, arrays: Any) -> list[Any]:
    """What is joined, lists of numbers among it, as arrays."""
    is_list = [isinstance(a, list | tuple) for a in arrays]
    return [recorder.call(np.array, (a,), {}) if one else a for a, one in zip(arrays, is_list)]


def ragged_concatenate(recorder: Recorder, arrays: Any, axis: Any = 0) -> Any:
    """`numpy.concatenate`."""
    arrays = joined_arrays(recorder, arrays)
    parts = [a if type(a) is RaggedArray else recorder.array(recorder.value_of(a)) for a in arrays]
    if axis is None or any(type(a) is RaggedArray and a.ndim != parts[0].ndim for a in parts):
        raise refused(recorder, "joins, in this way,", MOVED)
    dtype = recorder.result_type(*(np.empty((), a.dtype) for a in parts))
    layouts = [a.layout for a in parts]
    if not -parts[0].ndim <= axis < parts[0].ndim:
        raise np.exceptions.AxisError(axis, parts[0].ndim)
    axis = int(axis) % parts[0].ndim
    beside = {(*layout.shape[:axis], *layout.shape[axis + 1 :]) for layout in layouts}
    extents = [exact(layout.shape[axis]) for layout in layouts]
    if len(beside) > 1 or any(recorder.scopes.bounds(extent)[0] < 0 for extent in extents):
        raise refused(recorder, "joins with others", MOVED)
    total = sum(extents[1:], extents[0])
    shape = list(layouts[0].shape)
    shape[axis] = ragged(recorder.scopes.capacity(total), total)
    found = recorder.concrete(np.zeros(tuple(map(int, shape)), dtype))
    strides = contiguous(tuple(map(int, shape))).strides
    offset: Any = 0
    for part, layout, extent in zip(parts, layouts, extents):
        place = seen(found, View(offset * strides[axis], layout.shape, strides))
        place.write(recorder.value_of(part, dtype))
        offset = offset + extent
    return seen(found, View(0, tuple(shape), strides))


def ragged_hstack(recorder: Recorder, arrays: Any) -> Any:
    """`numpy.hstack`."""
    arrays = [np.atleast_1d(a) if not np.ndim(a) else a for a in joined_arrays(recorder, arrays)]
    return ragged_concatenate(recorder, arrays, 0 if np.ndim(arrays[0]) == 1 else 1)


def ragged_append(recorder: Recorder, array: Any, values: Any, axis: Any = None) -> Any:
    """`numpy.append`."""
    if axis is None and (np.ndim(array) > 1 or np.ndim(values) > 1):
        raise refused(recorder, "joins, as one line,", MOVED)
    return (
        ragged_hstack(recorder, (array, values))
        if axis is None
        else ragged_concatenate(recorder, (array, values), axis)
    )


def ragged_stack(recorder: Recorder, arrays: Any, axis: Any = 0) -> Any:
    """`numpy.stack` of arrays of one axis and one length."""
    parts = [a if type(a) is RaggedArray else recorder.array(recorder.value_of(a)) for a in arrays]
    lengths = {a.layout.shape for a in parts}
    if len(lengths) > 1 or parts[0].ndim != 1 or not -2 <= axis < 2:
        raise refused(recorder, "stacks, in this way,", MOVED)
    dtype = recorder.result_type(*(np.empty((), a.dtype) for a in parts))
    ((length,),), count = lengths, len(parts)
    found = recorder.concrete(np.zeros((count, int(length)), dtype))
    for k, part in enumerate(parts):
        seen(found, View(k * int(length), (length,), (1,))).write(recorder.value_of(part, dtype))
    rows = View(0, (count, length), (int(length), 1))
    return seen(found, rows if int(axis) % 2 == 0 else View(0, rows.shape[::-1], rows.strides[::-1]))


def ragged_rows(recorder: Recorder, arrays: Any) -> Any:
    """`numpy.vstack`."""
    arrays = joined_arrays(recorder, arrays)
    if all(np.ndim(a) == 1 for a in arrays):
        return ragged_stack(recorder, arrays)
    return ragged_concatenate(recorder, [a[None, :] if np.ndim(a) == 1 else a for a in arrays])


def ragged_columns(recorder: Recorder, arrays: Any) -> Any:
    """`numpy.column_stack`."""
    arrays = joined_arrays(recorder, arrays)
    if all(np.ndim(a) == 1 for a in arrays):
        return ragged_stack(recorder, arrays, 1)
    return ragged_concatenate(recorder, [a[:, None] if np.ndim(a) == 1 else a for a in arrays], 1)
