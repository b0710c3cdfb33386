"""Reading and writing `x[key]`: basic keys as views, index arrays as gather and scatter.

Basic keys go to NumPy, on the array's geometry. Of other keys, the slices are applied as views first; the axes with
index arrays are then brought to the front, which is the form that the primitive `gather` and the operation `Scatter`
have, and NumPy's placement of the indexed axes in the result is restored by a view.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnsupportedError
from ..regions import Region, View, contiguous
from .promotion import BOOL, INT

if TYPE_CHECKING:
    from ..recorder import Recorder
    from ..tape import Value
    from .array_tracer import ArrayTracer

WHOLE = slice(None)


def get(array: ArrayTracer, key: Any) -> Any:
    """`array[key]`."""
    recorder, geometry, storage = array.recorder, array.geometry, array.storage
    offset = _position(array, key)
    if offset is not None:
        if storage.is_concrete:
            recorder.assume(storage)
            return geometry[key]
        recorder.mark()
        return recorder.result(storage.read(recorder, View(offset, (), ()), geometry))
    recorder.mark()
    key = _basic(recorder, key)
    if type(key) is Advanced:
        return _gather(array, key.key)
    has_ellipsis = any(k is Ellipsis for k in key)
    shown = geometry[key if has_ellipsis else (*key, ...)]
    if shown.ndim or has_ellipsis:
        return recorder.seen(array, shown)
    if storage.is_concrete:
        recorder.assume(storage)
        return shown[()]
    return recorder.result(recorder.seen(array, shown).read())


def put(array: ArrayTracer, key: Any, value: Any) -> None:
    """`array[key] = value`."""
    recorder, storage = array.recorder, array.storage
    recorder.mark()
    key = _basic(recorder, key)
    if type(key) is Advanced:
        return _scatter(array, key.key, value, accumulate=False)
    shown = array.geometry[key if any(k is Ellipsis for k in key) else (*key, ...)]
    if type(value).__name__ == "ArrayTracer" and value.storage is storage and _same_place(value.geometry, shown):
        return None  # what `x[1:3] += y` ends with: it has been written already
    storage.check_writeable(array.geometry, recorder.builder.line)
    if storage.is_concrete and recorder.is_concrete(value):
        shown[...] = recorder.plain(value)
        storage.reads.clear()
        return None
    recorder.seen(array, shown).write(_fitting(recorder, value, shown.dtype, shown.shape))
    return None


def _same_place(a: np.ndarray, b: np.ndarray) -> bool:
    there = [g.__array_interface__["data"][0] for g in (a, b)]
    return a.shape == b.shape and a.strides == b.strides and there[0] == there[1]


def accumulate(array: ArrayTracer, key: Any, value: Any) -> None:
    """`numpy.add.at(array, key, value)`."""
    recorder = array.recorder
    basic = _basic(recorder, key)
    if type(basic) is Advanced:
        return _scatter(array, basic.key, value, accumulate=True)
    view = array[(*basic, ...)] if not any(k is Ellipsis for k in basic) else array[basic]
    view += value
    return None


def update_numbers(array: ArrayTracer, ufunc: np.ufunc, other: Any) -> ArrayTracer:
    """An in-place operator where all numbers are known."""
    recorder = array.recorder
    recorder.mark()
    array.storage.check_writeable(array.geometry, recorder.builder.line)
    ufunc(array.geometry, recorder.plain(other), out=array.geometry)
    array.storage.reads.clear()
    return array


def _fitting(recorder: Recorder, value: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Value:
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


def _position(array: ArrayTracer, key: Any) -> int | None:
    """Which element of the memory a key of plain integers names; None for other keys and those out of range."""
    kind = type(key)
    if kind is int:
        layout = array.layout
        if len(layout.shape) != 1:
            return None
        n = layout.shape[0]
        if not -n <= key < n:
            return None
        return layout.offset + (key + n if key < 0 else key) * layout.strides[0]
    if kind is not tuple:
        return None
    layout = array.layout
    if len(key) != len(layout.shape):
        return None
    offset = layout.offset
    for k, n, stride in zip(key, layout.shape, layout.strides):
        if type(k) is not int or not -n <= k < n:
            return None
        offset += (k + n if k < 0 else k) * stride
    return offset


@dataclass(frozen=True, slots=True)
class Advanced:
    """A key with index arrays, its lists made arrays."""

    key: tuple[Any, ...]


def _basic(recorder: Recorder, key: Any) -> tuple[Any, ...] | Advanced:
    """A key as a tuple of integers, slices, None and Ellipsis, or as an `Advanced` key."""
    parts = key if isinstance(key, tuple) and type(key).__name__ != "ArrayTracer" else (key,)
    found, is_advanced = [], False
    for part in parts:
        kind = type(part)
        if kind is int or kind is slice or part is None or part is Ellipsis:
            found.append(part)
            continue
        if kind is list or kind is tuple:
            part = recorder.array(recorder.stacked(part)) if not recorder.is_concrete(part) else _array_of(recorder, part)
            kind = type(part)
        if kind.__name__ == "ScalarTracer":
            if part.dtype.kind == "b":
                part = np.asarray(bool(part))
            elif part.dtype.kind in "iu":
                part = recorder.array(part.value)
            else:
                raise _bad_index()
            is_advanced = True
        elif kind.__name__ == "ArrayTracer":
            if part.dtype.kind not in "biu":
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            if part.storage.is_concrete:
                part = recorder.number_of(part)
                part = part.copy() if part.ndim or part.dtype.kind == "b" else operator.index(part)
            elif part.dtype.kind == "b" and not part.ndim:
                part = np.asarray(bool(part))
            is_advanced = is_advanced or type(part) is not int
        elif isinstance(part, bool | np.bool_):
            part, is_advanced = np.asarray(part), True
        elif isinstance(part, np.ndarray):
            if not part.ndim and part.dtype.kind in "iu":
                part = int(part)
            else:
                is_advanced = True
        elif hasattr(part, "__index__"):
            part = operator.index(part)
        # Anything else: NumPy says what is wrong with it.
        found.append(part)
    if not is_advanced:
        return tuple(found)
    if any(isinstance(part, str | float) for part in found):
        raise _bad_index()
    return Advanced(tuple(found))


def _array_of(recorder: Recorder, part: Any) -> np.ndarray:
    array = np.asarray(recorder.plain(part))
    return array if array.size or array.dtype.kind in "biu" else array.astype(np.int64)


def _bad_index() -> IndexError:
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"
    )


@dataclass(slots=True)
class Indexed:
    """An array with the axes that index arrays apply to in front, and those arrays.

    `place` is where the axes of the index arrays, together of shape `common`, stand in NumPy's result.
    """

    array: ArrayTracer
    indices: list[Value]
    common: tuple[int, ...]
    place: int
    known: list[np.ndarray] | None

    @property
    def rest(self) -> tuple[int, ...]:
        return self.array.shape[len(self.indices) :]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the result."""
        return (*self.rest[: self.place], *self.common, *self.rest[self.place :])


def _prepare(array: ArrayTracer, key: tuple[Any, ...]) -> Indexed:
    recorder = array.recorder
    key = _with_known_masks(array, key)
    consumed = sum(_axes_taken(part) for part in key)
    if consumed > array.ndim:
        raise IndexError(
            f"too many indices for array: array is {array.ndim}-dimensional, but {consumed} were indexed"
        )
    missing = array.ndim - consumed
    if sum(part is Ellipsis for part in key) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not any(part is Ellipsis for part in key):
        key = (*key, Ellipsis)
    basic: list[Any] = []
    positions: list[int] = []  # of the indexed axes, in the view that the slices make
    groups: list[int] = []  # a number that changes where something stands between two index arrays
    indices: list[Any] = []
    axis = group = 0
    for part in key:
        if part is Ellipsis:
            basic += [WHOLE] * missing
            axis += missing
            group += 1
        elif part is None or type(part) is slice:
            basic.append(part)
            axis += 1
            group += 1
        else:
            taken = _axes_taken(part)
            own = [part] if taken == 1 and _dtype(part).kind != "b" else _mask_indices(array, part, basic)
            for index in own:
                basic.append(WHOLE)
                positions.append(axis)
                groups.append(group)
                indices.append(index)
                axis += 1
    view = recorder.seen(array, array.geometry[tuple(basic)])
    others = [k for k in range(view.ndim) if k not in positions]
    place = positions[0] if len(set(groups)) == 1 and positions else 0
    front = view.transpose([*positions, *others])
    known = [np.asarray(i) for i in indices] if all(type(i).__name__ != "ArrayTracer" for i in indices) else None
    values, common = _checked(recorder, front, indices)
    return Indexed(front, values, common, place, known)


def _dtype(part: Any) -> np.dtype:
    return getattr(part, "dtype", INT)


def _axes_taken(part: Any) -> int:
    """How many axes of the array a part of a key applies to."""
    if part is None or part is Ellipsis:
        return 0
    if type(part) is slice or type(part) is int:
        return 1
    return part.ndim if part.dtype.kind == "b" else 1


def _with_known_masks(array: ArrayTracer, key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Known boolean arrays as the index arrays that NumPy replaces them by; shapes checked by NumPy."""
    if not any(type(part) is np.ndarray and part.dtype.kind == "b" for part in key):
        return key
    stand_in = np.broadcast_to(np.zeros((), np.int8), array.shape)
    axis = 0
    total = sum(_axes_taken(part) for part in key)
    result: list[Any] = []
    for part in key:
        if part is Ellipsis:
            axis = array.ndim - (total - axis)
            result.append(part)
        elif type(part) is np.ndarray and part.dtype.kind == "b":
            if part.ndim == 0:
                raise UnsupportedError(f"{array.recorder.here()}: a single truth value as an index; use an if statement")
            stand_in[(*(WHOLE,) * axis, part)]
            result += list(part.nonzero())
            axis += part.ndim
        else:
            result.append(part)
            axis += _axes_taken(part)
    return tuple(result)


def _mask_indices(array: ArrayTracer, mask: ArrayTracer, basic: list[Any]) -> list[ArrayTracer]:
    axis = sum(part is not None for part in basic)
    extents = array.shape[axis : axis + mask.ndim]
    for k, (n, m) in enumerate(zip(extents, mask.shape)):
        if n != m:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + k}; size of axis is {n} but size of "
                f"corresponding boolean axis is {m}"
            )
    return list(nonzero(mask))


def nonzero(array: ArrayTracer) -> tuple[ArrayTracer, ...]:
    """The positions of what is not zero, their number being that of the example (a guard)."""
    recorder = array.recorder
    recorder.mark()
    if array.storage.is_concrete:
        return tuple(recorder.concrete(i) for i in recorder.number_of(array).nonzero())
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
        recorder.extents[value.id] = n
    return tuple(recorder.array(value) for value in reversed(found))


def _checked(recorder: Recorder, array: ArrayTracer, indices: list[Any]) -> tuple[list[Value], tuple[int, ...]]:
    """The index arrays for the leading axes of `array`, within range and counted from 0, of their common shape."""
    shapes = [np.shape(i) if type(i).__name__ != "ArrayTracer" else i.shape for i in indices]
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(str(s).replace(" ", "") for s in shapes)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {text} "
        ) from None
    values = []
    for axis, index in enumerate(indices):
        n = array.shape[axis]
        if type(index).__name__ != "ArrayTracer":
            index = np.asarray(index)
            bad = (index < -n) | (index >= n)
            if bad.any():
                first = index[bad].flat[0]
                raise IndexError(f"index {first} is out of bounds for axis {axis} with size {n}")
            data = np.where(index < 0, index + n, index).astype(np.int64)
            values.append(recorder.builder.constant(np.broadcast_to(data, common)))
            continue
        value = recorder.value_of(index, INT)
        if value.size and recorder.extents.get(value.id, n + 1) > n:
            _guard_range(recorder, value, n, axis)
            value = recorder.apply("wrap_index", value, extent=n)
        values.append(recorder.builder.broadcast(value, common))
    return values, common


def _guard_range(recorder: Recorder, index: Value, n: int, axis: int) -> None:
    low, high = recorder.constant(-n, INT), recorder.constant(n, INT)
    inside = recorder.apply(
        "logical_and", recorder.apply("greater_equal", index, low), recorder.apply("less", index, high)
    )
    if inside.shape:
        inside = recorder.apply("reduce_all", inside, axes=tuple(range(len(inside.shape))))
    if not recorder.example.number(inside):
        numbers = recorder.example.number(index)
        first = numbers[(numbers < -n) | (numbers >= n)].flat[0]
        raise IndexError(f"index {first} is out of bounds for axis {axis} with size {n}")
    recorder.outcome(inside, "index")


def _gather(array: ArrayTracer, key: tuple[Any, ...]) -> Any:
    recorder = array.recorder
    if array.storage.is_concrete and all(type(part).__name__ != "ArrayTracer" for part in key):
        recorder.assume(array.storage)
        return recorder.adopt(array.geometry[key])
    indexed = _prepare(array, key)
    value = recorder.apply("gather", indexed.array.read(), *indexed.indices)
    if indexed.shape == ():
        return recorder.result(value)
    value = _moved(recorder, value, 0, indexed.place, len(indexed.common))
    return recorder.fresh(_memory(indexed, array.dtype), value)


def _moved(recorder: Recorder, value: Value, source: int, target: int, count: int) -> Value:
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
    memory = np.empty((*indexed.common, *indexed.rest), dtype)
    order = [k for k in range(memory.ndim) if k >= count]
    order[place:place] = range(count)
    return memory.transpose(order)


def _scatter(array: ArrayTracer, key: tuple[Any, ...], value: Any, accumulate: bool) -> None:
    recorder, storage = array.recorder, array.storage
    storage.check_writeable(array.geometry, recorder.builder.line)
    all_known = storage.is_concrete and all(recorder.is_concrete(part) for part in (*key, value))
    if all_known:
        if accumulate:
            np.add.at(array.geometry, key, recorder.plain(value))
        else:
            array.geometry[key] = recorder.plain(value)
        storage.reads.clear()
        return
    given = recorder.value_of(value, array.dtype)
    if math.prod(given.shape) == 1 and not accumulate and _choose(array, key, given):
        return
    indexed = _prepare(array, key)
    new = _fitting(recorder, recorder.array(given), array.dtype, indexed.shape)
    if new.shape == () and indexed.shape:
        new = recorder.builder.broadcast(new, indexed.shape)
    new = _moved(recorder, new, indexed.place, 0, len(indexed.common))
    buffer = storage.writable_buffer(recorder)
    storage.reads.clear()
    if new.size:
        recorder.builder.scatter(Region(buffer.id, indexed.array.layout), tuple(indexed.indices), new, accumulate)


def _choose(array: ArrayTracer, key: tuple[Any, ...], number: Value) -> bool:
    """`x[mask] = number` for a traced mask, without asking how much of it is true."""
    recorder = array.recorder
    if len(key) != 1 or type(key[0]).__name__ != "ArrayTracer" or key[0].dtype.kind != "b":
        return False
    mask = key[0]
    if mask.shape != array.shape[: mask.ndim]:
        return False  # the error is raised elsewhere
    choice = recorder.builder.reshape(mask.read(), mask.shape + (1,) * (array.ndim - mask.ndim))
    choice = recorder.builder.broadcast(choice, array.shape)
    number = recorder.builder.reshape(number, ())
    if array.size:
        array.write(recorder.apply("where", choice, number, array.read()))
    return True
