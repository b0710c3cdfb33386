"""Special functions and distributions in compiled plans; what is refused of them."""

from __future__ import annotations

from typing import Any

import mpmath
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
        (lambda x: special.zeta(x, out=x), "out="),
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


# By mpmath, with fifty digits.
OF_GAMMA = np.array([
    (0.01, 1e-05, -9.816725261192564), (0.01, 3.0, -0.013547187572805137), (1.0, 1.0, -0.4317297106348987),
    (2.5, 60.0, -1.0696234590510459e-23), (10, 14.0, -0.05669099771532573), (100, 90.0, -0.02461191684397991),
    (1000, 1100.0, -0.00011048987784079389), (1e4, 1e4, -0.003989456049453668), (5, 0.001, -7.172271294017751e-17),
])  # fmt: skip
OF_BETA = np.array([
    (0.5, 0.5, 0.3, -0.6428114811572838, 0.46874458391550544),
    (2, 0.5, 0.999, -0.01327898645626077, 0.2959632279834458),
    (50, 0.5, 0.5, -6.960030580375094e-17, 5.150340052870523e-16),
    (3, 4, 0.9, -0.0011012078029408608, 0.002469783068102436),
    (100, 200, 0.3, -0.01579154131969264, 0.007306944329466244),
    (0.05, 2, 0.01, -3.0527035789335932, 0.02607351835839594),
    (1000, 1000, 0.51, -0.005921424296404131, 0.006041047012048269),
    (5, 5, 0.0001, -1.0913904157181752e-17, 9.390819050918583e-19),
])  # fmt: skip


def test_derivatives_in_parameters_keep_their_digits() -> None:
    from tests.numpy_functions.test_gradients import gradient

    a, x, wanted = OF_GAMMA.T.copy()
    found, _ = gradient(lambda a, x: np.sum(special.gammainc(a, x)), (a, x))
    np.testing.assert_allclose(found, wanted, rtol=1e-11)
    a, b, x, *both = OF_BETA.T.copy()
    found = gradient(lambda a, b, x: np.sum(special.betainc(a, b, x)), (a, b, x))[:2]
    np.testing.assert_allclose(found, both, rtol=1e-11)


def test_derivatives_in_parameters_at_the_ends_are_zero() -> None:
    from tests.numpy_functions.test_gradients import gradient

    ends = np.array([0.0, np.inf])
    np.testing.assert_array_equal(gradient(lambda a: np.sum(special.gammainc(a, ends)), (np.ones(2),))[0], 0.0)
    ends = np.array([0.0, 1.0])
    np.testing.assert_array_equal(gradient(lambda a: np.sum(special.betainc(a, 2.0, ends)), (np.ones(2),))[0], 0.0)
    np.testing.assert_array_equal(gradient(lambda v: np.sum(special.stdtr(v, 0 * v)), (np.ones(2),))[0], 0.0)


def test_what_allocates_in_scipy_is_a_fallback() -> None:
    plan = planned_ad.compile(lambda x: np.sum(special.yv(1.5, x)), (np.ones(3),))
    assert "by SciPy, which allocates" in plan.explain().fallbacks[0]
    assert not planned_ad.compile(lambda x: np.sum(special.jv(1.5, x)), (np.ones(3),)).explain().fallbacks


def test_boxcox_at_the_end_of_its_domain() -> None:
    powers = np.array([0.3, 1.0, 2.5])

    def f(x):
        return np.sum(special.boxcox(x, powers) + special.boxcox1p(x - 1.0, powers))

    plan = planned_ad.compile(f, (np.ones(3),))
    for x in (np.array([0.0, 0.0, 0.0]), np.array([0.5, 0.0, 2.0])):
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)
    gradient = plan.gradient(np.array([0.5, 0.0, 0.0]))
    np.testing.assert_allclose(gradient, [2 * 0.5**-0.7, 2.0, 0.0], rtol=1e-12)


def test_logsumexp_by_a_weight_that_is_zero() -> None:
    def f(a, w):
        return special.logsumexp(a, b=w)

    a, w = np.array([1.0, 2.0, -np.inf, np.nan, 900.0]), np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    plan = planned_ad.compile(f, (a, w + 1.0), check=False)
    np.testing.assert_allclose(plan(a, w), f(a, w), rtol=1e-12)
    np.testing.assert_allclose(plan.gradient(a, w)[1][:3], [np.exp(-1.0), 1.0, 0.0], rtol=1e-12)
    np.testing.assert_allclose(plan.gradient(a, w)[0][:3], [0.0, 1.0, 0.0], rtol=1e-12)


def test_means_of_numbers_of_very_different_size() -> None:
    plan = planned_ad.compile(lambda x: special.agm(x[0], x[1]), (np.array([0.5, 1.0]),))
    for x in ([1e-10, 1.0], [1e-20, 30.0], [0.0, 0.0], [0.0, 2.0], [3.0, 3.0]):
        np.testing.assert_allclose(plan(np.array(x)), special.agm(*x), rtol=1e-13)
    x, h = np.array([1e-3, 2.0]), 1e-9
    slope = (special.agm(x[0] + h, x[1]) - special.agm(x[0] - h, x[1])) / (2 * h)
    np.testing.assert_allclose(plan.gradient(x)[0], slope, rtol=1e-6)


REMOVABLE = {
    "sinc": (np.sinc, lambda t: mpmath.sinc(mpmath.pi * t), (0.0, 1e-9, 1e-4, 0.2, 0.319, 0.5, -3.0)),
    "i0 of NumPy": (np.i0, lambda t: mpmath.besseli(0, t), (0.0, -0.5, 3.0)),
    "diric of 3": (lambda x: special.diric(x, 3), lambda t: (1 + 2 * mpmath.cos(t)) / 3, (0.0, 1e-9, 0.3, 2.0, 6.0)),
    "diric of 4": (
        lambda x: special.diric(x, 4),
        lambda t: (mpmath.cos(t / 2) + mpmath.cos(3 * t / 2)) / 2,
        (0.0, 0.3, 2 * np.pi, 2 * np.pi + 1e-4, 4 * np.pi),
    ),
    "sici": (lambda x: special.sici(x)[0], mpmath.si, (0.0, 1e-9, 0.3, 0.999, 1.001, -3.0)),
    "shichi": (lambda x: special.shichi(x)[0], mpmath.shi, (0.0, 1e-9, 0.3, 0.999, 1.001, -3.0)),
    "gammainc": (
        lambda x: special.gammainc(2.0, x),
        lambda t: 1 - (1 + t) * mpmath.exp(-t),
        (0.0, 1e-9, 0.3, 0.999, 1.001, 40.0),
    ),
    "gammainc of 200": (
        lambda x: special.gammainc(200.0, x),
        lambda t: mpmath.gammainc(200, 0, t, regularized=True),
        (0.5, 190.0),
    ),
    "betainc": (
        lambda x: special.betainc(2.0, 3.0, x),
        lambda t: 6 * t**2 - 8 * t**3 + 3 * t**4,
        (0.0, 1e-9, 0.3, 0.999, 1.0),
    ),
    "betainc of large ones": (
        lambda x: special.betainc(40.0, 30.0, x),
        lambda t: mpmath.betainc(40, 30, 0, t, regularized=True),
        (0.3, 0.6),
    ),
}


@pytest.mark.parametrize("name", REMOVABLE)
def test_derivatives_of_every_order_where_a_formula_divides_by_zero(name: str) -> None:
    function, reference, points = REMOVABLE[name]
    derivatives = [function]
    for _ in range(3):
        derivatives.append(planned_ad.grad(derivatives[-1]))
    with mpmath.workdps(50):
        for x in points:
            wanted = [float(mpmath.diff(reference, mpmath.mpf(x), order)) for order in range(4)]
            found = [float(derivative(x)) for derivative in derivatives]
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=f"at {x}")
            assert float(planned_ad.hessian(function)(x)) == pytest.approx(wanted[2], rel=1e-9, abs=1e-9)


FAR_AND_NEAR = (
    0.3 + 0.2j,
    5 + 1e-3j,
    11.9 + 1j,
    12.1 + 1e-3j,
    1e3 + 1j,
    1e7 + 1j,
    -30 + 2j,
    3 + 20j,
    20 - 5j,
    0.1 - 3j,
)
OF_ERRORS = {
    "wofz": (special.wofz, lambda z: mpmath.exp(-z * z) * mpmath.erfc(-1j * z)),
    "erfcx": (lambda z: special.erfcx(-1j * z), lambda z: mpmath.exp(-z * z) * mpmath.erfc(-1j * z)),
    "dawsn": (special.dawsn, lambda z: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-z * z) * mpmath.erfi(z)),
}


@pytest.mark.parametrize("name", OF_ERRORS)
def test_what_cancels_far_from_zero_in_derivatives_of_error_functions(name: str) -> None:
    function, reference = OF_ERRORS[name]

    def parts(x: Any) -> Any:
        found = function(x[0] + 1j * x[1])
        return np.stack([found.real, found.imag])

    plan = planned_ad.compile(parts, np.array([0.3, 0.2]))
    for z in FAR_AND_NEAR:
        with mpmath.workdps(80):
            rate = complex(mpmath.diff(reference, mpmath.mpc(z), h=mpmath.mpf(10) ** -25 * abs(z)))
        expected = np.array([[rate.real, -rate.imag], [rate.imag, rate.real]])
        found = plan.jacobian(np.array([z.real, z.imag]))
        small = 1e-13 * abs(rate)  # of a part beside the other one
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=small, err_msg=f"at {z}")


def test_narrow_voigt_profiles() -> None:
    def reference(x: Any, sigma: Any, gamma: Any) -> Any:
        z = (x + 1j * gamma) / (sigma * mpmath.sqrt(2))
        w = mpmath.exp(-z * z) * mpmath.erfc(-1j * z)
        return mpmath.re(w) / (sigma * mpmath.sqrt(2 * mpmath.pi))

    plan = planned_ad.compile(lambda p: special.voigt_profile(p[0], p[1], p[2]), np.array([0.5, 0.2, 1.0]))
    for p in (
        [0.5, 0.2, 1.0],
        [0.5, 0.02, 1.0],
        [0.5, 1e-5, 1.0],
        [1e3, 1e-6, 1.0],
        [3.0, 0.17, 0.01],
        [-2.0, 0.1, 0.5],
    ):
        at = np.array(p)
        with mpmath.workdps(60):
            wanted = float(reference(*map(mpmath.mpf, p)))
            orders = np.eye(3, dtype=int).tolist()
            rates = [float(mpmath.diff(reference, tuple(map(mpmath.mpf, p)), tuple(order))) for order in orders]
        assert plan(at) == pytest.approx(wanted, rel=1e-13)
        np.testing.assert_allclose(plan.gradient(at), rates, rtol=1e-9, err_msg=f"at {p}")
    assert plan.gradient(np.array([0.5, 0.0, 1.0]))[1] == 0.0
