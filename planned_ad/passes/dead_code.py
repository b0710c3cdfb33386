"""Remove operations without effect: unused values, stores that are overwritten or never read, empty blocks.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     x[:] = 0.0
...     x[:] = np.exp(x[0])
>>> tape = trace(f, (np.zeros(4),)).tape
>>> print(brief(tape))
v0 = 0.0
x[...] = v0
v1 = x[0]
v2 = exp(v1)
x[...] = v2
>>> print(brief(drop_dead(tape)))
v0 = 0.0
x[0:1] = v0
v1 = x[0]
v2 = exp(v1)
x[...] = v2

Requires a verified tape; ensures the same results, guards and visible effects.

One walk backwards, which knows what is read later. At the end of a loop's body, `later` is after the loop and, since
another iteration may follow, from the beginning of the body on: the least fixed point is found by repeating the walk
(Aho, Lam, Sethi & Ullman, Compilers, 2nd ed., section 9.2.5).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..analysis.enclosing import certainly_runs, never_runs
from ..analysis.memory_cells import cells_of, fixed
from ..regions.regions import Region, View, is_fixed, overlap
from ..tape.tape import Branch, Guard, Loop, Operation, Scatter, Store, Tape

WORK = 50_000_000  # elements that may be looked at before settling for less
ROUNDS = 6  # walks over a loop's body before settling for less
MOST_MOVING = 16  # regions that move with a loop, followed at one time


def drop_dead(tape: Tape) -> Tape:
    """Requires a verified tape; ensures the same results, guards and visible effects."""
    walk = Liveness(tape)
    kept: list[Operation] = []
    turn = 0
    for position in range(len(tape.operations) - 1, -1, -1):
        op = walk.visit(tape.operations[position])
        if op is not None:
            kept.append(op)
            turn += position < tape.turn
    return replace(tape, operations=tuple(kept[::-1]), turn=turn)


class Liveness:
    """What is read later.

    `used`: ids of values. `wanted`: per buffer, which of its cells (all of those that the caller sees). `overwritten`:
    regions that move with the loops around, and that are written to before anything reads them.
    """

    def __init__(self, tape: Tape):
        self.tape = tape
        self.used = {v.id for v in tape.results}
        self.wanted: dict[int, np.ndarray] = {}
        self.cells = cells_of(tape)
        self.overwritten: list[Region] = []
        self.loops: tuple[Loop, ...] = ()
        self.work = WORK

    def block(self, operations: Sequence[Operation]) -> tuple[Operation, ...]:
        kept = [op for op in map(self.visit, reversed(operations)) if op is not None]
        return tuple(kept[::-1])

    def visit(self, op: Operation) -> Operation | None:
        """The operation, or what is left of it; None where it has no effect."""
        match op:
            case Store():
                return self.store(op)
            case Loop():
                return self.loop(op)
            case Branch():
                return self.branch(op)
            case Scatter():
                needed = self.is_wanted(op.region)
            case _:
                needed = isinstance(op, Guard) or any(v.id in self.used for v in op.outputs)
        if not needed:
            return None
        for region in op.reads:
            self.want(region)
        self.used.update(v.id for v in op.inputs)
        return op

    # What is wanted of the elements of buffers.

    def elements(self, buffer: int) -> np.ndarray:
        if buffer not in self.wanted:
            self.wanted[buffer] = self.cells[buffer].filled(self.tape.buffers[buffer].visible)
        return self.wanted[buffer]

    def part(self, region: Region) -> np.ndarray | None:
        """What is wanted of all elements that a region touches in any iteration; None to settle for less."""
        view = fixed(region, self.loops, self.tape.buffers[region.buffer]).view
        part = self.cells[region.buffer].part(self.elements(region.buffer), view)
        self.work -= 1 + part.size // 16
        return None if self.work < 0 else part

    def is_wanted(self, region: Region) -> bool:
        elements = self.part(region)
        return elements is None or bool(elements.any())

    def want(self, region: Region) -> None:
        if self.overwritten:
            self.overwritten = [known for known in self.overwritten if not overlap(known, region)]
        elements = self.part(region)
        if elements is None:
            self.elements(region.buffer)[...] = True
        else:
            elements[...] = True

    # Operations.

    def store(self, op: Store) -> Store | None:
        """What is added to passes on whether it is wanted; what is plainly stored to was not wanted before."""
        if op.region in self.overwritten:
            return None
        elements = self.part(op.region)
        if elements is not None and not elements.any():
            return None
        if not op.accumulate:
            if not is_fixed(op.region.view):
                self.overwritten = [*self.overwritten, op.region][-MOST_MOVING:]
            elif elements is not None:
                op = self.narrowed(op)
                elements[...] = False
        self.used.add(op.value.id)
        return op

    def narrowed(self, op: Store) -> Store:
        """A store of one number to a dense stretch, cut to the part that is read later."""
        view, id = op.region.view, op.region.buffer
        if op.value.shape != () or view.strides != (1,):
            return op
        found = self.cells[id].reach(self.elements(id), view)
        if found is None or found == (0, view.size):
            return op
        first, last = found
        return replace(op, region=Region(id, View(view.offset + first, (last - first,), (1,))))

    def branch(self, op: Branch) -> Branch | None:
        after, overwritten = self.copied(op), self.overwritten
        then = self.block(op.then)
        before_then, self.overwritten = self.copied(op), overwritten
        self.wanted.update(after)
        otherwise = self.block(op.otherwise)
        for id, elements in before_then.items():
            self.wanted[id] |= elements
        op = replace(op, then=then, otherwise=otherwise)
        self.overwritten = unread(overwritten, op)
        if not then and not otherwise:
            return None
        self.used.add(op.predicate.id)
        return op

    def loop(self, op: Loop) -> Loop | None:
        if never_runs(op):
            return None
        after, overwritten = self.copied(op), self.overwritten
        at_end = {id: elements.copy() for id, elements in after.items()}
        self.loops = (*self.loops, op)
        for rounds in range(1, ROUNDS + 2):
            self.wanted.update({id: elements.copy() for id, elements in at_end.items()})
            self.overwritten = []
            body = self.block(op.body)
            grown = {id: elements | self.wanted[id] for id, elements in at_end.items()}
            if all(np.array_equal(grown[id], at_end[id]) for id in grown):
                break
            at_end = grown if rounds < ROUNDS else {id: np.ones_like(elements) for id, elements in grown.items()}
        self.loops = self.loops[:-1]
        if not certainly_runs(op):
            for id, elements in after.items():
                self.wanted[id] |= elements
        op = replace(op, body=body)
        self.overwritten = unread(overwritten, op)
        if not body:
            return None
        if op.count is not None:
            self.used.add(op.count.id)
        return op

    def copied(self, op: Operation) -> dict[int, np.ndarray]:
        """What is wanted of the buffers that `op` touches."""
        touched = {region.buffer for region in (*op.reads, *op.writes)}
        return {id: self.elements(id).copy() for id in sorted(touched)}


def unread(regions: Iterable[Region], op: Operation) -> list[Region]:
    """The regions that `op` does not read."""
    regions = list(regions)
    reads = op.reads if regions else ()
    return [region for region in regions if not any(overlap(region, read) for read in reads)]
