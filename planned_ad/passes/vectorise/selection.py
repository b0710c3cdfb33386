"""Branches as choices: both sides are computed, and each result is chosen by the predicate.

>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     for i in range(4):
...         if x[i] > 0.0:
...             x[i] = np.sqrt(x[i])
>>> tape = trace(f, (np.zeros(4),), unroll=1).tape
>>> print(brief(tape))
v0 = 0.0
for i0 in range(0, 4, 1):
    v1 = x[i0]
    v2: bool = greater(v1, v0)
    if v2:
        v3 = x[i0]
        v4 = sqrt(v3)
        x[i0] = v4
>>> print(brief(vectorise(tape)))
v0 = 0.0
v9: float64[4] = x[...]
v10: bool[4] = greater(v9, v0)
v11 = 1.0
v12: float64[4] = where(v10, v9, v11)
v13: float64[4] = sqrt(v12)
v14: float64[4] = where(v10, v13, v9)
x[...] = v14

Requires the body of a loop that is about to be lifted; ensures the same numbers and the same derivatives, or refuses.

So a loop around a branch can become array operations. What it must not change are derivatives. The cotangent of the
side not taken is zero, and zero times an infinite slope is not a number: so wherever a slope depends on numbers, these
are replaced, in the side not taken, by one at which the slope has been found finite. What is added or chosen only
needs no such care.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...analysis.mirrored_loops import live
from ...regions.bounds import Iterations
from ...regions.regions import Region, View, is_fixed, overlap
from ...rules.algebra import Symbol
from ...rules.table import RULES
from ...tape.builder import TapeBuilder
from ...tape.interpret import Interpreter
from ...tape.tape import Apply, Branch, Constant, IndexValue, Load, Operation, Store, Value, renamed
from ..invariants import is_total

MOST_COST = 256.0  # additions for each element in both sides: beyond, taking one of them is faster
SAFE = (1.0, 0.5, 2.0)  # numbers at which slopes are looked for
UNIFORM_SLOPE = frozenset(
    (
        "add",
        "subtract",
        "negative",
        "where",
        "cast",
        "copy",
        "stop_gradient",
        "maximum",
        "minimum",
        "view",
        "reduce_sum",
    )
)
GUARDED = ("elementwise", "view", "contract", "reduce")  # kinds of primitives of which any numbers will do as operands
MOST_TRIED = 64  # elements of an operand at which a slope is looked for


class NotSelectable(Exception):
    """A branch whose sides cannot both be computed."""


def without_branches(
    builder: TapeBuilder,
    body: Sequence[Operation],
    constants: Mapping[int, np.ndarray],
    private: Mapping[int, int],
    around: Iterations,
) -> tuple[Operation, ...]:
    """The body of a loop, run in the iterations `around`, with choices for branches; raises `NotSelectable`.

    `constants` are those defined outside. `private`: of local buffers, how many loads there are of them; when all
    turn out to load what the same iteration has stored, the buffer is not needed any more.
    """
    selecting = _Selecting(builder, constants, around)
    operations = builder.block(body, selecting.visit)
    unread = {id for id, count in selecting.forwarded.items() if private.get(id) == count}
    while True:
        kept = live([op for op in operations if not (isinstance(op, Store) and op.region.buffer in unread)])
        read = {region.buffer for op in kept for region in op.reads} & unread
        if not read:
            return kept
        unread -= read  # a side that stores nothing keeps what there was


class _Selecting:
    """The walk over a body: names of values that were loaded again, and what memory holds in this iteration."""

    def __init__(self, builder: TapeBuilder, constants: Mapping[int, np.ndarray], around: Iterations):
        self.builder, self.around = builder, around
        self.names: dict[int, Value] = {}
        self.pending: dict[Region, Value] = {}
        self.forwarded: Counter[int] = Counter()
        self.made: dict[int, Operation] = {}
        self.constants = dict(constants)

    def name(self, value: Value) -> Value:
        return self.names.get(value.id, value)

    def visit(self, op: Operation) -> None:
        self.builder.line = op.line
        if isinstance(op, Branch):
            self.branch(op)
        elif op.blocks:
            raise NotSelectable("there is a loop inside")
        elif isinstance(op, Load) and op.region in self.pending:
            self.forward(op, self.pending[op.region])
        else:
            op = renamed(op, self.names)
            for region in op.writes:
                self.pending = {known: v for known, v in self.pending.items() if not overlap(known, region)}
            if isinstance(op, Store) and not op.accumulate:
                self.pending[op.region] = op.value
            elif isinstance(op, Load):
                self.pending[op.region] = op.out
            self.keep(op)

    def forward(self, op: Load, value: Value) -> None:
        self.rename(op, value)
        self.forwarded[op.region.buffer] += 1

    def rename(self, op: Load, value: Value) -> None:
        """`value` for what `op` loads; a number that was stored in each element is as many of them."""
        if value.shape != op.out.shape:
            value = self.builder.broadcast(value, op.out.shape)
        self.names[op.out.id] = value

    def keep(self, op: Operation) -> None:
        for value in op.outputs:
            self.made[value.id] = op
        if isinstance(op, Constant):
            self.constants[op.out.id] = op.data
        self.builder.emit(op)

    def apply(self, primitive: str, *operands: Value) -> Value:
        before = len(self.builder.operations)
        value = self.builder.apply(primitive, *operands)
        self.made[value.id] = self.builder.operations[before]
        return value

    def branch(self, op: Branch) -> None:
        """The stores of both sides, of what the predicate chooses."""
        predicate = self.name(op.predicate)
        stored, added = self.sides(op, predicate, None)
        for region, value in stored.items():
            self.visit(Store(region=region, value=value, line=op.line))
        for region, value in added:
            self.visit(Store(region=region, value=value, accumulate=True, line=op.line))

    def sides(
        self, op: Branch, predicate: Value, condition: Value | None, outer: _Side | None = None
    ) -> tuple[dict[Region, Value], list[tuple[Region, Value]]]:
        """What a branch stores, and what it adds; `condition` is that of the side that it stands in, `outer`."""
        if sum(RULES[o.primitive].cost for side in op.blocks for o in side if isinstance(o, Apply)) > MOST_COST:
            raise NotSelectable("its sides cost more than a jump")
        opposite = self.apply("logical_not", predicate)
        results = []
        for holds, operations in zip((predicate, opposite), op.blocks):
            side = _Side(self, holds if condition is None else self.apply("logical_and", condition, holds), outer)
            for inner in operations:
                side.visit(inner)
            results.append(side)
        then, otherwise = results
        check_apart([*dict.fromkeys((*then.stored, *otherwise.stored))], [*then.added, *otherwise.added])
        stored = {}
        for region in dict.fromkeys((*then.stored, *otherwise.stored)):
            first, second = (side.stored.get(region) or side.current(region, op) for side in results)
            stored[region] = self.chosen(predicate, first, second)
        added = []
        for region, value in then.added:
            added.append((region, self.apply("where", predicate, value, self.zero(value))))
        for region, value in otherwise.added:
            added.append((region, self.apply("where", predicate, self.zero(value), value)))
        return stored, added

    def zero(self, value: Value) -> Value:
        """What changes no number that it is added to; zero, in floating point, would change its own sign."""
        return self.number(-0.0 if value.dtype.kind == "f" else 0, value)

    def number(self, number: float, like: Value) -> Value:
        out = self.builder.constant(number, like.dtype)
        self.constants[out.id] = np.array(number, like.dtype)
        return out

    def chosen(self, predicate: Value, then: Value, otherwise: Value) -> Value:
        """`then` or `otherwise`; where both add to the same number, that number and choices of what is added.

        One by one, in the order of each side: sums are rounded as they are there.
        """
        if then.id == otherwise.id:
            return then
        ways, others = self.sums(then), self.sums(otherwise)
        for base, (value, terms) in ways.items():
            if base in others and base not in self.constants and (terms or others[base][1]):
                for pair in itertools.zip_longest(terms, others[base][1]):
                    change = self.apply("where", predicate, *(self.signed(term, value) for term in pair))
                    value = self.apply("add", value, change)
                return value
        return self.apply("where", predicate, then, otherwise)

    def sums(self, value: Value, depth: int = 8) -> dict[int, tuple[Value, tuple[tuple[int, Value], ...]]]:
        """Ways to write `value` as another value and (sign, term) pairs that are added to it."""
        ways: dict[int, tuple[Value, tuple[tuple[int, Value], ...]]] = {value.id: (value, ())}
        made = self.made.get(value.id)
        if depth and value.dtype.kind in "fi" and isinstance(made, Apply) and made.primitive in ("add", "subtract"):
            first, second = made.operands
            sign = 1 if made.primitive == "add" else -1
            pairs = [(first, (sign, second))] + ([(second, (1, first))] if sign > 0 else [])
            for base, term in pairs:
                if base.shape == value.shape:
                    for id, (inner, terms) in self.sums(base, depth - 1).items():
                        ways.setdefault(id, (inner, (*terms, term)))
        return ways

    def signed(self, term: tuple[int, Value] | None, like: Value) -> Value:
        if term is None:
            return self.zero(like)
        sign, value = term
        return value if sign > 0 else self.apply("negative", value)


class _Side:
    """One side of a branch, computed whether it is taken or not.

    `condition`: when it is taken. `known`: the numbers that values have when it is not. `stored` and `added`: what
    it leaves, for the branch to choose from.
    """

    def __init__(self, walk: _Selecting, condition: Value, outer: _Side | None):
        self.walk = walk
        self.condition = condition
        self.outer = outer
        self.known: dict[int, np.ndarray] = {}
        self.safe: dict[tuple[int, float], Value] = {}
        self.stored: dict[Region, Value] = {}
        self.added: list[tuple[Region, Value]] = []

    def visit(self, op: Operation) -> None:
        self.walk.builder.line = op.line
        op = op if isinstance(op, Branch) else renamed(op, self.walk.names)
        match op:
            case Constant() | IndexValue():
                self.walk.keep(op)
            case Load():
                self.walk.rename(op, self.current(op.region, op))
            case Apply():
                self.walk.keep(self.guarded(op))
            case Store(accumulate=True):
                self.check_untouched(op.region, self.stored)
                self.added.append((op.region, op.value))
            case Store():
                self.check_untouched(op.region, [r for r in self.stored if r != op.region])
                self.check_untouched(op.region, [r for r, _ in self.added])
                self.stored[op.region] = op.value
            case Branch():
                stored, added = self.walk.sides(op, self.walk.name(op.predicate), self.condition, self)
                for region, value in stored.items():
                    self.visit(Store(region=region, value=value, line=op.line))
                for region, value in added:
                    self.visit(Store(region=region, value=value, accumulate=True, line=op.line))
            case _:
                raise NotSelectable(f"{type(op).__name__} in a side")

    def check_untouched(self, region: Region, others: Iterable[Region]) -> None:
        if any(overlap(region, other) for other in others):
            raise NotSelectable("a side comes back to memory that it has written to")

    def current(self, region: Region, op: Operation) -> Value:
        """What memory holds at this point of the side."""
        side: _Side | None = self
        while side is not None:
            if region in side.stored:
                self.walk.forwarded[region.buffer] += isinstance(op, Load)
                return side.stored[region]
            self.check_untouched(region, (*side.stored, *(r for r, _ in side.added)))
            side = side.outer
        if region in self.walk.pending:
            self.walk.forwarded[region.buffer] += isinstance(op, Load)
            return self.walk.pending[region]
        value = self.walk.pending[region] = self.walk.builder.load(region)
        self.walk.made[value.id] = self.walk.builder.operations[-1]
        return value

    # Slopes.

    def guarded(self, op: Apply) -> Apply:
        """`op`, on operands at which its slope is finite wherever this side is not taken."""
        if RULES[op.primitive].kind not in GUARDED or not self.is_total(op):
            raise NotSelectable(f"{op.primitive} may fail where its side is not taken")
        is_large = max(v.size for v in op.operands) > MOST_TRIED
        if not op.out.size:
            return op
        if op.out.dtype.kind != "f" or op.primitive in UNIFORM_SLOPE:
            if not is_large:
                self.learn(op)
            return op
        if is_large:
            raise NotSelectable(f"the slope of {op.primitive} has too many elements")
        for number in SAFE:
            numbers = [self.number_of(v) for v in op.operands]
            tried = everywhere(op, [number if n is None else n for n in numbers])
            result = finite_result(op, tried)
            if result is not None:
                self.known[op.out.id] = result.reshape(-1)[0]
                pairs = zip(op.operands, numbers)
                operands = tuple(self.safely(v, number) if n is None else v for v, n in pairs)
                return Apply(
                    out=op.out, primitive=op.primitive, operands=operands, parameters=op.parameters, line=op.line
                )
        raise NotSelectable(f"{op.primitive} has no finite slope at the numbers tried")

    def is_total(self, op: Apply) -> bool:
        """Whether it has a result in all iterations, those in which the side is not taken too."""
        try:
            return is_total(op, self.walk.around)
        except KeyError:  # it moves with an index of a loop that is not known here
            return False

    def number_of(self, value: Value) -> np.ndarray | None:
        constant = self.walk.constants.get(value.id)
        if constant is not None and constant.ndim == 0:
            return constant
        return self.known.get(value.id)

    def learn(self, op: Apply) -> None:
        """The number of a value that is the same whenever this side is not taken."""
        numbers = [self.number_of(v) for v in op.operands]
        moves = any(isinstance(part, View) and not is_fixed(part) for _, part in op.parameters)
        if not moves and all(n is not None for n in numbers):
            with np.errstate(all="ignore"):
                number = RULES[op.primitive].evaluate(*everywhere(op, numbers), **op.params)
            self.known[op.out.id] = np.asarray(number, op.out.dtype).reshape(-1)[0]

    def safely(self, value: Value, number: float) -> Value:
        key = value.id, number
        if key not in self.safe:
            like = self.walk.number(number, value)
            self.safe[key] = self.walk.apply("where", self.condition, value, like)
        return self.safe[key]


def everywhere(op: Apply, numbers: Sequence[object]) -> list[np.ndarray]:
    """Operands that hold one number each."""
    return [np.full(v.shape, number, v.dtype) for v, number in zip(op.operands, numbers)]


def finite_result(op: Apply, numbers: Sequence[np.ndarray]) -> np.ndarray | None:
    """The result of `op` on these numbers; None unless it and all its slopes are finite."""
    rule = RULES[op.primitive]
    if rule.refused:
        return None
    builder = TapeBuilder()
    operands = [builder.constant(n) for n in numbers]
    out = builder.apply(op.primitive, *operands, **op.params)
    one = Symbol(builder, builder.constant(np.ones(out.shape, out.dtype)))
    symbols = [Symbol(builder, v) for v in operands]
    results = [out]
    for adjoint in rule.adjoints:
        if adjoint is not None:
            found = adjoint(one, Symbol(builder, out), *symbols, **op.params)
            results.append(found.value)  # type: ignore[attr-defined]
    interpreter = Interpreter(())
    interpreter.run(builder.operations)
    values = [interpreter.value(v) for v in results]
    return values[0] if all(np.isfinite(v).all() for v in values) else None


def check_apart(stored: Sequence[Region], added: Sequence[tuple[Region, Value]]) -> None:
    """What a branch stores to must not overlap, so that the order of stores does not matter."""
    for k, region in enumerate(stored):
        others = [*stored[:k], *(r for r, _ in added)]
        if any(overlap(region, other) for other in others):
            raise NotSelectable("both sides write to the same memory in different ways")
