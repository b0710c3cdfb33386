"""Run-time choices: branches, counts and index ranges are checked at each call, before anything is written."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BranchError, IndexRangeError

from .oracle import check_gradient


def by_sign(x):
    if x[0] > 0:
        return np.sum(x**2)
    return np.sum(3 * x)


def write_then_branch(x):
    x *= 2
    if x[0] > 0:
        x[1] = x[0] * x[1]
    else:
        x[1] = -x[0]
    x += 1
    return np.sum(x**2)


def masked(x):
    return np.sum(x[x > 0] ** 2)


def indexed(x, index):
    y = np.zeros(5)
    y[index] = x[index] ** 2
    return np.sum(np.sin(y))


def test_each_branch_has_its_derivative() -> None:
    plan = planned_ad.compile(by_sign, np.array([1.0, 2.0]))
    for _ in range(2):
        np.testing.assert_array_equal(plan.gradient(np.array([1.0, 2.0])), [2, 4])
        np.testing.assert_array_equal(plan.gradient(np.array([-1.0, 2.0])), [3, 3])
        dx = np.full(2, np.nan)
        assert plan.gradient(np.array([-1.0, 2.0]), dx) is dx
        np.testing.assert_array_equal(dx, [3, 3])
    assert plan.value_and_gradient(np.array([-1.0, 2.0]))[0] == 3.0
    assert plan(np.array([-1.0, 2.0])) == 3.0
    assert plan.explain().variants == 2


def test_the_guard_names_the_line() -> None:
    (guard,) = planned_ad.compile(by_sign, np.array([1.0, 2.0])).explain().guards
    assert guard.source == "if x[0] > 0:" and guard.outcome is True
    assert (guard.file, guard.line) == (__file__, by_sign.__code__.co_firstlineno + 1)


def test_raise_names_the_line_and_writes_nothing() -> None:
    plan = planned_ad.compile(write_then_branch, np.array([1.0, 2.0]), on_branch="raise")
    x, dx = np.array([-1.0, 2.0]), np.array([7.0, 7.0])
    with pytest.raises(BranchError, match=r"if x\[0\] > 0"):
        plan.gradient(x, dx)
    np.testing.assert_array_equal(x, [-1, 2])
    np.testing.assert_array_equal(dx, [7, 7])


@pytest.mark.parametrize("f", [write_then_branch, masked, by_sign])
def test_both_sides_against_the_oracle(f: Any) -> None:
    for start in ([1.0, 2.0, -1.0], [-1.0, 2.0, 3.0]):
        check_gradient(f, np.array(start))


def test_writes_before_a_guard_are_put_back_before_the_other_variant_runs() -> None:
    plan = planned_ad.compile(write_then_branch, np.array([1.0, 2.0]))
    for start in ([1.0, 2.0], [-1.0, 2.0], [1.0, 2.0], [-3.0, 1.0]):
        x, expected = np.array(start), np.array(start)
        value = write_then_branch(expected)
        other = planned_ad.compile(write_then_branch, np.array(start))
        dx = plan.gradient(x.copy())
        np.testing.assert_array_equal(dx, other.gradient(np.array(start)))
        assert plan(x) == value
        np.testing.assert_array_equal(x, expected)


def test_the_count_of_a_mask_is_a_guard() -> None:
    plan = planned_ad.compile(masked, np.array([1.0, -2.0, 3.0]))
    for start in ([1.0, -2.0, 3.0], [1.0, 2.0, 3.0], [-1.0, -2.0, -3.0], [-1.0, 2.0, 3.0], [0.5, 0.0, -1.0]):
        x = np.array(start)
        np.testing.assert_array_equal(plan.gradient(x), 2 * x * (x > 0))
    assert plan.explain().variants == 1  # for any number, from the second one on


def test_indices_are_checked_before_they_are_used() -> None:
    plan = planned_ad.compile(indexed, (np.arange(5.0), np.array([0, 3, 3])))
    for bad in (10**12, -6, 5, -(10**15)):
        x, dx = np.arange(5.0), np.full(5, 7.0)
        with pytest.raises(IndexRangeError, match=f"index {bad} is out of bounds for axis 0 with size 5"):
            plan.gradient(x, np.array([0, 1, bad]), dx)
        np.testing.assert_array_equal(dx, 7.0)
        np.testing.assert_array_equal(x, np.arange(5.0))
    np.testing.assert_array_equal(
        plan.gradient(np.arange(5.0), np.array([-1, 1, 1])), [0, 2 * np.cos(1), 0, 0, 8 * np.cos(16)]
    )
    assert plan.explain().variants == 1


def test_a_nan_takes_the_branch_that_it_takes_in_python() -> None:
    plan = planned_ad.compile(by_sign, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(plan.gradient(np.array([np.nan, 2.0])), [3, 3])


def test_max_variants() -> None:
    def steps(x):
        return x[0] * int_of(x)

    def int_of(x, k=0):
        return k if x[0] < k or k == 10 else int_of(x, k + 1)

    plan = planned_ad.compile(steps, np.array([0.5]), max_variants=3)
    for k in (1, 2):
        np.testing.assert_array_equal(plan.gradient(np.array([k + 0.5])), [k + 1])
    np.testing.assert_array_equal(plan.gradient(np.array([1.5])), [2.0])
    with pytest.warns(RuntimeWarning, match=r"steps has taken more than 3 .*max_variants"):
        np.testing.assert_array_equal(plan.gradient(np.array([7.5])), [8.0])
    for k in (0, 1, 9, 3, 2, 7, 5, 5, 0):  # the warning comes once
        np.testing.assert_array_equal(plan.gradient(np.array([k + 0.5])), [k + 1])
    assert plan.explain().variants == 3
    assert re.search(r"3 traces of different branches; [5-9] others have made way", str(plan.explain()))


def test_a_variant_that_makes_way_in_compiled_code() -> None:
    def steps(x):
        k = 0
        while k < 10 and x[0] >= k:
            k += 1
        return np.sum(x[:1] * np.ones(k + 1)) * x[k]

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(steps, rng.random(12), max_variants=2, on_branch="retrace")
    gradient = plan.kernel.gradient
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for k in (0, 3, 7, 3, 9, 0, 1, 3):
            x = rng.random(12)
            x[0] += k
            assert plan(x) == pytest.approx(steps(x))
            dx = np.zeros(12)
            gradient(x, dx)
            assert np.array_equal(dx, plan.gradient(x))


def test_guards_on_floats_and_combined_conditions() -> None:
    def f(x, t):
        if t > 1.0 and x[0] < x[1]:
            return x[0] * t
        return x[1] * t if x[0] != 2.0 else x[0] * x[1]

    plan = planned_ad.compile(f, (np.array([1.0, 2.0]), 2.0))
    cases = [(1.0, 2.0, (2, 0, 1)), (1.0, 0.5, (0, 0.5, 2)), (2.0, 0.5, (2, 2, 0)), (3.0, 2.0, (0, 2, 2))]
    for x0, t, expected in cases:
        dx, dt = plan.gradient(np.array([x0, 2.0]), t)
        assert (*dx, dt) == expected


def test_while_loops_of_other_lengths() -> None:
    def newton(a):
        x, n = 1.0, 0
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
            n += 1
        return x

    plan = planned_ad.compile(newton, 1.3)
    for a in (1.3, 2.0, 100.0, 1.3):
        np.testing.assert_allclose(plan.gradient(a), 0.5 / np.sqrt(a), rtol=1e-9)


def test_a_pullback_leaves_its_shadows_alone_when_a_guard_breaks() -> None:
    plan = planned_ad.compile(write_then_branch, np.array([1.0, 2.0]), on_branch="raise")
    x, dx = np.array([-1.0, 2.0]), np.array([7.0, 8.0])
    with pytest.raises(BranchError):
        plan.pullback(x, dx, 1.0)
    np.testing.assert_array_equal(dx, [7, 8])
    np.testing.assert_array_equal(x, [-1, 2])


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(planned_ad.errors.ArgumentError, match="on_branch"):
        planned_ad.compile(by_sign, np.ones(2), on_branch="ignore")
