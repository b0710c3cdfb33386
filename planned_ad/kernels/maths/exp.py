"""exp and its relatives: exp2, expm1, expit and the hyperbolic functions, branch-free.

Reduction: x = n ln 2 + r with n = rint(x / ln 2), |r| <= (ln 2) / 2, so that exp x = 2**n exp r
(W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", Prentice-Hall 1980; P. T. P. Tang,
"Table-driven implementation of the exponential function", ACM TOMS 15, 1989). ln 2 is split into two full
doubles: with fused multiply-add x - n LN2_HIGH is exact, since it is a multiple of 2**-54 smaller than 1/2.

Coefficients: near-minimax fits `mpmath.chebyfit(f, interval, count)` in 120 digits, rounded to double; the errors
given are of the rounded polynomial, relative to the function that it serves.
"""

from __future__ import annotations

from collections.abc import Callable

from .notation import ROUND, Lanes, fast_two_sum, fma, lanes_of, polynomial, power_of_two, quotient, where

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.6931471805599453
LN2_LOW = 2.3190468138462996e-17
ZERO, ZERO2 = (
    -745.2,
    -1075.5,
)  # below, exp x and 2**x are 0: computed there, they would take a processor 30 times as long

# (exp r - 1 - r) / r**2 on [-0.34661, 0.34661]: error 1.3e-17
EXP = (
    0.5000000000000001,
    0.16666666666666669,
    0.04166666666662413,
    0.008333333333330062,
    0.0013888888917213717,
    0.00019841269863053618,
    2.4801521295954376e-05,
    2.7557268459997064e-06,
    2.7620088445409746e-07,
    2.510038549551032e-08,
)

# (2**r - 1) / r on [-0.50001, 0.50001]: error 1.8e-17
EXP2 = (
    0.6931471805599453,
    0.24022650695910097,
    0.0555041086648216,
    0.009618129107606885,
    0.0013333558146416933,
    0.00015403530441741856,
    1.525273382983921e-05,
    1.3215442584382707e-06,
    1.0178062443960973e-07,
    7.072586657066206e-09,
    4.454960975231756e-10,
)

# with z = r**2, |r| <= 0.34661: (sinh r - r) / r**3 and (cosh r - 1) / r**2, errors 2e-18 and 2e-20
SINH = (
    0.16666666666666669,
    0.008333333333330062,
    0.00019841269863053618,
    2.7557268459997064e-06,
    2.510038549551032e-08,
)
COSH = (
    0.5,
    0.04166666666666668,
    0.0013888888888879073,
    2.4801587336442236e-05,
    2.75572632790885e-07,
    2.0918137737642736e-09,
)


def clamp(x: Lanes, low: float, high: float) -> Lanes:
    """x within [low, high]; NaN stays NaN."""
    x = where(x > high, high, x)
    return where(x < low, low, x)


def reduced(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """x = n ln 2 + r + r_low: the integer n (its low bits), r and r_low."""
    shifted = fma(x, LOG2_E, ROUND)
    n = shifted - ROUND
    high = fma(n, -LN2_HIGH, x)
    r = fma(n, -LN2_LOW, high)
    return shifted.bits(), r, fma(n, -LN2_LOW, high - r)


def scaled(n: Lanes, value: Lanes, is_above: Lanes | None = None) -> Lanes:
    """2**n times a value near 1, in two steps: n may overflow or lead to subnormal numbers, which are rounded once.

    The first step adds to the exponent field, sparing a multiplication. It garbles NaN, which the callers restore.
    Zero where `is_above` does not hold.
    """
    half = n >> 1
    factor = power_of_two(n - half)
    if is_above is not None:
        factor = where(is_above, factor, 0.0)
    return (value.bits() + (half << 52)).double() * factor


def within_bounds_of_exp(x: Lanes, zero: float, infinity: float) -> tuple[Lanes, Lanes]:
    """Whether x is above what gives zero, and x between that and what gives infinity: elsewhere any number between.

    Of vectors the number is a choice. A single one may be what the next iteration of a loop waits for: that is chosen
    beside the way, in `two_to_the`.
    """
    is_above = x > zero
    if lanes_of(x.value) == 1:
        return is_above, clamp(x, zero, infinity)
    return is_above, where(is_above, where(x > infinity, infinity, x), 0.0)


def two_to_the(is_above: Lanes, x: Lanes, n: Lanes, value: Lanes) -> Lanes:
    """2**n times `value` where x is above its bound; elsewhere 0, and x where it is NaN."""
    if lanes_of(x.value) == 1:
        return where(x.equals(x), scaled(n, value, is_above), x)
    return where(is_above, scaled(n, value), where(x < 0.0, 0.0, x))


def exp(x: Lanes) -> Lanes:
    """2**n (1 + r + r**2 E(r))."""
    is_above, bounded = within_bounds_of_exp(x, ZERO, 710.0)
    shifted = fma(bounded, LOG2_E, ROUND)
    n = shifted - ROUND
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, bounded))
    square = r * r
    return two_to_the(is_above, x, shifted.bits(), fma(square, polynomial(r, EXP, square), r) + 1.0)


def exp2(x: Lanes) -> Lanes:
    """2**n 2**r with r = x - rint x, which is exact."""
    is_above, bounded = within_bounds_of_exp(x, ZERO2, 1025.0)
    shifted = bounded + ROUND
    r = bounded - (shifted - ROUND)
    return two_to_the(is_above, x, shifted.bits(), fma(r, polynomial(r, EXP2, r * r), 1.0))


def expm1(x: Lanes) -> Lanes:
    """exp x - 1 without cancellation. Computed at x - ln 2 scale near overflow; tiny x are returned as they are."""
    n, r, r_low = reduced(clamp(x, -40.0, 710.0))
    square = r * r
    tail = fma(square, polynomial(r, EXP, square), r_low)
    scale = power_of_two(n - 1)  # 2**1024 would overflow before the result does
    total, error = fast_two_sum(scale - 0.5, scale * r)
    result = 2.0 * (total + fma(scale, tail, error))
    return where(x.intrinsic("fabs") < 2.0**-54, x, result)


def exp_minus_one(r: Lanes, r_low: Lanes) -> tuple[Lanes, Lanes]:
    """exp(r + r_low) - 1 as high + low, for reduced r."""
    square = r * r
    return fast_two_sum(r, fma(square, polynomial(r, EXP, square), r_low))


def expit(x: Lanes) -> Lanes:
    """1 / (1 + exp(-x)) as z / (1 + z) or 1 / (1 + z) with z = exp(-|x|) <= 1, so that nothing overflows."""
    y = -x.intrinsic("fabs")
    n, r, r_low = reduced(where(y > ZERO, y, -100.0))
    p, p_low = exp_minus_one(r, r_low)
    high, error = fast_two_sum(1.0, p)
    z = scaled(n, high)
    z_low = (error + p_low) * z  # near enough: high is within 30 % of 1, and z_low a correction
    below, below_low = fast_two_sum(1.0, z)
    positive = x > 0.0
    q, q_low = quotient(where(positive, 1.0, z), where(positive, 0.0, z_low), below, below_low + z_low)
    return where(x > ZERO, q + q_low, where(x < 0.0, 0.0, x))


def tanh(x: Lanes) -> Lanes:
    """(exp y - 1) / (exp y + 1), y = 2|x|, with exp y = 2**n + 2**n p and a corrected quotient; tanh 20 rounds to 1."""
    y = x.intrinsic("fabs") * 2.0
    n, r, r_low = reduced(where(y > 44.0, 44.0, y))
    p, p_low = exp_minus_one(r, r_low)
    scale = power_of_two(n)
    step, step_low = scale * p, scale * p_low
    above, above_low = fast_two_sum(scale - 1.0, step)
    below, below_low = fast_two_sum(scale + 1.0, step)
    q, q_low = quotient(above, above_low + step_low, below, below_low + step_low)
    return (q + q_low).copysign(x)


def hyperbolic_parts(x: Lanes) -> tuple[Lanes, Lanes, Lanes, Lanes, Lanes]:
    """r, sinh r - r, cosh r - 1, cosh(n ln 2) / 2 and sinh(n ln 2) / 2, where |x| = n ln 2 + r.

    Halves, because the whole may overflow before the result does.
    """
    n, r, r_low = reduced(clamp(x.intrinsic("fabs"), 0.0, 710.6))
    z = r * r
    even = z * polynomial(z, COSH)
    odd = fma(z * r, polynomial(z, SINH), r_low)
    up = power_of_two(n - 2)
    down = where(up > 2.0**60, 0.0, power_of_two(-2 - n))
    return r, odd, even, up + down, up - down


def sinh(x: Lanes) -> Lanes:
    """sinh(n ln 2) cosh r + cosh(n ln 2) sinh r."""
    r, odd, even, c, s = hyperbolic_parts(x)
    total, error = fast_two_sum(s, c * r)
    error = error + fma(c, r, -(c * r))
    result = 2.0 * (total + fma(s, even, fma(c, odd, error)))
    magnitude = x.intrinsic("fabs")
    return where(magnitude < 2.0**-28, magnitude, result).copysign(x)


def cosh(x: Lanes) -> Lanes:
    """cosh(n ln 2) cosh r + sinh(n ln 2) sinh r."""
    r, odd, even, c, s = hyperbolic_parts(x)
    total, error = fast_two_sum(c, s * r)
    return 2.0 * (total + fma(c, even, fma(s, odd, error)))


TABLE: dict[str, Callable[..., Lanes]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "expit": expit,
    "tanh": tanh,
    "sinh": sinh,
    "cosh": cosh,
}
