"""sin, cos, tan.

Reduction by multiples of pi in three doubles, with fused multiply-add: x - n PI[0] is exact, and the products with
the other parts are kept with their errors, so that r + r_low is accurate to 2**-120 or so, while no double of that
range comes closer to a multiple of pi / 2 than about 2**-60 (Cody & Waite 1980; Muller, chapter on range reduction).

sin and cos need one odd polynomial on [-pi/2, pi/2] only: sin(n pi + r) = (-1)**n sin r, and the same with half-integer
n for cos x = sin(x + pi/2). This costs 8 coefficients instead of the 12 of the usual pair of polynomials.

Beyond `LARGEST` the lanes are reduced one by one, by `argument_reduction`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .argument_reduction import reduce_lanes
from .notation import (
    INFINITY,
    ROUND,
    Lanes,
    fast_two_sum,
    fma,
    polynomial,
    quotient,
    two_product,
    two_sum,
    where,
    with_slow_lanes,
)

PI = (3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33)
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
LARGEST = 2.0**30
HALF_TURN = 1 << 62  # 1/2 where 2**63 is one period

# (sin r - r) / r**3 in powers of r**2, |r| <= 1.5709; error 4e-17 of sin r, all of it the rounding of -1/6
SIN = (
    -0.16666666666666666,
    0.008333333333333316,
    -0.00019841269841254955,
    2.755731921915843e-06,
    -2.5052107616384595e-08,
    1.6058977272815506e-10,
    -7.643969031052769e-13,
    2.731428986122616e-15,
)

SIXTH_LOW = -9.25185853854297e-18  # -1/6 - SIN[0]

# on |r| <= 0.78548: (sin r - r) / r**3 and (cos r - 1 + r**2 / 2) / r**4, errors 1.8e-17 and 1e-18
SIN_QUARTER = (
    -0.16666666666666666,
    0.008333333333330946,
    -0.0001984126983675497,
    2.755731610068303e-06,
    -2.5051131455427946e-08,
    1.591810123027412e-10,
)
COS_QUARTER = (
    0.041666666666666664,
    -0.0013888888888887395,
    2.4801587298763433e-05,
    -2.7557317270560326e-07,
    2.0876146024689747e-09,
    -1.1382614868556325e-11,
)


def reduced(x: Lanes, n: Lanes, period: tuple[float, float, float]) -> tuple[Lanes, Lanes]:
    """x - n period as r + r_low."""
    first = fma(n, -period[0], x)
    product, product_low = two_product(n, n.splat(period[1]))
    r, error = two_sum(-product, first)
    return r, error - fma(n, period[2], product_low)


def guarded(x: Lanes, common: Sequence[Lanes], period: Sequence[float], doublings: int, offset: int) -> list[Lanes]:
    """r, r_low and the low bit of n, as given, or where |x| is too large by the exact reduction.

    NaN and infinity come out as NaN by themselves: the reduction subtracts infinities.
    """
    magnitude = x.intrinsic("fabs")
    rare = (magnitude > LARGEST) & (magnitude < INFINITY)

    def slow() -> list[Lanes]:
        f, f_low, n = reduce_lanes(where(rare, magnitude, LARGEST), doublings, offset)
        r, r_low = two_product(f, f.splat(period[0]))
        r_low = fma(f_low, period[0], fma(f, period[1], r_low))
        negative = x < 0.0
        return [where(negative, -r, r), where(negative, -r_low, r_low), n]

    return with_slow_lanes(rare, common, slow)


def flipped(r: Lanes, n: Lanes) -> Lanes:
    """r, with its sign changed where n is odd. The result takes its sign from it: that keeps the sign of zero, too."""
    return (r.bits() ^ (n << 63)).double()


def sine_of(r: Lanes, r_low: Lanes, parity: Lanes) -> Lanes:
    """(-1)**parity sin(r + r_low).

    Near pi/2 the correction r z S(z), z = r**2, is as large as the result: its first term is taken with the errors of
    z and of -1/6.
    """
    z = r * r
    z_low = fma(r, r, -z)
    rest = z * fma(z, polynomial(z, SIN[1:], z * z), SIXTH_LOW)
    square = fma(z, SIN[0], fma(z_low, SIN[0], rest))
    tail = fma(r, square, fma(z * -0.5, r_low, r_low))
    return (r + tail).copysign(flipped(r, parity))


def sin(x: Lanes) -> Lanes:
    """(-1)**n sin(x - n pi)."""
    shifted = fma(x, 1.0 / PI[0], ROUND)
    r, r_low = reduced(x, shifted - ROUND, PI)
    return sine_of(*guarded(x, (r, r_low, shifted.bits()), PI, 0, 0))


def cos(x: Lanes) -> Lanes:
    """sin(|x| + pi / 2), with n half an odd integer.

    For n = 1/2 the first difference of the reduction is rounded; r_low takes the error.
    """
    a = x.intrinsic("fabs")
    shifted = fma(a, 1.0 / PI[0], 0.5) + ROUND
    n = (shifted - ROUND) - 0.5
    r, r_low = reduced(a, n, PI)
    lost = a - fma(n, PI[0], fma(n, -PI[0], a))
    return sine_of(*guarded(a, (r, r_low + lost, shifted.bits()), PI, 0, HALF_TURN))


def tan(x: Lanes) -> Lanes:
    """sin / cos or -cos / sin of x - n pi / 2, both known beyond double precision, with a corrected quotient."""
    shifted = fma(x, 1.0 / HALF_PI[0], ROUND)
    common = reduced(x, shifted - ROUND, HALF_PI)
    r, r_low, n = guarded(x, (*common, shifted.bits()), HALF_PI, 1, 0)
    z, z_low = two_product(r, r)
    z2 = z * z
    s, s_low = fast_two_sum(r, fma(z * r, polynomial(z, SIN_QUARTER, z2), fma(z * -0.5, r_low, r_low)))
    c, c_error = fast_two_sum(1.0, z * -0.5)
    c, c_low = fast_two_sum(c, fma(z2, polynomial(z, COS_QUARTER, z2), c_error - fma(r, r_low, z_low * 0.5)))
    odd = (n & 1).equals(1)
    q, q_low = quotient(where(odd, c, s), where(odd, c_low, s_low), where(odd, s, c), where(odd, s_low, c_low))
    return (q + q_low).copysign(flipped(r, n))


TABLE: dict[str, Callable[..., Lanes]] = {"sin": sin, "cos": cos, "tan": tan}
