"""The forms in which things are handed on: to the next iteration, out of a branch or a loop, into the rows of a list.

A form says what the things have in common that take turns in one place, and holds the memory in which they lie:

| form | what it is | in one place | in the rows of a list |
|---|---|---|---|
| `Same` | the same thing each time | it itself | it itself |
| `Count` | an integer that grows evenly | an expression of the index | an expression of the row |
| `Number` | a scalar | a number in memory | a column of numbers |
| `Array` | an array | memory of its own, a copy | a column of arrays |
| `Moving` | a view that moves evenly | the view at the index | |
| `Items` | a tuple, list or dict | item by item | a column for each item |
| `Rows` | a list that a loop has filled | its rows in memory | lists one after the other in one column |
| `Nothing` | what cannot be told | a stand-in that refuses to be read | |

`joined` finds the form that serves for two. `begin` is what the program gets, `leave` what it leaves: numbers and
arrays that go to memory. What only some of these can be is said by `carries` (the next iteration), `choices` (branches)
and `columns` (lists).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Affine, Extent, affine, substitute
from ...regions.regions import Region, View, c_strides, contiguous
from ...tape.tape import Buffer, Value
from ..lengths.moving_keys import seen
from ..record.aliases import Copy, array_in, storages_in
from ..record.lost_variables import DIFFERS, Lost
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import expression_of, index_of, plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .held import is_number, memory_of, number_type, put_together, same, taken_apart
from .traced_list import Segment, TracedList

if TYPE_CHECKING:
    from ..record.recorder import Recorder

KINDS = "biuf"  # of dtypes, the narrower ones first

Stores = list[tuple[Buffer, Value]]
Allocate = Callable[[np.dtype, tuple[int, ...]], Buffer]


class NotCarried(Exception):
    """What a place holds does not fit the form in which it is handed on; the message says so to the user."""


class Form:
    """What all forms have in common; by default without memory, and nothing to do for the rows of a list."""

    is_known = False  # whether a program may ask for the numbers themselves: Python's integers and truths

    def opened(self) -> Form | None:
        """The form of something that differs from time to time, its items apart; None where there is none."""
        return self

    def stored(self) -> Form | None:
        """The form in which it lies in memory, its items too; None where it cannot."""
        return self.opened()

    def joined(self, other: Any, exact: bool) -> Form | None:
        """The form that serves for an `other` of this class as well."""
        return self if self == other else None

    def placed(self, allocate: Allocate) -> Form:
        """With memory for one thing."""
        return self

    def parts(self) -> Iterable[Form]:
        """The forms of its items."""
        return ()

    def leaves(self) -> Iterator[Form]:
        """The forms without items that it is made of."""
        inner = list(self.parts())
        if not inner:
            yield self
        for part in inner:
            yield from part.leaves()

    # In one place.

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        """What the program finds in the variable `name`, in an iteration of the loop with this index."""
        raise NotImplementedError

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        """What is left in memory of a `value`; NotCarried where that does not fit."""
        return []

    # In the rows of a list.

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> Form:
        """With memory for so many elements of a list, filled by the loop with this index, made at this depth."""
        return self

    def item(self, owner: TracedList | None, row: Any) -> Any:
        """The element in a row of a list, which the program may not change; without one, of other items."""
        raise NotImplementedError

    def part(self, owner: TracedList, rows: slice) -> Form:
        return self

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        """So many rows as an array."""
        raise NotImplementedError

    def put(self, row: Extent, element: Any) -> None:
        """Fill a row; where the rows are known there is nothing to do."""

    def put_rows(self, row: Extent, column: Any, length: int) -> None:
        """Fill rows with those of another list."""

    def storages(self) -> Iterator[Storage]:
        """The memories to which the rows lead."""
        for part in self.parts():
            yield from part.storages()

    def rows(self) -> Iterator[Storage]:
        """The memories that hold rows."""
        for part in self.parts():
            yield from part.rows()


def joined(a: Form | None, b: Form | None, *, exact: bool = False) -> Form | None:
    """The form that serves for what has the form `a` and what has the form `b`: `a` itself, where that does.

    In an `exact` one all numbers are of one type. In others a narrower one gives way, what they have not in common is
    `Nothing` of it, and traced numbers and arrays are never the same, since each pass over a body makes them anew.
    """
    if a is None or b is None or isinstance(a, Nothing):
        return a if isinstance(a, Nothing) else None
    if isinstance(a, Same) and isinstance(b, Same) and same(a.value, b.value) and (exact or not a.is_traced):
        return a
    if isinstance(a, Count) and isinstance(b, Count) and a.start - b.start == 0:
        return a
    a, b = a.opened(), b.opened()
    return a.joined(b, exact) if a is not None and type(a) is type(b) else None


@dataclass(eq=False)
class Same(Form):
    """The same thing each time."""

    value: Any

    @property
    def is_traced(self) -> bool:
        return type(self.value) in (ScalarTracer, ArrayTracer)

    def opened(self) -> Form | None:
        value = self.value
        if is_number(value):
            dtype, is_python = number_type(value)
            return Number(dtype, is_python, is_weak=is_python and type(value) is not ScalarTracer)
        if type(value) is ArrayTracer:
            return Array(value.dtype, value.shape)
        found = taken_apart(value)
        return None if found is None else Items(found[0], found[1], tuple(map(Same, found[2])))

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
        return isinstance(other, Same) and same(self.value, other.value)


@dataclass
class Count(Form):
    """An integer that grows by `step` from iteration to iteration, or from row to row."""

    start: Extent
    step: Extent = 0

    def opened(self) -> Form | None:
        return Number(np.dtype(np.int64), True)

    def at(self, index: int) -> Extent:
        return self.start + times(affine(0, {index: 1}), self.step)

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        return index_of(recorder, self.at(index))

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        expression = expression_of(value)
        following = substitute(self.at(index), index, affine(1, {index: 1}))
        if expression is None or expression - following != 0:
            raise NotCarried
        return []

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> Form:
        start = substitute(self.start, index, 0)
        return Count(start, substitute(self.start, index, 1) - start)

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert owner is not None
        expression = expression_of(row)
        if expression is None:
            return row * self.step + index_of(owner.recorder, self.start)
        return index_of(owner.recorder, self.start + times(expression, self.step))

    def part(self, owner: TracedList, rows: slice) -> Form:
        return Count(self.start + times(expression_of(rows.start), self.step), self.step * (rows.step or 1))

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        assert isinstance(self.step, int)
        numbers = np.arange(length) * self.step
        if isinstance(self.start, int):
            return owner.recorder.concrete(numbers + self.start)
        return owner.recorder.concrete(numbers) + index_of(owner.recorder, self.start)


@dataclass
class InMemory(Form):
    """What lies in memory: in `buffer`, or in a row of `memory`."""

    dtype: np.dtype
    buffer: Buffer | None = field(default=None, compare=False, kw_only=True)
    memory: ArrayTracer | None = field(default=None, compare=False, kw_only=True)
    shape: tuple[int, ...] = field(default=(), init=False)

    def placed(self, allocate: Allocate) -> Form:
        return self if self.buffer is not None else replace(self, buffer=allocate(self.dtype, self.shape))

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> Form:
        shape = (rows, *self.shape)
        base = np.empty(shape, self.dtype)
        recorder = owner.recorder
        buffer = recorder.builder.new_buffer("local", owner.label, self.dtype, contiguous(shape))
        storage = Storage(base, owner.line, buffer=buffer, depth=depth)
        storage.name = (recorder.scopes.indices, "rows", buffer.id)
        storage.listed = owner
        return replace(self, memory=ArrayTracer(recorder, storage, base))

    def part(self, owner: TracedList, rows: slice) -> Form:
        assert self.memory is not None
        return replace(self, memory=self.memory[rows])

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        assert self.memory is not None
        return owner.recorder.array(self.memory.read())

    def put(self, row: Extent, element: Any) -> None:
        assert self.memory is not None
        self.store(row, self.memory.recorder.value_of(plain_or_traced(element), self.dtype), self.shape)

    def put_rows(self, row: Extent, column: Any, length: int) -> None:
        assert self.memory is not None
        value = self.memory.recorder.value_of(column.memory, self.dtype)
        self.store(row, value, (length, *self.shape))

    def store(self, row: Extent, value: Value, shape: tuple[int, ...]) -> None:
        assert self.memory is not None
        storage = self.memory.storage
        assert storage.buffer is not None
        storage.reads.clear()
        if value.size:
            view = View(times(row, int(np.prod(self.shape))), shape, c_strides(shape))
            self.memory.recorder.builder.store(Region(storage.buffer.id, view), value)

    def storages(self) -> Iterator[Storage]:
        assert self.memory is not None
        yield self.memory.storage

    rows = storages


@dataclass
class Number(InMemory):
    """A scalar; one that `is_weak` is a number in the program itself, which gives way to other types."""

    is_python: bool
    is_weak: bool = field(default=False, compare=False, kw_only=True)

    @property
    def is_known(self) -> bool:  # type: ignore[override]
        return self.is_python and self.dtype.kind in "biu"

    def joined(self, other: Number, exact: bool) -> Form | None:
        if exact and self.dtype != other.dtype:
            return None
        found = Number(self.common(other), self.is_python and other.is_python)
        return self if found == self and not self.is_weak else found

    def placed(self, allocate: Allocate) -> Form:
        return self if self.buffer is not None else replace(super().placed(allocate), is_weak=False)  # type: ignore[type-var]

    def common(self, other: Number) -> np.dtype:
        own, its = KINDS.index(self.dtype.kind), KINDS.index(other.dtype.kind)
        if self.is_weak and own <= its:
            return other.dtype
        return self.dtype if other.is_weak and its <= own else np.result_type(self.dtype, other.dtype)

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        assert self.buffer is not None
        return ScalarTracer(recorder, recorder.builder.load(self.buffer.whole), self.is_python)

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        assert self.buffer is not None
        return [(self.buffer, recorder.value_of(plain_or_traced(value), self.dtype))]

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert self.memory is not None
        found = self.memory[row]
        return ScalarTracer(found.recorder, found.value, self.is_python) if type(found) is ScalarTracer else found


@dataclass
class Array(InMemory):
    """An array; the program's is one for which `copy` says that this memory stands."""

    shape: tuple[int, ...]
    copy: Copy | None = field(default=None, compare=False, kw_only=True)
    shared: bool = field(default=False, compare=False, kw_only=True)  # whether something else may lead to it

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        assert self.buffer is not None and self.copy is not None
        found = array_in(recorder, self.buffer, self.copy)
        found.storage.chosen |= self.shared
        return found

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        assert self.buffer is not None
        return [(self.buffer, value.read())]

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert self.memory is not None
        return self.memory[(row, ...)]


@dataclass
class Moving(Form):
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
class Items(Form):
    """A tuple, list or dict made anew each time, item by item."""

    kind: type
    keys: tuple[Any, ...]
    items: tuple[Form, ...]

    def parts(self) -> Iterable[Form]:
        return self.items

    @property
    def is_known(self) -> bool:  # type: ignore[override]
        return any(part.is_known for part in self.items)

    def stored(self) -> Form | None:
        return self.of([part.stored() for part in self.items])

    def of(self, items: list[Form | None]) -> Form | None:
        return None if None in items else Items(self.kind, self.keys, tuple(items))  # type: ignore[arg-type]

    def joined(self, other: Items, exact: bool) -> Form | None:
        if (self.kind, self.keys) != (other.kind, other.keys):
            return None
        items = [joined(a, b, exact=exact) for a, b in zip(self.items, other.items)]
        if not exact:
            items = [Nothing() if item is None else item for item in items]
        return self if all(a is b for a, b in zip(items, self.items)) else self.of(items)

    def placed(self, allocate: Allocate) -> Form:
        items = tuple(part.placed(allocate) for part in self.items)
        return self if all(a is b for a, b in zip(items, self.items)) else Items(self.kind, self.keys, items)

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        return put_together(self.kind, self.keys, [part.begin(recorder, index, name) for part in self.items])

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        found = taken_apart(value)
        if found is None or found[:2] != (self.kind, self.keys):
            raise NotCarried
        return [store for form, part in zip(self.items, found[2]) for store in form.leave(recorder, part, index)]

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> Form:
        return replace(self, items=tuple(part.in_rows(rows, owner, index, depth) for part in self.items))

    def item(self, owner: TracedList | None, row: Any) -> Any:
        items = [part.item(owner, row) for part in self.items]
        if self.kind is list and owner is not None:
            return owner.element(items)
        return put_together(self.kind, self.keys, items)

    def part(self, owner: TracedList, rows: slice) -> Form:
        return replace(self, items=tuple(part.part(owner, rows) for part in self.items))

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        arrays = [part.array(owner, length) for part in self.items]
        return owner.recorder.call(np.stack, (arrays,), {"axis": 1})

    def put(self, row: Extent, element: Any) -> None:
        for form, item in zip(self.items, elements_of(element)):
            form.put(row, item)

    def put_rows(self, row: Extent, column: Any, length: int) -> None:
        for own, other in zip(self.items, column.items):
            own.put_rows(row, other, length)


@dataclass
class Rows(Form):
    """A list of `length` elements of one form. In a list, they lie flat: of `m` such lists it has `m * length` rows."""

    length: int
    each: Form

    def parts(self) -> Iterable[Form]:
        return (self.each,)

    @property
    def is_known(self) -> bool:  # type: ignore[override]
        return self.each.is_known

    def stored(self) -> Form | None:
        each = self.each.stored()
        return None if each is None else Rows(self.length, each)

    def joined(self, other: Rows, exact: bool) -> Form | None:
        each = joined(self.each, other.each, exact=exact) if self.length == other.length else None
        return None if each is None else Rows(self.length, each)

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> Form:
        return replace(self, each=self.each.in_rows(rows * self.length, owner, index, depth))

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert owner is not None
        inner = self.each.part(owner, slice(row * self.length, (row + 1) * self.length))
        return owner.element([Segment(inner, self.length)])

    def part(self, owner: TracedList, rows: slice) -> Form:
        if rows.step not in (None, 1):
            raise owner.refuse()
        inner = slice(rows.start * self.length, rows.stop * self.length)
        return replace(self, each=self.each.part(owner, inner))

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        found = self.each.array(owner, length * self.length)
        return found.reshape(length, self.length, *found.shape[1:])

    def put(self, row: Extent, element: Any) -> None:
        put_parts(self.each, times(row, self.length), elements_of(element))

    def put_rows(self, row: Extent, column: Any, length: int) -> None:
        self.each.put_rows(times(row, self.length), column.each, length * self.length)


@dataclass
class Nothing(Form):
    """What cannot be told: each iteration or side assigns another kind of thing, or leaves a copy behind."""

    reason: str = DIFFERS

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        return Lost(recorder, name, self.reason)


def elements_of(value: Any) -> list[Any]:
    """The elements of a list or tuple, and segments of them where a loop has filled it."""
    return value.parts if type(value) is TracedList else list(value)


def put_parts(column: Form, row: Extent, parts: Iterable[Any]) -> None:
    """Fill rows from this one on with elements, and segments of them."""
    for part in parts:
        if type(part) is Segment:
            assert isinstance(part.length, int)
            column.put_rows(row, part.column, part.length)
            row = row + part.length
        else:
            column.put(row, part)
            row = row + 1


def times(expression: Any, factor: Any) -> Extent:
    """The product of an index and an integer, which may be of NumPy."""
    assert isinstance(factor, int)
    return expression * factor if isinstance(expression, Affine) else affine(int(expression) * factor, {})
