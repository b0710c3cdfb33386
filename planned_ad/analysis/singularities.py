"""Where a derivative may meet an infinite or undefined number: roots of zero, divisions by it, and what comes of them.

A cotangent of zero says that nothing depends on a value; what the factor of its adjoint is does not matter then, be it
infinite or nan (a *strong zero*). Where a factor may be that, `strengthened` writes the product so. Elsewhere nothing
is added. Overflow, as of `exp`, does not count: of finite operands only rows that name `poles` give other numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..rules.table import RULES
from ..tape.tape import Apply, Constant, Load, Operation, Scatter, Store, Value, walk

POSITIVE = frozenset({"exp", "exp2", "cosh"})
NOT_NEGATIVE = frozenset({"absolute", "hypot"})
# Positive, or not negative, where all operands are that have the result's dtype.
KEEPING = frozenset(
    {"multiply", "divide", "strong_multiply", "strong_divide", "contract", "sqrt", "cbrt", "power", "log1p", "minimum"}
    | {"cast", "copy", "again", "stop_gradient", "view", "gather", "where", "reduce_sum", "reduce_max", "reduce_min"}
)
PRODUCTS = frozenset({"multiply", "strong_multiply", "contract"})  # the factor of one cotangent is the other operand
SUMS = frozenset(  # the factors are numbers
    {"add", "subtract", "negative", "reduce_sum", "view", "gather", "cast", "copy", "again", "cut", "where"}
)
NAMES = "abcdefgh"  # of operands, in `poles`


@dataclass
class Singularities:
    """What is known of the numbers of a tape; by the ids of values, and of buffers.

    positive, not_negative : values of this sign, in all their elements. What is loaded from memory has none known.
    suspect : values, and buffers, that may hold infinite numbers or nan, or whose tangents may.
    unbounded : those whose cotangents may.
    """

    positive: set[int] = field(default_factory=set)
    not_negative: set[int] = field(default_factory=set)
    suspect: set[int] = field(default_factory=set)
    unbounded: set[int] = field(default_factory=set)
    suspect_memory: set[int] = field(default_factory=set)
    unbounded_memory: set[int] = field(default_factory=set)

    def learn(self, op: Operation) -> None:
        """What follows of an operation for its result, and for the memory that it writes to."""
        if isinstance(op, Constant):
            if op.data.dtype.kind in "fiu":
                self.sign(op.out, bool((op.data > 0).all()), bool((op.data >= 0).all()))
        elif isinstance(op, Load):
            if op.region.buffer in self.suspect_memory:
                self.suspect.add(op.out.id)
        elif isinstance(op, Store | Scatter):
            if op.value.id in self.suspect:
                self.suspect_memory.add(op.region.buffer)
        elif isinstance(op, Apply):
            self.learn_sign(op)
            if self.is_singular(op) or any(v.id in self.suspect for v in op.operands):
                self.suspect.add(op.out.id)

    def sign(self, value: Value, positive: bool, not_negative: bool) -> None:
        if positive:
            self.positive.add(value.id)
        if not_negative:
            self.not_negative.add(value.id)

    def learn_sign(self, op: Apply) -> None:
        name, out = op.primitive, op.out
        like = [v.id for v in op.operands if v.dtype.kind in "fiu"]
        positive, not_negative = ([id in known for id in like] for known in (self.positive, self.not_negative))
        if name in KEEPING and like:
            self.sign(out, all(positive) and out.size > 0, all(not_negative))
        if name in POSITIVE or name in NOT_NEGATIVE:
            self.sign(out, name in POSITIVE, True)
        elif name == "add":
            self.sign(out, any(positive) and all(not_negative), all(not_negative))
        elif name == "maximum":
            self.sign(out, any(positive), any(not_negative))
        elif name == "multiply" and like and like[0] == like[-1]:
            self.sign(out, all(positive), True)
        elif name == "integer_power":
            even = op.params["n"] % 2 == 0
            self.sign(out, all(positive), even or all(not_negative))

    def is_singular(self, op: Apply) -> bool:
        """Whether finite operands may give infinite numbers or nan, as a value or as a derivative."""
        if op.primitive == "integer_power":
            return op.params["n"] < 0 and op.operands[0].id not in self.positive
        poles = RULES[op.primitive].poles
        return "y" in poles or any(v.id not in self.positive for name, v in zip(NAMES, op.operands) if name in poles)

    def look_back(self, op: Operation) -> None:
        """What follows of an operation for the cotangents of its operands."""
        if isinstance(op, Load):
            if op.out.id in self.unbounded:
                self.unbounded_memory.add(op.region.buffer)
        elif isinstance(op, Store | Scatter):
            if op.region.buffer in self.unbounded_memory:
                self.unbounded.add(op.value.id)
        elif isinstance(op, Apply):
            everywhere = op.out.id in self.unbounded or self.is_singular(op)
            suspect = () if op.primitive in SUMS else {v.id for v in op.operands} & self.suspect
            for value in op.operands:
                if everywhere or any(id != value.id or op.primitive not in PRODUCTS for id in suspect):
                    self.unbounded.add(value.id)


def singularities(operations: tuple[Operation, ...]) -> Singularities:
    """Requires operations in order; ensures that nothing is missing of `suspect` and `unbounded`, over loops too."""
    found = Singularities()
    every = list(walk(operations))
    if not any(isinstance(op, Apply) and (RULES[op.primitive].poles or "n" in op.params) for op in every):
        for op in every:
            found.learn(op)
        return found
    before = -1
    while before != (before := len(found.suspect_memory)):
        for op in every:
            found.learn(op)
    before = -1
    while before != (before := len(found.unbounded_memory)):
        for op in reversed(every):
            found.look_back(op)
    return found


def strengthened(
    operations: Iterable[Operation], linear: Iterable[int], facts: Singularities, unbounded: bool
) -> list[Operation]:
    """What a row has written for its adjoint or tangent, where zeros are to be strong.

    linear : the ids of the cotangents or tangents that it was given.
    unbounded : whether these may be infinite or nan.
    """
    linear, written = set(linear), []
    for op in operations:
        if isinstance(op, Apply) and any(v.id in linear for v in op.operands):
            linear.add(op.out.id)
            if op.primitive in ("multiply", "divide"):
                op = strong(op, linear, facts, unbounded)
        facts.learn(op)
        written.append(op)
    return written


def strong(op: Apply, linear: set[int], facts: Singularities, unbounded: bool) -> Apply:
    a, b = op.operands
    other = b if a.id in linear else a
    if op.primitive == "divide":
        needed = a.id in linear and (b.id not in facts.positive or b.id in facts.suspect)
    else:
        needed = other.id in facts.suspect or (unbounded and other.id not in facts.positive)
    needed &= (a if a.id in linear else b).id not in facts.positive or unbounded
    return replace(op, primitive=f"strong_{op.primitive}") if needed else op
