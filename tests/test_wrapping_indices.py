"""Indices that count from the end of an axis in some iterations: `y[i - j]` of two loops."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import InterpretedPlan, assert_right

N = 12


def circular(x):
    y = np.zeros(N)
    for i in range(N):
        for j in range(N):
            y[i] += x[j] * x[:N][i - j]
    return np.sum(y**2)


def recurrence(x):
    a = x[:N].copy()
    for i in range(N):
        for j in range(N):
            a[i] = 0.9 * a[i] + 0.1 * np.sin(a[i - j]) * x[j]
    return np.sum(a**2)


def written(x):
    y = np.zeros(N)
    for i in range(N):
        for j in range(N):
            y[i - j] += x[i] * x[j]
    return np.sum(y**2)


def rows(x):
    a = np.outer(x[:N], x[:5])
    for i in range(N):
        for j in range(5):
            a[i - j] = a[i - j] * 0.9 + x[:5] * x[j]
            a[j, j - i % 5] += x[i]
    return np.sum(a**2)


def two_axes(x):
    a, total = np.outer(x[:N], x[:N]), 0.0
    for i in range(N):
        for j in range(N):
            total += a[i - j, j] * a[j, j - i] * (1 + i)
    return total


def of_a_list(x):
    items, total = [v * 2 for v in x[:N]], 0.0
    for i in range(N):
        for j in range(N):
            total += items[i - j] * x[j]
    return total


def of_a_written_list(x):
    items = [0.0] * N
    for i in range(N):
        for j in range(N):
            items[i - j] += x[i] * x[j]
    return sum(v * v for v in items)


def triangle(x):
    total = 0.0
    for i in range(N):
        for j in range(i + 1):
            total += x[:N][j - i] * x[i - 2 * j] * x[j]
    return total


PROGRAMS = [circular, recurrence, written, rows, two_axes, of_a_list, of_a_written_list, triangle]


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("unroll", [0, 8])
def test_value_and_slope(f, unroll):
    assert_right(f, 24, 0, unroll)


@pytest.mark.parametrize("f", PROGRAMS)
def test_loops_stay_loops(f):
    assert not InterpretedPlan(f, np.random.default_rng(0).random(24), unroll=0).traces[0].unrolled


@pytest.mark.parametrize("f", [circular, written])
def test_compiled(f):
    assert_right(f, 24, 0, 0, compiled=True)


def test_an_index_beyond_an_end_is_an_error():
    def f(x):
        total = 0.0
        for i in range(N):
            for j in range(N + 3):
                total += x[i - j]
        return total

    with pytest.raises(IndexError):
        planned_ad.compile(f, (np.ones(N),), unroll=0)(np.ones(N))
