"""The forms in which things are handed on: to the next iteration, out of a branch or a loop, into the rows of a list.

A form says what the things have in common that take turns in one place, and holds the memory in which they lie:

| form | what it is | in one place | in the rows of a list |
|---|---|---|---|
| `Unchanged` | the same thing each time | it itself | it itself |
| `counts.Count` | an integer that grows evenly | an expression of the index | an expression of the row |
| `counts.Growing` | one that starts as data, or grows by more each time | computed from the index | |
| `Number` | a scalar | a number in memory | a column of numbers |
| `Array` | an array | memory of its own, a copy | a column of arrays |
| `lengths_of_data.OfAnyLength` | an array whose length is data | memory for the longest, and an integer | |
| `Moving` | a view that moves evenly | the view at the index | |
| `Items` | a tuple, list or dict; None or something else | item by item | a column for each item |
| `Rows` | a list that a loop has filled | its rows in memory | lists one after the other in one column |
| `lists_in_rows.Lists` | a list whose length is data | | so many rows of one column, and an integer |
| `written_forms.Written` | a list of numbers to which loops write | as the array that is its memory | |
| `Nothing` | what cannot be told | a stand-in that refuses to be read | |

`joined` finds the form that serves for two. `begin` is what the program gets, `leave` what it leaves: numbers and
arrays that go to memory. What only some of these can be is said by `carries` (the next iteration), `choices` (branches)
and `columns` (lists).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.attributes_held import attributes_held
from ...python.complex_parts import complex_parts, is_complex_kind, kind_of_parts, whole_of_parts
from ...regions.affine import Extent, affine, substitute
from ...regions.regions import View
from ...tape.guards import RAISES
from ..lengths.ragged import seen
from ..lengths.run_time_arrays import RunTimeArray
from ..record.aliases import Refusal, storages_in
from ..record.lost_variables import DIFFERS, Lost
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.number_types import types_in
from ..values.scalar_tracer import ScalarTracer
from .counts import Count
from .form import Allocate, HandedOn, NotCarried, Stores, scaled_index
from .held import (
    ObjectKind,
    is_kind_of_tuple,
    is_made_of_arrays,
    is_made_of_attributes,
    is_number,
    is_tuple_of_numbers,
    memory_of,
    number_type,
    optional_parts,
    put_together,
    same,
    taken_apart,
)
from .lengths_of_data import as_of_any_length, of_any_length
from .letters import CODE, Letters, Text, all_texts, may_be_text
from .none_or_value import MISSING, PARTS, NoneOrValue, optional
from .object_copies import note_copy
from .references import NO_ROW, ROW_NUMBER, RecordInRow, RecordKind, refer, unite
from .stored_forms import Array, Number
from .traced_list import Segment, TracedList

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder


def joined(a: HandedOn | None, b: HandedOn | None, *, exact: bool = False) -> HandedOn | None:
    """The form that serves for what has the form `a` and what has the form `b`: `a` itself, where that does.

    In an `exact` one all numbers are of one type. In others a narrower one gives way, what they have not in common is
    `Nothing` of it, and traced numbers and arrays are never the same, since each pass over a body makes them anew.
    """
    if a is None or b is None or isinstance(a, Nothing):
        return a if isinstance(a, Nothing) else None
    if isinstance(a, Unchanged) and isinstance(b, Unchanged) and same(a.value, b.value) and (exact or not a.is_traced):
        return a
    if isinstance(a, Count) and isinstance(b, Count) and a.start - b.start == 0:
        return a
    unite(getattr(a, "kind", None), getattr(b, "kind", None))
    a, b = (a, b) if exact else as_letters(*as_optional(a, b))
    one, other = as_of_any_length(a.opened(), b.opened())
    return one.joined(other, exact) if one is not None and type(one) is type(other) else None


def as_optional(a: HandedOn, b: HandedOn) -> tuple[HandedOn, HandedOn]:
    """Two forms, of which one is that of None and the other of a number or array, as forms of what may be either."""
    a, b = as_optional_record(a, b), as_optional_record(b, a)
    parts, others = optional_form(a), optional_form(b)
    if parts is None or others is None or (is_form_of_held(a) and is_form_of_held(b)):
        return a, b
    held = parts[1] or others[1]
    if held is None:
        return a, b
    one, other = (Items(NoneOrValue, PARTS, (found[0], found[1] or held)) for found in (parts, others))
    return (a if isinstance(a, Items) else one), other


def as_optional_record(form: HandedOn, other: HandedOn) -> HandedOn:
    """The form of None, or of a record, as that of one or the other, where that of something else is the other."""
    own, its = reference_of(form), reference_of(other)
    if own is not None:
        is_mixed = (its is not None and its.may_be_none) or _is_none(other)
        if not is_mixed or own.may_be_none:
            return form
        opened = form.opened()
        assert isinstance(opened, Items)
        return replace(opened, kind=own.or_none)
    return Items(its.or_none, ROW_NUMBER, (Unchanged(NO_ROW),)) if its is not None and _is_none(form) else form


def reference_of(form: HandedOn) -> RecordKind | None:
    """As what a record of this form is handed on."""
    if isinstance(form, Unchanged) and issubclass(type(form.value), RecordInRow):
        return form.value.record_reference  # type: ignore[no-any-return]
    return form.kind if isinstance(form, Items) and isinstance(form.kind, RecordKind) else None


def _is_none(form: HandedOn) -> bool:
    return isinstance(form, Unchanged) and form.value is None


def as_letters(a: HandedOn, b: HandedOn) -> tuple[HandedOn, HandedOn]:
    """Two forms of texts (or None) as forms of what may be either."""
    texts, others = texts_of(a), texts_of(b)
    if texts is None or others is None:
        return a, b
    letters = Letters(all_texts(*texts, *others), is_chosen=True)
    return form_of_letters(letters, a), form_of_letters(letters, b)


def texts_of(form: HandedOn) -> tuple[Text, ...] | None:
    """The texts that something of this form may be; None where it is no text."""
    if isinstance(form, Items):
        return form.kind.texts if isinstance(form.kind, Letters) else None
    return all_texts(form.value) if isinstance(form, Unchanged) and may_be_text(form.value) else None


def form_of_letters(letters: Letters, form: HandedOn) -> HandedOn:
    """A form of texts, as one of these letters."""
    if isinstance(form, Items):
        return form if form.kind == letters else Items(letters, CODE, form.items)
    return Items(letters, CODE, (Unchanged(letters.code_of(form.value)),))  # type: ignore[attr-defined]


def optional_form(form: HandedOn) -> tuple[HandedOn, HandedOn | None] | None:
    """Of None, a number or array, or what is either: the forms of whether there is one, and of that."""
    if isinstance(form, Items):
        return (form.items[0], form.items[1]) if form.kind is NoneOrValue else None
    if isinstance(form, Unchanged) and form.value is None:
        return Unchanged(False), None
    if isinstance(form, Unchanged) and type(form.value) is NoneOrValue:
        return Unchanged(form.value.present), Unchanged(form.value.held)
    return (Unchanged(True), form) if is_form_of_held(form) else None


def is_form_of_held(form: HandedOn) -> bool:
    """Whether something of this form is a number, an array, or a tuple of numbers."""
    if isinstance(form, Unchanged):
        return is_number(form.value) or type(form.value) is ArrayTracer or is_tuple_of_numbers(form.value)
    return isinstance(form, Number | Count | Array) or is_form_of_tuple(form)


def is_form_of_tuple(form: HandedOn) -> bool:
    if not isinstance(form, Items) or not (isinstance(form.kind, type) and issubclass(form.kind, tuple)):
        return False
    known = (part.value if isinstance(part, Unchanged) else None for part in form.items)
    return all(
        isinstance(part, Number | Count) or is_form_of_tuple(part) or is_number(value) or is_tuple_of_numbers(value)
        for part, value in zip(form.items, known)
    )


def filler_of(form: HandedOn) -> Any:
    """What is left in memory where there is None."""
    if isinstance(form, Items):
        return put_together(form.kind, form.keys, [filler_of(part) for part in form.items])
    return form.value if isinstance(form, Unchanged) else 0


@dataclass(eq=False)
class Unchanged(HandedOn):
    """The same thing each time."""

    value: Any

    @property
    def is_traced(self) -> bool:
        return type(self.value) in (ScalarTracer, ArrayTracer, RunTimeArray) or hasattr(
            type(self.value), "complex_parts"
        )

    def opened(self) -> HandedOn | None:
        value = self.value
        if is_number(value):
            dtype, is_python = number_type(value)
            return Number(
                dtype, is_python, is_weak=is_python and type(value) is not ScalarTracer, types=types_in(value)
            )
        if type(value) is ArrayTracer:
            return Array(value.dtype, value.shape)
        if type(value) is RunTimeArray:
            return of_any_length(value)
        found = taken_apart(value)
        return None if found is None else Items(found[0], found[1], tuple(map(Unchanged, found[2])))

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        return self.value

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        if not same(self.value, value):
            raise NotCarried
        return []

    def item(self, owner: TracedList | None, row: Any) -> Any:
        return self.value

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        recorder = owner.recorder
        value = recorder.value_of(self.value)
        return recorder.array(recorder.builder.broadcast(value, (length, *value.shape)))

    def storages(self) -> Iterator[Storage]:
        yield from storages_in(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unchanged) and same(self.value, other.value)


@dataclass
class Moving(HandedOn):
    """A view that moves on by the same distance in each iteration; `view` is where an iteration leaves it."""

    view_of: ArrayTracer
    view: View

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        return seen(self.view_of, moved(self.view, index, affine(-1, {index: 1})))

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        if type(value) is not ArrayTracer or memory_of(value) is not memory_of(self.view_of):
            raise NotCarried
        if value.layout != self.view:
            raise NotCarried
        return []


def moved(view: View, index: int, by: Extent) -> View:
    """`view` where the loop's index is what `by` says."""
    return View(substitute(view.offset, index, by), view.shape, view.strides)


@dataclass
class Items(HandedOn):
    """A tuple, list, dict or object made anew each time, item by item."""

    kind: Any  # its type, or what else it is made as
    keys: tuple[Any, ...]
    items: tuple[HandedOn, ...]
    listed: frozenset[Site] = field(default=frozenset(), compare=False)  # where lists were made that have it, too
    shown: Site | None = field(default=None, compare=False)  # where it was made itself, if that is known

    def parts(self) -> Iterable[HandedOn]:
        return self.items

    @property
    def is_known(self) -> bool:  # type: ignore[override]
        return not isinstance(self.kind, RecordKind) and any(part.is_known for part in self.items)

    def stored(self) -> HandedOn | None:
        return self.of([part.stored() for part in self.items])

    def of(self, items: list[HandedOn | None]) -> HandedOn | None:
        return None if None in items else replace(self, items=tuple(items))  # type: ignore[arg-type]

    def joined(self, other: Items, exact: bool) -> HandedOn | None:
        if (self.kind, self.keys) != (other.kind, other.keys):
            return None
        items = [joined(a, b, exact=exact) for a, b in zip(self.items, other.items)]
        if not exact and not is_made_of_arrays(self.kind):  # these are one thing to the program
            items = [Nothing() if item is None else item for item in items]
        return self if all(a is b for a, b in zip(items, self.items)) else self.of(items)

    def placed(self, allocate: Allocate) -> HandedOn:
        items = tuple(part.placed(allocate) for part in self.items)
        return self if all(a is b for a, b in zip(items, self.items)) else replace(self, items=items)

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        items = [part.begin(recorder, index, name) for part in self.items]
        if self.kind is NoneOrValue:
            return optional(recorder, name, *items)
        return self.made(recorder, items)

    def made(self, recorder: Recorder, items: list[Any]) -> Any:
        found = put_together(self.kind, self.keys, items)
        if self.shown is not None:
            recorder.records.shown[id(found)] = (found, self.shown)
        for site in self.listed:
            note_copy(recorder, site, found)
        return found

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        if value is None and self.kind is NoneOrValue and isinstance(self.items[1], Array):
            return self.items[0].leave(recorder, False, index) + self.items[1].leave_nothing(recorder)
        parts = self.parts_of(value)
        if parts is None:
            raise NotCarried
        return [store for form, part in zip(self.items, parts) for store in form.leave(recorder, part, index)]

    def elements_of(self, value: Any) -> list[Any]:
        """The items of an element of a list."""
        is_chosen = self.kind is NoneOrValue or isinstance(self.kind, Letters | RecordKind)
        parts = self.parts_of(value) if is_chosen else elements_of(value)
        assert parts is not None
        return parts

    def parts_of(self, value: Any) -> list[Any] | None:
        if self.kind is NoneOrValue:
            return optional_parts(value, filler_of(self.items[1]))
        if isinstance(self.kind, Letters | RecordKind):
            number = self.kind.code_of(value) if isinstance(self.kind, Letters) else self.kind.row_of(value)
            return None if number is None else [number]
        found = taken_apart(value)
        return found[2] if found is not None and found[:2] == (self.kind, self.keys) else None

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> HandedOn:
        return replace(self, items=tuple(part.in_rows(rows, owner, index, depth) for part in self.items))

    def item(self, owner: TracedList | None, row: Any) -> Any:
        items = [part.item(owner, row) for part in self.items]
        if self.kind is list and owner is not None:
            return owner.element(items)
        found = put_together(self.kind, self.keys, items)
        if (type(self.kind) is ObjectKind or self.kind is dict) and owner is not None:
            note_copy(owner.recorder, owner.site, found)
        return found

    def part(self, owner: TracedList, rows: slice) -> HandedOn:
        return replace(self, items=tuple(part.part(owner, rows) for part in self.items))

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        is_made_of_parts = self.kind in (list, NoneOrValue) or is_complex_kind(self.kind)
        if not (is_made_of_parts or is_kind_of_tuple(getattr(self.kind, "cls", self.kind))):
            raise owner.refuse()  # of texts, objects and dicts NumPy makes arrays of objects
        arrays = [part.array(owner, length) for part in self.items]
        if is_complex_kind(self.kind):
            return whole_of_parts(self.kind, arrays)
        if self.kind is NoneOrValue:
            present, held = arrays
            owner.recorder.scopes.require_after(owner.recorder.value_of(present.all()), RAISES, MISSING)
            return held
        return owner.recorder.call(np.stack, (arrays,), {"axis": 1})

    def put(self, row: Extent, element: Any) -> None:
        for form, item in zip(self.items, self.elements_of(element)):
            form.put(row, item)

    def put_rows(self, row: Extent, column: Any, length: int) -> None:
        for own, other in zip(self.items, column.items):
            own.put_rows(row, other, length)


@dataclass
class Rows(HandedOn):
    """A list of `length` elements of one form. In a list, they lie flat: of `m` such lists it has `m * length` rows."""

    length: int
    each: HandedOn

    def parts(self) -> Iterable[HandedOn]:
        return (self.each,)

    @property
    def is_known(self) -> bool:  # type: ignore[override]
        return self.each.is_known

    def stored(self) -> HandedOn | None:
        each = self.each.stored()
        return None if each is None else Rows(self.length, each)

    def joined(self, other: Rows, exact: bool) -> HandedOn | None:
        each = joined(self.each, other.each, exact=exact) if self.length == other.length else None
        return None if each is None else Rows(self.length, each)

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> HandedOn:
        return replace(self, each=self.each.in_rows(rows * self.length, owner, index, depth))

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert owner is not None
        if owner.recorder.is_scalar(row):  # which may count from the end
            raise owner.lay_down()
        inner = self.each.part(owner, slice(row * self.length, (row + 1) * self.length))
        return owner.element([Segment(inner, self.length)])

    def part(self, owner: TracedList, rows: slice) -> HandedOn:
        if rows.step not in (None, 1):
            raise owner.refuse()
        inner = slice(rows.start * self.length, rows.stop * self.length)
        return replace(self, each=self.each.part(owner, inner))

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        found = self.each.array(owner, length * self.length)
        return found.reshape(length, self.length, *found.shape[1:])

    def put(self, row: Extent, element: Any) -> None:
        put_parts(self.each, scaled_index(row, self.length), elements_of(element))

    def put_rows(self, row: Extent, column: Any, length: int) -> None:
        self.each.put_rows(scaled_index(row, self.length), column.each, length * self.length)


@dataclass
class Nothing(HandedOn):
    """What cannot be told: each iteration or side assigns another kind of thing, or leaves a copy behind."""

    reason: str = DIFFERS
    refuse: Refusal | None = field(default=None, compare=False)  # what to raise where it is read
    records: frozenset[Site] = field(default=frozenset(), compare=False)  # where what it may be could be a record

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        def refuse(reason: str, is_first: bool) -> BaseException:
            if refer(recorder, set(self.records)):
                return recorder.scopes.restart()
            if self.refuse is not None:
                return self.refuse(reason, is_first)
            return recorder.scopes.unroll_innermost(reason, recorder.builder.line)

        return Lost(recorder, name, self.reason, refuse if self.records else self.refuse)


def innermost_form(form: HandedOn | None) -> tuple[Any, tuple[int, ...]]:
    """What is in the innermost lists, and the lengths of the lists."""
    lengths = []
    while isinstance(form, Rows):
        lengths.append(form.length)
        form = form.each
    return form, tuple(lengths)


def elements_of(value: Any) -> list[Any]:
    """The elements of a list or tuple, and segments of them where a loop has filled it; the parts of a complex one."""
    if kind_of_parts(value) is not None:
        return [part for _, part in complex_parts(value)]
    if is_made_of_attributes(type(value)):
        return [item for _, item in attributes_held(value)]
    if type(value) is dict:
        return list(value.values())
    return value.parts if type(value) is TracedList else list(value)


def put_parts(column: HandedOn, row: Extent, parts: Iterable[Any]) -> None:
    """Fill rows from this one on with elements, and segments of them."""
    parts = list(parts)
    if isinstance(column, Number) and len(parts) > 1 and all(type(part) in (int, float, bool) for part in parts):
        column.put_array(row, np.array(parts, column.dtype))
        return
    for part in parts:
        if type(part) is Segment:
            assert isinstance(part.length, int)
            column.put_rows(row, part.column, part.length)
            row = row + part.length
        else:
            column.put(row, part)
            row = row + 1
