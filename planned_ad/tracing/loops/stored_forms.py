"""Numbers and arrays as they are handed on in memory: in one place, or as the rows of a list; see `forms`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Extent
from ...regions.regions import Region, View, c_strides, contiguous
from ...tape.tape import Buffer, Value
from ..record.aliases import Copy
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import plain_or_traced
from ..values.number_types import ALWAYS_ONE, FLOAT, Types, can_be_one, is_lost_in, told_apart
from ..values.scalar_tracer import ScalarTracer
from .form import Allocate, HandedOn, Stores, scaled_index
from .traced_list import TracedList

if TYPE_CHECKING:
    from ..record.recorder import Recorder

KINDS = "biuf"  # of dtypes, the narrower ones first


@dataclass
class InMemory(HandedOn):
    """What lies in memory: in `buffer`, or in a row of `memory`."""

    dtype: np.dtype
    buffer: Buffer | None = field(default=None, compare=False, kw_only=True)
    memory: ArrayTracer | None = field(default=None, compare=False, kw_only=True)
    shape: tuple[int, ...] = field(default=(), init=False)

    def placed(self, allocate: Allocate) -> HandedOn:
        return self if self.buffer is not None else replace(self, buffer=allocate(self.dtype, self.shape))

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> HandedOn:
        shape = (rows, *self.shape)
        base = np.empty(shape, self.dtype)
        recorder = owner.recorder
        buffer = recorder.builder.new_buffer("local", owner.label, self.dtype, contiguous(shape))
        storage = Storage(base, owner.line, buffer=buffer, depth=depth)
        storage.name = (recorder.scopes.indices, "rows", buffer.id)
        storage.listed = owner
        return replace(self, memory=ArrayTracer(recorder, storage, base))

    def part(self, owner: TracedList, rows: slice) -> HandedOn:
        assert self.memory is not None
        return replace(self, memory=self.memory[rows])

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        assert self.memory is not None
        return owner.recorder.array(self.memory.read())

    def put(self, row: Extent, element: Any) -> None:
        assert self.memory is not None
        self.store(row, self.memory.recorder.value_of(plain_or_traced(element), self.dtype), self.shape)

    def put_array(self, row: Extent, elements: np.ndarray) -> None:
        """Fill rows with known numbers."""
        assert self.memory is not None
        recorder = self.memory.recorder
        if np.all(elements == elements[0]):
            value = recorder.builder.broadcast(recorder.value_of(elements[0], self.dtype), elements.shape)
        else:
            value = recorder.value_of(elements)
        self.store(row, value, elements.shape)

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
            view = View(scaled_index(row, int(np.prod(self.shape))), shape, c_strides(shape))
            self.memory.recorder.builder.store(Region(storage.buffer.id, view), value)

    def storages(self) -> Iterator[Storage]:
        assert self.memory is not None
        yield self.memory.storage

    own_storages = storages


@dataclass
class Number(InMemory):
    """A scalar; one that `is_weak` is a number in the program itself, which gives way to other types.

    Of one that `is_data` no program has the number: it is traced wherever it comes from.
    """

    is_python: bool
    is_weak: bool = field(default=False, compare=False, kw_only=True)
    types: Types = field(default=ALWAYS_ONE, compare=False, kw_only=True)  # those that it may have, where several
    is_data: bool = field(default=False, compare=False, kw_only=True)

    @property
    def is_known(self) -> bool:  # type: ignore[override]
        return self.is_python and self.dtype.kind in "biu" and not self.is_data

    def joined(self, other: Number, exact: bool) -> HandedOn | None:
        if exact and self.dtype != other.dtype:
            return None
        types = self.every_type() | other.every_type()
        if not can_be_one(types):
            return None
        types = types if len(types) > 1 else ALWAYS_ONE
        is_data = self.is_data or other.is_data
        found = Number(self.common(other), self.is_python and other.is_python, types=types, is_data=is_data)
        return self if found == self and not self.is_weak and types == self.types else found

    def every_type(self) -> Types:
        return self.types or frozenset([(self.dtype, self.is_python)])

    def placed(self, allocate: Allocate) -> HandedOn:
        return self if self.buffer is not None else replace(super().placed(allocate), is_weak=False)  # type: ignore[type-var]

    def common(self, other: Number) -> np.dtype:
        own, its = KINDS.index(self.dtype.kind), KINDS.index(other.dtype.kind)
        if self.is_weak and own <= its:
            return other.dtype
        return self.dtype if other.is_weak and its <= own else np.result_type(self.dtype, other.dtype)

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        assert self.buffer is not None
        return ScalarTracer(recorder, recorder.builder.load(self.buffer.whole), self.is_python, self.types)

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        assert self.buffer is not None
        if is_lost_in(value, self.dtype):
            raise told_apart(recorder, self.every_type() | {(FLOAT, True)})
        return [(self.buffer, recorder.value_of(plain_or_traced(value), self.dtype))]

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert self.memory is not None
        found = self.memory[row]
        if type(found) is not ScalarTracer:
            return found
        return ScalarTracer(found.recorder, found.value, self.is_python, self.types)


@dataclass
class Array(InMemory):
    """An array; the program's is one for which `copy` says that this memory stands."""

    shape: tuple[int, ...]
    copy: Copy | None = field(default=None, compare=False, kw_only=True)
    shared: bool = field(default=False, compare=False, kw_only=True)  # whether something else may lead to it

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        assert self.buffer is not None and self.copy is not None
        found = recorder.copies.array_in(self.buffer, self.copy)
        found.storage.chosen |= self.shared
        return found

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        assert self.buffer is not None
        return [(self.buffer, value.read())]

    def leave_nothing(self, recorder: Recorder) -> Stores:
        """Where there is no array, and something has to lie here."""
        assert self.buffer is not None
        zero = recorder.constant(0, self.dtype)
        return [(self.buffer, recorder.builder.broadcast(zero, self.shape))]

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert self.memory is not None
        return self.memory[(row, ...)]


@dataclass
class OneOfArrays(Array):
    """Which one of several arrays, as data say: a copy, which stands for them all."""

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert self.memory is not None and self.copy is not None
        recorder = self.memory.recorder
        found = recorder.array(self.memory[(row, ...)].read())
        recorder.copies.made(found.storage, self.copy)
        return found
