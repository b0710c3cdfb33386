"""What the operations of traced integers tell of them.

Between which numbers they are (interval arithmetic; Moore 1966), and which are others plus a known number.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ...regions.affine import Affine, Extent, Ranges, coefficient, loop_index, substitute
from ...tape.tape import Value

Interval = tuple[int, int]  # the least and the greatest
Bounds = Callable[[Extent], Interval]
INT = np.dtype(np.int64)
ANY: Interval = (int(np.iinfo(INT).min), int(np.iinfo(INT).max))


@dataclass(frozen=True)
class Triangle:
    """`growth * k * (k - 1) / 2` for the index k of a loop."""

    index: int
    growth: int

    def bounds(self, factor: int, rest: Extent, ranges: Ranges, bounds: Bounds) -> Interval | None:
        """The least and the greatest value of `factor` times it plus `rest`, over the iterations of loops."""
        if self.index not in ranges:
            return None
        inner = dict(itertools.dropwhile(lambda item: item[0] != self.index, ranges.items()))
        del inner[self.index]
        first, last = bounds(loop_index(self.index))
        found = []
        for is_high, choose in ((False, min), (True, max)):
            end = one_end(rest, inner, is_high)
            slope, outer = coefficient(end, self.index), bounds(substitute(end, self.index, 0))
            growth = factor * self.growth
            turn = -slope // growth  # a sum of slope + growth * j for j below k: it turns where that changes its sign
            ks = {k for k in (first, last, turn, turn + 1) if first <= k <= last}
            found.append(choose([growth * (k * (k - 1) // 2) + slope * k for k in ks], default=0) + choose(outer))
        return found[0], found[1]


class Limits:
    """Of traced integers, by identity."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Value, Interval]] = {}  # the value is held, so that its identity stays its own
        self._sums: dict[int, tuple[Value, Extent]] = {}
        self._triangles: dict[int, Triangle] = {}  # of the opaque numbers in sums

    def note(self, value: Value, low: int, high: int) -> None:
        self._known[id(value)] = value, (low, high)

    def of(self, value: Value) -> Interval:
        """The least and the greatest number that `value` may be; those of its type where nothing is known."""
        known = self._known.get(id(value))
        return ANY if known is None else known[1]

    def sum_of(self, value: Value) -> Extent:
        """An integer as a sum of a known number and multiples of indices of loops and of others that are opaque.

        The sums of two values differ by a known number where the values do, whatever they are. Loops have positive
        numbers in them as their indices, opaque values negative ones.
        """
        low, high = self.of(value)
        if low == high:
            return low
        known = self._sums.get(id(value))
        if known is None:
            known = self._sums[id(value)] = value, loop_index(-1 - len(self._sums))
        return known[1]

    def noted_sum_of(self, value: Value) -> Extent | None:
        """An integer as such a sum, where it has been noted as one."""
        known = self._sums.get(id(value))
        return None if known is None else known[1]

    def note_sum(self, value: Value, expression: Extent) -> None:
        self._sums[id(value)] = value, expression

    def note_triangle(self, value: Value, triangle: Triangle) -> None:
        """Of a value that is opaque in sums."""
        found = self.sum_of(value)
        if isinstance(found, Affine) and len(found.terms) == 1 and not found.constant and found.terms[0][1] == 1:
            self._triangles[found.terms[0][0]] = triangle

    def within(self, value: Value, ranges: Ranges, bounds: Bounds) -> Interval:
        """As `of`, where a sum may tell more; `bounds` tells those of an expression of indices over the `ranges`."""
        low, high = self.of(value)
        known = self._sums.get(id(value))
        if known is None or not isinstance(known[1], Affine):
            return low, high
        opaque = [(part, factor) for part, factor in known[1].terms if part < 0]
        if len(opaque) != 1 or opaque[0][0] not in self._triangles:
            return low, high
        rest = substitute(known[1], opaque[0][0], 0)
        found = self._triangles[opaque[0][0]].bounds(opaque[0][1], rest, ranges, bounds)
        return (low, high) if found is None else (max(low, found[0]), min(high, found[1]))

    def derive(self, out: Value, primitive: str, operands: Iterable[Value]) -> None:
        """Note what follows for the result of an operation."""
        rule = RULES.get(primitive)
        if rule is None or out.dtype != INT:
            return
        if primitive in SUMS and not out.shape:
            parts = [self.sum_of(operand) for operand in operands]
            if primitive != "multiply" or is_multiple(*parts):
                self.note_sum(out, SUMS[primitive](*parts))
        found = rule(*((0, 1) if operand.dtype == bool else self.of(operand) for operand in operands))
        if found is not None and found != ANY and ANY[0] <= found[0] <= found[1] <= ANY[1]:
            self.note(out, *found)


def is_multiple(a: Extent, b: Extent) -> bool:
    """Whether a product is a multiple of opaque numbers. (What there is of indices may be that of a triangle.)"""
    whole = [part for part in (a, b) if isinstance(part, int)]
    return bool(whole) and all(index < 0 for part in (a, b) if isinstance(part, Affine) for index, _ in part.terms)


def one_end(expression: Extent, ranges: Ranges, is_high: bool) -> Extent:
    """The least or the greatest value over loops around each other, in terms of the loops around them."""
    for index in reversed(ranges):
        first, last = ranges[index]
        expression = substitute(expression, index, last if (coefficient(expression, index) > 0) == is_high else first)
    return expression


def at_corners(f: Callable[[int, int], int]) -> Callable[[Interval, Interval], Interval]:
    """Of a function that is monotone in each of its two arguments: between its values where both are extreme."""

    def rule(a: Interval, b: Interval) -> Interval:
        values = list(itertools.starmap(f, itertools.product(a, b)))
        return min(values), max(values)

    return rule


def floor_divide(a: Interval, b: Interval) -> Interval | None:
    return at_corners(operator.floordiv)(a, b) if b[0] > 0 else None


def remainder(a: Interval, b: Interval) -> Interval | None:
    if b[0] <= 0:
        return None
    return (0, min(a[1], b[1] - 1)) if a[0] >= 0 else (0, b[1] - 1)


RULES: dict[str, Callable[..., Interval | None]] = {
    "add": at_corners(operator.add),
    "subtract": at_corners(operator.sub),
    "multiply": at_corners(operator.mul),
    "minimum": at_corners(min),
    "maximum": at_corners(max),
    "negative": lambda a: (-a[1], -a[0]),
    "absolute": lambda a: (max(a[0], -a[1], 0), max(-a[0], a[1])),
    "floor_divide": floor_divide,
    "remainder": remainder,
    "cast": lambda a: a,
    "view": lambda a: a,
    "broadcast": lambda a: a,
    "reduce_min": lambda a: a,
    "reduce_max": lambda a: a,
    "where": lambda condition, a, b: (min(a[0], b[0]), max(a[1], b[1])),
}
SUMS: dict[str, Callable[..., Extent]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "cast": lambda a: a,
}  # fmt: skip


def stays_in_64_bits(primitive: str, intervals: list[Interval]) -> bool:
    """Whether the result of integers between these has no more bits, by what is known of them."""
    rule = RULES.get(primitive)
    found = None if rule is None or ANY in intervals else rule(*intervals)
    return found is not None and ANY[0] <= found[0] and found[1] <= ANY[1]
