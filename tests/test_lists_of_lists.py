"""Lists whose length is data in other lists: one trace serves for all inputs, and who has a list sees what is done."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan
from .lists_of_lists_programs import LOOPS, OTHERS
from .random_lists_of_lists import N, function
from .sweeps import name_of, rotated

LONG = [pytest.param(seed, marks=() if seed == 28 else pytest.mark.long) for seed in range(10, 400)]


def assert_right(f: Callable, plan: Callable, seed: int, inputs: int) -> None:
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=N)
    for _ in range(inputs):
        x, step = rng.normal(size=N), 1e-6 * direction  # below, rounding of values of some thousands is more
        assert plan(x) == pytest.approx(f(x), rel=1e-11)
        slope = (f(x + step) - f(x - step)) / 2e-6
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-5, abs=1e-5)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("f", "unroll"), rotated([*LOOPS, *OTHERS], [0, 16]), ids=name_of)
def test_value_and_slope(f: Callable, unroll: int) -> None:
    x = np.random.default_rng(0).normal(size=N)
    if f in LOOPS[::3]:
        plan: Callable = planned_ad.compile(f, (x,), unroll=unroll, check=False)
    else:
        plan = InterpretedPlan(f, x, unroll=unroll)
    assert_right(f, plan, 1, 4 if f in LOOPS else 2)


@pytest.mark.parametrize("f", LOOPS, ids=name_of)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).normal(size=42),), unroll=0)
    assert found.rolled and not found.unrolled


@pytest.mark.parametrize("seed", [*range(10), *LONG])
def test_random_programs(seed: int) -> None:
    f, x = function(seed), np.random.default_rng(seed).normal(size=N)
    if abs(f(x)) > 1e4:  # where slopes are known to a few digits
        pytest.skip("its numbers are large")
    assert_right(f, InterpretedPlan(f, x, unroll=16 * (seed % 2)), seed, 3)
