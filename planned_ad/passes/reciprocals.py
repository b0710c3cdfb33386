"""Divisions of the reverse sweep by a number known at compile time, as products.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = simplify(reverse(trace(lambda t: np.exp(t) / 3.0, (2.0,)).tape, accumulate=True, loss=False))
>>> print(brief(tape))
v0 = t[...]
v1 = exp(v0)
v2 = 3.0
# reverse sweep
v4 = cotangent#2[...]
v5 = divide(v4, v2)
v6 = multiply(v5, v1)
dt#1[...] += v6
>>> print(brief(multiply_by_reciprocals(tape)))
v0 = t[...]
v1 = exp(v0)
v2 = 3.0
# reverse sweep
v7 = 0.3333333333333333
v4 = cotangent#2[...]
v5 = multiply(v4, v7)
v6 = multiply(v5, v1)
dt#1[...] += v6

Requires a verified tape; ensures the same operations up to the turn, and after it the same up to rounding.

What the user wrote keeps the numbers that NumPy gives. An adjoint is the sweep's own arithmetic: there a product with
the reciprocal, off by one rounding, is as good, and takes a quarter of the time, which counts where each iteration of a
loop waits for the one before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ..tape.tape import Apply, Constant, Operation, Tape, Value, walk


def multiply_by_reciprocals(tape: Tape) -> Tape:
    """Requires a verified tape; ensures the same operations up to the turn, and after it the same up to rounding."""
    reverse = tape.operations[tape.turn :]
    if not any(isinstance(op, Apply) and op.primitive == "divide" for op in walk(reverse)):
        return tape
    found = Reciprocals(tape)
    operations = found.block(reverse)
    return replace(tape, operations=(*tape.operations[: tape.turn], *found.constants, *operations))


@dataclass
class Reciprocals:
    """The constants that take the place of divisors; each is there once, before the reverse sweep."""

    tape: Tape
    constants: list[Constant] = field(default_factory=list)
    of_divisor: dict[int, Value | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        operations = list(walk(self.tape.operations))
        self.known = {op.out.id: op for op in operations if isinstance(op, Constant) and op.out.shape == ()}
        self.next_id = 1 + max(value.id for op in operations for value in op.outputs)

    def block(self, operations: Iterable[Operation]) -> tuple[Operation, ...]:
        return tuple(map(self.visit, operations))

    def visit(self, op: Operation) -> Operation:
        if op.blocks:
            return op.with_blocks(*map(self.block, op.blocks))
        if not isinstance(op, Apply) or op.primitive != "divide":
            return op
        number, divisor = op.operands
        by = self.reciprocal(divisor)
        return op if by is None else replace(op, primitive="multiply", operands=(number, by))

    def reciprocal(self, divisor: Value) -> Value | None:
        """None where it is not known, or is no normal number."""
        if divisor.id not in self.of_divisor:
            made = self.known.get(divisor.id)
            self.of_divisor[divisor.id] = None if made is None else self.constant(made)
        return self.of_divisor[divisor.id]

    def constant(self, made: Constant) -> Value | None:
        dtype = made.out.dtype
        if dtype.kind != "f" or not made.data[()]:
            return None
        with np.errstate(over="ignore"):
            data = np.asarray(1 / made.data[()], dtype)
        if not np.finfo(dtype).tiny <= abs(data) < np.inf:
            return None
        out = Value(id=self.next_id, shape=(), dtype=dtype)
        self.next_id += 1
        self.constants.append(Constant(out=out, data=data, line=made.line))
        return out
