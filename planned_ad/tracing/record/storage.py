"""One piece of the traced program's memory: several array tracers may show it, as NumPy views do."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import CapturedWriteError, TraceError
from ...python.source import Line
from ...regions.affine import Affine
from ...regions.coordinates import follow
from ...regions.regions import Region, View, contiguous, covers
from ...tape.tape import Buffer, Value
from .recording import Recording

Name = tuple[Any, ...]  # of a memory: the indices of the loops that make it, and what tells it from others there
ASSIGNMENT = re.compile(r"^(\w+)\s*(?::[^=]+)?=[^=]")


class Live(threading.local):
    """The storages that a traced program may still get at; each trace runs in one thread."""

    def __init__(self) -> None:
        self._references: list[weakref.ref[Storage]] = []
        self._most = 1000  # references, until those to what is gone are dropped

    def add(self, storage: Storage) -> None:
        if len(self._references) >= self._most:
            self._references = [reference for reference in self._references if reference() is not None]
            self._most = 1000 + 2 * len(self._references)
        self._references.append(weakref.ref(storage))

    @property
    def storages(self) -> list[Storage]:
        return [found for reference in self._references if (found := reference()) is not None]


LIVE = Live()


def address_of(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


class Storage:
    """Memory, laid out as the NumPy array `base` is.

    Its contents are one of: the numbers in `base` itself (`is_concrete`), an immutable `value` (of `base.shape`),
    or a `buffer` of the tape, from the first write on and for arguments. In the last two cases the elements of
    `base` are never read.

    Attributes
    ----------
    captured : str
        The user's name of an array found in globals or a closure, which must not be written; else empty. It is read
        from its own memory (it has a `buffer`), or its numbers are in the program (`is_concrete`).
    shared_with : str
        The name of another argument that has memory in common with this one; else empty.
    birth, loop
        A name for it that is the same in each pass over the body of the loop that makes it; None outside of loops.
    name
        What it is told from others by: the same in each pass over the loops that make it.
    chosen : bool
        Whether it holds what a branch or loop chose among arrays; it must not be written to.
    lent : bool
        Whether something else leads to the memory that it stands for in the first iteration of a loop.
    carried : bool
        Whether a loop hands it on from one iteration to the next.
    types : frozenset
        Those of its numbers where data decide between several, as NumPy would have it; see `values.number_types`.
    listed : TracedList or None
        A list that a loop fills, and that holds what was in it then; so it must not be written to.
    depth : int
        How many loops and branches were around its making.
    owner : weakref.ref or None
        The traced array that owns it, as NumPy's `base` tells; None where that is not known.
    version : int
        How often it has been written to.
    diagonal : tuple of Value and int, or None
        What is on the diagonal of a matrix that `numpy.diag` has made, and the version that has zeros elsewhere.
    reads : dict of View to Value
        What has been read since the last write, in one epoch of the trace.
    """

    __slots__ = (
        "__weakref__",
        "address",
        "base",
        "birth",
        "buffer",
        "captured",
        "carried",
        "chosen",
        "depth",
        "diagonal",
        "epoch",
        "is_concrete",
        "lent",
        "line",
        "listed",
        "loop",
        "name",
        "owner",
        "reads",
        "shared_with",
        "types",
        "value",
        "version",
    )  # fmt: skip

    def __init__(
        self,
        base: np.ndarray,
        line: Line,
        *,
        value: Value | None = None,
        buffer: Buffer | None = None,
        captured: str = "",
        shared_with: str = "",
        depth: int = 0,
    ):
        self.base = base
        self.address = address_of(base)
        self.line = line
        self.value = value
        self.buffer = buffer
        self.is_concrete = value is None and buffer is None
        self.captured = captured
        self.shared_with = shared_with
        self.depth = depth
        self.chosen = self.lent = self.carried = False
        self.types: frozenset[Any] = frozenset()
        self.listed: Any = None
        self.owner: Any = None
        self.birth: object = None
        self.loop: Any = None
        self.name: Name = ((), object()) if not depth else ((), line, base.shape)
        self.epoch = -1
        self.version = 0
        self.diagonal: tuple[Value, int] | None = None
        self.reads: dict[View, Value] = {}
        LIVE.add(self)

    @property
    def is_seen_elsewhere(self) -> bool:
        """Whether the caller, a list, or something outside of the traced function leads to it."""
        is_visible = self.buffer is not None and self.buffer.visible
        return is_visible or bool(self.captured) or self.root.listed is not None

    def view_of(self, geometry: np.ndarray) -> View:
        """Where an array that lies in this memory lies in it, in elements from the first element of `base`."""
        size = geometry.itemsize
        if geometry.size == 0:
            return View(0, geometry.shape, (0,) * geometry.ndim)
        offset = (address_of(geometry) - self.address) // size
        return View(offset, geometry.shape, tuple([s // size for s in geometry.strides]))

    def geometry_of(self, view: View) -> np.ndarray:
        """The array that `view` describes: the inverse of `view_of`."""
        size = self.base.itemsize
        if view.size == 0:
            return np.empty(view.shape, self.base.dtype)
        interface = {
            "version": 3,
            "typestr": self.base.dtype.str,
            "shape": view.shape,
            "strides": tuple(s * size for s in view.strides),
            "data": (self.address + view.offset * size, not self.base.flags.writeable),
        }
        return np.asarray(_Window(interface, self.base))

    def read(self, recorder: Recording, view: View, geometry: np.ndarray) -> Value:
        """What `view` shows now."""
        recorder.copies.read(self)
        if recorder.left_behind.versions:
            recorder.left_behind.check(self, recorder.here())
        if self.epoch != recorder.scopes.epoch:
            self.reads.clear()
            self.epoch = recorder.scopes.epoch
        value = self.reads.get(view)
        if value is None:
            self.reads[view] = value = self._read(recorder, view, geometry)
        return value

    def born(self, recorder: Recording) -> None:
        """Made in a loop's body: memory from the first where an earlier pass wrote to it on one side of a branch."""
        if recorder.scopes.depth:
            self.birth, self.loop = recorder.scopes.birth(), recorder.scopes.loop
            if self.birth is not None:
                self.name = (recorder.scopes.indices, self.birth)
            if not recorder.scopes.open[-1].elements and self.birth in self.loop.promoted:
                self.writable_buffer(recorder)

    def holds_numbers(self, recorder: Recording) -> bool:
        """Whether known numbers may be written into it as numbers: not in a block that it was made outside of."""
        return self.is_concrete and self.depth >= recorder.scopes.depth

    def _read(self, recorder: Recording, view: View, geometry: np.ndarray) -> Value:
        builder = recorder.builder
        if self.buffer is not None:
            return builder.load(Region(self.buffer.id, view))
        if self.is_concrete:
            recorder.assume(self)
            if isinstance(view.offset, int) and geometry is not None:
                return recorder.constant(geometry)
        memory = recorder.constant(self.base) if self.value is None else self.value
        if view.size == 0:
            return builder.view(memory, view)
        whole = self.view_of(self.base)
        if view == whole:
            return memory
        if self.base.flags.c_contiguous:
            return builder.view(memory, view)
        own = contiguous(self.base.shape)
        if covers(whole, self.base.size):  # the value as its memory lies, so that `view` can be applied to it
            axes = sorted(range(self.base.ndim), key=lambda k: -whole.strides[k])
            in_memory = View(0, tuple(own.shape[k] for k in axes), tuple(own.strides[k] for k in axes))
            return builder.view(builder.view(memory, in_memory), view)
        found = follow(view, whole, own, recorder.scopes.ranges)
        if found is None:
            reason = "goes through an array with gaps in its memory in a way that is not followed"
            raise recorder.scopes.unroll_innermost(reason, builder.line)
        return builder.view(memory, found)

    def write(self, recorder: Recording, view: View, value: Value) -> None:
        """Overwrite what `view` shows with a value of its shape, or a scalar."""
        buffer = self.writable_buffer(recorder)
        self.changed(recorder)
        if view.size:
            recorder.builder.store(Region(buffer.id, view), value)

    def scatter(
        self, recorder: Recording, view: View, indices: tuple[Value, ...], value: Value, accumulate: bool = False
    ) -> None:
        """Overwrite, or add to, what `indices` select of the leading axes of `view`."""
        buffer = self.writable_buffer(recorder)
        self.changed(recorder)
        if value.size:
            recorder.builder.scatter(Region(buffer.id, view), indices, value, accumulate)

    def changed(self, recorder: Recording) -> None:
        """Note that it has been written to."""
        if self.types:
            raise recorder.flow.told_apart(self.types)
        recorder.copies.written(self)
        self.reads.clear()
        self.version += 1

    def is_same(self, other: Storage) -> bool:
        """Whether equal geometries show equal elements of this and the other storage."""
        return self is other

    @property
    def root(self) -> Storage:
        """The memory in which what this shows lies."""
        return self

    @property
    def held_values(self) -> tuple[Value | None, ...]:
        """What it holds, where it is neither numbers nor memory."""
        return (self.value,)

    def settle(self, recorder: Recording) -> None:
        """Be one value, or memory."""

    def outside(self) -> np.ndarray:
        """The array that the program has found outside, of which this is the memory."""
        return self.base

    def sources(self) -> Iterator[Value | int]:
        """The values, and ids of the buffers, that its contents come from."""
        if self.buffer is not None:
            yield self.buffer.id
        elif self.value is not None:
            yield self.value

    def check_writeable(self, geometry: np.ndarray, line: Line) -> None:
        if self.captured:
            raise CapturedWriteError(
                f"{line} writes to `{self.captured}`, an array from outside the traced function, which a plan only "
                f"reads: pass it as an argument, or work on a copy, `{self.captured.split('.')[-1]}.copy()`."
            )
        if self.listed is not None:
            self.listed.before_write(self)
        if not geometry.flags.writeable:
            raise ValueError("assignment destination is read-only")
        if self.shared_with:
            argument = f"the argument `{self.buffer.label}`" if self.buffer else "an argument"
            raise TraceError(
                f"{line} writes to {argument}, which shares memory with the argument `{self.shared_with}`. Pass a copy "
                f"of one of them."
            )

    def writable_buffer(self, recorder: Recording) -> Buffer:
        """The buffer that holds this memory from now on; its contents so far are stored into it."""
        if self.listed is not None:
            self.listed.before_write(self)
        if self.chosen:
            raise recorder.copies.refused(self, "writes to an array that a branch chose")
        if self.buffer is None:
            builder = recorder.builder
            view = self.view_of(self.base)
            writing, builder.line = builder.line, self.line
            recorder.scopes.promote(self.depth)
            if self.birth is not None and recorder.scopes.is_side(self.depth):
                self.loop.promoted.add(self.birth)
                self.loop.branches.restate()
            with recorder.scopes.before(self.depth):  # it was made there, and holds this until now
                buffer = builder.new_buffer("local", self.label(), self.base.dtype, view)
                if view.size:
                    self._fill(recorder, buffer)
                self.buffer = buffer
            builder.line = writing
            self.value, self.is_concrete = None, False
        return self.buffer

    def _fill(self, recorder: Recording, buffer: Buffer) -> None:
        """Store what it holds so far into a buffer that lies as `base` does."""
        contents = self._uniform(recorder) if self.is_concrete else self.value
        assert contents is not None
        recorder.builder.store(buffer.whole, contents)

    def _uniform(self, recorder: Recording) -> Value:
        """The known contents, as a scalar where all elements are the same."""
        base = self.base
        if base.size:
            first = base[(0,) * base.ndim]
            is_uniform = first == first and bool((base == first).all())
            if is_uniform and (first or base.dtype.kind != "f" or not np.signbit(base).any()):
                return recorder.constant(first)
        return recorder.constant(base)

    def label(self) -> str:
        """The variable that the line which made this memory assigns to, for messages and listings."""
        match = ASSIGNMENT.match(self.line.text)
        return match.group(1) if match else "temporary"


class Shown(Storage):
    """Memory at a place of another one, `memory`, that is known later."""

    __slots__ = ("memory",)

    def __init__(self, memory: Storage, line: Line):
        super().__init__(
            memory.base, line, captured=memory.captured, shared_with=memory.shared_with, depth=memory.depth
        )
        self.is_concrete = False
        self.memory = memory

    @property
    def root(self) -> Storage:
        return self.memory.root

    def sources(self) -> Iterator[Value | int]:
        return self.memory.sources()

    def writable_buffer(self, recorder: Recording) -> Buffer:
        return self.memory.writable_buffer(recorder)


class MovingStorage(Shown):
    """What `x[k]` shows for integers `k` known at run time: memory of `x`, at a distance known at run time.

    Geometries lie where they would for indices 0.
    """

    __slots__ = ("extents", "indices", "strides")

    def __init__(
        self,
        memory: Storage,
        line: Line,
        indices: tuple[Value, ...],
        extents: tuple[int, ...],
        strides: tuple[int, ...],
    ):
        super().__init__(memory, line)
        self.indices, self.extents, self.strides = indices, extents, strides

    def sources(self) -> Iterator[Value | int]:
        yield from self.indices
        yield from self.memory.sources()

    def view_of(self, geometry: np.ndarray) -> View:
        return self.memory.view_of(geometry)

    def geometry_of(self, view: View) -> np.ndarray:
        return self.memory.geometry_of(view)

    def _places(self, view: View) -> View:
        """All that `view` may show, the run-time indices counting along the leading axes."""
        return View(view.offset, (*self.extents, *view.shape), (*self.strides, *view.strides))

    def read(self, recorder: Recording, view: View, geometry: np.ndarray) -> Value:
        places, memory, indices = self._places(view), self.memory, self.indices
        while isinstance(memory, MovingStorage):  # `P[i][j]` is `P[i, j]`
            places, indices = memory._places(places), (*memory.indices, *indices)
            memory = memory.memory
        if memory.is_concrete and isinstance(places.offset, int) and geometry is not None:
            geometry = memory.geometry_of(places)
        return recorder.apply("gather", memory.read(recorder, places, geometry), *indices)

    def write(self, recorder: Recording, view: View, value: Value) -> None:
        value = recorder.builder.broadcast(value, view.shape)
        self.memory.scatter(recorder, self._places(view), self.indices, value)

    def scatter(
        self, recorder: Recording, view: View, indices: tuple[Value, ...], value: Value, accumulate: bool = False
    ) -> None:
        builder = recorder.builder
        common = indices[0].shape
        own = tuple(builder.broadcast(i, common) for i in self.indices)
        self.memory.scatter(recorder, self._places(view), (*own, *indices), value, accumulate)

    def is_same(self, other: Storage) -> bool:
        return (
            isinstance(other, MovingStorage)
            and self.memory.is_same(other.memory)
            and (self.indices, self.strides) == (other.indices, other.strides)
        )


class ShiftedStorage(Shown):
    """What `x[i]` shows for an index `i` of a symbolic loop: memory of `x`, at a distance that the loop moves.

    Geometries lie where they would for indices 0.
    """

    __slots__ = ("shift",)

    def __init__(self, memory: Storage, line: Line, shift: Affine):
        super().__init__(memory, line)
        self.shift = shift

    def view_of(self, geometry: np.ndarray) -> View:
        view = self.memory.view_of(geometry)
        return View(view.offset + self.shift, view.shape, view.strides)

    def geometry_of(self, view: View) -> np.ndarray:
        return self.memory.geometry_of(View(view.offset - self.shift, view.shape, view.strides))

    def read(self, recorder: Recording, view: View, geometry: np.ndarray) -> Value:
        return self.memory.read(recorder, view, geometry)

    def write(self, recorder: Recording, view: View, value: Value) -> None:
        self.memory.write(recorder, view, value)

    def scatter(
        self, recorder: Recording, view: View, indices: tuple[Value, ...], value: Value, accumulate: bool = False
    ) -> None:
        self.memory.scatter(recorder, view, indices, value, accumulate)

    def is_same(self, other: Storage) -> bool:
        return isinstance(other, ShiftedStorage) and self.memory.is_same(other.memory)


class _Window:
    """A piece of memory for `numpy.asarray`, keeping its owner alive."""

    def __init__(self, interface: dict[str, Any], owner: np.ndarray):
        self.__array_interface__ = interface
        self.owner = owner
