"""The error function and its complement, branch-free.

Below 1, `erf x = x (2 / sqrt(pi) + x**2 P(x**2))`. Elsewhere `erfc x = exp(-x**2) h(t) / (x + 3)` with `t = (x - 3) /
(x + 3)`, so that one polynomial serves all numbers up to infinity (M. M. Shepherd, J. G. Laframboise, "Chebyshev
approximation of (1 + 2x) exp(x**2) erfc x in 0 <= x < infinity", Mathematics of Computation 36, 1981).

Coefficients: near-minimax fits `mpmath.chebyfit(f, interval, count)` in 60 digits, rounded to double.
"""

from __future__ import annotations

from collections.abc import Callable

from .exp import exp
from .notation import Lanes, fma, polynomial, two_sum, where

TWO_OVER_ROOT_PI = 1.1283791670955126
TWO_OVER_ROOT_PI_LOW = 1.533545961316588e-17

# (erf x / x - 2 / sqrt(pi)) / z in powers of z = x**2, 0 <= x <= 1: error 8e-18
SMALL = (
    -0.37612638903183754,
    0.11283791670955111,
    -0.026866170645123838,
    0.005223977625303518,
    -0.0008548327010033328,
    0.00012055332214716276,
    -1.4925622504489842e-05,
    1.6461446656928561e-06,
    -1.6355118610877705e-07,
    1.4692484859133263e-08,
    -1.1500357159785296e-09,
    6.174097221305255e-11,
)

# (x + 3) exp(x**2) erfc x in powers of t = (x - 3) / (x + 3), -5/7 <= t <= 1: error 7e-17
TAIL = (
    1.0740069070883398,
    -0.8833944531698837,
    0.590228357104102,
    -0.3104672619005564,
    0.11952776128727965,
    -0.026827234624926435,
    -0.0012124166269747714,
    0.0030340620093561115,
    -0.0005483096950823083,
    -0.0002767779272000277,
    0.00010756152064545762,
    3.0398642322969155e-05,
    -1.7470801141533376e-05,
    -4.750999130342717e-06,
    2.766427506065541e-06,
    1.003038674218843e-06,
    -4.10814710373864e-07,
    -2.3944922819816764e-07,
    5.078834523416788e-08,
    5.5282257887772384e-08,
    -5.390089192182759e-09,
    -9.82484149952959e-09,
    9.273355955636861e-10,
    6.553561428110717e-10,
)
TAIL_LOW = -8.922420082783756e-17  # what the first is rounded by
NOTHING = 28.0  # beyond, erfc is 0


def erf_near_zero(x: Lanes) -> Lanes:
    """erf x, |x| <= 1."""
    z = x * x
    return fma(x, TWO_OVER_ROOT_PI, x * fma(z, polynomial(z, SMALL), TWO_OVER_ROOT_PI_LOW))


def erfc_tail(a: Lanes, is_whole: bool) -> Lanes:
    """erfc a, a >= 1/2; where that `is_whole`, not subtracted from 1, what is lost in rounding is put back."""
    a = where(a > NOTHING, NOTHING, a)
    square = a * a
    power = exp(-square)
    below, below_low = two_sum(3.0, a)
    inverse = 1.0 / below
    t = (a - 3.0) * inverse
    h = fma(t, polynomial(t, TAIL[1:], t * t), TAIL_LOW) + TAIL[0]
    if not is_whole:
        return power * h * inverse
    above = fma(power, -fma(a, a, -square), power) * h
    quotient = above * inverse
    rest = fma(-quotient, below, above) - quotient * below_low
    return fma(rest, inverse, quotient)


def erf(x: Lanes) -> Lanes:
    a = x.intrinsic("fabs")
    return where(a < 1.0, erf_near_zero(a), 1.0 - erfc_tail(a, False)).copysign(x)


def erfc(x: Lanes) -> Lanes:
    a = x.intrinsic("fabs")
    c = erfc_tail(a, True)
    return where(a < 0.5, 1.0 - erf_near_zero(x), where(x < 0.0, 2.0 - c, c))


TABLE: dict[str, Callable[..., Lanes]] = {"erf": erf, "erfc": erfc}
