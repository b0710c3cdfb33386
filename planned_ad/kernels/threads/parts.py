"""How a step is cut into parts, and when it is worth it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...planning.schedule import BranchStep, Compute, LibraryStep, LoopStep, Memory, Nest, Step
from ...rules.table import RULES
from ..library.blas import product_of

WORTH = 400_000.0  # operations of a step, from which on it is done in parts: some ten microseconds
PARTS = 32  # of a nest or a product, at most ...
LEAST = 4  # ... and at least
INNERMOST = 64  # numbers along a vector in each part, at least: a few whole vectors
LOOP_PARTS = 16  # of a loop, each with its own sums
MOST_SUMS_NBYTES = 1 << 20  # of all parts of a nest, and of one part of a loop
MOST_OWN_NBYTES = 1 << 24  # of a thread
PAYS = 60  # operations of a part for each byte of its sums
LINE = 64  # bytes: what threads write to lies in lines of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class NestParts:
    """How a nest is cut: `depth`, the loop along which; `sums`: items that reduce over it, each with its place in the
    memory of a part, which takes `nbytes`, and with how many numbers it has."""

    depth: int
    count: int
    sums: dict[int, tuple[int, int]] = field(default_factory=dict)
    nbytes: int = 0
    own_nbytes: int = 0

    def scratch_nbytes(self, threads: int) -> int:
        return self.count * self.nbytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopParts:
    """How a loop is cut. `own`: memory of which each thread has its own, `own_nbytes` from `start` of the workspace on;
    `cleared`: what of it is zero before each iteration.
    `totals`: memory that is only added to, each with its place in the memory of a part, which takes `nbytes`."""

    count: int
    own: frozenset[Memory] = frozenset()
    cleared: tuple[Memory, ...] = ()
    start: int = 0
    own_nbytes: int = 0
    totals: dict[Memory, int] = field(default_factory=dict)
    nbytes: int = 0

    @property
    def sums(self) -> dict[Memory, int]:
        return self.totals

    def scratch_nbytes(self, threads: int) -> int:
        copies = self.count if threads > 1 else 1
        return copies * self.nbytes + (threads * self.own_nbytes if threads > 1 else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductParts:
    """How a product of matrices is cut: along the loop around it of this number, or along the rows of its tiles."""

    count: int
    extent: int  # of what is cut, ...
    unit: int  # ... at multiples of this
    loop: int | None
    sums: dict[int, int] = field(default_factory=dict)
    nbytes: int = 0
    own_nbytes: int = 0

    def scratch_nbytes(self, threads: int) -> int:
        return 0


Parts = NestParts | LoopParts | ProductParts


def scratch_for(parts: Iterable[Parts], threads: int) -> int:
    """Bytes that steps in parts need besides what the plan has: one step after the other."""
    return max((part.scratch_nbytes(threads) for part in parts), default=0)


# What steps cost.


def work_of(step: Step) -> float:
    """Operations of a step, in additions of one element."""
    match step:
        case Nest():
            return math.prod(step.domain) * work_of_items(step)
        case LoopStep():
            return step.operation.trips * sum(map(work_of, step.steps))
        case BranchStep():
            return max(sum(map(work_of, block)) for block in step.blocks)
        case LibraryStep():
            if step.operation.primitive == "contract":
                product = product_of(step)
                loops = math.prod(d.extent for d in (*product.loops, *product.sums))
                return loops * product.m.extent * product.n.extent * product.k.extent
            return 4.0 * step.operation.out.size
    return 1.0


def work_of_items(nest: Nest) -> float:
    costs = (
        RULES[item.primitive].cost if isinstance(item, Compute) and item.primitive in RULES else 1.0
        for item in nest.items
    )
    return sum(costs) + len(nest.spills)
