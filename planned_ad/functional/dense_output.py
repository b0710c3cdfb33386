"""The solution of an initial value problem between the ends of its steps: the `dense_output` of SciPy's `solve_ivp`.

What is here is ordinary Python, traced as the user's is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .tableaus import Tableau


def sum_of_slopes(weights: Any, slopes: Any) -> Any:
    """The sum of slopes; `weights` has of each that is not 0 its place and the weight."""
    place, weight = weights[0]
    total = weight * slopes[place]
    for place, weight in weights[1:]:
        total = total + weight * slopes[place]
    return total


def with_extra_slopes(method: Tableau, fun: Callable, t: Any, y: Any, h: Any, slopes: Any) -> Any:
    """The slopes of a step and those that only the solution between its ends needs."""
    slopes = list(slopes)
    for weights, node in zip(method.extra_stages, method.extra_nodes):
        slopes.append(fun(t + node * h, y + sum_of_slopes(weights, slopes) * h))
    return slopes


def rows_within(method: Tableau, slopes: Any, y: Any, y_new: Any, h: Any) -> list[Any]:
    """The polynomial that is the solution within a step, by its coefficients, each as large as the state."""
    rows = [h * sum_of_slopes(weights, slopes) for weights in method.between]
    if not method.extra_stages:
        return rows
    first, last, gap = slopes[0], slopes[len(method.nodes) + 1], y_new - y
    return [gap, h * first - gap, 2 * gap - h * (last + first), *rows]


def solution_within(method: Tableau, rows: Any, t: Any, y: Any, h: Any, time: Any) -> Any:
    """The solution at a time within the step from t to t + h."""
    total, x = 0.0, (time - t) / h
    if method.extra_stages:
        for k, row in enumerate(reversed(rows)):
            total = (total + row) * (x if k % 2 == 0 else 1 - x)
        return total + y
    for row in reversed(rows):
        total = (total + row) * x
    return total + y


def piece_of(t_new: Any, start: Any, rows: Any) -> Any:
    """A step in one row: its end, beginning and length, the state at its beginning, and the coefficients within it."""
    t, y, h = start
    return np.concatenate([np.stack([t_new, t, h]), y, *rows])


class DenseSolution:
    """The solution at any time, beyond the ends by the nearest step; `pieces` are the rows of `piece_of`."""

    def __init__(self, method: Tableau, pieces: Any, direction: Any, size: int):
        self.method, self.pieces, self.direction, self.size = method, pieces, direction, size
        self.ts = np.concatenate([pieces[:1, 1], pieces[:, 0]])

    def __call__(self, t: Any) -> Any:
        """The state at a time, shape (n,), or at each of some, shape (n, times)."""
        t, size = np.asarray(t, float), self.size
        place = np.searchsorted(self.direction * self.pieces[:, 0], self.direction * t, side="left")
        rows = self.pieces[np.minimum(place, len(self.pieces) - 1)].T  # of several times, (n + 3, times)
        start, h, y = rows[1], rows[2], rows[3 : 3 + size]
        within = [rows[k : k + size] for k in range(3 + size, rows.shape[0], size)]
        return solution_within(self.method, within, start, y, h, t)
