"""arctan, arctan2, arcsin, arccos, branch-free.

arctan of a quotient b / a in [0, 1] uses, above tan(pi/8), arctan(b / a) = pi/4 + arctan((b - a) / (b + a)), so that
one odd polynomial on [-tan(pi/8), tan(pi/8)] serves and one division is made, whichever quotient it is. arcsin above
1/2 uses arcsin x = pi/2 - 2 arcsin sqrt((1 - x) / 2) (Cody & Waite 1980, chapters 11 and 10). Quotients, roots and
the constants are carried with their rounding errors.
"""

from __future__ import annotations

from collections.abc import Callable

from .notation import INFINITY, Lanes, fast_two_sum, fma, known, polynomial, quotient, square_root, where

PI = (3.141592653589793, 1.2246467991473532e-16)
TAN_EIGHTH_PI = 0.41421356237309503

# (arctan q - q) / q**3 in powers of q**2, |q| <= 0.41426; error 3e-18
ARCTAN = (
    -0.3333333333333333,
    0.19999999999999804,
    -0.14285714285659729,
    0.11111111105145725,
    -0.09090908753017178,
    0.07692296361048218,
    -0.06666424634599337,
    0.05878926110528101,
    -0.052304330074828924,
    0.0455149623749493,
    -0.034568068014968874,
    0.016282993238924487,
)

# (arcsin t - t) / t**3 in powers of t**2, t**2 <= 0.25001; error 5e-18
ARCSIN = (
    0.16666666666666669,
    0.07499999999998432,
    0.04464285714635722,
    0.030381944138386928,
    0.022372172948124706,
    0.017352392575609256,
    0.013971215203097548,
    0.011479154971005417,
    0.010322964581482783,
    0.005456844463293151,
    0.017402725959689853,
    -0.014854837699421992,
    0.02875990974247162,
)


def pi_times(factor: float, chosen: Lanes, otherwise: tuple[Lanes | float, Lanes | float]) -> tuple[Lanes, Lanes]:
    """factor * pi as high + low in the chosen lanes, `otherwise` in the others; the factor is a power of two."""
    return where(chosen, PI[0] * factor, otherwise[0]), where(chosen, PI[1] * factor, otherwise[1])


def collected(base: tuple[Lanes, Lanes], high: Lanes, low: Lanes) -> Lanes:
    """base + high + low, rounded at the end; |high| <= |base| or base = 0."""
    total, error = fast_two_sum(base[0], high)
    return total + (error + (base[1] + low))


def arctan_parts(b: Lanes, a: Lanes) -> tuple[Lanes, Lanes]:
    """arctan(b / a) as high + low, 0 <= b <= a, 0 < a, neither extreme."""
    upper = b > a * TAN_EIGHTH_PI
    difference, difference_low = fast_two_sum(a, -b)
    total, total_low = fast_two_sum(a, b)
    q, q_low = quotient(
        where(upper, -difference, b),
        where(upper, -difference_low, 0.0),
        where(upper, total, a),
        where(upper, total_low, 0.0),
    )
    z = q * q
    tail = fma(z * q, polynomial(z, ARCTAN, z * z), fma(-z, q_low, q_low))
    base, base_low = pi_times(0.25, upper, (0.0, 0.0))
    high, error = fast_two_sum(base, q)
    return high, error + (base_low + tail)


def arctan(x: Lanes) -> Lanes:
    """arctan a or pi/2 - arctan(1 / a), a = |x|. Beyond 2**100 the result is pi/2."""
    a = x.intrinsic("fabs")
    a = where(a > 2.0**100, 2.0**100, a)
    inverted = a > 1.0
    high, low = arctan_parts(where(inverted, 1.0, a), where(inverted, a, 1.0))
    base = pi_times(0.5, inverted, (0.0, 0.0))
    return collected(base, where(inverted, -high, high), where(inverted, -low, low)).copysign(x)


def arctan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of (x, y): arctan of the smaller coordinate over the larger, then the octant.

    Coordinates are scaled by powers of two where their quotient or sum would leave the range; two zeros give the angle
    of the signs, two infinities the diagonal, as in C (Annex F).
    """
    ax, ay = x.intrinsic("fabs"), y.intrinsic("fabs")
    steep = ay > ax
    a, b = where(steep, ay, ax), where(steep, ax, ay)
    scale = where(a > 2.0**900, 2.0**-600, where(a < 2.0**-400, 2.0**600, 1.0))
    infinite = a.equals(INFINITY)
    b = where(infinite, where(b.equals(INFINITY), 1.0, 0.0), b * scale)
    a = where(infinite | a.equals(0.0), 1.0, a * scale)
    high, low = arctan_parts(b, a)
    left = x.bits() < 0
    base = pi_times(0.5, steep, pi_times(1.0, left, (0.0, 0.0)))
    back = steep ^ left
    angle = collected(base, where(back, -high, high), where(back, -low, low))
    return where(known(x, y), angle.copysign(y), x + y)


def arcsin_parts(a: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Whether 0 <= a <= 1 exceeds 1/2, and arcsin(a) or else arcsin(sqrt((1 - a) / 2)) as high + low."""
    upper = a > 0.5
    z = where(upper, 0.5 - a * 0.5, a * a)
    root, root_low = square_root(where(upper, z, 1.0))
    t = where(upper, root, a)
    return upper, t, fma(t, z * polynomial(z, ARCSIN, z * z), where(upper, root_low, 0.0))


def arcsin(x: Lanes) -> Lanes:
    """arcsin, NaN beyond 1 (by the square root)."""
    upper, t, t_low = arcsin_parts(x.intrinsic("fabs"))
    factor = where(upper, -2.0, 1.0)
    return collected(pi_times(0.5, upper, (0.0, 0.0)), t * factor, t_low * factor).copysign(x)


def arccos(x: Lanes) -> Lanes:
    """pi/2 - arcsin x, or 2 arcsin sqrt((1 - x) / 2) and its mirror image."""
    upper, t, t_low = arcsin_parts(x.intrinsic("fabs"))
    negative = x < 0.0
    base = pi_times(1.0, negative, (0.0, 0.0))
    base = where(upper, base[0], PI[0] * 0.5), where(upper, base[1], PI[1] * 0.5)
    factor = where(upper, 2.0, 1.0)
    factor = where(upper ^ negative, factor, -factor)
    return collected(base, t * factor, t_low * factor)


TABLE: dict[str, Callable[..., Lanes]] = {"arctan": arctan, "arctan2": arctan2, "arcsin": arcsin, "arccos": arccos}
