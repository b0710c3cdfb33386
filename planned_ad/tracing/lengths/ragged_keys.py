"""Reading and writing `x[key]` where loops move what a key shows, or its extents.

What loop indices show is a view. Traced integers then show a part of it at a place that is data, and index arrays
choose elements, along axes whose extents may be ragged too: `A[k:, p]`, `A[[k, p], k:]`, `x[order[k:]]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...regions.affine import Ragged, exact
from ...regions.regions import View
from ...tape.tape import Value
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..record.storage import MovingStorage
from ..values.advanced import fitting, in_range, moved_axes
from ..values.indexing import Advanced, basic_key
from ..values.loop_index import index_of
from ..values.python_errors import is_caught
from .evenly_spaced import note_even_spacing
from .keys import takes_all
from .moving_keys import CutOff, place, puts_in_front, split, with_run_time_bounds
from .ragged import RaggedArray, common_shape, seen, where
from .ragged_padded import filled_up, in_its_memory, leading_part
from .run_time_slices import is_run_time_array
from .varying import MOVED, VaryingArray, refused


def shown(array: Any, key: Any) -> Any:
    """What a key with loop indices shows of an array."""
    recorder, storage = array.recorder, array.storage
    offset = place(array, key)
    if offset is not None:
        geometry = array.geometry if recorder.is_array(array) else None
        number = storage.read(recorder, offset, geometry)
        if storage.is_concrete and geometry is not None and geometry.dtype.kind in "iu" and geometry.size:
            recorder.builder.limits.note(number, int(geometry.min()), int(geometry.max()))
            note_even_spacing(array, key, number)
        return recorder.result(number)
    try:
        view, rest = split(array, key)
    except CutOff:
        return of_any_end(array)[of_run_time(recorder, key)]
    found = seen_for(array, view, rest)
    if rest is None:
        return found
    return chosen_of(found, rest) if type(found) is RaggedArray else found[rest]


def of_any_end(array: Any) -> Any:
    """The array as one that slices may be cut off at its ends of, as data decide."""
    return in_its_memory(array) if type(array) is RaggedArray else array


def of_run_time(recorder: Recorder, key: Any) -> Any:
    """The key of integers known at run time instead of loop indices that leave the axis."""
    recorder.scopes.decisions.stretched.add(recorder.builder.line)  # it is no window within the axis
    return with_run_time_bounds(key)


def put(array: Any, key: Any, value: Any) -> None:
    """`array[key] = value` where the key has loop indices in it."""
    recorder, storage = array.recorder, array.storage
    offset = place(array, key)
    if offset is not None:
        storage.check_writeable(array.geometry if recorder.is_array(array) else storage.base, recorder.builder.line)
        storage.write(recorder, offset, fitting(recorder, value, array.dtype, ()))
        return
    try:
        view, rest = split(array, key)
    except CutOff:
        of_any_end(array)[of_run_time(recorder, key)] = value
        return
    target = seen_for(array, view, rest)
    if rest is None and type(target) is RaggedArray and is_run_time_array(value):
        if type(array) is RaggedArray:
            raise array.refused("assigns what has a run-time length to")
        array[of_run_time(recorder, key)] = value
    elif rest is None:
        put_all(target, value)
    elif type(target) is RaggedArray:
        put_chosen(target, rest, value)
    else:
        target[rest] = value


def put_all(target: Any, value: Any) -> None:
    """`target[...] = value`, unless it is the very same, as where `A[i] += y` ends."""
    if not (type(value) is type(target) and target.storage.is_same(value.storage) and value.layout == target.layout):
        shape = target.view.shape if type(target) is RaggedArray else target.shape
        target.write(fitting(target.recorder, value, target.dtype, shape))


def seen_for(array: Any, view: View, rest: tuple[Any, ...] | None) -> Any:
    """What `view` shows, to be indexed by `rest`: as one with ragged extents where an index array has them."""
    if rest is not None and any(type(part) is RaggedArray for part in rest):
        return RaggedArray(array.recorder, array.storage, view)
    return seen(array, view)


def has_ragged_index(key: Any) -> bool:
    """Whether a key has an index array in it whose extents loops move."""
    return any(type(part) is RaggedArray for part in key) if type(key) is tuple else type(key) is RaggedArray


@dataclass(slots=True)
class Chosen:
    """Elements that index arrays of one shape, `common`, choose of the leading axes of `view`.

    In NumPy's result the axes of `common` stand at `place`.
    """

    view: View
    indices: tuple[Value, ...]
    common: tuple[int, ...]
    place: int

    @property
    def shape(self) -> tuple[int, ...]:
        rest = self.view.shape[len(self.indices) :]
        return (*rest[: self.place], *self.common, *rest[self.place :])


def chosen_of(array: RaggedArray, key: tuple[Any, ...]) -> Any:
    """`array[key]` for a key with a part for each axis, some of which are traced or index arrays."""
    recorder = array.recorder
    axis = masked_axis(array, key)
    if axis is not None:
        return filled_up(array, 0)[(*key[:axis], filled_up(key[axis], False))]
    parts = index_parts(array, key)
    if not any(map(is_several, parts)):
        return shown_by_data(array, parts)
    found = elements_chosen(array, parts)
    front = array.storage.read(recorder, found.view, None)  # type: ignore[arg-type]
    value = recorder.apply("gather", front, *found.indices)
    return recorder.result(moved_axes(recorder, value, 0, found.place, len(found.common)))


def put_chosen(array: RaggedArray, key: tuple[Any, ...], value: Any) -> None:
    """`array[key] = value`."""
    recorder, storage = array.recorder, array.storage
    axis = masked_axis(array, key)
    if axis is not None:
        put_where(array, axis, key[axis], value)
        return
    parts = index_parts(array, key)
    if not any(map(is_several, parts)):
        put_all(shown_by_data(array, parts, is_view=True), value)
        return
    storage.check_writeable(storage.base, recorder.builder.line)
    found = elements_chosen(array, parts)
    new = recorder.builder.broadcast(fitting(recorder, value, array.dtype, found.shape), found.shape)
    new = moved_axes(recorder, new, found.place, 0, len(found.common))
    storage.scatter(recorder, found.view, found.indices, new)


def masked_axis(array: RaggedArray, key: tuple[Any, ...]) -> int | None:
    """The axis whose elements a mask with the extent of that axis chooses; None where there is no mask."""
    masks = [k for k, part in enumerate(key) if type(part) is RaggedArray and part.dtype.kind == "b"]
    if not masks:
        return None
    (axis, *others), shape = masks, array.view.shape
    beside = [part for k, part in enumerate(key) if k != axis]
    varying = [extent for k, extent in enumerate(shape) if k != axis and isinstance(extent, Ragged)]
    if others or varying or not takes_all(beside) or key[axis].view.shape != (shape[axis],):
        raise array.refused("chooses with a mask, in this way, elements of")
    return axis


def put_where(array: RaggedArray, axis: int, mask: RaggedArray, value: Any) -> None:
    """`array[mask] = value` along an axis."""
    if issubclass(type(value), VaryingArray) or np.size(value) != 1:
        found = filled_up(array, 0)
        found[(*(slice(None),) * axis, filled_up(mask, False))] = value
        array.write(leading_part(found, array.view.shape).read())
        return
    condition = mask[(slice(None), *(None,) * (array.ndim - axis - 1))]
    recorder = array.recorder
    number = recorder.result(recorder.builder.reshape(recorder.value_of(value, array.dtype), ()))
    array.write(recorder.value_of(where(recorder, condition, number, array)))


def index_parts(array: RaggedArray, key: tuple[Any, ...]) -> list[Any]:
    """The parts of a key as slices that take all, integers and index arrays."""
    recorder = array.recorder
    varying = [k for k, part in enumerate(key) if type(part) is RaggedArray]
    plain = basic_key(recorder, tuple(0 if k in varying else part for k, part in enumerate(key)))
    parts = list(plain.key if isinstance(plain, Advanced) else plain)
    for k in varying:
        parts[k] = key[k]
    if any(getattr(part, "dtype", INT).kind not in "iu" for part in parts):
        raise array.refused("chooses with a mask elements of")
    return parts


def is_several(part: Any) -> bool:
    return bool(getattr(part, "ndim", 0))


def shown_by_data(array: RaggedArray, parts: list[Any], is_view: bool = False) -> Any:
    """The view that traced integers show; an element as a number, unless `is_view`."""
    recorder, storage, view = array.recorder, array.storage, array.view
    at = [k for k, part in enumerate(parts) if type(part) is not slice]
    rest = [k for k, part in enumerate(parts) if type(part) is slice]
    indices = tuple(index_below(recorder, recorder.value_of(parts[k], INT), view.shape[k], k) for k in at)
    extents, strides = tuple(view.shape[k] for k in at), tuple(view.strides[k] for k in at)
    if type(storage) is MovingStorage:
        indices, extents, strides = storage.indices + indices, storage.extents + extents, storage.strides + strides
        storage = storage.memory
    moving = MovingStorage(storage, recorder.builder.line, indices, extents, strides)
    left = View(view.offset, tuple(view.shape[k] for k in rest), tuple(view.strides[k] for k in rest))
    if not rest and not is_view:
        return recorder.result(moving.read(recorder, left, None))  # type: ignore[arg-type]
    return seen(RaggedArray(recorder, moving, view), left)


def elements_chosen(array: RaggedArray, parts: list[Any]) -> Chosen:
    """What index arrays choose."""
    recorder, view = array.recorder, array.view
    at = [k for k, part in enumerate(parts) if type(part) is not slice]
    rest = [k for k, part in enumerate(parts) if type(part) is slice]
    indices = [index_below(recorder, recorder.value_of(parts[k], INT), view.shape[k], k) for k in at]
    common = common_shape([index.shape for index in indices], recorder)
    order = [*at, *rest]
    front = View(view.offset, tuple(view.shape[k] for k in order), tuple(view.strides[k] for k in order))
    spread = tuple(recorder.builder.broadcast(index, common) for index in indices)
    return Chosen(front, spread, common, 0 if puts_in_front(parts) else at[0])


def index_below(recorder: Recorder, index: Value, extent: int, axis: int) -> Value:
    """An index, or an array of them, counted from 0, with a guard that it is in range; until then it is cut off."""
    if not isinstance(extent, Ragged):
        return in_range(recorder, index, extent, axis)
    known = recorder.extents.get(id(index))
    if known is not None and known[1] == extent:
        return index
    apply, zero = recorder.apply, recorder.constant(0, INT)
    if (index_of(recorder, exact(extent)) > 0) is not True:  # there would be nothing that it could be cut off to
        raise refused(recorder, "takes an element, where there may be none, of", MOVED)
    least, (low, high) = recorder.scopes.bounds(exact(extent))[0], recorder.builder.limits.of(index)
    if low >= 0 and high < least:
        return index
    count = recorder.builder.index_value(extent.expression)
    inside = apply("less", index, count)
    if low < 0:
        inside = apply("logical_and", inside, apply("greater_equal", index, apply("negative", count)))
        index = apply("where", apply("less", index, zero), apply("add", index, count), index)
    if inside.shape:
        inside = apply("reduce_all", inside, axes=tuple(range(len(inside.shape))))
    if is_caught(IndexError):
        raise refused(recorder, "handles that an index is out of range for", MOVED)
    recorder.scopes.require(inside, "index")
    last = apply("subtract", count, recorder.constant(1, INT))
    return apply("minimum", apply("maximum", index, zero), last)
