"""Arrays with an axis whose length is known only when the plan runs: `x[p[i]:p[i + 1]]`, and what is computed of it.

A slice is a view of memory. What is computed from one is a recipe for its elements: the loop that sums or stores it
computes them, so that no memory is laid out for it and its cost is that of its elements. A recipe reads memory as it
was when the program computed it: from a value of the whole memory, where that has been written to since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.regions import View
from ...tape.tape import Value
from ..record.conversions import NoNumbers
from ..record.promotion import INT
from ..record.storage import MovingStorage, Storage
from ..values.elementwise import elementwise
from ..values.loop_index import LoopIndex, index_of
from ..values.operators import BINARY, Operators
from ..values.scalar_tracer import ScalarTracer
from . import moving_keys as symbolic_keys
from .elements import Length, Position, for_each, innermost, refused
from .run_time_slices import Bound, stretch, taken_apart

if TYPE_CHECKING:
    from ..record.recorder import Recorder
    from ..values.array_tracer import ArrayTracer

DEEP = 8  # recipes of recipes: what is computed of more is stored


def memory_of(storage: Storage) -> Storage:
    """The memory that a storage shows a place of."""
    while hasattr(storage, "memory"):
        storage = storage.memory
    return storage


class Memory:
    """Elements that lie in memory: `front[start]`, `front[start + step]`, ..."""

    def __init__(self, front: ArrayTracer, start: Bound, step: int):
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
        if type(index) is LoopIndex and isinstance(self.start, int):
            offset = layout.offset + (index.expression * self.step + self.start) * stride
            return symbolic_keys.seen(front, View(offset, layout.shape[1:], layout.strides[1:]))
        where = recorder.value_of(index, INT)
        if self.step != 1:
            where = recorder.apply("multiply", where, recorder.constant(self.step, INT))
        if type(self.start) is not int or self.start:
            start = recorder.constant(self.start, INT) if isinstance(self.start, int) else self.start
            where = recorder.apply("add", where, start)
        if not position.inside:
            most = recorder.constant(extent - 1, INT)
            where = recorder.apply("minimum", recorder.apply("maximum", where, recorder.constant(0, INT)), most)
        return shown_at(front, where)

    def sliced(self, start: Bound, step: int) -> Memory:
        if isinstance(self.start, int) and isinstance(start, int):
            return Memory(self.front, self.start + self.step * start, self.step * step)
        recorder = self.front.recorder
        first, then = (recorder.constant(s, INT) if isinstance(s, int) else s for s in (self.start, start))
        then = recorder.apply("multiply", then, recorder.constant(self.step, INT)) if self.step != 1 else then
        return Memory(self.front, recorder.apply("add", first, then), self.step * step)

    def frozen(self) -> Any:
        return Frozen(self)

    def reads(self, storage: Storage) -> Iterator[Memory | None]:
        if memory_of(self.front.storage) is storage:
            yield self

    def is_at(self, other: Memory) -> bool:
        """Whether the same elements are at the same positions."""
        same_start = self.start is other.start or (isinstance(self.start, int) and self.start == other.start)
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


class Frozen:
    """The elements of a memory as they are now."""

    def __init__(self, source: Memory):
        self.source = source
        front = source.front
        self.recorder, self.memory = front.recorder, memory_of(front.storage)
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

    def frozen(self) -> Frozen:
        return self

    def reads(self, storage: Storage) -> Iterator[Memory | None]:
        if self.is_intact:
            yield from self.source.reads(storage)


def snapshot(array: ArrayTracer) -> ArrayTracer:
    """What an array holds now, as an array that nobody writes to."""
    recorder = array.recorder
    return recorder.array(array.read(), array)


class Recipe:
    """Elements that are computed where they are used, by `compute(position)`; `sources` are frozen."""

    def __init__(self, compute: Callable[[Position], Any], sources: tuple[Any, ...]):
        self.at, self.sources = compute, sources
        self.depth = 1 + max((getattr(source, "depth", 0) for source in sources), default=0)

    def frozen(self) -> Recipe:
        return self

    def reads(self, storage: Storage) -> Iterator[Memory | None]:
        for source in self.sources:
            yield from source.reads(storage)


class Sliced:
    """A part of another array that is no memory yet."""

    def __init__(self, of: RunTimeArray, start: Bound, step: int):
        self.of, self.start, self.step = of, start, step

    def at(self, position: Position) -> Any:
        return moved(self.of.recorder, position, self.start, self.step).of(self.of.source)

    def frozen(self) -> Any:
        source, recorder = self.of.source.frozen(), self.of.recorder
        start, step = self.start, self.step
        return Recipe(lambda position: moved(recorder, position, start, step).of(source), (Other(source),))

    def reads(self, storage: Storage) -> Iterator[Memory | None]:
        return Other(self.of.source).reads(storage)


class Other:
    """A source that is read at other positions than the one asked for."""

    def __init__(self, source: Any):
        self.source, self.depth = source, getattr(source, "depth", 0)

    def reads(self, storage: Storage) -> Iterator[None]:
        for _ in self.source.reads(storage):
            yield None


def moved(recorder: Recorder, position: Position, start: Bound, step: int) -> Position:
    index = position.index
    if type(index) is LoopIndex and isinstance(start, int):
        return Position(index_of(recorder, index.expression * step + start), position.inside)
    first = start if isinstance(start, int) else ScalarTracer(recorder, start, is_python=True)
    index = index.traced() if type(index) is LoopIndex else index
    return Position(index * step + first, position.inside)


class RunTimeArray(NoNumbers, Operators):
    """An array whose `axis` has a run-time `length`; `rest` are the extents of the others.

    It is made in the block `home`, at `line`.
    """

    __slots__ = ("axis", "dtype", "home", "length", "line", "recorder", "rest", "source")

    def __init__(
        self, recorder: Recorder, source: Any, length: Length, axis: int, rest: tuple[int, ...], dtype: np.dtype
    ):
        self.recorder, self.source, self.length = recorder, source, length
        self.axis, self.rest, self.dtype = axis, rest, np.dtype(dtype)
        self.home, self.line = innermost(recorder), recorder.builder.line
        if type(source) is Recipe and (source.depth > DEEP or self.line in recorder.scopes.decisions.stored):
            self.source = self.stored()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray

    @property
    def ndim(self) -> int:
        return len(self.rest) + 1

    @property
    def shape(self) -> tuple[Any, ...]:
        count = ScalarTracer(self.recorder, self.length.count, is_python=True)
        return (*self.rest[: self.axis], count, *self.rest[self.axis :])

    @property
    def size(self) -> Any:
        total: Any = self.shape[self.axis]
        for n in self.rest:
            total = total * n
        return total

    @property
    def T(self) -> RunTimeArray:
        if self.ndim == 1:
            return self
        source = self.in_memory()
        front = source.front.transpose(0, *range(len(self.rest), 0, -1))
        turned = Memory(front, source.start, source.step)
        return RunTimeArray(self.recorder, turned, self.length, len(self.rest) - self.axis, self.rest[::-1], self.dtype)

    def in_memory(self) -> Memory:
        """Where the elements lie, from now on, so that what is written to them is seen by all who show them."""
        source = self.source
        if type(source) is Sliced:
            return source.of.in_memory().sliced(source.start, source.step)
        if type(source) is Memory:
            return source
        scopes = self.recorder.scopes
        if innermost(self.recorder) is not self.home:  # it has to be memory before the loop or branch around
            if self.line in scopes.decisions.stored:
                raise refused(self.recorder, "writes into")
            scopes.decisions.stored.add(self.line)
            raise scopes.restart()
        self.source = self.stored()
        return self.source

    def stored(self) -> Memory:
        """The elements in new memory."""
        from ..values.array_tracer import ArrayTracer

        recorder, builder = self.recorder, self.recorder.builder
        line, source, length = builder.line, self.source, self.length
        base = np.empty((length.most, *self.rest), self.dtype)
        view = Storage(base, line).view_of(base)
        buffer = builder.new_buffer("local", Storage(base, line).label(), self.dtype, view)
        storage = Storage(base, line, buffer=buffer, depth=recorder.scopes.depth)
        storage.born(recorder)
        found = Memory(ArrayTracer(recorder, storage, base), 0, 1)

        def store(position: Position) -> None:
            found.element(position).write(recorder.value_of(position.of(source), self.dtype))

        for_each(recorder, length, store)
        return found

    def frozen(self) -> Any:
        """A source of the elements as they are now."""
        return self.source.frozen()

    def copy(self, order: Any = "C") -> RunTimeArray:
        return RunTimeArray(self.recorder, self.frozen(), self.length, self.axis, self.rest, self.dtype)

    __copy__ = copy

    def fill(self, value: Any) -> None:
        self[...] = value

    # Items.

    def __getitem__(self, key: Any) -> Any:
        from .run_time_keys import get

        return get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from .run_time_keys import put

        put(self, key, value)

    def __len__(self) -> int:
        return self.shape[0].__index__() if not self.axis else self.rest[0]

    def __iter__(self) -> Iterator[Any]:
        from ..loops.iteration import RunTime, Sequence

        if self.axis:
            raise refused(self.recorder, "runs over the rows of")
        return iter(Sequence(self.recorder, RunTime.of(self.length.count), self.item_at))

    def item_at(self, index: Any) -> Any:
        """The element at an index that is known to be there."""
        self.recorder.mark()
        source = self.source
        index = index.traced() if type(index) is LoopIndex else index
        return Position(index).of(source if type(source) is Memory else source.frozen())

    def _refused(self, what: str) -> BaseException:
        return refused(self.recorder, what)

    def __repr__(self) -> str:
        return f"<traced {self.dtype} array of a run-time length>"


def run_time_slice(array: ArrayTracer, key: Any) -> RunTimeArray:
    """`array[key]`, where the key has one slice with run-time bounds, or one index array of a run-time length."""
    recorder = array.recorder
    plain, axis, part = taken_apart(array, key)
    view = array[plain]
    if not recorder.is_array(view):
        raise refused(recorder, "takes, of rows of different lengths,")
    order = (axis, *(k for k in range(view.ndim) if k != axis))
    front = view.transpose(order)
    rest = front.shape[1:]
    if recorder.is_run_time(part):
        return gathered(front, part, axis, rest)
    start, length, step = stretch(recorder, part, front.shape[0])
    if 0 in rest or not front.shape[0]:
        length = Length(length.count, 0)
    return RunTimeArray(recorder, Memory(front, start, step), length, axis, rest, view.dtype)


def gathered(front: ArrayTracer, indices: RunTimeArray, axis: int, rest: tuple[int, ...]) -> RunTimeArray:
    """`front[indices]`."""
    recorder = front.recorder
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise refused(recorder, "takes with a mask, or with indices of several axes,")
    chosen = indices.frozen()
    known = Frozen(Memory(front, 0, 1))

    def element(position: Position) -> Any:
        return known.now.front[position.of(chosen)]

    return RunTimeArray(recorder, Recipe(element, (chosen, Other(known))), indices.length, axis, rest, front.dtype)


def _in_place(name: str, ufunc: np.ufunc) -> None:
    def method(self, other):
        return elementwise(self.recorder, ufunc, (self, other), out=self)

    setattr(RunTimeArray, f"__i{name}__", method)


for _name, _ufunc in (BINARY | {"pow": np.power}).items():
    if _name != "divmod":
        _in_place(_name, _ufunc)


def _method(name: str, function: Any) -> None:
    def method(self, *args, **kwargs):
        return self.recorder.call(function, (self, *args), kwargs)

    setattr(RunTimeArray, name, method)


METHODS = ["sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "dot", "cumsum", "clip", "argmax", "argmin"]
for _name in METHODS:
    _method(_name, getattr(np, _name))
