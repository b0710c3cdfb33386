"""Slices whose bounds move with a loop, where they are empty in some iterations, or leave the array at both ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.trace import trace

from .interpreted_plans import assert_right
from .program_lists import function_of
from .random_slices_in_loops import SIZE, function
from .sweeps import name_of, rotated

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 400)]

EMPTY_AT_TIMES = [
    "len(x[5:i])",
    "len(x[i:5]) + x[i:5].size",
    "x[5:i].shape[0] ** 2",
    "len(x[2:max(0, i - 1)])",
    "len(x[min(24, i + 2):-12])",
    "len(x[i:5:-1])",
    "np.size(x[5:i]) + np.shape(x[5:i])[0]",
    "x[5:i].sum() / max(1, len(x[5:i]))",
    "sum(k * x[3] for k in range(len(x[5:i])))",
    "np.sum(np.diff(x[:i]) ** 2) + np.sum(np.diff(x[i:], n=2))",
    "np.sum(x[:i][1:] * x[:i][:-1])",
]
"""What a loop adds up."""

STACKED = [
    "np.sum(np.log(np.exp(-np.stack([x[:i], x[24 - i :], x[:i]])).sum(axis=0)))",
    "np.sum(np.vstack([x[5:i], x[5:i] ** 2])[1])",
    "np.sum(np.column_stack([x[:i], x[24 - i :]]) @ x[:2])",
    "np.sum(np.array([x[:i], x[24 - i :]]))",
    "np.sum(np.min([x[: i + 1], x[23 - i :]], axis=0))",
    "np.sum(np.stack([x[:i], x[24 - i :]], axis=1)[:, 1])",
    "np.sum(np.array([x[: int(9 * x[i])], x[: int(9 * x[i])] ** 2]).max(axis=0))",
]


DIFFERENT = [
    "np.sum(np.unique(np.round(3 * x[x > x[i]])) ** 2)",
    "len(np.unique(np.floor(4 * x[:i])))",
    "np.sum(np.unique(x[: int(9 * x[i])]) * np.arange(len(np.unique(x[: int(9 * x[i])]))))",
    "np.sum(np.multiply(*np.unique(np.round(3 * x[x > x[i]]), return_counts=True)))",
    "len(np.unique(np.where(x[x > x[i]] > 0.7, np.nan, x[x > x[i]])))",
]


@pytest.mark.parametrize("expression", [*EMPTY_AT_TIMES, *STACKED, *DIFFERENT])
def test_what_a_loop_adds_up(expression: str) -> None:
    source = f"def f(x):\n    s = 0.0\n    for i in range(24):\n        s += ({expression}) * x[0]\n    return s\n"
    f = function_of(source, f"<{expression}>", np=np)
    found = trace(f, (np.linspace(0.1, 0.9, SIZE),), unroll=0)
    assert found.rolled and not found.unrolled
    assert_right(f, SIZE, 1, 0)


def anti_diagonals(x):
    d = x[:16].reshape(4, 4) ** 2
    n = 4
    a, b = np.full(n + 1, 9.0), np.full(n + 1, 9.0)
    a[0] = 0.0
    for s in range(2, 2 * n + 1):
        lo, hi = max(1, s - n), min(n, s - 1)
        c = np.full(n + 1, 9.0)
        c[lo : hi + 1] = d[0, lo - 1 : hi] + np.minimum(a[lo - 1 : hi], b[lo : hi + 1])
        a, b = b, c
    return b[n] + np.sum(b)


def windows_at_both_ends(x):
    s = 0.0
    for i in range(24):
        s += np.sum(x[max(0, i - 9) : min(24, i + 10)] ** 2) * x[i] / len(x[max(0, i - 9) : i + 10])
    return s


def windows_that_wrap(x):
    y = x * 0.5
    for i in range(24):
        y[i - 12 : i - 7] += x[i]
    return np.sum(y * x)


def windows_that_are_written(x):
    """Where the tests of two bounds differ, which they never do, the lengths do not fit."""
    y = x * 0.5
    for i in range(20):
        y[max(0, i - 12) : i] += x[max(0, i - 12) : i] * 0.1
        y[min(24, i + 9) : max(0, i - 12)] = x[min(24, i + 9) : max(0, i - 12)] * 0.1
    return np.sum(y * x)


WINDOWS = [anti_diagonals, windows_at_both_ends, windows_that_wrap]


@pytest.mark.parametrize(("f", "unroll"), rotated(WINDOWS, [0, 1]), ids=name_of)
def test_past_both_ends_they_are_loops(f: Callable, unroll: int) -> None:
    found = trace(f, (np.linspace(0.1, 0.9, SIZE),), unroll=unroll)
    assert found.rolled and not found.unrolled
    assert_right(f, SIZE, 1, unroll)


@pytest.mark.parametrize("unroll", [0, 1])
def test_ways_that_are_never_taken(unroll: int) -> None:
    assert_right(windows_that_are_written, SIZE, 1, unroll)


@pytest.mark.parametrize("seed", [*range(12), *LONG])
def test_random_programs(seed: int) -> None:
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))
