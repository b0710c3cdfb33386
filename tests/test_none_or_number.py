"""Variables that are None or a number, as data decide: in loops that stay loops, asked for in all ways of Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .interpreted_plans import check_elsewhere
from .none_programs import LOOPS, PROGRAMS
from .sweeps import name_of, rotated


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [0, 16]), ids=name_of)
def test_none_or_a_number(f: Callable, unroll: int) -> None:
    check_elsewhere(f, 12, unroll, unroll == 0 and f in LOOPS, step=1e-7, rel=1e-13)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).random(40),), unroll=0)
    assert found.rolled and not found.unrolled


def test_none_that_is_used_as_a_number_is_the_functions_error() -> None:
    def f(x):
        total = 0.0
        for row in x:
            last = None
            for v in row:
                if v > 0.5:
                    last = v
            total += last * last
        return total

    x = np.random.default_rng(0).random((20, 30))
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == pytest.approx(f(x))
    with pytest.raises(TypeError, match="NoneType"):
        plan(0.1 * x)


def test_after_the_loop_it_is_known() -> None:
    def f(x):
        last = None
        for v in x:
            if v > 0.5:
                last = v
        return last * last

    x = np.linspace(0.0, 1.0, 20)
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == f(x) and plan(0.6 * x) == f(0.6 * x)
    with pytest.raises(TypeError, match="NoneType"):
        plan(0.1 * x)


def first_below(v):
    while True:
        v = v * 0.9
        if v < 0.5:
            return v


def first_power_below(v):
    for j in range(30):
        if v * 0.9**j < 0.5:
            return v * (j + 1)


READ_BY_NUMPY = {
    "mean": lambda m: np.mean([first_below(v) for v in m]),
    "powers": lambda m: np.std([first_power_below(v) for v in m]),
    "some": lambda m: np.sum(np.array([first_power_below(v) for v in m if v > 1.0]) ** 2),
    "pairs": lambda m: np.sum(np.array([(first_power_below(v), v * v) for v in m]) @ np.array([1.0, 2.0])),
    "map": lambda m: np.linalg.norm(list(map(first_below, m))) + m @ [first_below(v) for v in m],
    "python": lambda m: sum(first_below(v) for v in m) * max(first_below(v) for v in m),
}


@pytest.mark.parametrize("name", READ_BY_NUMPY)
def test_lists_of_what_helpers_return_in_a_loop(name: str) -> None:
    check_elsewhere(READ_BY_NUMPY[name], 12, 0, True, step=1e-7, rel=1e-13)


def test_none_in_a_list_is_no_number_to_numpy() -> None:
    plan = planned_ad.compile(lambda m: np.mean([first_power_below(v) for v in m]), (np.ones(20),), check=False)
    with pytest.raises(TypeError):
        plan(np.full(20, 1e3))
