"""What the operations of traced integers tell of them.

Between which numbers they are (interval arithmetic; Moore 1966), and which are others plus a known number.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable

import numpy as np

from ...regions.affine import Extent, loop_index
from ...tape.tape import Value

Interval = tuple[int, int]  # the least and the greatest
INT = np.dtype(np.int64)
ANY: Interval = (int(np.iinfo(INT).min), int(np.iinfo(INT).max))


class Limits:
    """Of traced integers, by identity."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Value, Interval]] = {}  # the value is held, so that its identity stays its own
        self._sums: dict[int, tuple[Value, Extent]] = {}

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

    def note_sum(self, value: Value, expression: Extent) -> None:
        self._sums[id(value)] = value, expression

    def derive(self, out: Value, primitive: str, operands: Iterable[Value]) -> None:
        """Note what follows for the result of an operation."""
        rule = RULES.get(primitive)
        if rule is None or out.dtype != INT:
            return
        if primitive in SUMS and not out.shape:
            self.note_sum(out, SUMS[primitive](*map(self.sum_of, operands)))
        found = rule(*((0, 1) if operand.dtype == bool else self.of(operand) for operand in operands))
        if found is not None and found != ANY and ANY[0] <= found[0] <= found[1] <= ANY[1]:
            self.note(out, *found)


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
SUMS: dict[str, Callable[..., Extent]] = {"add": operator.add, "subtract": operator.sub, "cast": lambda a: a}


def stays_in_64_bits(primitive: str, intervals: list[Interval]) -> bool:
    """Whether the result of integers between these has no more bits, by what is known of them."""
    rule = RULES.get(primitive)
    found = None if rule is None or ANY in intervals else rule(*intervals)
    return found is not None and ANY[0] <= found[0] and found[1] <= ANY[1]
