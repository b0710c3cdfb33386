"""What of a plan is done by several threads, and what that costs: for `explain`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...planning.schedule import BranchStep, LibraryStep, LoopStep, MemoryPlan, Nest, Step, walk_steps
from ...python.source import UNKNOWN, Line
from . import parts as limits
from .division import cut_steps
from .parts import LoopParts, NestParts, Parts, scratch_for, work_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadedStep:
    """A step that threads do in `parts`; `nbytes` of sums are made in each."""

    what: str
    parts: int
    nbytes: int
    line: Line

    def __str__(self) -> str:
        sums = f", each with sums of {self.nbytes} bytes" if self.nbytes else ""
        return f"{self.what} in {self.parts} parts{sums}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threaded:
    """What `threads` threads do: `share` of the operations, with `nbytes` of memory more than one thread needs."""

    threads: int
    share: float
    nbytes: int
    steps: tuple[ThreadedStep, ...]

    def __str__(self) -> str:
        if not self.steps:
            return f"nothing: no step that can be cut has {limits.WORTH:,.0f} operations"
        share = f"{int(100 * self.share)} % of the operations"
        return f"{share}, from {limits.WORTH:,.0f} of a step on; {self.nbytes} bytes more"


def threaded(plan: MemoryPlan) -> Threaded:
    """What of a plan is done in threads."""
    parts = cut_steps(plan)
    found = tuple(threaded_step(step, parts[id(step)]) for step in walk_steps(plan.steps) if id(step) in parts)
    total = sum(map(work_of, plan.steps)) or 1.0
    return Threaded(
        threads=plan.threads,
        share=work_in_parts(plan.steps, parts) / total,
        nbytes=scratch_for(parts.values(), plan.threads) - scratch_for(parts.values(), 1),
        steps=found,
    )


def threaded_step(step: Step, parts: Parts) -> ThreadedStep:
    nbytes = parts.nbytes
    match step:
        case Nest():
            assert isinstance(parts, NestParts)
            line = next((line for line in step.lines if line is not UNKNOWN), UNKNOWN)
            what = "loops over " + " x ".join(str(n) for n in step.domain if n != 1)
        case LoopStep():
            assert isinstance(parts, LoopParts)
            what, line = f"a loop of {step.operation.trips} iterations", step.operation.line
        case LibraryStep():
            what, line = "products of matrices", step.operation.line
        case _:
            raise AssertionError(type(step).__name__)
    return ThreadedStep(what=what, parts=parts.count, nbytes=nbytes, line=line)


def work_in_parts(steps: Iterable[Step], parts: dict[int, Parts]) -> float:
    total = 0.0
    for step in steps:
        if id(step) in parts:
            total += work_of(step)
        elif isinstance(step, LoopStep):
            total += step.operation.trips * work_in_parts(step.steps, parts)
        elif isinstance(step, BranchStep):
            total += max(work_in_parts(block, parts) for block in step.blocks)
    return total
