"""Errors that data decide about and that the program handles itself: tests like any other, in loops that stay loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .caught_programs import LOOPS, PROGRAMS


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_handled_errors(f: Callable, unroll: int) -> None:
    rng = np.random.default_rng(0)
    x, direction = rng.random((2, 12))
    plan = planned_ad.compile(f, (x,), unroll=unroll, check=False)
    for _ in range(8):
        x, step = rng.random(12), 1e-6 * direction
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + step) - f(x - step)) / 2e-6
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).random(40),), unroll=0)
    assert found.rolled and not found.unrolled


def test_an_error_that_nobody_handles_is_the_functions() -> None:
    def f(x):
        total = 0.0
        for v in x:
            if v > 2.0:
                raise OverflowError("too large")
            total += v * v
        return total

    x = np.linspace(0.0, 1.0, 20)
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == pytest.approx(f(x))
    with pytest.raises(OverflowError, match="too large"):
        plan(3.0 * x)
