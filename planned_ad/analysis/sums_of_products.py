"""What a sum along axes is made of: products of numbers of the rows, and of sums of products along the rows.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def difference(x):
...     e = np.exp(x)
...     s = np.sum(e, axis=1)
...     return s - np.sum(e * (x / s[:, None]), axis=1) * s / np.sum(x * e, axis=1) * s
>>> tape = simplify(primal(trace(difference, (np.ones((3, 4)),)).tape))
>>> print(brief(tape))
v0: float64[3, 4] = x[...]
v1: float64[3, 4] = exp(v0)
v2: float64[3] = reduce_sum(v1, axes=(1,))
v4: float64[3, 4] = view(v2, view={+0 [3, 4] by [1, 0]})
v5: float64[3, 4] = divide(v0, v4)
v6: float64[3, 4] = multiply(v1, v5)
v7: float64[3] = reduce_sum(v6, axes=(1,))
v8: float64[3] = multiply(v7, v2)
v9: float64[3, 4] = multiply(v0, v1)
v10: float64[3] = reduce_sum(v9, axes=(1,))
v11: float64[3] = divide(v8, v10)
v12: float64[3] = multiply(v11, v2)
v13: float64[3] = subtract(v2, v12)
result#1[...] = v13
>>> made = {v.id: op for op in tape.operations for v in op.outputs}
>>> SumsOfProducts(made, (3, 4), (1,)).vanishes(made[13].out)
True

In real arithmetic, where nothing is divided by zero: rounding, and what is not finite, are left out of account. What is
broadcast along the axes is a factor of the whole sum. (Sums are told apart by their factors, and those by the values
that they are: no common factors are looked for inside of functions.)
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import reduce

from ..regions.regions import View, contiguous
from ..tape.tape import Apply, Constant, Operation, Value

MOST_TERMS = 16
DEEPEST = 100  # operations on the way to a value: those beyond are numbers of which nothing is known

Atom = tuple  # ("row", id), ("number", id) or ("sum", product): along the axes
Product = frozenset  # of pairs: an atom, and how often it is a factor
Terms = Mapping[Product, float]  # products with their coefficients

ONE: Product = frozenset()
NOTHING: Terms = {}


class SumsOfProducts:
    """Values of a shape, and of that shape without some axes, as sums of products. `made`: what makes each value."""

    def __init__(self, made: Mapping[int, Operation], shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        self.made, self.shape, self.axes = made, shape, axes
        self.rows = tuple(n for k, n in enumerate(shape) if k not in axes)
        self.count = math.prod(self.rows)
        self.known: dict[tuple[int, bool], Terms] = {}
        self.depth = 0

    def vanishes(self, value: Value) -> bool:
        """Whether a value with a number for each row is zero in real arithmetic."""
        return not self.terms(value, False)

    def terms(self, value: Value, is_whole: bool) -> Terms:
        """`is_whole`: of the whole shape, where a factor may be broadcast along the axes."""
        is_whole = is_whole and value.shape != ()
        key = value.id, is_whole
        if key not in self.known:
            self.known[key] = {atom("number" if is_whole else "row", value.id): 1.0}  # should it be met in its own
            self.depth += 1
            found = self.find(value, is_whole) if self.depth < DEEPEST else None
            self.depth -= 1
            if found is not None and len(found) <= MOST_TERMS:
                self.known[key] = found
        return self.known[key]

    def find(self, value: Value, is_whole: bool) -> Terms | None:
        op = self.made.get(value.id)
        if isinstance(op, Constant) and op.data.ndim == 0:
            return {ONE: float(op.data)} if op.data else {}
        if not isinstance(op, Apply):
            return None
        name = op.primitive.removeprefix("strong_")
        if name == "view":
            return self.seen(op, is_whole)
        if name == "reduce_sum":
            (operand,) = op.operands
            is_along = not is_whole and operand.shape == self.shape and op.params["axes"] == self.axes
            return self.summed(self.terms(operand, True)) if is_along else None
        if name not in ("negative", "add", "subtract", "multiply", "divide"):
            return None
        first, *others = (self.terms(operand, is_whole) for operand in op.operands)
        if name == "negative":
            return scaled_terms(first, -1.0)
        (second,) = others
        if name == "multiply":
            return terms_product(first, second)
        if name == "divide":
            return terms_quotient(first, second)
        return terms_sum(first, second if name == "add" else scaled_terms(second, -1.0))

    def seen(self, op: Apply, is_whole: bool) -> Terms | None:
        """A view: rows in another shape, or broadcast along the axes."""
        (operand,), view = op.operands, op.params["view"]
        if operand.shape == () and view.offset == 0:
            return self.terms(operand, False)
        if not isinstance(operand.size, int) or operand.size != self.count or view.offset != 0:
            return None
        if not is_whole and view.size != self.count:  # a part of the rows, as `z[0]`
            return None
        expected = list(contiguous(self.rows if is_whole else view.shape).strides)
        for axis in sorted(self.axes) if is_whole else ():
            expected.insert(axis, 0)
        return self.terms(operand, False) if same_places(view, expected, self.shape if is_whole else None) else None

    def summed(self, terms: Terms) -> Terms:
        """The sum along the axes."""
        found: defaultdict[Product, float] = defaultdict(float)
        for product, coefficient in terms.items():
            along = frozenset((a, n) for a, n in product if a[0] == "number")
            rest = Counter(dict(product - along))
            if along:
                rest[("sum", along)] += 1
            else:
                coefficient *= math.prod(self.shape[axis] for axis in self.axes)
            found[as_product(rest)] += coefficient
        return cleared(found)


def same_places(view: View, strides: list[int], shape: tuple[int, ...] | None) -> bool:
    """Whether a view has these strides, where they matter."""
    if shape is not None and view.shape != shape:
        return False
    return all(n == 1 or s == t for n, s, t in zip(view.shape, view.strides, strides, strict=True))


def atom(kind: str, id: int) -> Product:
    return frozenset({((kind, id), 1)})


def as_product(powers: Mapping[Atom, int]) -> Product:
    return frozenset((a, n) for a, n in powers.items() if n)


def joined_powers(first: Product, second: Product, sign: int) -> Product:
    powers = Counter(dict(first))
    for a, n in second:
        powers[a] += sign * n
    return as_product(powers)


def cleared(terms: Mapping[Product, float]) -> Terms:
    return {product: coefficient for product, coefficient in terms.items() if coefficient}


def scaled_terms(terms: Terms, factor: float) -> Terms:
    return {product: factor * coefficient for product, coefficient in terms.items()}


def terms_sum(first: Terms, second: Terms) -> Terms:
    found = defaultdict(float, first)
    for product, coefficient in second.items():
        found[product] += coefficient
    return cleared(found)


def terms_product(first: Terms, second: Terms) -> Terms | None:
    if len(first) * len(second) > MOST_TERMS:
        return None
    parts = [{joined_powers(p, q, 1): a * b} for p, a in first.items() for q, b in second.items()]
    return reduce(terms_sum, parts, NOTHING)


def terms_quotient(first: Terms, second: Terms) -> Terms | None:
    """None where the divisor is no single product."""
    if len(second) != 1:
        return None
    ((divisor, factor),) = second.items()
    return {joined_powers(p, divisor, -1): a / factor for p, a in first.items()}
