"""Which steps of a plan are done in parts that several threads can do, in any order: nests, and loops.

A nest is cut along one of its loops, where no part writes what another one reads or writes. A loop is cut where its
iterations do not depend on one another: memory that each of them fills anew is there once for each thread, memory that
they only add to once for each part.

Sums over what is cut are made for each part, and the parts are added in order. So numbers depend on how many parts
there are, which the plan alone decides, and not on how many threads there are: with one, what has such sums is done in
the same parts. What has none is then done at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...planning.schedule import (
    BranchStep,
    Compute,
    GatherRead,
    GuardStep,
    LibraryStep,
    LoopStep,
    Memory,
    MemoryPlan,
    Nest,
    Read,
    Reduce,
    Step,
    Write,
    walk_steps,
)
from ...regions.affine import Affine, Extent, Ragged, coefficient, extremes, substitute
from ...regions.regions import Region, View, covers, is_injective, overlap
from ...rules.table import RULES
from ..library.blas import product_of, tiled_form
from ..library.matrices import scratch_of
from ..library.tiles import tile_rows
from ..nests.axes import Axis, loop_axes

WORTH = 400_000.0  # operations of a step, from which on it is done in parts: some ten microseconds
PARTS = 32  # of a nest or a product, at most ...
LEAST = 4  # ... and at least
INNERMOST = 64  # numbers along a vector in each part, at least: a few whole vectors
LOOP_PARTS = 16  # of a loop, each with its own sums
MOST_SUMS_NBYTES = 1 << 20  # of all parts of a nest, and of one part of a loop
PAYS = 60  # operations of a part for each byte of its sums
LINE = 64  # bytes: what threads write to lies in lines of its own
ONE_THREAD = 1 << 18  # multiplications up to which BLAS uses the thread that calls it, and none of its own
IN_LOOPS = ("contract", "cumulate", "recurrence")  # library steps that are the same in any thread


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
    """How a loop is cut. `own`: memory of which each thread has its own, `own_nbytes` from `start` of the workspace on.
    `totals`: memory that is only added to, each with its place in the memory of a part, which takes `nbytes`."""

    count: int
    own: frozenset[Memory] = frozenset()
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


def cut_steps(plan: MemoryPlan) -> dict[int, Parts]:
    """The steps that are done in parts, by their identity."""
    found: dict[int, Parts] = {}
    numbers = {id(step): number for number, step in enumerate(walk_steps(plan.steps))}

    def look(steps: Iterable[Step]) -> None:
        for step in steps:
            parts: Parts | None = None
            if isinstance(step, Nest):
                parts = nest_parts(step)
            elif isinstance(step, LoopStep):
                parts = LoopDivision(plan, step, numbers).parts()
            elif isinstance(step, LibraryStep) and step.operation.primitive == "contract":
                parts = product_parts(step)
            if parts is not None:
                found[id(step)] = parts
            elif isinstance(step, LoopStep | BranchStep):
                for block in step.blocks:
                    look(block)

    look(plan.steps)
    return found


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


# Nests.


def nest_parts(nest: Nest) -> NestParts | None:
    """How a nest is cut; None where it is not worth it, or where its order matters."""
    if nest.ordered or not nest.domain or 0 in nest.domain or work_of(nest) < WORTH:
        return None
    if any(isinstance(item, Write) and item.indices for item in nest.items):
        return None
    axes = loop_axes(nest)
    if any(isinstance(axis.extent, Ragged) for axis in axes) or not writes_apart(nest):
        return None
    work = work_of(nest)
    ways = [parts for depth in range(len(axes)) if (parts := cut_at(nest, axes, depth, work)) is not None]
    return min(ways, key=lambda parts: (bool(parts.sums), parts.depth), default=None)


def writes_apart(nest: Nest) -> bool:
    """Whether what an index writes is at no other index read or written; sums aside."""
    accesses = [
        item for item in (*nest.items, *nest.spills.values()) if isinstance(item, Read | GatherRead | Write | Reduce)
    ]
    written = [item for item in accesses if isinstance(item, Write | Reduce)]
    for item in written:
        for other in accesses:
            if other is item or other.memory != item.memory:
                continue
            if isinstance(other, GatherRead) or isinstance(item, Reduce) or isinstance(other, Reduce):
                return False
            if other.view != item.view and overlap(Region(0, item.view), Region(0, other.view)):
                return False
    return True


def cut_at(nest: Nest, axes: Sequence[Axis], depth: int, work: float) -> NestParts | None:
    """The nest cut along its loop at a depth; None where parts would meet, or be too few or too small."""
    axis = axes[depth]
    innermost = depth == len(axes) - 1
    extent = axis.extent // INNERMOST if innermost else axis.extent
    count = min(PARTS, extent)
    if count < LEAST:
        return None
    sums, nbytes = {}, 0
    for number, item in enumerate(nest.items):
        if isinstance(item, Write) and not moves_apart(axes, number, depth):
            return None
        if not isinstance(item, Reduce):
            continue
        if number in axis.reduced_by:
            kept = math.prod(n for k, n in enumerate(item.view.shape) if k not in item.axes)
            if item.view.bounds() != (0, kept - 1):
                return None
            sums[number] = (nbytes, kept)
            nbytes += -(-kept * item.dtype.itemsize // LINE) * LINE
        elif not moves_apart(axes, number, depth):
            return None
    if any(not moves_apart(axes, -1 - register, depth) for register in nest.spills):
        return None
    if count * nbytes > MOST_SUMS_NBYTES or count * nbytes > work:
        return None
    return NestParts(depth=depth, count=count, sums=sums, nbytes=nbytes)


def moves_apart(axes: Sequence[Axis], number: int, depth: int) -> bool:
    """Whether what an item writes at different indices of a loop are different places."""
    if not axes[depth].strides[number]:
        return False
    moving = [axis for axis in axes if axis.strides[number]]
    view = View(0, tuple(axis.extent for axis in moving), tuple(axis.strides[number] for axis in moving))
    return is_injective(view)


# Products.


def product_parts(step: LibraryStep) -> ProductParts | None:
    """How a product that we do ourselves is cut; BLAS has threads of its own."""
    if work_of(step) < WORTH or step.operation.out.dtype.kind != "f":
        return None
    product, form = product_of(step), tiled_form(product_of(step))
    if form is None and product.blas:
        return None
    extent, number = max(((d.extent, -k) for k, d in enumerate(product.loops)), default=(0, 0))
    if extent >= LEAST:
        return ProductParts(count=min(PARTS, extent), extent=extent, unit=1, loop=-number)
    if form is None:
        return None
    rows, unit = form[1].rows, tile_rows(form[1].rows)
    count = min(PARTS, rows // unit)
    return ProductParts(count=count, extent=rows, unit=unit, loop=None) if count >= LEAST else None


# Loops.


@dataclass
class LoopDivision:
    """A loop, and what its iterations do to which memory."""

    plan: MemoryPlan
    step: LoopStep
    numbers: dict[int, int]  # of all steps, by their identity

    def parts(self) -> LoopParts | None:
        op = self.step.operation
        if op.stops or self.step.count is not None or isinstance(op.trips, Ragged) or op.trips < LEAST:
            return None
        if work_of(self.step) < 2 * WORTH or not all(map(runs_anywhere, walk_steps(self.step.steps))):
            return None
        inside = list(walk_steps(self.step.steps))
        accesses = list(accesses_of(inside))
        ranges = {s.operation.index: bounds_of(s) for s in inside if isinstance(s, LoopStep)}
        written = dict.fromkeys(a.memory for a in accesses if a.writes)
        own, totals = set(), {}
        nbytes = 0
        for memory in written:
            of_memory = [a for a in accesses if a.memory == memory]
            if self.is_own(memory):
                own.add(memory)
            elif self.moves_on(of_memory, ranges):
                continue
            elif all(a.adds for a in of_memory) and (size := self.nbytes(memory)) is not None:
                totals[memory] = nbytes
                nbytes += -(-size // LINE) * LINE
            else:
                return None
        most = work_of(self.step) / (PAYS * max(nbytes, 1))  # parts, for their sums to take no time to speak of
        if nbytes > MOST_SUMS_NBYTES or most < LEAST:
            return None
        places = [(self.plan.offsets[m], self.plan.offsets[m] + self.plan.sizes[m]) for m in own]
        start = min((low for low, _ in places), default=0) // LINE * LINE
        end = max((high for _, high in places), default=start)
        count = min(LOOP_PARTS, op.trips, int(most))
        own_nbytes = -(-(end - start) // LINE) * LINE
        return LoopParts(
            count=count, own=frozenset(own), start=start, own_nbytes=own_nbytes, totals=totals, nbytes=nbytes
        )

    def nbytes(self, memory: Memory) -> int | None:
        """Of memory of floating numbers, without gaps."""
        if memory.kind != "buffer":
            return None
        buffer = self.plan.tape.buffers[memory.id]
        return buffer.nbytes if buffer.dtype.kind == "f" and buffer.span == buffer.view.size else None

    def is_own(self, memory: Memory) -> bool:
        """Whether nothing in this memory goes from one iteration to another, or outside."""
        lifetime = self.plan.lifetimes.get(memory)
        first = self.numbers[id(self.step)]
        last = first + sum(1 for _ in walk_steps(self.step.steps))
        if lifetime is None or lifetime[0] < first or lifetime[1] > last:
            return False
        return memory.kind == "slot" or self.is_filled_first(memory)

    def is_filled_first(self, memory: Memory) -> bool:
        """Whether an iteration writes all of a buffer before it reads any of it."""
        buffer = self.plan.tape.buffers[memory.id]
        size = buffer.nbytes // buffer.dtype.itemsize

        def is_all(view: View | None) -> bool:
            return view is not None and covers(replace(view, offset=view.offset - buffer.low), size)

        def fills(steps: Sequence[Step]) -> bool:
            for step in steps:
                inside = [a for a in accesses_of(walk_steps([step])) if a.memory == memory]
                if not inside:
                    continue
                first = inside[0]
                if not first.writes or first.adds:
                    return False
                if isinstance(step, Nest):
                    return is_all(first.view) and all(a.view == first.view for a in inside)
                if not isinstance(step, LoopStep) or step.count is not None or step.operation.stops:
                    return False
                if type(step.operation.trips) is not int or not step.operation.trips:
                    return False
                return fills(step.steps) or (len(inside) == 1 and is_all(through_loop(first.view, step)))
            return False

        return fills(self.step.steps)

    def moves_on(self, accesses: Sequence[Use], ranges: dict[int, tuple[Extent, Extent]]) -> bool:
        """Whether each iteration uses a stretch of memory of its own."""
        op = self.step.operation
        step, lows, highs, around = 0, [], [], set()
        for access in accesses:
            if access.view is None:
                return False
            low, high = access.view.bounds()
            moved = coefficient(access.view.offset, op.index)
            if not moved or (step and moved != step):
                return False
            step = moved
            own = {op.index, *ranges}
            around.add(tuple((i, c) for i, c in terms(access.view.offset) if i not in own))
            try:
                lows.append(extremes(inner(low, ranges), ranges)[0])
                highs.append(extremes(inner(high, ranges), ranges)[1])
            except KeyError:  # bounds that move with loops around
                return False
        return len(around) == 1 and max(highs) - min(lows) < abs(step * op.step)


@dataclass(frozen=True, slots=True)
class Use:
    """A use of memory; without a view, of any of it."""

    memory: Memory
    view: View | None
    writes: bool = False
    adds: bool = False


def accesses_of(steps: Iterable[Step]) -> Iterator[Use]:
    for step in steps:
        match step:
            case Nest():
                for number, item in enumerate(step.items):
                    if isinstance(item, Read):
                        yield Use(item.memory, item.view)
                    elif isinstance(item, GatherRead):
                        yield Use(item.memory, None)
                    elif isinstance(item, Write):
                        known = item.view if not item.indices else None
                        yield Use(item.memory, known, True, item.accumulate)
                    elif isinstance(item, Reduce):
                        yield Use(item.memory, item.view, True)
                    if number in step.spills:
                        write = step.spills[number]
                        yield Use(write.memory, write.view, True, write.accumulate)
            case LibraryStep():
                yield from (Use(memory, view) for memory, view, _ in step.operands)
                yield Use(step.result, None, True)
            case BranchStep():
                yield Use(step.memory, step.view)
            case LoopStep() if step.count is not None:
                yield Use(*step.count)


def runs_anywhere(step: Step) -> bool:
    """Whether a step may be part of what a thread does."""
    if isinstance(step, LibraryStep):
        if step.operation.primitive not in IN_LOOPS or scratch_of(step):
            return False
        return step.operation.primitive != "contract" or not is_left_to_blas(step)
    return not isinstance(step, GuardStep)


def is_left_to_blas(step: LibraryStep) -> bool:
    """Whether BLAS does a product, which is so large that it may use threads of its own."""
    product = product_of(step)
    if step.operation.out.dtype.kind != "f" or not product.blas or tiled_form(product) is not None:
        return False
    return product.m.extent * product.n.extent * product.k.extent > ONE_THREAD


def through_loop(view: View | None, step: LoopStep) -> View | None:
    """What a view shows in all iterations of a loop, from where it is in the first one."""
    op = step.operation
    if view is None or not isinstance(op.start, int):
        return None
    stride = coefficient(view.offset, op.index)
    first = substitute(view.offset, op.index, op.start)
    whole = View(first, (int(op.trips), *view.shape), (stride * op.step, *view.strides))
    low = whole.bounds()[0]
    forwards = tuple(map(abs, whole.strides))
    return View(low, whole.shape, forwards)


def bounds_of(step: LoopStep) -> tuple[Extent, Extent]:
    """The first and last value of a loop's index, smaller one first."""
    op = step.operation
    first, last = op.start, op.start + op.step * (int(op.trips) - 1)
    return (first, last) if op.step > 0 else (last, first)


def terms(expression: Extent) -> tuple[tuple[int, int], ...]:
    return expression.terms if isinstance(expression, Affine) else ()


def inner(expression: Extent, ranges: dict[int, tuple[Extent, Extent]]) -> Extent:
    """What of an expression moves with the loops inside."""
    if not isinstance(expression, Affine):
        return expression
    kept = tuple((i, c) for i, c in expression.terms if i in ranges)
    return Affine(expression.constant, kept) if kept else expression.constant
