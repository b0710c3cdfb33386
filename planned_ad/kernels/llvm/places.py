"""Where memory is, and loops over it: what all emission shares."""

from __future__ import annotations

from dataclasses import dataclass, field

from llvmlite import ir

from ...planning.schedule import Memory
from ...regions.affine import Extent, Ragged
from .types import I64

Metadata = tuple[tuple[str, ir.MDValue], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory starts (element 0 of views), and what LLVM is told of each access: what overlaps what."""

    pointer: ir.Value  # i8*
    metadata: Metadata = ()

    def marked(self, instruction: ir.Instruction) -> ir.Instruction:
        for name, node in self.metadata:
            instruction.set_metadata(name, node)
        return instruction


@dataclass
class Pointers:
    """Where each memory starts, in the function being emitted."""

    base: dict[Memory, ir.Value]  # i8*, at element 0 of views
    indices: dict[int, ir.Value] = field(default_factory=dict)  # of the loops around, by loop

    def offset(self, builder: ir.IRBuilder, offset: Extent) -> ir.Value:
        """The offset of a view (any expression of the indices) where the loops around stand now."""
        if isinstance(offset, int):
            return ir.Constant(I64, offset)
        total: ir.Value = ir.Constant(I64, offset.constant)
        for index, coefficient in offset.terms:
            moved = self.indices[index]
            if coefficient != 1:
                moved = builder.mul(moved, ir.Constant(I64, coefficient))
            total = builder.add(total, moved)
        return total

    def extent(self, builder: ir.IRBuilder, extent: int) -> int | ir.Value:
        """An extent where the loops around stand now; below zero is none."""
        if not isinstance(extent, Ragged):
            return extent
        number, zero = self.offset(builder, extent.expression), ir.Constant(I64, 0)
        return builder.select(builder.icmp_signed(">", number, zero), number, zero)

    def of(self, memory: Memory) -> ir.Value:
        return self.base[memory]

    def place(self, memory: Memory) -> Place:
        return Place(self.of(memory))


@dataclass(frozen=True, slots=True)
class LoopPart:
    """A stretch of a loop: from index `first` on, up to `last`."""

    first: ir.Value
    last: ir.Value


def loop_part(builder: ir.IRBuilder, number: ir.Value, count: int, extent: int, unit: int = 1) -> LoopPart:
    """Part `number` of `count` of a loop, which begins and ends at multiples of `unit`, or at the loop's end."""
    units = I64(-(-extent // unit))

    def start_of(number: ir.Value) -> ir.Value:
        return builder.mul(builder.udiv(builder.mul(units, number), I64(count)), I64(unit))

    last = start_of(builder.add(number, I64(1)))
    return LoopPart(start_of(number), last if extent % unit == 0 else at_most(builder, last, extent))


def at_most(builder: ir.IRBuilder, number: ir.Value, most: int) -> ir.Value:
    return builder.select(builder.icmp_signed("<", number, I64(most)), number, I64(most))


class loop:
    """`with loop(builder, start, stop, step) as index:` emits a counted loop.

    Where start and stop are integers it runs at least once; else it looks before its first iteration.
    """

    def __init__(self, builder: ir.IRBuilder, start: int | ir.Value, stop: int | ir.Value, step: int):
        self.builder, self.step = builder, step
        self.looks = not (isinstance(start, int) and isinstance(stop, int))
        self.start, self.stop = (ir.Constant(I64, n) if isinstance(n, int) else n for n in (start, stop))

    def __enter__(self) -> ir.Value:
        builder = self.builder
        before = builder.block
        self.body = builder.append_basic_block("loop")
        self.after = builder.append_basic_block("after")
        if self.looks:
            builder.cbranch(builder.icmp_signed("<", self.start, self.stop), self.body, self.after)
        else:
            builder.branch(self.body)
        builder.position_at_end(self.body)
        self.index = builder.phi(I64)
        self.index.add_incoming(self.start, before)
        return self.index

    def __exit__(self, kind, error, trace) -> None:
        if kind is not None:
            return
        builder = self.builder
        following = builder.add(self.index, ir.Constant(I64, self.step), flags=["nsw", "nuw"])
        self.index.add_incoming(following, builder.block)
        done = builder.icmp_unsigned(">=", following, self.stop)
        builder.cbranch(done, self.after, self.body)
        builder.position_at_end(self.after)
