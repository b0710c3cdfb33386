"""Loops whose iterations do not depend on one another become array operations.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     s = 0.0
...     for i in range(4):
...         s = s + np.sin(x[i])
...     return s
>>> tape = trace(f, (np.zeros(4),), unroll=1).tape
>>> print(brief(tape))
v0 = 0.0
s#1[...] = v0
for i0 in range(0, 4, 1):
    v1 = s#1[...]
    v2 = x[i0]
    v3 = sin(v2)
    v4 = add(v1, v3)
    s#1[...] = v4
v5 = s#1[...]
return v5
>>> print(brief(vectorise(tape)))
v0 = 0.0
v6: float64[4] = x[...]
v7: float64[4] = sin(v6)
v9 = reduce_sum(v7, axes=(0,))
v10 = add(v0, v9)
return v10

Requires a primal tape; ensures the same numbers, up to the order of sums. The planner then fuses the primal and its
reverse sweep into one loop nest over vectors, and nothing is kept for each iteration.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum

from ...analysis.enclosing import inside, never_runs
from ...analysis.independence import NotIndependent, moves, sharing
from ...regions.bounds import Iterations
from ...tape.builder import rebuilt
from ...tape.tape import Constant, Loop, Operation, Store, Tape, walk
from ..dead_code import drop_dead
from ..inline import end_of_indices
from ..rewrite import rewrite
from ..short_loops import MOST_TRIPS
from ..sums_in_loops import adding
from .distribution import distributed
from .growing_products import Lift, NotCut, growing_products
from .handed_on import loads_itself
from .interchange import interchanged
from .lifting import MOST_NEAR, SHORT, Lifting
from .loop_products import with_products
from .own_memory import accesses_in, with_own_memory
from .selection import NotSelectable, without_branches
from .streaming import streams


def vectorise(tape: Tape, distributes: bool = True) -> Tape:
    """Requires a primal tape; ensures the same numbers, up to the order of sums.

    Innermost loops first; what was around one is tried when that has become operations on short arrays. Those that
    are left change places, or are distributed, which keeps numbers of all iterations.
    """
    assert tape.turn == len(tape.operations)
    if not any(isinstance(op, Loop) for op in walk(tape.operations)):
        return tape
    widest, stage = MOST_NEAR, WalkStage.LIFTS
    while True:
        tape = drop_dead(rewrite(tape))
        walker = _Vectorising(tape, widest, stage)
        operations = walker.block(tape.operations, (), Iterations())
        if walker.changed:
            buffers = tuple(walker.builder.buffers)
            tape = replace(tape, buffers=buffers, operations=operations, turn=len(operations))
            widest, stage = SHORT, WalkStage.LIFTS
        elif stage is (WalkStage.DISTRIBUTES if distributes else WalkStage.INTERCHANGES):
            return tape
        else:
            stage = WalkStage(stage.value + 1)


class WalkStage(Enum):
    """What a walk over a tape does."""

    LIFTS, INTERCHANGES, DISTRIBUTES = range(3)


def is_nest(op: Operation) -> bool:
    """Whether it is a loop around loops."""
    return isinstance(op, Loop) and any(isinstance(inner, Loop) for inner in walk(op.body))


class _Vectorising:
    """One walk over a tape: loops become array operations, or, where there are none such, change places."""

    def __init__(self, tape: Tape, widest: int, stage: WalkStage):
        self.builder = rebuilt(tape)
        self.widest = widest
        self.stage = stage
        self.changed = False
        everything = list(walk(tape.operations))
        self.constants = {op.out.id: op.data for op in everything if isinstance(op, Constant)}
        reads = Counter(region.buffer for op in everything if not op.blocks for region in op.reads)
        self.private = {buffer.id: reads[buffer.id] for buffer in tape.buffers if not buffer.visible}
        self.accesses = accesses_in(op for op in everything if not op.blocks)
        touched = (region for op in everything if not op.blocks for region in (*op.reads, *op.writes))
        known = {(buffer.id, buffer.shape) for buffer in tape.buffers}
        self.shapes = frozenset(known.union((region.buffer, region.shape) for region in touched))
        self.indices = itertools.count(end_of_indices(tape.operations))

    def block(
        self, operations: tuple[Operation, ...], loops: tuple[Loop, ...], around: Iterations
    ) -> tuple[Operation, ...]:
        """One block inside `loops`, run in the iterations `around`."""
        found: list[Operation] = []
        for op in operations:
            found += self.written(op, loops, around, found)
        return tuple(found)

    def written(
        self, op: Operation, loops: tuple[Loop, ...], around: Iterations, before: Sequence[Operation]
    ) -> tuple[Operation, ...]:
        if isinstance(op, Loop):
            if is_nest(op):
                found = self.interchanged(op, loops, around) if self.stage is WalkStage.INTERCHANGES else None
                return found or (replace(op, body=self.block(op.body, (*loops, op), inside(around, op))),)
            if self.stage is not WalkStage.LIFTS:
                return (self.stage is WalkStage.DISTRIBUTES and self.distributed(op, loops, around)) or (op,)
            own = loads_itself(op, before)
            return (
                self.lifted(own, loops, around)
                or self.lifted_sums(own, loops, around)
                or self.cut(own, loops, around)
                or (op,)
            )
        return (op.with_blocks(*(self.block(block, loops, around) for block in op.blocks)),)

    def lifted(
        self, op: Loop, loops: tuple[Loop, ...], around: Iterations, of_any_size: bool = False
    ) -> tuple[Operation, ...] | None:
        """The loop as array operations; None where it stays a loop."""
        if op.count is not None or never_runs(op):
            return None
        known = len(self.builder.buffers)
        try:
            if any(inner.blocks for inner in op.body):
                within = inside(around, op)
                op = replace(op, body=without_branches(self.builder, op.body, self.constants, self.private, within))
            own = with_own_memory(self.builder, op, self.accesses)
            loop, shared = own.loop, sharing(self.builder.buffers, own.loop, loops)
            multiplying = with_products(self.builder, loop)
            if multiplying is not loop and not streams(loop, shared):
                loop, shared = multiplying, sharing(self.builder.buffers, multiplying, loops)
            widest = MOST_NEAR if op.trips <= MOST_TRIPS else self.widest  # else written out, which is more code
            lifting = Lifting(self.builder, loop, shared, around, widest, self.shapes, of_any_size)
            found = self.builder.recorded(lifting.write)
            found += self.builder.recorded(lambda: own.put_back(self.builder))
        except (NotIndependent, NotSelectable):
            del self.builder.buffers[known:]
            return None
        self.changed = True
        return found

    def lifted_sums(self, op: Loop, loops: tuple[Loop, ...], around: Iterations) -> tuple[Operation, ...] | None:
        """As `lifted`, with what iterations load, add to and store again as what they add to memory."""
        sums = adding(op)
        is_other = any(isinstance(o, Store) and o.accumulate and moves(o.region, op.index) for o in sums.body)
        return self.lifted(sums, loops, around) if is_other else None

    def cut(self, op: Loop, loops: tuple[Loop, ...], around: Iterations) -> tuple[Operation, ...] | None:
        """The loop with products that grow as products of blocks; None where it has none."""
        lift = self.lift_inside(loops, around, of_any_size=True)
        return self.tried(lambda: growing_products(self.builder, op, loops, lambda: next(self.indices), lift))

    def interchanged(self, op: Loop, loops: tuple[Loop, ...], around: Iterations) -> tuple[Operation, ...] | None:
        """The loops inside of a loop around array operations; None where it has to stay as it is."""
        lift = self.lift_inside(loops, around)
        return self.tried(
            lambda: interchanged(self.builder, op, loops, around, self.accesses, self.constants, self.private, lift)
        )

    def distributed(self, op: Loop, loops: tuple[Loop, ...], around: Iterations) -> tuple[Operation, ...] | None:
        """The loop, with array operations before and behind it; None where it stays as it is."""
        return self.tried(lambda: distributed(self.builder, op, loops, self.lift_inside(loops, around)))

    def lift_inside(self, loops: tuple[Loop, ...], around: Iterations, of_any_size: bool = False) -> Lift:
        """`lifted` for loops inside of `loops`, and of others."""

        def lift(piece: Loop, outer: tuple[Loop, ...]) -> tuple[Operation, ...] | None:
            iterations = around
            for loop in outer[len(loops) :]:
                iterations = inside(iterations, loop)
            return self.lifted(piece, outer, iterations, of_any_size)

        return lift

    def tried(self, write: Callable[[], tuple[Operation, ...]]) -> tuple[Operation, ...] | None:
        """What `write` makes of a loop; None where that has no such form."""
        known, changed = len(self.builder.buffers), self.changed
        try:
            found = write()
        except (NotCut, NotIndependent, NotSelectable):
            del self.builder.buffers[known:]
            self.changed = changed
            return None
        self.changed = True
        return found
