"""Small lists, dicts and objects that data choose, change and exchange: one trace serves for all inputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import InterpretedPlan
from .random_records import N, function
from .record_programs import LOOPS, OTHERS
from .sweeps import name_of

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 400)]


def assert_right(f: Callable, plan: Callable, seed: int, inputs: int) -> None:
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=N)
    for _ in range(inputs):
        x, step = rng.normal(size=N), 1e-6 * direction
        assert plan(x) == pytest.approx(f(x), rel=1e-10)
        slope = (f(x + step) - f(x - step)) / 2e-6
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-4, abs=1e-4)  # type: ignore[attr-defined]


@pytest.mark.parametrize("f", [*LOOPS, *OTHERS], ids=name_of)
def test_value_and_slope(f: Callable) -> None:
    x = np.random.default_rng(0).normal(size=N)
    plan = planned_ad.compile(f, (x,), check=False) if f in LOOPS[::4] else InterpretedPlan(f, x)
    assert_right(f, plan, 1, 4 if f in LOOPS else 2)


@pytest.mark.parametrize("seed", [*range(12), *LONG])
def test_random_programs(seed: int) -> None:
    f, x = function(seed), np.random.default_rng(seed).normal(size=N)
    if abs(f(x)) > 1e4:  # where slopes are known to a few digits
        pytest.skip("its numbers are large")
    assert_right(f, InterpretedPlan(f, x, unroll=16 * (seed % 2)), seed, 3)


class Account:
    def __init__(self, balance):
        self.balance, self.times = balance, 0


def of_objects(x, count):
    accounts = [Account(x[k]) for k in range(count)]
    for v in x:
        k = int(abs(9 * v)) % count
        accounts[k].balance += v * accounts[k - 1].balance
        accounts[k].times += 1
    return sum(a.balance**2 + a.times * x[0] for a in accounts)


def of_dicts(x, count):
    accounts = [{"balance": v, "times": 0} for v in x[:count]]
    for v in x:
        one = accounts[int(abs(9 * v)) % count]
        one["balance"] += v
        one["times"] += 1
    return sum(a["balance"] ** 2 + a["times"] * x[0] for a in accounts)


@pytest.mark.parametrize("count", [3, 5, 8, 16])
@pytest.mark.parametrize("f", [of_objects, of_dicts])
def test_data_choose_one_of_a_few(f: Callable, count: int) -> None:
    rng = np.random.default_rng(count)
    plan = InterpretedPlan(lambda x: f(x, count), rng.normal(size=N))
    assert_right(lambda x: f(x, count), plan, count, 3)
    assert not plan.traces[0].unrolled and len(plan.traces) == 1
