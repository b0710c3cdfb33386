"""Loops whose count is known at run time, as nests over one axis, where their iterations can run side by side.

What the program does with `x[mask]` or `t[:k]` is a loop over single numbers on the tape. Of a body that is one nest,

    for i1 in range(0, 300)[:n]:
        r0 = t[i1]   r1 = exp(r0)   r2 = s[0]   r3 = add(r2, r1)   s[0] = r3

is `r0 = t[:n]   r1 = exp(r0)   s[0] += reduce_sum(r1)`: in SIMD lanes. Each element that is written is another one in
each iteration, and read by that iteration alone; what all iterations add to is read for that only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ...planning.schedule import (
    Compute,
    Counted,
    GatherRead,
    Immediate,
    Item,
    LoopStep,
    Memory,
    Nest,
    Position,
    Read,
    Reduce,
    Write,
)
from ...regions.affine import Ragged, coefficient, loop_index, substitute
from ...regions.regions import View
from ..maths.vector_functions import is_formula

REDUCTIONS = {
    "add": "reduce_sum",
    "subtract": "reduce_sum",
    "maximum": "reduce_max",
    "minimum": "reduce_min",
    "logical_and": "reduce_all",
    "logical_or": "reduce_any",
}


def nest_of_loop(step: LoopStep) -> Nest | None:
    """The nest over one axis, as long as the index of the loop says there; None where the iterations hang together."""
    op = step.operation
    if step.count is None or len(step.steps) != 1 or isinstance(op.trips, Ragged):
        return None
    (body,) = step.steps
    if not isinstance(body, Nest) or body.domain != () or body.spills:
        return None
    return LoopInLanes(step, body).nest()


class LoopInLanes:
    """One loop, and the nest that is its body."""

    def __init__(self, step: LoopStep, body: Nest):
        op = step.operation
        self.body, self.index = body, op.index
        self.extent = Ragged(op.trips, loop_index(op.index))
        low = op.start if op.step > 0 else op.last
        self.low, self.step, self.is_in_order = low, abs(op.step), op.step > 0
        names = (item.primitive for item in body.items if isinstance(item, Compute))
        self.is_costly = any(map(is_formula, names))  # lanes pay, though places are taken one by one
        self.uses = Counter(register for item in body.items for register in registers_of(item))
        self.sums: dict[int, tuple[int, str]] = {}  # writes that combine: the register, and by which primitive

    def nest(self) -> Nest | None:
        items = self.body.items
        if not any(isinstance(item, Write) for item in items) or not self.is_parallel():
            return None
        found = Nest(domain=(self.extent,), sweep=self.body.sweep, ordered=True)
        names: dict[int, int] = {}
        dropped = {number for write in self.sums for number in self.parts_of_sum(write)}
        exact = set()
        for number, (item, line) in enumerate(zip(items, self.body.lines)):
            if number in dropped:
                continue
            if number in self.sums:
                source, primitive = self.sums[number]
                assert isinstance(item, Write)
                register, dtype = names[source], items[item.source].dtype  # type: ignore[union-attr]
                if primitive == "subtract":
                    negative = Compute(
                        primitive="negative", operands=(register,), parameters=(), dtype=dtype, line=line
                    )
                    register = found.add(negative, line)
                view = self.along(item.view)
                new: Item | None = Reduce(
                    memory=item.memory, view=view, axes=(0,), source=register, operation=REDUCTIONS[primitive],
                    dtype=dtype, adds=True,
                )  # fmt: skip
            else:
                new = self.spread(item, names)
            if new is None:
                return None
            names[number] = found.add(new, line)
            if number in self.body.exact:
                exact.add(names[number])
        found.exact = frozenset(exact)
        return found

    def spread(self, item: Item, names: dict[int, int]) -> Item | None:
        """One item, at all places."""
        match item:
            case Immediate():
                return item
            case Position(expression=expression):
                step = coefficient(expression, self.index) * self.step
                if not step:
                    return item
                first = substitute(expression, self.index, self.low)
                view = View(0, (self.extent,), (1,))
                counted = Counted(first=first, step=step, view=view, dtype=item.dtype) if type(first) is int else None
                return counted
            case Compute():
                return replace(item, operands=tuple(names[k] for k in item.operands))
            case Read() | Counted():
                return replace(item, view=self.along(item.view))
            case GatherRead():
                indices = tuple(names[k] for k in item.indices)
                return replace(item, view=self.along(item.view), indices=indices)
            case Write():
                indices = tuple(names[k] for k in item.indices)
                return replace(item, view=self.along(item.view), source=names[item.source], indices=indices)
        return None

    def along(self, view: View) -> View:
        """An access, along the axis."""
        stride = coefficient(view.offset, self.index) * self.step
        return View(substitute(view.offset, self.index, self.low), (self.extent,), (stride,))

    # Whether iterations can run side by side.

    def is_parallel(self) -> bool:
        """Whether each write is one of an element of its own, or adds to a number that is for nothing else."""
        accesses: dict[Memory, list[tuple[int, Item]]] = {}
        for number, item in enumerate(self.body.items):
            if isinstance(item, Read | GatherRead | Write | Reduce):
                accesses.setdefault(item.memory, []).append((number, item))
        return all(self.is_apart(found) for found in accesses.values() if any(type(i) is Write for _, i in found))

    def is_apart(self, accesses: list[tuple[int, Item]]) -> bool:
        """Of all accesses to a memory that is written to."""
        if len(accesses) == 1 and type(accesses[0][1]) is Write and accesses[0][1].indices:
            return self.is_costly and (accesses[0][1].accumulate or self.is_in_order)
        if any(isinstance(item, GatherRead | Reduce) or getattr(item, "indices", ()) for _, item in accesses):
            return False
        offsets = {item.view.offset for _, item in accesses}  # type: ignore[union-attr]
        if len(offsets) > 1:
            return False
        if coefficient(next(iter(offsets)), self.index):
            return True
        *reads, (number, last) = accesses
        if type(last) is not Write:
            return False
        return self.adds(number, last, reads)

    def adds(self, number: int, write: Write, reads: list[tuple[int, Item]]) -> bool:
        """Whether a write to one number, and what is read of it, do nothing but add to it."""
        items = self.body.items
        if write.accumulate:
            self.sums[number] = write.source, "add"
            return not reads
        total = items[write.source]
        if not isinstance(total, Compute) or total.primitive not in REDUCTIONS or self.uses[write.source] != 1:
            return False
        if len(reads) != 1 or type(reads[0][1]) is not Read or self.uses[reads[0][0]] != 1:
            return False
        before = reads[0][0]
        if before not in total.operands or total.dtype != items[before].dtype:  # type: ignore[union-attr]
            return False
        place = total.operands.index(before)
        if place and total.primitive == "subtract":
            return False
        source = total.operands[1 - place]
        if items[source].dtype != total.dtype:  # type: ignore[union-attr]
            return False
        self.sums[number] = source, total.primitive
        return True

    def parts_of_sum(self, number: int) -> Iterator[int]:
        """The items that a write which adds makes needless."""
        write = self.body.items[number]
        assert isinstance(write, Write)
        if not write.accumulate:
            yield write.source
            source = self.sums[number][0]
            total = self.body.items[write.source]
            assert isinstance(total, Compute)
            yield from (k for k in total.operands if k != source)


def registers_of(item: Item) -> tuple[int, ...]:
    """The registers that an item reads."""
    found = (*getattr(item, "operands", ()), *getattr(item, "indices", ()))
    return (*found, item.source) if isinstance(item, Write | Reduce) else found
