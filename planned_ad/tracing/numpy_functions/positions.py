"""Positions that are data: which elements they leave, and where in an array of several axes they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..record.dispatch import implements
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..values.advanced import in_range
from .support import asarray, refuse


def positions_below(recorder: Recorder, positions: Any, count: int) -> Any:
    """`positions`, of which it is known that they are at least 0 and below `count`."""
    value = recorder.value_of(positions)
    recorder.extents[id(value)] = value, count
    recorder.builder.limits.note(value, 0, max(count - 1, 0))
    return recorder.result(value)


def is_one_traced(recorder: Recorder, place: object) -> bool:
    """Whether a position is one integer that is known at run time."""
    return recorder.is_scalar(place) and not place.is_known and place.dtype.kind in "iu"  # type: ignore[attr-defined]


def places_without(recorder: Recorder, place: Any, count: int, axis: int) -> Any:
    """The positions below `count` other than `place`."""
    taken = recorder.result(in_range(recorder, recorder.value_of(place, INT), count, axis))
    rest = np.arange(count - 1)
    return positions_below(recorder, rest + (rest >= taken), count)


def places_with_inserted(recorder: Recorder, place: Any, count: int, more: int, axis: int) -> Any:
    """The positions below `count`, with the `more` that follow them put in before `place`."""
    counted = np.where(place < 0, place + count, place)
    before = recorder.result(
        in_range(recorder, recorder.value_of(require_not_negative(recorder, counted)), count + 1, axis)
    )
    i = np.arange(count + more)
    order = np.where(i < before, i, np.where(i < before + more, count + i - before, i - more))
    return positions_below(recorder, order, count + more)


def require_not_negative(recorder: Recorder, place: Any) -> Any:
    """A position that is counted from the start; a guard that it is."""
    recorder.scopes.require_after(recorder.value_of(place >= 0), "index")
    return place


@implements(np.unravel_index)
def unravel_index(recorder, indices, shape, order="C"):
    refuse("unravel_index", order=None if order == "C" else order)
    shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    place = asarray(recorder, indices)[()]
    if place.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    total: Any = 1
    for extent in shape:
        total = total * extent
    is_below = type(total) is int and recorder.extents.get(id(recorder.value_of(place)), (None, total + 1))[1] <= total
    if not is_below:
        inside = np.all((place >= 0) & (place < total))
        recorder.scopes.require_after(recorder.value_of(inside), "index")
    found = []
    for extent in reversed(shape):
        own = place % extent
        found.append(positions_below(recorder, own, extent) if type(extent) is int else own)
        place = place // extent
    return tuple(reversed(found))


@implements(np.ravel_multi_index)
def ravel_multi_index(recorder, multi_index, dims, mode="raise", order="C"):
    refuse("ravel_multi_index", order=None if order == "C" else order, mode=None if mode == "raise" else mode)
    dims = tuple(dims) if isinstance(dims, tuple | list) else (dims,)
    places = [asarray(recorder, index)[()] for index in multi_index]
    if len(places) != len(dims):
        raise ValueError("parameter multi_index must be a sequence of length " + str(len(dims)))
    found: Any = 0
    for place, extent in zip(places, dims):
        if place.dtype.kind not in "iu":
            raise TypeError("only int indices permitted")
        inside = np.all((place >= 0) & (place < extent))
        recorder.scopes.require_after(recorder.value_of(inside), "index")
        found = found * extent + place
    total = math.prod(dims)
    return positions_below(recorder, found, total) if type(total) is int else found


@implements(np.ix_)
def ix_(recorder, *args):
    """`K[np.ix_(d, d)] += k`, `d` the degrees of freedom of an element that a loop counts."""
    found = []
    for k, given in enumerate(args):
        axis = asarray(recorder, given)[()]
        if axis.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if axis.dtype.kind == "b":
            axis = np.nonzero(axis)[0]
        elif not axis.size:
            axis = axis.astype(np.intp)
        found.append(axis.reshape((1,) * k + (axis.size,) + (1,) * (len(args) - k - 1)))
    return tuple(found)
