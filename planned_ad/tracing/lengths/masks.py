"""Masks that choose another number of elements each time: in recorded loops, and from the second call on.

`x[mask]`, `np.nonzero(mask)` and their kin are then index arrays of a run-time length, in memory for as many positions
as the mask has elements. In the first trace, outside of loops, their number is that of the example, and a guard
(`advanced.nonzero`): there all of NumPy's functions take what the mask has chosen. Where that guard breaks, the next
trace is for any number; if it cannot be, there is one for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rules.table import RULES
from ...tape.tape import Apply, Constant, Operation, Value
from ..numpy_functions.support import made_in_block
from ..record.promotion import BOOL, INT
from ..record.recorder import Recorder
from ..values.advanced import COUNTED, of_any_count
from ..values.array_tracer import ArrayTracer
from ..values.elementwise import elementwise
from ..values.indexing import KEYS, Keys
from .elements import Position, RunTime
from .keys import expanded
from .run_time_arrays import RunTimeArray
from .run_time_elementwise import mapped
from .run_time_keys import put_slice, run_time_slice
from .sources import Memory, Recipe, snapshot
from .unmasked import masked_put, unmasked_array
from .varying import DATA, refused

DEPTH = 4  # operations that are compared


def takes(recorder: Recorder, key: Any, value: Any) -> bool:
    """Whether a key has a mask whose true elements only the iteration knows. (One number is put there by a choice.)"""
    parts = key if type(key) is tuple else (key,)
    return of_any_count(recorder) and any(is_traced_mask(recorder, part) for part in parts) and not is_one(value)


def is_traced_mask(recorder: Recorder, part: Any) -> bool:
    return bool(recorder.is_array(part) and part.ndim and part.dtype == BOOL and not part.storage.is_concrete)


def is_one(value: Any) -> bool:
    """Whether a value that is put somewhere is one number."""
    return value is not None and type(value) is not RunTimeArray and np.size(value) == 1


def get(array: ArrayTracer, key: Any) -> Any:
    """`array[key]`."""
    array, places = with_positions(array, key)
    found = run_time_slice(array, places)
    if is_traced_mask(array.recorder, key) and array.ndim == 1:
        found.whole = unmasked_array(array.recorder, flat_mask(array.recorder, key), snapshot(array))
    return found


def flat_mask(recorder: Recorder, key: ArrayTracer) -> Value:
    """A mask as one of one axis, the same for each of its states."""
    value = first_like(recorder, recorder.value_of(key, BOOL))
    name = ("mask", id(value))
    known = recorder.stretches.get(name)
    if known is None or not recorder.scopes.sees(known[0]):
        recorder.stretches[name] = known = (recorder.builder.reshape(value, (value.size,)), value)
    return known[0]


def put(array: ArrayTracer, key: Any, value: Any) -> None:
    """`array[key] = value`."""
    recorder = array.recorder
    if type(value) is not RunTimeArray:
        raise refused(recorder, "assigns, with an array of a known length, to", DATA)
    is_line = recorder.is_array(key) and key.shape == array.shape
    is_line = is_line and (array.ndim == 1 or array.geometry.flags.c_contiguous)
    if is_line and masked_put(recorder, array.reshape(-1), flat_mask(recorder, key), value):
        return
    put_slice(*with_positions(array, key), value)


def with_positions(array: ArrayTracer, key: Any) -> tuple[ArrayTracer, Any]:
    """An array and a key, of which a mask of one axis is an index array; a mask of all axes is one of all elements."""
    recorder = array.recorder
    if recorder.is_array(key) and 1 < key.ndim == array.ndim and key.shape == array.shape:
        if not array.geometry.flags.c_contiguous:
            raise refused(recorder, "takes, with a mask of several axes, elements that do not lie one after another,")
        array, key = array.reshape(-1), key.reshape(-1)
    parts = expanded(array.ndim, key)
    extents = iter(array.shape)
    for k, part in enumerate(parts):
        extent = None if part is None else next(extents, None)
        if not is_traced_mask(recorder, part):
            continue
        if part.ndim > 1:
            raise refused(recorder, "takes, with a mask of several axes, a part of")
        if part.shape != (extent,):
            raise IndexError(
                f"boolean index did not match indexed array along axis {k}; size of axis is {extent} but size of "
                f"corresponding boolean axis is {part.shape[0]}"
            )
        parts[k] = places_of(part)
    return array, tuple(parts)


def places_of(mask: ArrayTracer) -> RunTimeArray:
    """Where a mask is true, counted in the order of its elements; computed once for each of its states."""
    recorder = mask.recorder
    value = first_like(recorder, recorder.value_of(mask, BOOL))
    name = ("true", id(value))
    known = recorder.stretches.get(name)
    if known is None or not recorder.scopes.sees(known[0].length.count):
        recorder.stretches[name] = known = (_positions(recorder, value), value)
    return known[0]


def first_like(recorder: Recorder, mask: Value) -> Value:
    """The first mask that was computed in the same way, as `x[x > 0]` and `y[x > 0]` do."""
    name = ("computed", way_of(recorder, mask, DEPTH))
    known = recorder.stretches.get(name)
    if known is None or not recorder.scopes.sees(known[0]):
        recorder.stretches[name] = known = (mask,)
    return known[0]


def way_of(recorder: Recorder, value: Value, depth: int) -> object:
    """How a value is computed, as far as the last operations of this block say it; else which value it is."""
    made: Operation | None = made_in_block(recorder, value) if depth else None
    if isinstance(made, Constant) and not made.data.ndim:
        return made.data.dtype, made.data.tobytes()
    if not isinstance(made, Apply) or RULES[made.primitive].kind not in ("elementwise", "view"):
        return value.id
    return made.primitive, made.parameters, tuple(way_of(recorder, operand, depth - 1) for operand in made.operands)


def _positions(recorder: Recorder, mask: Any) -> RunTimeArray:
    mask = recorder.builder.reshape(mask, (mask.size,))
    count = recorder.apply("reduce_sum", recorder.builder.cast(mask, INT), axes=(0,))
    memory = Memory(recorder.array(recorder.apply("nonzero", mask, count=mask.size, padded=True)), 0, 1)

    def element(position: Position) -> Any:
        found = position.of(memory)
        recorder.extents[id(found.value)] = found.value, mask.size  # it is within range
        return found

    return RunTimeArray(recorder, Recipe(element, (memory,)), RunTime(count, mask.size), 0, (), INT)


def nonzero(array: ArrayTracer) -> tuple[Any, ...]:
    """`array.nonzero()` in a loop."""
    recorder = array.recorder
    flat = places_of(elementwise(recorder, np.not_equal, (array, 0)) if array.dtype != BOOL else array)
    found = []
    for n in reversed(array.shape[1:]):
        found.append(mapped(recorder, np.remainder, (flat, n), {}))
        flat = mapped(recorder, np.floor_divide, (flat, n), {})
    return (flat, *reversed(found))


COUNTED.append(nonzero)
KEYS.insert(0, Keys(takes=takes, get=get, put=put))  # before what assigns values of a run-time length to a known one
