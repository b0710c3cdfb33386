"""log and its relatives: log2, log10, log1p, the inverse hyperbolic functions, logit, logaddexp; branch-free.

Reduction: x = 2**k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); with s = f / (2 + f), log(1 + f) = 2 artanh s
= f - f**2 / 2 + s (f**2 / 2 + R), R = (2 artanh s - 2 s) / s. The leading terms f - f**2 / 2 are kept with their
rounding error, so that the logarithm is known as an unevaluated sum high + low, to about 60 bits
(P. T. P. Tang, "Table-driven implementation of the logarithm function", ACM TOMS 16, 1990; Muller, chapter 11).

An argument that is itself an unevaluated sum u + c enters through log(u + c) = log u + c / u + O((c / u)**2).
"""

from __future__ import annotations

from collections.abc import Callable

from .exp import exp
from .notation import (
    INFINITY,
    MIN_NORMAL,
    NAN,
    Lanes,
    double_bits,
    fast_two_sum,
    fma,
    known,
    polynomial,
    quotient,
    square_root,
    two_product,
    two_sum,
    where,
)

LN2 = 0.6931471805599453
LN2_HIGH = 0.6931471805601177  # 40 bits: its product with an exponent is exact
LN2_LOW = -1.7239444525614835e-13
LOG2_E = (1.4426950408889634, 2.0355273740931033e-17)
LOG10_E = (0.4342944819032518, 1.098319650216765e-17)
LOG10_2_HIGH = 0.3010299956640665  # 40 bits
LOG10_2_LOW = -8.532344317057107e-14

SQRT_HALF_BITS = double_bits(0.7071067811865476)
MANTISSA = (1 << 52) - 1
TWO_52 = 4503599627370496.0

# (2 artanh s - 2 s) / s**3 in powers of s**2, |s| <= 0.17158 = 3 - sqrt(8); `mpmath.chebyfit` as in `exp`;
# error 4e-18 of 2 artanh s
LOG = (
    0.666666666666667,
    0.39999999999899444,
    0.2857142862600327,
    0.22222211130259878,
    0.18182889455674947,
    0.15331710618210773,
    0.14616585424888623,
)


def split(x: Lanes) -> tuple[Lanes, Lanes]:
    """x = 2**k (1 + f), for positive finite x: k and f, both doubles. Subnormal numbers are scaled up first."""
    subnormal = x < MIN_NORMAL
    bits = where(subnormal, x * 2.0**54, x).bits()
    # biased by 1024 the exponent is positive, and a logical shift will do
    biased = bits + ((1024 << 52) - SQRT_HALF_BITS)
    mantissa = (biased & MANTISSA) + SQRT_HALF_BITS
    k = ((biased >> 52) | double_bits(TWO_52)).double() - where(subnormal, TWO_52 + 1024.0 + 54.0, TWO_52 + 1024.0)
    return k, mantissa.double() - 1.0


def log_one_plus(f: Lanes) -> tuple[Lanes, Lanes]:
    """log(1 + f) as high + low, for sqrt(1/2) <= 1 + f < sqrt(2)."""
    s = f / (f + 2.0)
    z = s * s
    rest = z * polynomial(z, LOG, z * z)
    half = f * 0.5
    half_square = f * half
    high = f - half_square
    low = fma(s, half_square + rest, (f - high) - half_square - fma(f, half, -half_square))
    return high, low


def in_domain(x: Lanes, value: Lanes, pole: float = 0.0) -> Lanes:
    """`value` for finite x > pole; -inf at the pole, NaN below it; infinity and NaN are their own logarithms."""
    beyond = where(x.equals(pole), -INFINITY, where(x < pole, NAN, x))
    return where((x > pole) & (x < INFINITY), value, beyond)


def log_sum(u: Lanes, c: Lanes | None = None, doublings: Lanes | None = None) -> Lanes:
    """log((u + c) 2**doublings) for positive finite u and |c| << u."""
    k, f = split(u)
    high, low = log_one_plus(f)
    if c is not None:
        low = low + c / u
    if doublings is not None:
        k = k + doublings
    total, error = fast_two_sum(k * LN2_HIGH, high)
    return total + fma(k, LN2_LOW, error + low)


def log1p_sum(y: Lanes, y_low: Lanes) -> Lanes:
    """log(1 + y + y_low)."""
    u, error = two_sum(1.0, y)
    return log_sum(u, error + y_low)


def log(x: Lanes) -> Lanes:
    """Natural logarithm."""
    return in_domain(x, log_sum(x))


def log_scaled(x: Lanes, base: tuple[float, float], step: tuple[float, float]) -> Lanes:
    """k step + base log(1 + f), for logarithms of another base."""
    k, f = split(x)
    high, low = log_one_plus(f)
    product = high * base[0]
    low = fma(high, base[0], -product) + fma(high, base[1], low * base[0])
    total, error = fast_two_sum(k * step[0], product)
    return in_domain(x, total + fma(k, step[1], error + low))


def log2(x: Lanes) -> Lanes:
    """Logarithm to base 2, exact at powers of two."""
    return log_scaled(x, LOG2_E, (1.0, 0.0))


def log10(x: Lanes) -> Lanes:
    """Logarithm to base 10."""
    return log_scaled(x, LOG10_E, (LOG10_2_HIGH, LOG10_2_LOW))


def log1p(x: Lanes) -> Lanes:
    """log(1 + x), where what is lost in 1 + x enters as a correction. The sign is that of x, zero included."""
    u, error = two_sum(1.0, x)
    return in_domain(x, log_sum(u, error), -1.0).copysign(x)


def arcsinh(x: Lanes) -> Lanes:
    """log(a + sqrt(1 + a**2)), a = |x|, with the root to twice the precision; log 2 a when 1 is lost in a**2."""
    a = x.intrinsic("fabs")
    large = a > 2.0**28
    b = where(large, 0.5, a)
    square, square_low = two_product(b, b)
    u, u_low = two_sum(1.0, square)
    root, root_low = square_root(u, u_low + square_low)
    y, y_low = two_sum(b, root - 1.0)
    v, v_low = two_sum(1.0, y)
    argument, low = where(large, a, v), where(large, 0.0, v_low + y_low + root_low)
    value = log_sum(argument, low, where(large, 1.0, 0.0))
    value = where(a < INFINITY, where(a < 2.0**-27, a, value), a)
    return value.copysign(x)


def arccosh(x: Lanes) -> Lanes:
    """log(1 + t + sqrt(2 t + t**2)), t = x - 1, which is exact where it matters; log 2 x for large x."""
    large = x > 2.0**28
    t = where(large, 1.0, x - 1.0)
    square, square_low = two_product(t, t)
    u, u_low = two_sum(t * 2.0, square)
    root, root_low = square_root(u, u_low + square_low)
    y, y_low = two_sum(t, root)
    v, v_low = two_sum(1.0, y)
    argument, low = where(large, x, v), where(large, 0.0, v_low + y_low + root_low)
    value = log_sum(argument, low, where(large, 1.0, 0.0))
    return where((x > 1.0) & (x < INFINITY), value, where(x.equals(1.0), 0.0, where(x < 1.0, NAN, x)))


def arctanh(x: Lanes) -> Lanes:
    """log1p(2 a / (1 - a)) / 2, a = |x|."""
    a = x.intrinsic("fabs")
    below, below_low = fast_two_sum(1.0, -a)
    q, q_low = quotient(a * 2.0, 0.0, below, below_low)
    value = log1p_sum(q, q_low) * 0.5
    value = where(a < 2.0**-27, a, where(a < 1.0, value, where(a.equals(1.0), INFINITY, a + NAN)))
    return value.copysign(x)


def logit(x: Lanes) -> Lanes:
    """log(x / (1 - x)); with the corrected quotient there is no cancellation near 1/2."""
    below, below_low = fast_two_sum(1.0, -x)
    q, q_low = quotient(x, 0.0, below, below_low)
    edge = where(x.equals(0.0), -INFINITY, where(x.equals(1.0), INFINITY, x + NAN))
    return where((x > 0.0) & (x < 1.0), log_sum(q, q_low), edge)


def logaddexp(a: Lanes, b: Lanes) -> Lanes:
    """log(exp a + exp b) = m + log1p(exp(-|a - b|)), m the larger.

    Within 2 ulp of the larger of |m| and the result: where the two terms cancel, as in NumPy, only that is small.
    """
    difference = (a - b).intrinsic("fabs")
    u, error = two_sum(1.0, exp(-difference))
    value = where(a > b, a, b) + log_sum(u, error)
    return where(a.equals(b), a + LN2, where(known(a, b), value, a + b))


TABLE: dict[str, Callable[..., Lanes]] = {
    "log": log,
    "log2": log2,
    "log10": log10,
    "log1p": log1p,
    "arcsinh": arcsinh,
    "arccosh": arccosh,
    "arctanh": arctanh,
    "logit": logit,
    "logaddexp": logaddexp,
}
