"""A function that returns None on some way, called where None is an error: that way is not recorded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

N = 24


def doubled(v):
    if v > 0.1:
        return 2.0 * v


def root(a):
    x = a
    while True:
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-10:
            return new
        x = new


def root_soon(a):
    x = a
    for _ in range(50):
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-10:
            return new
        x = new


def first_above(x, c):
    for v in x:
        if v > c:
            return v


def between(v):
    return doubled(v)


def of_a_ufunc(a):
    total = 0.0
    for i in range(N):
        total += np.sin(doubled(a[i]))
    return total


def of_a_call_in_between(a):
    return sum(np.exp(-between(v)) for v in a)


def of_a_method(a):
    total = 0.0
    for i in range(N):
        total += doubled(a[i : i + 1].sum()).real
    return total


def of_an_argument(a):
    total = 0.0
    for i in range(N):
        total += scaled(doubled(a[i]), a[0])
    return total


def scaled(v, factor):
    return factor * v**2


def until_it_returns(a):
    total = 0.0
    for i in range(N):
        total += np.sin(root(a[i]))
    return total


def returns_in_its_loop_only(a):
    return sum(np.sin(root_soon(v)) for v in a)


def searched(a):
    total = 0.0
    for k in range(N):
        total += np.sqrt(first_above(a, k / 50))
    return total


def in_two_places(a):
    """In one of which None is as good as a number."""
    total = 0.0
    for i in range(N):
        total += np.sin(doubled(a[i]))
        found = doubled(a[i] - 0.8)
        total += a[i] if found is None else np.cos(found)
    return total


PROGRAMS = (
    of_a_ufunc,
    of_a_call_in_between,
    of_a_method,
    of_an_argument,
    until_it_returns,
    returns_in_its_loop_only,
    searched,
    in_two_places,
)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    rng = np.random.default_rng(0)
    assert not trace(f, (rng.uniform(0.5, 2.0, N),)).unrolled


@pytest.mark.parametrize("f", PROGRAMS[::2], ids=lambda f: f.__name__)
def test_values_and_slopes(f: Callable) -> None:
    rng = np.random.default_rng(0)
    plan, direction = planned_ad.compile(f, (rng.uniform(0.5, 2.0, N),)), 1e-7 * rng.normal(size=N)
    for _ in range(3):
        x = rng.uniform(0.5, 2.0, N)
        value, gradient = plan.value_and_gradient(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        assert gradient @ direction == pytest.approx((f(x + direction) - f(x - direction)) / 2, rel=1e-6)
    assert plan.explain().variants == 1


@pytest.mark.parametrize("f", (of_a_ufunc, searched), ids=lambda f: f.__name__)
def test_a_call_in_which_it_is_none_ends_in_the_functions_own_error(f: Callable) -> None:
    plan = planned_ad.compile(f, (np.ones(N),))
    with pytest.raises(TypeError, match="NoneType"):
        f(np.zeros(N))
    with pytest.raises(TypeError, match="NoneType"):
        plan(np.zeros(N))
    assert plan(np.ones(N)) == pytest.approx(f(np.ones(N)))


def of_the_first_iterations(a):
    """What is None is of the loop, and only at first."""
    before = last = None
    total = 0.0
    for v in a:
        if total > 1.5:
            total += np.sin(before) * v
        last, before = v, last
        total += 0.2 * v
    return total


class Kept:
    def __init__(self):
        self.value, self.total = None, 0.0

    def found(self):
        if self.total > 1.5:
            return self.value
        return 1.0


def of_an_object_at_first(a):
    kept = Kept()
    for v in a:
        kept.total += kept.found() * v
        kept.value = v
    return kept.total


def asked_three_times(a):
    """By one instruction, of which only the last time ends in an error."""
    return sum(third_of(a, v) * v for v in a)


def third_of(a, v):
    for k in (1, 2, 3):
        if v < k / 1.5:
            return a[k]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("f", (of_the_first_iterations, of_an_object_at_first, asked_three_times))
def test_where_none_is_no_error_it_is_not_taken_for_one(f: Callable, check: bool) -> None:
    rng = np.random.default_rng(0)
    plan, direction = planned_ad.compile(f, (rng.uniform(0.5, 2.0, N),), check=check), 1e-7 * rng.normal(size=N)
    for _ in range(3):
        x = rng.uniform(0.1, 2.0, N)
        value, gradient = plan.value_and_gradient(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        assert gradient @ direction == pytest.approx((f(x + direction) - f(x - direction)) / 2, rel=1e-5)
