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

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from ..tape.builder import rebuilt
from ..tape.tape import Apply, Constant, Operation, Tape, Value, walk


def multiply_by_reciprocals(tape: Tape) -> Tape:
    """Requires a verified tape; ensures the same operations up to the turn, and after it the same up to rounding."""
    reverse = tape.operations[tape.turn :]
    divisors = dict.fromkeys(op.operands[1].id for op in walk(reverse) if is_division(op))
    if not divisors:
        return tape
    builder = rebuilt(tape)
    known = {op.out.id: op for op in walk(tape.operations) if isinstance(op, Constant) and op.out.id in divisors}
    by: dict[int, Value] = {}  # in place of each divisor; once, before the reverse sweep
    for id in divisors:
        number = normal_reciprocal(known[id].data) if id in known else None
        if number is not None:
            builder.line = known[id].line
            by[id] = builder.constant(number)

    def write(op: Operation) -> None:
        op = builder.with_written_blocks(op, write)
        if is_division(op) and op.operands[1].id in by:
            number, divisor = op.operands
            op = replace(op, primitive="multiply", operands=(number, by[divisor.id]))
        builder.emit(op)

    swept = builder.block(reverse, write)
    return replace(tape, operations=(*tape.operations[: tape.turn], *builder.operations, *swept))


def is_division(op: Operation) -> TypeGuard[Apply]:
    return isinstance(op, Apply) and op.primitive == "divide"


def normal_reciprocal(number: np.ndarray) -> np.ndarray | None:
    """None of what is no floating scalar, or where it is no normal number."""
    if number.shape or number.dtype.kind != "f" or not number:
        return None
    with np.errstate(over="ignore"):
        found = np.asarray(1 / number[()], number.dtype)
    return found if np.finfo(number.dtype).tiny <= abs(found) < np.inf else None
