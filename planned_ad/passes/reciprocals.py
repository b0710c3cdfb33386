"""Divisions by a number known at compile time, or again and again by the same one, as products.

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

Requires a verified tape; ensures the same numbers up to the turn, and after it the same up to rounding.

What the user wrote keeps the numbers that NumPy gives. A quotient by a number whose reciprocal is known takes three
products, two of them fused with a sum, which find it to the last bit (N. Brisebarre, J.-M. Muller, S. K. Raina,
"Accelerating correctly rounded floating-point division when the divisor is known in advance", IEEE Transactions on
Computers 53, 2004); where numbers are so large that these might not, it is divided, and a quotient below 1e-240 may be
off by one unit in its last place:

>>> tape = simplify(trace(lambda x: np.exp(x) / np.sum(x), (np.ones(100),)).tape)
>>> print(brief(multiply_by_reciprocals(tape)))
v0: float64[100] = x[...]
v1: float64[100] = exp(v0)
v2 = reduce_sum(v0, axes=(0,))
v4 = 1.0
v5 = nan
v6 = absolute(v2)
v7 = 7.888609052210118e-31
v8 = 1.2676506002282294e+30
v9: bool = greater(v6, v7)
v10: bool = less(v6, v8)
v11: bool = logical_and(v9, v10)
v12 = divide(v4, v2)
v13 = where(v11, v12, v5)
v3: float64[100] = refined_quotient(v1, v2, v13)
return v3

An adjoint is the sweep's own arithmetic: there a product with the reciprocal, off by one rounding, is as good, which
counts where each iteration of a loop waits for the one before. What is compared or rounded down there stays as it is:
of what the primal has computed, and the sweep computes again, the adjoint of an extremum asks which numbers are equal
to it.

Of a number that is known at run time only, the reciprocal is then that of the number times a power of two, which the
numerator is multiplied by as well: 1, but where the reciprocal itself would leave the range of normal numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace
from typing import TypeGuard

import numpy as np

from ..analysis.cost import hangs_on_a_bit
from ..regions.regions import Region, View, c_strides, is_ragged
from ..rules.elementwise import NEAR_ONE
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt
from ..tape.tape import Apply, Constant, Load, Loop, Operation, Tape, Value, walk

FLOAT = np.dtype(np.float64)
Lasting = Set[int]
NONE: Lasting = frozenset()
DIVISIONS = ("divide", "strong_divide")
FEWEST = 8  # divisions by the same number that are worth its reciprocal
LARGEST = 1 << 15  # array of divisors, beside which loops go through one of their reciprocals
LONG = 8  # functions whose products and sums take as long as a division
FEW = 64  # reciprocals that are kept from the primal on


def multiply_by_reciprocals(tape: Tape) -> Tape:
    """Requires a verified tape; ensures the same numbers up to the turn, and after it the same up to rounding."""
    if not any(is_division(op) for op in walk(tape.operations)):
        return tape
    primal, reverse = tape.operations[: tape.turn], tape.operations[tape.turn :]
    builder = rebuilt(tape)
    made = {value.id: op for op in walk(tape.operations) for value in op.outputs}
    around = {value.id for op in primal for value in op.outputs}
    rows = {op.operands[1].id for op in walk(tape.operations) if is_division(op)}
    bases: dict[int, tuple[Value, View]] = {}
    dividing = _Dividing(builder, made, rows, bases, decisive_values(reverse))
    refining = _Refining(builder, made, rows, bases, dividing, dividing.early(reverse), hidden_divisions(primal))
    kept = refining.block(primal, set(), {})
    swept = dividing.block(reverse, around, dividing.found)
    return replace(tape, operations=(*kept, *dividing.numbers, *swept), turn=len(kept))


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """`x / d` is `x * scale * number`; no scale where that is 1 for certain."""

    number: Value
    scale: Value | None = None


@dataclass
class _Rewriting:
    """Of one sweep, whose reciprocals are made in front of what divides."""

    builder: TapeBuilder
    made: dict[int, Operation]
    divisors: set[int]
    bases: dict[int, tuple[Value, View]]  # of divisors that are read again and again from memory: each once, and how

    def block(
        self, operations: Iterable[Operation], around: set[int], known: dict[int, Reciprocal], before: Lasting = NONE
    ) -> tuple[Operation, ...]:
        """One block; `around` are the values defined before it, `known` the reciprocals that it finds.

        `before`: of the values around those that are the same in all iterations of a loop that it is in.
        """
        defined, known = set(around), dict(known)

        def write() -> None:
            for op in operations:
                if op.blocks:
                    lasting = defined if isinstance(op, Loop) else before
                    for inner in walk(op.body) if isinstance(op, Loop) else ():
                        if self.may_round(inner) and self.divisor(inner).id in defined:
                            self.find(inner, known, True)
                    self.builder.emit(op.with_blocks(*(self.block(b, defined, known, lasting) for b in op.blocks)))
                elif self.may_round(op):
                    self.divide(op, self.find(op, known, self.divisor(op).id in before))
                else:
                    self.builder.emit(op)
                defined.update(value.id for value in op.outputs)
                defined.update(value.id for value in self.follow(op))

        return self.builder.recorded(write)

    def follow(self, op: Operation) -> Iterable[Value]:
        """What is recorded behind an operation, of which it gives the divisor."""
        if not isinstance(op, Load) or op.out.id not in self.divisors or not is_spread(op.region.view):
            return ()
        view = op.region.view
        kept = [axis for axis, stride in enumerate(view.strides) if stride != 0]
        self.builder.line = op.line
        shape = tuple(view.shape[axis] for axis in kept)
        base = self.builder.load(
            Region(op.region.buffer, View(view.offset, shape, tuple(view.strides[k] for k in kept)))
        )
        strides = [0] * len(view.shape)
        for axis, stride in zip(kept, c_strides(shape)):
            strides[axis] = stride
        self.bases[op.out.id] = base, View(0, view.shape, tuple(strides))
        return (base,)

    def may_round(self, op: Operation) -> TypeGuard[Apply]:
        raise NotImplementedError

    def find(self, op: Apply, known: dict[int, Reciprocal], again: bool) -> Reciprocal | None:
        """The reciprocal for a division, made here if need be; `again`: where more divisions by the same follow."""
        raise NotImplementedError

    def divide(self, op: Apply, by: Reciprocal | None) -> None:
        raise NotImplementedError

    def divisor(self, op: Apply) -> Value:
        """What is divided by, once."""
        return self.shown(op.operands[1])[0]

    def shown(self, divisor: Value) -> tuple[Value, View | None]:
        """What a divisor shows, perhaps again and again, and how."""
        made = self.made.get(divisor.id)
        if isinstance(made, Apply) and made.primitive == "view" and made.operands[0].size < divisor.size:
            return made.operands[0], made.params["view"]
        return self.bases.get(divisor.id, (divisor, None))

    def like(self, factor: Value, divisor: Value) -> Value:
        """`factor`, as `divisor` shows what it is the factor for."""
        base, view = self.shown(divisor)
        if view is None or factor.shape != base.shape:  # or a number, which is one for all
            return factor
        return self.builder.view(factor, view)


@dataclass
class _Dividing(_Rewriting):
    """The rewriting of a reverse sweep."""

    decisive: frozenset[int]
    constants: dict[int, Reciprocal | None] = field(default_factory=dict)
    numbers: list[Operation] = field(default_factory=list)  # the reciprocals of constants, before the sweep
    found: dict[int, Reciprocal] = field(default_factory=dict)  # in front of it, where it was computed what divides

    def early(self, operations: tuple[Operation, ...]) -> set[int]:
        """What many numbers are divided by: the reciprocals of few come before the arrays of the primal."""
        found = set()
        for op in filter(self.may_round, walk(operations)):
            shown, _ = self.shown(op.operands[1])
            made = self.made.get(shown.id)
            size = shown.size
            if isinstance(made, Load) and is_spread(made.region.view):
                size = math.prod(n for n, stride in zip(shown.shape, made.region.view.strides) if stride != 0)
            if not isinstance(made, Constant) and math.prod(op.out.shape) // max(size, 1) >= FEWEST:
                found.add(shown.id)
        return found

    def may_round(self, op: Operation) -> TypeGuard[Apply]:
        return is_division(op) and op.out.id not in self.decisive

    def find(self, op: Apply, known: dict[int, Reciprocal], again: bool) -> Reciprocal | None:
        """The reciprocal for a division, made here if need be; `again`: where more divisions by the same follow."""
        divisor = self.divisor(op)
        made = self.made.get(divisor.id)
        if isinstance(made, Constant):
            return self.constant(made)
        if divisor.id not in known:
            if (not again and divisions(op, divisor) < FEWEST) or is_ragged(divisor.shape):
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


@dataclass
class _Refining(_Rewriting):
    """The rewriting of what the user wrote: of arrays, where the quotients of numbers are found side by side."""

    dividing: _Dividing
    early: set[int]  # of what it finds reciprocals, those that come first, outside of all blocks
    hidden: set[int]  # quotients that are found while a function of them is computed
    depth: int = 0

    def block(
        self, operations: Iterable[Operation], around: set[int], known: dict[int, Reciprocal], before: Lasting = NONE
    ) -> tuple[Operation, ...]:
        self.depth += 1
        found = super().block(operations, around, known, before)
        self.depth -= 1
        return found

    def follow(self, op: Operation) -> Iterable[Value]:
        bases = super().follow(op)
        if self.depth == 1 and any(out.id in self.early for out in op.outputs):
            self.builder.line = op.line
            for value in bases or op.outputs:
                if value.size <= FEW and not is_ragged(value.shape):
                    self.dividing.found[value.id] = self.dividing.reciprocal(value)
        return bases

    def may_round(self, op: Operation) -> TypeGuard[Apply]:
        if not isinstance(op, Apply) or op.primitive != "divide" or op.out.id in self.hidden:
            return False
        return op.out.shape != () and op.out.dtype == np.float64

    def find(self, op: Apply, known: dict[int, Reciprocal], again: bool) -> Reciprocal | None:
        divisor = self.divisor(op)
        if divisor.id not in known:
            is_often = (again and divisor.size <= LARGEST) or divisions(op, divisor) >= FEWEST
            if not is_often or is_ragged(op.out.shape) or is_ragged(divisor.shape):
                return None
            self.builder.line = op.line
            known[divisor.id] = Reciprocal(self.reciprocal(divisor))
        return known[divisor.id]

    def reciprocal(self, divisor: Value) -> Value:
        """Nan where it is not near one."""
        apply, made = self.builder.apply, self.made.get(divisor.id)
        one, none = (self.builder.constant(number, FLOAT) for number in (1.0, np.nan))
        if isinstance(made, Constant) and made.data.shape == () and 1 / NEAR_ONE < abs(made.data) < NEAR_ONE:
            return self.builder.constant(1.0 / made.data[()], FLOAT)
        size = apply("absolute", divisor)
        low, high = (self.builder.constant(number, FLOAT) for number in (1 / NEAR_ONE, NEAR_ONE))
        is_near = apply("logical_and", apply("greater", size, low), apply("less", size, high))
        return apply("where", is_near, apply("divide", one, divisor), none)

    def divide(self, op: Apply, by: Reciprocal | None) -> None:
        if by is None:
            self.builder.emit(op)
            return
        numerator, divisor = op.operands
        factors = (numerator, divisor, self.like(by.number, divisor))
        self.builder.line = op.line
        self.builder.emit(replace(op, primitive="refined_quotient", operands=factors, parameters=()))


def hidden_divisions(operations: tuple[Operation, ...]) -> set[int]:
    """The quotients of which functions are computed, element by element: `np.exp((x - m) / s)`.

    A processor divides beside its products and sums, of which such a function has so many that it takes no longer.
    """
    found: set[int] = set()
    for op in reversed(list(walk(operations))):
        if not isinstance(op, Apply):
            continue
        rule = RULES[op.primitive]
        is_long = rule.kind == "elementwise" and rule.cost >= LONG
        if is_long or (op.out.id in found and (rule.kind == "elementwise" or op.primitive == "view")):
            found.update(v.id for v in op.operands if v.size == op.out.size)
    return found


def is_spread(view: View) -> bool:
    """Whether it shows the same numbers again and again, the same for each."""
    return all(type(n) is int for n in view.shape) and any(s == 0 and n > 1 for n, s in zip(view.shape, view.strides))


def divisions(op: Apply, divisor: Value) -> int:
    """How many there are by each number of a divisor."""
    return math.prod(op.out.shape) // max(divisor.size, 1)


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
