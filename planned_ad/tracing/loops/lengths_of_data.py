"""Arrays whose length is data, of which each iteration makes the next one: `active = active[error[active] > tol]`.

They lie in memory for as many elements as there may be, and an integer says how many there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...tape.tape import Buffer, Value
from ..lengths.elements import RunTime
from ..lengths.run_time_arrays import RunTimeArray
from ..lengths.sources import Memory
from ..record.aliases import Copy
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..values.array_tracer import ArrayTracer
from .form import Allocate, HandedOn, NotCarried, Stores, place_for
from .handed import Handed
from .stored_forms import Array


@dataclass(kw_only=True)
class NextRunTime(HandedOn, Handed):
    """Such an array, along its first axis: in `buffer`, of as many elements as `count` says."""

    buffer: Buffer = field(compare=False)
    count: Buffer = field(compare=False)
    base: np.ndarray = field(compare=False)
    is_replaced = True

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        storage = self.memory_for(recorder, index, self.base, self.buffer)
        storage.chosen, storage.lent, storage.carried = True, True, True
        rows = Memory(ArrayTracer(recorder, storage, self.base), 0, 1)
        length = RunTime(recorder.builder.load(self.count.whole), len(self.base))
        return RunTimeArray(recorder, rows, length, 0, self.base.shape[1:], self.base.dtype)

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        if not is_along_first_axis(value) or (value.dtype, value.rest) != (self.base.dtype, self.base.shape[1:]):
            raise NotCarried
        if value.length.most > len(self.base):
            raise NotCarried
        source: Any = value.source
        if is_at_first(source) and source.front.storage is self.storage:
            return [(self.count, value.length.count)]
        elements = elements_in_memory(value)
        self.standing.left |= recorder.copies.names_in(value)
        return [(self.buffer, elements), (self.count, value.length.count)]


@dataclass
class OfAnyLength(HandedOn):
    """Such an array in a place that a branch chooses, or that a loop returns; also one of known length beside it."""

    dtype: np.dtype
    rest: tuple[int, ...]
    most: int
    buffer: Buffer | None = field(default=None, compare=False, kw_only=True)
    count: Buffer | None = field(default=None, compare=False, kw_only=True)
    copy: Copy | None = field(default=None, compare=False, kw_only=True)
    shared: bool = field(default=False, compare=False, kw_only=True)

    def joined(self, other: OfAnyLength, exact: bool) -> HandedOn | None:
        if exact or (self.dtype, self.rest) != (other.dtype, other.rest):
            return None
        return self if other.most <= self.most else OfAnyLength(self.dtype, self.rest, other.most)

    def placed(self, allocate: Allocate) -> HandedOn:
        if self.buffer is not None:
            return self
        return replace(self, buffer=allocate(self.dtype, (self.most, *self.rest)), count=allocate(INT, ()))

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        assert self.buffer is not None and self.count is not None and self.copy is not None
        rows = recorder.copies.array_in(self.buffer, self.copy)
        rows.storage.chosen = True
        length = RunTime(recorder.builder.load(self.count.whole), self.most)
        return RunTimeArray(recorder, Memory(rows, 0, 1), length, 0, self.rest, self.dtype)

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        assert self.buffer is not None and self.count is not None
        if type(value) is RunTimeArray:
            return [(self.buffer, elements_in_memory(value)), (self.count, value.length.count)]
        return [(self.buffer, value.read()), (self.count, recorder.constant(value.shape[0], INT))]


def of_any_length(array: RunTimeArray) -> OfAnyLength | None:
    """The form of an array, which is in memory from now on: what is written to it later has to be seen in a copy."""
    if not is_along_first_axis(array):
        return None
    array.in_memory()
    return OfAnyLength(array.dtype, array.rest, array.length.most)


def as_of_any_length(a: HandedOn | None, b: HandedOn | None) -> tuple[HandedOn | None, HandedOn | None]:
    """Two forms, of which one is that of an array whose length is data and the other of an array, as of such ones."""
    if type(a) is OfAnyLength and isinstance(b, Array) and b.shape:
        return a, OfAnyLength(b.dtype, b.shape[1:], b.shape[0])
    if type(b) is OfAnyLength and isinstance(a, Array) and a.shape:
        return OfAnyLength(a.dtype, a.shape[1:], a.shape[0]), b
    return a, b


def of_several_lengths(recorder: Recorder, a: HandedOn | None, b: HandedOn | None) -> HandedOn | None:
    """The form of one of two arrays of known lengths, that are alike but for these; None of others."""
    if not (isinstance(a, Array) and isinstance(b, Array) and a.dtype == b.dtype and a.shape[1:] == b.shape[1:]):
        return None
    are_known = len(a.shape) == len(b.shape) > 0 and type(a.shape[0]) is type(b.shape[0]) is int
    if not are_known or not may_be_of_any_length(recorder):
        return None
    return OfAnyLength(a.dtype, a.shape[1:], max(a.shape[0], b.shape[0]))


def may_be_of_any_length(recorder: Recorder) -> bool:
    """Whether to try what has no rule for all that is done with it: else the trace starts again without.

    Not so that one trace serves for all ways through a function: there are traces for each length instead.
    """
    if recorder.scopes.decisions.most_passes:
        return False
    site = next((scope.site for scope in reversed(recorder.scopes.open) if scope.site is not None), None)
    return site is not None and recorder.scopes.may_try(site)


def is_along_first_axis(value: Any) -> bool:
    """Whether it is an array whose first axis, and only that, is of a length that is data."""
    return type(value) is RunTimeArray and not value.axis


def elements_in_memory(array: RunTimeArray) -> Value:
    """Its elements, and what lies behind them, as there is room for."""
    source = array.in_memory()
    is_all = is_at_first(source) and source.front.shape[0] == array.length.most
    return (source if is_all else array.stored()).front.read()  # type: ignore[no-any-return]


def is_at_first(source: Any) -> bool:
    """Whether it is the first elements of a memory, in order."""
    return type(source) is Memory and type(source.start) is int and not source.start and source.step == 1


def store_at_first(recorder: Recorder, buffer: Buffer, initial: Any) -> None:
    """Put into a carry's memory what it holds before the first iteration."""
    builder, is_run_time = recorder.builder, type(initial) is RunTimeArray
    value = elements_in_memory(initial) if is_run_time else recorder.value_of(initial, buffer.dtype)
    place = place_for(buffer, value)
    builder.store(place, builder.broadcast(value, place.shape))
