"""Loops that test their indices are loops over the parts of their range in which the tests come out one way.

>>> import numpy as np
>>> from planned_ad.passes.dead_code import drop_dead
>>> from planned_ad.passes.rewrite import rewrite
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     total = np.zeros(20)
...     for i in range(20):
...         for k in range(30):
...             if i + k < 40:
...                 total[i] += x[k]
...     return total
>>> tape = trace(f, (np.zeros(30),)).tape
>>> print(brief(tape))
v0: int64 = 40
v1: float64[20] = [0.0, ..., 0.0]
v2 = 0.0
total#1[...] = v2
for i0 in range(0, 20, 1):
    for i1 in range(0, 30, 1):
        v3: int64 = i0 + i1
        v4: bool = less(v3, v0)
        if v4:
            v5 = total#1[i0]
            v6 = x[i1]
            v7 = add(v5, v6)
            total#1[i0] = v7
v8: float64[20] = total#1[...]
return v8
>>> print(brief(drop_dead(rewrite(split_index_sets(tape)))))
v2 = 0.0
total#1[...] = v2
for i8 in range(0, 11, 1):
    for i9 in range(0, 30, 1):
        v22 = total#1[i8]
        v23 = x[i9]
        v24 = add(v22, v23)
        total#1[i8] = v24
for i10 in range(0, 9, 1):
    for i11 in range(0, 29 - 1*i10, 1):
        v45 = total#1[i10 + 11]
        v46 = x[i11]
        v47 = add(v45, v46)
        total#1[i10 + 11] = v47
v8: float64[20] = total#1[...]
return v8

Such a loop has no test in it, so that it can become an operation on arrays, and an index that is only looked at behind
the test is known to be inside of its axis: what was found at a place that is computed is found at one that moves evenly.
The end of a part may lie before or behind the end of the range, as the loops around have it: then that is a test of
theirs, and they are split in turn (Griebl, Feautrier & Lengauer, Index set splitting, 2000). Tests that do not have the
loop's own index are moved out of it.

Requires a primal tape; ensures the same operations in the same order, but for tests and places that are known. A nest
that would become too long stays as it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..python.source import Line
from ..regions.affine import Affine, Extent, coefficient, exact, loop_index, ragged, substitute
from ..regions.bounds import Iterations
from ..regions.regions import View
from ..tape.builder import TapeBuilder, literal, rebuilt, written_anew
from ..tape.renaming import Copier
from ..tape.tape import Apply, Branch, Constant, IndexValue, Load, Loop, Operation, Scatter, Store, Tape, Value, walk
from .dead_code import drop_dead
from .rewrite import rewrite

MOST_WRITTEN = 2000  # operations of a nest, where it is not as long as it stands
MOST_SPLIT = 200  # tests of a nest that are taken apart: each copy of one is another

RELATIONS: dict[str, Callable[[Extent], Extent]] = {  # a difference, and what is not negative where it holds
    "less": lambda d: -d - 1,
    "less_equal": lambda d: -d,
    "greater": lambda d: d - 1,
    "greater_equal": lambda d: d,
}
EQUALITIES = {"equal": True, "not_equal": False}
CLAMPS = ("maximum", "minimum", "wrap_index")


class TooLong(Exception):
    """A nest has been split more often than it is worth."""


def split_index_sets(tape: Tape) -> Tape:
    """Requires a primal tape; ensures the same numbers. The same tape where no loop tests its index."""
    next_index = 1 + max((op.index for op in walk(tape.operations) if isinstance(op, Loop)), default=0)
    splitting = Splitting(rebuilt(tape), next_index)
    splitting.know(walk(tape.operations))
    if not any(isinstance(op, Loop) and splitting.has_tests(op) for op in tape.operations):
        return tape
    tape = drop_dead(rewrite(tape))
    return drop_dead(rewrite(written_anew(tape, splitting.builder, splitting.write)))


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison of indices: it holds where `least` is not negative; or where that is zero, or is not."""

    least: Extent
    zero: bool | None = None  # None: the sign is what counts

    @classmethod
    def of(cls, primitive: str, difference: Extent) -> Test:
        """Of a comparison of two integers, by their difference."""
        if primitive in EQUALITIES:
            return cls(difference, EQUALITIES[primitive])
        return cls(RELATIONS[primitive](difference))

    def outcome(self, iterations: Iterations) -> bool | None:
        """What it gives in all of the iterations, if that is one thing; True where there are none."""
        bounds = iterations.bounds(self.least)
        if bounds is None:
            return True
        low, high = bounds
        if self.zero is None:
            return True if low >= 0 else False if high < 0 else None
        if low > 0 or high < 0:
            return not self.zero
        return self.zero if low == high else None


@dataclass
class Moved(Copier):
    """Copies the body of a loop for a part of its range, in which `index` is that of the copy plus some expression."""

    index: int = 0
    by: Extent = 0

    def renamed(self, item: Any) -> Any:
        found = super().renamed(item)
        return substitute(found, self.index, self.by) if isinstance(item, Affine) else found


@dataclass
class Splitting:
    """One rewriting of a tape; `next_index`: the first that no loop of it has."""

    builder: TapeBuilder
    next_index: int
    numbers: dict[int, Extent] = field(default_factory=dict)  # what integer values are, of the indices around them
    tests: dict[int, Test] = field(default_factory=dict)  # the truths that compare such values
    left: int = 0  # tests of this nest that may be taken apart
    settling: bool = False  # whether all that is to be taken apart is

    def new_index(self) -> int:
        self.next_index += 1
        return self.next_index - 1

    def know(self, operations: Iterable[Operation]) -> None:
        for op in operations:
            if isinstance(op, IndexValue):
                self.numbers[op.out.id] = op.expression
            elif isinstance(op, Constant) and op.data.shape == () and op.data.dtype.kind == "i":
                self.numbers[op.out.id] = int(op.data)
            elif isinstance(op, Apply) and (op.primitive in RELATIONS or op.primitive in EQUALITIES):
                a, b = (self.numbers.get(v.id) for v in op.operands)
                if a is not None and b is not None:
                    self.tests[op.out.id] = Test.of(op.primitive, a - b)

    def write(self, op: Operation) -> None:
        """Emit what takes the place of an operation of the outermost block."""
        found: Sequence[Operation] = (op,)
        if isinstance(op, Loop) and self.has_tests(op):
            self.left = MOST_SPLIT
            with contextlib.suppress(TooLong):
                self.settling = False
                found = self.visited((op,), Iterations())
                self.settling = True
                found = self.visited(found, Iterations())
            if count(found) > max(MOST_WRITTEN, count((op,))):
                found = (op,)
        for written in found:
            self.builder.emit(written)

    def has_tests(self, op: Operation) -> bool:
        return any(isinstance(inner, Branch) and inner.predicate.id in self.tests for inner in walk((op,)))

    def visited(self, block: Sequence[Operation], around: Iterations) -> list[Operation]:
        """A block without the tests in its loops, where it runs in the iterations `around`."""
        found: list[Operation] = []
        loads: dict[int, Load] = {}  # of memory that nothing has written to since
        for op in block:
            self.know((op,))
            if isinstance(op, Loop):
                new = self.loop(op, around)
            elif isinstance(op, Branch):
                new = self.branch(op, around)
            else:
                new = [self.settled(op, around, loads) if self.settling else op]
                self.know(new)
            found += new
            written = {region.buffer for each in new for region in each.writes}
            loads = {name: load for name, load in loads.items() if load.region.buffer not in written}
            if isinstance(op, Load):
                loads[op.out.id] = op
        return found

    def branch(self, op: Branch, around: Iterations) -> list[Operation]:
        test = self.tests.get(op.predicate.id)
        if test is None:
            return [op.with_blocks(*(tuple(self.visited(block, around)) for block in op.blocks))]
        outcome = test.outcome(around)
        if outcome is not None:
            return self.visited(op.then if outcome else op.otherwise, around)
        then = tuple(self.visited(op.then, around if test.zero is not None else around.where(test.least + 1)))
        otherwise = tuple(self.visited(op.otherwise, around if test.zero is not None else around.where(-test.least)))
        return [op.with_blocks(then, otherwise)]

    def settled(self, op: Operation, around: Iterations, loads: Mapping[int, Load]) -> Operation:
        """An operation, or a simpler one where its integers are known to lie inside of what it compares them with."""
        if isinstance(op, Scatter):
            place = self.place(op.region.view, op.indices)
            if place is not None:
                region = replace(op.region, view=place)
                return Store(region=region, value=op.value, accumulate=op.accumulate, line=op.line)
        if not isinstance(op, Apply):
            return op
        if op.out.id in self.tests:
            outcome = self.tests[op.out.id].outcome(around)
            return op if outcome is None else Constant(out=op.out, data=literal(outcome, op.out.dtype), line=op.line)
        if op.primitive in CLAMPS and op.out.dtype == np.int64 and op.out.shape == ():
            number = self.clamped(op, around)
            if isinstance(number, Affine):
                return IndexValue(out=op.out, expression=number, line=op.line)
            if number is not None:
                return Constant(out=op.out, data=literal(number, op.out.dtype), line=op.line)
        source = loads.get(op.operands[0].id) if op.primitive == "gather" else None
        place = None if source is None else self.place(source.region.view, op.operands[1:])
        if source is None or place is None:
            return op
        return Load(out=op.out, region=replace(source.region, view=place), line=op.line)

    def clamped(self, op: Apply, around: Iterations) -> Extent | None:
        """What `maximum`, `minimum` or `wrap_index` gives, where that is one of the operands in all iterations."""
        a, *rest = (self.numbers.get(v.id) for v in op.operands)
        b = rest[0] if rest else 0
        if a is None or b is None:
            return None
        low, high = around.bounds(a - b) or (0, 0)
        match op.primitive:
            case "maximum":
                return a if low >= 0 else b if high <= 0 else None
            case "minimum":
                return a if high <= 0 else b if low >= 0 else None
        return a if low >= 0 else a + op.params["extent"] if high < 0 else None

    def place(self, view: View, indices: Sequence[Value]) -> View | None:
        """What is shown at known places along the first axes, where loops move them: then they are inside."""
        numbers = [self.numbers.get(v.id) for v in indices]
        offset = view.offset
        for number, stride in zip(numbers, view.strides):
            if number is None:
                return None
            offset = offset + number * stride
        return View(offset, view.shape[len(numbers) :], view.strides[len(numbers) :])

    def loop(self, op: Loop, around: Iterations) -> list[Operation]:
        """A loop, or what it is split into."""
        inside = around.inside(op.index, *op.range, exact(op.trips))
        if inside.bounds(0) is None:
            return []
        op = op.with_blocks(tuple(self.visited(op.body, inside)))
        if op.count is not None or op.stops or op.step != 1:
            return [op]
        for branch in op.body:
            test = self.tests.get(branch.predicate.id) if isinstance(branch, Branch) else None
            step = 0 if test is None else coefficient(test.least, op.index)
            if test is None or abs(step) > 1:
                continue
            self.left -= 1
            if self.left < 0:
                raise TooLong
            parts = self.split(op, test, around, inside) if step else self.moved_out(op, test, branch)
            return self.visited(parts, around)
        return [op]

    def moved_out(self, op: Loop, test: Test, branch: Operation) -> list[Operation]:
        """A test that is the same in all iterations of the loop, in front of it."""
        then, otherwise = (
            replace(op, body=tuple(new for o in op.body for new in (block if o is branch else (o,))))
            for block in branch.blocks
        )
        return self.tested(test, [then], [self.part(otherwise)], branch.line)

    def split(self, op: Loop, test: Test, around: Iterations, inside: Iterations) -> list[Operation]:
        """The loop up to where a test changes, and from there on; all of it where that is not in its range."""
        step = coefficient(test.least, op.index)
        at_zero = -step * (test.least - step * loop_index(op.index)) - op.start  # the iteration in which it is zero
        behind = step < 0
        if test.zero is not None:
            least, _ = inside.bounds(step * test.least) or (0, 0)
            behind = least >= 0
        cut = at_zero + behind
        rest = exact(op.trips) - cut
        first = replace(op, trips=ragged(greatest(cut, inside), cut))
        found = [first, self.part(op, cut, ragged(greatest(rest, inside), rest))]
        for needed in (Test(rest), Test(cut)):
            outcome = needed.outcome(around)
            if outcome is None:
                found = self.tested(needed, found, [self.part(op)], op.line)
            elif not outcome:  # what bounds are known is not exact
                raise TooLong
        return found

    def part(self, op: Loop, by: Extent = 0, trips: int | None = None) -> Loop:
        """A copy of a loop, whole or from the iteration `by` on."""
        new = self.new_index()
        copier = Moved(
            self.builder.new_value, self.new_index, indices={op.index: new}, index=new, by=loop_index(new) + by
        )
        body = tuple(map(copier.copy, op.body))
        return replace(op, index=new, body=body, trips=op.trips if trips is None else trips)

    def tested(
        self, test: Test, then: Sequence[Operation], otherwise: Sequence[Operation], line: Line
    ) -> list[Operation]:
        """A branch between two ways to go on."""
        assert isinstance(test.least, Affine)
        builder, least = self.builder, test.least
        builder.line = line
        relation = "greater_equal" if test.zero is None else "equal" if test.zero else "not_equal"
        before = builder.recorded(
            lambda: builder.apply(relation, builder.index_value(least), builder.constant(0, np.dtype(np.int64)))
        )
        (predicate,) = before[-1].outputs
        return [*before, Branch(predicate=predicate, then=tuple(then), otherwise=tuple(otherwise), line=line)]


def greatest(expression: Extent, iterations: Iterations) -> int:
    """The most that a number of iterations is."""
    _, most = iterations.bounds(expression) or (0, 0)
    return max(most, 0)


def count(operations: Sequence[Operation]) -> int:
    return sum(1 for _ in walk(tuple(operations)))
