"""How a list whose length is data lies in memory: rows, and an integer that says how many of them there are."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..lengths.elements import Position, RunTime, for_each
from ..lengths.run_time_arrays import RunTimeArray
from ..lengths.run_time_keys import index_within
from ..lengths.sources import Bound, Memory
from ..lengths.varying import refused
from ..record.promotion import INT
from ..record.storage import Storage
from ..values.loop_index import expression_of, index_of, plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .columns import may_be_kept
from .form import HandedOn
from .forms import Items, Rows, Unchanged
from .held import put_together
from .list_in_trace import ListInTrace, is_traced_list
from .list_room import (
    MOST_ROWS,
    Appended,
    ListsOfSite,
    calls_at,
    form_in_rows,
    is_alike,
    list_around,
    of_this_trace,
    passes_around,
    room_for,
    serving,
    times_within,
)
from .lists_in_rows import Lists, RowOfLists, room_in_rows
from .object_copies import note_copy, refuse_truths_in
from .references import refer, refer_beside, site_of_record
from .stored_forms import Array, InMemory, Number
from .traced_list import Segment, TracedList

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder

NO_ROOM = "a list comes to hold more elements than its memory has room for"


def has_lists_of_one_length(form: HandedOn) -> bool:
    """Whether there is a list in elements of this form that has as many elements in each."""
    return isinstance(form, Rows) or any(map(has_lists_of_one_length, form.parts()))


class RowsOfList(ListInTrace):
    """`filled` elements, in rows of the memory of `column`; or of that of the list of which it is an element."""

    is_plain = False
    made_as: ClassVar[type[RowsOfList]]  # of those that are lists to the program

    def __init__(self, recorder: Recorder, site: Site, kind: type = list):
        super().__init__(recorder, site, kind)
        found = recorder.scopes.decisions.lengths[site]
        self.form = of_this_trace(recorder, found.form)
        self.appended = Appended()
        recorder.appended.setdefault(site, ListsOfSite()).add(self.appended, passes_around(recorder))
        self.most = found.of(self.appended.number)
        self.row: RowOfLists | None = None  # where it is an element of another list
        self.lists_given: list[weakref.ref[RowsOfList]] = []  # its elements that are lists, as the program has them
        self.is_copied = False  # into another list, whose element is another list to us
        self.is_heap = False  # whether it begins as one; see `heaps`
        self.filled = self._number(0)
        self.column: HandedOn | None = None
        if self.form is not None:
            self.column = self.form.in_rows(self.most, self, -1, self.depth)  # type: ignore[arg-type]
            for storage in self.column.own_storages():
                storage.listed = None  # nobody but this list has it

    @property
    def filled(self) -> Any:
        """How many elements it has."""
        if self.is_copied:
            raise self.refuse()
        return self._filled if self.row is None else self.row.filled

    @filled.setter
    def filled(self, number: Any) -> None:
        if self.row is None:
            self._filled: Any = number
        else:
            self.row.fill(number)

    def version(self) -> Any:
        """What is another one where it has got longer or shorter."""
        return self._filled if self.row is None else self.row.version()

    def refuse(self) -> BaseException:
        return super().refuse() if self.row is None else self.row.owner.refuse()

    def refer(self) -> BaseException:
        """What to raise where its elements, which are lists, would have to be records."""
        sites = self.recorder.records.within.get(self.site, set())
        return self.recorder.scopes.restart() if refer(self.recorder, sites, self.site) else self.refuse()

    def _number(self, number: int) -> ScalarTracer:
        return ScalarTracer(self.recorder, self.recorder.constant(number, INT), is_python=True)

    def held(self) -> Iterator[tuple[str | None, Any]]:
        if self.row is None:
            yield "filled", self._filled
        for storage in self.storages():
            yield None, storage

    def storages(self) -> Iterator[Storage]:
        column = self.column if self.row is None else self.row.column
        if column is not None:
            yield from column.storages()

    def _with_room(self, length: RunTime) -> RunTime:
        """A length for which this list has room."""
        if length.most <= self.most:
            return length
        recorder = self.recorder
        most = recorder.constant(self.most, INT)
        recorder.scopes.require_after(recorder.apply("less_equal", length.count, most), "bounds", NO_ROOM)
        return RunTime(recorder.apply("minimum", length.count, most), self.most)

    def _known(self, value: Any) -> Any:
        """An element, for which the form of those that it has serves, too."""
        refer_beside(self.recorder, getattr(self.form, "kind", None), value)
        if type(value) is list or is_traced_list(value):
            value = self._of_data_length(value)
            self.recorder.records.within.setdefault(self.site, set()).add(value.site)
            common = room_in_rows(self.recorder, self.site, self.form, value)
        else:
            common = self._common_form(value)
        if self.form is None or not is_alike(common, self.form):
            self._decide(form=common, is_guessed=False)
        return value

    def _common_form(self, value: Any) -> HandedOn:
        form = form_in_rows(self.recorder, value)
        if form is None:
            raise self.refuse()
        is_new = self.form is None or self.recorder.scopes.decisions.lengths[self.site].is_guessed
        common = form if is_new else serving(self.form, form)  # type: ignore[arg-type]
        if common is None or has_lists_of_one_length(common) or not may_be_kept(self.recorder, common):
            raise self.refuse()
        refuse_truths_in(self, common)
        return common

    def _of_data_length(self, items: Any) -> RowsOfList:
        """A list that is to be an element, which no other list has: as one whose length is data."""
        if type(items) is self.made_as:
            if self.row or items.kind is not list or items.row or items.is_copied or isinstance(items.form, Lists):
                raise self.refuse()
            return items
        decisions = self.recorder.scopes.decisions
        site = items.site if type(items) is TracedList else self._shown_at(items)
        is_element = type(items) is TracedList and (items.is_element or items.kind is not list)
        if self.row or site is None or is_element or site in decisions.plain or site in decisions.lengths:
            shown = site_of_record(self.recorder, items)
            if shown is not None and refer(self.recorder, {shown}, self.site):
                raise self.recorder.scopes.restart()
            raise self.refuse()
        decisions.growing.add(site)
        decisions.follow_comprehensions()
        decisions.lengths[site] = room_for(self.recorder, items.parts if type(items) is TracedList else items)
        raise self.recorder.scopes.restart()

    def _shown_at(self, items: list[Any]) -> Any:
        """Where the program has made a list; None where that is not known."""
        found = (known.get(id(items)) for known in (self.recorder.displays, self.recorder.records.shown))
        return next((site for _, site in filter(None, found)), None)

    def _make_room(self, by: Appended | None = None) -> None:
        """For as many elements as the loops around may append here; for each of those `by` which it is extended."""
        recorder, row = self.recorder, None if self.row is None else expression_of(self.row.position.index)
        around = None if by is not None else list_around(recorder, self.depth)
        beside, each = around or (None, by)
        times = times_within(recorder, self.depth, row, beside)
        calls = calls_at(sys._getframe(1))
        self.appended.at(recorder.scopes.indices, passes_around(recorder), calls, times, each)
        if self.appended.most > MOST_ROWS:
            raise self.refuse()

    def _decide(self, **known: Any) -> None:
        self.recorder.scopes.decisions.know(self.site, **known)
        raise self.recorder.scopes.restart()

    def _put(self, form: HandedOn, row: Position, value: Any) -> None:
        if isinstance(form, Items):
            for part, item in zip(form.items, form.elements_of(value)):
                self._put(part, row, item)
        elif isinstance(form, Lists):
            self._put_list(form, row, value)
        elif isinstance(form, InMemory):
            stored = self.recorder.value_of(plain_or_traced(value), form.dtype)
            self.memory(form).element(row).write(stored)

    def memory(self, form: InMemory) -> Memory:
        """Where its elements are, in the memory of this form."""
        assert form.memory is not None
        return Memory(form.memory, 0 if self.row is None else self.row.start, 1)

    def _put_list(self, form: Lists, position: Position, value: RowsOfList) -> None:
        """Another list comes to be an element: it lies there from now on, or its copy if something else may know it."""
        found = self._list_in(form, position)
        length = value.length_
        row = expression_of(position.index)
        times = times_within(self.recorder, self.depth, row)
        found.appended.hold(value.appended, times)
        found._copy(value, 0, length, 1)
        found.filled = length.scalar(self.recorder)
        if value.scope is self.recorder.scopes.innermost:
            value._lie_in(self, form, position)
        else:
            value.is_copied = True

    def _list_in(self, form: Lists, position: Position) -> RowsOfList:
        """An element that is a list."""
        found = self.made_as.__new__(self.made_as)
        ListInTrace.__init__(found, self.recorder, form.site)
        found._lie_in(self, form, position)
        return found

    def _lie_in(self, owner: RowsOfList, form: Lists, position: Position) -> None:
        self.row, self.site, self.depth, self.scope = (
            RowOfLists(owner, form, position),
            form.site,
            owner.depth,
            owner.scope,
        )
        self.form = self.column = form.each
        self.most, self.appended = form.most, form.appended_to(self.recorder, position)
        self.is_heap = self.is_copied = False
        self.lists_given = []
        owner.lists_given.append(weakref.ref(self))

    @property
    def length_(self) -> RunTime:
        count = self.recorder.value_of(self.filled, INT)
        self.recorder.counted[count.id] = self.appended
        return RunTime(count, self.most)

    @property
    def known_length(self) -> int | None:
        """Its length, outside of loops, where the trace is for that one alone."""
        recorder = self.recorder
        if not recorder.scopes.decisions.fixed_lengths or recorder.scopes.depth:
            return None
        return int(recorder.outcome(self.length_.count, "count"))

    def _rows(self) -> HandedOn:
        if self.column is None:  # it is not known yet what is in it
            self.recorder.scopes.decisions.guess(self.site, form=Number(np.dtype(float), is_python=True))
            raise self.recorder.scopes.restart()
        return self.column

    def _row(self, key: Any) -> Position:
        """The row of an index, which may count from the end; a guard that it is in range."""
        is_integer = type(key) is int or expression_of(key) is not None
        if not is_integer and not (self.recorder.is_scalar(key) and key.dtype.kind in "iu"):
            raise self.refuse()
        self._rows()
        found, expression = index_within(self.recorder, self.length_, key), expression_of(key)
        if expression is not None:
            low, high = self.recorder.scopes.bounds(expression)
            if low >= 0 and high < self.most:  # there is memory, whatever the guard says
                return Position(index_of(self.recorder, expression))
        recorder, apply = self.recorder, self.recorder.apply  # the guard may be tested when the loops are over
        last, first = recorder.constant(self.most - 1, INT), recorder.constant(0, INT)
        row = apply("minimum", apply("maximum", recorder.value_of(found, INT), first), last)
        return Position(ScalarTracer(recorder, row, is_python=True))

    def _element(self, form: HandedOn, row: Position) -> Any:
        if isinstance(form, Unchanged):
            return form.value
        if not isinstance(form, Number):  # another object each time
            self.recorder.rows_given.add(self.site if self.row is None else self.row.owner.site)
        if isinstance(form, Lists):
            return self._list_in(form, row)
        if isinstance(form, Items):
            found = put_together(form.kind, form.keys, [self._element(part, row) for part in form.items])
            note_copy(self.recorder, self.site, found)
            return found
        assert isinstance(form, InMemory)
        found = self.memory(form).element(row)
        if isinstance(form, Number):
            return ScalarTracer(self.recorder, found.read(), form.is_python, form.types)
        found = found.copy()  # the row may be that of another element later
        found.storage.listed = self
        return found

    def _copy(self, other: RowsOfList, start: Bound, length: RunTime, step: int, place: Bound = 0) -> None:
        """Elements of a list, from `start` on, to the rows of this one from `place` on, one after the other."""
        if self.column is not None and other.column is not None:
            self._copy_rows(other, (other.column, self.column), start, length, step, place)

    def _copy_rows(
        self,
        other: RowsOfList,
        forms: tuple[HandedOn, HandedOn],
        start: Bound,
        length: RunTime,
        step: int,
        place: Bound,
    ) -> None:
        form, into = forms
        for parts in zip(form.parts(), into.parts()):
            self._copy_rows(other, parts, start, length, step, place)
        if isinstance(form, InMemory) and isinstance(into, InMemory):
            source, target = other.memory(form).sliced(start, step), self.memory(into).sliced(place, 1)

            def put(row: Position) -> None:
                target.element(row).write(source.element(row).read())

            for_each(self.recorder, replace(length, most=min(length.most, self.most)), put)

    def segment(self) -> Segment:
        """All of its rows, for their form."""
        return Segment(self._rows(), self.most)

    def given_to(self, other: Any) -> list[Any]:
        """Its parts, for another list: the length of that is data, too."""
        if self.column is not None and self.row is None:
            other.appended = self.segment()
        raise other.uneven()

    def array(self) -> Any:
        """Its numbers, or arrays, as an array of a run-time length."""
        form, recorder = self.form, self.recorder
        if not isinstance(form, Number | Array) or not isinstance(self.column, InMemory):
            raise refused(recorder, "makes an array of tuples, of")
        source = self.memory(self.column).frozen()
        return RunTimeArray(recorder, source, self.length_, 0, form.shape, form.dtype)
