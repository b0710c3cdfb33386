"""Functions of arrays whose extents loops move, by way of arrays of integer extents with something behind the elements.

Order, scans and masks are recorded for arrays of the most elements that there may be. What stands behind the others
comes last in order, or counts for nothing: nan, zeros in a sum, truths that do not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...regions.affine import exact
from ...regions.regions import View
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..record.storage import MovingStorage
from .elements import RunTime
from .ragged import RaggedArray, RaggedStorage, common_shape, seen
from .run_time_arrays import RunTimeArray
from .sources import Memory


def filled_up(a: RaggedArray, number: Any) -> Any:
    """The elements with `number` behind them, as an array of integer extents: the most that its own may be."""
    found = a.recorder.concrete(np.full(tuple(map(int, a.view.shape)), number, a.dtype))
    leading_part(found, a.view.shape).write(a.read())
    return found


def leading_part(array: Any, shape: tuple[int, ...]) -> Any:
    """The view of the first elements along each axis, as many as `shape` says."""
    layout = array.layout
    return seen(array, View(layout.offset, shape, layout.strides))


def line_of(a: RaggedArray, axis: Any) -> int:
    """The axis that is meant."""
    if axis is None and a.ndim > 1:
        raise a.refused("takes as one line")
    if axis is not None and not -a.ndim <= axis < a.ndim:
        raise np.exceptions.AxisError(axis, a.ndim)
    return 0 if axis is None else int(axis) % a.ndim


def last_of(dtype: np.dtype) -> Any:
    """What comes last in NumPy's order."""
    return np.nan if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


def in_lines(function: Callable[..., Any], behind: Callable[[np.dtype], Any], default: Any) -> Callable[..., Any]:
    """A function that gives as many elements as it takes, those of each line from that one and those before, or all."""

    def called(a: RaggedArray, axis: Any = default) -> Any:
        found = a.recorder.call(function, (filled_up(a, behind(a.dtype)),), {"axis": line_of(a, axis)})
        return leading_part(found, a.view.shape)

    return called


def mapped_filled(
    recorder: Recorder, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A function of elements."""
    shape = common_shape([recorder.value_of(item).shape for item in args if np.ndim(item)], recorder)
    found = recorder.call(function, tuple(filled_up(a, 1) if type(a) is RaggedArray else a for a in args), kwargs)
    return leading_part(found, shape)


def product_along(a: RaggedArray, axis: Any) -> Any:
    """`numpy.prod`."""
    recorder, shape = a.recorder, a.view.shape
    line = a.ndim if axis is None else line_of(a, axis)
    found = recorder.call(np.prod, (filled_up(a, 1),), {"axis": None if axis is None else line})
    return leading_part(found, (*shape[:line], *shape[line + 1 :])) if found.ndim else found


def as_run_time(a: RaggedArray) -> RunTimeArray:
    """The elements as an array whose length is data."""
    recorder, shape = a.recorder, a.view.shape
    along = [k for k, extent in enumerate(shape) if type(extent) is not int]
    if len(along) > 1:
        raise a.refused("takes, with several such extents,")
    (axis,) = along
    found = filled_up(a, 0)
    front = found.transpose([axis, *(k for k in range(a.ndim) if k != axis)])
    return RunTimeArray(recorder, Memory(front, 0, 1), length_along(a, axis), axis, front.shape[1:], a.dtype)


def in_its_memory(a: RaggedArray) -> RunTimeArray:
    """The same elements, where they are, as an array whose length is data: of which slices may reach past its ends."""
    recorder, storage = a.recorder, a.storage
    if a.ndim > 1 or isinstance(storage, MovingStorage) or not storage.base.flags.c_contiguous:
        raise a.refused("slices past its ends, with several axes, or in a part of memory that moves,")
    if isinstance(storage, RaggedStorage):
        storage.writable_buffer(recorder)
    front = recorder.array_at(storage, storage.base.reshape(-1))
    source = Memory(front, a.view.offset, a.view.strides[0])
    return RunTimeArray(recorder, source, length_along(a, 0), 0, (), a.dtype)


def length_along(a: RaggedArray, axis: int) -> RunTime:
    """How many elements an axis has, as data: none where the extent is negative."""
    recorder, extent = a.recorder, a.view.shape[axis]
    count = recorder.builder.index_value(exact(extent))
    if recorder.scopes.bounds(exact(extent))[0] < 0:
        count = recorder.apply("maximum", count, recorder.constant(0, INT))
    return RunTime(count, int(extent))


def as_data(recorder: Recorder, items: Any) -> Any:
    """Arguments with such arrays among them as arrays whose length is data, to meet others of these."""
    kind = type(items)
    if kind is RaggedArray:
        return as_run_time(items)
    if kind is tuple or kind is list:
        return kind(as_data(recorder, item) for item in items)
    return {name: as_data(recorder, item) for name, item in items.items()} if kind is dict else items


sort = in_lines(np.sort, last_of, -1)
argsort = in_lines(np.argsort, last_of, -1)
cumsum = in_lines(np.cumsum, lambda dtype: 0, None)
cumprod = in_lines(np.cumprod, lambda dtype: 1, None)
