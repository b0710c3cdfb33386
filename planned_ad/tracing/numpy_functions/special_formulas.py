"""Ufuncs of `scipy.special` that are formulas of others: angles in degrees, losses, distributions, polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ...rules.algebra import power_series, sinc_coefficients
from ...rules.integrals import FAR, ODD_FACTORIALS
from ..record.dispatch import FUNCTIONS, implements
from ..record.promotion import operand, resolved
from ..record.recorder import Recorder
from .special import known_order
from .support import asarray, deliver, unsupported, without_derivative

DEGREE = math.pi / 180


def formula(ufunc: np.ufunc) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have `ufunc` be what the decorated function of arrays gives, which are of one floating dtype."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def implementation(recorder: Recorder, *args: Any, out: Any = None) -> Any:
            dtype = resolved(ufunc, tuple(operand(recorder, a)[0] for a in args), None)[-1]
            arrays = [asarray(recorder, a).astype(dtype) for a in args]
            result = recorder.value_of(function(*arrays))
            shape = np.broadcast_shapes(*(a.shape for a in arrays))
            return deliver(recorder, recorder.builder.broadcast(recorder.builder.cast(result, dtype), shape), out)

        FUNCTIONS[ufunc] = implementation
        return function

    return register


# Elementary ones.
formula(special.exp10)(lambda x: np.power(10.0, x))
formula(special.cosm1)(lambda x: -2 * np.sin(0.5 * x) ** 2)
formula(special.cosdg)(lambda x: np.cos(DEGREE * x))
formula(special.sindg)(lambda x: np.sin(DEGREE * x))
formula(special.tandg)(lambda x: np.tan(DEGREE * x))
formula(special.cotdg)(lambda x: 1 / np.tan(DEGREE * x))
formula(special.radian)(lambda d, m, s: DEGREE * (d + m / 60 + s / 3600))


@formula(special.powm1)
def powm1(x: Any, y: Any) -> Any:
    """`x**y - 1`, without cancellation where `x` is positive."""
    positive = x > 0
    return np.where(positive, np.expm1(y * np.log(np.where(positive, x, 1))), np.power(np.where(positive, 1, x), y) - 1)


@formula(special.huber)
def huber(delta: Any, r: Any) -> Any:
    size = np.abs(r)
    return np.where(delta < 0, np.inf, np.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta)))


@formula(special.pseudo_huber)
def pseudo_huber(delta: Any, r: Any) -> Any:
    """`delta**2 (sqrt(1 + (r / delta)**2) - 1)`."""
    nothing = (delta == 0) | (r == 0)
    unit = np.where(nothing, 1, delta)
    ratio = r / unit
    value = np.where(delta == 0, 0, unit * unit * np.expm1(0.5 * np.log1p(ratio * ratio)))
    return np.where(delta < 0, np.inf, value)


@formula(special.voigt_profile)
def voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    """By the Faddeeva function; narrow ones by its series, DLMF 7.12.1: the Cauchy density, and more with `sigma**2`.

    Without either part a peak without width.
    """
    size = x * x + gamma * gamma
    far = (size > 2 * FAR**2 * sigma * sigma) & (gamma >= 0) & (size > 0)
    width = math.sqrt(2) * np.where(far | (sigma == 0), 1, sigma)
    near = special.wofz((np.where(far, 0, x) + 1j * np.where(far, 1, gamma)) / width).real
    u = np.where(far, x, 1) + 1j * np.where(far, gamma, 0)
    t = np.where(far, sigma, 0) ** 2 / (u * u)
    series = (1j / (math.pi * u) * (1 + t * power_series(ODD_FACTORIALS, t))).real
    profile = np.where(far, series, near / (math.sqrt(math.pi) * width))
    return np.where((sigma == 0) & (size == 0), np.inf, profile)


@formula(special.inv_boxcox)
def inv_boxcox(x: Any, power: Any) -> Any:
    """`(1 + power x)**(1 / power)`, as `exp(x / exprel(log1p(power x)))`, which has no singularity at power 0."""
    return np.exp(x / special.exprel(np.log1p(power * x)))


@formula(special.inv_boxcox1p)
def inv_boxcox1p(x: Any, power: Any) -> Any:
    return np.expm1(x / special.exprel(np.log1p(power * x)))


MEANS = 14  # which are enough for any two numbers of double precision


@formula(special.agm)
def agm(a: Any, b: Any) -> Any:
    """The arithmetic-geometric mean, DLMF 19.8.1: of means of means, whose gap is squared each time."""
    sign = np.where(a + b < 0, -1.0, 1.0)
    x, y = np.where(a * sign < 0, np.nan, a * sign), b * sign
    for _ in range(MEANS):
        x, y = 0.5 * (x + y), np.sqrt(x) * np.sqrt(y)
    return sign * np.where((a == 0) | (b == 0), 0.0, x)


# Distribution functions, by those of beta and gamma (Abramowitz & Stegun 26.4-26.6), and their inverses.
formula(special.gdtr)(lambda a, b, x: special.gammainc(b, a * x))
formula(special.gdtrc)(lambda a, b, x: special.gammaincc(b, a * x))
formula(special.gdtrix)(lambda a, b, p: special.gammaincinv(b, p) / a)
formula(special.gdtria)(lambda p, b, x: special.gammaincinv(b, p) / x)
formula(special.pdtr)(lambda k, m: special.gammaincc(np.floor(k) + 1, m))
formula(special.pdtrc)(lambda k, m: special.gammainc(np.floor(k) + 1, m))
formula(special.pdtri)(lambda k, y: special.gammainccinv(np.trunc(k) + 1, y))
formula(special.chdtri)(lambda v, p: 2 * special.gammainccinv(0.5 * v, p))
formula(special.bdtr)(lambda k, n, p: successes(k, n, 1 - p, np.floor(k) + 1, above=False))
formula(special.bdtrc)(lambda k, n, p: successes(k, n, p, np.floor(k) + 1, above=True))
formula(special.nbdtr)(lambda k, n, p: special.betainc(np.trunc(n), np.trunc(k) + 1, p))
formula(special.nbdtrc)(lambda k, n, p: special.betaincc(np.trunc(n), np.trunc(k) + 1, p))
formula(special.fdtr)(lambda m, n, x: special.betainc(0.5 * m, 0.5 * n, m * x / (n + m * x)))
formula(special.fdtrc)(lambda m, n, x: special.betainc(0.5 * n, 0.5 * m, n / (n + m * x)))
formula(special.nrdtrimn)(lambda p, std, x: x - std * special.ndtri(p))
formula(special.nrdtrisd)(lambda mean, p, x: (x - mean) / special.ndtri(p))


@formula(special.kolmogorov)
def kolmogorov(y: Any) -> Any:
    """The upper tail of Kolmogorov's limit, by its two theta series (Marsaglia, Tsang & Wang 2003)."""
    low = y <= 0.82
    small, large = np.where(low, np.maximum(y, 0.04), 1.0), np.where(low, 1.0, y)
    below = sum(np.exp(-((k * math.pi) ** 2) / (8 * small * small)) for k in (1, 3, 5, 7))
    above = sum((-1) ** (k - 1) * np.exp(-2 * k * k * large * large) for k in range(1, 7))
    return np.where(low, 1 - math.sqrt(2 * math.pi) / small * below, 2 * above)


def smirnov(recorder: Recorder, n: Any, d: Any, out: Any = None) -> Any:
    """The upper tail of Smirnov's one-sided statistic of `n` numbers (Birnbaum & Tingey 1951).

    `d sum_k binom(n, k) (d + k / n)**(k - 1) (1 - d - k / n)**(n - k)`, over the terms whose last factor is positive.
    """
    n = known_order(recorder, "scipy.special.smirnov", n, 1)
    d = asarray(recorder, d).astype(np.float64)
    k = np.arange(1, n)
    ways = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
    inside = (d >= 0) & (d <= 1)
    at = np.where(inside, d, 0.5)[..., None]
    rest = 1 - at - k / n
    counted = rest > 0
    logs = ways + (k - 1) * np.log(at + k / n) + (n - k) * np.log(np.where(counted, rest, 1.0))
    terms = np.sum(np.where(counted, np.exp(logs), 0.0), axis=-1)
    result = at[..., 0] * terms + (1 - at[..., 0]) ** n
    return deliver(recorder, recorder.value_of(np.where(inside, result, np.nan)), out)


FUNCTIONS[special.smirnov] = smirnov


def successes(k: Any, n: Any, p: Any, next_: Any, above: bool) -> Any:
    """The probability of more than `k` successes among `n` (`above`), or of as many or fewer."""
    inside = (next_ <= n) & (next_ > 0)
    least, rest = np.where(inside, next_, 1), np.where(inside, n - next_ + 1, 1)
    value = special.betainc(least, rest, p) if above else special.betainc(rest, least, p)
    return np.where(inside, value, np.where((next_ > n) ^ above, 1.0, 0.0))


@formula(special.fdtri)
def fdtri(m: Any, n: Any, p: Any) -> Any:
    y = special.betaincinv(0.5 * m, 0.5 * n, p)
    return n * y / (m * (1 - y))


# Orthogonal polynomials of a known degree, by their recurrences, DLMF 18.9.1-2.


def by_recurrence(n: int, last: Any, value: Any, following: Callable[[int, Any, Any], Any]) -> Any:
    """The polynomial of degree `n`, from those of degrees 0 and 1; `following(k, value, last)` has degree `k + 1`."""
    if n == 0:
        return last
    for k in range(1, n):
        last, value = value, following(k, value, last)
    return value


def gegenbauer(n: int, a: Any, x: Any) -> Any:
    return by_recurrence(
        n, 1.0 + 0 * x, 2 * a * x, lambda k, p, q: (2 * (k + a) * x * p - (k + 2 * a - 1) * q) / (k + 1)
    )


def laguerre(n: int, a: Any, x: Any) -> Any:
    return by_recurrence(n, 1.0 + 0 * x, 1 + a - x, lambda k, p, q: ((2 * k + 1 + a - x) * p - (k + a) * q) / (k + 1))


def jacobi_polynomial(n: int, a: Any, b: Any, x: Any) -> Any:
    """DLMF 18.9.2, in increments, which keep their digits near 1."""
    if n == 0:
        return 1.0 + 0 * (a + b + x)
    step = (a + b + 2) * (x - 1) / (2 * (a + 1))
    value = step + 1
    for k in range(1, n):
        t = 2 * k + a + b
        step = (t * (t + 1) * (t + 2) * (x - 1) * value + 2 * k * (k + b) * (t + 2) * step) / (
            2 * (k + a + 1) * (k + a + b + 1) * t
        )
        value = step + value
    scale = 1.0
    for k in range(1, n + 1):
        scale = scale * (a + k) / k
    return scale * value


def chebyshev_polynomial(n: int, x: Any, first: Any) -> Any:
    return by_recurrence(n, 1.0 + 0 * x, first, lambda k, p, q: 2 * x * p - q)


def legendre(n: int, x: Any) -> Any:
    return by_recurrence(n, 1.0 + 0 * x, x, lambda k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))


def shifted_jacobi(n: int, p: Any, q: Any, x: Any) -> Any:
    return jacobi_polynomial(n, p - q, q - 1, 2 * x - 1) / special.binom(2 * n + p - 1, n)


POLYNOMIALS: dict[np.ufunc, Callable[..., Any]] = {
    special.eval_legendre: legendre,
    special.eval_sh_legendre: lambda n, x: legendre(n, 2 * x - 1),
    special.eval_chebyt: lambda n, x: chebyshev_polynomial(n, x, x),
    special.eval_chebyu: lambda n, x: chebyshev_polynomial(n, x, 2 * x),
    special.eval_chebyc: lambda n, x: 2 * chebyshev_polynomial(n, 0.5 * x, 0.5 * x),
    special.eval_chebys: lambda n, x: chebyshev_polynomial(n, 0.5 * x, x),
    special.eval_sh_chebyt: lambda n, x: chebyshev_polynomial(n, 2 * x - 1, 2 * x - 1),
    special.eval_sh_chebyu: lambda n, x: chebyshev_polynomial(n, 2 * x - 1, 2 * (2 * x - 1)),
    special.eval_hermite: lambda n, x: by_recurrence(n, 1.0 + 0 * x, 2 * x, lambda k, p, q: 2 * x * p - 2 * k * q),
    special.eval_hermitenorm: lambda n, x: by_recurrence(n, 1.0 + 0 * x, x, lambda k, p, q: x * p - k * q),
    special.eval_gegenbauer: gegenbauer,
    special.eval_laguerre: lambda n, x: laguerre(n, 0.0, x),
    special.eval_genlaguerre: laguerre,
    special.eval_jacobi: jacobi_polynomial,
    special.eval_sh_jacobi: shifted_jacobi,
}


def of_known_degree(ufunc: np.ufunc, function: Callable[..., Any]) -> None:
    @implements(ufunc)  # type: ignore[arg-type]
    def implementation(recorder: Recorder, n: Any, *args: Any, out: Any = None) -> Any:
        degree = known_order(recorder, f"scipy.special.{ufunc.__name__}", n, 0)
        dtype = np.result_type(recorder.result_type(*args), np.float32)
        result = function(degree, *(asarray(recorder, a).astype(dtype) for a in args))
        shape = np.broadcast_shapes(np.shape(n), *(np.shape(a) for a in args))
        return deliver(recorder, recorder.builder.broadcast(recorder.value_of(result, dtype), shape), out)


for _ufunc, _function in POLYNOMIALS.items():
    of_known_degree(_ufunc, _function)


# Spherical Bessel functions, DLMF 10.47, of a known order; their derivatives, DLMF 10.51.


def spherical(name: str, cylinder: np.ufunc, factor: float, signs: tuple[float, float], at_zero: float) -> None:
    """`factor sqrt(pi / 2x) cylinder(n + 1/2, x)`; the derivative is `signs[0] f(n-1) - (n+1)/x f(n)`."""

    def value(n: int, x: Any) -> Any:
        zero = x == 0
        size = np.where(zero, 1, np.abs(x))
        found = factor * np.sqrt(math.pi / 2 / size) * cylinder(n + 0.5, size)
        found = found * np.where(x < 0, (-1.0) ** n, 1.0) if at_zero == 0 else np.where(x < 0, np.nan, found)
        return np.where(zero, (1.0 if n == 0 else 0.0) if at_zero == 0 else at_zero, found)

    @implements(getattr(special, name))
    def implementation(recorder: Recorder, n: Any, z: Any, derivative: bool = False) -> Any:
        order = known_order(recorder, f"scipy.special.{name}", n, 0)
        x = asarray(recorder, z).astype(float)
        if not derivative:
            return value(order, x)[()]
        if order == 0:
            return (signs[1] * value(1, x))[()]
        return (signs[0] * value(order - 1, x) - (order + 1) / x * value(order, x))[()]


spherical("spherical_jn", special.jv, 1.0, (1.0, -1.0), 0.0)
spherical("spherical_yn", special.yv, 1.0, (1.0, -1.0), -math.inf)
spherical("spherical_in", special.iv, 1.0, (1.0, 1.0), 0.0)
spherical("spherical_kn", special.kv, 1.0, (-1.0, -1.0), math.inf)


@implements(np.i0)
def i0(recorder: Recorder, x: Any) -> Any:
    """As `scipy.special.i0`: NumPy's is made of two formulas of `abs(x)`."""
    x = asarray(recorder, x)
    return special.i0(x if x.dtype.kind == "f" else x.astype(np.float64))


@implements(special.diric)
def diric(recorder: Recorder, x: Any, n: Any) -> Any:
    """`sin(n x / 2) / (n sin(x / 2))`, at multiples of 2 pi its limit; near them with the slopes of both series."""
    n = known_order(recorder, "scipy.special.diric", n, 1)
    x = asarray(recorder, x)
    below = np.sin(0.5 * x)
    flat = np.abs(below) < 1e-7
    turns = np.rint(x / (2 * math.pi))
    limit = np.where(turns % 2 == 0, 1.0, (-1.0) ** (n - 1))
    rest = x - turns * (2 * math.pi)
    near = np.abs(0.5 * n * rest) < 1
    half, coefficients = np.where(near, 0.5 * rest, 0.0), sinc_coefficients(-1)
    series = limit * (power_series(coefficients, (n * half) ** 2) / power_series(coefficients, half**2))
    angle = np.where(near, without_derivative(recorder, x), x)
    ratio = np.where(flat, limit, np.sin(0.5 * n * angle) / (n * np.where(flat, 1, np.sin(0.5 * angle))))
    return np.where(near, series + without_derivative(recorder, ratio - series), ratio)[()]


@implements(special.legendre_p)
def legendre_p(recorder: Recorder, n: Any, z: Any, *, diff_n: int = 0) -> Any:
    degree = known_order(recorder, "scipy.special.legendre_p", n, 0)
    if diff_n:
        raise unsupported("scipy.special.legendre_p with diff_n", "differentiate eval_legendre")
    return legendre(degree, asarray(recorder, z))[()]


@implements(special.factorial)
def factorial(recorder: Recorder, n: Any, exact: bool = False, extend: str = "zero") -> Any:
    if exact or extend != "zero":
        raise unsupported("scipy.special.factorial with exact or extend", "use scipy.special.gamma(n + 1)")
    n = asarray(recorder, n)
    return np.where(n < 0, 0.0, special.gamma(np.where(n < 0, 1.0, n) + 1))[()]


@implements(special.perm)
def perm(recorder: Recorder, N: Any, k: Any, exact: bool = False) -> Any:
    if exact:
        raise unsupported("scipy.special.perm with exact=True", "leave it out")
    N, k = asarray(recorder, N), asarray(recorder, k)
    inside = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(inside, special.poch(np.where(inside, N - k + 1, 1), np.where(inside, k, 0)), 0.0)[()]
