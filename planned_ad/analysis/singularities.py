"""Where a derivative may meet an infinite or undefined number: roots of zero, divisions by it, and what comes of them.

A cotangent of zero says that nothing depends on a value; what the factor of its adjoint is does not matter then, be it
infinite or nan (a *strong zero*). Where a factor may be that, `strengthened` writes the product so. Elsewhere nothing
is added. Overflow, as of `exp`, does not count: of finite operands only rows that name `poles` give other numbers.

Missing data are nan from the beginning: in arrays of the program's own that hold one, and in what it tests for nan to
leave elements out (`np.nansum((x - data) ** 2)`), and so in what that is made of. So are numbers of the program's own
that are infinite (layers without an end: `k * [inf, d, inf]`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..rules.table import RULES
from ..tape.tape import Apply, Buffer, Constant, Load, Operation, Scatter, Store, Value, walk

POSITIVE = frozenset({"exp", "exp2", "cosh"})
NOT_NEGATIVE = frozenset({"absolute", "hypot"})
# Positive, or not negative, where all operands are that have the result's dtype.
KEEPING = frozenset(
    {"multiply", "divide", "strong_multiply", "strong_divide", "contract", "sqrt", "cbrt", "power", "log1p", "minimum"}
    | {"cast", "copy", "again", "stop_gradient", "view", "gather", "where", "reduce_sum", "reduce_max", "reduce_min"}
)
TESTS = frozenset({"isnan", "isfinite"})
COMPARISONS = frozenset({"greater", "greater_equal", "less", "less_equal", "equal", "not_equal"})
NAMES = "abcdefgh"  # of operands, in `poles`


@dataclass
class Singularities:
    """What is known of the numbers of a tape; by the ids of values, and of buffers.

    positive, not_negative : values of this sign, in all their elements. What is loaded from memory has none known.
    suspect : values, and buffers, that may hold infinite numbers or nan.
    steep : finite ones whose tangents may.
    unbounded : those whose cotangents may, where what they are of is finite.
    doubted : values that the program compares with known numbers to choose elements: they may be zero, though
        only by underflow, as of `exp`, which does not count elsewhere.
    """

    positive: set[int] = field(default_factory=set)
    not_negative: set[int] = field(default_factory=set)
    suspect: set[int] = field(default_factory=set)
    steep: set[int] = field(default_factory=set)
    unbounded: set[int] = field(default_factory=set)
    suspect_memory: set[int] = field(default_factory=set)
    steep_memory: set[int] = field(default_factory=set)
    unbounded_memory: set[int] = field(default_factory=set)
    doubted: set[int] = field(default_factory=set)

    def learn(self, op: Operation) -> None:
        """What follows of an operation for its result, and for the memory that it writes to."""
        if isinstance(op, Constant):
            if op.data.dtype.kind in "fiu":
                self.sign(op.out, bool((op.data > 0).all()), bool((op.data >= 0).all()))
            if not holds_finite(op.data):
                self.suspect.add(op.out.id)
        elif isinstance(op, Load):
            if op.region.buffer in self.suspect_memory:
                self.suspect.add(op.out.id)
            if op.region.buffer in self.steep_memory:
                self.steep.add(op.out.id)
        elif isinstance(op, Store | Scatter):
            if op.value.id in self.suspect:
                self.suspect_memory.add(op.region.buffer)
            if op.value.id in self.steep:
                self.steep_memory.add(op.region.buffer)
        elif isinstance(op, Apply):
            self.learn_sign(op)
            ids = {v.id for v in op.operands}
            if self.is_singular(op, RULES[op.primitive].poles) or ids & self.suspect:
                self.suspect.add(op.out.id)
            if self.is_steep(op) or ids & self.steep:
                self.steep.add(op.out.id)

    def sign(self, value: Value, positive: bool, not_negative: bool) -> None:
        if positive and value.id not in self.doubted:
            self.positive.add(value.id)
        if not_negative:
            self.not_negative.add(value.id)

    def learn_sign(self, op: Apply) -> None:
        name, out = op.primitive, op.out
        like = [v.id for v in op.operands if v.dtype.kind in "fiu"]
        positive, not_negative = ([id in known for id in like] for known in (self.positive, self.not_negative))
        if name in KEEPING and like:
            drops = name == "cast" and out.dtype.kind != "f" and op.operands[0].dtype.kind == "f"  # what is below one
            is_sum = name in ("reduce_sum", "contract") and 0 in (v.size for v in op.operands)  # of nothing
            self.sign(out, all(positive) and out.size > 0 and not (drops or is_sum), all(not_negative))
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

    def is_singular(self, op: Apply, where: str) -> bool:
        """Whether finite operands may be `where` the row says, in its `poles` or `cusps`."""
        if op.primitive == "integer_power" and op.params["n"] > 0:
            return False
        return "y" in where or any(v.id not in self.positive for name, v in zip(NAMES, op.operands) if name in where)

    def is_steep(self, op: Apply) -> bool:
        """Whether a derivative may be infinite or nan where the value is finite: a cusp, or a zero that was strong."""
        if op.primitive == "strong_multiply":
            return any(v.id in self.suspect for v in op.operands)
        return self.is_singular(op, RULES[op.primitive].cusps)

    def look_back(self, op: Operation) -> None:
        """What follows of an operation for the cotangents of its operands."""
        if isinstance(op, Load):
            if op.out.id in self.unbounded:
                self.unbounded_memory.add(op.region.buffer)
        elif isinstance(op, Store | Scatter):
            if op.region.buffer in self.unbounded_memory:
                self.unbounded.add(op.value.id)
        elif isinstance(op, Apply) and (op.out.id in self.unbounded or self.is_steep(op)):
            self.unbounded.update(v.id for v in op.operands)


def singularities(operations: tuple[Operation, ...], buffers: Sequence[Buffer]) -> Singularities:
    """Requires operations in order; ensures that nothing is missing of `suspect` and `unbounded`, over loops too."""
    found = Singularities()
    every = list(walk(operations))
    suspect_missing(found, every, buffers)
    may_be = any(isinstance(op, Apply) and RULES[op.primitive].poles + RULES[op.primitive].cusps for op in every)
    if not (may_be or found.suspect or found.suspect_memory):
        for op in every:
            found.learn(op)
        return found
    before = -1
    while before != (before := len(found.suspect_memory) + len(found.steep_memory)):
        for op in every:
            found.learn(op)
    before = -1
    while before != (before := len(found.unbounded_memory)):
        for op in reversed(every):
            found.look_back(op)
    return found


def suspect_missing(found: Singularities, every: Sequence[Operation], buffers: Sequence[Buffer]) -> None:
    """Suspect arrays that hold nan, and what is tested for it to be left out, with all that this is made of.

    What is compared to leave elements out may be zero.
    """
    read = {op.region.buffer for op in every if isinstance(op, Load)}
    found.suspect_memory |= {id for id in read if not holds_finite(buffers[id].array)}
    found.suspect |= {op.out.id for op in every if isinstance(op, Constant) and not holds_finite(op.data)}
    users: dict[int, list[Operation]] = defaultdict(list)
    tests = [op for op in every if isinstance(op, Apply) and op.primitive in TESTS]
    known = {op.out.id for op in every if isinstance(op, Constant)}
    compared = [op for op in every if isinstance(op, Apply) and op.primitive in COMPARISONS]
    compared = [op for op in compared if any(v.id in known for v in op.operands)]
    for op in every if tests or compared else ():
        for value in op.inputs:
            users[value.id].append(op)
    found.doubted |= {v.id for op in compared if selects(op.out, users) for v in op.operands if v.id not in known}
    found.suspect |= {op.operands[0].id for op in tests if selects(op.out, users)}
    before = -1
    while found.suspect and before != (before := len(found.suspect) + len(found.suspect_memory)):
        for op in reversed(every):
            if isinstance(op, Apply) and op.out.id in found.suspect:
                found.suspect |= {v.id for v in op.operands if v.dtype.kind in "fc"}
            elif isinstance(op, Load) and op.out.id in found.suspect:
                found.suspect_memory.add(op.region.buffer)
            elif isinstance(op, Store | Scatter) and op.region.buffer in found.suspect_memory:
                found.suspect.add(op.value.id)


def holds_finite(array: np.ndarray | None) -> bool:
    if array is None or array.dtype.kind not in "fc":
        return True
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.sum(array * 0)))  # of which each is zero, or nan


def selects(flags: Value, users: Mapping[int, Sequence[Operation]]) -> bool:
    """Whether flags decide element by element, and do not merely become one answer (`np.isnan(x).any()`)."""
    for op in users[flags.id]:
        if not isinstance(op, Apply) or op.primitive.startswith("reduce"):
            continue
        if op.out.dtype.kind not in "biu" or op.primitive == "nonzero" or selects(op.out, users):
            return True
    return False


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
    given, other = op.operands if op.operands[0].id in linear else op.operands[::-1]
    if op.primitive == "divide":
        needed = given is op.operands[0] and not (other.id in facts.positive and other.id not in facts.suspect)
        return replace(op, primitive="strong_divide") if needed and given.id not in facts.positive else op
    both = unbounded and other.id not in facts.positive
    if not both and (other.id not in facts.suspect or given.id in facts.positive):
        return op
    return replace(op, primitive="strong_multiply", operands=(given, other), parameters=(("both", both),))
