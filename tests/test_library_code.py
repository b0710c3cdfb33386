"""Python code of NumPy and SciPy is traced as the user's is, where it has no rule of its own."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.stats
from numpy.polynomial import Chebyshev, Polynomial

import planned_ad
from planned_ad.errors import PlannedADError, UnsupportedError
from planned_ad.trace import trace
from tests.tracing_oracle import check
from tests.verdicts import examine

X = np.random.default_rng(0).normal(size=9)
FUNCTIONS = {
    "rosen": scipy.optimize.rosen,
    "rosen_der": scipy.optimize.rosen_der,
    "simpson": lambda x: scipy.integrate.simpson(x, x=np.linspace(0, 1, 9) ** 2),
    "trapezoid": lambda x: scipy.integrate.trapezoid(x, dx=0.1),
    "cumulative_trapezoid": lambda x: scipy.integrate.cumulative_trapezoid(x, initial=0),
    "fixed_quad": lambda x: scipy.integrate.fixed_quad(lambda t: np.sin(x[0] * t), 0, 1, n=5)[0],
    "zscore": scipy.stats.zscore,
    "clip_of_known_numbers": lambda x: x * np.linspace(-2, 2, 9).clip(0) + x * (np.arange(9) - 4).clip(max=1),
    "extract": lambda x: np.sum(np.extract(x > 0.2, x) ** 2),
    "compress": lambda x: np.sum(np.compress(x[:3] > 0.2, x.reshape(3, 3), axis=1) ** 2),
    "gmean": lambda x: scipy.stats.gmean(np.exp(x)),
    "skew": scipy.stats.skew,
    "kurtosis": scipy.stats.kurtosis,
    "sem": scipy.stats.sem,
    "entropy": lambda x: scipy.stats.entropy(np.exp(x)),
    "moment": lambda x: scipy.stats.moment(x, 3),
    "chirp": lambda x: scipy.signal.chirp(x, 6, 1, 10),
    "hann": lambda x: x * scipy.signal.windows.hann(9),
    "block_diag": lambda x: scipy.linalg.block_diag(x[:2][None], x[2:5][None]),
    "polyder": np.polyder,
    "polyint": np.polyint,
    "polymul": lambda x: np.polymul(x, x[:3]),
    "polyadd": lambda x: np.polyadd(x, x[:4]),
    "poly1d": lambda x: np.poly1d(x)(2.0),
    "polyder of a poly1d": lambda x: np.polyder(np.poly1d(x))(1.5),
    "polyint of a poly1d": lambda x: np.polyint(np.poly1d(x), 2)(0.5),
    "polymul of a poly1d": lambda x: np.polymul(np.poly1d(x), x[:3])(0.5),
    "polydiv of a poly1d": lambda x: np.polydiv(np.poly1d(x), [1.0, 2.0])[0](0.5),
    "polyval": lambda x: np.polynomial.polynomial.polyval(x, np.array([1.0, 2, 3])),
    "chebval": lambda x: np.polynomial.chebyshev.chebval(x, np.array([1.0, 2, 3])),
    "Polynomial": lambda x: np.polynomial.Polynomial(np.array([1.0, 2, 3]))(x),
    "apply_along_axis": lambda x: np.apply_along_axis(lambda row: row * np.sum(row), 1, x.reshape(3, 3)),
    "apply_over_axes": lambda x: np.apply_over_axes(np.sum, x.reshape(3, 3), [0]),
    "piecewise": lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t: t**2, lambda t: 2 * t]),
    "geomspace": lambda x: np.geomspace(np.exp(x[0]), np.exp(x[1]), 5),
    "union1d": lambda x: np.union1d(x, x[:3] + 1),
    "unwrap": lambda x: np.unwrap(x * 5),
    "i0": np.i0,
    "choose": lambda x: np.choose([0, 1, 1], [x[:3], x[3:6]]),
    "fromfunction": lambda x: np.fromfunction(lambda i, j: x[0] * i + j, (3, 3)),
    "nextafter": lambda x: np.nextafter(x, -x),
}


def placed(x):
    y = x.copy()
    np.place(y, y > 0, [1.5, x[0], 2.5])
    return y


@pytest.mark.parametrize("name", [*FUNCTIONS, "place"])
def test_as_the_function_itself(name):
    check(placed if name == "place" else FUNCTIONS[name], X)


OF_COEFFICIENTS = {
    "product": lambda c: (Polynomial(c) * Polynomial(c))(0.7),
    "sum": lambda c: (Polynomial(c) + Polynomial([1.0, 2.0]))(0.7),
    "of Chebyshev": lambda c: (Chebyshev(c) * Chebyshev(c))(0.3),
    "division": lambda c: divmod(Polynomial(c), Polynomial([1.0, 2.0]))[0](0.3),
}


@pytest.mark.parametrize("name", OF_COEFFICIENTS)
def test_coefficients_that_are_zero_by_chance(name):
    """NumPy drops them: the value is the same, and a derivative by them would be missing."""
    f, c = OF_COEFFICIENTS[name], np.array([1.0, 2.0, 3.0])
    plan = planned_ad.compile(f, c)
    step = 1e-6
    slopes = [(f(c + step * e) - f(c - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(plan.gradient(c), slopes, rtol=1e-7, atol=1e-9)
    zero = np.array([1.0, 2.0, 0.0])
    np.testing.assert_allclose(plan(zero), f(zero), rtol=1e-14)
    with pytest.raises(UnsupportedError, match=r"test_library_code.py:\d+.*zeros at an end are dropped.*polyval"):
        plan.gradient(zero)


def test_roots_of_polynomials_with_zeros_at_the_end() -> None:
    def f(c):
        return np.sum(np.exp(np.roots(c))).real

    plan, step = planned_ad.compile(f, np.array([1.0, -3.0, 2.0, 0.1])), 1e-6
    for c in (np.array([1.0, -3.0, 2.0, 0.1]), np.array([1.0, -3.0, 2.0, 0.0]), np.array([2.0, 1.0, 0.0, 5.0])):
        assert plan(c) == pytest.approx(f(c), rel=1e-12)
        slopes = [(f(c + step * e) - f(c - step * e)) / (2 * step) for e in np.eye(4)]
        np.testing.assert_allclose(plan.gradient(c), slopes, rtol=1e-7, atol=1e-8)
    with pytest.raises(UnsupportedError, match="zeros at an end are dropped"):
        plan.gradient(np.array([1.0, -3.0, 0.0, 0.0]))


def test_roots_that_are_there_twice() -> None:
    f, c = lambda c: np.sum(np.roots(c)).real, np.array([1.0, -2.0, 1.0])
    plan = planned_ad.compile(f, c)
    assert plan(c) == f(c) == 2.0
    assert np.all(np.isnan(plan.gradient(c)))


def test_coefficients_that_are_zero_in_some_iterations() -> None:
    """Right where there are none but those of the program; refused, and not 0, where one is zero by chance."""

    def f(x):
        c, total = np.array([0.0, 1.0, 2.0]), 0.0
        for i in range(len(x)):
            total += np.poly1d(c)(0.5)
            c[0] = x[i]
        return total

    x = np.linspace(0.2, 0.9, 6)
    plan = planned_ad.compile(f, x)
    np.testing.assert_allclose(plan.gradient(x), [0.25] * 5 + [0.0], rtol=1e-14)
    assert plan(0 * x) == f(0 * x)
    with pytest.raises(UnsupportedError, match="zeros at an end are dropped"):
        plan.gradient(0 * x)


def test_coefficients_that_are_zero_in_the_program():
    def f(c):
        product = Polynomial([c[0], c[1], 0.0]) * Polynomial([1.0, c[0], 0.0, 0.0])
        roots = np.roots(np.poly1d([0.0, 1.0, c[0], -c[1], 0.0]))
        parts = np.polymul(np.array([c[0], c[1], c[0]]) * np.array([0.0, 1.0, 2.0]), c)
        return (
            np.polyval(parts, 0.5) * len(parts)
            + product(0.5) * product.degree()
            + np.poly1d([0.0, c[0], c[1]])(0.5) * len(product.coef)
            + roots.max()
        )

    c = np.array([1.3, 0.7])
    check(f, c)
    inner = planned_ad.compile(lambda c: np.sum(planned_ad.grad(f)(c) ** 2), c)
    np.testing.assert_allclose(inner(c), np.sum(planned_ad.grad(f)(c) ** 2), rtol=1e-12)


def oscillator(x):
    def slope(t, y):
        return np.array([y[1], -(x[0] ** 2) * y[0] - 0.1 * x[1] * y[1]])

    return scipy.integrate.solve_ivp(slope, (0.0, 1.0), x[2:], rtol=1e-4).y[0, -1]


def test_a_solver_of_differential_equations():
    """The steps that it takes are branches; the derivative is that of what these steps compute."""
    x = np.array([1.3, 0.5, 1.0, 0.2])
    plan = planned_ad.compile(oscillator, (x,))
    for at in (x, x * [1.1, 0.9, 1.0, 2.0]):
        steps = np.eye(4) * 1e-6
        expected = [(oscillator(at + h) - oscillator(at - h)) / 2e-6 for h in steps]
        np.testing.assert_allclose(plan(at), oscillator(at), rtol=1e-12)
        np.testing.assert_allclose(plan.gradient(at), expected, rtol=1e-5)


def test_errors_name_the_line_of_the_user():
    with pytest.raises(PlannedADError, match=r"test_library_code.py:\d+ in <lambda>"):
        trace(lambda x: scipy.optimize.rosen(scipy.special.mathieu_a(1.0, x)), (X,))


# Least squares, statistics.

TIMES = np.linspace(0, 1, 12)
NOISY = np.exp(-TIMES) + 0.1 * np.random.default_rng(3).normal(size=12)


def decay(t, a, b):
    return a * np.exp(-b * t)


FITS = {
    "curve_fit": lambda y: scipy.optimize.curve_fit(decay, TIMES, y)[0],
    "weighted": lambda y: scipy.optimize.curve_fit(decay, TIMES, y, [1.0, 0.5], 1 + TIMES, True)[0],
    "correlated": lambda y: scipy.optimize.curve_fit(decay, TIMES, y, [1.0, 0.5], np.eye(12) + 0.1 * y * y)[0],
    "covariance": lambda y: scipy.optimize.curve_fit(decay, TIMES, y)[1],
    "leastsq": lambda y: scipy.optimize.leastsq(lambda p: decay(TIMES, *p) - y, [1.0, 0.5])[0],
    "status": lambda y: scipy.optimize.leastsq(lambda p: p - y[:2], [1.0, 0.5])[1] * y,
    "chi2_contingency": lambda y: scipy.stats.chi2_contingency(20 * y.reshape(3, 4))[:2],
    "kruskal": lambda y: scipy.stats.kruskal(y[:6], y[6:])[0] * y,
    "theilslopes": lambda y: scipy.stats.theilslopes(y, TIMES)[0],
    "ks_2samp": lambda y: scipy.stats.ks_2samp(y[:6], y[6:])[0] * y,
    "repeat": lambda y: np.repeat(y, (y > 0.6) * 2),
    "delete": lambda y: np.delete(y, np.argmax(y)) + np.insert(y, np.argmin(y), 2.0)[:11],
    "comprehension": lambda y: sum([v * k for k in range(np.sum(y > 0.6)) for v in y[:2]]),
    "statistics": lambda y: statistics.mean(y) + statistics.stdev(list(y)) * statistics.pvariance(y[:3]),
    "dtypes": lambda y: y if y.dtype in [np.float32, np.float64] and y.dtype != np.float32 else 0 * y,
}


@pytest.mark.long
def test_an_implicit_solver_of_differential_equations():
    """Its equations are of complex matrices."""

    def f(y0, m):
        found = scipy.integrate.solve_ivp(lambda t, y: m @ y, (0.0, 1.0), y0, method="Radau", rtol=1e-5, atol=1e-7)
        return found.y[:, -1].sum()

    found = examine(f, [(np.array([1.0, -0.5]), np.array([[0.3, -0.4], [0.2, -0.6]]))], unroll=16, seconds=120)
    assert found.kind == "right", found


@pytest.mark.parametrize("name", FITS)
def test_functions_that_fit_and_test(name):
    found = examine(FITS[name], [(NOISY,)], unroll=16)
    assert found.kind == "right", found
