"""Variables that are None or an array, as data decide: in loops that stay loops, used in all ways of Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan
from .none_array_programs import LOOPS, PROGRAMS
from .random_none_programs import function
from .sweeps import name_of, rotated


def check(f: Callable, rng: np.random.Generator, unroll: int, compiled: bool, inputs: int) -> None:
    """Value and a slope, at other inputs than the example."""
    x, direction = rng.random((2, 12, 3))
    plan = planned_ad.compile(f, (x,), unroll=unroll, check=False) if compiled else InterpretedPlan(f, x, unroll=unroll)
    for scale in (*[1.0] * (inputs - 1), 0.3):
        x, step = scale * rng.random((12, 3)), 1e-7
        assert plan(x.copy()) == pytest.approx(f(x.copy()), rel=1e-12)
        slope = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
        assert np.sum(plan.gradient(x.copy()) * direction) == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [0, 16]), ids=name_of)
def test_none_or_an_array(f: Callable, unroll: int) -> None:
    check(f, np.random.default_rng(0), unroll, unroll == 0 and f in LOOPS, 4)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).random((12, 3)),), unroll=0)
    assert found.rolled and not found.unrolled


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(n, marks=pytest.mark.long) for n in range(12, 400))])
def test_random_programs(seed: int) -> None:
    check(function(seed), np.random.default_rng(seed), 16 * (seed % 2), False, 3)


def test_none_that_is_used_as_an_array_is_the_functions_error() -> None:
    def f(x):
        total = 0.0
        for matrix in x:
            last = None
            for row in matrix:
                if row[0] > 0.5:
                    last = row
            total += last.sum()
        return total

    x = np.random.default_rng(0).random((5, 30, 2))
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == pytest.approx(f(x)) and not plan.explain().fallbacks
    with pytest.raises(AttributeError, match="NoneType"):
        plan(0.1 * x)


def test_an_array_that_may_not_have_been_assigned_is_the_functions_error() -> None:
    def f(x):
        for row in x:
            if row[0] > 0.5:
                last = row * 2.0
        return last.sum()

    x = np.random.default_rng(0).random((30, 2))
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == pytest.approx(f(x))
    with pytest.raises(UnboundLocalError):
        plan(0.1 * x)
