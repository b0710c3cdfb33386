"""What steps do to one memory: whether an iteration of a loop could as well have a memory of its own.

It could where it reads nothing that it has not written. And where it finds the memory zero and leaves it zero, as
shadows of what an iteration makes are: then each thread's own is zero at first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...planning.schedule import (
    BranchStep,
    GatherRead,
    Immediate,
    LibraryStep,
    LoopStep,
    Memory,
    Nest,
    Read,
    Reduce,
    Step,
    Write,
    memories_of,
    walk_steps,
)
from ...regions.affine import coefficient, substitute
from ...regions.regions import View, is_fixed, show
from ...tape.tape import Buffer

UNKNOWN, WRITTEN, ZERO = 0, 1, 2
LARGEST = 1 << 16  # elements: each is looked at


@dataclass(frozen=True, slots=True)
class Use:
    """A use of memory; without a view, of any of it."""

    memory: Memory
    view: View | None
    writes: bool = False
    adds: bool = False
    zero: bool = False  # whether it is a zero that is written
    always: bool = True  # not on one side of a test alone, or in a loop that may have no iteration


def uses_of(steps: Iterable[Step]) -> Iterator[Use]:
    """What steps themselves use, in order, not those inside them."""
    for step in steps:
        match step:
            case Nest():
                yield from uses_of_items(step)
            case LibraryStep():
                yield from (Use(memory, view) for memory, view, _ in step.operands)
                yield Use(step.result, step.target, True, step.accumulate)
            case BranchStep():
                yield Use(step.memory, step.view)
            case LoopStep() if step.count is not None:
                yield Use(*step.count)


def uses_of_items(nest: Nest) -> Iterator[Use]:
    for number, item in enumerate(nest.items):
        match item:
            case Read():
                yield Use(item.memory, item.view)
            case GatherRead():
                yield Use(item.memory, None)
            case Write():
                source = nest.items[item.source]
                is_zero = isinstance(source, Immediate) and source.number == 0 and not item.accumulate
                yield Use(item.memory, None if item.indices else item.view, True, item.accumulate, is_zero)
            case Reduce():
                yield Use(item.memory, item.view, True)
        if number in nest.spills:
            write = nest.spills[number]
            yield Use(write.memory, write.view, True, write.accumulate)


class StepUses:
    """All uses in some steps and in those inside them, by step and memory."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._own: dict[tuple[int, Memory], list[Use]] = defaultdict(list)  # by the identity of the step
        self._inside: dict[tuple[int, Memory], list[Use]] = defaultdict(list)
        self.by_memory: dict[Memory, list[Use]] = defaultdict(list)
        self._gather(steps, ())

    def _gather(self, steps: Sequence[Step], around: tuple[tuple[int, bool], ...]) -> None:
        """`around`: the steps in which these are, and whether they are run whenever that one is."""
        for step in steps:
            for use in uses_of([step]):
                self._own[id(step), use.memory].append(use)
                self.by_memory[use.memory].append(use)
                for outer, always in around:
                    self._inside[outer, use.memory].append(replace(use, always=always))
            if isinstance(step, LoopStep | BranchStep):
                runs = isinstance(step, LoopStep) and runs_always(step)
                within = (
                    *((outer, always and runs) for outer, always in around),
                    (id(step), isinstance(step, LoopStep)),
                )
                for block in step.blocks:
                    self._gather(block, within)

    def of(self, step: Step, memory: Memory) -> list[Use]:
        """By a step itself."""
        return self._own.get((id(step), memory), [])

    def inside(self, step: Step, memory: Memory) -> list[Use]:
        """By the steps inside of it."""
        return self._inside.get((id(step), memory), [])


def runs_always(step: LoopStep) -> bool:
    """Whether a loop is known to have an iteration, and all iterations to be run."""
    op = step.operation
    return not op.stops and step.count is None and type(op.trips) is int and op.trips > 0


class LostTrack(Exception):
    """Something is read that is not known."""


class Marks:
    """What is known of each element of a buffer while steps run, one after the other."""

    def __init__(self, uses: StepUses, buffer: Buffer, memory: Memory, first: int) -> None:
        self.uses, self.memory, self.low = uses, memory, buffer.low
        self.state = np.full(buffer.span, first, np.uint8)

    def elements(self, view: View | None) -> np.ndarray | None:
        """What a view shows; None where it is not known which elements it shows."""
        if view is None or not is_fixed(view):
            return None
        return show(self.state, replace(view, offset=view.offset - self.low))

    def is_known(self, view: View | None) -> bool:
        elements = self.elements(view)
        return bool(np.all((self.state if elements is None else elements) != UNKNOWN))

    def note(self, view: View | None, zero: bool, always: bool) -> None:
        """What a write makes known: where it goes to some elements, or at times, that each may be another one now."""
        elements = self.elements(view)
        if elements is None or not always:
            changed = self.state if elements is None else elements
            if elements is None or not zero:
                changed[changed == ZERO] = WRITTEN
        else:
            elements[...] = ZERO if zero else WRITTEN

    def run(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.take(self.uses.of(step, self.memory))
            if self.uses.inside(step, self.memory):
                if isinstance(step, LoopStep):
                    self.run_loop(step)
                elif isinstance(step, BranchStep):
                    self.run_branch(step)

    def take(self, uses: Sequence[Use]) -> None:
        """The uses of one step. At each index of a nest they come in order; of other indices nothing is known."""
        written: list[View] = []
        for use in uses:
            is_read = not use.writes or use.adds
            if is_read and use.view not in written and not self.is_known(use.view):
                raise LostTrack
            if use.writes and use.view is not None and use.always:
                written.append(use.view)
        writes = [use for use in uses if use.writes]
        for use in writes:  # of which each index does its own
            zero = use.zero and all(other.zero or other.view == use.view for other in writes)
            self.note(use.view, zero, use.always)

    def run_branch(self, step: BranchStep) -> None:
        before, after = self.state, []
        for block in step.blocks:
            self.state = before.copy()
            self.run(block)
            after.append(self.state)
        one, other = after
        either = np.where((one == UNKNOWN) | (other == UNKNOWN), UNKNOWN, WRITTEN)
        self.state = np.where(one == other, one, either).astype(np.uint8)

    def run_loop(self, step: LoopStep) -> None:
        op = step.operation
        if not runs_always(step):
            raise LostTrack
        uses = self.uses.inside(step, self.memory)
        if not any(use.view is not None and coefficient(use.view.offset, op.index) for use in uses):
            self.run(step.steps)
            before = self.state.copy()
            self.run(step.steps)
            if not np.array_equal(before, self.state):
                raise LostTrack
            return
        whole = [replace(use, view=through_loop(use.view, step)) for use in uses]
        if any(use.view != uses[0].view for use in uses):
            whole = [replace(use, zero=False) for use in whole]
            known = [use for use in whole if not use.writes or use.adds]
            if not all(self.is_known(use.view) for use in known):
                raise LostTrack
        self.take(whole)


def through_loop(view: View | None, step: LoopStep) -> View | None:
    """What a view shows in all iterations of a loop."""
    op = step.operation
    if view is None or not isinstance(op.start, int):
        return None
    stride, first = coefficient(view.offset, op.index), substitute(view.offset, op.index, op.start)
    return View(first, (int(op.trips), *view.shape), (stride * op.step, *view.strides))


def is_filled_first(steps: Sequence[Step], uses: StepUses, memory: Memory, buffer: Buffer) -> bool:
    """Whether steps write what they read of a buffer before that."""
    if buffer.span > LARGEST:
        return False
    try:
        Marks(uses, buffer, memory, UNKNOWN).run(steps)
    except LostTrack:
        return False
    return True


def stays_zero(steps: Sequence[Step], uses: StepUses, memory: Memory, buffer: Buffer) -> bool:
    """Whether steps that find a buffer zero leave it zero."""
    if buffer.span > LARGEST:
        return False
    marks = Marks(uses, buffer, memory, ZERO)
    try:
        marks.run(steps)
    except LostTrack:
        return False
    return bool(np.all(marks.state == ZERO))


def is_zero_after(steps: Sequence[Step], memory: Memory, buffer: Buffer) -> bool:
    """Whether the last of the steps that use a buffer writes zero to all of it."""
    for step in reversed(steps):
        if all(memory not in memories_of(inside) for inside in walk_steps([step])):
            continue
        uses = StepUses([step])
        found = uses.of(step, memory)
        if not isinstance(step, Nest) or len(found) > 1 or not found[0].zero or buffer.span > LARGEST:
            return False
        marks = Marks(uses, buffer, memory, UNKNOWN)
        marks.take(found)
        return bool(np.all(marks.state == ZERO))
    return False
