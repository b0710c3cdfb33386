"""Results at the edges: overflow, infinities, cancellation, empty arrays, ties."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import planned_ad
from tests.tracing_oracle import check

from .test_gradients import gradient

INFINITE = np.inf


@pytest.mark.parametrize(
    "x",
    [
        [1e308, 1e308],
        [-1e308, 0.0],
        [-INFINITE, -INFINITE],
        [-INFINITE, 1.0],
        [INFINITE, 1.0],
        [INFINITE, -INFINITE],
        [np.nan, 1.0],
        [710.0, -745.0],
    ],
)
def test_sums_of_exponentials(x) -> None:
    x = np.array(x)
    check(lambda x: (scipy.special.logsumexp(x), scipy.special.log_softmax(x)), x)
    if not np.isposinf(x).any() and not np.isneginf(x).all():  # there SciPy's softmax is nan, with a warning
        check(lambda x: scipy.special.softmax(x), x)


def test_the_derivative_of_logsumexp_is_softmax() -> None:
    x = np.array([1000.0, 1000.0, 998.0, -INFINITE])
    (dx,) = gradient(lambda x: scipy.special.logsumexp(x), (x,))
    np.testing.assert_allclose(dx, scipy.special.softmax(x), rtol=1e-14)


def test_logsumexp_ignores_terms_of_weight_zero() -> None:
    x = np.array([INFINITE, 2.0, 3.0])
    check(lambda x: scipy.special.logsumexp(x, b=[0.0, 1.0, -0.5]), x)
    check(lambda x: scipy.special.logsumexp(x, b=[0.0, 1.0, -2.0]), x)  # a negative sum: nan


def test_variance_does_not_cancel() -> None:
    x = 1e8 + np.arange(6.0)
    check(lambda x: (np.var(x), np.std(x, ddof=1), np.cov(x)), x)


@pytest.mark.parametrize("function", [np.sum, np.prod, np.cumsum, np.any, np.all, np.count_nonzero])
def test_empty(function) -> None:
    check(lambda x: function(x), np.zeros((0,)))
    check(lambda x: function(x, axis=1), np.zeros((2, 0)))


@pytest.mark.parametrize("function", [np.max, np.min])
def test_no_extremum_of_nothing(function) -> None:
    for run in (function, lambda x: check(lambda x: function(x), x)):
        with pytest.raises(ValueError, match="zero-size array"):
            run(np.zeros((0,)))
    check(lambda x: function(x, axis=0), np.zeros((2, 0)))
    check(lambda x: function(x, initial=3.0), np.zeros((0,)))


def test_extrema_of_nan() -> None:
    x = np.array([1.0, np.nan, 2.0])
    check(lambda x: (np.max(x), np.min(x), np.clip(x, 0, 1), np.nansum(x), np.nanmean(x)), x)


def test_products_with_zeros() -> None:
    x = np.array([2.0, 0.0, 3.0])
    (dx,) = gradient(lambda x: np.prod(x), (x,))
    np.testing.assert_array_equal(dx, [0.0, 6.0, 0.0])


def test_a_tie_is_shared() -> None:
    (dx,) = gradient(lambda x: np.max(x), (np.array([3.0, 1.0, 3.0]),))
    np.testing.assert_array_equal(dx, [0.5, 0.0, 0.5])


@pytest.mark.parametrize("function", [np.round, np.linalg.norm, np.trace, np.ptp])
def test_one_element(function) -> None:
    check(lambda x: function(x), np.array([[2.5]]))


WEAK = {
    "where": lambda x, s: np.where(x > 0, x, s),
    "select": lambda x, s: np.select([x > 0], [x], s),
    "clip": lambda x, s: (np.clip(x, s, None), np.clip(x, -s, s), np.clip(s, x, 3.0)),
    "linspace": lambda x, s: (np.linspace(s, 1.0, 4), np.linspace(x, s, 3)),
    "dot": lambda x, s: (np.dot(x, s), np.outer(x, s), np.inner(s, s)),
    "concatenate": lambda x, s: (np.concatenate([x, [s]]), np.append(x, s), np.stack([s, s])),
    "logsumexp": lambda x, s: scipy.special.logsumexp(x, b=s),
    "sum": lambda x, s: (np.sum(s), np.mean(s), np.max([s, 1.0]), np.sum(x, initial=s), np.round(s, 1)),
    "gradient": lambda x, s: (np.gradient(x, s), np.trapezoid(x, dx=s)),
    "polyval": lambda x, s: (np.polyval(x, s), np.polyval([s, 1.0], x)),
    "isclose": lambda x, s: np.isclose(x, s, rtol=s),
    "pad": lambda x, s: np.pad(x, 1, constant_values=s),
    "repeat": lambda x, s: np.tile(s, 3) * np.repeat(s, 3),
    "kron": lambda x, s: (np.kron(x, s), np.atleast_1d(s), np.where(s > 0, s, 2.0)),
    "cumsum": lambda x, s: (np.cumsum(s), np.linalg.norm([s, s]), np.einsum("i,->i", x, s)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("name", WEAK)
def test_python_floats_are_as_weak_as_in_numpy(name: str, dtype) -> None:
    check(WEAK[name], np.array([1, -2, 3], dtype), 1.5)


def test_logaddexp_of_large_numbers() -> None:
    """Its derivative is that of the difference, which is exact, also where the sum itself is rounded to eighths."""
    plan = planned_ad.compile(lambda x: np.logaddexp(x[0], x[1]), (np.zeros(2),))
    value, gradient = plan.value_and_gradient(np.array([1e15, 1e15 + 1.0]))
    assert value == np.logaddexp(1e15, 1e15 + 1.0)
    np.testing.assert_allclose(gradient, [1.0 / (1.0 + np.e), np.e / (1.0 + np.e)], rtol=1e-14)
    np.testing.assert_array_equal(plan.gradient(np.array([-np.inf, -np.inf])), 0.0)
    np.testing.assert_array_equal(plan.gradient(np.array([-np.inf, 2.0])), [0.0, 1.0])
