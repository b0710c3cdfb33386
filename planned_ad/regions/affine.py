"""Affine integer expressions of loop indices: the arithmetic of regions inside loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Affine:
    """`constant + sum(coefficient * index)` over the indices of the enclosing loops.

    Arithmetic returns a plain `int` as soon as no index is left, so that code
    without loops never meets this class.
    """

    constant: int
    terms: tuple[tuple[int, int], ...]  # (loop index id, coefficient), sorted, coefficients non-zero

    def __add__(self, other: Extent) -> Extent:
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms)
        total = dict(self.terms)
        for index, coefficient in other.terms:
            total[index] = total.get(index, 0) + coefficient
        return affine(self.constant + other.constant, total)

    __radd__ = __add__

    def __mul__(self, factor: int) -> Extent:
        return affine(self.constant * factor, {index: c * factor for index, c in self.terms})

    __rmul__ = __mul__

    def __neg__(self) -> Extent:
        return self * -1

    def __sub__(self, other: Extent) -> Extent:
        return self + (-other)

    def __rsub__(self, other: Extent) -> Extent:
        return (-self) + other

    def __str__(self) -> str:
        parts = [f"{'' if c == 1 else f'{c}*'}i{index}" for index, c in self.terms]
        return " + ".join([*parts, str(self.constant)] if self.constant else parts)


Extent = int | Affine


class Ragged(int):
    """The extent of an axis that differs between iterations: `expression` of the loop indices, at most `int(self)`.

    As an `int` it is its capacity, by which memory is laid out (and arrays are assumed to overlap); loops over the
    axis run to `expression`. It equals only the same expression with the same capacity, and no plain integer.
    """

    expression: Affine

    def __new__(cls, capacity: int, expression: Affine) -> Ragged:
        found = super().__new__(cls, capacity)
        found.expression = expression
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ragged) and int(self) == int(other) and self.expression == other.expression

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((int(self), self.expression))

    def __repr__(self) -> str:
        return f"({self.expression})"

    __str__ = __repr__

    def __reduce__(self):
        return Ragged, (int(self), self.expression)


def ragged(capacity: int, expression: Extent) -> int:
    """An extent: a plain integer where `expression` is one."""
    return Ragged(capacity, expression) if isinstance(expression, Affine) else max(expression, 0)


def exact(extent: int) -> Extent:
    """An extent as an expression of the loop indices."""
    return extent.expression if isinstance(extent, Ragged) else extent


def affine(constant: int, terms: Mapping[int, int]) -> Extent:
    """The expression in its normal form: an `int` when no index occurs."""
    kept = tuple(sorted((index, c) for index, c in terms.items() if c))
    return Affine(constant, kept) if kept else constant


def loop_index(index: int) -> Affine:
    """The index of the loop with id `index`, as an expression."""
    return Affine(0, ((index, 1),))


def coefficient(expression: Extent, index: int) -> int:
    """By how much an expression grows when that index grows by one."""
    return dict(expression.terms).get(index, 0) if isinstance(expression, Affine) else 0


def substitute(expression: Extent, index: int, by: Extent) -> Extent:
    """`expression` with the loop index replaced by another expression."""
    if isinstance(expression, int):
        return expression
    terms = dict(expression.terms)
    coefficient = terms.pop(index, 0)
    if not coefficient:
        return expression
    return affine(expression.constant, terms) + by * coefficient


Ranges = dict[int, tuple[Extent, Extent]]  # of each loop index its first and last value, outermost loop first


def extremes(expression: Extent, ranges: Ranges) -> tuple[int, int]:
    """The least and the greatest value of `expression` over loops that all run at least once.

    Exact where the bounds of inner loops are expressions of outer indices: the innermost index is replaced by
    whichever end of its range is the extreme one, then the next.
    """
    low = high = expression
    for index in reversed(ranges):
        first, last = ranges[index]
        if isinstance(low, Affine):
            low = substitute(low, index, first if coefficient(low, index) > 0 else last)
        if isinstance(high, Affine):
            high = substitute(high, index, last if coefficient(high, index) > 0 else first)
    if isinstance(low, Affine) or isinstance(high, Affine):
        raise KeyError(f"{expression} has the index of a loop that is not around it")
    return low, high


def at(expression: Extent, indices: Mapping[int, int]) -> int:
    """The value of `expression` where each loop index has the value given."""
    if isinstance(expression, int):
        return expression
    return expression.constant + sum(c * indices[index] for index, c in expression.terms)
