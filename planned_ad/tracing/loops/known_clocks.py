"""How often a `while` runs whose test is of floats that are known: `while t <= 5.0` where the body has `t += 0.1`.

What the test and the next floats are computed from is among what a pass over the body records. That is computed for
one iteration after the other, in numbers, as the program itself would: by the same operations, rounded as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...regions.affine import Affine
from ...tape.tape import Apply, Constant, IndexValue, Load, Operation, Value

MOST_ITERATIONS = 100_000
EXACT = {  # what is rounded to the same number everywhere, as Python writes it
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1}", "divide": "{0} / {1}", "negative": "-{0}",
    "absolute": "abs({0})", "sqrt": "math.sqrt({0})", "minimum": "{0} if {0} <= {1} or {0} != {0} else {1}",
    "maximum": "{0} if {0} >= {1} or {0} != {0} else {1}", "less": "{0} < {1}", "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}", "greater_equal": "{0} >= {1}", "equal": "{0} == {1}", "not_equal": "{0} != {1}",
    "where": "{1} if {0} else {2}", "logical_and": "bool({0} and {1})", "logical_or": "bool({0} or {1})",
    "logical_not": "not {0}",
}  # fmt: skip
KINDS = {np.dtype(float): "float", np.dtype(np.int64): "int", np.dtype(bool): "bool"}
Numbers = Mapping[int, Any]  # by the buffers that they are handed on in


class DecidedByData(Exception):
    """A number is computed from what is not known before the program runs."""


@dataclass(frozen=True)
class Clock:
    """A number that is handed on: what it is at first, and what an iteration leaves."""

    first: Any
    following: Value | None  # which is not known before the iteration is over
    key: Any  # of its place


@dataclass(frozen=True)
class RecordedBody:
    """What a pass has recorded so far of the body of a loop, of an `index`; `constants`: by the ids of their values."""

    operations: Sequence[Operation]
    index: int
    constants: Mapping[int, np.ndarray]
    clocks: Mapping[int, Clock]

    def outcome_at_first(self, test: Value) -> bool:
        """Of a test, in the first iteration."""
        return bool(self.run([test], [], 1)[0])

    def iterations(self, tests: Sequence[Value]) -> int:
        """How often all tests come out true, one iteration after the other."""
        done: int = self.run(tests, self.read_by(tests), MOST_ITERATIONS)[0]
        if done == MOST_ITERATIONS:
            raise DecidedByData
        return done

    def numbers_after(self, count: int, tests: Sequence[Value]) -> Numbers:
        """What the clocks that the tests read are after so many iterations, in which these come out true."""
        read = self.read_by(tests)
        return dict(zip(read, self.run(tests, read, count)[1]))

    def read_by(self, tests: Sequence[Value]) -> list[int]:
        """The clocks on which it depends how the tests come out, now or in later iterations."""
        read: list[int] = []
        while True:
            steps = self.steps_to([*tests, *map(self.following, read)])
            more = {op.region.buffer for op in steps if isinstance(op, Load)}.difference(read)
            if not more:
                return read
            read += more

    def run(self, tests: Sequence[Value], read: Sequence[int], most: int) -> tuple[int, list[Any]]:
        """In how many iterations all tests are true, at most so many, and what these clocks are then."""
        steps = self.steps_to([*tests, *map(self.following, read)])
        used = {op.region.buffer for op in steps if isinstance(op, Load)}
        held = {f"v{id}": data.item() for id, data in self.constants.items() if data.shape == ()}
        held |= {f"c{id}": self.clocks[id].first for id in used.union(read)}
        lines = [f"    v{op.outputs[0].id} = {self.written(op)}" for op in steps]
        lines += [f"    if not ({' and '.join(f'v{test.id}' for test in tests)}): break"]
        lines += [
            f"    {', '.join(f'c{id}' for id in read)} = {', '.join(f'v{self.following(id).id}' for id in read)}"
        ] * bool(read)
        text = "\n".join([f"while done < {most}:", *lines, "    done += 1"])
        names: dict[str, Any] = {**held, "math": math, "done": 0}
        try:
            exec(text, names)
        except (ArithmeticError, ValueError):  # which the program may handle
            raise DecidedByData from None
        return names["done"], [names[f"c{id}"] for id in read]

    def written(self, op: Operation) -> str:
        """What an operation computes, as Python writes it."""
        match op:
            case Constant():
                return repr(op.data.item()) if np.isfinite(op.data) else f"float('{op.data.item()}')"
            case IndexValue(expression=expression):
                constant, terms = (
                    (expression, ()) if isinstance(expression, int) else (expression.constant, expression.terms)
                )
                return " + ".join([str(constant), *(f"{factor} * done" for _, factor in terms)])
            case Load(region=region):
                return f"c{region.buffer}"
            case Apply(primitive="cast", operands=operands, out=out):
                return f"{KINDS[out.dtype]}(v{operands[0].id})"
            case Apply(primitive=primitive, operands=operands):
                return EXACT[primitive].format(*(f"v{operand.id}" for operand in operands))
        raise DecidedByData

    def following(self, clock: int) -> Value:
        found = self.clocks[clock].following
        if found is None:
            raise DecidedByData
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
                case Apply(out=out, operands=operands) as op if op.primitive == "cast" or op.primitive in EXACT:
                    if out.shape != () or any(v.dtype not in KINDS for v in (out, *operands)):
                        raise DecidedByData
                    waiting += [operand.id for operand in operands]
                case _:
                    raise DecidedByData
            needed.add(id)
        return [op for op in self.operations if any(value.id in needed for value in op.outputs)]

    def is_of_own(self, expression: Affine) -> bool:
        return all(index == self.index for index, _ in expression.terms)
