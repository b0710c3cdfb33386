"""Loops that data may leave before iterations that differ from the others: those are not recorded by themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .sweeps import left_out

N = 12


def guarded(x):
    for k in range(N):
        if k == N - 1 or x[k + 1] > 0.4:
            return x[k] * k
    return 0.0


def in_rows(x):
    total = 0.0
    for row in x.reshape(3, 4):
        for k in range(4):
            if k == 3 or row[k + 1] > 0.4:
                total += row[k] * (k + 1)
                break
    return total


def periodic(x):
    total = 0.0
    for k in range(N):
        if x[k - N + 1] > 0.4:
            break
        total += x[k]
    return total


def backwards(x):
    for k in range(N - 1, -1, -1):
        if k == 0 or x[k - 1] > 0.4:
            return x[k] * (k + 1)
    return 0.0


def written(x):
    y, total = x.copy(), 0.0
    for k in range(N):
        if k < N - 1:
            y[k + 1] += 0.5 * y[k]
        total += y[k]
        if y[k] > 0.5:
            break
    return total


def of_a_list(x):
    y, total = [v * v for v in x], 0.0
    for k in range(N):
        if k >= N - 2 or y[k + 2] > 0.3:
            break
        total += y[k] * y[k + 1]
    return total


def of_slices(x):
    total = 0.0
    for k in range(N):
        if k > N - 4 or np.sum(x[k + 1 : k + 4]) > 0.6:
            break
        total += x[k]
    return total


PROGRAMS = (guarded, in_rows, periodic, backwards, written, of_a_list, of_slices)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("high", [None, left_out(0), 7, N - 1])
def test_values_and_slopes(f: Callable, high: int | None) -> None:
    """Wherever the loop is left, by the example and by the calls."""
    direction = np.random.default_rng(0).normal(size=N)
    example = np.full(N, 0.1)
    if high is not None:
        example[high] = 0.6
    plan = planned_ad.compile(f, (example,), check=False)
    for place in (None, 0, 1, 7, N - 2, N - 1):
        x = np.linspace(0.1, 0.12, N)
        if place is not None:
            x[place] = 0.6
        value, gradient = plan.value_and_gradient(x.copy())
        slope = (f(x + 1e-7 * direction) - f(x - 1e-7 * direction)) / 2e-7
        assert value == pytest.approx(f(x), rel=1e-12)
        assert gradient @ direction == pytest.approx(slope, rel=1e-5, abs=1e-5)


def inside(p, polygon):
    """Whether a point is in a polygon; None on its border."""
    within = False
    for i in range(len(polygon)):
        a, b = polygon[i], polygon[i - 1]
        if (a[1] > p[1]) != (b[1] > p[1]):
            across = (b[0] - a[0]) * (p[1] - a[1]) / (b[1] - a[1]) + a[0]
            if abs(across - p[0]) < 1e-6:
                return None
            if p[0] < across:
                within = not within
    return within


def of_points(points, polygon):
    total = 0.0
    for p in points:
        within = inside(p, polygon)
        if within is None:
            continue
        total += -(p @ p) if within else (p @ p) ** 2
    return total


def read_afterwards(rows):
    """The rows at which the loop was left are read behind it."""
    for i in range(len(rows)):
        a, b = rows[i], rows[i - 1]
        if a[0] > 1.0:
            break
    return a[0] * a[1] + b[0]


def kept_and_read_afterwards(rows):
    pair, total = {}, 0.0
    for i in range(len(rows)):
        pair["a"], pair["b"] = rows[i], rows[i - 1]
        if pair["a"][0] > 1.0:
            break
        total += pair["b"][1]
    return pair["a"] @ pair["b"] + total


def test_views_of_a_loop_that_is_left() -> None:
    """Views that move with the index do not unroll a loop that is left if nothing behind it reads them."""
    random = np.random.default_rng(1)
    angles = np.sort(random.random(7)) * 2 * np.pi
    polygon = np.c_[np.cos(angles), np.sin(angles)] * (1 + 0.3 * random.random((7, 1)))
    points = random.normal(size=(10, 2))
    plan = planned_ad.compile(of_points, (points, polygon), check=False)
    assert "unrolled" not in str(plan.explain())
    for _ in range(5):
        points = random.normal(size=(10, 2))
        value, (gradient, _) = plan.value_and_gradient(points, polygon)
        assert value == pytest.approx(of_points(points, polygon), rel=1e-12)
        direction = random.normal(size=points.shape)
        slope = of_points(points + 1e-7 * direction, polygon) - of_points(points - 1e-7 * direction, polygon)
        assert np.vdot(gradient, direction) == pytest.approx(slope / 2e-7, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("f", (read_afterwards, kept_and_read_afterwards), ids=lambda f: f.__name__)
def test_views_that_are_read_behind_a_loop_that_is_left(f: Callable) -> None:
    random = np.random.default_rng(2)
    plan = planned_ad.compile(f, (random.normal(size=(9, 3)) * 0.7,), check=False)
    for _ in range(6):
        rows = random.normal(size=(9, 3)) * 0.7
        value, gradient = plan.value_and_gradient(rows)
        direction = random.normal(size=rows.shape)
        slope = (f(rows + 1e-7 * direction) - f(rows - 1e-7 * direction)) / 2e-7
        assert value == pytest.approx(f(rows), rel=1e-12)
        assert np.vdot(gradient, direction) == pytest.approx(slope, rel=1e-5, abs=1e-5)
