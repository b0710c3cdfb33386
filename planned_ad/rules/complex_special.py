"""Special functions of complex arguments, as in `scipy.special`: a row for the real and one for the imaginary part.

Their operands are the parts of the argument, after the order where there is one. For a derivative `f' = p + iq` of
`f = u + iv` (Cauchy and Riemann) `u` changes by `p` and `-q`, and `v` by `q` and `p`.
Derivatives: NIST Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

from .algebra import Symbol, cos, exp, log, sin, where
from .bessel import ORDER
from .complex_symbols import ComplexSymbol
from .integrals import FAR, ODD_FACTORIALS
from .rows import row

DLMF = "https://dlmf.nist.gov"
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
Derivative = Callable[..., ComplexSymbol]  # of the argument and the function, with an order of it and the argument


def plus(z: ComplexSymbol, number: float) -> ComplexSymbol:
    return ComplexSymbol(z.real + number, z.imag)


def reciprocal_of(z: ComplexSymbol) -> ComplexSymbol:
    return z.conjugate() / (z.real * z.real + z.imag * z.imag)


def exp_of_complex(z: ComplexSymbol) -> ComplexSymbol:
    size = exp(z.real)
    return ComplexSymbol(size * cos(z.imag), size * sin(z.imag))


def log_of_complex(z: ComplexSymbol) -> ComplexSymbol:
    return ComplexSymbol(log(z.real.apply("hypot", z.imag)), z.imag.apply("arctan2", z.real))


def complex_gaussian(z: ComplexSymbol, sign: float) -> ComplexSymbol:
    """`2 / sqrt(pi) exp(sign z**2)`."""
    return exp_of_complex(z * z * sign) * TWO_OVER_ROOT_PI


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
STEPS = 12  # before the asymptotic series


def trigamma(z: ComplexSymbol) -> ComplexSymbol:
    """The derivative of digamma: by its recurrence and its series, DLMF 5.15; on the left by reflection, 5.15.6."""
    reflects = z.real < 0.5
    w = ComplexSymbol(where(reflects, 1 - z.real, z.real), where(reflects, -z.imag, z.imag))
    total = reciprocal_of(w * w)
    for k in range(1, STEPS):
        total = total + reciprocal_of(plus(w, k) * plus(w, k))
    small = reciprocal_of(plus(w, STEPS))
    square = small * small
    series = square * BERNOULLI[-1]
    for number in BERNOULLI[-2::-1]:
        series = plus(series, number) * square
    total = total + small + square * 0.5 + small * series
    # sin(pi z)**2, the imaginary part of z bounded: beyond it the quotient is 0.
    angle, height = math.pi * z.real, (math.pi * z.imag).apply("minimum", 300.0).apply("maximum", -300.0)
    sine = ComplexSymbol(sin(angle) * height.apply("cosh"), cos(angle) * height.apply("sinh"))
    sine = ComplexSymbol(where(reflects, sine.real, 1.0), where(reflects, sine.imag, 0.0))
    whole = reciprocal_of(sine) * reciprocal_of(sine) * math.pi**2 - total
    return ComplexSymbol(where(reflects, whole.real, total.real), where(reflects, whole.imag, total.imag))


def function_parts(name: str, z: ComplexSymbol, *order: Symbol) -> ComplexSymbol:
    """The function of this name."""
    return ComplexSymbol(
        *((*order, z.real, z.imag)[0].apply(f"{name}_{part}", *(*order, z.real, z.imag)[1:]) for part in PARTS)
    )


PARTS = ("re", "im")


def digamma(z: ComplexSymbol) -> ComplexSymbol:
    return function_parts("complex_psi", z)


def adjoints(name: str, derivative: Derivative, imaginary: bool, ordered: bool) -> tuple[Callable | None, ...]:
    """Of one of the parts, in the parts of the argument."""

    def in_part(of_imaginary: bool) -> Callable[..., Symbol]:
        def adjoint(ct: Symbol, y: Symbol, *operands: Symbol) -> Symbol:
            *order, a, b = operands
            z = ComplexSymbol(a, b)
            rate = derivative(*order, z, function_parts(name, z, *order))
            if imaginary == of_imaginary:
                return ct * rate.real
            return ct * rate.imag if imaginary else -(ct * rate.imag)

        return adjoint

    return ((None,) if ordered else ()) + (in_part(False), in_part(True))


def part_evaluated(function: np.ufunc, part: str) -> Callable[..., np.ndarray]:
    def evaluate(*operands: np.ndarray) -> np.ndarray:
        *order, a, b = (np.asarray(operand, np.float64) for operand in operands)
        z = np.empty(np.broadcast_shapes(a.shape, b.shape), complex)
        z.real, z.imag = a, b
        found = np.asarray(function(*order, z))
        return (found.real if part == "re" else found.imag).astype(np.asarray(operands[-1]).dtype)

    return evaluate


def complex_rows(
    name: str,
    derivative: Derivative,
    reference: str,
    samples: Sequence[tuple[float, float]] = ((-1.5, 1.5), (0.3, 1.5)),
    poles: str = "",
    ordered: bool = False,
) -> None:
    """The two rows of a function, `complex_NAME_re` and `complex_NAME_im`."""
    for part in PARTS:
        row(
            f"complex_{name}_{part}",
            part_evaluated(getattr(special, name), part),
            adjoints(f"complex_{name}", derivative, part == "im", ordered),
            ("", "abc", "abc") if ordered else ("ab", "ab"),
            cost=600 if ordered else 200,
            samples=(((0.5, 2.5),) if ordered else ()) + tuple(samples),
            poles=poles,
            refused=ORDER if ordered else "",
            reference=f"{DLMF}/{reference}",
        )


complex_rows("erf", lambda z, f: complex_gaussian(z, -1.0), "7.2.E1")
complex_rows("erfc", lambda z, f: -complex_gaussian(z, -1.0), "7.2.E2")
complex_rows("erfi", lambda z, f: complex_gaussian(z, 1.0), "7.2.E1")
# `1 - 2 z f`, far from 0 by the series of what is left: DLMF 7.12.1, differentiated.


def asymptotic_rate(z: ComplexSymbol, sign: float) -> ComplexSymbol:
    """`-(1 + 3 t + 15 t**2 + ...) t` with `t = sign / (2 z**2)`."""
    t = reciprocal_of(z * z) * (0.5 * sign)
    total = t * ODD_FACTORIALS[-1]
    for number in ODD_FACTORIALS[-2::-1]:
        total = plus(total, number) * t
    return -total


def far_or_near(z: ComplexSymbol, is_valid: Symbol, sign: float, factor: float, near: ComplexSymbol) -> ComplexSymbol:
    """`near`, and where |z| is large, and the series valid, that times a factor."""
    is_far = (z.real * z.real + z.imag * z.imag > FAR**2) & is_valid
    outside = ComplexSymbol(where(is_far, z.real, 1), where(is_far, z.imag, 0))
    far = asymptotic_rate(outside, sign) * factor
    return ComplexSymbol(where(is_far, far.real, near.real), where(is_far, far.imag, near.imag))


def wofz_rate(z: ComplexSymbol, f: ComplexSymbol) -> ComplexSymbol:
    """`-2 z f + 2i / sqrt(pi)`; the series is not valid far below the real axis, where `f` grows."""
    change = -(z * f * 2.0)
    near = ComplexSymbol(change.real, change.imag + TWO_OVER_ROOT_PI)
    rate = far_or_near(z, z.imag > -0.5 * z.real.apply("absolute"), 1.0, TWO_OVER_ROOT_PI, near.turned_back())
    return rate.turned()


def erfcx_rate(z: ComplexSymbol, f: ComplexSymbol) -> ComplexSymbol:
    near = plus(z * f * 2.0, -TWO_OVER_ROOT_PI)
    is_valid = z.real > -0.5 * z.imag.apply("absolute")
    return far_or_near(z, is_valid, -1.0, -TWO_OVER_ROOT_PI, near)


def complex_dawsn_rate(z: ComplexSymbol, f: ComplexSymbol) -> ComplexSymbol:
    is_valid = z.imag.apply("absolute") < 0.5 * z.real.apply("absolute")
    return far_or_near(z, is_valid, 1.0, 1.0, plus(-(z * f * 2.0), 1.0))


complex_rows("erfcx", erfcx_rate, "7.10.E2")
complex_rows("dawsn", complex_dawsn_rate, "7.10.E3")
complex_rows("wofz", wofz_rate, "7.10.E2")
complex_rows("exp1", lambda z, f: -(exp_of_complex(-z) / z), "6.2.E1", poles="ab")
complex_rows("expi", lambda z, f: exp_of_complex(z) / z, "6.2.E5", poles="ab")
complex_rows("spence", lambda z, f: log_of_complex(z) / plus(-z, 1.0), "25.12.E2", poles="ab")
complex_rows("loggamma", lambda z, f: digamma(z), "5.2.E2", poles="ab")
complex_rows("gamma", lambda z, f: f * digamma(z), "5.2.E2", poles="ab")
complex_rows("rgamma", lambda z, f: -(f * digamma(z)), "5.2.E2")
complex_rows("psi", lambda z, f: trigamma(z), "5.15", poles="ab")


# Bessel functions, of an order in which there is no derivative of closed form.


def cylinders_beside(name: str, sign: float, factor: float = 0.5) -> Callable[[Symbol, ComplexSymbol], ComplexSymbol]:
    """`factor (f_(v-1) + sign f_(v+1))`."""

    def found(v: Symbol, z: ComplexSymbol) -> ComplexSymbol:
        below, above = (function_parts(f"complex_{name}", z, v + by) for by in (-1.0, 1.0))
        return (below + above * sign) * factor

    return found


def cylinder(name: str, reference: str, sign: float, factor: float = 0.5, scaled: str = "") -> None:
    """`scaled` is the factor's exponent that the function is multiplied by: `z`, `iz` or `-iz`."""
    between = cylinders_beside(name, sign, factor)

    def derivative(v: Symbol, z: ComplexSymbol, f: ComplexSymbol) -> ComplexSymbol:
        own = {"": None, "z": f, "iz": f.turned(), "-iz": -f.turned()}[scaled]
        return between(v, z) if own is None else between(v, z) + own

    complex_rows(name, derivative, reference, ((0.5, 3.0), (0.3, 1.5)), poles="bc", ordered=True)


for _name in ("jv", "yv", "hankel1", "hankel2"):
    cylinder(_name, "10.6.E1", -1.0)
cylinder("hankel1e", "10.6.E1", -1.0, scaled="-iz")
cylinder("hankel2e", "10.6.E1", -1.0, scaled="iz")
cylinder("iv", "10.29.E1", 1.0)
cylinder("kv", "10.29.E1", 1.0, -0.5)
cylinder("kve", "10.29.E1", 1.0, -0.5, scaled="z")
