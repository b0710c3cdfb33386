"""Derivatives that SciPy's solvers are given by name: they are called, and not what they are made of."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate as integrate
import scipy.optimize as optimize

import planned_ad
from planned_ad import grad, jacobian, value_and_grad

X = np.array([1.0, 2.0])


def energy(s, a, b):
    return s**3 * a - b * s


def distance(z, q):
    return np.sum((z - q) ** 4 + z**2 * q)


def residuals(z, q):
    return z**3 + z * q - 1.0


slope, of_distance, of_residuals = grad(energy), grad(distance), jacobian(residuals)


def by_brentq(x):
    return optimize.brentq(slope, 0.01, 10.0, args=(x[0], x[1]))


def by_quad(x):
    return integrate.quad(slope, 0.0, 1.0, args=(x[0], x[1]))[0]


def by_root(x):
    return np.sum(optimize.root(of_distance, np.ones(2), args=(x,), tol=1e-12).x)


def by_fsolve(x):
    return np.sum(optimize.fsolve(residuals, np.ones(2), args=(x,), fprime=of_residuals, xtol=1e-12) * x)


def by_minimize(x):
    return np.sum(optimize.minimize(distance, np.ones(2), args=(x,), jac=of_distance, tol=1e-12).x * x)


def by_minimize_of_both(x):
    return np.sum(optimize.minimize(value_and_grad(distance), np.ones(2), args=(x,), jac=True, tol=1e-12).x * x)


def of_a_closure(x):
    g = grad(lambda z: np.sum((z - x) ** 4 + z**2 * x))
    return np.sum(optimize.root(g, np.ones(2), tol=1e-12).x ** 2)


def of_a_closure_in_a_lambda(x):
    g = grad(lambda z: np.sum((z - x) ** 4 + z**2 * x))
    return np.sum(optimize.root(lambda z: 2.0 * g(z), np.ones(2), tol=1e-12).x ** 2)


@pytest.mark.parametrize(
    "f",
    [by_brentq, by_quad, by_root, by_fsolve, by_minimize, by_minimize_of_both, of_a_closure, of_a_closure_in_a_lambda],
)
def test_they_are_called(f):
    plan = planned_ad.compile(f, X, check=False)
    for x in (X, np.array([1.2, 1.7])):
        assert plan(x) == pytest.approx(f(x), rel=1e-7)
        e = 1e-4 * np.eye(2)
        expected = [(f(x + step) - f(x - step)) / 2e-4 for step in e]
        np.testing.assert_allclose(plan.gradient(x), expected, rtol=1e-4, atol=1e-5)
