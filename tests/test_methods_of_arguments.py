"""Objects that derivatives, `vectorize` and `checkpoint` are handed: their methods are traced as functions are."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

RATE = 2.0


class Tank:
    def __init__(self, h):
        self.h = h

    def flow(self):
        return RATE * math.sqrt(self.h)

    def volume(self, x):
        return float(RATE) * self.h**2 * x


def f(tank, x):
    return tank.flow() * x + tank.volume(x)


def nested_gradient(tank, x):
    return planned_ad.grad(f, argnums=1)(tank, x)


def gradient_with_methods(tank, x):
    return planned_ad.grad(f)(tank, x).flow()


def nested_jvp(tank, x):
    return planned_ad.jvp(f)(tank, x, Tank(1.0))[1]


def checkpointed(tank, x):
    return planned_ad.checkpoint(f)(tank, x)


def vectorized(tank, x):
    return np.sum(planned_ad.vectorize(f)(Tank(np.array([1.0, 2.0]) * tank.h), np.array([1.0, 0.5]) * x))


def along_h(rate: float, h: float, x: float) -> float:
    return rate * 0.5 / math.sqrt(h) * x + 2 * rate * h * x


def value(rate: float, h: float, x: float) -> float:
    return rate * math.sqrt(h) * x + rate * h * h * x


CALLS: dict[Callable, Callable] = {
    nested_gradient: lambda rate, h, x: value(rate, h, 1.0),
    gradient_with_methods: lambda rate, h, x: rate * math.sqrt(along_h(rate, h, x)),
    nested_jvp: along_h,
    checkpointed: value,
    vectorized: lambda rate, h, x: value(rate, h, x) + value(rate, 2 * h, 0.5 * x),
}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_what_a_method_reads_outside_is_noticed(call: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned_ad.compile(call, (Tank(4.0), 3.0))
    for rate in (2.0, 5.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        assert plan(Tank(4.0), 3.0) == pytest.approx(CALLS[call](rate, 4.0, 3.0))


def test_derivatives_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned_ad.compile(f, (Tank(4.0), 3.0))
    for rate in (2.0, 5.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        found, tangent = plan.jvp(Tank(4.0), 3.0, Tank(1.0), 0.0)
        assert (found, tangent) == pytest.approx((value(rate, 4.0, 3.0), along_h(rate, 4.0, 3.0)))
        second = plan.hvp(Tank(4.0), 3.0, Tank(0.0), 1.0)
        assert (second[0].h, second[1]) == pytest.approx((along_h(rate, 4.0, 1.0), 0.0))
        assert plan.jacobian(Tank(4.0), 3.0)[0].h == pytest.approx(along_h(rate, 4.0, 3.0))
