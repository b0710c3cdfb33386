"""Hand values from the blocks of the primal to the blocks of its adjoint, in the ways that `kept_values` chooses."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...analysis.dependence import Access, Overwrites, Place
from ...analysis.equal_values import EqualValues, Made
from ...analysis.mirrored_loops import children, is_idle, mirrored_blocks, with_mirrored_blocks, without_dead
from ...errors import UnsupportedError
from ...python.source import Line
from ...regions.affine import Extent, loop_index, substitute
from ...regions.regions import Region, View, c_strides, contiguous
from ...tape.builder import TapeBuilder, recorded
from ...tape.tape import Apply, Branch, Buffer, Load, Loop, Operation, Scatter, Store, Value, renamed, walk
from .kept_values import Decisions, Snapshot
from .rooms import NO_ROOMS, Room, Rooms

BlockKey = tuple[tuple[int, int], ...]
Block = tuple[Operation, ...]
Sources = dict[int, Access | Snapshot | str]

MOST_PLACES = 1 << 36  # elements of one cache: more is no plan


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
    values = EqualValues(primal, place)
    needs = {values.first[v.id] for op in walk((adjoint,)) for v in read_by(op) if v.id in values.first}
    exact = {values.first[v.id] for op in walk((adjoint,)) for v in read_exactly(op) if v.id in values.first}
    decisions = Decisions(overwrites, values, exact, rooms)
    transfer = Transfer(builder, values, decisions, sources=with_bases(decisions, needs))
    transfer.provide(primal, place)
    adjoint = transfer.with_prologues(primal, adjoint, place)
    before, after = transfer.starts.get((), ()), transfer.guards()
    return (*before, *transfer.with_stores(primal, place), *after), renamed(adjoint, transfer.names)


def with_bases(decisions: Decisions, needs: set[int]) -> Sources:
    """Where everything comes from, with the numbers at which what is kept in rooms is found."""
    while True:
        sources = decisions.sources(needs)
        around = [decisions.around(id, source) for id, source in sources.items()]
        rooms = [room for room, _ in map(decisions.rooms.around, around) if room is not None]
        bases = {decisions.values.first[room.base.id] for room in rooms}
        if bases <= needs:
            return sources
        needs = needs | bases


def read_by(op: Operation) -> tuple[Value, ...]:
    """The values that `op` itself reads, apart from what is inside its blocks."""
    if isinstance(op, Branch):
        return (op.predicate,) if any(op.blocks) else ()
    if isinstance(op, Loop):
        return () if op.count is None else (op.count,)
    return op.inputs


def read_exactly(op: Operation) -> tuple[Value, ...]:
    """Of these, the ones of which another rounding would be another program: what is branched and indexed by."""
    if isinstance(op, Branch):
        return read_by(op)
    if isinstance(op, Scatter):
        return op.indices
    return tuple(v for v in read_by(op) if v.dtype.kind in "iu")


class Transfer:
    """Write what was decided: stores into the primal's blocks, loads and repeated operations into the adjoint's."""

    def __init__(
        self,
        builder: TapeBuilder,
        values: EqualValues,
        decisions: Decisions,
        sources: Sources,
    ):
        self.builder = builder
        self.values = values
        self.decisions = decisions
        self.sources = sources
        self.names: dict[int, Value] = {}  # what the adjoint calls each of the primal's values
        self.stores: dict[BlockKey, Block] = {}  # by the place of the operation that they follow
        self.preludes: dict[BlockKey, list[Operation]] = defaultdict(list)  # by the place of the loop after them
        kept = {id for id, source in sources.items() if source == "keep"}
        self.before = decisions.pairs(kept)
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
                    elif self.decisions.is_outside(first):
                        self.names[value.id] = self.values.values[first]
                    elif first in self.names:
                        self.names[value.id] = self.names[first]
                self.provide(inner, start.at(position))

    def _prepared(self, value: Value) -> Block:
        """The operations by which the adjoint gets `value`."""
        made, source = self.values.made[value.id], self.sources[value.id]
        out = self.names[value.id] = self.builder.new_value(value.shape, value.dtype)
        if isinstance(source, Access):
            return (Load(out=out, region=source.region, line=source.operation.line),)
        if isinstance(source, Snapshot):
            assert isinstance(made.operation, Load)
            view, copy, room = made.operation.region.view, self._copied(source, value), self._room(source.around)
            front = 0 if room is None else 1  # axes of the places in the room
            shape, strides = copy.view.shape[:front] + view.shape, copy.view.strides[:front] + view.strides
            region = Region(copy.buffer, View(copy.view.offset + view.offset, shape, strides))
            return self._found(region, room, out, made.operation.line)
        if source == "keep":
            region = self._place_for(value)
            room = self._room(made.place.around)
            if value.id not in self.after:
                self.stores[made.place.steps] = self._put(region, room, value, made.operation.line)
            return self._found(region, room, out, made.operation.line)
        return (replace(renamed(made.operation, self.names), out=out),)  # type: ignore[call-arg]

    # Places, of which there is one for each iteration, or those of a room.

    def _room(self, around: Sequence[Operation]) -> Room | None:
        """The room of what is kept there, which is now in use."""
        room, _ = self.decisions.rooms.around(around)
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

        return recorded(self.builder, write)

    def _found(self, region: Region, room: Room | None, out: Value, line: Line) -> Block:
        """Get it as `out` in the adjoint."""
        if room is None:
            return (Load(out=out, region=region, line=line),)

        def write() -> None:
            number = room.number(self.builder, self.names[room.base.id], line)
            places = self.builder.load(region)
            self.builder.emit(Apply(out=out, primitive="gather", operands=(places, number), line=line))

        return recorded(self.builder, write)

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
        places = self._places(value, made.place.around, value.shape, value.dtype, more=later is not None)
        if later is not None:
            loop = made.place.loops[-1]
            self.shared[later] = moved(places.region, places.step)
            self._store_first(made, Region(places.region.buffer, first_of(places.region.view, loop)))
            self.shared[value.id] = places.region
        return places.region

    def _places(
        self, value: Value, around: Sequence[Operation], shape: tuple[int, ...], dtype: np.dtype, more: bool = False
    ) -> Places:
        """Memory for arrays of `shape`, for `value`, in each iteration of the loops `around`.

        `more`: one more than the innermost of them has iterations.
        """
        room, loops = self.decisions.rooms.around(around)
        front = () if room is None else (room.capacity,)
        trips = [int(loop.trips) for loop in loops]
        if more:
            trips[-1] += 1
        whole = (*front, *trips, *map(int, shape))
        strides = c_strides(whole)
        self.builder.line = self.values.made[value.id].operation.line
        cache = self._cache(value, dtype, whole, around)
        inner = len(front) + len(loops)
        offset = iteration(loops, strides[len(front) :])
        view = View(offset, (*front, *shape), (*strides[: len(front)], *strides[inner:]))
        return Places(Region(cache.id, view), strides[inner - 1] if inner else 0)

    def _cache(self, value: Value, dtype: np.dtype, shape: tuple[int, ...], around: Sequence[Operation]) -> Buffer:
        """Memory to keep `value` in, for all iterations of the loops around."""
        line = self.builder.line
        if math.prod(shape) > MOST_PLACES:
            raise UnsupportedError(
                f"{line}: `{line.text}` is needed by the derivative in each iteration of a loop whose length is known "
                f"only at run time, without a bound, so there is no telling how much to keep. Give the loop a bound "
                f"that is known when tracing, or write it so that its derivative needs only what stays in memory."
            )
        reason = self.decisions.reason(value.id) + self.decisions.rooms.note(around)
        return self.builder.new_buffer("cache", reason, dtype, contiguous(shape))

    def _copied(self, copy: Snapshot, value: Value) -> Region:
        """Where the copy of a buffer is, in each iteration of the loops around; `value` is one that is found there."""
        if copy not in self.copies:
            buffer = self.builder.buffers[copy.buffer]
            region = self._places(value, copy.around, (buffer.span,), buffer.dtype).region
            line = self.values.made[value.id].operation.line
            out = self.builder.new_value((buffer.span,), buffer.dtype)
            whole = Region(buffer.id, View(buffer.low, (buffer.span,), (1,)))
            put = self._put(region, self._room(copy.around), out, line)
            self.starts[copy.steps] += (Load(out=out, region=whole, line=line), *put)
            self.copies[copy] = moved(region, -buffer.low)
        return self.copies[copy]

    def _store_first(self, made: Made, region: Region) -> None:
        """Before the loop, keep what its first iteration loads."""
        assert isinstance(made.operation, Load)
        out = self.builder.new_value(made.operation.out.shape, made.operation.out.dtype)
        line = made.operation.line
        put = self._put(region, self._room(made.place.around), out, line)
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
        for number, (block, mirrored) in enumerate(zip(op.blocks, mirrored_blocks(op, adjoint), strict=True)):
            start = place.inside(op, number)
            inner = {id(a): self.with_prologues(o, a, start.at(k)) for k, o, a in children(block, mirrored)}
            body = [inner.get(id(o), o) for o in mirrored if not (o.blocks and is_idle(o))]
            blocks.append((*self.prologues[start.steps[:-1]], *body))
        return with_mirrored_blocks(op, adjoint, tuple(blocks))


@dataclass(frozen=True, slots=True)
class Places:
    """Where something is in each iteration, and how far it is from there to the next of the innermost loop."""

    region: Region
    step: int


def moved(region: Region, by: int) -> Region:
    view = region.view
    return Region(region.buffer, View(view.offset + by, view.shape, view.strides))


def first_of(view: View, loop: Loop) -> View:
    """`view` in the first iteration of the loop."""
    return View(substitute(view.offset, loop.index, loop.start), view.shape, view.strides)


def iteration(loops: Sequence[Loop], strides: Sequence[int]) -> Extent:
    """Where the places of this iteration begin; each loop counts from its first iteration."""
    offset: Extent = 0
    for loop, stride in zip(loops, strides):
        offset += (loop_index(loop.index) - loop.start) * (stride * loop.step)
    return offset
