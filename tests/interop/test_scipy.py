"""SciPy's optimisers with the derivatives of a plan."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError
from planned_ad.interop import least_squares, minimize, root

from .programs import X, rosenbrock

METHODS = ["Nelder-Mead", "BFGS", "L-BFGS-B", "Newton-CG", "trust-ncg", "trust-constr", "trust-exact", "dogleg", None]


@pytest.fixture(scope="module")
def plan():
    return planned_ad.compile(rosenbrock, X[:4])


@pytest.mark.parametrize("method", METHODS)
def test_minimize(plan, method) -> None:
    x0 = np.array([0.9, 0.8, 0.9, 0.7])
    options = {"maxiter": 4000} if method == "Nelder-Mead" else {}
    found = minimize(plan, [0.98, 0.98, 0.97, 0.94] if method == "dogleg" else x0, method=method, options=options)
    np.testing.assert_allclose(found.x, 1, atol=2e-3)


def test_minimize_a_function_of_a_matrix_and_data() -> None:
    a = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = minimize(lambda x, a, n: np.sum((a @ x - np.eye(2)) ** n), np.zeros((2, 2)), (a, 2), "trust-ncg")
    np.testing.assert_allclose(found.x.reshape(2, 2), np.linalg.inv(a), rtol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_least_squares(sparse) -> None:
    t = np.linspace(0, 1, 20)
    y = 3.0 * np.exp(-2.0 * t)
    found = least_squares(lambda p, t, y: p[0] * np.exp(-p[1] * t) - y, [1.0, 1.0], (t, y), sparse=sparse)
    np.testing.assert_allclose(found.x, [3, 2], rtol=1e-6)


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov"])
def test_root(method) -> None:
    found = root(lambda x: x + 0.1 * np.cos(x[::-1]), np.zeros(3), method=method)
    np.testing.assert_allclose(found.x, -0.1 * np.cos(found.x[::-1]), atol=1e-6)


def test_another_active_argument_is_refused() -> None:
    plan = planned_ad.compile(lambda x, w: np.sum(x * w), (X, X))
    with pytest.raises(ArgumentError, match="only active argument is the first"):
        minimize(plan, X, (X,))


def test_one_argument_and_a_gradient_of_ones_own() -> None:
    def shifted(x, a):
        return np.sum((x - a) ** 2)

    np.testing.assert_allclose(planned_ad.interop.minimize(shifted, np.zeros(2), 3.0).x, 3.0, rtol=1e-6)
    with pytest.raises(ArgumentError, match="jac is the plan's"):
        planned_ad.interop.minimize(shifted, np.zeros(2), 3.0, jac=lambda x, a: 2 * (x - a))
