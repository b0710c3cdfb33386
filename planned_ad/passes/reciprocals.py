"""Divisions of the reverse sweep by a number known at compile time, or again and again by the same one, as products.

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
loop waits for the one before. What is compared or rounded down there stays as it is: of what the primal has computed,
and the sweep computes again, the adjoint of an extremum asks which numbers are equal to it.

Of a number that is known at run time only, the reciprocal is that of the number times a power of two, which the
numerator is multiplied by as well: 1, but where the reciprocal itself would leave the range of normal numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeGuard

import numpy as np

from ..analysis.cost import hangs_on_a_bit
from ..regions.regions import is_ragged
from ..tape.builder import TapeBuilder, rebuilt
from ..tape.tape import Apply, Constant, Loop, Operation, Tape, Value, walk

DIVISIONS = ("divide", "strong_divide")
FEWEST = 8  # divisions by the same number that are worth its reciprocal


def multiply_by_reciprocals(tape: Tape) -> Tape:
    """Requires a verified tape; ensures the same operations up to the turn, and after it the same up to rounding."""
    reverse = tape.operations[tape.turn :]
    if not any(is_division(op) for op in walk(reverse)):
        return tape
    builder = rebuilt(tape)
    made = {value.id: op for op in walk(tape.operations) for value in op.outputs}
    around = {value.id for op in tape.operations[: tape.turn] for value in op.outputs}
    dividing = _Dividing(builder, made, decisive_values(reverse))
    swept = dividing.block(reverse, around, {}, False)
    return replace(tape, operations=(*tape.operations[: tape.turn], *dividing.numbers, *swept))


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """`x / d` is `x * scale * number`; no scale where that is 1 for certain."""

    number: Value
    scale: Value | None = None


@dataclass
class _Dividing:
    """The rewriting of one reverse sweep."""

    builder: TapeBuilder
    made: dict[int, Operation]
    decisive: frozenset[int]
    constants: dict[int, Reciprocal | None] = field(default_factory=dict)
    numbers: list[Operation] = field(default_factory=list)  # the reciprocals of constants, before the sweep

    def block(
        self, operations: Iterable[Operation], around: set[int], known: dict[int, Reciprocal], in_loop: bool
    ) -> tuple[Operation, ...]:
        """One block; `around` are the values defined before it, `known` the reciprocals that it finds."""
        defined, known = set(around), dict(known)

        def write() -> None:
            for op in operations:
                if op.blocks:
                    inside = in_loop or isinstance(op, Loop)
                    for inner in itertools.chain.from_iterable(map(walk, op.blocks)):
                        if self.may_round(inner) and self.divisor(inner).id in defined:
                            self.find(inner, known, inside)
                    self.builder.emit(op.with_blocks(*(self.block(b, defined, known, inside) for b in op.blocks)))
                elif self.may_round(op):
                    self.divide(op, self.find(op, known, in_loop and self.divisor(op).id in around))
                else:
                    self.builder.emit(op)
                defined.update(value.id for value in op.outputs)

        return self.builder.recorded(write)

    def may_round(self, op: Operation) -> TypeGuard[Apply]:
        return is_division(op) and op.out.id not in self.decisive

    def divisor(self, op: Apply) -> Value:
        """What is divided by, once."""
        divisor = op.operands[1]
        made = self.made.get(divisor.id)
        if isinstance(made, Apply) and made.primitive == "view" and made.operands[0].size < divisor.size:
            return made.operands[0]
        return divisor

    def find(self, op: Apply, known: dict[int, Reciprocal], again: bool) -> Reciprocal | None:
        """The reciprocal for a division, made here if need be; `again`: where more divisions by the same follow."""
        divisor = self.divisor(op)
        made = self.made.get(divisor.id)
        if isinstance(made, Constant):
            return self.constant(made)
        if divisor.id not in known:
            times = FEWEST if again else math.prod(op.out.shape) // max(divisor.size, 1)
            if times < FEWEST or is_ragged(divisor.shape):
                return None
            self.builder.line = op.line
            known[divisor.id] = self.reciprocal(divisor)
        return known[divisor.id]

    def constant(self, made: Constant) -> Reciprocal | None:
        number = normal_reciprocal(made.data)
        if made.out.id not in self.constants:
            found = None
            if number is not None:
                found = Reciprocal(self.builder.new_value((), number.dtype))
                self.numbers.append(Constant(out=found.number, data=number, line=made.line))
            self.constants[made.out.id] = found
        return self.constants[made.out.id]

    def reciprocal(self, divisor: Value) -> Reciprocal:
        """With a scale that keeps the reciprocal normal, wherever there is a quotient to be had."""
        apply, dtype = self.builder.apply, divisor.dtype
        limits = np.finfo(dtype)
        factor, least = 2.0 ** (limits.nmant + 2), 4.0 * float(limits.tiny)

        def number(x: float) -> Value:
            return self.builder.constant(x, dtype)

        size = apply("absolute", divisor)
        scale = apply("where", apply("less", size, number(least)), number(factor), number(1.0))
        scale = apply("where", apply("greater", size, number(1.0 / least)), number(1.0 / factor), scale)
        return Reciprocal(apply("divide", number(1.0), apply("multiply", divisor, scale)), scale)

    def divide(self, op: Apply, by: Reciprocal | None) -> None:
        if by is None:
            self.builder.emit(op)
            return
        self.builder.line = op.line
        numerator, divisor = op.operands
        factors = [self.like(factor, divisor) for factor in (by.scale, by.number) if factor is not None]
        for factor in factors[:-1]:
            numerator = self.builder.apply("multiply", numerator, factor)
        name, parameters = ("multiply", ()) if op.primitive == "divide" else ("strong_multiply", (("both", False),))
        self.builder.emit(replace(op, primitive=name, operands=(numerator, factors[-1]), parameters=parameters))

    def like(self, factor: Value, divisor: Value) -> Value:
        """`factor`, as `divisor` shows what it is the factor for."""
        made = self.made.get(divisor.id)
        if factor.shape == divisor.shape or (not factor.shape and divisor.shape == ()):
            return factor
        if isinstance(made, Apply) and made.primitive == "view" and made.operands[0].shape == factor.shape:
            return self.builder.view(factor, made.params["view"])
        return factor


def decisive_values(operations: Iterable[Operation]) -> frozenset[int]:
    """The values whose last bit may decide something."""
    found: set[int] = set()
    for op in reversed([op for outer in operations for op in walk((outer,))]):
        if isinstance(op, Apply) and (op.out.id in found or hangs_on_a_bit(op.primitive, op.out.dtype)):
            found.update(v.id for v in op.operands)
    return frozenset(found)


def is_division(op: Operation) -> TypeGuard[Apply]:
    return isinstance(op, Apply) and op.primitive in DIVISIONS and op.out.dtype.kind == "f"


def normal_reciprocal(number: np.ndarray) -> np.ndarray | None:
    """None of what is no floating scalar, or where it is no normal number."""
    if number.shape or number.dtype.kind != "f" or not number:
        return None
    with np.errstate(over="ignore"):
        found = np.asarray(1 / number[()], number.dtype)
    return found if np.finfo(number.dtype).tiny <= abs(found) < np.inf else None
