"""Arrays and lists of which each iteration makes the next one, by the same number of elements shorter or longer.

`v = w * (v[1:] + v[:-1])` of a binomial tree, `v = [w * (v[j] + v[j + 1]) for j in range(len(v) - 1)]`: they lie in
memory for the longest, and in an iteration their length is an expression of the index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Extent, affine, exact, ragged
from ...regions.regions import View, c_strides
from ...tape.tape import Buffer
from ..lengths.ragged import RaggedArray, seen
from ..values.array_tracer import ArrayTracer
from .form import HandedOn, NotCarried, Stores
from .forms import joined
from .handed import Handed
from .places import is_dead
from .stored_forms import Number
from .traced_list import Segment, TracedList

if TYPE_CHECKING:
    from ..record.recorder import Recorder
    from .recorded_loop import RecordedLoop


@dataclass(kw_only=True)
class NextLength(HandedOn, Handed):
    """Such an array: of `start` elements before the loop, and `step` more after each iteration, of so many `trips`.

    It is the length along one `axis` that differs.
    """

    buffer: Buffer = field(compare=False)
    base: np.ndarray = field(compare=False)
    start: int
    step: int
    trips: Callable[[], Extent | None]
    axis: int = 0
    is_replaced = True

    def length_in(self, recorder: Recorder, index: int) -> Extent:
        """In an iteration, or after the loop."""
        done = affine(0, {index: 1}) if index in recorder.scopes.indices else self.whole_trips()
        return self.start + done * self.step

    def whole_trips(self) -> Extent:
        trips = self.trips()
        if trips is None:
            raise NotCarried
        return trips

    def rows(self, recorder: Recorder, index: int) -> ArrayTracer:
        """The memory."""
        storage = self.memory_for(recorder, index, self.base, self.buffer)
        storage.chosen, storage.lent, storage.carried = True, True, True
        return ArrayTracer(recorder, storage, self.base)

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        shape = list(self.base.shape)
        shape[self.axis] = ragged(shape[self.axis], self.length_in(recorder, index))
        return seen(self.rows(recorder, index), View(0, tuple(shape), c_strides(self.base.shape)))

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        if not (recorder.is_array(value) or type(value) is RaggedArray) or value.dtype != self.base.dtype:
            raise NotCarried
        rest, own, axis = list(value.layout.shape), list(self.base.shape), self.axis
        if len(rest) != len(own):
            raise NotCarried
        length, longest = rest.pop(axis), own.pop(axis)
        least, most = recorder.scopes.bounds(self.start + self.whole_trips() * self.step)
        is_even = exact(length) - self.length_in(recorder, index) == self.step and rest == own
        if not is_even or least < 0 or most > longest:
            raise NotCarried
        self.standing.left |= recorder.copies.names(value.storage)
        return [(self.buffer, value.read())]


@dataclass(kw_only=True)
class NextListLength(NextLength):
    """Such a list of numbers."""

    like: TracedList
    leaf: Number

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        found = self.like.like([])
        rows = self.rows(recorder, index)
        rows.storage.listed = found
        found.parts.append(Segment(replace(self.leaf, memory=rows), self.length_in(recorder, index)))
        return found

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        if type(value) is not TracedList or value.kind is not self.like.kind or not is_of_alike(value, self.leaf):
            raise self.like.uneven()
        try:
            return super().leave(recorder, value.traced(), index)
        except NotCarried:
            raise value.uneven() from None


def is_of_alike(items: TracedList, leaf: Number) -> bool:
    """Whether all in a list are numbers of this form, in memory."""
    parts = items.parts
    return all(type(part) is Segment and joined(part.column.stored(), leaf, exact=True) == leaf for part in parts)


def has_even_length(loop: RecordedLoop, key: Any, old: Any, new: Any) -> bool:
    """Whether a list that has another length each time may be by as many elements shorter or longer."""
    carry = loop.carries.get(key)
    if isinstance(carry, NextListLength):
        return True
    place = loop.origin.values[key][0]
    may_be = carry is None and not is_dead(place) and place.name not in loop.joiner.no_lengths
    return may_be and loop.joiner.has_another_length(old, new)
