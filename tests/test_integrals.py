"""Derivatives of integrals by `scipy.integrate.quad`: of integrands that are smooth, and of those that are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import dblquad, quad, tplquad
from scipy.special import digamma, gamma, j1

import planned_ad

A = 0.7
PROGRAMS: dict[str, tuple[Callable[[float], float], float, float]] = {
    "smooth": (lambda a: quad(lambda x: np.exp(-a * x), 0, 2)[0], (np.exp(-2 * A) * (2 * A + 1) - 1) / A**2, 1e-12),
    "singular at its beginning": (lambda a: quad(lambda x: a / np.sqrt(x), 0, 1)[0], 2.0, 1e-9),
    "an active power": (lambda a: quad(lambda x: x ** (a - 1.0), 0, 1)[0], -1 / A**2, 1e-9),
    "singular at both ends": (
        lambda a: quad(lambda x: np.cos(a * x) / np.sqrt(1 - x * x), -1, 1)[0], -np.pi * j1(A), 1e-5,
    ),
    "up to a singular end": (lambda a: quad(lambda x: np.sqrt(a * a - x * x), 0, a)[0], np.pi * A / 2, 1e-8),
    "a logarithm": (lambda a: quad(lambda x: np.log(a * x), 0, 1)[0], 1 / A, 1e-9),
    "singular, to infinity": (
        lambda a: quad(lambda x: np.exp(-a * x) / np.sqrt(x), 0, np.inf)[0], -0.5 * np.sqrt(np.pi) * A**-1.5, 1e-5,
    ),
    "the gamma function": (
        lambda a: quad(lambda x: x ** (a - 1) * np.exp(-x), 0, np.inf)[0], gamma(A) * digamma(A), 1e-4,
    ),
    "a kink": (lambda a: quad(lambda x: abs(x - a), 0, 2)[0], 2 * A - 2, 1e-6),
    "a kink, by a branch": (lambda a: quad(lambda x: (x - a) ** 2 if x > a else 0.0, 0, 3)[0], -((3 - A) ** 2), 1e-9),
    "a narrow peak": (
        lambda a: quad(lambda x: np.exp(-(((x - 0.3) / (0.01 * a)) ** 2)), 0, 1)[0], 0.01 * np.sqrt(np.pi), 1e-9,
    ),
    "between infinities": (lambda a: quad(lambda x: 1 / (a + x * x), -np.inf, np.inf)[0], -np.pi / 2 * A**-1.5, 1e-9),
    "moving points": (
        lambda a: quad(lambda x: a * x if x < a else 2.0 * x, 0, 1, points=[a, 0.2])[0],
        1.5 * A**2 - 2 * A,
        1e-9,
    ),
    "points": (lambda a: quad(lambda x: a * abs(x - 0.3), 0, 1, points=[0.3])[0], 0.29, 1e-9),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name: str) -> None:
    f, slope, rtol = PROGRAMS[name]
    plan = planned_ad.compile(f, (0.75,))
    value, gradient = plan.value_and_gradient(A)
    assert value == pytest.approx(f(A), rel=1e-12)
    assert gradient == pytest.approx(slope, rel=rtol)
    assert len(plan._variants) == 1


@pytest.mark.long
def test_an_integral_in_three_dimensions() -> None:
    """Its innermost integrals are written out: half a minute."""
    plan = planned_ad.compile(lambda a: tplquad(lambda z, y, x: a * x * y * z**2, 0, 1, 0, 1, 0, 1)[0], (A,))
    assert plan.value_and_gradient(A) == pytest.approx((A / 12, 1 / 12), rel=1e-12)


def test_an_integral_in_an_integral() -> None:
    plan = planned_ad.compile(lambda a: dblquad(lambda y, x: np.sqrt(a * x) * y, 0, 1, 0, lambda x: x)[0], (A,))
    assert plan.value_and_gradient(A) == pytest.approx((np.sqrt(A) / 7, 0.5 / np.sqrt(A) / 7), rel=1e-8)
