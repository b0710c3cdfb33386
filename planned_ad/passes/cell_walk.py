"""A walk over a tape that knows something of each cell of memory, through loops and branches.

Of each cell it holds whether something *may* be so; what is so on either side of a branch may be so after it. Where a
loop's body begins, what may be so is what may be before the loop, and, since another iteration may follow, what its
end leaves: the least fixed point is found by repeating the walk (Aho, Lam, Sethi & Ullman, Compilers, 2nd ed.,
section 9.2.5).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..analysis.enclosing import certainly_runs
from ..analysis.memory_cells import Place, cells_of, fixed, part_at
from ..regions.regions import Region, overlap
from ..tape.tape import Branch, Buffer, Loop, Operation, Tape

WORK = 50_000_000  # elements that may be looked at before settling for less
ROUNDS = 6  # walks over a loop's body before settling for less
MOST_MOVING = 16  # regions that move with a loop, followed at one time


class CellWalk(ABC):
    """Attributes
    ----------
    states : of the buffers met so far, whether it may be so of each cell.
    moving : regions that move with the loops around, of which it is certainly not so in this iteration.
    """

    def __init__(self, tape: Tape):
        self.tape = tape
        self.cells = cells_of(tape)
        self.states: dict[int, np.ndarray] = {}
        self.moving: list[Region] = []
        self.loops: tuple[Loop, ...] = ()
        self.work = WORK
        # By the identity of a region and of the loop around it, where its cells are; the region is held, so that no
        # other has its identity.
        self._places: dict[tuple[int, int], tuple[Region, Place]] = {}

    @abstractmethod
    def at_first(self, buffer: Buffer) -> bool:
        """What may be of all cells where the walk begins."""

    @abstractmethod
    def block(self, operations: Sequence[Operation]) -> tuple[Operation, ...]:
        """Walk over a block; what becomes of it."""

    @abstractmethod
    def ending(self, op: Operation) -> tuple[Region, ...]:
        """What ends that it is not so of a region that moves."""

    def elements(self, buffer: int) -> np.ndarray:
        if buffer not in self.states:
            self.states[buffer] = self.cells[buffer].filled(self.at_first(self.tape.buffers[buffer]))
        return self.states[buffer]

    def part(self, region: Region) -> np.ndarray | None:
        """The states of all elements that a region touches in any iteration; None to settle for less."""
        key = id(region), id(self.loops[-1]) if self.loops else 0
        if key not in self._places:
            view = fixed(region, self.loops, self.tape.buffers[region.buffer]).view
            self._places[key] = region, self.cells[region.buffer].place(view)
        part = part_at(self.elements(region.buffer), self._places[key][1])
        self.work -= 1 + part.size // 16
        return None if self.work < 0 else part

    def may(self, region: Region) -> None:
        """It may be so of a region from now on."""
        if self.moving:
            self.moving = clear_of(self.moving, (region,))
        part = self.part(region)
        if part is None:
            part = self.elements(region.buffer)
        part[...] = True

    def follow(self, region: Region) -> None:
        """It is not so of a region that moves with the loops around."""
        if region not in self.moving:
            self.moving = [*self.moving, region][-MOST_MOVING:]

    def either(self, op: Branch) -> Branch:
        before, moving = self.copied(op), self.moving
        then = self.block(op.then)
        after_then, self.moving = self.copied(op), moving
        self.states.update(before)
        otherwise = self.block(op.otherwise)
        for id, states in after_then.items():
            self.states[id] |= states
        op = replace(op, then=then, otherwise=otherwise)
        self.moving = clear_of(moving, self.ending(op)) if moving else []
        return op

    def repeated(self, op: Loop, moving: list[Region]) -> Loop:
        """Supposes of each iteration that it begins as the first one does, and adds what its end denies.

        `moving`: that of each iteration at first.
        """
        before, around = self.copied(op), self.moving
        assumed = before
        self.loops = (*self.loops, op)
        for rounds in range(1, ROUNDS + 2):
            self.states.update({id: states.copy() for id, states in assumed.items()})
            self.moving = moving
            body = self.block(op.body)
            found = {id: states | self.states[id] for id, states in assumed.items()}
            if all(np.array_equal(found[id], assumed[id]) for id in found):
                break
            assumed = found if rounds < ROUNDS else {id: np.ones_like(states) for id, states in found.items()}
        self.loops = self.loops[:-1]
        if not certainly_runs(op):
            for id, states in before.items():
                self.states[id] |= states
        op = replace(op, body=body)
        self.moving = clear_of(around, self.ending(op)) if around else []
        return op

    def copied(self, op: Operation) -> dict[int, np.ndarray]:
        """The states of the buffers that `op` touches."""
        touched = {region.buffer for region in (*op.reads, *op.writes)}
        return {id: self.elements(id).copy() for id in sorted(touched)}


def clear_of(regions: Iterable[Region], others: Iterable[Region]) -> list[Region]:
    """The regions that overlap none of the others."""
    return [region for region in regions if not any(overlap(region, other) for other in others)]
