"""Loops over `np.arange` show memory as those over `range` do."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.tape.tape import Guard, Scatter, walk
from planned_ad.trace import trace

from .sweeps import name_of

N = 24


def one_by_one(x):
    s = 0.0
    for i in np.arange(N):
        s = 0.9 * s + x[i] * np.sin(x[i] + 0.1 * i)
    return s


def neighbours(x):
    y = np.zeros(N)
    for i in np.arange(1, N - 1):
        y[i] = 0.5 * y[i - 1] + x[i + 1] - x[i - 1] / (i + 1)
    return np.sum(y**2)


def every_other(x):
    s = x[0]
    for i in np.arange(1, N, 2):
        s = s * 0.5 + x[i] * x[N - 1 - i]
    return s


def backwards(x):
    s = 0.0
    for i in np.arange(N)[::-1]:
        s = np.tanh(s + x[i])
    return s


def two_indices(x):
    a, s = x.reshape(4, 6), 0.0
    for i in np.arange(4):
        for j in np.arange(6):
            s = 0.8 * s + a[i, j] * a[3 - i, j] ** 2
    return s


def slices(x):
    y, s = x * 1.0, 0.0
    for i in np.arange(N - 4):
        s = 0.5 * s + np.sum(x[i : i + 3] * y[i + 1 : i + 4])
        y[i] *= 0.9
        y[i + 1 : i + 3] += 0.1 * x[i]
    return s + np.sum(y**2)


def elements(x):
    def path(i):
        s = 0.0
        for k in range(3):
            s = 0.5 * s + x[i + k]
        return s

    return np.sum(np.vectorize(path)(np.arange(N - 3)) ** 2)


def numbered(x):
    s = 0.0
    for k, i in enumerate(np.arange(2, N)):
        s = 0.5 * s + x[i] * x[k] + 1 / i
    return s


PROGRAMS = [one_by_one, neighbours, every_other, backwards, two_indices, slices, elements, numbered]


def from_both_ends(x):
    s = 0.0
    for i in np.arange(-3, N - 3):
        s = 0.5 * s + x[i] * i
    return s


def changed_before(x):
    order = np.arange(N)
    order[3] = 7
    s = 0.0
    for i in order:
        s = 0.5 * s + x[i] * x[i // 2]
    return s


def changed_meanwhile(x):
    order, s = np.arange(N), 0.0
    for k in range(N - 1):
        order[k + 1] = order[k] // 2
        s = 0.5 * s + x[order[k]] + x[order[k + 1]]
    return s


def beyond(x):
    s = 0.0
    for i in np.arange(N):
        if i < N - 1:
            s = 0.5 * s + x[i + 1]
    return s


@pytest.mark.parametrize("f", [*PROGRAMS, from_both_ends, changed_before, changed_meanwhile, beyond], ids=name_of)
def test_values_and_gradients(f):
    rng = np.random.default_rng(0)
    x, direction, h = rng.random(N) + 0.1, rng.random(N), 1e-6
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == pytest.approx(f(x), rel=1e-12)
    slope = (f(x + h * direction) - f(x - h * direction)) / (2 * h)
    assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("f", PROGRAMS, ids=name_of)
def test_nothing_is_looked_up(f):
    found = trace(f, (np.random.default_rng(0).random(N),), unroll=1)
    assert found.rolled and not found.unrolled
    assert not [op for op in walk(found.tape.operations) if isinstance(op, Scatter | Guard)]


def test_they_are_numbers_of_numpy() -> None:
    def f(x):
        s = 0.0
        for i in np.arange(N):
            s = s + x[i] / i if i.dtype == np.int64 and isinstance(i, np.integer) else s
        return s

    x = np.random.default_rng(0).random(N)
    with np.errstate(divide="ignore"):
        assert planned_ad.compile(f, (x,), check=False)(x) == f(x) == np.inf
