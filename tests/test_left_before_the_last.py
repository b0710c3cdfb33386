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
