"""A kernel that tells how long each of its steps takes: the same steps, with readings of the processor's clock between.

The clock is the counter that user programs may read: the time stamp counter of x86 (`rdtsc`), the virtual counter of
ARM (`cntvct_el0`). Each reading waits until all before it is done (`lfence`, `isb`), so that a step is told of as if
nothing ran beside it; steps that the processor overlaps take less together. What two readings in a row differ by, some
20 ns, is measured in each call, so that it can be taken off.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from llvmlite import ir

from ..planning.schedule import BranchStep, LoopStep, Step
from .emit import KernelEmitter, cut_block
from .llvm.addresses import pointer_at
from .llvm.places import Pointers
from .llvm.types import I32, I64

X86, ARM = ("x86_64", "amd64"), ("arm64", "aarch64")
VOID = ir.VoidType()

STARTED, STOPPED, PAIR, FIRST = 0, 1, 2, 3  # cells of a `Clocks`: both ends of a call, a pair of readings, steps


@dataclass(frozen=True, slots=True)
class Clocks:
    """What the kernel fills: ticks, and how often a step has run, both added up until somebody sets them to zero."""

    cells: np.ndarray  # int64, a column for the ticks and one for the runs

    @classmethod
    def of(cls, count: int) -> Clocks:
        """Clocks for so many steps."""
        return cls(np.zeros((FIRST + count, 2), np.int64))

    @property
    def ticks(self) -> np.ndarray:
        """Of each step, without what reading the clock takes."""
        return np.maximum(self.cells[FIRST:, 0] - self.cells[FIRST:, 1] * self.cells[PAIR, 0], 0)

    @property
    def runs(self) -> np.ndarray:
        """Of each step."""
        return self.cells[FIRST:, 1].copy()


def has_clock() -> bool:
    """Whether this processor's clock is known here."""
    return platform.machine().lower() in (*X86, *ARM)


def read_clock(builder: ir.IRBuilder) -> ir.Value:
    """A reading, as an i64, between two waits."""
    wait = wait_x86 if platform.machine().lower() in X86 else wait_arm
    wait(builder)
    if wait is wait_x86:
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(I64, []))
        ticks = builder.call(counter, [])
    else:
        kind = ir.FunctionType(I64, [ir.MetaDataType()])
        counter = builder.module.declare_intrinsic("llvm.read_volatile_register.i64", (), kind)
        ticks = builder.call(counter, [builder.module.add_metadata(["cntvct_el0"])])
    wait(builder)
    return ticks


def wait_x86(builder: ir.IRBuilder) -> None:
    builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.lfence", (), ir.FunctionType(VOID, [])), [])


def wait_arm(builder: ir.IRBuilder) -> None:
    whole_system = I32(15)
    builder.call(builder.module.declare_intrinsic("llvm.aarch64.isb", (), ir.FunctionType(VOID, [I32])), [whole_system])


@dataclass
class TimedEmitter(KernelEmitter):
    """The emission of a plan with clocks: one for each step outside of loops and branches, which are timed as a whole;
    or, with `inside`, one for each of `inner_leaves`.
    """

    clocks: Clocks = field(default_factory=lambda: Clocks.of(0))
    inside: bool = False
    numbers: dict[int, int] = field(default_factory=dict)  # by identity, what is timed, with the number of its clock

    def emit(self, builder: ir.IRBuilder, leaves: Sequence[ir.Value], workspace: ir.Value) -> ir.Value:
        leaves_inside = {id(step): number for number, step in enumerate(inner_leaves(self.plan.steps))}
        self.numbers = leaves_inside if self.inside else outer_parts(self.plan.steps, self.chunks)
        self.note(builder, STARTED, read_clock(builder))
        status = super().emit(builder, leaves, workspace)
        for _ in range(2):  # the second time the code is at hand
            begun = read_clock(builder)
            self.note(builder, PAIR, builder.sub(read_clock(builder), begun))
        self.note(builder, STOPPED, read_clock(builder))
        return status

    def emit_step(self, builder: ir.IRBuilder, step: Step, pointers: Pointers) -> None:
        number = self.numbers.get(id(step))
        if number is None:
            return super().emit_step(builder, step, pointers)
        begun = read_clock(builder)
        super().emit_step(builder, step, pointers)
        taken = builder.sub(read_clock(builder), begun)
        for column, more in ((0, taken), (1, I64(1))):
            cell = self.cell(builder, FIRST + number, column)
            builder.store(builder.add(builder.load(cell), more), cell)
        return None

    def note(self, builder: ir.IRBuilder, number: int, ticks: ir.Value) -> None:
        builder.store(ticks, self.cell(builder, number, 0))

    def cell(self, builder: ir.IRBuilder, number: int, column: int) -> ir.Value:
        start = pointer_at(builder, "array", self.clocks.cells)
        return builder.bitcast(builder.gep(start, [I32(8 * (2 * number + column))]), I64.as_pointer())


def outer_parts(steps: Sequence[Step], chunks: Sequence[Sequence[Step]]) -> dict[int, int]:
    """By identity, what is emitted for each step outside of loops, with the number of that step there."""
    parts = iter(part for chunk in chunks for part in chunk)
    return {id(next(parts)): number for number, step in enumerate(steps) for _ in cut_block(step)}


def inner_leaves(steps: Sequence[Step]) -> list[Step]:
    """The steps in loops and branches that hold no others, in order."""
    found: list[Step] = []
    for step in steps:
        for block in step.blocks if isinstance(step, LoopStep | BranchStep) else ():
            for inner in block:
                found += inner_leaves((inner,)) if isinstance(inner, LoopStep | BranchStep) else [inner]
    return found
