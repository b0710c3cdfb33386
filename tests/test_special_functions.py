"""Special functions and distributions in compiled plans; what is refused of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as special
import scipy.stats as stats

import planned_ad
from planned_ad.errors import PlannedADError


def posterior(theta: np.ndarray, data: np.ndarray) -> float:
    """Of a regression with errors of Student's distribution, and of counts."""
    slope, shape, freedom = theta
    errors = stats.t.logpdf(data, freedom, slope, np.exp(0.1 * shape))
    prior = stats.norm(0.0, 2.0).logpdf(slope) + stats.gamma.logpdf(shape, 2.0, scale=1.5)
    bessel = np.log(special.ive(0, shape)) + special.betaln(shape, freedom) + special.log_ndtr(-slope)
    return np.sum(errors) + prior + bessel + np.sum(special.gammainc(2.0, np.abs(data) * shape))


def test_a_compiled_plan_agrees_with_differences() -> None:
    theta, data = np.array([0.4, 1.2, 5.0]), np.linspace(-2.1, 3, 21)
    plan = planned_ad.compile(posterior, (theta, planned_ad.Const(data)))
    value, gradient = plan.value_and_gradient(theta, data)
    np.testing.assert_allclose(value, posterior(theta, data), rtol=1e-13)
    steps = np.eye(3) * 1e-5
    expected = [(posterior(theta + h, data) - posterior(theta - h, data)) / 2e-5 for h in steps]
    np.testing.assert_allclose(
        np.asarray(gradient[0] if isinstance(gradient, tuple) else gradient), expected, rtol=1e-7
    )
    assert not plan.explain().fallbacks


def test_the_order_of_a_bessel_function_has_no_derivative() -> None:
    with pytest.raises(PlannedADError, match=r"test_special_functions.py:\d+.*jv has no derivative.*Const"):
        planned_ad.compile(lambda v, x: np.sum(special.jv(v, x)), (1.5, np.ones(3))).gradient(1.5, np.ones(3))


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda x: special.polygamma(x, x), "polygamma of an order"),
        (lambda x: special.zeta(x), "zeta without q"),
        (lambda x: special.comb(x, 2, exact=True), "exact"),
    ],
)
def test_what_cannot_be_traced_is_refused_by_name(f, what) -> None:
    with pytest.raises(PlannedADError, match=what):
        planned_ad.trace.trace(f, (np.ones(2),))


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (special.erfcx, 1e4, -1 / np.sqrt(np.pi) * 1e-8 * (1 - 1.5e-8)),
        (special.log_ndtr, -1e4, 10000.00009999999800000010),
        (special.log_ndtr, 50.0, 0.0),
        (special.rgamma, -2.0, 2.0),
        (special.rgamma, 0.0, 1.0),
        (special.i1, 0.0, 0.5),
        (special.exprel, 0.0, 0.5),
        (special.exprel, -1e5, 1e-10),
        (special.spence, 1.0, -1.0),
    ],
)
def test_derivatives_where_formulas_cancel(f, x, expected) -> None:
    from tests.numpy_functions.test_gradients import gradient

    (dx,) = gradient(lambda x: f(x[0]), (np.array([x]),))
    np.testing.assert_allclose(dx[0], expected, rtol=1e-12, atol=1e-300)
