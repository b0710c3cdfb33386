"""What other people's code calls of NumPy, SciPy and Numba beside plain functions: values and derivatives."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats
from scipy.linalg import lapack
from scipy.optimize import elementwise

import planned_ad
from planned_ad.errors import PlannedADError
from planned_ad.python.shadows import VENDORED
from planned_ad.tape.guards import guards_of
from planned_ad.trace import trace
from tests.tracing_oracle import check, replay

from .test_gradients import gradient, weighted

array_api = next(sys.modules[name] for holder in VENDORED if (name := f"{holder}array_api_compat.numpy") in sys.modules)
X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9])
P = np.abs(X) + 0.3


@numba.vectorize
def scaled(a, b):
    return a * b if a > 0.0 else b


@numba.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
def norm_of_row(a, result):
    result[0] = 0.0
    for value in a:
        result[0] += value * value


def added_in_turns(x):
    total = np.ones(3)
    np.multiply.at(total, [0, 2, 2], x[:3])
    np.maximum.at(total, [1], x[3])
    return total


def added_where_data_say(x):
    places = np.searchsorted(np.array([-1.0, 0.0, 0.8]), x)
    total, rows, chosen = np.ones(4), np.ones((5, 4)).T, np.full(6, 0.5)
    np.maximum.at(total, places, x * 2)
    np.multiply.at(rows, places, np.outer(x, np.arange(1.0, 6.0)))
    np.multiply.at(chosen, x > 0.1, x[0])
    for k in range(20):
        above = x > 0.1 * k - 1.03
        np.minimum.at(total, places[above], x[above] * (1 + 0.1 * k))
    return [total, rows, chosen]


def objects(x):
    rows = np.empty(2, dtype=object)
    rows[0], rows[1] = x[:2], x[2:5]
    return np.sum(np.array([x[0], x[1] ** 2], dtype=object)) * rows[1].prod()


def by_lapack(x):
    """As code of Gaussian processes has it: with a larger diagonal where that is needed."""
    a = np.outer(x[:2], x[2:4])
    a = a + a.T
    for jitter in (0.0, 10.0):
        factor, info = lapack.dpotrf(a + jitter * np.eye(2), lower=1)
        if info == 0:
            break
    upper, _ = lapack.dpotrf(a + 10 * np.eye(2), 0, 0)
    return [
        factor,
        upper,
        lapack.dpotri(upper)[0],
        lapack.dpotri(factor, 1)[0],
        lapack.dpotrs(factor, x[4:], lower=1)[0],
    ]


def minimum_if_found(x, method):
    tried = scipy.optimize.minimize(lambda v: (v[0] - x[0]) ** 2 + x[1] ** 2, np.ones(1), method=method, tol=1e-9)
    found = tried.status in (0, 1) and tried.nfev > 2  # COBYLA tells success by 1, or by 0
    return tried.x if found else x[:1]


def of_truth(x):
    y = x.copy()
    y[x[0] > 0] = 2.0
    return y * x


UFUNCS: dict[str, Callable[..., Any]] = {
    "vectorize": lambda x: np.vectorize(lambda a, b: a * b if a > 0 else a - b)(x, 0.5),
    "vectorize otypes": lambda x: np.vectorize(math.exp, otypes=[float])(x),
    "vectorize signature": lambda x: np.vectorize(lambda row: row.sum() * row[0], signature="(n)->()")(x.reshape(2, 3)),
    "frompyfunc": lambda x: np.frompyfunc(lambda a: a * a, 1, 1)(x).astype(float),
    "numba vectorize": lambda x: scaled(x, x[::-1].copy()),
    "numba guvectorize": lambda x: norm_of_row(x.reshape(2, 3)),
    "logaddexp reduce": lambda x: np.logaddexp.reduce(x.reshape(2, 3), axis=1),
    "subtract reduce": lambda x: np.subtract.reduce(x.reshape(2, 3)),
    "hypot accumulate": lambda x: np.hypot.accumulate(x),
    "add reduceat": lambda x: np.add.reduceat(x, [0, 2, 1]),
    "add reduceat of many": lambda x: np.add.reduceat(np.outer(x, x), [0, 2, 1, 1, 4, 5, 0, 3] * 6, axis=1)[:3],
    "at": added_in_turns,
    "at places of data": added_where_data_say,
    "a list": lambda x: np.exp([x[0], [x[1]][0], 2.0]) + np.maximum.reduce([x[:3], x[3:]]),
    "like a list": lambda x: np.ones_like([x[0], x[1]]) * x[2] + np.full_like([x[0], 1.0], x[3]),
    "float64": lambda x: np.float64(x[0]) * x[np.int64(np.abs(x[:2]) > 0.5)],
    "objects": objects,
    "of a truth": of_truth,
}
MATRICES: dict[str, Callable[..., Any]] = {
    "cosm": lambda x: scipy.linalg.cosm(x[:4].reshape(2, 2)) + scipy.linalg.tanhm(x[:4].reshape(2, 2)),
    "frechet": lambda x: scipy.linalg.expm_frechet(x[:4].reshape(2, 2), np.eye(2) + x[0])[1],
    "logm": lambda x: scipy.linalg.logm(np.outer(x[:2], x[:2]) + 2 * np.eye(2)),
    "toeplitz": lambda x: scipy.linalg.solve_toeplitz(P[:3] + x[:3] ** 2 + [4, 0, 0], x[3:]),
    "riccati": lambda x: scipy.linalg.solve_continuous_are(
        x[:4].reshape(2, 2), np.eye(2), np.eye(2), (2 + x[4]) * np.eye(2)
    ),
    "discrete riccati": lambda x: scipy.linalg.solve_discrete_are(
        0.5 * x[:4].reshape(2, 2), np.eye(2), np.eye(2), np.eye(2)
    ),
    "riccati with e and s": lambda x: [
        solve(
            0.5 * x[:4].reshape(2, 2),
            np.ones((2, 1)),
            2 * np.eye(2),
            np.array([[2 + x[4]]]),
            e=np.eye(2) + 0.1 * np.outer(x[:2], x[2:4]),
            s=0.1 * x[4:].reshape(2, 1),
        )
        for solve in (scipy.linalg.solve_continuous_are, scipy.linalg.solve_discrete_are)
    ],
    "discrete riccati with s": lambda x: scipy.linalg.solve_discrete_are(
        0.5 * x[:4].reshape(2, 2), np.eye(2), np.eye(2), np.eye(2), s=0.1 * x[2:].reshape(2, 2)
    ),
    "cholesky by LAPACK": by_lapack,
    "LAPACK by get_lapack_funcs": lambda x: scipy.linalg.get_lapack_funcs(("potrf",), (x,))[0](
        np.outer(x[:2], x[:2]) + np.eye(2), lower=1
    )[0],
    "triangles by LAPACK": lambda x: [
        lapack.dtrtri(x.reshape(2, 3)[:, :2] + 2 * np.eye(2), lower=lower, unitdiag=unit)[0]
        + lapack.dtrtrs(x.reshape(2, 3)[:, 1:] + 2 * np.eye(2), x[:2], lower=lower, trans=unit, unitdiag=unit)[0]
        for lower in (0, 1)
        for unit in (0, 1)
    ],
    "solve of the array API": lambda x: (
        array_api.linalg.solve(x[:4].reshape(2, 2) + 3 * np.eye(2), x[4:])
        + array_api.linalg.solve(2 * np.eye(2), np.outer(x[:2], x[2:4]))
    ),
}
STATISTICS: dict[str, Callable[..., Any]] = {
    "weibull": lambda x: scipy.stats.weibull_min.logpdf(np.exp(x), 1.5, scale=P),
    "genpareto": lambda x: scipy.stats.genpareto.pdf(P, 0.2 + 0.1 * x[0]),
    "frozen": lambda x: scipy.stats.gumbel_r(x[0], P[0]).cdf(x),
    "truncnorm": lambda x: scipy.stats.truncnorm.logpdf(0.3 * x, -1 + 0.1 * x[0], 1.5),
    "isf": lambda x: scipy.stats.norm.isf(scipy.special.expit(x)),
    "moments": lambda x: scipy.stats.weibull_min.mean(P + x[0] ** 2) + scipy.stats.gamma.stats(P + x[1] ** 2)[1],
    "outside": lambda x: scipy.stats.pareto.pdf(x + 1.0, 2.0),
    "normal of several": lambda x: scipy.stats.multivariate_normal(x[:2], np.outer(x[2:4], x[2:4]) + np.eye(2)).logpdf(
        x[4:]
    ),
    "dirichlet": lambda x: scipy.stats.dirichlet.logpdf(np.exp(x[:3]) / np.sum(np.exp(x[:3])), P[:3]),
    "kernels": lambda x: scipy.stats.gaussian_kde(x).logpdf(P),
    "pearsonr": lambda x: scipy.stats.pearsonr(x, P)[0],
    "spearmanr": lambda x: scipy.stats.spearmanr(x, P)[0] * x,
}


def roots_by_newton(x: np.ndarray) -> tuple:
    """With what it is given in a closure and in a list."""

    def gap(t, c, *more):
        return t**3 + c * t - x - more[0]

    start = x * 0 + 1.5
    return scipy.optimize.newton(gap, start, lambda t, c, _: 3 * t**2 + c, args=[2.0, P[0]], full_output=True)


def minima(a: np.ndarray, b: np.ndarray) -> Any:
    return elementwise.find_minimum(lambda t, a, b: (t - a * b) ** 2 + t**4, (-9.0, 0.1, 9.0), args=(a, b))


SOLVERS: dict[str, Callable[..., Any]] = {
    "what brentq tells": lambda x: (
        lambda root, told: root * x[1] + told.root * told.converged + (told.iterations > 2) * x[0]
    )(*scipy.optimize.brentq(lambda t: t**3 + P[0] * t - x[0], -5.0, 5.0, full_output=True)),
    "brentq": lambda x: scipy.optimize.brentq(lambda t, a: t**3 + P[0] * t - a, -5.0, 5.0, args=(x[0],)) * x[1],
    "newton": lambda x: roots_by_newton(x)[0],
    "newton, of one number": lambda x: roots_by_newton(x[0])[0] * x,
    "find_root": lambda x: elementwise.find_root(lambda t, a, b: t**3 + t - a * b, (-9.0, 9.0), args=(x, P)).x,
    "find_minimum": lambda x: minima(x, P).x + minima(x, P).f_x,
    "fsolve": lambda x: scipy.optimize.fsolve(lambda v: [v[0] ** 2 + v[1] - 2 - x[0], v[1] - x[1] * v[0]], [1.0, 1.0]),
    "minimize": lambda x: (
        scipy.optimize.minimize(lambda v: (v[0] - x[0]) ** 2 + (v[1] - x[1] * v[0]) ** 2, np.ones(2), tol=1e-9).x
    ),
    "status of minimize": lambda x: [minimum_if_found(x, method) for method in ("BFGS", "COBYLA")],
    "quad": lambda x: scipy.integrate.quad(lambda t: math.exp(-x[0] * t) * (1 if t < 0.5 else t), 0.0, P[1] + x[1])[0],
    "quad to infinity": lambda x: scipy.integrate.quad(lambda t: np.exp(-P[0] * (t - x[0]) ** 2), -np.inf, np.inf)[0],
    "odeint": lambda x: scipy.integrate.odeint(
        lambda y, t: [y[1], -P[0] * y[0] - x[0] * y[1]], x[1:3], np.linspace(0, 1, 3)
    ),
}
SPECIAL: dict[str, Callable[..., Any]] = {
    "polynomials": lambda x: scipy.special.eval_legendre(4, x) + scipy.special.eval_jacobi(3, 0.5, 0.2, x),
    "others": lambda x: scipy.special.eval_hermite(3, x) + scipy.special.eval_genlaguerre(2, 0.4, x),
    "several": lambda x: scipy.special.fresnel(x)[0] + scipy.special.sici(P + x**2)[1] + scipy.special.airy(x)[2],
    "losses": lambda x: scipy.special.huber(0.8, x) + scipy.special.pseudo_huber(0.8, x) + scipy.special.powm1(P, x),
    "powers": lambda x: scipy.special.inv_boxcox(0.2 * x, P) + scipy.special.agm(P, P[::-1] + x**2),
    "spherical": lambda x: scipy.special.spherical_jn(2, x) + scipy.special.spherical_kn(1, P + x**2, derivative=True),
    "distributions": lambda x: scipy.special.fdtr(3.0, 4.0, P + x**2) + scipy.special.bdtr(2, 5, P / (2 + x**2)),
}


@pytest.mark.parametrize("table", [UFUNCS, MATRICES, STATISTICS, SOLVERS, SPECIAL], ids=lambda table: next(iter(table)))
def test_values_and_derivatives(table: dict[str, Callable[..., Any]]) -> None:
    for name, function in table.items():
        loss = weighted(function)
        actual, _ = replay(trace(loss, (X,)), X)
        np.testing.assert_allclose(actual, loss(X), rtol=1e-9, err_msg=name)
        direction = np.cos(3.0 * np.arange(6))
        ends = [loss(X + s * 1e-4 * direction) for s in (-2, -1, 1, 2)]
        wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / 12e-4
        (dx,) = gradient(loss, (X,))
        np.testing.assert_allclose(dx @ direction, wanted, rtol=2e-5, atol=1e-7, err_msg=name)


def test_a_trace_of_a_logarithm_is_for_all_matrices() -> None:
    def loss(x):
        return np.sum(scipy.linalg.logm(np.outer(x[:2], x[:2]) + 2 * np.eye(2)))

    traced = trace(loss, (X,))
    assert not any(op.what == "branch" for op in guards_of(traced.tape))
    for scale in (0.01, 5.0):  # of which the roots take other numbers of steps
        np.testing.assert_allclose(replay(traced, scale * X)[0], loss(scale * X), rtol=1e-9)


def test_a_compiled_root_has_derivatives_of_second_order_and_is_a_fallback() -> None:
    def root(a):
        return scipy.optimize.brentq(lambda t: t * t - a[0], 0.0, 10.0)

    plan = planned_ad.compile(root, (np.array([4.0]),))
    np.testing.assert_allclose(plan.gradient(np.array([9.0])), [1 / 6])
    np.testing.assert_allclose(plan.hessian(np.array([9.0])), [[-1 / 4 / 27]], rtol=1e-6)
    assert "brentq" in plan.explain().fallbacks[0]
    assert plan(np.zeros(1)) == 0.0 and np.isnan(plan.gradient(np.zeros(1))[0])  # a double root


def test_what_newton_tells_besides() -> None:
    x = np.array([1.0, 2.0])
    plan = planned_ad.compile(lambda x: [x * 1.0, *roots_by_newton(x)], (x,))
    np.testing.assert_array_equal(plan(x)[2:], roots_by_newton(x)[1:])
    plan = planned_ad.compile(lambda x: x * roots_by_newton(x)[1].iterations, (2.0,))
    assert plan(3.0) == 3.0 * roots_by_newton(3.0)[1].iterations


def test_what_the_solver_raises_the_call_raises() -> None:
    plan = planned_ad.compile(lambda a: scipy.optimize.brentq(lambda t: t - a[0], 0.0, 1.0), (np.array([0.5]),))
    with pytest.raises(ValueError, match="different signs"):
        plan(np.array([2.0]))


def test_a_matrix_that_is_singular_later_is_caught_by_what_catches_all() -> None:
    def solved(a, b):
        try:
            return np.sum(np.linalg.solve(a, b))
        except Exception:
            return 7.0 * b[0]

    plan = planned_ad.compile(solved, (np.eye(2), np.ones(2)))
    assert plan(np.zeros((2, 2)), np.ones(2)) == 7.0
    np.testing.assert_array_equal(plan.gradient(np.zeros((2, 2)), np.ones(2))[1], [7.0, 0.0])


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: scipy.stats.argus.ppf(P[:2] / 3, x[0] + 1.0), "numerical method"),
        (lambda x: scipy.integrate.quad(lambda t: t * x[0], 0, 1, weight="cos", wvar=2.0)[0], "weight="),
        (lambda x: scipy.optimize.minimize(lambda v: np.sum((v - x) ** 2), X).hess_inv, "hess_inv"),
        (lambda x: scipy.stats.mode(x).mode, "mode raises AttributeError"),
        (lambda x: np.power.reduce(x), "reduce"),
    ],
)
def test_what_is_refused(function: Callable[..., Any], what: str) -> None:
    with pytest.raises(PlannedADError, match=what):
        trace(function, (X,))


def test_reductions_of_bottleneck_are_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(a, axis=None, ddof=0):
        raise TypeError("only arrays")

    names = ("nanmean", "nanstd", "nanmax")
    mean, std, largest = fakes = [types.FunctionType(compiled.__code__, {}, name, (None, 0)) for name in names]
    monkeypatch.setitem(sys.modules, "bottleneck", types.SimpleNamespace(**dict(zip(names, fakes))))
    x = np.array([[1.0, np.nan, 2.0], [3.0, 5.0, 4.0]])

    def by(library):
        return lambda x: library[0](x) + np.sum(library[1](x, 1, 1) * library[2](x, axis=1))

    def by_numpy(x):
        return np.nanmean(x) + np.sum(np.nanstd(x, 1, ddof=1) * np.nanmax(x, axis=1))

    plan = planned_ad.compile(by([mean, std, largest]), (x,), check=False)
    np.testing.assert_allclose(plan(x), by_numpy(x))
    np.testing.assert_allclose(plan.gradient(x), planned_ad.grad(by_numpy)(x))


def test_an_argument_of_a_solver_that_a_closure_holds() -> None:
    def root(x):
        first, *more = x[0], x[1], x[2]
        found = scipy.optimize.newton(lambda t, *a: t**3 + a[0] * t - first - a[1], 1.5, args=more)
        return found * 2.0

    plan = planned_ad.compile(root, (X,))
    direction = np.cos(np.arange(X.size))
    wanted = (root(X + 1e-6 * direction) - root(X - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(plan.gradient(X) @ direction, wanted, rtol=1e-5)


class Named(dict):
    """What a fit is of: names, and the object that they belong to."""

    owner: Any = None


class Fit:
    def __init__(self, data: Any):
        self.data, self.names = data, Named(scale=np.sum(data))
        self.names.owner = self.names["fit"] = self

    def residual(self, z: Any) -> Any:
        assert self.names.owner is self.names["fit"] is self
        return z**3 + z - self.data * self.names["scale"]


def test_a_solver_is_given_a_method_of_objects_that_lead_to_each_other() -> None:
    def f(x):
        return scipy.optimize.fsolve(Fit(x).residual, np.ones(3)) * x

    check(f, np.array([0.3, 0.5, 0.9]))
