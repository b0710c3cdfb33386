"""What one of SciPy's solvers returns, read by a function that another one calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq, minimize, minimize_scalar, root

import planned_ad

X = np.array([0.3, -0.2])


def loss(t: Any, x: Any) -> Any:
    return (t[0] - x[0]) ** 2 + np.cosh(t[1] - x[1])


def profile(x: Any) -> Any:
    best = minimize(lambda t: loss(t, x), np.zeros(2), method="BFGS", tol=1e-9)
    return minimize_scalar(lambda s: loss(np.array([s, best.x[1]]), x) + 0.1 * s * x[1], tol=1e-10).x


def by_key(x: Any) -> Any:
    best = minimize(lambda t: loss(t, x), np.zeros(2), tol=1e-10)
    return quad(lambda s: np.exp(-s * best["x"][0]) + best["fun"], 0, 1)[0]


def one_after_the_other(x: Any) -> Any:
    first = minimize_scalar(lambda s: (s - x[0]) ** 2 + 0.01 * s**4)
    return minimize_scalar(lambda s: (s - first.x * x[1]) ** 2).x


def of_a_system(x: Any) -> Any:
    found = root(lambda t: [t[0] + 0.1 * t[1] - x[0], t[1] ** 3 - x[1] - 2.0], [0.1, 1.0], tol=1e-12)
    return brentq(lambda s: s**3 - found.x[1] * s - found.x[0], 0.5, 3.0)


def of_a_solution(x: Any) -> Any:
    found = solve_ivp(lambda t, y: [y[1], -(1 + x[0]) * y[0]], (0, 2), [1.0, x[1]], rtol=1e-8, t_eval=[1.0, 2.0])
    return brentq(lambda s: s**3 + found.y[0, 1] * s - 1.0 + found.t[0], -2.0, 2.5)


@pytest.mark.parametrize("f", [profile, by_key, one_after_the_other, of_a_system, of_a_solution])
def test_results_in_functions_that_solvers_call(f: Any) -> None:
    plan = planned_ad.compile(f, (X,))
    for x in (X, X + 0.1):
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-7)
        slopes = [(f(x + h) - f(x - h)) / 2e-4 for h in 1e-4 * np.eye(2)]
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-3, atol=1e-5)
    assert len(plan._variants) == 1
