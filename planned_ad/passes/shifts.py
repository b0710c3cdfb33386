"""The derivative by a largest number that only shifts is zero, and is not computed.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def log_sum_exp(x):
...     m = np.max(x)
...     return m + np.log(np.sum(np.exp(x - m)))
>>> tape = simplify(reverse(trace(log_sum_exp, (np.ones(9),)).tape))
>>> print(brief(tape))
v0: float64[9] = x[...]
v1 = reduce_max(v0, axes=(0,))
v2: float64[9] = subtract(v0, v1)
v3: float64[9] = exp(v2)
v4 = reduce_sum(v3, axes=(0,))
# reverse sweep
v8 = 1.0
v9 = divide(v8, v4)
v12: float64[9] = multiply(v9, v3)
v13: float64[9] = negative(v12)
v14 = reduce_sum(v13, axes=(0,))
v15 = add(v8, v14)
v18: bool[9] = equal(v0, v1)
v19: float64[9] = cast(v18, dtype=float64)
v20 = reduce_sum(v19, axes=(0,))
v21 = strong_divide(v15, v20)
v24: float64[9] = multiply(v19, v21)
v25: float64[9] = add(v12, v24)
dx#1[...] = v25
>>> print(brief(simplify(without_shifts(tape))))
v0: float64[9] = x[...]
v1 = reduce_max(v0, axes=(0,))
v2: float64[9] = subtract(v0, v1)
v3: float64[9] = exp(v2)
v4 = reduce_sum(v3, axes=(0,))
# reverse sweep
v8 = 1.0
v9 = divide(v8, v4)
v12: float64[9] = multiply(v9, v3)
dx#1[...] = v12

Requires a verified tape; ensures the same operations up to the turn, and after it the same in real arithmetic.

The cotangent of a largest (or smallest) number is shared by those that are as large: it is what is divided by their
number. `analysis.sums_of_products` finds it to be zero; in floating arithmetic it is a rounding error.
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.sums_of_products import SumsOfProducts
from ..tape.builder import TapeBuilder, rebuilt
from ..tape.tape import Apply, Operation, Store, Tape, Value, renamed, walk
from .rewrite import contiguous_repeat

KEEP_ZERO = {"view", "negative", "reduce_sum", "cast", "divide", "strong_divide"}  # by the first operand
MULTIPLY = {"multiply", "strong_multiply", "contract"}  # zero where either is: a cotangent of zero gives zero


def without_shifts(tape: Tape) -> Tape:
    """Requires a verified tape; ensures the same up to the turn, and after it the same in real arithmetic."""
    reverse = tape.operations[tape.turn :]
    made = {value.id: op for op in walk(tape.operations) for value in op.outputs}
    zeros = {op.out.id for op in walk(reverse) if isinstance(op, Apply) and shares_zero(op, made)}
    if not zeros:
        return tape
    writer = ZeroWriter(rebuilt(tape), zeros)
    swept = writer.builder.block(reverse, writer.write)
    results = tuple(map(writer.named, tape.results))
    return replace(
        tape, operations=(*tape.operations[: tape.turn], *writer.builder.operations, *swept), results=results
    )


def shares_zero(op: Apply, made: dict[int, Operation]) -> bool:
    """Whether it divides the cotangent of an extremum, which is zero, by the number of those that are it."""
    if op.primitive not in ("divide", "strong_divide"):
        return False
    cotangent, number = op.operands
    counted = made.get(number.id)
    if not isinstance(counted, Apply) or counted.primitive != "reduce_sum":
        return False
    (flags,) = counted.operands
    cast = made.get(flags.id)
    is_count = isinstance(cast, Apply) and cast.primitive == "cast" and cast.operands[0].dtype.kind == "b"
    return is_count and SumsOfProducts(made, flags.shape, counted.params["axes"]).vanishes(cotangent)


class ZeroWriter:
    """Writes a sweep in which some values are zero."""

    def __init__(self, builder: TapeBuilder, zeros: set[int]) -> None:
        self.builder, self.zeros = builder, zeros
        self.renamed: dict[int, Value] = {}

    def named(self, value: Value) -> Value:
        return self.renamed.get(value.id, value)

    def write(self, op: Operation) -> None:
        op = self.builder.with_written_blocks(op, self.write)
        if isinstance(op, Apply) and self.is_settled(op):
            return
        self.builder.line = op.line
        if isinstance(op, Store) and op.accumulate and op.value.id in self.zeros:
            return
        zeros = {value.id: self.zero_like(value) for value in op.inputs if value.id in self.zeros}
        self.builder.emit(renamed(op, self.renamed | zeros))

    def zero_like(self, value: Value) -> Value:
        zero = self.builder.constant(0, value.dtype)
        return self.builder.apply("view", zero, view=contiguous_repeat(value.shape)) if value.shape else zero

    def is_settled(self, op: Apply) -> bool:
        """Whether nothing has to be computed for it."""
        found = [v.id in self.zeros for v in op.operands]
        if op.out.id in self.zeros:
            return True
        if (op.primitive in KEEP_ZERO and found[0]) or (op.primitive in MULTIPLY and any(found)):
            self.zeros.add(op.out.id)
            return True
        if op.primitive in ("add", "subtract") and any(found):
            kept = self.named(op.operands[found.index(False)]) if not all(found) else None
            if kept is None:
                self.zeros.add(op.out.id)
                return True
            if kept.shape == op.out.shape and not (op.primitive == "subtract" and found[0]):
                self.renamed[op.out.id] = kept
                return True
        return False
