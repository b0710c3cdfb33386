"""Where memory is, and loops over it: what all emission shares."""

from __future__ import annotations

from dataclasses import dataclass, field

from llvmlite import ir

from ..affine import Extent
from ..schedule import Memory
from .types import I64


@dataclass
class Pointers:
    """Where each memory starts, in the function being emitted."""

    base: dict[Memory, ir.Value]  # i8*, at element 0 of views
    indices: dict[int, ir.Value] = field(default_factory=dict)  # of the loops around, by loop

    def offset(self, builder: ir.IRBuilder, offset: Extent) -> ir.Value:
        """The offset of a view where the loops around stand now."""
        if isinstance(offset, int):
            return ir.Constant(I64, offset)
        total: ir.Value = ir.Constant(I64, offset.constant)
        for index, coefficient in offset.terms:
            total = builder.add(total, builder.mul(self.indices[index], ir.Constant(I64, coefficient)))
        return total

    def of(self, memory: Memory) -> ir.Value:
        return self.base[memory]


class loop:
    """`with loop(builder, start, stop, step) as index:` emits a counted loop; it runs at least once."""

    def __init__(self, builder: ir.IRBuilder, start: int, stop: int, step: int):
        self.builder, self.start, self.stop, self.step = builder, start, stop, step

    def __enter__(self) -> ir.Value:
        builder = self.builder
        before = builder.block
        self.body = builder.append_basic_block("loop")
        builder.branch(self.body)
        builder.position_at_end(self.body)
        self.index = builder.phi(I64)
        self.index.add_incoming(ir.Constant(I64, self.start), before)
        return self.index

    def __exit__(self, kind, error, trace) -> None:
        if kind is not None:
            return
        builder = self.builder
        following = builder.add(self.index, ir.Constant(I64, self.step), flags=["nsw", "nuw"])
        self.index.add_incoming(following, builder.block)
        done = builder.icmp_unsigned(">=", following, ir.Constant(I64, self.stop))
        after = builder.append_basic_block("after")
        builder.cbranch(done, after, self.body)
        builder.position_at_end(after)
