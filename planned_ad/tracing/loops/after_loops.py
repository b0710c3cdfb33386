"""What variables hold after a loop that was recorded once: what its last iteration leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.complex_parts import ComplexArray
from ...regions.affine import Affine, Extent, Ragged, affine, exact, ragged, substitute
from ...regions.regions import View, contiguous
from ...tape.tape import Buffer, Value
from ..lengths.ragged import RaggedArray, seen
from ..lengths.run_time_arrays import RunTimeArray
from ..record.aliases import NONE, Copy
from ..record.lost_variables import Lost
from ..record.storage import ShiftedStorage, Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex, index_of
from ..values.scalar_tracer import ScalarTracer
from .carries import NextArray
from .counts import Count, Growing
from .form import HandedOn
from .forms import Items, Moving, Rows, Unchanged, moved
from .held import has_places, is_made_of_arrays, put_together, taken_apart
from .lengths_of_data import of_any_length
from .letters import Letters
from .none_or_value import NoneOrValue
from .references import RecordKind
from .stored_forms import Array, InMemory, Number
from .traced_list import Segment, TracedList

if TYPE_CHECKING:
    from .recorded_loop import RecordedLoop


class Leaving:
    """What variables hold after a loop: numbers and arrays of the last iteration are left in memory by it."""

    def __init__(self, loop: RecordedLoop):
        self.loop, self.recorder = loop, loop.recorder
        self.stores: list[tuple[Buffer, Value]] = []
        self.storages: list[tuple[Storage, Buffer]] = []
        self.kept: dict[int, tuple[Value, Buffer]] = {}
        self.held: dict[int, ArrayTracer] = {}
        self.ran: Buffer | None = None  # the iterations that have begun, of a loop that may be left

    def begin(self) -> None:
        """Record what comes before the loop, which may have no iteration."""
        if self.ran is not None:
            self.recorder.builder.store(self.ran.whole, self.recorder.constant(0, np.int64))

    def carried(self, carry: HandedOn | None, value: Any) -> Any:
        """Of a variable that was there before the loop."""
        if self.loop.is_left and counts(carry) and self.ran is None:
            recorder = self.recorder
            number = recorder.value_of(index_of(recorder, affine(1, {self.loop.index: 1})), np.int64)
            self.ran = self.keep(number, "iterations")
        return value if carry is None else carry

    def survivor(self, value: Any) -> Any:
        """Of something made in the loop."""
        recorder, depth = self.recorder, self.loop.depth
        if self.loop.is_left and moves_with(self.loop, value):
            if type(value) is not LoopIndex:
                return Lost(recorder, "a view that moves with the index")
            value = value.traced()
        if recorder.is_scalar(value):
            return Number(value.dtype, value.is_python, buffer=self.keep(value.value, "after"), types=value.types)
        if recorder.is_array(value):
            storage = value.storage
            if self.loop.copies.is_replaced(value):
                copy = Copy(recorder.copies.names(storage), NONE, self.loop.copies.refused)
                buffer = self.keep(value.read(), storage.label())
                return Array(value.dtype, value.shape, buffer=buffer, copy=copy)
            self.leave(storage, depth)
            return value
        if type(value) is RaggedArray:
            self.leave(value.storage, depth)
            return value
        if type(value) is TracedList and list_moves(self.loop, value):
            if self.loop.is_left:
                return Lost(recorder, "a list that moves with the index")
            return with_parts(value, [part if type(part) is Segment else self.survivor(part) for part in value.parts])
        form = of_any_length(value) if type(value) is RunTimeArray else None
        if form is not None:
            names = recorder.copies.names_in(value)
            placed = form.placed(lambda dtype, shape: self.memory("after", dtype, shape))
            self.stores += placed.leave(recorder, value, self.loop.index)
            return replace(placed, copy=Copy(names, NONE, self.loop.copies.refused))  # type: ignore[type-var]
        parts = taken_apart(value)
        if parts is None or has_places(parts[0]):
            return value
        if parts[0] is ComplexArray and not value.is_known:
            value.storage.settle(recorder)
        items = [self.survivor(item) for item in parts[2]]
        is_one = is_made_of_arrays(parts[0]) or parts[0] is NoneOrValue or isinstance(parts[0], Letters | RecordKind)
        if is_one:  # put together when the loop is over
            return Items(parts[0], parts[1], tuple(map(as_form, items)))
        return put_together(parts[0], parts[1], items)

    def leave(self, storage: Storage, depth: int) -> None:
        """What is computed in the loop lies in memory after it."""
        if storage.value is None or storage.depth <= depth or any(known is storage for known, _ in self.storages):
            return
        view = storage.view_of(storage.base)
        buffer = self.recorder.builder.new_buffer("local", storage.label(), storage.base.dtype, view)
        self.storages.append((storage, buffer))
        self.stores.append((buffer, storage.value))

    def memory(self, label: str, dtype: np.dtype, shape: tuple[int, ...]) -> Buffer:
        return self.recorder.builder.new_buffer("local", label, dtype, contiguous(shape))

    def keep(self, value: Value, label: str) -> Buffer:
        if value.id not in self.kept:
            buffer = self.memory(label, value.dtype, value.shape)
            self.kept[value.id] = (value, buffer)
            self.stores.append((buffer, value))
        return self.kept[value.id][1]

    def finished(self, value: Any, name: str) -> Any:
        """As the program sees it after the loop."""
        recorder = self.recorder
        if isinstance(value, HandedOn):
            return self.after(value, name)
        if type(value) is RaggedArray or (recorder.is_array(value) and type(value.storage) is ShiftedStorage):
            return self.settled(value)
        if type(value) is LoopIndex:
            return index_of(recorder, value.expression)
        if type(value) is TracedList and list_moves(self.loop, value):
            return with_parts(value, [self.finished_part(part, name) for part in value.parts])
        parts = taken_apart(value)
        if parts is None or has_places(parts[0]):
            return value
        items = [self.finished(item, name) for item in parts[2]]
        is_same = all(a is b for a, b in zip(items, parts[2]))
        return value if is_same else put_together(parts[0], parts[1], items)

    def finished_part(self, part: Any, name: str) -> Any:
        """Of a list: an element, or some of them in rows that the index has moved."""
        if type(part) is not Segment:
            return self.finished(part, name)
        length: Any = part.length
        return Segment(self.finished_column(part.column, name), self.at_last(exact(length)))

    def finished_column(self, form: HandedOn, name: str) -> HandedOn:
        match form:
            case InMemory() if form.memory is not None:
                return replace(form, memory=self.settled(form.memory))
            case Count():
                return Count(self.at_last(form.start), self.at_last(form.step))
            case Unchanged():
                return Unchanged(self.finished(form.value, name))
            case Items():
                return replace(form, items=tuple(self.finished_column(part, name) for part in form.items))
            case Rows():
                return replace(form, each=self.finished_column(form.each, name))
        return form

    def at_last(self, expression: Extent) -> Any:
        """In the last iteration."""
        return substitute(expression, self.loop.index, exact(self.loop.whole_trips) - 1)

    def settled(self, array: Any) -> Any:
        """A view that the loop has moved, where the last iteration left it."""
        view = array.layout
        shape = tuple(ragged(int(n), self.at_last(n.expression)) if isinstance(n, Ragged) else n for n in view.shape)
        return seen(array, View(self.at_last(view.offset), shape, view.strides))

    def after(self, carry: HandedOn, name: str) -> Any:
        """What a form has become after the last iteration."""
        loop = self.loop
        if type(carry) is Array and carry.buffer is not None:
            if carry.buffer.id not in self.held:
                self.held[carry.buffer.id] = carry.begin(self.recorder, loop.index, name)
            return self.held[carry.buffer.id]
        if isinstance(carry, Count | Growing):
            return carry.at_iteration(self.recorder, self.trips())
        if isinstance(carry, Moving):
            if self.may_be_less or loop.is_left:
                return Lost(self.recorder, "a view that moves with the index")
            return seen(carry.view_of, moved(carry.view, loop.index, exact(loop.whole_trips) - 1))
        if isinstance(carry, Items):
            made = is_made_of_arrays(carry.kind)
            items = (item.value if made and isinstance(item, Unchanged) else item for item in carry.items)
            return carry.made(self.recorder, [self.finished(item, name) for item in items])
        if isinstance(carry, NextArray) and carry.is_replaced and loop.certainly_runs and not loop.is_left:
            carry.lent = False  # what the first iteration was handed is no longer what it stands for
        return carry.begin(self.recorder, loop.index, name)

    @property
    def may_be_less(self) -> bool:
        """Whether the length may come out as less than zero."""
        loop = self.loop
        return loop.count is None and self.recorder.scopes.bounds_around(exact(loop.whole_trips), loop.index)[0] < 0

    def trips(self) -> Any:
        """How often the loop has run: an integer, or one that is traced."""
        loop, recorder = self.loop, self.recorder
        if self.ran is not None:
            ran = recorder.builder.load(self.ran.whole)
            recorder.builder.limits.note(ran, 0, int(loop.whole_trips))
            return ScalarTracer(recorder, ran, is_python=True)
        if loop.count is not None or self.may_be_less:
            return ScalarTracer(recorder, loop.count or self.none_or(loop.whole_trips), is_python=True)
        return index_of(recorder, exact(loop.whole_trips))

    def none_or(self, trips: int) -> Value:
        """How often a loop runs whose length may come out as less than zero."""
        length = exact(trips)
        assert isinstance(length, Affine)
        value = self.recorder.builder.index_value(length)
        return self.recorder.apply("maximum", value, self.recorder.constant(0, np.int64))


def as_form(value: Any) -> HandedOn:
    """Of what is left in memory, or known, or a tuple of such."""
    if isinstance(value, HandedOn):
        return value
    is_mixed = isinstance(value, tuple) and any(isinstance(as_form(item), Items | InMemory) for item in value)
    if not is_mixed:
        return Unchanged(value)
    return Items(type(value), tuple(range(len(value))), tuple(map(as_form, value)))


def counts(carry: HandedOn | None) -> bool:
    """Whether what is handed on tells how many iterations there were."""
    return carry is not None and any(isinstance(leaf, Count | Growing) for leaf in carry.leaves())


def moves_with(loop: RecordedLoop, value: Any) -> bool:
    """Whether an integer or a view is another one in each iteration."""
    if type(value) is LoopIndex:
        found = [value.expression]
    elif type(value) is RaggedArray or (type(value) is ArrayTracer and type(value.storage) is ShiftedStorage):
        found = [value.layout.offset, *(n.expression for n in value.layout.shape if isinstance(n, Ragged))]
    else:
        return False
    return any(isinstance(e, Affine) and loop.index in dict(e.terms) for e in found)


def list_moves(loop: RecordedLoop, items: TracedList) -> bool:
    """Whether what is in a list, or where that lies, is something else in each iteration."""
    return not items.is_written and any(part_moves(loop, part) for part in items.parts)


def part_moves(loop: RecordedLoop, part: Any) -> bool:
    if type(part) is not Segment:
        return moves_with(loop, part) or (type(part) is TracedList and list_moves(loop, part))
    found: list[Any] = [part.length.expression] if isinstance(part.length, Ragged) else []
    for leaf in part.column.leaves():
        if isinstance(leaf, InMemory) and leaf.memory is not None:
            found.append(leaf.memory.layout.offset)
        elif isinstance(leaf, Count):
            found += [leaf.start, leaf.step]
        elif isinstance(leaf, Unchanged) and moves_with(loop, leaf.value):
            return True
    return any(isinstance(e, Affine) and loop.index in dict(e.terms) for e in found)


def with_parts(items: TracedList, parts: list[Any]) -> TracedList:
    """The same list as it is after a loop."""
    found = items.like(parts)
    found.is_element = items.is_element
    return found
