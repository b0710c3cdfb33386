"""Positions of numbers in an array, as a view of it: as few axes as there are steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...regions.regions import c_strides

MOST_AXES = 3


@dataclass(frozen=True)
class Pattern:
    """The shape that several lists of as many positions have in common, and the strides of each."""

    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]


def common_pattern(lists: Sequence[np.ndarray], count: int, rows: int = 1) -> Pattern | None:
    """The views that are these positions, in order; None where they are none, of at most so many axes.

    `rows`: whose ends are ends of axes, of which those behind are within a row.

    >>> common_pattern([np.array([0, 1, 2, 10, 11, 12]), np.array([0, 0, 0, 1, 1, 1])], 6)
    Pattern(shape=(2, 3), strides=((10, 1), (1, 0)))
    >>> common_pattern([np.array([0, 1, 3, 2])], 4) is None
    True
    """
    shape: list[int] = []
    strides: list[list[int]] = [[] for _ in lists]
    within = count // rows
    while count > 1 or not shape:
        if len(shape) == MOST_AXES:
            return None
        inner = count
        for positions in lists:
            if count > 1:
                steps = np.diff(positions)
                inner = math.gcd(inner, *(int(k) + 1 for k in np.flatnonzero(steps != steps[0])))
        if within > 1:
            inner = math.gcd(inner, within)
            within //= inner
        if inner == 1 and count > 1:
            return None
        shape.insert(0, inner)
        for k, positions in enumerate(lists):
            strides[k].insert(0, int(positions[1] - positions[0]) if count > 1 else 0)
        lists = [positions[::inner] for positions in lists]
        count //= inner
    return Pattern(tuple(shape), tuple(map(tuple, strides)))


def strides_at(positions: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Of the view of that shape that these positions are; None where they are none.

    >>> strides_at(np.array([5, 6, 15, 16]), (2, 2))
    (10, 1)
    """
    strides = tuple(int(positions[step] - positions[0]) if n > 1 else 0 for n, step in zip(shape, c_strides(shape)))
    expected = positions[0] + np.tensordot(strides, np.indices(shape), 1)
    return strides if np.array_equal(expected.ravel(), positions) else None
