"""Computed places that grow evenly: read and written as vectors, whatever they begin with."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

N = 21


def places(kind, k):
    """Of N elements of a table of 100, from a number that data give."""
    steps = np.arange(N)
    return {
        "up": k + steps,
        "down": k + 40 - steps,
        "by_two": k + 2 * steps,
        "down_by_three": k + 70 - 3 * steps,
        "one": k + 0 * steps,
        "from_behind": k - 1 - steps,
        "sum": (k + steps) + (steps - k) + k,
        "far": 4 * (k + steps) // 4,
    }[kind]


KINDS = ["up", "down", "by_two", "down_by_three", "one", "from_behind", "sum", "far"]


def read(kind, x, w):
    k = int(w[0] * 9)
    return np.sum(np.sin(x[places(kind, k)]) * x[:N])


def rows(kind, x, w):
    k = int(w[0] * 9)
    table = x.reshape(50, 2)
    return np.sum(np.sin(table[places(kind, k) % 25]) * x[0])


def added(kind, x, w):
    k, y = int(w[0] * 9), np.zeros(100)
    np.add.at(y, places(kind, k), x[:N] ** 2)
    return np.sum(y**2 * w[1])


def put(kind, x, w):
    k, y = int(w[0] * 9), x.copy()
    y[places(kind, k)] = x[:N] * w[1]
    return np.sum(np.sin(y))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", [read, rows, added, put])
def test_value_and_slope(f, kind):
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(lambda x, w: f(kind, x, w), (rng.normal(size=100), np.array([0.5, 0.7])), check=False)
    for start in (0.0, 0.34, 0.99):
        x, step, w = rng.normal(size=100), rng.normal(size=100), np.array([start, 0.7])
        value, (gradient, _) = plan.value_and_gradient(x, w)
        assert value == pytest.approx(f(kind, x, w), rel=1e-12)
        slope = (f(kind, x + 1e-6 * step, w) - f(kind, x - 1e-6 * step, w)) / 2e-6
        assert gradient @ step == pytest.approx(slope, rel=1e-6, abs=1e-6)
