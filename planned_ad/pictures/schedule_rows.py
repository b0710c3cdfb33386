"""The schedule as rows for people: what each step is, which lines it comes from, how many bytes it touches.

>>> import numpy as np, planned_ad
>>> plan = planned_ad.compile(lambda x: np.sum(np.exp(x) * x), np.zeros(1000))
>>> for row in schedule_rows(plan.memory()):
...     print(row.number, row.what, row.nbytes)
0 loop nest, 1000 16000
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..planning.schedule import (
    BranchStep,
    Compute,
    GatherRead,
    GuardStep,
    LibraryStep,
    LoopStep,
    MemoryPlan,
    Nest,
    Read,
    Reduce,
    Step,
    Write,
)
from ..python.source import Line
from ..regions.regions import View


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One step of a schedule.

    Attributes
    ----------
    number : int
        As in the listing, the steps inside of loops and branches among the others.
    depth : int
        How many loops and branches are around it.
    what : str
    sweep : str
        'primal' or 'reverse'; a step that is both counts as primal.
    lines : tuple of Line
        The user's lines whose work it does.
    operations : int
        Elementwise operations in one run; 0 for what a library does, and for loops and branches themselves.
    nbytes : int
        Bytes of memory read and written in one run, each operand once: what moves if nothing is in a cache.
    runs : int or None
        How often it runs in a call; None where that is found out at run time only.
    step : Step
    """

    number: int
    depth: int
    what: str
    sweep: str
    lines: tuple[Line, ...]
    operations: int
    nbytes: int
    runs: int | None
    step: Step

    @property
    def has_steps(self) -> bool:
        """Whether other steps are inside of it: a loop or a branch."""
        return isinstance(self.step, LoopStep | BranchStep)


def schedule_rows(plan: MemoryPlan) -> list[StepRow]:
    """All steps, in the order of the listing."""
    return list(rows_of_steps(plan.steps, 0, 0, 1))


def rows_of_steps(steps: Sequence[Step], number: int, depth: int, runs: int | None) -> Iterator[StepRow]:
    for step in steps:
        yield StepRow(
            number=number,
            depth=depth,
            what=described_step(step),
            sweep=step.sweep,
            lines=lines_of_step(step),
            operations=operations_of(step),
            nbytes=traffic(step),
            runs=runs,
            step=step,
        )
        number += 1
        for block in step.blocks if isinstance(step, LoopStep | BranchStep) else ():
            for row in rows_of_steps(block, number, depth + 1, runs_inside(step, runs)):
                yield row
                number = row.number + 1


def runs_inside(step: Step, runs: int | None) -> int | None:
    """How often what is inside of a loop or branch runs, where that is known beforehand."""
    if not isinstance(step, LoopStep) or step.count is not None or step.operation.stops or runs is None:
        return None
    return runs * step.operation.trips if type(step.operation.trips) is int else None


def described_step(step: Step) -> str:
    match step:
        case Nest():
            return f"loop nest, {' x '.join(map(str, step.domain))}" if step.domain else "scalars"
        case LibraryStep():
            shapes = ", ".join(" x ".join(map(str, view.shape)) or "scalar" for _, view, _ in step.operands)
            name = step.operation.params.get("callee") or step.operation.primitive
            return f"{name} of {shapes}" if shapes else str(name)
        case GuardStep():
            return f"guard: {step.operation.what}"
        case LoopStep():
            return f"loop, {step.operation.trips} iterations" + (" at most" if step.count is not None else "")
    return "branch"


def lines_of_step(step: Step) -> tuple[Line, ...]:
    """The lines of what is computed; of a nest that only copies, those of its accesses."""
    if not isinstance(step, Nest):
        return (step.operation.line,) if step.operation.line.number else ()
    pairs = list(zip(step.items, step.lines))
    computed = [line for item, line in pairs if isinstance(item, Compute | Reduce)] or [line for _, line in pairs]
    return tuple(sorted({line for line in computed if line.number}, key=lambda line: (line.file, line.number)))


def operations_of(step: Step) -> int:
    if not isinstance(step, Nest):
        return 0
    return math.prod(step.domain) * sum(isinstance(item, Compute | Reduce) for item in step.items)


def traffic(step: Step) -> int:
    """Bytes read and written in one run of a step itself."""
    match step:
        case Nest():
            size, total = math.prod(step.domain), 0
            seen: set[tuple[object, object]] = set()  # what is read twice is read once
            for item in (*step.items, *step.spills.values()):
                match item:
                    case Read():
                        if (item.memory, item.view) not in seen:
                            total += distinct_elements(item.view) * item.dtype.itemsize
                        seen.add((item.memory, item.view))
                    case GatherRead():
                        total += size * item.dtype.itemsize
                    case Write():
                        width = register_width(step, item.source)
                        total += (
                            (size if item.indices else distinct_elements(item.view)) * width * (1 + item.accumulate)
                        )
                    case Reduce():
                        total += distinct_elements(item.view) * item.dtype.itemsize
            return total
        case LibraryStep():
            return (
                sum(distinct_elements(view) * dtype.itemsize for _, view, dtype in step.operands)
                + step.operation.out.nbytes
            )
    return 0


def distinct_elements(view: View) -> int:
    """How many elements a view shows, those that it repeats once."""
    return math.prod(extent for extent, stride in zip(view.shape, view.strides) if stride)


def register_width(nest: Nest, register: int) -> int:
    return nest.items[register].dtype.itemsize  # type: ignore[union-attr]


def beside_lines(lines: Sequence[Line]) -> list[str]:
    """`model.py:12  y = x * x`, for each."""
    return [f"{os.path.basename(line.file)}:{line.number}  {line.text}".rstrip() for line in lines]
