"""Lists and dicts of a fixed make that the program has by reference: `[value, weight]`, `{"t": t, "n": 0}`.

Where data say which of them is written to, or which takes the place of which, all that one instruction makes lie in the
rows of one memory, which has room for as many as the loops around it may make. What variables and lists hold of one is
the number of its row: what is written by one name is seen by all others, as in Python.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.statements import may_ask_identity
from ..lengths.elements import Position
from ..lengths.sources import Memory
from ..record.promotion import INT
from ..record.storage import ASSIGNMENT, Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex, expression_of, plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .columns import may_be_kept
from .form import HandedOn
from .forms import Items, Unchanged, elements_of
from .held import put_together
from .list_records import DictRecord, ListRecord
from .list_room import (
    MOST_ROWS,
    Appended,
    ListRoom,
    ListsOfSite,
    calls_at,
    form_in_rows,
    is_alike,
    list_around,
    of_this_trace,
    passes_around,
    serving,
    times_within,
)
from .object_copies import lend_to_list, objects_in
from .object_records import ObjectRecord, begin_class, can_be_record, class_of_records, parts_of_object
from .references import RECORDS, RecordInRow, RecordKind, refer, site_of_record
from .stored_forms import Array, InMemory, Number
from .traced_list import Segment, TracedList
from .written_forms import common_number

if TYPE_CHECKING:
    from ..record.decisions import Decisions, Site
    from ..record.recorder import Recorder

NO_ROOM_FOR_RECORDS = "more records are made than there is memory for"


@dataclass
class ItemRun:
    """Items of a record from `start` on: several numbers of one type lie one after the other, where data may index."""

    start: int
    forms: list[HandedOn]
    column: Any = None
    number: Number | None = None  # what serves for all of these numbers

    def takes(self, form: HandedOn) -> bool:
        """Whether one more number can lie behind these."""
        dtypes = {getattr(item, "dtype", None) for item in (*self.forms, form) if isinstance(item, Number)}
        return len(dtypes) == 1 and common_number([*self.forms, form]) is not None

    @property
    def form(self) -> HandedOn:
        """That of its column."""
        if len(self.forms) == 1:
            return self.forms[0]
        self.number = common_number(self.forms)
        assert self.number is not None
        return Array(self.number.dtype, (len(self.forms),))


def runs_of(form: Items) -> list[ItemRun]:
    """The items of records; of dicts each by itself."""
    found: list[ItemRun] = []
    for place, item in enumerate(form.items):
        if form.kind is list and found and found[-1].takes(item):
            found[-1].forms.append(item)
        else:
            found.append(ItemRun(place, [item]))
    return found


class Records:
    """All that one instruction makes.

    Attributes
    ----------
    form : Items
        What is in one of them.
    known : int or None
        How many there are, as long as no loop or branch has made one; else the memory of `count` says it.
    """

    form: Items

    def __init__(self, recorder: Recorder, site: Site):
        self.recorder, self.made_at, self.site = recorder, site, memory_site(site)
        self.line, self.depth = recorder.builder.line, 0
        self.reference = RecordKind(site, self)

    def lay_out(self, form: Items, most: int) -> None:
        """Memory for so many; `form` may have such records in it."""
        recorder = self.recorder
        self.form, self.kind, self.keys, self.most, self.appended = form, form.kind, form.keys, most, Appended()
        self.record_kind: Any = None
        self.is_given = False
        self.made: list[ObjectRecord] = []
        recorder.appended.setdefault(self.site, ListsOfSite()).add(self.appended, ())
        self.known: int | None = 0
        self.runs, self.count = runs_of(form), self._memory(Number(INT, True), 1)
        for run in self.runs:
            run.column = self._memory(run.form, most)
        self._set_count(recorder.constant(0, INT))
        if self.made_at[1]:  # a list or dict
            self.record_kind, self.record_at = form.kind, RECORD_OF[form.kind]

    def begin_class(self, cls: type) -> None:
        """Objects of this class are these records."""
        if self.record_kind is not None:
            raise self.refuse()
        self.record_kind, self.record_at = cls, class_of_records(self, cls)
        begin_class(self, cls, self.record_at)

    def _memory(self, form: HandedOn, rows: int) -> Any:
        found = form.in_rows(rows, self, -1, 0)  # type: ignore[arg-type]
        for storage in found.own_storages():
            storage.listed = None  # it may be written to
        return found

    def _set_count(self, count: Any) -> None:
        Memory(self.count.memory, 0, 1).element(Position(0)).write(count)

    @property
    def label(self) -> str:
        match = ASSIGNMENT.match(self.line.text)
        return match.group(1) if match else "record"

    def refuse(self) -> BaseException:
        """What to raise for something that a row cannot do: they are as Python makes them, from now on."""
        scopes = self.recorder.scopes
        scopes.decisions.no_records |= sites_of(scopes.decisions, self.made_at)
        scopes.decisions.nones = None  # perhaps it was for these that None is asked for noticeably
        scopes.decisions.forget_ways()
        return scopes.restart()

    def before_write(self, storage: Storage) -> None:
        """An array is about to be written to that is in a record."""
        raise self.refuse()

    def at(self, row: Any, reference: RecordKind) -> RecordInRow:
        """The record in a row."""
        self.is_given = True  # as another object each time
        return self.record_at(reference, row)

    def form_of(self, value: Any) -> HandedOn | None:
        """Of something that may be in one of them."""
        return form_of_item(self.recorder, value)

    def make(self, items: Any) -> RecordInRow:
        """Another one."""
        self._fit(form_of_record(self.recorder, items))
        row = self.next_row()
        self._fill(position_of(row), items)
        return self.at(row, self.reference)

    def next_row(self) -> Any:
        """The row of another one, in which there is nothing yet."""
        recorder, apply = self.recorder, self.recorder.apply
        recorder.mark()
        self._make_room()
        if self.known is not None and not recorder.scopes.depth:
            row: Any = min(self.known, self.most - 1)
            self.known += 1
            self._set_count(recorder.constant(self.known, INT))
        else:
            self.known = None
            count = Memory(self.count.memory, 0, 1).element(Position(0)).read()
            most, last = (recorder.constant(number, INT) for number in (self.most, self.most - 1))
            recorder.scopes.require_after(apply("less", count, most), "bounds", NO_ROOM_FOR_RECORDS)
            row = ScalarTracer(recorder, apply("minimum", count, last), is_python=True)
            self._set_count(apply("add", count, recorder.constant(1, INT)))
        return row

    def _fill(self, row: Position, items: Any) -> None:
        if type(items) is TracedList and not items.is_plain:  # numbers that a loop has made
            if len(self.runs) != 1 or self.runs[0].number is None:
                raise self.refuse()
            self._put(self.runs[0].column, row, items)
            return
        values = list(items.values()) if type(items) is dict else elements_of(items)
        for value in values:
            lend_to_list(self, value)
        for run in self.runs:
            some = values[run.start : run.start + len(run.forms)]
            self._put(run.column, row, some if run.number is not None else some[0])

    def _fit(self, form: HandedOn | None) -> None:
        """Start again where the rows have another form than one of them needs."""
        found = None if form is None else serving(self.form, form)
        if found is None or not may_be_kept(self.recorder, found):
            raise self.refuse()
        if not is_alike(found, self.form):
            self.recorder.scopes.decisions.know(self.site, form=found)
            raise self.recorder.scopes.restart()

    def _make_room(self) -> None:
        recorder = self.recorder
        beside, each = list_around(recorder, 0) or (None, None)
        times = times_within(recorder, 0, None, beside)
        calls = calls_at(sys._getframe(1))
        self.appended.at(recorder.scopes.indices, passes_around(recorder), calls, times, each)
        if self.appended.most > MOST_ROWS:
            raise self.refuse()

    def _put(self, form: HandedOn, row: Position, value: Any) -> None:
        if isinstance(form, Items):
            for part, item in zip(form.items, form.elements_of(value)):
                self._put(part, row, item)
        elif isinstance(form, InMemory):
            if form.shape:
                value = self.recorder.call(np.array, (value,), {"dtype": form.dtype})
            self.memory(form).element(row).write(self.recorder.value_of(plain_or_traced(value), form.dtype))

    @staticmethod
    def memory(form: InMemory) -> Memory:
        assert form.memory is not None
        return Memory(form.memory, 0, 1)

    def _element(self, form: HandedOn, row: Position) -> Any:
        if isinstance(form, Unchanged):
            return form.value
        if isinstance(form, Items):
            return put_together(form.kind, form.keys, [self._element(part, row) for part in form.items])
        assert isinstance(form, InMemory)
        found = self.memory(form).element(row)
        if isinstance(form, Number):
            return ScalarTracer(self.recorder, found.read(), form.is_python, form.types)
        found = found.copy()  # it stays what it is where another array is assigned
        found.storage.listed = self  # and is not to be written to
        return found

    def run_at(self, place: int) -> ItemRun:
        return next(run for run in reversed(self.runs) if run.start <= place)

    def run_of(self, key: Any) -> ItemRun:
        """Where the item of an index lies that data decide."""
        expression = expression_of(key)
        if expression is not None:
            low, high = self.recorder.scopes.bounds(expression)
        else:
            low, high = self.recorder.builder.limits.of(self.recorder.value_of(key))
        for run in self.runs:
            is_within = run.start <= low and high < run.start + len(run.forms)
            if run.number is not None and (is_within or len(self.runs) == 1):
                return run
        raise self.refuse()

    def get(self, row: Any, place: int) -> Any:
        """What is in one of them."""
        self.recorder.mark()
        run = self.run_at(place)
        if run.number is not None:
            return self.number_at(run, row, place, run.forms[place - run.start])
        return self._element(run.column, position_of(row))

    def put(self, row: Any, place: int, value: Any) -> None:
        """Exchange what is in one of them."""
        self.recorder.mark()
        form = form_of_item(self.recorder, value)
        if form is None:
            raise self.refuse()
        self._fit(self.form.of([form if k == place else item for k, item in enumerate(self.form.items)]))
        lend_to_list(self, value)
        run = self.run_at(place)
        if run.number is not None:
            self.put_number_at(run, row, place, value)
        else:
            self._put(run.column, position_of(row), value)

    # Of numbers of one type in lists.

    def numbers(self, run: ItemRun, row: Any) -> ArrayTracer:
        """As a view of the memory."""
        return self.memory(run.column).element(position_of(row))

    def number_at(self, run: ItemRun, row: Any, place: Any, number: Any) -> Any:
        found = self.recorder.value_of(self.numbers(run, row)[place - run.start if run.start else place])
        return ScalarTracer(self.recorder, found, number.is_python, number.types)

    def put_number_at(self, run: ItemRun, row: Any, place: Any, value: Any) -> None:
        self.numbers(run, row)[place - run.start if run.start else place] = plain_or_traced(value)


RECORD_OF: dict[type, Callable[[RecordKind, Any], RecordInRow]] = {list: ListRecord, dict: DictRecord}


def position_of(row: Any) -> Position:
    """Where a record lies; one that data give may be any number, until the guard is tested of what it was read from."""
    return Position(row, inside=type(row) in (int, LoopIndex))


def memory_site(site: Site) -> Site:
    """That of the memory of all that an instruction makes."""
    return site[0], site[1] + RECORDS


def form_of_item(recorder: Recorder, value: Any) -> HandedOn | None:
    """Of something in a record; objects and dicts in it would be copies, so that they have to be records too."""
    form = form_in_rows(recorder, value)
    if form is None or next(objects_in(form), None) is None:
        return form
    site = site_of_record(recorder, value)
    if site is not None and refer(recorder, {site}):
        raise recorder.scopes.restart()
    return None


def form_of_record(recorder: Recorder, items: Any) -> HandedOn | None:
    """What is in one, which is in memory."""
    if type(items) is dict:
        forms = [form_of_item(recorder, value) for value in items.values()]
        return Items(dict, tuple(items), ()).of(forms)
    forms = []
    for part in items.parts if type(items) is TracedList else items:
        length = part.length if type(part) is Segment else 1
        forms += [form_of_item(recorder, part)] * (length if isinstance(length, int) else 0)
    return Items(list, tuple(range(len(forms))), ()).of(forms) if forms else None


def followed_record(recorder: Recorder, items: Any, site: Site) -> Any:
    """A list or dict that was made there: a record, where that is decided."""
    decisions = recorder.scopes.decisions
    if site not in decisions.by_reference or site in decisions.no_records:
        recorder.records.shown[id(items)] = (items, site)
        return items
    first = decisions.by_reference[site]
    if first not in recorder.records.made:
        raise learn(recorder, first, items)
    return recorder.records.made[first].make(items)


def learn(recorder: Recorder, site: Site, obj: Any) -> BaseException:
    """What is in records of which this is the first one; the trace starts again."""
    decisions, form = recorder.scopes.decisions, form_of_record(recorder, obj)
    if form is None or not may_be_kept(recorder, form):
        decisions.no_records |= sites_of(decisions, site)
    else:
        decisions.lengths[memory_site(site)] = ListRoom(form)
    return recorder.scopes.restart()


def sites_of(decisions: Decisions, first: Site) -> set[Site]:
    """Where all the records are made that lie in a memory."""
    return {site for site, other in decisions.by_reference.items() if other == first}


def begin_records(recorder: Recorder) -> None:
    """Memory for the records of which it is decided that they are."""
    decisions = recorder.scopes.decisions
    rooms: dict[Site, ListRoom] = {}
    for site in dict.fromkeys(decisions.by_reference.values()):
        is_tried = not sites_of(decisions, site).isdisjoint(decisions.no_records)
        if memory_site(site) in decisions.lengths and not is_tried:
            rooms[site] = decisions.lengths[memory_site(site)]
            recorder.records.made[site] = Records(recorder, site)
    for site, room in rooms.items():
        records, form = recorder.records.made[site], of_this_trace(recorder, room.form)
        if not isinstance(form, Items):
            raise records.refuse()
        records.lay_out(form, room.most)
        if isinstance(site[0], type):
            records.begin_class(recorder.namespace.shadow(site[0]))


def check_records(recorder: Recorder) -> None:
    """At the end: each object has got all of its attributes where it was made, and nobody asks which one it is."""
    given = [records for records in recorder.records.made.values() if records.is_given]
    asks = bool(given) and any(may_ask_identity(f.__code__, f.__globals__) for f in recorder.namespace.functions())
    for records in recorder.records.made.values():
        if any(found.record_unset for found in records.made) or (asks and records.is_given):
            raise records.refuse()


def class_made(recorder: Recorder, body: types.CodeType, cls: type) -> None:
    """The program has defined a class."""
    site = (body, 0)
    recorder.records.classes[cls] = site
    if site in recorder.records.made:
        recorder.records.made[site].begin_class(cls)


def learn_class(recorder: Recorder, site: Site, obj: Any) -> bool:
    """Whether objects of a class can be records, as one of them is."""
    names, values = parts_of_object(obj)
    form = Items(dict, names, ()).of([form_of_item(recorder, value) for value in values]) if names else None
    if form is None or not can_be_record(type(obj), names) or not may_be_kept(recorder, form):
        return False
    recorder.scopes.decisions.lengths[memory_site(site)] = ListRoom(form)
    return True
