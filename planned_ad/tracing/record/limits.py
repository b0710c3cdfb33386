"""Between which numbers traced integers are (interval arithmetic; Moore 1966), so far as their operations tell."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable

import numpy as np

from ...tape.tape import Value

Interval = tuple[int, int]  # the least and the greatest
INT = np.dtype(np.int64)
ANY: Interval = (int(np.iinfo(INT).min), int(np.iinfo(INT).max))


class Limits:
    """Of traced integers, by identity."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Value, Interval]] = {}  # the value is held, so that its identity stays its own

    def note(self, value: Value, low: int, high: int) -> None:
        self._known[id(value)] = value, (low, high)

    def of(self, value: Value) -> Interval:
        """The least and the greatest number that `value` may be; those of its type where nothing is known."""
        known = self._known.get(id(value))
        return ANY if known is None else known[1]

    def derive(self, out: Value, primitive: str, operands: Iterable[Value]) -> None:
        """Note what follows for the result of an operation."""
        rule = RULES.get(primitive)
        if rule is None or out.dtype != INT:
            return
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
    "where": lambda condition, a, b: (min(a[0], b[0]), max(a[1], b[1])),
}
