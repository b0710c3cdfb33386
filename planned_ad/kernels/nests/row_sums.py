"""Sums of short rows stay in registers.

In `for i: for k: s[k] += f(i, k)` with few k, each sum would wait until the one before has gone through memory. Where
the innermost loop is written out as a few blocks, each block of `s` is a register while the loops around it run that
are summed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from llvmlite import ir

from ...planning.schedule import Nest, Reduce, memories_of
from ...regions.affine import Ragged
from ...regions.regions import View
from ..llvm.places import Pointers
from ..llvm.types import I64, constant, register_type
from .access import put, read
from .axes import Axis
from .lanes import IDENTITY, combine

UNROLL_ITEMS = 16  # nests of at most this many items run several blocks at once, for independent sums
SHORT_BLOCKS = 4  # an innermost loop of at most this many blocks is written out
MOST_CELLS = 8  # of the processor's 16 or 32 vector registers

Block = tuple[int, int, int]  # where it starts, its lanes, and how many of them exist


@dataclass(slots=True)
class RowSums:
    """`sums`: by the number of its item, a sum over the loops from a depth to the innermost one, which is `blocks`."""

    sums: dict[int, tuple[Reduce, int]] = field(default_factory=dict)
    strides: dict[int, int] = field(default_factory=dict)  # along the innermost loop
    blocks: tuple[Block, ...] = ()
    cells: dict[tuple[int, int], ir.Value] = field(default_factory=dict)  # by item and start

    def start(self, builder: ir.IRBuilder, depth: int) -> None:
        """Before the loop at `depth`: the sums that it begins."""
        for number, (item, first) in self.sums.items():
            for start, lanes, _ in self.blocks if first == depth else ():
                with builder.goto_entry_block():
                    cell = builder.alloca(register_type(item.dtype, lanes))
                builder.store(constant(item.dtype, IDENTITY[item.operation](item.dtype), lanes), cell)
                self.cells[number, start] = cell

    def add(self, builder: ir.IRBuilder, number: int, start: ir.Value, source: ir.Value) -> None:
        """One block more."""
        cell = self.cells[number, start.constant]
        builder.store(combine(builder, self.sums[number][0], builder.load(cell), source), cell)

    def finish(
        self, builder: ir.IRBuilder, depth: int, pointers: Pointers, offset: Callable[[int, View, int], ir.Value]
    ) -> None:
        """After the loop at `depth`: rows in registers, combined with those in memory."""
        for number, (item, first) in self.sums.items():
            if first != depth:
                continue
            place, stride = pointers.place(item.memory), self.strides[number]
            row = offset(number, item.view, depth)
            for start, lanes, count in self.blocks:
                at = builder.add(row, I64(start * stride))
                old = read(builder, place, at, stride, item.dtype, lanes, count)
                total = combine(builder, item, old, builder.load(self.cells[number, start]))
                put(builder, place, at, stride, item.dtype, total, lanes, count)


def short_blocks(nest: Nest, axes: Sequence[Axis], lanes: int) -> tuple[Block, ...]:
    """The blocks of an innermost loop that is written out; none where it is a loop."""
    if not axes or isinstance(axes[-1].extent, Ragged):
        return ()
    whole, rest = divmod(axes[-1].extent, lanes)
    if whole > (SHORT_BLOCKS if len(nest.items) <= UNROLL_ITEMS else 1):
        return ()
    last = ((whole * lanes, 1 << (rest - 1).bit_length(), rest),) if rest else ()
    return (*((k * lanes, lanes, lanes) for k in range(whole)), *last)


def row_sums(nest: Nest, axes: Sequence[Axis], blocks: tuple[Block, ...]) -> RowSums:
    """The sums along loops just around the innermost one."""
    found = RowSums(blocks=blocks)
    memories = Counter(memories_of(nest))
    inner = len(axes) - 1
    for number, item in enumerate(nest.items):
        if not isinstance(item, Reduce) or not blocks or number in axes[inner].reduced_by:
            continue
        first = inner
        while first > 0 and number in axes[first - 1].reduced_by:
            first -= 1
        fits = (1 + len(found.sums)) * len(blocks) <= MOST_CELLS
        if first < inner and memories[item.memory] == 1 and fits:
            found.sums[number] = item, first
            found.strides[number] = axes[inner].strides[number]
    return found
