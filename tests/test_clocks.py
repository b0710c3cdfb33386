"""`while t < end: ...; t += dt`: many steps of a known clock are a loop, and the clock is computed in it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

X = np.array([0.7, 0.4, 0.9, 1.3, 0.2, 0.6])


def steps(x):
    t, y = 0.0, x[0]
    while t < 3.0 - 1e-12:
        y = y + 0.01 * (x[1] - y * np.sin(t))
        t = t + 0.01
    return y * y


def runge_kutta(x):
    def slope(t, y):
        return x[1] * np.sin(t) - 0.5 * y * y

    t, y, h = 0.0, x[0], 0.02
    while t < 5.0:
        k1 = slope(t, y)
        k2 = slope(t + h / 2, y + h / 2 * k1)
        k3 = slope(t + h / 2, y + h / 2 * k2)
        k4 = slope(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
    return y


def doses(x):
    t, y, following, count = 0.0, x[0], 0.5, 0
    while t < 6.0:
        if t >= following:
            y += x[2]
            following += 0.5
            count += 1
        y = y - 0.01 * x[1] * y
        t += 0.01
    return y * y + count * x[3]


def in_lists(x):
    t, y = 0.0, x[0]
    ys, ts = [y], [t]
    while t < 4.0:
        y = y + 0.02 * (x[1] - y)
        t += 0.02
        ys.append(y)
        ts.append(t)
    return np.sum(np.array(ys) * np.array(ts)) + len(ts) * x[2]


def longer_steps(x):
    t, y, h = 0.0, x[0], 0.01
    while t < 8.0:
        h = min(0.05, h * 1.01)
        y = y + h * (x[int(t) % 6] - y)
        t += h
    return y * t


def simulated_twice(x):
    def simulated(end):
        t, y, count = 0.0, x[0], 0
        while t < end:
            y = y + 0.01 * (x[1] - y)
            t += 0.01
            count += 1
        return y, count

    first, second = simulated(2.5), simulated(3.5)
    return first[0] * second[0] * second[1] - first[1] * x[5]


@pytest.mark.parametrize("f", [steps, runge_kutta, doses, in_lists, longer_steps, simulated_twice])
def test_many_steps_are_a_loop(f: Callable) -> None:
    plan = planned_ad.compile(f, (X,))
    assert not plan._variants[0].trace.unrolled
    for x in (X, X[::-1].copy()):
        value, gradient = plan.value_and_gradient(x, np.empty(6))
        assert value == pytest.approx(f(x), rel=1e-12)
        for k in range(6):
            step = 1e-6 * np.eye(6)[k]
            assert gradient[k] == pytest.approx((f(x + step) - f(x - step)) / 2e-6, rel=1e-6, abs=1e-7)
    assert len(plan._variants) == 1


def by_its_text(x):
    t, y, met = 0.0, x[0], 0
    while t < 2.0:
        y = y + 0.01 * (x[1] - y)
        t += 0.01
        met += f"{t:.2f}" in ("1.00", "1.50")
    return y * met


def few_steps(x):
    t, y = 0.0, x[0]
    while t < 1.0:
        y = y + 0.05 * (x[1] - y)
        t += 0.05 if math.fmod(t, 0.1) < 0.05 else 0.06
    return y


@pytest.mark.parametrize("f, reason", [(by_its_text, "for its text"), (few_steps, "does not end by comparing")])
def test_otherwise_it_is_unrolled(f: Callable, reason: str) -> None:
    plan = planned_ad.compile(f, (X,), check=False)
    assert reason in plan._variants[0].trace.unrolled[0].reason
    assert plan(X) == pytest.approx(f(X), rel=1e-12)


def test_as_many_steps_as_there_are():
    def f(x):
        t, y = 0.0, x[0]
        while t < 20.0:
            y = y + 0.0005 * (x[1] - y)
            t += 0.0005
        return y

    assert planned_ad.compile(f, (X,), check=False)(X) == pytest.approx(f(X), rel=1e-9)
