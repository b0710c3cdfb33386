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
another iteration may follow, from the beginning of the body on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..analysis.enclosing import never_runs
from ..regions.regions import Region, View, is_fixed
from ..tape.tape import Branch, Buffer, Guard, Loop, Operation, Scatter, Store, Tape
from .cell_walk import CellWalk


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


class Liveness(CellWalk):
    """What is read later, while walking backwards.

    `used`: ids of values. What may be so of a cell: it is wanted; so are all that the caller sees. `moving`: what is
    written to before anything reads it.
    """

    def __init__(self, tape: Tape):
        super().__init__(tape)
        self.used = {v.id for v in tape.results}

    def at_first(self, buffer: Buffer) -> bool:
        return buffer.visible

    def ending(self, op: Operation) -> tuple[Region, ...]:
        return op.reads

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
                elements = self.part(op.region)
                needed = elements is None or bool(elements.any())
            case _:
                needed = isinstance(op, Guard) or any(v.id in self.used for v in op.outputs)
        if not needed:
            return None
        for region in op.reads:
            self.may(region)
        self.used.update(v.id for v in op.inputs)
        return op

    def store(self, op: Store) -> Store | None:
        """What is added to passes on whether it is wanted; what is plainly stored to was not wanted before."""
        if op.region in self.moving:
            return None
        elements = self.part(op.region)
        if elements is not None and not elements.any():
            return None
        if not op.accumulate:
            if not is_fixed(op.region.view):
                self.follow(op.region)
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
        op = self.either(op)
        if not op.then and not op.otherwise:
            return None
        self.used.add(op.predicate.id)
        return op

    def loop(self, op: Loop) -> Loop | None:
        if never_runs(op):
            return None
        op = self.repeated(op, [])
        if not op.body:
            return None
        if op.count is not None:
            self.used.add(op.count.id)
        return op
