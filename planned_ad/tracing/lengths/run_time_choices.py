"""Elements of an array of a run-time length that a mask or an index array chooses, and arrays of several of such."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.promotion import BOOL, INT
from ..record.recorder import Recorder
from ..values.loop_index import plain_or_traced
from . import masks, run_time_keys
from .elements import Position, RunTime, common_length
from .run_time_arrays import RunTimeArray
from .run_time_curves import filled_behind
from .run_time_elementwise import mapped
from .sources import Memory, Origin, Other, Recipe
from .varying import refused


def get(array: RunTimeArray, key: Any) -> Any:
    """`array[key]`."""
    recorder = array.recorder
    parts = key if type(key) is tuple else (key,)
    chooses = [k for k, part in enumerate(parts) if is_choice(part)]
    if not chooses:
        return run_time_keys.get(array, key)
    plain = tuple(slice(None) if k in chooses else part for k, part in enumerate(parts))
    if len(chooses) > 1 and all(is_choice(part) or run_time_keys.is_integer(recorder, part) for part in parts):
        return run_time_keys.pointwise(array, parts)
    if len(chooses) > 1 or any(part is None or part is Ellipsis for part in plain) or chooses[0] != array.axis:
        raise refused(recorder, "takes, with several masks or index arrays, elements of")
    found = run_time_keys.get(array, plain)
    if type(found) is not RunTimeArray:
        raise refused(recorder, "takes, with a mask or an index array and another index, elements of")
    return chosen_elements(found, parts[chooses[0]])


def put(array: RunTimeArray, key: Any, value: Any) -> None:
    """`array[key] = value`: one number where a mask is true."""
    value = plain_or_traced(value)
    if type(key) is RunTimeArray and key.dtype == BOOL and key.ndim == array.ndim == 1 and not np.ndim(value):
        run_time_keys.assign(array, mapped(array.recorder, np.where, (key, value, array), {}))
    else:
        run_time_keys.put(array, key, value)


def is_choice(part: Any) -> bool:
    """Whether a part of a key is an array."""
    return bool(type(part) in (RunTimeArray, list) or (hasattr(part, "dtype") and np.ndim(part) == 1))


def chosen_elements(array: RunTimeArray, part: Any) -> Any:
    """Of its axis of run-time length the elements that a mask or an index array chooses."""
    recorder, source = array.recorder, array.frozen()
    if type(part) is not RunTimeArray:
        part = recorder.array(recorder.value_of(part))
        if part.dtype == BOOL:
            raise refused(recorder, "takes, with a mask of a known length, elements of")
        return at_known_places(array, part)
    if part.ndim != 1:
        raise refused(recorder, "takes, with a mask of several axes, elements of")
    if part.dtype == BOOL:
        common_length(recorder, [array.length, part.length])
        part = places_where(part)

        def element(position: Position) -> Any:
            return Position(position.of(places), inside=False).of(source)

    else:

        def element(position: Position) -> Any:
            place = run_time_keys.index_within(recorder, array.length, position.of(places))
            return Position(place, inside=False).of(source)

    places = part.frozen()
    recipe = Recipe(element, (places, Other(source)))
    return RunTimeArray(recorder, recipe, part.length, array.axis, array.rest, array.dtype)


def run_time_take(recorder: Recorder, a: Any, indices: Any, axis: Any = None) -> Any:
    """`numpy.take` along the axis of run-time length, or with one array of such a length."""
    if axis is None and np.ndim(a) > 1:
        raise refused(recorder, "takes, as from one line,")
    where = 0 if axis is None else int(axis) % np.ndim(a)
    return a[(slice(None),) * where + (indices,)]


def at_known_places(array: RunTimeArray, indices: Any) -> Any:
    """The elements at known many places, as an array of that many."""
    recorder = array.recorder
    if not array.length.most:
        raise refused(recorder, "takes, with an index array, elements of")
    count = array.length.scalar(recorder)
    places = recorder.call(np.where, (indices < 0, indices + count, indices), {})
    is_within = recorder.call(np.all, ((places >= 0) & (places < count),), {})
    recorder.scopes.require_after(recorder.value_of(is_within, BOOL), "index")
    found = array.stored().front[recorder.call(np.clip, (places, 0, array.length.most - 1), {})]
    return recorder.call(np.moveaxis, (found, 0, array.axis), {})


def places_where(mask: RunTimeArray) -> RunTimeArray:
    """Where a mask is true."""
    return masks.places_of(filled_behind(mask, False))


def run_time_nonzero(recorder: Recorder, a: RunTimeArray) -> tuple[RunTimeArray]:
    """`numpy.nonzero`."""
    if type(a) is not RunTimeArray or a.ndim != 1:
        raise refused(recorder, "asks where is not zero, of several axes,")
    mask: Any = a if a.dtype == BOOL else a != 0
    return (places_where(mask),)


# Several arrays as one.


def traced_or_varying(recorder: Recorder, items: Any) -> list[Any]:
    return [item if type(item) is RunTimeArray else recorder.array(recorder.value_of(item)) for item in items]


def beside_each_other(recorder: Recorder, arrays: Any, axis: int) -> Any:
    """Arrays of one length beside each other: rows for axis 0, columns for axis 1."""
    items = traced_or_varying(recorder, arrays)
    if any(item.ndim > 2 or (item.ndim == 2 and getattr(item, "axis", 1 - axis) != 1 - axis) for item in items):
        raise refused(recorder, "joins, along their length,")
    sources: list[Origin] = []
    lengths: list[RunTime | int] = []
    for item in items:
        if type(item) is RunTimeArray:
            lengths.append(item.length)
            sources.append(item.frozen())
        else:
            front = item if item.ndim == 1 or axis == 1 else item.T
            lengths.append(front.shape[0])
            sources.append(Memory(front.copy(), 0, 1))
    length = common_length(recorder, lengths)
    dtype = recorder.result_type(*(np.empty((), item.dtype) for item in items))
    wide = [item for item in items if item.ndim == 2]
    width = sum(item.rest[0] if type(item) is RunTimeArray else item.shape[axis] for item in wide)

    def element(position: Position) -> Any:
        parts = [np.atleast_1d(position.of(source)) for source in sources]
        return recorder.call(np.concatenate, (parts,), {}).astype(dtype)

    recipe = Recipe(element, tuple(sources))
    return RunTimeArray(recorder, recipe, length, 1 - axis, (len(items) - len(wide) + width,), dtype)


def run_time_rows(recorder: Recorder, arrays: Any) -> Any:
    """`numpy.vstack`."""
    return beside_each_other(recorder, arrays, 0)


def run_time_columns(recorder: Recorder, arrays: Any) -> Any:
    """`numpy.column_stack`."""
    return beside_each_other(recorder, arrays, 1)


def run_time_stack(recorder: Recorder, arrays: Any, axis: Any = 0) -> Any:
    """`numpy.stack` of arrays of one axis."""
    if any(np.ndim(item) != 1 for item in arrays) or not -2 <= axis < 2:
        raise refused(recorder, "stacks, with several axes,")
    return beside_each_other(recorder, arrays, int(axis) % 2)


def run_time_concatenate(recorder: Recorder, arrays: Any, axis: Any = 0) -> Any:
    """`numpy.concatenate`."""
    dims = {np.ndim(item) for item in arrays}
    if dims == {2}:
        along = next(item for item in arrays if type(item) is RunTimeArray)
        if int(axis) % 2 != along.axis:
            return beside_each_other(recorder, arrays, int(axis) % 2)
    if dims != {1}:
        raise refused(recorder, "joins, in this way,")
    return one_after_the_other(recorder, arrays)


def run_time_hstack(recorder: Recorder, arrays: Any) -> Any:
    """`numpy.hstack`."""
    arrays = [item if np.ndim(item) else np.atleast_1d(item) for item in arrays]
    return run_time_concatenate(recorder, arrays, 0 if np.ndim(arrays[0]) < 2 else 1)


def run_time_append(recorder: Recorder, array: Any, values: Any, axis: Any = None) -> Any:
    """`numpy.append`."""
    if np.ndim(array) != 1 or np.ndim(values) > 1:
        raise refused(recorder, "joins, as one line,")
    return one_after_the_other(recorder, (array, np.atleast_1d(values)))


def one_after_the_other(recorder: Recorder, arrays: Any) -> RunTimeArray:
    items = traced_or_varying(recorder, arrays)
    dtype = recorder.result_type(*(np.empty((), item.dtype) for item in items))
    most = sum(item.length.most if type(item) is RunTimeArray else item.shape[0] for item in items)
    memory, begin = recorder.concrete(np.zeros(most, dtype)), 0
    for item in items:
        end = begin + (item.length.scalar(recorder) if type(item) is RunTimeArray else item.shape[0])
        memory[begin:end] = item
        begin = end
    count = recorder.value_of(begin, INT)
    return RunTimeArray(recorder, Memory(memory, 0, 1), RunTime(count, most), 0, (), dtype)
