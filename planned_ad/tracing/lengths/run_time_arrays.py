"""Arrays with an axis whose length is known only when the plan runs: `x[p[i]:p[i + 1]]`, and what is computed of it.

A slice is a view of memory; what is computed from one is a recipe for its elements (`sources`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import control
from ..record.recorder import Recorder
from ..record.storage import Storage
from ..values.loop_index import plain_or_traced
from .elements import Position, RunTime, for_each, innermost
from .sources import Bound, Memory, Origin, Other, Recipe, moved
from .unmasked import Unmasked
from .varying import DATA, VaryingArray

DEEP = 8  # recipes of recipes: what is computed of more is stored


class Sliced(Origin):
    """A part of another array that is no memory yet."""

    def __init__(self, of: RunTimeArray, start: Bound, step: int):
        self.of, self.start, self.step, self.depth = of, start, step, of.source.depth

    def at(self, position: Position) -> Any:
        return moved(self.of.recorder, position, self.start, self.step).of(self.of.source)

    def frozen(self) -> Any:
        source, recorder = self.of.source.frozen(), self.of.recorder
        start, step = self.start, self.step
        return Recipe(lambda position: moved(recorder, position, start, step).of(source), (Other(source),))

    def reads(self, storage: Storage) -> Iterator[Memory | None]:
        return Other(self.of.source).reads(storage)


class RunTimeArray(VaryingArray):
    """An array whose `axis` has a run-time `length`; `rest` are the extents of the others.

    It is made in the block `home`, at `line`.
    """

    of = DATA
    __slots__ = ("axis", "dtype", "home", "length", "line", "recorder", "rest", "source", "whole")

    def __init__(
        self, recorder: Recorder, source: Origin, length: RunTime, axis: int, rest: tuple[int, ...], dtype: np.dtype
    ):
        self.recorder, self.source, self.length = recorder, source, length
        self.axis, self.rest, self.dtype = axis, rest, np.dtype(dtype)
        self.home, self.line = innermost(recorder), recorder.builder.line
        self.whole: Unmasked | None = None  # of which a mask has chosen these elements
        if type(source) is Recipe and (source.depth > DEEP or self.line in recorder.scopes.decisions.stored):
            self.source = self.stored()

    @property
    def ndim(self) -> int:  # type: ignore[override]
        return len(self.rest) + 1

    @property
    def shape(self) -> tuple[Any, ...]:
        return (*self.rest[: self.axis], self.length.scalar(self.recorder), *self.rest[self.axis :])

    @property
    def T(self) -> RunTimeArray:
        if self.ndim == 1:
            return self
        source = self.in_memory()
        front = source.front.transpose(0, *range(len(self.rest), 0, -1))
        turned = Memory(front, source.start, source.step)
        return RunTimeArray(self.recorder, turned, self.length, len(self.rest) - self.axis, self.rest[::-1], self.dtype)

    @property
    def unmasked(self) -> Unmasked | None:
        """The array of which a mask has chosen these elements; None where they may have been written to since."""
        return None if type(self.source) is Memory else self.whole

    def become(self, other: RunTimeArray) -> bool:
        """It holds what `other` does, of the same length, where nobody may have a part of it in memory."""
        is_recipe = type(self.source) is Recipe and innermost(self.recorder) is self.home
        if not is_recipe or type(other.source) is not Recipe or other.length != self.length:
            return False
        if (other.dtype, other.rest, other.axis) != (self.dtype, self.rest, self.axis):
            return False
        self.source, self.whole = other.source, other.whole
        return True

    def in_memory(self) -> Memory:
        """Where the elements lie, from now on, so that what is written to them is seen by all who show them."""
        source, self.whole = self.source, None
        if type(source) is Sliced:
            return source.of.in_memory().sliced(source.start, source.step)
        if type(source) is Memory:
            return source
        scopes = self.recorder.scopes
        if innermost(self.recorder) is not self.home:  # it has to be memory before the loop or branch around
            if self.line in scopes.decisions.stored:
                raise self.refused("writes into")
            scopes.decisions.stored.add(self.line)
            raise scopes.restart()
        self.source = self.stored()
        return self.source

    def storages(self) -> Iterator[Storage]:
        """The memory of which it is a view."""
        if type(self.source) is Sliced:
            yield from self.source.of.storages()
        elif type(self.source) is Memory:
            yield self.source.front.storage

    def stored(self) -> Memory:
        """The elements in new memory."""
        recorder, builder = self.recorder, self.recorder.builder
        line, source, length = builder.line, self.source, self.length
        base = np.empty((length.most, *self.rest), self.dtype)
        view = Storage(base, line).view_of(base)
        buffer = builder.new_buffer("local", Storage(base, line).label(), self.dtype, view)
        storage = Storage(base, line, buffer=buffer, depth=recorder.scopes.depth)
        storage.born(recorder)
        found = Memory(recorder.array_at(storage, base), 0, 1)

        def store(position: Position) -> None:
            found.element(position).write(recorder.value_of(position.of(source), self.dtype))

        for_each(recorder, length, store)
        return found

    def frozen(self) -> Any:
        """A source of the elements as they are now."""
        return self.source.frozen()

    def copy(self, order: Any = "C") -> RunTimeArray:
        return RunTimeArray(self.recorder, self.frozen(), self.length, self.axis, self.rest, self.dtype)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> RunTimeArray:
        wanted, source, recorder = np.dtype(dtype), self.frozen(), self.recorder
        if wanted == self.dtype or wanted.kind in "fc":
            return super().astype(dtype, *args, **kwargs)  # type: ignore[no-any-return]
        recorder.mark()

        def converted(position: Position) -> Any:
            return recorder.result(recorder.value_of(position.of(source), wanted))

        return RunTimeArray(recorder, Recipe(converted, (source,)), self.length, self.axis, self.rest, wanted)

    @property
    def has_rows_of_data(self) -> bool:
        return not self.axis

    def tolist(self) -> Any:
        if self.ndim > 1:
            raise self.refused("makes a list of")
        return self.recorder.namespace.function(control._listed)(self)

    def __len__(self) -> int:
        return self.rest[0] if self.axis else super().__len__()

    def __iter__(self) -> Iterator[Any]:
        if self.axis:
            return iter([self[k] for k in range(self.rest[0])])
        return self.recorder.flow.iterate(self.length, self.item_at)

    def item_at(self, index: Any) -> Any:
        """The element at an index that is known to be there."""
        self.recorder.mark()
        source = self.source
        return Position(plain_or_traced(index)).of(source if type(source) is Memory else source.frozen())
