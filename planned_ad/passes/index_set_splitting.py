"""Loops that test their indices are loops over the parts of their range in which the tests come out one way.

>>> import numpy as np
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
>>> print(brief(split_index_sets(tape)))
v9 = 0.0
total#1[...] = v9
for i0 in range(0, 10, 1):
    for i3 in range(0, 30, 1):
        v17 = total#1[i0]
        v18 = x[i3]
        v19 = add(v17, v18)
        total#1[i0] = v19
for i4 in range(0, 10, 1):
    for i5 in range(0, -1*i4 + 30, 1):
        v28 = total#1[i4 + 10]
        v29 = x[i5]
        v30 = add(v28, v29)
        total#1[i4 + 10] = v30
v8: float64[20] = total#1[...]
return v8

Such a loop has no test in it, so that it can become an operation on arrays; and an index that is only used behind the
test is known to be inside of its axis: what was found at a place that is computed is found at one that moves evenly.
The end of a part may lie before or behind the end of the range, as the loops around have it: then that is a test of
theirs, and they are split in turn (Griebl, Feautrier & Lengauer, Index set splitting, 2000).

Requires a primal tape; ensures the same operations in the same order, but for tests and places that are known. A nest
that would become too long stays as it is, and one in which a test of the ends would be left.
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

MOST_WRITTEN = 2000  # operations of a nest, where it is not as long as it stands; and no more than it has iterations
MOST_SPLIT = 200  # tests of a nest that are taken apart: each copy of one is another

RELATIONS: dict[str, Callable[[Extent], Extent]] = {  # a difference, and what is not negative where it holds
    "less": lambda d: -d - 1,
    "less_equal": lambda d: -d,
    "greater": lambda d: d - 1,
    "greater_equal": lambda d: d,
}
EQUALITIES = {"equal": True, "not_equal": False}
CLAMPS = ("maximum", "minimum", "wrap_index")


class NotSplit(Exception):
    """A nest stays as it is."""


def split_index_sets(tape: Tape) -> Tape:
    """Requires a primal tape; ensures the same numbers. The same tape where no loop tests its index."""
    if not Splitting(rebuilt(tape)).has_tests(tape.operations):
        return tape
    tape = drop_dead(rewrite(tape))
    splitting = Splitting(
        rebuilt(tape), 1 + max((op.index for op in walk(tape.operations) if isinstance(op, Loop)), default=0)
    )
    return drop_dead(rewrite(written_anew(tape, splitting.builder, splitting.write)))


@dataclass(frozen=True, slots=True)
class IndexTest:
    """A comparison of indices: it holds where `least` is not negative; or where that is zero, or is not."""

    least: Extent
    zero: bool | None = None  # None: the sign is what counts

    @classmethod
    def of(cls, primitive: str, difference: Extent) -> IndexTest:
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
    next_index: int = 0
    numbers: dict[int, Extent] = field(default_factory=dict)  # what integer values are, of the indices around them
    tests: dict[int, IndexTest] = field(default_factory=dict)  # the truths that compare such values
    left: int = 0  # tests of this nest that may be taken apart
    signs: dict[int, IndexTest] = field(default_factory=dict)  # of what absolute values are taken
    ends: set[int] = field(default_factory=set)  # the truths that say whether a test changes within a range
    settling: bool = False  # whether all that is to be taken apart is

    def new_index(self) -> int:
        self.next_index += 1
        return self.next_index - 1

    def know(self, operations: Iterable[Operation], around: Iterations | None = None) -> None:
        for op in operations:
            if isinstance(op, IndexValue):
                self.numbers[op.out.id] = op.expression
            elif isinstance(op, Constant) and op.data.shape == () and op.data.dtype.kind == "i":
                self.numbers[op.out.id] = int(op.data)
            elif isinstance(op, Apply) and (op.primitive in RELATIONS or op.primitive in EQUALITIES):
                a, b = (self.numbers.get(v.id) for v in op.operands)
                if a is not None and b is not None:
                    self.tests[op.out.id] = IndexTest.of(op.primitive, a - b)
            elif isinstance(op, Apply) and op.primitive == "absolute" and op.operands[0].id in self.numbers:
                number = self.numbers[op.operands[0].id]
                sign = self.signs[op.out.id] = IndexTest(number)
                outcome = None if around is None else sign.outcome(around)
                if outcome is not None:
                    self.numbers[op.out.id] = number if outcome else -number

    def write(self, op: Operation) -> None:
        """Emit what takes the place of an operation of the outermost block."""
        found: Sequence[Operation] = (op,)
        self.know((op,))
        if isinstance(op, Loop) and self.has_tests((op,)):
            with contextlib.suppress(NotSplit):
                found = self.without_tests(op)
        for written in found:
            self.builder.emit(written)

    def without_tests(self, op: Loop) -> Sequence[Operation]:
        """What takes the place of a nest of loops."""
        self.left, self.settling = MOST_SPLIT, False
        found = self.visited((op,), Iterations())
        if any(isinstance(o, Branch) and o.predicate.id in self.ends for o in walk(tuple(found))):
            raise NotSplit  # memory would be laid out by extents that hold behind a test only
        self.settling = True
        found = self.visited(found, Iterations())
        if len(list(walk(tuple(found)))) > max(min(MOST_WRITTEN, iterations(op)), len(list(walk((op,))))):
            raise NotSplit
        return found

    def has_tests(self, operations: tuple[Operation, ...]) -> bool:
        """Whether something in a loop is to be known."""
        self.know(walk(operations))
        return any(
            inner.predicate.id in self.tests if isinstance(inner, Branch) else inner.out.id in self.signs
            for loop in operations
            if isinstance(loop, Loop)
            for inner in walk(loop.body)
            if isinstance(inner, Branch | Apply)
        )

    def visited(self, block: Sequence[Operation], around: Iterations) -> list[Operation]:
        """A block without the tests in its loops, where it runs in the iterations `around`."""
        found: list[Operation] = []
        loads: dict[int, Load] = {}  # of memory that nothing has written to since
        for op in block:
            self.know((op,), around)
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
        # Others may be computed on both sides in the end.
        is_end = op.predicate.id in self.ends
        then, otherwise = (around.where(test.least + 1), around.where(-test.least)) if is_end else (around, around)
        return [op.with_blocks(tuple(self.visited(op.then, then)), tuple(self.visited(op.otherwise, otherwise)))]

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
        if op.primitive in (*CLAMPS, "absolute") and op.out.dtype == np.int64 and op.out.shape == ():
            number = self.numbers.get(op.out.id) or self.clamped(op, around)
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
        if a is None or b is None or op.primitive == "absolute":
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
        known = inside.indices
        for inner in walk(op.body):
            test = self.asked(inner, op)
            if test is None or abs(coefficient(test.least, op.index)) != 1:
                continue
            if {index for index, _ in test.least.terms} <= known:  # type: ignore[union-attr]
                self.left -= 1
                if self.left < 0:
                    raise NotSplit
                return self.visited(self.split(op, test, around, inside), around)
        return [op]

    def asked(self, op: Operation, loop: Loop) -> IndexTest | None:
        """What an operation in the loop asks for that is not known: a test, or a sign on which something depends."""
        if isinstance(op, Branch):
            return self.tests.get(op.predicate.id)
        if not isinstance(op, Apply) or op.out.id not in self.signs or op.out.id in self.numbers:
            return None
        looked_at = (o for o in walk(loop.body) if isinstance(o, Apply) and op.out in o.operands)
        is_asked = any(o.primitive in (*RELATIONS, *EQUALITIES, *CLAMPS, "gather") for o in looked_at)
        return self.signs[op.out.id] if is_asked else None

    def split(self, op: Loop, test: IndexTest, around: Iterations, inside: Iterations) -> list[Operation]:
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
        found: list[Operation] = [first, self.part(op, cut, ragged(greatest(rest, inside), rest))]
        for needed in (IndexTest(rest), IndexTest(cut)):
            outcome = needed.outcome(around)
            if outcome is None:
                found = self.tested(needed.least, found, [self.part(op)], op.line)
            elif not outcome:  # what bounds are known is not exact
                raise NotSplit
        return found

    def part(self, op: Loop, by: Extent = 0, trips: int | None = None) -> Loop:
        """A copy of a loop, whole or from the iteration `by` on."""
        new = self.new_index()
        copier = Moved(
            self.builder.new_value, self.new_index, indices={op.index: new}, index=new, by=loop_index(new) + by
        )
        body = tuple(map(copier.copy, op.body))
        self.ends |= {copier.values[name].id for name in self.ends if name in copier.values}
        return replace(op, index=new, body=body, trips=op.trips if trips is None else trips)

    def tested(
        self, least: Extent, then: Sequence[Operation], otherwise: Sequence[Operation], line: Line
    ) -> list[Operation]:
        """A branch between two ways to go on, for the loops around to decide."""
        assert isinstance(least, Affine)
        builder = self.builder
        builder.line = line
        before = builder.recorded(
            lambda: builder.apply("greater_equal", builder.index_value(least), builder.constant(0, np.dtype(np.int64)))
        )
        (predicate,) = before[-1].outputs
        self.ends.add(predicate.id)
        return [*before, Branch(predicate=predicate, then=tuple(then), otherwise=tuple(otherwise), line=line)]


def greatest(expression: Extent, iterations: Iterations) -> int:
    """The most that a number of iterations is."""
    _, most = iterations.bounds(expression) or (0, 0)
    return max(most, 0)


def iterations(op: Operation) -> int:
    """In how many iterations, at most, the innermost operation of a nest runs."""
    inner = max((iterations(each) for block in op.blocks for each in block), default=1)
    return inner * int(op.trips) if isinstance(op, Loop) else inner
