"""Plans as external functions of CasADi."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.export import c_compiler
from planned_ad.errors import UnsupportedError

from .programs import W, X, branching, rosenbrock

casadi = pytest.importorskip("casadi")
casadi_function = planned_ad.interop.casadi_function

pytestmark = pytest.mark.skipif(c_compiler() is None, reason="no C compiler")


def loss(x, t, n, w):
    return np.sum(np.cos(x) * w * np.exp(t)) + t**n


def test_value_gradient_and_hessian(tmp_path) -> None:
    plan = planned_ad.compile(loss, (X, 0.5, 3, planned_ad.Const(W)))
    f = casadi_function(plan, "loss", tmp_path)
    x, t, found = casadi.MX.sym("x", 10), casadi.MX.sym("t"), []
    for value in (f(x, t, W), casadi.dot(casadi.cos(x) * W, casadi.exp(t) * np.ones(10)) + t**3):
        both = casadi.vertcat(x, t)
        gradient = casadi.gradient(value, both)
        hessian = casadi.jacobian(gradient, both)
        found.append(casadi.Function("all", [x, t], [value, gradient, hessian])(X, 0.7))
    for own, other in zip(*found):
        np.testing.assert_allclose(own.full(), other.full(), rtol=1e-10, atol=1e-12)


def test_a_vector(tmp_path) -> None:
    f = casadi_function(planned_ad.compile(lambda x, t: np.sin(x * t)[1:], (X, 0.5)), "waves", tmp_path)
    x, t = casadi.MX.sym("x", 10), casadi.MX.sym("t")
    jacobian = casadi.Function("j", [x, t], [f(x, t), casadi.jacobian(f(x, t), x)])
    value, matrix = jacobian(X, 0.7)
    np.testing.assert_allclose(value.full()[:, 0], np.sin(X * 0.7)[1:], rtol=1e-14)
    np.testing.assert_allclose(matrix.full(), np.diag(0.7 * np.cos(X * 0.7))[1:], rtol=1e-14)


def test_an_optimiser(tmp_path) -> None:
    f, x = casadi_function(planned_ad.compile(rosenbrock, X), "rosenbrock", tmp_path), casadi.MX.sym("x", 10)
    solver = casadi.nlpsol("s", "ipopt", {"x": x, "f": f(x)}, {"print_time": False, "ipopt.print_level": 0})
    np.testing.assert_allclose(solver(x0=X)["x"].full(), 1, rtol=1e-6)


def test_what_is_refused(tmp_path) -> None:
    with pytest.raises(UnsupportedError, match="not a vector"):
        casadi_function(planned_ad.compile(lambda x: np.sum(x**2), np.ones((2, 2))))
    f = casadi_function(planned_ad.compile(branching(7), X), "branching", tmp_path)
    with pytest.raises(RuntimeError, match="failed"):
        f(-X)
