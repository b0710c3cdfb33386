"""Memory that is known to be zero: adding to it is storing to it, and loading it gives the constant.

>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = reverse(trace(lambda x: x, (2.0,)).tape)
>>> print(brief(tape))
v0 = x[...]
# reverse sweep
v1 = 0.0
dx#1[...] = v1
v2 = 1.0
dx#1[...] += v2
>>> print(brief(forward_zeros(tape)))
v0 = x[...]
# reverse sweep
v1 = 0.0
dx#1[...] = v1
v2 = 1.0
dx#1[...] = v2

The first store is then overwritten unread, which `dead_code` sees. Requires a verified tape; ensures the same numbers.

Shadows are zero at first, and wherever the adjoint of a store has just been. In a loop's body only what holds at the
beginning of every iteration is used: what is zero before the loop, and zero again at the end of each iteration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..analysis.enclosing import certainly_runs
from ..analysis.memory_cells import cells_of, fixed
from ..regions.affine import Affine
from ..regions.regions import Region, View, contains, is_fixed, is_injective, is_ragged, overlap, same_layout
from ..tape.tape import Branch, Constant, Load, Loop, Operation, Scatter, Store, Tape, walk

WORK = 50_000_000  # elements that may be looked at before settling for less
ROUNDS = 4  # passes over a loop's body before settling for less
MOST_MOVING = 16  # regions that move with a loop, known to be zero at one time


def forward_zeros(tape: Tape) -> Tape:
    """Accumulation into memory that is known to be zero becomes a store; a load of it, the constant zero."""
    return replace(tape, operations=KnownZeros(tape).block(tape.operations))


class KnownZeros:
    """Which memory is known to be zero now.

    `zero`: per buffer, one boolean for each of its cells. `moving`: regions that move with the loops around, zero in
    this iteration.
    """

    def __init__(self, tape: Tape):
        self.tape = tape
        self.zero: dict[int, np.ndarray] = {}
        self.cells = cells_of(tape)
        self.moving: list[Region] = []
        self.loops: tuple[Loop, ...] = ()
        self.work = WORK
        self.constants = {op.out.id: op.data for op in walk(tape.operations) if isinstance(op, Constant)}

    def block(self, operations: Iterable[Operation]) -> tuple[Operation, ...]:
        return tuple(map(self.visit, operations))

    def visit(self, op: Operation) -> Operation:
        match op:
            case Store():
                return self.store(op)
            case Load():
                return self.load(op)
            case Loop():
                return self.loop(op)
            case Branch():
                return self.branch(op)
            case Scatter():
                self.lose(op.region)
        return op

    # What is known of the elements of buffers.

    def known(self, buffer: int) -> np.ndarray:
        if buffer not in self.zero:
            self.zero[buffer] = self.cells[buffer].filled(False)
        return self.zero[buffer]

    def part(self, region: Region) -> np.ndarray | None:
        """What is known of all elements that a region touches in any iteration; None to settle for less."""
        view = fixed(region, self.loops, self.tape.buffers[region.buffer]).view
        known = self.known(region.buffer)
        part = self.cells[region.buffer].part(known, view)
        self.work -= 1 + known.size // 64 + part.size // 64
        return None if self.work < 0 else part

    def is_zero(self, region: Region) -> bool:
        part = self.part(region)
        if part is not None and part.size and part.all():
            return True
        return any(lies_in(region, known) for known in self.moving)

    def lose(self, region: Region) -> None:
        """Something else than zero may be written here."""
        if self.moving:
            self.moving = [known for known in self.moving if not overlap(known, region)]
        if region.buffer not in self.zero:
            return
        part = self.part(region)
        if part is None:
            self.zero[region.buffer][...] = False
        else:
            part[...] = False

    def gain(self, region: Region) -> None:
        """Zero is written here, to all elements."""
        if not is_fixed(region.view):
            if region not in self.moving:
                self.moving = [*self.moving, region][-MOST_MOVING:]
            return
        part = self.part(region)
        if part is not None:
            part[...] = True

    # Operations.

    def store(self, op: Store) -> Store:
        data = self.constants.get(op.value.id)
        is_zero = data is not None and data.ndim == 0 and not any(data.tobytes())  # -0.0 is another number
        if op.accumulate and is_injective(op.region.view) and self.is_zero(op.region):
            op = replace(op, accumulate=False)
        if not is_zero:
            self.lose(op.region)
        elif not op.accumulate:
            self.gain(op.region)
        return op

    def load(self, op: Load) -> Operation:
        if is_ragged(op.region.shape) or not self.is_zero(op.region):
            return op
        zero = np.broadcast_to(np.zeros((), op.out.dtype), op.region.shape)
        return Constant(out=op.out, data=zero, line=op.line)

    def branch(self, op: Branch) -> Branch:
        before, moving = self.copied(op), self.moving
        then = self.block(op.then)
        after_then = self.copied(op)
        self.zero.update({id: known.copy() for id, known in before.items()})
        self.moving = moving
        otherwise = self.block(op.otherwise)
        for id, known in after_then.items():
            self.zero[id] &= known
        self.moving = unwritten(moving, op)
        return replace(op, then=then, otherwise=otherwise)

    def loop(self, op: Loop) -> Loop:
        """Supposes of each iteration that it begins as the first one does, and takes back what its end denies."""
        before, moving = self.copied(op), unwritten(self.moving, op)
        assumed = {id: known.copy() for id, known in before.items()}
        self.loops = (*self.loops, op)
        for rounds in range(1, ROUNDS + 2):
            self.zero.update({id: known.copy() for id, known in assumed.items()})
            self.moving = moving
            body = self.block(op.body)
            kept = {id: known & self.zero[id] for id, known in assumed.items()}
            if all(np.array_equal(kept[id], assumed[id]) for id in kept):
                break
            assumed = kept if rounds < ROUNDS else {id: np.zeros_like(known) for id, known in kept.items()}
        self.loops = self.loops[:-1]
        self.moving = moving
        if not certainly_runs(op):
            for id, known in before.items():
                self.zero[id] &= known
        return replace(op, body=body)

    def copied(self, op: Operation) -> dict[int, np.ndarray]:
        """What is known of the buffers that `op` writes to."""
        return {id: self.known(id).copy() for id in {region.buffer for region in op.writes}}


def unwritten(regions: Iterable[Region], op: Operation) -> list[Region]:
    """The regions that `op` does not write to."""
    writes = op.writes
    return [region for region in regions if not any(overlap(region, written) for written in writes)]


def lies_in(inner: Region, outer: Region) -> bool:
    """Whether each element of `inner` certainly is one of `outer`, in the same iteration."""
    if inner.buffer != outer.buffer:
        return False
    if same_layout(inner.view, outer.view):
        return True
    gap = inner.view.offset - outer.view.offset
    if isinstance(gap, Affine) or is_ragged((*inner.shape, *outer.shape)):
        return False
    moved = Region(inner.buffer, View(gap, inner.view.shape, inner.view.strides))
    return contains(Region(outer.buffer, View(0, outer.view.shape, outer.view.strides)), moved)
