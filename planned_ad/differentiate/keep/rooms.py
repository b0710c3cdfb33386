"""Room for what loops of run-time length keep of their iterations: these are counted through all runs of the loop.

A loop of at most 100 iterations in one of 1,000 need not have 100,000 places for what its adjoint reads: it runs until
its test holds, mostly a few times. Its iterations are counted through all of its runs, and what is kept lies at that
number: the reverse sweep runs the very same iterations, and finds it there. So do the iterations of a loop that runs as
often as a number says that the program has computed. There is room for so many; beyond, the last place is written again
and again, the guard behind the outermost loop breaks, and the call is made with more room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from ...passes.counted_exits import side_of
from ...python.source import Line
from ...regions.affine import Affine, loop_index
from ...regions.regions import Region, contiguous
from ...tape.builder import TapeBuilder, continued
from ...tape.guards import ROOM
from ...tape.tape import Apply, Constant, Load, Loop, Operation, Store, Tape, Value, walk

Block = tuple[Operation, ...]

RUN = 16  # iterations of one run that there is room for, on average, at first
LONG = 1 << 10  # iterations of any one run of a loop with a computed number of them that there is room for, at first
PLENTY = 1 << 18  # bytes: up to as many there is a place for each iteration that may run
MORE = 8  # times as much room, where it did not do

INTEGER = np.dtype(np.int64)
NONE: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Room:
    """Room for the iterations of one loop in all its runs.

    `base`: a value before each run, the number of iterations so far. `total`: where these are counted.
    """

    loop: Loop
    base: Value
    total: Region
    capacity: int

    def number(self, builder: TapeBuilder, base: Value, line: Line) -> Value:
        """The place of this iteration, where `base` is what the number at the beginning of the run is called."""
        builder.line = line
        at, step = loop_index(self.loop.index), self.loop.step
        if step < 0 and self.loop.count is not None:  # the last ones run, down to the least index
            expression = at - (self.loop.start + (self.loop.trips - 1) * step)
        else:
            expression = (at - self.loop.start) * step
        assert isinstance(expression, Affine)
        here = builder.apply("add", base, builder.index_value(expression))
        return builder.apply("minimum", here, builder.constant(self.capacity - 1, INTEGER))

    def guard(self, builder: TapeBuilder) -> Block:
        """What comes after all runs: whether there was room for them."""

        def write() -> None:
            builder.line = self.loop.line
            most = builder.constant(self.capacity, INTEGER)
            builder.guard(builder.apply("less_equal", builder.load(self.total), most), True, ROOM)

        return builder.recorded(write)


@dataclass(frozen=True)
class Rooms:
    """Those of a tape, by the index of their loop."""

    of: Mapping[int, Room] = field(default_factory=dict)

    def around(self, around: Sequence[Operation]) -> tuple[Room | None, list[Loop]]:
        """The room of what is in these loops and branches, and the loops that it has places of its own for."""
        for level in reversed(range(len(around))):
            loop = around[level]
            if isinstance(loop, Loop) and loop.index in self.of and is_in_iterations(loop, around[level + 1 :]):
                return self.of[loop.index], [op for op in around[level + 1 :] if isinstance(op, Loop)]
        return None, [op for op in around if isinstance(op, Loop)]

    def places(self, around: Sequence[Operation]) -> int:
        """How many places there are for what is in these loops and branches."""
        room, loops = self.around(around)
        found = 1 if room is None else room.capacity
        for loop in loops:
            found *= max(int(loop.trips), 1)
        return found

    def note(self, around: Sequence[Operation]) -> str:
        """What `explain` says of how much is reserved there."""
        room, _ = self.around(around)
        if room is not None:
            return f"; there is room for {room.capacity:,} iterations at first, and more where a call needs it"
        nested = [k for k, op in enumerate(around) if isinstance(op, Loop)][1:]
        if any(around[k].stops for k in nested):  # type: ignore[attr-defined]
            return "; there is room for each iteration that may run"
        return ""


NO_ROOMS = Rooms()


def is_in_iterations(loop: Loop, inside: Sequence[Operation]) -> bool:
    """Whether what these blocks of the loop are around is in iterations that run: behind the test, where it has one."""
    return not loop.stops or (bool(inside) and loop.body[1] is inside[0])


def is_counted(loop: Loop) -> bool:
    """Whether a number that the program has computed tells how often a loop runs."""
    return loop.count is not None and not loop.stops and abs(loop.step) == 1


def capacities(tape: Tape, times: int) -> dict[int, int]:
    """For how many iterations there is room, by the index of the loop: `times` as many as there would be at first.

    Only of loops of run-time length for which that is less than there may be.
    """
    found: dict[int, int] = {}
    indices = [op.index for op in walk(tape.operations) if isinstance(op, Loop)]

    def enter(block: Block, runs: int, most: int) -> None:
        """`runs`: for how many runs of the block there is room; `most`: how many there may be."""
        for op in block:
            inner, upper = runs, most
            if isinstance(op, Loop):
                trips = max(int(op.trips), 1)
                inner, upper = runs * trips, most * trips
                room = (trips if op.count is None else min(trips, LONG * times)) + RUN * times * runs
                stops = side_of(op) is not None and (most > 1 or op.count is not None)
                chosen = (stops or is_counted(op)) and indices.count(op.index) == 1
                if chosen and room < inner and upper * widest(op) > PLENTY:
                    found[op.index] = inner = room
            for inside in op.blocks:
                enter(inside, inner, upper)

    enter(tape.operations, 1, 1)
    return found


def times_enough(tape: Tape, iterations: Mapping[int, int]) -> int:
    """How many times as much room does where loops, by index, run so often; 1 where nothing is known of them."""
    times = 1
    while iterations and any(room < iterations.get(index, 0) for index, room in capacities(tape, times).items()):
        times *= MORE
    return times


def projected(tape: Tape, iterations: Mapping[int, int], runs: Mapping[int, int]) -> dict[int, int]:
    """Iterations of loops in all their runs, from those of their first `runs`: on the average others have as many."""
    found: dict[int, int] = {}

    def enter(block: Block, most: int) -> None:
        for op in block:
            inner = most
            if isinstance(op, Loop):
                inner = most * max(int(op.trips), 1)
                if runs.get(op.index):
                    found[op.index] = inner = -(-iterations[op.index] * most // runs[op.index])
            for inside in op.blocks:
                enter(inside, inner)

    enter(tape.operations, 1)
    return found


def widest(loop: Loop) -> int:
    """Bytes of the largest value in a loop."""
    return max((value.nbytes for op in walk(loop.body) for value in op.outputs), default=0)


def last_with_room(tape: Tape, capacities: Mapping[int, int]) -> int:
    """The position of the last operation after which there may be a guard of room; -1 for none."""
    loops = {op.index: k for k, outer in enumerate(tape.operations) for op in walk((outer,)) if isinstance(op, Loop)}
    return max((loops.get(index, -1) for index in capacities), default=-1)


def with_rooms(tape: Tape, counts: Mapping[int, Value], capacities: Mapping[int, int]) -> tuple[Tape, Rooms]:
    """The tape with the iterations of these loops counted through all their runs, and the rooms.

    Requires the load that follows each of these loops that stops, of how often it has run, as `counts` has it.
    """
    loaded = {counts[index].id: index for index in capacities if index in counts}
    loops = [op for op in walk(tape.operations) if isinstance(op, Loop) and op.index in capacities]
    chosen = {op.index for op in loops if op.index in counts or is_counted(op)}
    if not chosen:
        return tape, NO_ROOMS
    builder, rooms = continued(tape), {}
    starts: list[Operation] = []

    def start(loop: Loop) -> Load:
        builder.line = loop.line
        total = builder.new_buffer("local", "iterations in all", INTEGER, contiguous(())).whole
        none, base = builder.new_value((), INTEGER), builder.new_value((), INTEGER)
        starts.append(Constant(out=none, data=np.array(0), line=loop.line))
        starts.append(Store(region=total, value=none, line=loop.line))
        rooms[loop.index] = Room(loop, base, total, capacities[loop.index])
        return Load(out=base, region=total, line=loop.line)

    def add_up(index: int, count: Value) -> Block:
        room, now = rooms[index], builder.new_value((), INTEGER)
        added = Apply(out=now, primitive="add", operands=(room.base, count), line=room.loop.line)
        return (added, Store(region=room.total, value=now, line=room.loop.line))

    def numbered(block: Block, outermost: bool = False) -> Block:
        found: list[Operation] = []
        for op in block:
            op = op.with_blocks(*map(numbered, op.blocks)) if op.blocks else op
            if isinstance(op, Loop) and op.index in chosen:
                found.append(start(op))
                if op.count is not None and (outermost or op.index not in counts):  # the guard is right behind it
                    found += add_up(op.index, op.count)
            found.append(op)
            if isinstance(op, Load) and op.out.id in loaded and not outermost:
                found += add_up(loaded[op.out.id], op.out)
        return tuple(found)

    inner = numbered(tape.operations, outermost=True)
    operations = (*starts, *inner)
    return replace(tape, buffers=tuple(builder.buffers), operations=operations, turn=len(operations)), Rooms(rooms)
