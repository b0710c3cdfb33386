"""Statistics by ranks, least squares with bounds, assignments and LSODA: by SciPy, with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats

import planned_ad
from planned_ad.errors import PlannedADError
from planned_ad.python.versions import SCIPY
from planned_ad.trace import trace
from tests.tracing_oracle import replay

from .test_gradients import gradient, weighted

rank_correlation = scipy.stats.spearmanrho if SCIPY >= (1, 17) else scipy.stats.spearmanr

X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9])
Y = np.array([0.3, 0.5, -0.6, 1.4, -0.2, 0.1])
M = np.array([[0.9, 0.2, 0.4], [0.1, 0.8, 0.5], [0.6, 0.3, 0.2], [0.5, 0.5, 0.1]])


def ends(t: Any, y: Any, a: Any) -> Any:
    return [y[1], -a * y[0]]


def programme(found: Any) -> Any:
    return np.concatenate([found.x, found.slack, found.con, np.array([found.fun])])


PROGRAMS: dict[str, Callable[..., Any]] = {
    "kstest": lambda x: scipy.stats.kstest(x, scipy.stats.norm.cdf, (0.1, 1.2)).statistic * x,
    "kstest of a function": lambda x: scipy.stats.kstest(x, lambda v: 1 / (1 + np.exp(-v)), alternative="less")[0],
    "its probability": lambda x: scipy.stats.kstest(x, scipy.stats.norm.cdf, (0.1, 1.2)).pvalue * x,
    "on one side": lambda x: scipy.stats.ks_1samp(x, scipy.stats.norm.cdf, (), "greater").pvalue * x,
    "in the limit": lambda x: sum(scipy.stats.kstest(x, "norm", (), 20, "two-sided", "asymp")) * x,
    "approximately": lambda x: scipy.stats.kstest(x, scipy.stats.norm.cdf, (0.8, 1.0), method="approx").pvalue * x,
    "its location": lambda x: scipy.stats.ks_1samp(x, scipy.stats.norm.cdf).statistic_location,
    "kstest of two": lambda x: scipy.stats.kstest(x, Y).statistic_location,
    "ks_2samp": lambda x: (lambda d, p: (d + p) * x)(*scipy.stats.ks_2samp(x, Y)),
    "mannwhitneyu": lambda x: scipy.stats.mannwhitneyu(x, Y, alternative="less").pvalue * x,
    "wilcoxon": lambda x: scipy.stats.wilcoxon(x - Y)[0] * x,
    "kendalltau": lambda x: scipy.stats.kendalltau(x, Y).correlation * x,
    "others by ranks": lambda x: (rank_correlation(x, Y)[0] + scipy.stats.chatterjeexi(x, Y)[0]) * x,
    "cramervonmises": lambda x: scipy.stats.cramervonmises(x, "norm").statistic,
    "siegelslopes": lambda x: scipy.stats.siegelslopes(x, Y)[0] + scipy.stats.siegelslopes(x, Y, "separate")[1] * Y,
    "slopes of equal numbers": lambda x: scipy.stats.siegelslopes(x, np.round(Y))[0],
    "nnls": lambda x: scipy.optimize.nnls(M * np.exp(0.1 * x[:4, None]), 0.1 * x[2:] + [1.0, 0.2, 0.1, 2.0])[0],
    "its residual": lambda x: scipy.optimize.nnls(M, x[:4])[1],
    "lsq_linear": lambda x: scipy.optimize.lsq_linear(M + 0.1 * x[0], x[:4], (-0.1, 0.5 + 0.1 * x[1])).x,
    "its cost": lambda x: scipy.optimize.lsq_linear(M, x[2:]).cost,
    "linprog": lambda x: programme(scipy.optimize.linprog(x[:3] - 2, M[:3] + 0.1 * x[2], 1 + 0.1 * x[3:])),
    "of all constraints": lambda x: programme(
        scipy.optimize.linprog(
            [-1, -2, 1.5], M[:1], [1 + 0.1 * x[0]], A_eq=[M[1] + 0.1 * x[:3]], b_eq=0.5 + 0.1 * x[3:4],
            bounds=[(None, 2), (0.1, None), (0.1 * x[1], 1)],
        )
    ),
    "assignment": lambda x: np.outer(x[:3], Y[:3])[scipy.optimize.linear_sum_assignment(np.outer(x[:3], Y[:3]))],
    "within bounds": lambda x: scipy.optimize.minimize(
        lambda v: np.sum((v - x) ** 4 + (v - x) ** 2), np.zeros(6) + 0.1, jac=lambda v: 4 * (v - x) ** 3 + 2 * (v - x),
        bounds=[(0.0, 1.0 + 0.1 * x[0])] * 5 + [(None, 2)], options={"ftol": 0.0, "gtol": 1e-14},
    ).x,
    "by other methods": lambda x: scipy.optimize.minimize(
        lambda v: np.sum((v - np.exp(x[:3])) ** 2) + v[0] * v[1], np.ones(3), method="SLSQP", tol=1e-14,
        bounds=scipy.optimize.Bounds(0.5, [9.0, 1.0, 9.0]),
    ).x,
    "LSODA": lambda x: scipy.integrate.solve_ivp(
        ends, (0.0, 1.0), x[:2], "LSODA", np.linspace(0.0, 1.0, 3), args=(x[2],), rtol=1e-8, atol=1e-10
    ).y,
    "from its first time on": lambda x: scipy.integrate.solve_ivp(
        lambda t, y: -x[0] * y * t, (0.5 + 0.1 * x[1], 2), [1], method="LSODA", t_eval=[1.0, 1.5], rtol=1e-9, atol=1e-12
    )["y"],
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives(name: str) -> None:
    loss = weighted(PROGRAMS[name])
    actual, _ = replay(trace(loss, (X,)), X)
    np.testing.assert_allclose(actual, loss(X), rtol=1e-9)
    direction = np.cos(3.0 * np.arange(6))
    around = [loss(X + s * 1e-4 * direction) for s in (-2, -1, 1, 2)]
    wanted = (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / 12e-4
    (dx,) = gradient(loss, (X,))
    np.testing.assert_allclose(dx @ direction, wanted, rtol=2e-5, atol=1e-7)


def test_other_numbers_have_other_bounds_that_hold() -> None:
    def solution(b: Any) -> Any:
        return np.sum(scipy.optimize.nnls(M, b)[0])

    plan = planned_ad.compile(solution, (X[:4],))
    assert "nnls" in plan.explain().fallbacks[0]
    for b in (X[:4], X[2:], -X[:4], np.abs(X[:4])):
        np.testing.assert_allclose(plan(b), solution(b), rtol=1e-12)
        around = [solution(b + h * Y[:4]) for h in (-1e-6, 1e-6)]
        np.testing.assert_allclose(plan.gradient(b) @ Y[:4], (around[1] - around[0]) / 2e-6, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: scipy.stats.cramervonmises(x, "norm").pvalue, "pvalue"),
        (lambda x: scipy.stats.mannwhitneyu(x.reshape(2, 3), Y.reshape(2, 3))[0], "several axes"),
        (lambda x: scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), np.repeat(x, 9), "LSODA").y, "t_eval="),
        (
            lambda x: scipy.integrate.solve_ivp(ends, (0, 1), x[:2], "LSODA", [1], dense_output=True, args=(1.0,)).y,
            "dense_output=",
        ),
    ],
)
def test_what_is_refused_by_name(function: Callable[..., Any], what: str) -> None:
    with pytest.raises(PlannedADError, match=what):
        trace(weighted(function), (X,))


def test_vertices_without_a_derivative() -> None:
    def vertex(x: Any) -> Any:
        return scipy.optimize.linprog([-1.0, -1.2], [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], x).x

    traced = trace(vertex, (np.array([1.5, 1.0, 1.0]),))
    np.testing.assert_allclose(replay(traced, np.array([1.6, 1.0, 1.0]))[0], [0.6, 1.0])
    for x, why in (([2.0, 1.0, 1.0], "hold the solution"), ([-1.0, 1.0, 1.0], "no solution")):
        with pytest.raises(np.linalg.LinAlgError, match=why):
            replay(traced, np.array(x))
