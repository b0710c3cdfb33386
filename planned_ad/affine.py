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


def affine(constant: int, terms: Mapping[int, int]) -> Extent:
    """The expression in its normal form: an `int` when no index occurs."""
    kept = tuple(sorted((index, c) for index, c in terms.items() if c))
    return Affine(constant, kept) if kept else constant


def loop_index(index: int) -> Affine:
    """The index of the loop with id `index`, as an expression."""
    return Affine(0, ((index, 1),))


def at(expression: Extent, indices: Mapping[int, int]) -> int:
    """The value of `expression` where each loop index has the value given."""
    if isinstance(expression, int):
        return expression
    return expression.constant + sum(c * indices[index] for index, c in expression.terms)
