"""Functions that are integrals, as in `scipy.special`: of densities, hypergeometric, elliptic, exponential.

The derivative in the upper limit is the integrand. In the other parameters there is no closed form: it is refused.
Derivatives: NIST Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
from scipy import special

from .algebra import Symbol, exp, log, power, power_series, sqrt, where
from .rows import row
from .shape_parameters import betainc_by_parameters, gammainc_by_parameter, stdtr_by_freedom

DLMF = "https://dlmf.nist.gov"
SHAPE = "only that in the last operand has a closed form; make the parameters before it constants (planned_ad.Const)"


def in_double(function: np.ufunc) -> Callable[..., np.ndarray]:
    """`function` in double precision, then rounded: of single precision SciPy's own loops lose some digits."""

    def evaluate(*operands: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of orders that are no whole numbers
            found = np.asarray(function(*(np.asarray(a, np.float64) for a in operands)))
        return found.astype(np.asarray(operands[0]).dtype)

    return evaluate


def xlogy(a: Symbol, b: Symbol) -> Symbol:
    return a.apply("xlogy", b)


# Of the gamma distribution (DLMF 8.8.13), and the inverses.


def gamma_density(a: Symbol, x: Symbol) -> Symbol:
    """`x**(a - 1) exp(-x) / gamma(a)`, as a power below 1, which has derivatives at 0; else by logarithms."""
    below = x < 1
    low, high = where(below, x, 1), where(below, 1, x)
    rate = exp(xlogy(a - 1, high) - high - a.apply("gammaln"))
    return where(below, power(low, a - 1) * exp(-low) * a.apply("rgamma"), rate)


POSITIVE = ((0.6, 4), (0.5, 4))
LEVEL = ((0.6, 4), (0.1, 0.9))
row(
    "gammainc",
    special.gammainc,
    (lambda ct, y, a, b: ct * gammainc_by_parameter(y.shape, a, b), lambda ct, y, a, b: ct * gamma_density(a, b)),
    ("ab", "ab"),
    cost=150,
    samples=POSITIVE,
    poles="y",
    reference=f"{DLMF}/8.8.E13",
)
row(
    "gammaincc",
    special.gammaincc,
    (lambda ct, y, a, b: -(ct * gammainc_by_parameter(y.shape, a, b)), lambda ct, y, a, b: -(ct * gamma_density(a, b))),
    ("ab", "ab"),
    cost=150,
    samples=POSITIVE,
    poles="y",
    reference=f"{DLMF}/8.8.E14",
)
row(
    "gammaincinv",
    special.gammaincinv,
    (
        lambda ct, y, a, b: -(ct * gammainc_by_parameter(y.shape, a, y) / gamma_density(a, y)),
        lambda ct, y, a, b: ct / gamma_density(a, y),
    ),
    ("ya", "ya"),
    cost=600,
    samples=LEVEL,
    poles="y",
    reference=f"{DLMF}/8.8.E13",
)
row(
    "gammainccinv",
    special.gammainccinv,
    (
        lambda ct, y, a, b: -(ct * gammainc_by_parameter(y.shape, a, y) / gamma_density(a, y)),
        lambda ct, y, a, b: -(ct / gamma_density(a, y)),
    ),
    ("ya", "ya"),
    cost=600,
    samples=LEVEL,
    poles="y",
    reference=f"{DLMF}/8.8.E14",
)


# Of the beta distribution (DLMF 8.17.1), and the inverses.
MOST_BY_POWERS = 64  # the sum of the parameters: their powers are far from the smallest numbers there are


def beta_density(a: Symbol, b: Symbol, x: Symbol) -> Symbol:
    """`x**(a - 1) (1 - x)**(b - 1) / beta(a, b)`, of small parameters by powers, which have derivatives at the ends."""
    small = a + b < MOST_BY_POWERS
    inside = where(small, 0.5, x)
    rate = exp(xlogy(a - 1, inside) + times_log1p(b - 1, -inside) - a.apply("betaln", b))
    low, first, second = where(small, x, 0.5), where(small, a, 1), where(small, b, 1)
    return where(small, power(low, first - 1) * power(1 - low, second - 1) / first.apply("beta", second), rate)


def times_log1p(a: Symbol, b: Symbol) -> Symbol:
    """`a log1p(b)`, 0 where `a` is 0."""
    return a * where(a.equals(0), 0, b).apply("log1p")


def moved_root(which: int, ct: Symbol, y: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """How far the inverse moves with one of the parameters."""
    return -(ct * betainc_by_parameters(y.shape, a, b, y)[which] / beta_density(a, b, y))


FRACTION = ((0.6, 4), (0.6, 4), (0.1, 0.9))
row(
    "betainc",
    in_double(special.betainc),
    (
        lambda ct, y, a, b, c: ct * betainc_by_parameters(y.shape, a, b, c)[0],
        lambda ct, y, a, b, c: ct * betainc_by_parameters(y.shape, a, b, c)[1],
        lambda ct, y, a, b, c: ct * beta_density(a, b, c),
    ),
    ("abc", "abc", "abc"),
    cost=300,
    samples=FRACTION,
    poles="y",
    reference=f"{DLMF}/8.17.E1",
)
row(
    "betaincc",
    in_double(special.betaincc),
    (
        lambda ct, y, a, b, c: -(ct * betainc_by_parameters(y.shape, a, b, c)[0]),
        lambda ct, y, a, b, c: -(ct * betainc_by_parameters(y.shape, a, b, c)[1]),
        lambda ct, y, a, b, c: -(ct * beta_density(a, b, c)),
    ),
    ("abc", "abc", "abc"),
    cost=300,
    samples=FRACTION,
    poles="y",
    reference=f"{DLMF}/8.17.E1",
)
row(
    "betaincinv",
    in_double(special.betaincinv),
    (
        lambda ct, y, a, b, c: moved_root(0, ct, y, a, b),
        lambda ct, y, a, b, c: moved_root(1, ct, y, a, b),
        lambda ct, y, a, b, c: ct / beta_density(a, b, y),
    ),
    ("yab", "yab", "yab"),
    cost=900,
    samples=FRACTION,
    poles="y",
    reference=f"{DLMF}/8.17.E1",
)
row(
    "betainccinv",
    in_double(special.betainccinv),
    (
        lambda ct, y, a, b, c: moved_root(0, ct, y, a, b),
        lambda ct, y, a, b, c: moved_root(1, ct, y, a, b),
        lambda ct, y, a, b, c: -(ct / beta_density(a, b, y)),
    ),
    ("yab", "yab", "yab"),
    cost=900,
    samples=FRACTION,
    poles="y",
    reference=f"{DLMF}/8.17.E1",
)


# Of Student's distribution, and its inverse.


def student_density(v: Symbol, t: Symbol) -> Symbol:
    """`(1 + t**2 / v)**(-(v + 1) / 2) gamma((v + 1) / 2) / (gamma(v / 2) sqrt(pi v))`, Abramowitz & Stegun 26.7.1."""
    return exp(-(0.5 * (v + 1)) * (t * t / v).apply("log1p")) * (0.5 * v).apply("poch", 0.5) / sqrt(math.pi * v)


row(
    "stdtr",
    in_double(special.stdtr),
    (lambda ct, y, a, b: ct * stdtr_by_freedom(y.shape, a, b), lambda ct, y, a, b: ct * student_density(a, b)),
    ("ab", "ab"),
    cost=300,
    samples=((1, 5), (-3, 3)),
    poles="y",
    reference="Abramowitz & Stegun 26.7.1",
)
row(
    "stdtrit",
    in_double(special.stdtrit),
    (
        lambda ct, y, a, b: -(ct * stdtr_by_freedom(y.shape, a, y) / student_density(a, y)),
        lambda ct, y, a, b: ct / student_density(a, y),
    ),
    ("ya", "ya"),
    cost=900,
    samples=((2, 5), (0.2, 0.8)),
    poles="y",
    reference="Abramowitz & Stegun 26.7.1",
)


# Hypergeometric (DLMF 13.3.15 and 15.5.1): the derivative is the same function of parameters one higher.


def raised_1f1(ct: Symbol, y: Symbol, a: Symbol, b: Symbol, c: Symbol) -> Symbol:
    return ct * (a / b * (a + 1).apply("hyp1f1", b + 1, c))


def raised_2f1(ct: Symbol, y: Symbol, a: Symbol, b: Symbol, c: Symbol, d: Symbol) -> Symbol:
    return ct * (a * b / c * (a + 1).apply("hyp2f1", b + 1, c + 1, d))


row(
    "hyp1f1",
    special.hyp1f1,
    (None, None, raised_1f1),
    ("", "", "abc"),
    cost=300,
    samples=((0.5, 2), (0.6, 3), (-2, 2)),
    poles="y",
    refused=SHAPE,
    reference=f"{DLMF}/13.3.E15",
)
row(
    "hyp2f1",
    special.hyp2f1,
    (None, None, None, raised_2f1),
    ("", "", "", "abcd"),
    cost=600,
    samples=((0.5, 2), (0.6, 2), (0.7, 3), (-0.6, 0.6)),
    poles="y",
    refused=SHAPE,
    reference=f"{DLMF}/15.5.E1",
)


def raised_elliptic(ct: Symbol, a: Symbol, first: float, factor: float) -> Symbol:
    """`factor 2F1(first, 3/2; 2; a)`: the derivative of `2F1(first - 1, 1/2; 1; a)` times a number, DLMF 19.5.1-2."""
    return ct * (factor * a.constant(first).apply("hyp2f1", 1.5, 2.0, a))


row(
    "ellipk",
    special.ellipk,
    (lambda ct, y, a: raised_elliptic(ct, a, 1.5, math.pi / 8),),
    ("a",),
    cost=80,
    samples=((-1, 0.7),),
    poles="y",
    reference=f"{DLMF}/19.5.E1",
)
row(
    "ellipe",
    special.ellipe,
    (lambda ct, y, a: raised_elliptic(ct, a, 0.5, -math.pi / 8),),
    ("a",),
    cost=80,
    samples=((-1, 0.7),),
    poles="y",
    reference=f"{DLMF}/19.5.E2",
)

# Exponential integrals and kin.


def of_exprel(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    """`(exp(a) (1 - 1 / a) + 1 / a) / a`; where that cancels, as 1F1(2; 3; a) / 2, since `y` is 1F1(1; 2; a)."""
    near = (a < 1) & (a > -1)
    small, large = where(near, a, 0), where(near, 1, a)
    series = 0.5 * a.constant(2).apply("hyp1f1", 3.0, small)
    return ct * where(near, series, (exp(large) * (1 - 1 / large) + 1 / large) / large)


row("exprel", special.exprel, (of_exprel,), ("a",), cost=40, reference=f"{DLMF}/13.3.E15")
row(
    "expi",
    special.expi,
    (lambda ct, y, a: ct * (exp(a) / a),),
    ("a",),
    cost=80,
    samples=((0.2, 2),),
    poles="a",
    reference=f"{DLMF}/6.2.E5",
)
row(
    "exp1",
    special.exp1,
    (lambda ct, y, a: -(ct * (exp(-a) / a)),),
    ("a",),
    cost=80,
    samples=((0.3, 3),),
    poles="a",
    reference=f"{DLMF}/6.2.E1",
)


def dawsn_rate(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    """`1 - 2 a y`, far from 0 by the series of what is left (7.12.1, differentiated): `-(1 + 3 t + ...) t`."""
    far = (a > FAR) | (a < -FAR)
    t = 0.5 / where(far, a * a, 1)
    return ct * where(far, -(power_series(ODD_FACTORIALS, t) * t), 1 - 2 * a * y)


FAR = 12.0  # from where on 12 terms of it are as accurate as they can be
ODD_FACTORIALS = tuple(float(math.prod(range(1, 2 * k + 2, 2))) for k in range(12))
row("dawsn", special.dawsn, (dawsn_rate,), ("ya",), cost=60, reference=f"{DLMF}/7.10.E3")


def log_over(a: Symbol) -> Symbol:
    """`log(a) / (1 - a)`, as `-1 / exprel(log a)`, which has no singularity at 1."""
    return -1 / log(a).apply("exprel")


row(
    "spence",
    special.spence,
    (lambda ct, y, a: ct * log_over(a),),
    ("a",),
    cost=60,
    samples=((0.3, 0.8),),
    poles="y",
    reference=f"{DLMF}/25.12.E2",
)
