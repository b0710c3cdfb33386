"""Tests in loops that their indices decide: no branch where all iterations go one way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.tape.operations import Branch
from planned_ad.tape.tape import walk
from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan
from .sweeps import name_of

START = 0.1


def one_way(x):
    s = 0.0
    for k in range(40):
        t = START + k * 0.01
        s += np.sin(x[k]) * t if t >= START else 5.0
        if t > 100 or t < 0:
            s *= 2
    return s


def of_two_indices(x):
    s = 0.0
    for i in range(20):
        for j in range(20):
            if i * 0.5 + j * 0.25 > -1 and not i * 0.1 - j > 50:
                s += x[i] * x[j]
    return s


def two_ways(x):
    s = 0.0
    for k in range(40):
        s += x[k] if k * 0.1 > 2.05 else x[k] ** 2
    return s


def equal_at_one_end(x):
    s = 0.0
    for k in range(40):
        s += x[k] if START + k * 0.01 > START else x[k] ** 3
    return s


def beside_data(x):
    s = 0.0
    for k in range(40):
        if x[k] + k * 0.0 > 0:
            s += x[k]
    return s


def of_unknown_length(x):
    s, k = 0.0, 0
    while s < 3.0 and k < 39:
        s += abs(x[k]) if k * 0.1 < 0.95 else 2 * abs(x[k])
        k += 1
    return s


ONE_WAY, OTHERS = [one_way, of_two_indices], [two_ways, equal_at_one_end, beside_data]


@pytest.mark.parametrize("f", [*ONE_WAY, *OTHERS], ids=name_of)
def test_branches(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).normal(size=40),), unroll=0)
    has_branch = any(isinstance(op, Branch) for op in walk(found.tape.operations))
    assert found.rolled and has_branch == (f in OTHERS)


@pytest.mark.parametrize("f", [*ONE_WAY, *OTHERS, of_unknown_length], ids=name_of)
def test_value_and_slope(f: Callable) -> None:
    rng = np.random.default_rng(1)
    plan = InterpretedPlan(f, rng.normal(size=40), unroll=0)
    for scale in (1.0, 0.2):
        x, direction = scale * rng.normal(size=40), rng.normal(size=40)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-6)
