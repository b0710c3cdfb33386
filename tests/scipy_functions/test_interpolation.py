"""`scipy.interpolate`: splines and tables made outside and inside, of plain numbers and of traced ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import interpolate as ip

import planned_ad
from planned_ad.errors import BoundsError, UnsupportedError
from planned_ad.trace import trace
from tests.tracing_oracle import check

from .orders import check_orders, mostly_long

rng = np.random.default_rng(0)
X = np.linspace(0, 5, 8) + 0.1 * rng.random(8)
Y, Y2 = np.sin(X), rng.normal(size=(8, 3))
T, BEYOND = rng.uniform(0.3, 4.8, size=6), np.array([-0.5, 2.2, 6.0])
GX, GY, Z = np.linspace(0, 1, 5), np.linspace(0, 2, 6), rng.normal(size=(5, 6))
P = np.array([[0.13, 0.31], [0.44, 0.93], [0.61, 1.15], [0.83, 1.71]])
CUBIC = ip.CubicSpline(X, Y, bc_type="natural")
PCHIP, AKIMA = ip.PchipInterpolator(X, Y), ip.Akima1DInterpolator(X, Y)
B, TCK = ip.make_interp_spline(X, Y2, k=3), ip.splrep(X, Y)
SMOOTH, RECT = ip.UnivariateSpline(X, Y, s=0), ip.RectBivariateSpline(GX, GY, Z)
GRID, GRID3 = ip.RegularGridInterpolator((GX, GY), Z), ip.RegularGridInterpolator((GX, GY), Z, method="cubic")
LINE, CURVE = ip.interp1d(X, Y), ip.interp1d(X, Y, kind="cubic", fill_value="extrapolate")
PIECES = ip.PPoly(np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([0.0, 1, 3]))
DOWN = ip.PPoly(PIECES.c, np.array([3.0, 1, 0]))
BERNSTEIN = ip.BPoly(PIECES.c, PIECES.x)
INSIDE = np.r_[[X[0]] * 4, 2.5, [X[-1]] * 4]
RADIAL = ip.RBFInterpolator(P, P[:, 0] ** 2)

# Made outside, evaluated at traced points.
EVALUATED = {
    "CubicSpline": (lambda t: CUBIC(t), T),
    "a derivative of it": (lambda t: CUBIC(t, 1) + CUBIC.derivative(2)(t), T),
    "its integral": (lambda t: CUBIC.antiderivative()(t) + CUBIC.integrate(t[0], t[1]), T),
    "Akima": (lambda t: AKIMA(t) + PCHIP(t[0]), T),
    "BSpline": (lambda t: B(t), T),
    "its derivatives": (lambda t: B(t, 1) + B.derivative()(t) + B.integrate(0.3, 3.0) + B.antiderivative()(t), T),
    "splev": (lambda t: ip.splev(t, TCK) + ip.splev(t, TCK, der=1) + ip.splev(t, ip.splder(TCK)), T),
    "UnivariateSpline": (lambda t: SMOOTH(t) + SMOOTH(t, nu=1) + SMOOTH.derivative()(t), T),
    "RectBivariateSpline": (lambda p: RECT.ev(p[:, 0], p[:, 1]) + RECT(p[:, 0], p[:, 1], dx=1, grid=False), P),
    "RectBivariateSpline on a grid": (lambda p: RECT(p[:, 0], p[:, 1]), P),
    "RegularGridInterpolator": (lambda p: GRID(p) + GRID((p[:, 0], p[:, 1])), P),
    "RegularGridInterpolator, cubic": (lambda p: GRID3(p), P),
    "interp1d": (lambda t: LINE(t) + CURVE(t), T),
    "PPoly": (lambda t: PIECES(t) + DOWN(t) + DOWN.integrate(t[0], t[2]) + BERNSTEIN(t, 1), T / 2),
    "RBFInterpolator": (lambda p: RADIAL(p), P + 0.05),
}
# Made inside, of traced values.
FITTED = {
    "CubicSpline": (lambda y, t: ip.CubicSpline(X, y)(t), Y, T),
    "with a slope": (lambda y, t: ip.CubicSpline(X, y, bc_type=((1, y[0]), (2, 0.3)))(t), Y, T),
    "along an axis": (lambda y: ip.CubicSpline(X, y.T, axis=1)(T), Y2),
    "of traced knots": (lambda x, t: ip.CubicSpline(x, Y)(t), X, T),
    "PchipInterpolator": (lambda y, t: ip.PchipInterpolator(X, y)(t), Y, T),
    "Akima1DInterpolator": (lambda y, t: ip.Akima1DInterpolator(X, y)(t), Y, T),
    "make_interp_spline": (lambda y, t: ip.make_interp_spline(X, y)(t), Y2, T),
    "natural": (lambda y: ip.make_interp_spline(X, y, k=5, bc_type=None)(T), Y),
    "BSpline": (lambda c, t: ip.BSpline(B.t, c, 3)(t), B.c, T),
    "splrep": (lambda y, t: ip.splev(t, ip.splrep(X, y)), Y, T),
    "splint": (lambda c: ip.splint(0.3, 3.0, (TCK[0], c, 3)), TCK[1]),
    "least squares": (lambda y: ip.make_lsq_spline(X, y, INSIDE)(T) + ip.LSQUnivariateSpline(X, y, [2.5])(T), Y),
    "smoothing": (lambda y: ip.make_smoothing_spline(X, y, lam=0.1)(T), Y),
    "interp1d": (lambda y, t: ip.interp1d(X, y, kind="quadratic")(t) + ip.interp1d(X, y, kind="next")(t), Y, T),
    "RegularGridInterpolator": (lambda z, p: ip.RegularGridInterpolator((GX, GY), z)(p), Z, P),
    "RectBivariateSpline": (lambda z: ip.RectBivariateSpline(GX, GY, z).ev(P[:, 0], P[:, 1]), Z),
    "RBFInterpolator": (lambda v: ip.RBFInterpolator(P, v, kernel="cubic")(P + 0.05), P[:, 0]),
}


@pytest.mark.parametrize("name", mostly_long(EVALUATED, "CubicSpline", "splev", "interp1d", "PPoly"))
def test_at_traced_points(name: str) -> None:
    check_orders(*EVALUATED[name])


@pytest.mark.parametrize("name", mostly_long(FITTED, "CubicSpline", "splrep", "BSpline", "RectBivariateSpline"))
def test_of_traced_values(name: str) -> None:
    check_orders(*FITTED[name])


@pytest.mark.parametrize("name", mostly_long(["CubicSpline", "BSpline", "RegularGridInterpolator"], "BSpline"))
def test_second_order(name: str) -> None:
    check_orders(*EVALUATED[name], order=2)
    check_orders(*FITTED[name], order=2)


def test_beyond_the_ends() -> None:
    check(lambda t: CUBIC(t) + CUBIC(t, extrapolate="periodic"), BEYOND)
    check(lambda t: CUBIC(t, extrapolate=False), BEYOND)
    check(lambda t: B(t, extrapolate=False), BEYOND)
    check(lambda t: CURVE(t) + ip.splev(t, TCK), BEYOND)
    check(lambda t: ip.splev(t, TCK, ext=1) + ip.splev(t, TCK, ext=3), BEYOND)
    check(lambda t: ip.interp1d(X, Y, bounds_error=False, fill_value=(t[0], 7.0))(t), BEYOND)
    with pytest.raises(ValueError, match="in x_new is below"):
        trace(lambda t: LINE(t), (BEYOND,))


def test_tables_in_loops_are_recorded_once() -> None:
    def driven(p):
        x, v = 0.0, p[0]
        for i in range(60):
            v = v + 0.05 * (LINE(0.1 + p[2] * i * 0.05) + CUBIC(0.05 * i) - p[1] * x)
            x = x + 0.05 * v + 0.01 * GRID(np.array([[0.5, 0.1 * p[0]]]))[0]
        return x

    p = np.array([0.3, 1.1, 0.9])
    plan = planned_ad.compile(driven, (p,))
    assert plan.explain().fallbacks == ()
    expected = [(driven(p + h) - driven(p - h)) / 2e-6 for h in np.eye(3) * 1e-6]
    np.testing.assert_allclose(plan.gradient(p), expected, rtol=1e-7)
    with pytest.raises(BoundsError, match="beyond the ends"):
        plan(np.array([0.3, 1.1, 9.0]))


def test_what_has_no_rule_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="knots"):
        trace(lambda y: ip.UnivariateSpline(X, y)(1.0), (Y,))
    with pytest.raises(UnsupportedError, match="knots"):
        trace(lambda y: ip.splev(T, ip.splrep(X, y, s=0.1)), (Y,))
