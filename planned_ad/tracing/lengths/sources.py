"""Where the elements of an array of a run-time length come from: memory, or a recipe that computes each.

What is computed of a slice is a recipe for its elements: the loop that sums or stores it computes them, so that no
memory is laid out for it and its cost is that of its elements. A recipe reads memory as it was when the program
computed it: from a value of the whole memory, where that has been written to since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...regions.affine import Extent
from ...regions.regions import View
from ...tape.tape import Value
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..record.storage import MovingStorage, Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex, expression_of, index_of, plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .elements import Position, RunTime, innermost
from .ragged import seen

Bound = int | Value
Start = Extent | Value  # of memory, which loops may move


class Origin:
    """What elements come from."""

    depth = 0  # how many recipes it is made of

    def at(self, position: Position) -> Any:
        """The element there."""
        raise NotImplementedError

    def frozen(self) -> Origin:
        """The elements as they are now."""
        return self

    def reads(self, storage: Storage) -> Iterator[Memory | None]:
        """The places of a memory that are read: None where it is not at the position that is asked for."""
        return iter(())


class Memory(Origin):
    """Origin that lie in memory: `front[start]`, `front[start + step]`, ..."""

    def __init__(self, front: ArrayTracer, start: Start, step: int):
        self.front, self.start, self.step = front, start, step

    def at(self, position: Position) -> Any:
        found = self.element(position)
        return found if found.ndim else found.recorder.result(found.read())

    def element(self, position: Position) -> ArrayTracer:
        """The element as a view of the memory."""
        front = self.front
        recorder, layout = front.recorder, front.layout
        index = position.index
        extent, stride = layout.shape[0], layout.strides[0]
        expression = expression_of(index) if position.inside or type(index) is LoopIndex else None
        if expression is not None and isinstance(self.start, Extent):
            offset = layout.offset + (expression * self.step + self.start) * stride
            return seen(front, View(offset, layout.shape[1:], layout.strides[1:]))
        where = recorder.value_of(plain_or_traced(index), INT)
        if self.step != 1:
            where = recorder.apply("multiply", where, recorder.constant(self.step, INT))
        if type(self.start) is not int or self.start:
            where = recorder.apply("add", where, value_of(recorder, self.start))
        if not position.inside:
            most = recorder.constant(extent - 1, INT)
            where = recorder.apply("minimum", recorder.apply("maximum", where, recorder.constant(0, INT)), most)
        return shown_at(front, where)

    def sliced(self, start: Start, step: int) -> Memory:
        if isinstance(self.start, Extent) and isinstance(start, Extent):
            return Memory(self.front, self.start + start * self.step, self.step * step)
        recorder = self.front.recorder
        first, then = value_of(recorder, self.start), value_of(recorder, start)
        then = recorder.apply("multiply", then, recorder.constant(self.step, INT)) if self.step != 1 else then
        return Memory(self.front, recorder.apply("add", first, then), self.step * step)

    def frozen(self) -> Origin:
        return Frozen(self)

    def reads(self, storage: Storage) -> Iterator[Memory | None]:
        if self.front.storage.root is storage:
            yield self

    def is_at(self, other: Memory) -> bool:
        """Whether the same elements are at the same positions."""
        same_start = self.start is other.start or (isinstance(self.start, Extent) and self.start == other.start)
        return (
            same_start
            and self.step == other.step
            and self.front.storage.is_same(other.front.storage)
            and self.front.layout == other.front.layout
        )


def shown_at(front: ArrayTracer, where: Value) -> ArrayTracer:
    """`front[where]`, as a view."""
    storage: Storage = front.storage
    indices: tuple[Value, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    indices, extents, strides = (where,), (front.shape[0],), (front.strides[0] // front.itemsize,)
    if type(storage) is MovingStorage:
        indices, extents, strides = storage.indices + indices, storage.extents + extents, storage.strides + strides
        storage = storage.memory
    moving = MovingStorage(storage, front.recorder.builder.line, indices, extents, strides)
    return type(front)(front.recorder, moving, front.geometry[(0, ...)])


class Frozen(Origin):
    """The elements of a memory as they are now."""

    def __init__(self, source: Memory):
        self.source = source
        front = source.front
        self.recorder, self.memory = front.recorder, front.storage.root
        self.version, self.home = self.memory.version, innermost(self.recorder)
        self.kept = None if self.memory.captured else snapshot(front)

    def at(self, position: Position) -> Any:
        return position.of(self.now)

    @property
    def now(self) -> Memory:
        """Where the elements are: in the memory itself while nothing has been written to it since."""
        if self.kept is None or self.is_intact:
            return self.source
        return Memory(self.kept, self.source.start, self.source.step)

    @property
    def is_intact(self) -> bool:
        return self.memory.version == self.version and innermost(self.recorder) is self.home

    def reads(self, storage: Storage) -> Iterator[Memory | None]:
        if self.is_intact:
            yield from self.source.reads(storage)


def snapshot(array: ArrayTracer) -> ArrayTracer:
    """What an array holds now, as an array that nobody writes to."""
    recorder = array.recorder
    return recorder.array(array.read(), array)


class Recipe(Origin):
    """Origin that are computed where they are used, by `compute(position)`; `sources` are frozen."""

    def __init__(self, compute: Callable[[Position], Any], sources: tuple[Origin, ...]):
        self.compute, self.sources = compute, sources
        self.depth = 1 + max((source.depth for source in sources), default=0)

    def at(self, position: Position) -> Any:
        return self.compute(position)

    def reads(self, storage: Storage) -> Iterator[Memory | None]:
        for source in self.sources:
            yield from source.reads(storage)


class Other(Origin):
    """A source that is read at other positions than the one asked for."""

    def __init__(self, source: Origin):
        self.source, self.depth = source, source.depth

    def at(self, position: Position) -> Any:
        return position.of(self.source)

    def frozen(self) -> Origin:
        return Other(self.source.frozen())

    def reads(self, storage: Storage) -> Iterator[None]:
        for _ in self.source.reads(storage):
            yield None


class Fixed(Origin):
    """The same for all elements."""

    def __init__(self, item: Any):
        self.item = item

    def at(self, position: Position) -> Any:
        return self.item


class Stretched(Other):
    """The only element of a source, or, unless `single`, the one at each position."""

    def __init__(self, recorder: Recorder, source: Origin, length: RunTime):
        super().__init__(source)
        one = recorder.constant(1, INT)
        self.recorder = recorder
        self.single = recorder.apply("equal", length.count, one)

    def at(self, position: Position) -> Any:
        recorder, index = self.recorder, self.recorder.value_of(plain_or_traced(position.index), INT)
        index = recorder.apply("where", self.single, recorder.constant(0, INT), index)
        return Position(ScalarTracer(recorder, index, is_python=True), position.inside).of(self.source)


def moved(recorder: Recorder, position: Position, start: Bound, step: int) -> Position:
    index = position.index
    if type(index) is LoopIndex and isinstance(start, int):
        return Position(index_of(recorder, index.expression * step + start), position.inside)
    first = start if isinstance(start, int) else ScalarTracer(recorder, start, is_python=True)
    return Position(plain_or_traced(index) * step + first, position.inside)


def value_of(recorder: Recorder, bound: Start) -> Value:
    """A bound as an integer of the tape."""
    return bound if isinstance(bound, Value) else recorder.value_of(plain_or_traced(index_of(recorder, bound)), INT)
