"""Sums of what a mask has chosen in a loop are sums of the whole array, with zeros elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.passes.boundary import primal
from planned_ad.passes.pipeline import simplify
from planned_ad.tape.tape import Apply, Loop, walk
from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan


def rings(x):
    total = 0.0
    for i in range(20):
        total += x[x > 0.1 * i - 0.3].sum() ** 2
    return total


def moments(x):
    total = 0.0
    for i in range(20):
        v = x[x > 0.05 * i - 0.3]
        if len(v) > 1:
            total += v.std() + v.mean() * np.sum(v * v) + ((v - 1.0) / 2).sum()
    return total


def changed_meanwhile(x):
    y, total = x.copy(), 0.0
    for i in range(20):
        v = y[y > 0.05 * i - 0.3]
        y *= 1.05
        total += v.sum() * np.mean(v)
    return total


def of_two_axes(x):
    square, total = x[:36].reshape(6, 6), 0.0
    for i in range(20):
        v = square[square > 0.02 * i - 0.3]
        total += v.sum() + np.sum((1.0 + v) ** 3)
    return total


def without_zeros(x):
    """What is not chosen may be infinite."""
    total = 0.0
    for i in range(20):
        m = (x > 0.02 * i - 0.9) & (x != 0)
        total += np.sum(1.0 / x[m]) + np.sum(x[m] - x[~m].sum())
    return total


def by_two_masks(x):
    total = 0.0
    for i in range(20):
        m = x > 0.05 * i - 0.3
        total += np.sum(np.exp(x[m])) + np.sum(x[m] * x[::-1][m]) + np.sum(x[~m] * 2.0)
    return total


def in_branches(x):
    total = 0.0
    for i in range(20):
        v = x[x > 0.05 * i - 0.3] if x[i] > 0 else x[x < 0.05 * i]
        total += v.sum()
        if x[i + 1] > 0.1:
            total += 2.0 * v.sum()
    return total


def written_to(x):
    total = 0.0
    for i in range(20):
        v = x[x > 0.02 * i - 0.3]
        total += v.sum()
        if i % 3 == 0:
            v *= 2.0
        elif i % 3 == 1:
            v[v > 0.2] = 0.1
        else:
            w = v[1:]
            w += 1.0
        total += v.sum() * v.sum()
        v[0] = 3.0
        v.sort()
        total += np.sum(v)
    return total


PROGRAMS = (written_to, rings, moments, changed_meanwhile, of_two_axes, without_zeros, by_two_masks, in_branches)


@pytest.mark.parametrize("f", PROGRAMS)
def test_values_and_slopes(f: Callable) -> None:
    rng, step = np.random.default_rng(1), 1e-6
    plan = InterpretedPlan(f, rng.normal(size=40) * 0.4 + 0.2)
    for x in rng.normal(size=(3, 40)) * 0.4 + 0.2:
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)
        slopes = [(f(x + h) - f(x - h)) / (2 * step) for h in np.eye(40) * step]
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-5, atol=1e-6)


def test_the_derivative_of_what_is_not_chosen_is_zero() -> None:
    x = np.linspace(-0.5, 0.5, 40)
    x[3] = 0.0
    plan = planned_ad.compile(without_zeros, (x + 1.0,))
    assert np.isfinite(plan(x)) and np.all(np.isfinite(plan.gradient(x)))


@pytest.mark.parametrize("f", [rings, changed_meanwhile])
def test_no_element_is_looked_up(f: Callable) -> None:
    tape = simplify(primal(trace(f, (np.linspace(-0.5, 0.5, 40),)).tape))
    assert sum(isinstance(op, Loop) for op in walk(tape.operations)) == 1
    assert not any(isinstance(op, Apply) and op.primitive == "gather" for op in walk(tape.operations))


def test_what_is_not_chosen_adds_nothing_to_derivatives() -> None:
    """Not even where it is no number: `nan` is not less than 5."""

    def f(x):
        chosen = x < 5
        y = np.zeros(len(x))
        y[chosen] = x[0] * x[chosen] ** 2
        return np.sum(x[0] * x[chosen] * x[chosen]) + np.sum(y)

    plan = planned_ad.compile(f, (np.array([1.0, 2.0, 3.0, 9.0, 0.5]),))
    for last, number in ((np.nan, 0.0), (np.inf, 0.0), (4.0, 16.0)):
        x = np.array([1.0, 2.0, last, 3.0, 4.0])
        others = np.sum(x[x < 5] ** 2)
        assert plan(x) == 2 * others
        np.testing.assert_allclose(plan.gradient(x), [2 * others + 4.0, 8.0, number, 12.0, 16.0])
