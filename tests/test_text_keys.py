"""Dicts with texts as keys that data choose lie in memory, and the loops over them stay loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .interpreted_plans import assert_right
from .random_text_keys import SIZE, function
from .sweeps import name_of, rotated
from .text_key_programs import LOOPS, PROGRAMS

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 600)]


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [0, 16]), ids=name_of)
def test_as_python(f: Callable, unroll: int) -> None:
    assert_right(f, 24, 0, unroll, compiled=unroll == 0 and f in LOOPS[::5])


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).random(24),), unroll=0)
    assert found.rolled
    assert not [loop for loop in found.unrolled if "comprehension" not in loop.reason]


@pytest.mark.parametrize("seed", [*range(20), *LONG])
def test_random_programs(seed: int) -> None:
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))


def test_a_key_that_is_not_there() -> None:
    def f(x):
        sums = {"low": 0.0, "high": 0.0}
        for v in x:
            sums["low" if v < 0.4 else "high" if v < 2.0 else "off"] += v * v
        return sums["low"] * sums["high"]

    x = np.linspace(0.1, 0.9, 20)
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == pytest.approx(f(x), rel=1e-14)
    with pytest.raises(KeyError, match="off"):
        plan(x * 3)
