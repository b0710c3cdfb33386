"""The elements of a list that a loop fills: in memory, a column with a row for each; or as an expression of the row.

A `Spec` says what all elements have in common, a column holds them. Nested lists lie flat: one of `m` elements each is
a column of `m` times as many rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Affine, Extent, affine, substitute
from ...regions.regions import Region, View, c_strides, contiguous
from ..record.aliases import storages_in
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex, expression_of, index_of, plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .carries import is_number, number_type, put_together, same, taken_apart
from .traced_list import Segment, TracedList

if TYPE_CHECKING:
    from ...tape.tape import Value
    from ..record.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar."""

    dtype: np.dtype
    is_python: bool


@dataclass(frozen=True, slots=True)
class Array:
    """An array."""

    dtype: np.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Integer:
    """A Python integer known as an expression of the loops around."""

    expression: Extent


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same thing each time."""

    value: Any


@dataclass(frozen=True, slots=True)
class Record:
    """A tuple, or a list with integers in it, item by item."""

    kind: type
    keys: tuple[Any, ...]
    parts: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A list of `length` elements of one kind."""

    length: int
    part: Spec


Spec = Number | Array | Integer | Fixed | Record | Rows


def spec_of(recorder: Recorder, element: Any, depth: int) -> Spec | None:
    """What an element is, for a loop at `depth`; None for what cannot be kept in a column."""
    kind = type(element)
    if kind is LoopIndex or kind is int:
        expression = expression_of(element)
        assert expression is not None
        return Integer(expression)
    if is_number(recorder, element):
        return Number(*number_type(recorder, element))
    if recorder.is_array(element):
        storage = element.storage
        if type(storage) is Storage and storage.depth <= depth and not storage.carried:
            return Fixed(element)
        return Array(element.dtype, element.shape)
    if element is None or kind is str:
        return Fixed(element)
    if kind is TracedList or kind is list:
        parts = element.parts if kind is TracedList else element
        found = [element_spec(recorder, part, depth) for part in parts]
        if any(isinstance(part, Integer) for part in found) and None not in found:
            return Record(list, tuple(range(len(found))), tuple(found))  # type: ignore[arg-type]
        merged = merged_specs(found)
        lengths: list[Any] = [part.length if type(part) is Segment else 1 for part in parts]
        if merged is None or not all(type(n) is int for n in lengths):
            return None
        return Rows(sum(map(int, lengths)), merged)
    if isinstance(element, tuple):
        taken = taken_apart(element)
        if taken is None:
            return None
        items = [spec_of(recorder, item, depth) for item in taken[2]]
        return None if None in items else Record(taken[0], taken[1], tuple(items))  # type: ignore[arg-type]
    return None


def element_spec(recorder: Recorder, part: Any, depth: int) -> Spec | None:
    """What the elements of a part of a list are; of a segment, whose loop is over, in memory."""
    return stored(part.column.spec) if type(part) is Segment else spec_of(recorder, part, depth)


def merged_specs(specs: list[Spec | None]) -> Spec | None:
    """What elements have in common that are in the same column."""
    if not specs or None in specs:
        return None
    if len(specs) == 1:
        return specs[0]
    found = specs[0]
    for other in specs[1:]:
        if isinstance(found, Integer) or isinstance(other, Integer):
            found, other = stored(found), stored(other)
        found = joined(found, other)
    return found


def stored(spec: Spec | None) -> Spec | None:
    """The kind of column in memory for what could also be an expression, or one thing for all rows."""
    if isinstance(spec, Integer):
        return Number(np.dtype(np.int64), True)
    if isinstance(spec, Fixed) and type(spec.value) is ArrayTracer:
        return Array(spec.value.dtype, spec.value.shape)
    if isinstance(spec, Record):
        parts = tuple(stored(part) for part in spec.parts)
        return None if None in parts else Record(spec.kind, spec.keys, parts)  # type: ignore[arg-type]
    if isinstance(spec, Rows):
        part = stored(spec.part)
        return None if part is None else Rows(spec.length, part)
    return None if isinstance(spec, Fixed) else spec


def is_known(spec: Spec | None) -> bool:
    """Whether a program may ask for the numbers themselves: Python's integers and truths."""
    if isinstance(spec, Number):
        return spec.is_python and spec.dtype.kind in "biu"
    if isinstance(spec, Record):
        return any(is_known(part) for part in spec.parts)
    return is_known(spec.part) if isinstance(spec, Rows) else False


def joined(a: Spec | None, b: Spec | None) -> Spec | None:
    """What two elements have in common; None where that is nothing."""
    if isinstance(a, Fixed) and isinstance(b, Fixed) and same(a.value, b.value):
        return a
    if isinstance(a, Integer) and isinstance(b, Integer) and a.expression - b.expression == 0:
        return a
    if isinstance(a, Fixed | Integer) or isinstance(b, Fixed | Integer):
        a, b = stored(a), stored(b)
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(a.dtype, a.is_python and b.is_python) if a.dtype == b.dtype else None
    if isinstance(a, Record) and isinstance(b, Record) and (a.kind, a.keys) == (b.kind, b.keys):
        parts = [joined(x, y) for x, y in zip(a.parts, b.parts)]
        return None if None in parts else Record(a.kind, a.keys, tuple(parts))  # type: ignore[arg-type]
    if isinstance(a, Rows) and isinstance(b, Rows) and a.length == b.length:
        part = joined(a.part, b.part)
        return None if part is None else Rows(a.length, part)
    return a if isinstance(a, Array) and a == b else None


@dataclass
class Stored:
    """Scalars or arrays in memory: `memory` has a row for each."""

    recorder: Recorder
    spec: Spec
    memory: ArrayTracer

    def item(self, row: Any) -> Any:
        if isinstance(self.spec, Array):
            return self.memory[(row, ...)]
        found = self.memory[row]
        if self.recorder.is_scalar(found):
            assert isinstance(self.spec, Number)
            return ScalarTracer(self.recorder, found.value, self.spec.is_python)
        return found

    def part(self, rows: slice) -> Column:
        return Stored(self.recorder, self.spec, self.memory[rows])

    def array(self, length: int) -> ArrayTracer:
        return self.recorder.array(self.memory.read())

    def storages(self) -> Iterator[Storage]:
        """The memories to which the rows lead."""
        yield self.memory.storage

    def own_storages(self) -> Iterator[Storage]:
        """The memories that hold rows."""
        yield self.memory.storage

    def put(self, row: Extent, element: Any) -> None:
        assert isinstance(self.spec, Number | Array)
        self.store(row, self.recorder.value_of(plain_or_traced(element), self.spec.dtype), self.memory.shape[1:])

    def put_rows(self, row: Extent, column: Column, length: int) -> None:
        value = self.recorder.value_of(column.array(length), self.memory.dtype)
        self.store(row, value, (length, *self.memory.shape[1:]))

    def store(self, row: Extent, value: Value, shape: tuple[int, ...]) -> None:
        storage = self.memory.storage
        assert storage.buffer is not None
        storage.reads.clear()
        if value.size:
            size = int(np.prod(self.memory.shape[1:]))
            view = View(_times(row, size), shape, c_strides(shape))
            self.recorder.builder.store(Region(storage.buffer.id, view), value)


@dataclass
class Integers:
    """Python integers that grow by `step` from row to row."""

    recorder: Recorder
    spec: Spec
    start: Extent
    step: int

    def item(self, row: Any) -> Any:
        expression = expression_of(row)
        if expression is None:
            return row * self.step + index_of(self.recorder, self.start)
        return index_of(self.recorder, self.start + _times(expression, self.step))

    def part(self, rows: slice) -> Column:
        first = expression_of(rows.start)
        assert first is not None
        return Integers(self.recorder, self.spec, self.start + _times(first, self.step), self.step * (rows.step or 1))

    def array(self, length: int) -> ArrayTracer:
        numbers = np.arange(length) * self.step
        if isinstance(self.start, int):
            return self.recorder.concrete(numbers + self.start)
        return self.recorder.concrete(numbers) + index_of(self.recorder, self.start)

    def storages(self) -> Iterator[Storage]:
        return iter(())

    own_storages = storages

    def put(self, row: Extent, element: Any) -> None:
        """Nothing to do: the rows are known."""

    def put_rows(self, row: Extent, column: Column, length: int) -> None:
        """Likewise."""


@dataclass
class Repeated:
    """The same thing in all rows."""

    recorder: Recorder
    spec: Spec
    value: Any

    def item(self, row: Any) -> Any:
        return self.value

    def part(self, rows: slice) -> Column:
        return self

    def array(self, length: int) -> ArrayTracer:
        value = self.recorder.value_of(self.value)
        return self.recorder.array(self.recorder.builder.broadcast(value, (length, *value.shape)))

    def storages(self) -> Iterator[Storage]:
        return storages_in(self.value)

    def own_storages(self) -> Iterator[Storage]:
        return iter(())

    def put(self, row: Extent, element: Any) -> None:
        """Nothing to do: it is there."""

    def put_rows(self, row: Extent, column: Column, length: int) -> None:
        """Likewise."""


@dataclass
class Records:
    """Tuples, or lists of integers: a column for each of their items."""

    recorder: Recorder
    spec: Spec
    columns: list[Column]
    owner: TracedList

    def item(self, row: Any) -> Any:
        assert isinstance(self.spec, Record)
        items = [column.item(row) for column in self.columns]
        if self.spec.kind is list:
            return self.owner.element(items)
        return put_together(self.spec.kind, self.spec.keys, items)

    def part(self, rows: slice) -> Column:
        return Records(self.recorder, self.spec, [column.part(rows) for column in self.columns], self.owner)

    def array(self, length: int) -> ArrayTracer:
        parts = [column.array(length) for column in self.columns]
        return self.recorder.call(np.stack, (parts,), {"axis": 1})

    def storages(self) -> Iterator[Storage]:
        return itertools.chain.from_iterable(column.storages() for column in self.columns)

    def own_storages(self) -> Iterator[Storage]:
        return itertools.chain.from_iterable(column.own_storages() for column in self.columns)

    def put(self, row: Extent, element: Any) -> None:
        items = element.parts if hasattr(element, "parts") else taken_apart(element)[2]  # type: ignore[index]
        for column, item in zip(self.columns, items):
            column.put(row, item)

    def put_rows(self, row: Extent, column: Column, length: int) -> None:
        assert isinstance(column, Records)
        for own, other in zip(self.columns, column.columns):
            own.put_rows(row, other, length)


@dataclass
class Nested:
    """Lists of `length` elements: `flat` has a row for each of those."""

    recorder: Recorder
    spec: Spec
    length: int
    flat: Column
    owner: TracedList

    def item(self, row: Any) -> Any:
        inner = self.flat.part(slice(row * self.length, (row + 1) * self.length))
        return self.owner.element([Segment(inner, self.length)])

    def part(self, rows: slice) -> Column:
        if rows.step not in (None, 1):
            raise self.owner.refuse()
        inner = self.flat.part(slice(rows.start * self.length, rows.stop * self.length))
        return Nested(self.recorder, self.spec, self.length, inner, self.owner)

    def array(self, length: int) -> ArrayTracer:
        found = self.flat.array(length * self.length)
        return found.reshape(length, self.length, *found.shape[1:])

    def storages(self) -> Iterator[Storage]:
        return self.flat.storages()

    def own_storages(self) -> Iterator[Storage]:
        return self.flat.own_storages()

    def put(self, row: Extent, element: Any) -> None:
        first = _times(row, self.length)
        for part in element.parts if hasattr(element, "parts") else element:
            if type(part) is Segment:
                assert isinstance(part.length, int)
                self.flat.put_rows(first, part.column, part.length)
                first = first + part.length
            else:
                self.flat.put(first, part)
                first = first + 1

    def put_rows(self, row: Extent, column: Column, length: int) -> None:
        assert isinstance(column, Nested)
        self.flat.put_rows(_times(row, self.length), column.flat, length * self.length)


Column = Stored | Integers | Repeated | Records | Nested


def new_column(spec: Spec, rows: int, owner: TracedList, index: int, depth: int) -> Column:
    """A column for `rows` elements, filled by the loop with this index, made at this depth."""
    recorder = owner.recorder
    if isinstance(spec, Integer):
        start = substitute(spec.expression, index, 0)
        step = substitute(spec.expression, index, 1) - start
        assert isinstance(step, int)
        return Integers(recorder, spec, start, step)
    if isinstance(spec, Fixed):
        return Repeated(recorder, spec, spec.value)
    if isinstance(spec, Record):
        return Records(recorder, spec, [new_column(part, rows, owner, index, depth) for part in spec.parts], owner)
    if isinstance(spec, Rows):
        flat = new_column(spec.part, rows * spec.length, owner, index, depth)
        return Nested(recorder, spec, spec.length, flat, owner)
    shape = (rows, *(spec.shape if isinstance(spec, Array) else ()))
    base = np.empty(shape, spec.dtype)
    buffer = recorder.builder.new_buffer("local", owner.label, spec.dtype, contiguous(shape))
    storage = Storage(base, owner.line, buffer=buffer, depth=depth)
    storage.name = (recorder.scopes.indices, "rows", buffer.id)
    storage.listed = owner
    return Stored(recorder, spec, ArrayTracer(recorder, storage, base))


def _times(expression: Any, factor: int) -> Extent:
    if isinstance(expression, Affine):
        return expression * factor
    return affine(int(expression) * factor, {})
