"""Index arrays: reading by gather, writing by scatter.

The slices of the key are applied as views first; the axes with index arrays are then brought to the front, which is
the form that the primitive `gather` and the operation `Scatter` have, and NumPy's placement of the indexed axes in
the result is restored by a view.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import IndexRangeError
from ...regions.regions import View, contiguous
from ...tape.tape import Value
from ..record.promotion import BOOL, INT
from ..record.recorder import Recorder
from ..record.traced import TracedArray
from .index_boxes import IndexBox, index_boxes
from .python_errors import is_caught

WHOLE = slice(None)


@dataclass(slots=True)
class Indexed:
    """An array with the axes that index arrays apply to in front, and those arrays.

    `place` is where the axes of the index arrays, together of shape `common`, stand in NumPy's result. `arrays` are
    index arrays laid out in memory as the real ones, where the result's memory order depends on it. `boxes`: what
    known index arrays select, where they count.
    """

    array: TracedArray
    indices: list[Value]
    common: tuple[int, ...]
    place: int
    arrays: list[Any] | None
    boxes: list[IndexBox]

    @property
    def rest(self) -> tuple[int, ...]:
        return self.array.shape[len(self.indices) :]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the result."""
        return (*self.rest[: self.place], *self.common, *self.rest[self.place :])


def prepare(array: TracedArray, key: tuple[Any, ...]) -> Indexed:
    recorder = array.recorder
    array, key = _with_truths_as_axes(array, key)
    key = _with_known_masks(array, key)
    consumed = sum(axes_taken(part) for part in key)
    if consumed > array.ndim:
        raise IndexError(f"too many indices for array: array is {array.ndim}-dimensional, but {consumed} were indexed")
    missing = array.ndim - consumed
    if sum(part is Ellipsis for part in key) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not any(part is Ellipsis for part in key):
        key = (*key, Ellipsis)
    basic: list[Any] = []
    positions: list[int] = []  # of the indexed axes, in the view that the slices make
    groups: list[int] = []  # a number that changes where something stands between two index arrays
    indices: list[Any] = []
    sources: list[int] = []  # the axes of the array that they apply to
    axis = group = source = 0
    for part in key:
        if recorder.is_scalar(part):
            part = recorder.array(part.value)
        if part is Ellipsis:
            basic += [WHOLE] * missing
            axis += missing
            source += missing
            group += 1
        elif part is None or type(part) is slice:
            basic.append(part)
            axis += 1
            group += 1
            source += part is not None
        else:
            taken = axes_taken(part)
            own = [part] if taken == 1 and _dtype(part).kind != "b" else _mask_indices(array, part, basic)
            for index in own:
                basic.append(WHOLE)
                positions.append(axis)
                groups.append(group)
                indices.append(index)
                sources.append(source)
                axis += 1
                source += 1
    view = recorder.seen(array, array.geometry[tuple(basic)])
    others = [k for k in range(view.ndim) if k not in positions]
    place = positions[0] if len(set(groups)) == 1 and positions else 0
    front = view.transpose([*positions, *others])
    values, common = _checked(recorder, front, indices, sources)
    boxes = _boxes(front, indices, common)
    arrays = [np.zeros(i.shape, np.int64) if recorder.is_array(i) else i for i in indices]
    plain = all(np.asarray(a).flags.c_contiguous for a in arrays) and front.geometry.flags.c_contiguous
    return Indexed(front, values, common, place, None if plain else arrays, boxes)


def _boxes(array: TracedArray, indices: list[Any], common: tuple[int, ...]) -> list[IndexBox]:
    """The boxes that known index arrays select of the leading axes of `array`."""
    if not indices or any(array.recorder.is_array(index) for index in indices):
        return []
    counted = [np.where(index < 0, index + n, index) for index, n in zip(map(np.asarray, indices), array.shape)]
    return index_boxes([np.broadcast_to(index, common) for index in counted])


def _dtype(part: Any) -> np.dtype:
    return getattr(part, "dtype", INT)


def axes_taken(part: Any) -> int:
    """How many axes of the array a part of a key applies to."""
    if part is None or part is Ellipsis:
        return 0
    if type(part) is slice or type(part) is int:
        return 1
    return part.ndim if part.dtype.kind == "b" else 1


def _is_truth(part: Any) -> bool:
    return type(part) is np.ndarray and part.dtype.kind == "b" and not part.ndim


def _first_axis(array: TracedArray, key: tuple[Any, ...], place: int) -> int:
    """Which axis of the array the part of the key at this place begins with."""
    before = key[:place]
    if any(part is Ellipsis for part in before):
        return array.ndim - sum(map(axes_taken, key[place:]))
    return sum(map(axes_taken, before))


def _with_truths_as_axes(array: TracedArray, key: tuple[Any, ...]) -> tuple[TracedArray, tuple[Any, ...]]:
    """A single truth value chooses all of an axis of length one, or nothing of it."""
    places = [k for k, part in enumerate(key) if _is_truth(part)]
    if not places:
        return array, key
    axes = [_first_axis(array, key, place) + k for k, place in enumerate(places)]
    view = array.recorder.seen(array, np.expand_dims(array.geometry, tuple(axes)))
    return view, tuple(np.zeros(int(part), np.int64) if _is_truth(part) else part for part in key)


def _with_known_masks(array: TracedArray, key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Known boolean arrays as the index arrays that NumPy replaces them by; shapes checked by NumPy."""
    stand_in = np.broadcast_to(np.zeros((), np.int8), array.shape)
    result: list[Any] = []
    for place, part in enumerate(key):
        if type(part) is np.ndarray and part.dtype.kind == "b":
            stand_in[(*(WHOLE,) * _first_axis(array, key, place), part)]  # type: ignore[arg-type]
            result += list(part.nonzero())
        else:
            result.append(part)
    return tuple(result)


def _mask_indices(array: TracedArray, mask: TracedArray, basic: list[Any]) -> list[TracedArray]:
    axis = sum(part is not None for part in basic)
    extents = array.shape[axis : axis + mask.ndim]
    for k, (n, m) in enumerate(zip(extents, mask.shape)):
        if n != m:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + k}; size of axis is {n} but size of "
                f"corresponding boolean axis is {m}"
            )
    return list(nonzero(mask))


def of_any_count(recorder: Recorder) -> bool:
    """Whether what a mask chooses here is of a run-time length: each iteration has its own, or each call has had."""
    scopes = recorder.scopes
    return bool(scopes.depth) or recorder.builder.line in scopes.decisions.stretched


COUNTED: list[Callable[[Any], tuple[Any, ...]]] = []  # what stands for `nonzero` in loops, which a later stage knows


def nonzero(array: TracedArray) -> tuple[Any, ...]:
    """The positions of what is not zero, their number being that of the example (a guard)."""
    recorder = array.recorder
    recorder.mark()
    if array.storage.is_concrete:
        return tuple(recorder.concrete(i) for i in recorder.number_of(array).nonzero())
    if array.ndim and of_any_count(recorder):
        return COUNTED[0](array)
    if not array.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    mask = recorder.value_of(array, BOOL)
    mask = recorder.builder.reshape(mask, (mask.size,))
    counted = recorder.apply("reduce_sum", recorder.builder.cast(mask, INT), axes=(0,))
    count = recorder.outcome(counted, "count")
    flat = recorder.apply("nonzero", mask, count=count)
    found = []
    for n in reversed(array.shape[1:]):
        extent = recorder.constant(n, INT)
        found.append(recorder.apply("remainder", flat, extent))
        flat = recorder.apply("floor_divide", flat, extent)
    found.append(flat)
    for value, n in zip(reversed(found), array.shape):
        recorder.extents[id(value)] = value, n
    return tuple(recorder.array(value) for value in reversed(found))


def _checked(
    recorder: Recorder, array: TracedArray, indices: list[Any], sources: list[int]
) -> tuple[list[Value], tuple[int, ...]]:
    """The index arrays for the leading axes of `array`, within range and counted from 0, of their common shape."""
    shapes = [np.shape(i) if not recorder.is_array(i) else i.shape for i in indices]
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(str(s).replace(" ", "") for s in shapes)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {text} "
        ) from None
    values = []
    for axis, index, n in zip(sources, indices, array.shape):
        if not recorder.is_array(index):
            index = np.asarray(index)
            bad = (index < -n) | (index >= n)
            if bad.any():
                first = index[bad].flat[0]
                raise IndexError(f"index {first} is out of bounds for axis {axis} with size {n}")
            data = np.where(index < 0, index + n, index).astype(np.int64)
            values.append(recorder.builder.constant(np.broadcast_to(data, common)))
            continue
        value = in_range(recorder, recorder.value_of(index, INT), n, axis)
        values.append(recorder.builder.broadcast(value, common))
    return values, common


def in_range(recorder: Recorder, index: Value, n: int, axis: int) -> Value:
    """A traced index as one counted from 0, guarded to be within range."""
    if not index.size or recorder.extents.get(id(index), (index, n + 1))[1] <= n:
        return index
    if recorder.scopes.depth:
        return index_in_loop(recorder, index, n, axis)
    wrapped = recorder.wrapped.get((index.id, n))
    if wrapped is None:
        _guard_range(recorder, index, n, axis)
        recorder.wrapped[index.id, n] = wrapped = recorder.apply("wrap_index", index, extent=n)
    return wrapped


def index_in_loop(recorder: Recorder, index: Value, n: int, axis: int) -> Value:
    """As `in_range`, inside of a loop: the guard tests it afterwards, for all iterations; until then it is cut off."""
    low, high = recorder.builder.limits.within(index, recorder.scopes.ranges, recorder.scopes.bounds)
    if -n <= low and high < n:
        return index if low >= 0 else recorder.apply("wrap_index", index, extent=n)
    inside = _is_within(recorder, index, n, axis)
    if not index.shape and recorder.scopes.open:
        recorder.scopes.open[-1].indices.append((index, n))
    recorder.scopes.require(inside, "index", axis_of(axis, n))
    wrapped = recorder.apply("wrap_index", index, extent=n)
    least, most = recorder.constant(0, INT), recorder.constant(n - 1, INT)
    return recorder.apply("minimum", recorder.apply("maximum", wrapped, least), most)


def _is_within(recorder: Recorder, index: Value, n: int, axis: int) -> Value:
    """Whether an index is in range, all of it; what handles that it is not asks first."""
    low, high = recorder.constant(-n, INT), recorder.constant(n, INT)
    inside = recorder.apply(
        "logical_and", recorder.apply("greater_equal", index, low), recorder.apply("less", index, high)
    )
    if inside.shape:
        inside = recorder.apply("reduce_all", inside, axes=tuple(range(len(inside.shape))))
    can_branch = not recorder.scopes.depth or recorder.scopes.loop is not None
    if can_branch and is_caught(IndexError) and not bool(recorder.result(inside)):
        raise IndexError(f"index out of bounds for {axis_of(axis, n)}")
    return inside


def _guard_range(recorder: Recorder, index: Value, n: int, axis: int) -> None:
    inside = _is_within(recorder, index, n, axis)
    if not recorder.outcome(inside, "index", axis_of(axis, n)):
        numbers = recorder.example.number(index)
        first = numbers[(numbers < -n) | (numbers >= n)].flat[0]
        raise IndexRangeError(f"{recorder.here()}: index {first} is out of bounds for axis {axis} with size {n}")


def axis_of(axis: int, n: int) -> str:
    """What an index is out of bounds for, in NumPy's words."""
    return f"axis {axis} with size {n}"


FEW = 16  # elements of a mask, at least, for each that is true, where it is better to write to these than to choose


def gather(array: TracedArray, key: tuple[Any, ...]) -> Any:
    recorder = array.recorder
    if array.storage.is_concrete and all(not recorder.is_array(part) for part in key):
        recorder.assume(array.storage)
        return recorder.adopt(array.geometry[key])
    indexed = prepare(array, key)
    if len(indexed.boxes) > 1:
        return _joined(indexed, array.dtype)
    if indexed.boxes:
        value = recorder.seen(indexed.array, indexed.boxes[0].shown(indexed.array.geometry)).read()
    else:
        value = recorder.apply("gather", indexed.array.read(), *indexed.indices)
    if indexed.shape == ():
        return recorder.result(value)
    value = moved_axes(recorder, value, 0, indexed.place, len(indexed.common))
    return recorder.fresh(_memory(indexed, array.dtype), value)


def _joined(indexed: Indexed, dtype: np.dtype) -> TracedArray:
    """What index arrays select in several slices."""
    recorder, place = indexed.array.recorder, indexed.place
    out = recorder.concrete(np.zeros_like(_memory(indexed, dtype)))
    for box in indexed.boxes:
        part = recorder.seen(indexed.array, box.shown(indexed.array.geometry)).read()
        where = (*(WHOLE,) * place, *box.place, ...)
        recorder.seen(out, out.geometry[where]).write(moved_axes(recorder, part, 0, place, len(indexed.common)))
    return out


def moved_axes(recorder: Recorder, value: Value, source: int, target: int, count: int) -> Value:
    """`value` with its `count` axes from `source` on moved to `target`."""
    if source == target or not count:
        return value
    axes = [k for k in range(len(value.shape)) if not source <= k < source + count]
    axes[target:target] = range(source, source + count)
    own = contiguous(value.shape)
    view = View(0, tuple(own.shape[k] for k in axes), tuple(own.strides[k] for k in axes))
    return recorder.builder.view(value, view)


def _memory(indexed: Indexed, dtype: np.dtype) -> np.ndarray:
    """Memory as NumPy lays out what index arrays select: the indexed axes are outermost."""
    place, count = indexed.place, len(indexed.common)
    if indexed.arrays is None:
        memory = np.empty((*indexed.common, *indexed.rest), dtype)
    else:  # it follows the operands: the only one who knows is NumPy
        stand_in = np.empty_like(indexed.array.geometry, np.int8)
        memory = np.empty_like(stand_in[tuple(indexed.arrays)], dtype)
    order = [k for k in range(memory.ndim) if k >= count]
    order[place:place] = range(count)
    return memory.transpose(order)


def scatter(array: TracedArray, key: tuple[Any, ...], value: Any, accumulate: bool) -> None:
    recorder, storage = array.recorder, array.storage
    storage.check_writeable(array.geometry, recorder.builder.line)
    all_known = storage.holds_numbers(recorder) and all(recorder.is_concrete(part) for part in (*key, value))
    if all_known:
        if accumulate:
            np.add.at(array.geometry, key, recorder.plain(value))
        else:
            array.geometry[key] = recorder.plain(value)
        storage.changed(recorder)
        return
    given = recorder.value_of(value, array.dtype)
    if math.prod(given.shape) == 1 and not accumulate and _choose(array, key, given):
        return
    indexed = prepare(array, key)
    new = fitting(recorder, recorder.array(given), array.dtype, indexed.shape)
    if new.shape == () and indexed.shape:
        new = recorder.builder.broadcast(new, indexed.shape)
    new = moved_axes(recorder, new, indexed.place, 0, len(indexed.common))
    if len(indexed.boxes) == 1 and indexed.boxes[0].is_injective and not accumulate:
        return recorder.seen(indexed.array, indexed.boxes[0].shown(indexed.array.geometry)).write(new)
    storage.scatter(recorder, indexed.array.layout, tuple(indexed.indices), new, accumulate)


def _choose(array: TracedArray, key: tuple[Any, ...], number: Value) -> bool:
    """`x[mask] = number` for a mask that is traced, or true in many places, without asking in which."""
    recorder = array.recorder
    if len(key) != 1 or not (recorder.is_array(key[0]) or type(key[0]) is np.ndarray) or key[0].dtype.kind != "b":
        return False
    mask = key[0]
    if mask.shape != array.shape[: mask.ndim]:
        return False  # the error is raised elsewhere
    if type(mask) is np.ndarray and FEW * np.count_nonzero(mask) < mask.size:
        return False
    choice = recorder.builder.reshape(recorder.value_of(mask), mask.shape + (1,) * (array.ndim - mask.ndim))
    choice = recorder.builder.broadcast(choice, array.shape)
    number = recorder.builder.reshape(number, ())
    if array.size:
        array.write(recorder.apply("where", choice, number, array.read()))
    return True


def fitting(recorder: Recorder, value: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Value:
    """An assigned value, as NumPy converts and broadcasts it: further leading axes of length 1 are dropped."""
    value = recorder.value_of(value, dtype)
    given = value.shape
    if given == shape or given == ():
        return value
    inner = given
    while len(inner) > len(shape) and inner[0] == 1:
        inner = inner[1:]
    fits = len(inner) <= len(shape) and all(n in (1, m) for n, m in zip(inner[::-1], shape[::-1]))
    if not fits:
        texts = [str(s).replace(" ", "") for s in (given, shape)]
        raise ValueError(f"could not broadcast input array from shape {texts[0]} into shape {texts[1]}")
    return recorder.builder.broadcast(recorder.builder.reshape(value, inner), shape)
