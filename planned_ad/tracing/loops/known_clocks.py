"""How often a `while` runs whose test is of floats that are known: `while t <= 5.0` where the body has `t += 0.1`.

What the test and the next floats are computed from is among what a pass over the body records. That is computed for
one iteration after the other, in numbers, as the program itself would: by the same operations, rounded as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...regions.affine import Affine, at
from ...rules import RULES
from ...tape.tape import Apply, Constant, IndexValue, Load, Operation, Value

MOST_ITERATIONS = 100_000
EXACT = frozenset(  # what is rounded to the same number everywhere
    ("add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "floor", "ceil", "minimum", "maximum")
    + ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "cast", "where")
    + ("logical_and", "logical_or", "logical_not")
)
Numbers = Mapping[int, np.ndarray]  # by the buffers that they are handed on in


class DecidedByData(Exception):
    """A number is computed from what is not known before the program runs."""


@dataclass(frozen=True)
class Clock:
    """A number that is handed on: what it is at first, and what an iteration leaves."""

    first: np.ndarray
    following: Value | None  # which is not known before the iteration is over
    key: Any  # of its place


@dataclass(frozen=True)
class RecordedBody:
    """What a pass has recorded so far of the body of a loop, of an `index`; `constants`: by the ids of their values."""

    operations: Sequence[Operation]
    index: int
    constants: Numbers
    clocks: Mapping[int, Clock]

    def outcome_at_first(self, test: Value) -> bool:
        """Of a test, in the first iteration."""
        steps = self.steps_to([test])
        return bool(self.computed([test], steps, 0, {id: clock.first for id, clock in self.clocks.items()})[0])

    def iterations(self, tests: Sequence[Value]) -> int:
        """How often all tests come out true, one iteration after the other."""
        for done, (outcomes, _) in enumerate(self.in_turn(tests)):
            if not all(outcomes):
                return done
        raise DecidedByData

    def numbers_after(self, count: int, tests: Sequence[Value]) -> Numbers:
        """What the clocks that the tests read are after so many iterations."""
        return next(itertools.islice(self.in_turn(tests), count, None))[1]

    def in_turn(self, tests: Sequence[Value]) -> Iterator[tuple[list[np.ndarray], Numbers]]:
        """How the tests come out, and what the clocks are before it, for one iteration after the other."""
        read: list[int] = []
        while True:  # of what they read, what that is in the next iteration matters too
            wanted = [*tests, *map(self.following, read)]
            steps = self.steps_to(wanted)
            more = {op.region.buffer for op in steps if isinstance(op, Load)}.difference(read)
            if not more:
                break
            read += more
        now = {id: self.clocks[id].first for id in read}
        for done in range(MOST_ITERATIONS):
            found = self.computed(wanted, steps, done, now)
            yield found[: len(tests)], now
            now = dict(zip(read, found[len(tests) :]))

    def following(self, clock: int) -> Value:
        found = self.clocks[clock].following
        assert found is not None
        return found

    def steps_to(self, values: Iterable[Value]) -> list[Operation]:
        """The operations on numbers that lead to these, in order."""
        made = {value.id: op for op in self.operations for value in op.outputs}
        needed: set[int] = set()
        waiting = [value.id for value in values]
        while waiting:
            id = waiting.pop()
            if id in needed or id in self.constants:
                continue
            match made.get(id):
                case Constant():
                    pass
                case IndexValue(expression=expression) if isinstance(expression, int) or self.is_of_own(expression):
                    pass
                case Load(out=out, region=region) if out.shape == () and region.buffer in self.clocks:
                    pass
                case Apply(out=out, operands=operands) as op if out.shape == () and op.primitive in EXACT:
                    waiting += [operand.id for operand in operands]
                case _:
                    raise DecidedByData
            needed.add(id)
        return [op for op in self.operations if any(value.id in needed for value in op.outputs)]

    def is_of_own(self, expression: Affine) -> bool:
        return all(index == self.index for index, _ in expression.terms)

    def computed(
        self, wanted: Iterable[Value], steps: Iterable[Operation], done: int, now: Numbers
    ) -> list[np.ndarray]:
        """These values in one iteration."""
        found = dict[int, np.ndarray]()

        def number(value: Value) -> np.ndarray:
            return found[value.id] if value.id in found else self.constants[value.id]

        with np.errstate(all="ignore"):
            for op in steps:
                match op:
                    case Constant():
                        found[op.out.id] = op.data
                    case IndexValue():
                        found[op.out.id] = np.asarray(at(op.expression, {self.index: done}), op.out.dtype)
                    case Load():
                        found[op.out.id] = now[op.region.buffer]
                    case Apply():
                        result = RULES[op.primitive].evaluate(*map(number, op.operands), **op.params)
                        found[op.out.id] = np.asarray(result, op.out.dtype)
        return list(map(number, wanted))
