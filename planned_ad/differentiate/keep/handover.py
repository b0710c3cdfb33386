"""Hand values from the blocks of the primal to the blocks of its adjoint, in the ways that `kept_values` chooses."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...analysis.dependence import Overwrites, Place
from ...analysis.equal_values import EqualValues, Made
from ...analysis.mirrored_loops import children, is_idle, without_dead
from ...python.source import Line
from ...regions.affine import substitute
from ...regions.regions import Region, View
from ...tape.builder import TapeBuilder
from ...tape.tape import Apply, Branch, Load, Operation, Scatter, Store, Value, renamed, walk
from .caches import new_cache
from .early_tests import with_early_tests
from .kept_values import KeptValues
from .rooms import NO_ROOMS, Room, Rooms
from .sources import Again, Kept, Loaded, Snapshot, Source

BlockKey = tuple[tuple[int, int], ...]
Block = tuple[Operation, ...]


def hand_over(
    builder: TapeBuilder,
    overwrites: Overwrites,
    place: Place,
    primal: Operation,
    adjoint: Operation,
    rooms: Rooms = NO_ROOMS,
) -> tuple[tuple[Operation, ...], Operation | None]:
    """The two with all that the adjoint reads of blocks of the primal: stored in one, loaded or computed in the other.

    Requires `adjoint` to mirror `primal`, which stands at `place` among the operations of the tape, and to name the
    primal's values. Returns the primal (with what comes before and after it), and None for an adjoint that writes
    nothing.
    """
    adjoint = without_dead(adjoint)
    if is_idle(adjoint):
        return (primal,), None
    primal, adjoint = with_early_tests(primal, adjoint)
    values = EqualValues(primal, place)
    needs = {values.first[v.id] for op in walk((adjoint,)) for v in read_by(op) if v.id in values.first}
    exact = {values.first[v.id] for op in walk((adjoint,)) for v in read_exactly(op) if v.id in values.first}
    choice = KeptValues(overwrites, values, exact, rooms)
    transfer = Transfer(builder, values, choice, with_bases(choice, needs))
    transfer.provide(primal, place)
    adjoint = transfer.with_prologues(primal, adjoint, place)
    before, after = transfer.starts.get((), ()), transfer.guards()
    return (*before, *transfer.with_stores(primal, place), *after), renamed(adjoint, transfer.names)


def with_bases(choice: KeptValues, needs: set[int]) -> dict[int, Source]:
    """Where everything comes from, with the numbers at which what is kept in rooms is found."""
    while True:
        sources = choice.sources(needs)
        around = [choice.around(id, source) for id, source in sources.items()]
        rooms = [room for room, _ in map(choice.rooms.around, around) if room is not None]
        first = choice.values.first
        bases = {first[room.base.id] for room in rooms if room.base.id in first}
        if bases <= needs:
            return sources
        needs = needs | bases


def read_by(op: Operation) -> tuple[Value, ...]:
    """The values that `op` itself reads, apart from what is inside its blocks."""
    if isinstance(op, Branch) and not any(op.blocks):
        return ()
    return op.steering if op.blocks else op.inputs


def read_exactly(op: Operation) -> tuple[Value, ...]:
    """Of these, the ones of which another rounding would be another program: what is branched and indexed by."""
    if isinstance(op, Branch):
        return read_by(op)
    if isinstance(op, Scatter):
        return op.indices
    return tuple(v for v in read_by(op) if v.dtype.kind in "iu")


class Transfer:
    """Write what was decided: stores into the primal's blocks, loads and repeated operations into the adjoint's."""

    def __init__(self, builder: TapeBuilder, values: EqualValues, choice: KeptValues, sources: dict[int, Source]):
        self.builder = builder
        self.values = values
        self.choice = choice
        self.sources = sources
        self.names: dict[int, Value] = {}  # what the adjoint calls each of the primal's values
        self.stores: dict[BlockKey, Block] = {}  # by the place of the operation that they follow
        self.preludes: dict[BlockKey, list[Operation]] = defaultdict(list)  # by the place of the loop after them
        self.before = choice.together(id for id, source in sources.items() if isinstance(source, Kept))
        self.after = {before: after for after, before in self.before.items()}
        self.shared: dict[int, Region] = {}  # of the values of these pairs: their memory
        self.copies: dict[Snapshot, Region] = {}
        self.rooms: dict[int, Room] = {}  # those in use, by loop
        self.starts: dict[BlockKey, list[Operation]] = defaultdict(list)  # of blocks; () is before everything
        self.prologues: dict[BlockKey, list[Operation]] = defaultdict(list)

    def provide(self, op: Operation, place: Place) -> None:
        """Decide on names for all values in blocks of `op`, in order, so that operands come first."""
        for number, block in enumerate(op.blocks):
            start = place.inside(op, number)
            for position, inner in enumerate(block):
                for value in inner.outputs:
                    first = self.values.first[value.id]
                    if first == value.id and first in self.sources:
                        self.prologues[start.steps[:-1]] += self._prepared(value)
                    elif first not in self.values.made:
                        self.names[value.id] = self.values.values[first]
                    elif first in self.names:
                        self.names[value.id] = self.names[first]
                self.provide(inner, start.at(position))

    def _prepared(self, value: Value) -> Block:
        """The operations by which the adjoint gets `value`."""
        made, source = self.values.made[value.id], self.sources[value.id]
        out = self.names[value.id] = self.builder.new_value(value.shape, value.dtype)
        line = made.operation.line
        match source:
            case Again(operation):
                return (replace(renamed(operation, self.names), out=out),)  # type: ignore[call-arg]
            case Loaded(region, since):
                return (Load(out=out, region=region, line=since),)
            case Snapshot():
                region, around = self._in_copy(source, value), source.around
            case Kept():
                region, around = self._place_for(value), made.place.around
                if value.id not in self.after:
                    self.stores[made.place.steps] = self._put(region, self._room(around), value, line)
        return self._found(region, self._room(around), out, line)

    # Places, of which there is one for each iteration, or those of a room.

    def _room(self, around: Sequence[Operation]) -> Room | None:
        """The room of what is kept there, which is now in use."""
        room, _ = self.choice.rooms.around(around)
        if room is not None:
            self.rooms[room.loop.index] = room
        return room

    def _put(self, region: Region, room: Room | None, value: Value, line: Line) -> Block:
        """Keep `value` in the primal; `region`: its place, or with an axis more, all of those in the room."""
        if room is None:
            return (Store(region=region, value=value, line=line),)

        def write() -> None:
            number = room.number(self.builder, room.base, line)
            self.builder.scatter(region, (number,), value)

        return self.builder.recorded(write)

    def _found(self, region: Region, room: Room | None, out: Value, line: Line) -> Block:
        """Get it as `out` in the adjoint."""
        if room is None:
            return (Load(out=out, region=region, line=line),)

        def write() -> None:
            number = room.number(self.builder, self.names.get(room.base.id, room.base), line)
            places = self.builder.load(region)
            self.builder.emit(Apply(out=out, primitive="gather", operands=(places, number), line=line))

        return self.builder.recorded(write)

    def guards(self) -> Block:
        """Behind the primal: that there was room."""
        return tuple(op for index in sorted(self.rooms) for op in self.rooms[index].guard(self.builder))

    def _place_for(self, value: Value) -> Region:
        """A place for `value` in each iteration of the loops around it."""
        if value.id in self.before and value.id not in self.shared:
            self._place_for(self.values.values[self.before[value.id]])
        if value.id in self.shared:
            return self.shared[value.id]
        made, later = self.values.made[value.id], self.after.get(value.id)
        here = self._cache(value, made.place.around, value.shape, value.dtype, extra=later is not None)
        if later is not None:
            loop = made.place.loops[-1]
            first = substitute(here.view.offset, loop.index, loop.start)
            self._store_first(made, Region(here.buffer, replace(here.view, offset=first)))
            self.shared[later] = moved(here, math.prod(map(int, value.shape)))
            self.shared[value.id] = here
        return here

    def _cache(
        self, value: Value, around: Sequence[Operation], shape: tuple[int, ...], dtype: np.dtype, extra: bool = False
    ) -> Region:
        """Memory for arrays of `shape`, for `value`, in each iteration of the loops `around`."""
        room, loops = self.choice.rooms.around(around)
        self.builder.line = self.values.made[value.id].operation.line
        reason = self.choice.reason(value.id) + self.choice.rooms.note(around)
        front = () if room is None else (room.capacity,)
        return new_cache(self.builder, loops, shape, dtype, reason, extra, front)

    def _in_copy(self, copy: Snapshot, value: Value) -> Region:
        """Where `value`, which is loaded from that memory, is in a copy of a buffer."""
        if copy not in self.copies:
            self.copies[copy] = self._copied(copy, value)
        (own,), there = self.values.made[value.id].operation.reads, self.copies[copy]
        whole, view = there.view, own.view
        shape, strides = (*whole.shape[:-1], *view.shape), (*whole.strides[:-1], *view.strides)
        return Region(there.buffer, View(whole.offset + view.offset, shape, strides))

    def _copied(self, copy: Snapshot, value: Value) -> Region:
        """The copy of a buffer in each iteration of the loops around, as a region counted as the buffer's are."""
        buffer = self.builder.buffers[copy.buffer]
        stretch = (buffer.span,)
        region = self._cache(value, copy.around, stretch, buffer.dtype)
        line = self.builder.line
        out = self.builder.new_value(stretch, buffer.dtype)
        whole = Region(buffer.id, View(buffer.low, stretch, (1,)))
        put = self._put(region, self._room(copy.around), out, line)
        self.starts[copy.steps] += (Load(out=out, region=whole, line=line), *put)
        return moved(region, -buffer.low)

    def _store_first(self, made: Made, region: Region) -> None:
        """Before the loop, keep what its first iteration loads."""
        assert isinstance(made.operation, Load)
        out = self.builder.new_value(made.operation.out.shape, made.operation.out.dtype)
        put = self._put(region, self._room(made.place.around), out, made.operation.line)
        before = (*made.place.steps[:-2], (made.place.steps[-2][0], 0))
        self.preludes[before] += (replace(made.operation, out=out), *put)

    def with_stores(self, op: Operation, place: Place) -> tuple[Operation, ...]:
        """`op` with what has to be kept stored as soon as it is made, and the operations around it for that."""
        blocks = []
        for number, block in enumerate(op.blocks):
            start = place.inside(op, number)
            rest = (o for k, inner in enumerate(block) for o in self.with_stores(inner, start.at(k)))
            blocks.append((*self.starts.get(start.steps[:-1], ()), *rest))
        return (*self.preludes.get(place.steps, ()), op.with_blocks(*blocks), *self.stores.get(place.steps, ()))

    def with_prologues(self, op: Operation, adjoint: Operation, place: Place) -> Operation:
        """`adjoint`, a block of which begins by getting the values of the block of `op` that it mirrors."""
        blocks = []
        for number, (block, mirrored) in enumerate(zip(op.blocks, adjoint.blocks, strict=True)):
            start = place.inside(op, number)
            inner = {id(a): self.with_prologues(o, a, start.at(k)) for k, o, a in children(block, mirrored)}
            body = [inner.get(id(o), o) for o in mirrored if not (o.blocks and is_idle(o))]
            blocks.append((*self.prologues[start.steps[:-1]], *body))
        return adjoint.with_blocks(*blocks)


def moved(region: Region, by: int) -> Region:
    return Region(region.buffer, replace(region.view, offset=region.view.offset + by))
