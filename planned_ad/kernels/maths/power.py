"""power, hypot and cbrt, branch-free."""

from __future__ import annotations

from collections.abc import Callable

from .exp import clamp, exp_minus_one, reduced, scaled
from .log import LN2_HIGH, LN2_LOW, split
from .notation import (
    INFINITY,
    NAN,
    ROUND,
    Lanes,
    fast_two_sum,
    fma,
    known,
    polynomial,
    power_of_two,
    quotient,
    square_root,
    two_product,
    where,
)

TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)

# (2 artanh s - 2 s - 2 s**3 / 3) / s**5 in powers of s**2, |s| <= 0.17158; error 2e-20 of 2 artanh s
LOG_TAIL = (
    0.4,
    0.28571428571429364,
    0.22222222221655885,
    0.18181818335392802,
    0.1538459496251843,
    0.1333480469384731,
    0.11706236339491206,
    0.11723178623876518,
)

CUBE_ROOT_2 = 1.2599210498948732

# cbrt(1 + f) for sqrt(1/2) <= 1 + f <= sqrt(2), to start the iteration; error 1.1e-5
CUBE_ROOT = (1.0000068895179226, 0.3332432123089716, -0.11172969285296756, 0.06534528287830144, -0.03600019208330247)


def log_twice_precise(x: Lanes) -> tuple[Lanes, Lanes]:
    """log |x| as high + low to about 2**-64 of its size, x finite and not 0.

    With s = f / (2 + f) and w = s**2: log(1 + f) = 2 s + s**3 (2/3 + w T(w)); s, s**3, 2/3 and the products are
    unevaluated sums, and only w T(w), 2**-12 of the whole, is a plain double.
    """
    k, f = split(x.intrinsic("fabs"))
    below, below_low = fast_two_sum(2.0, f)
    s, s_low = fast_two_sum(*quotient(f, 0.0, below, below_low))
    w, w_low = two_product(s, s)
    w_low = fma(s + s, s_low, w_low)
    cube, cube_low = two_product(s, w)
    cube_low = cube_low + fma(s, w_low, s_low * w)
    c, c_low = fast_two_sum(TWO_THIRDS[0], w * polynomial(w, LOG_TAIL, w * w))
    u, u_low = two_product(cube, c)
    u_low = u_low + fma(cube, c_low + TWO_THIRDS[1], cube_low * c)
    high, error = fast_two_sum(s * 2.0, u)
    low = error + fma(s_low, 2.0, u_low)
    total, error = fast_two_sum(k * LN2_HIGH, high)
    return fast_two_sum(total, fma(k, LN2_LOW, error + low))


def power_of_log(x: Lanes, log_high: Lanes, log_low: Lanes, y: Lanes) -> Lanes:
    """|x|**y = exp(y log |x|) with the logarithm and the product to twice the precision; signs and limits as in C.

    The logarithm is given: powers of one number share it, and where that is the same in all iterations of a loop, it is
    computed before. The exponent is bounded by 2**64: every |x| but 1 then over- or underflows, because
    |log x| >= 2**-53.
    """
    a = x.intrinsic("fabs")
    bounded = clamp(y, -(2.0**64), 2.0**64)
    product, error = two_product(bounded, log_high)
    product_low = where(product.intrinsic("fabs") < 750.0, fma(bounded, log_low, error), 0.0)
    vanishes = product < -745.2
    n, r, r_low = reduced(where(vanishes, 0.0, where(product > 710.0, 710.0, product)))  # tiny factors take long
    r, r_low = fast_two_sum(r, r_low + product_low)  # product_low is not small enough to be left out of the square
    p, p_low = exp_minus_one(r, r_low)
    high, error = fast_two_sum(1.0, p)
    value = scaled(n, high + (error + p_low))  # within 0.6 ulp, so that 3.0**2 is 9
    value = where(vanishes, 0.0, value)

    extreme = a.equals(0.0) | a.equals(INFINITY)
    value = where(extreme, where((y > 0.0) ^ a.equals(0.0), INFINITY, 0.0), value)
    half = y * 0.5
    whole = y.intrinsic("rint").equals(y)
    odd = whole & (half.intrinsic("rint") - half).intrinsic("fabs").equals(0.5)
    negative = where(odd, -value, where(whole | extreme, value, NAN))
    value = where(x.bits() < 0, negative, value)
    value = where(known(x, y), value, x + y)
    return where(y.equals(0.0) | x.equals(1.0), 1.0, value)


def hypot(x: Lanes, y: Lanes) -> Lanes:
    """sqrt(x**2 + y**2), scaled by powers of two away from over- and underflow, squares with their errors."""
    ax, ay = x.intrinsic("fabs"), y.intrinsic("fabs")
    a, b = where(ay > ax, ay, ax), where(ay > ax, ax, ay)
    large, small = a > 2.0**500, a < 2.0**-400
    scale = where(large, 2.0**-600, where(small, 2.0**600, 1.0))
    back = where(large, 2.0**600, where(small, 2.0**-600, 1.0))
    a, b = a * scale, b * scale
    aa, aa_low = two_product(a, a)
    bb, bb_low = two_product(b, b)
    total, error = fast_two_sum(aa, bb)
    root, root_low = square_root(total, error + (aa_low + bb_low))
    value = (root + root_low) * back
    infinite = ax.equals(INFINITY) | ay.equals(INFINITY)
    return where(infinite, INFINITY, value)


def cbrt(x: Lanes) -> Lanes:
    """2**q cbrt m, m in [0.35, 2.83]: a polynomial, one step of Halley, one of Newton with the residue doubly precise.

    The reciprocal of Halley's step, 1 / (2 y**3 + m) = 1 / (3 m) to 3e-5, serves Newton's too.
    """
    a = x.intrinsic("fabs")
    k, f = split(a)
    shifted = fma(k, 1.0 / 3.0, ROUND)
    rest = k - (shifted - ROUND) * 3.0
    up, down = rest > 0.5, rest < -0.5
    m = (f + 1.0) * where(up, 2.0, where(down, 0.5, 1.0))
    y = polynomial(f, CUBE_ROOT) * where(up, CUBE_ROOT_2, where(down, 1.0 / CUBE_ROOT_2, 1.0))
    cube = y * y * y
    reciprocal = 1.0 / fma(cube, 2.0, m)
    y = y * (fma(m, 2.0, cube) * reciprocal)
    square, square_low = two_product(y, y)
    residue = fma(square, y, -m) + square_low * y
    y = fma(residue * reciprocal, -y, y)
    value = y * power_of_two(shifted.bits())
    return where((a > 0.0) & (a < INFINITY), value, a).copysign(x)


TABLE: dict[str, Callable[..., Lanes]] = {"hypot": hypot, "cbrt": cbrt}
