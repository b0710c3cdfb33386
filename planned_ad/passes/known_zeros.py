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

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..regions.affine import Affine
from ..regions.regions import Region, View, contains, is_fixed, is_injective, is_ragged, same_layout
from ..tape.tape import Branch, Buffer, Constant, Load, Loop, Operation, Scatter, Store, Tape, walk
from .cell_walk import CellWalk, clear_of


def forward_zeros(tape: Tape) -> Tape:
    """Accumulation into memory that is known to be zero becomes a store; a load of it, the constant zero."""
    return replace(tape, operations=KnownZeros(tape).block(tape.operations))


class KnownZeros(CellWalk):
    """Which memory is known to be zero now; what may be so of a cell: it is something else."""

    def __init__(self, tape: Tape):
        super().__init__(tape)
        self.constants = {op.out.id: op.data for op in walk(tape.operations) if isinstance(op, Constant)}

    def at_first(self, buffer: Buffer) -> bool:
        return True

    def ending(self, op: Operation) -> tuple[Region, ...]:
        return op.writes

    def block(self, operations: Sequence[Operation]) -> tuple[Operation, ...]:
        return tuple(map(self.visit, operations))

    def visit(self, op: Operation) -> Operation:
        match op:
            case Store():
                return self.store(op)
            case Load():
                return self.load(op)
            case Loop():
                return self.repeated(op, clear_of(self.moving, op.writes) if self.moving else [])
            case Branch():
                return self.either(op)
            case Scatter():
                self.may(op.region)
        return op

    def is_zero(self, region: Region) -> bool:
        part = self.part(region)
        if part is not None and part.size and not part.any():
            return True
        return any(lies_in(region, known) for known in self.moving)

    def gain(self, region: Region) -> None:
        """Zero is written here, to all elements."""
        if not is_fixed(region.view):
            self.follow(region)
            return
        part = self.part(region)
        if part is not None:
            part[...] = False

    def store(self, op: Store) -> Store:
        data = self.constants.get(op.value.id)
        is_zero = data is not None and data.ndim == 0 and not any(data.tobytes())  # -0.0 is another number
        if op.accumulate and is_injective(op.region.view) and self.is_zero(op.region):
            op = replace(op, accumulate=False)
        if not is_zero:
            self.may(op.region)
        elif not op.accumulate:
            self.gain(op.region)
        return op

    def load(self, op: Load) -> Operation:
        if is_ragged(op.region.shape) or not self.is_zero(op.region):
            return op
        zero = np.broadcast_to(np.zeros((), op.out.dtype), op.region.shape)
        return Constant(out=op.out, data=zero, line=op.line)


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
