"""Which loops can be done in parts: those whose iterations have nothing to do with one another but sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...planning.schedule import GuardStep, LibraryStep, LoopStep, Memory, MemoryPlan, Nest, Step, walk_steps
from ...regions.affine import Affine, Extent, Ragged, coefficient, extremes
from ...regions.regions import View, is_injective, is_ragged
from ..library.blas import product_of, tiled_form
from ..library.matrices import scratch_of
from . import parts as limits
from .contents import StepUses, Use, is_filled_first, is_zero_after, stays_zero
from .parts import LINE, LOOP_PARTS, MOST_OWN_NBYTES, MOST_SUMS_NBYTES, PAYS, LoopParts, work_of

ONE_THREAD = 1 << 18  # multiplications up to which BLAS uses the thread that calls it, and none of its own
MOST_ITEMS = 3000  # of a loop: longer ones are mostly scalar code, and trying costs time
IN_LOOPS = ("contract", "cumulate", "recurrence")  # library steps that are the same in any thread


@dataclass
class LoopDivision:
    """A loop, and what its iterations do to which memory."""

    plan: MemoryPlan
    step: LoopStep
    first: int  # its number among all steps
    before: Sequence[Step]  # in its block

    def parts(self) -> LoopParts | None:
        op = self.step.operation
        if op.stops or self.step.count is not None or isinstance(op.trips, Ragged) or op.trips < limits.LEAST:
            return None
        if work_of(self.step) < 2 * limits.WORTH or not all(map(runs_anywhere, walk_steps(self.step.steps))):
            return None
        inside = list(walk_steps(self.step.steps))
        if sum(len(s.items) if isinstance(s, Nest) else 1 for s in inside) > MOST_ITEMS:
            return None
        uses = StepUses(self.step.steps)
        ranges = {s.operation.index: bounds_of(s) for s in inside if isinstance(s, LoopStep)}
        own, cleared, totals = set(), [], {}
        nbytes = 0
        for memory, of_memory in uses.by_memory.items():
            if not any(use.writes for use in of_memory):
                continue
            if self.is_own(memory, uses):
                own.add(memory)
            elif self.is_cleared(memory, uses):
                own.add(memory)
                cleared.append(memory)
            elif self.moves_on(of_memory, ranges):
                continue
            elif all(use.adds for use in of_memory) and (size := self.nbytes(memory)) is not None:
                totals[memory] = nbytes
                nbytes += -(-size // LINE) * LINE
            else:
                return None
        most = work_of(self.step) / (PAYS * max(nbytes, 1))  # parts, for their sums to take no time to speak of
        if nbytes > MOST_SUMS_NBYTES or most < limits.LEAST:
            return None
        places = [(self.plan.offsets[m], self.plan.offsets[m] + self.plan.sizes[m]) for m in own]
        start = min((low for low, _ in places), default=0) // LINE * LINE
        end = max((high for _, high in places), default=start)
        count = min(LOOP_PARTS, op.trips, int(most))
        own_nbytes = -(-(end - start) // LINE) * LINE
        if own_nbytes > MOST_OWN_NBYTES:
            return None
        return LoopParts(
            count=count,
            own=frozenset(own),
            cleared=tuple(cleared),
            start=start,
            own_nbytes=own_nbytes,
            totals=totals,
            nbytes=nbytes,
        )

    def nbytes(self, memory: Memory) -> int | None:
        """Of memory of floating numbers, without gaps."""
        if memory.kind != "buffer":
            return None
        buffer = self.plan.tape.buffers[memory.id]
        return buffer.nbytes if buffer.dtype.kind == "f" and buffer.span == buffer.view.size else None

    def is_own(self, memory: Memory, uses: StepUses) -> bool:
        """Whether nothing in this memory goes from one iteration to another, or outside."""
        lifetime = self.plan.lifetimes.get(memory)
        last = self.first + sum(1 for _ in walk_steps(self.step.steps))
        if lifetime is None or lifetime[0] < self.first or lifetime[1] > last:
            return False
        if memory.kind == "slot":
            return True
        return is_filled_first(self.step.steps, uses, memory, self.plan.tape.buffers[memory.id])

    def is_cleared(self, memory: Memory, uses: StepUses) -> bool:
        """Whether each iteration finds this memory zero, and leaves it so."""
        if memory.kind != "buffer" or memory not in self.plan.offsets:
            return False
        buffer = self.plan.tape.buffers[memory.id]
        return is_zero_after(self.before, memory, buffer) and stays_zero(self.step.steps, uses, memory, buffer)

    def moves_on(self, uses: Sequence[Use], ranges: dict[int, tuple[Extent, Extent]]) -> bool:
        """Whether each iteration uses places of its own: always the same ones, moved, or a stretch of memory."""
        op, view = self.step.operation, uses[0].view
        if view is not None and all(use.view == view for use in uses) and not is_ragged(view.shape):
            stays = not {index for index, _ in terms(view.offset)} & ranges.keys()
            moved = coefficient(view.offset, op.index) * op.step
            places = View(0, (int(op.trips), *view.shape), (moved, *view.strides))
            if stays and moved and is_injective(moving(places)):
                return True
        step, lows, highs, around = 0, [], [], set()
        for use in uses:
            if use.view is None:
                return False
            low, high = use.view.bounds()
            moved = coefficient(use.view.offset, op.index)
            if not moved or (step and moved != step):
                return False
            step = moved
            own = {op.index, *ranges}
            around.add(tuple((i, c) for i, c in terms(use.view.offset) if i not in own))
            try:
                lows.append(extremes(inner(low, ranges), ranges)[0])
                highs.append(extremes(inner(high, ranges), ranges)[1])
            except KeyError:  # bounds that move with loops around
                return False
        return len(around) == 1 and max(highs) - min(lows) < abs(step * op.step)


def moving(view: View) -> View:
    """A view without the axes along which it stays where it is."""
    axes = [(n, s) for n, s in zip(view.shape, view.strides) if s]
    return View(view.offset, tuple(n for n, _ in axes), tuple(s for _, s in axes))


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
