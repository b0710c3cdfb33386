"""Divisions of the reverse sweep by a number known at compile time, as products.

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
        number = reciprocal(known[id].data) if id in known else None
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


def reciprocal(number: np.ndarray) -> np.ndarray | None:
    """None of what is no floating scalar, or where it is no normal number."""
    if number.shape or number.dtype.kind != "f" or not number:
        return None
    with np.errstate(over="ignore"):
        found = np.asarray(1 / number[()], number.dtype)
    return found if np.finfo(number.dtype).tiny <= abs(found) < np.inf else None
