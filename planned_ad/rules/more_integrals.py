"""More functions of `scipy.special` whose derivatives are known: of Airy, Struve, Fresnel, Owen and others.

Of those that SciPy gives several results at once, each result is a primitive: `airy_ai` is the first of `airy`.
Derivatives: NIST Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from .algebra import Symbol, cos, cosh, exp, power, power_series, sin, sinc_coefficients, sinh, sqrt, where
from .integrals import DLMF, SHAPE, in_double
from .rows import row

SQUARE_ROOT_OF_PI = math.sqrt(math.pi)


def output_of(function: np.ufunc, number: int) -> Callable[..., np.ndarray]:
    """One of the results of a function that has several."""
    return lambda *operands: np.asarray(function(*operands)[number])


# Integrals from 0 whose integrand is elementary, DLMF 6.2 and 7.2.


def sinc_like(function: Callable[[Symbol], Symbol], sign: int) -> Callable[[Symbol, Symbol, Symbol], Symbol]:
    """`function(a) / a`; near 0 its power series, of which the derivatives are right there too."""

    def adjoint(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
        near = a * a < 1
        inside, outside = where(near, a, 0), where(near, 1, a)
        return ct * where(near, power_series(sinc_coefficients(sign), inside * inside), function(outside) / outside)

    return adjoint


PARTS: dict[str, tuple[np.ufunc, int]] = {
    "fresnel_s": (special.fresnel, 0), "fresnel_c": (special.fresnel, 1), "sici_s": (special.sici, 0),
    "sici_c": (special.sici, 1), "shichi_s": (special.shichi, 0), "shichi_c": (special.shichi, 1),
    "airy_ai": (special.airy, 0), "airy_aip": (special.airy, 1), "airy_bi": (special.airy, 2),
    "airy_bip": (special.airy, 3), "ellipj_sn": (special.ellipj, 0), "ellipj_cn": (special.ellipj, 1),
    "ellipj_dn": (special.ellipj, 2), "ellipj_ph": (special.ellipj, 3),
}  # fmt: skip
"""By name of the primitive, whose result it is, and which."""


def several_part(name: str, adjoints: tuple, needs: tuple[str, ...], section: str, **options: object) -> None:
    row(name, output_of(*PARTS[name]), adjoints, needs, cost=80, reference=f"{DLMF}/{section}", **options)  # type: ignore[arg-type]


ABOVE_ZERO = ((0.3, 3),)
several_part("fresnel_s", (lambda ct, y, a: ct * sin(math.pi / 2 * (a * a)),), ("a",), "7.2.E8")
several_part("fresnel_c", (lambda ct, y, a: ct * cos(math.pi / 2 * (a * a)),), ("a",), "7.2.E7")
several_part("sici_s", (sinc_like(sin, -1),), ("a",), "6.2.E9")
several_part("sici_c", (lambda ct, y, a: ct * (cos(a) / a),), ("a",), "6.2.E11", samples=ABOVE_ZERO, poles="a")
several_part("shichi_s", (sinc_like(sinh, 1),), ("a",), "6.2.E15")
several_part("shichi_c", (lambda ct, y, a: ct * (cosh(a) / a),), ("a",), "6.2.E16", samples=ABOVE_ZERO, poles="a")

# Airy's equation, DLMF 9.2.1: w'' = a w.
several_part("airy_ai", (lambda ct, y, a: ct * a.apply("airy_aip"),), ("a",), "9.2.E1")
several_part("airy_aip", (lambda ct, y, a: ct * (a * a.apply("airy_ai")),), ("a",), "9.2.E1")
several_part("airy_bi", (lambda ct, y, a: ct * a.apply("airy_bip"),), ("a",), "9.2.E1")
several_part("airy_bip", (lambda ct, y, a: ct * (a * a.apply("airy_bi")),), ("a",), "9.2.E1")

# Jacobi's elliptic functions in their argument, DLMF 22.13.
PARAMETER = "only that in the first operand has a closed form; make the parameter a constant (planned_ad.Const)"
INSIDE = ((-2, 2), (0.1, 0.9))


def elliptic(name: str, a: Symbol, m: Symbol) -> Symbol:
    return a.apply(f"ellipj_{name}", m)


for _name, _rate in {
    "sn": lambda ct, y, a, b: ct * (elliptic("cn", a, b) * elliptic("dn", a, b)),
    "cn": lambda ct, y, a, b: -(ct * (elliptic("sn", a, b) * elliptic("dn", a, b))),
    "dn": lambda ct, y, a, b: -(ct * (b * elliptic("sn", a, b) * elliptic("cn", a, b))),
    "ph": lambda ct, y, a, b: ct * elliptic("dn", a, b),
}.items():
    several_part(f"ellipj_{_name}", (_rate, None), ("ab", ""), "22.13.E1", samples=INSIDE, refused=PARAMETER)


# Incomplete elliptic integrals, DLMF 19.2.4-5 and 19.4.


def one_minus_m_sin2(a: Symbol, m: Symbol) -> Symbol:
    return 1 - m * (sin(a) * sin(a))


def near_zero(a: Symbol, m: Symbol, factors: tuple[float, float, float]) -> Symbol:
    """The derivative in the parameter near 0: integrals of sin**2, sin**4 and sin**6, times powers of `m`."""
    two, four, six = (sin(k * a) for k in (2.0, 4.0, 6.0))
    integrals = (
        0.5 * a - 0.25 * two,
        0.375 * a - 0.25 * two + 1 / 32 * four,
        0.3125 * a - 15 / 64 * two + 3 / 64 * four - 1 / 192 * six,
    )
    first, second, third = (f * i for f, i in zip(factors, integrals))
    return first + m * (second + m * third)


def by_parameter(rate: Callable[..., Symbol], factors: tuple[float, float, float]) -> Callable[..., Symbol]:
    def adjoint(ct: Symbol, y: Symbol, a: Symbol, b: Symbol) -> Symbol:
        small = (b < 1e-4) & (b > -1e-4)
        far, near = where(small, 0.5, b), where(small, b, 0)
        return ct * where(small, near_zero(a, near, factors), rate(a, far))

    return adjoint


def first_kind(a: Symbol, m: Symbol) -> Symbol:
    f, e = a.apply("ellipkinc", m), a.apply("ellipeinc", m)
    return e / (2 * m * (1 - m)) - f / (2 * m) - sin(2.0 * a) / (4 * (1 - m) * sqrt(one_minus_m_sin2(a, m)))


def second_kind(a: Symbol, m: Symbol) -> Symbol:
    return (a.apply("ellipeinc", m) - a.apply("ellipkinc", m)) / (2 * m)


row(
    "ellipkinc",
    special.ellipkinc,
    (lambda ct, y, a, b: ct / sqrt(one_minus_m_sin2(a, b)), by_parameter(first_kind, (0.5, 0.75, 0.9375))),
    ("ab", "ab"),
    cost=150,
    samples=((-1.4, 1.4), (-0.8, 0.8)),
    poles="y",
    reference=f"{DLMF}/19.4.E6",
)
row(
    "ellipeinc",
    special.ellipeinc,
    (lambda ct, y, a, b: ct * sqrt(one_minus_m_sin2(a, b)), by_parameter(second_kind, (-0.5, -0.25, -0.1875))),
    ("ab", "ab"),
    cost=150,
    samples=((-1.4, 1.4), (-0.8, 0.8)),
    poles="y",
    reference=f"{DLMF}/19.4.E7",
)

# Of an order: the derivative is made of neighbours.


def of_expn(ct: Symbol, y: Symbol, n: Symbol, a: Symbol) -> Symbol:
    """`-E_(n-1)`, DLMF 8.19.13; `E_(-1)` is `exp(-a) (1 + 1 / a) / a`."""
    least = n < 1
    below = exp(-a) * (1 + 1 / a) / a
    return -(ct * where(least, below, where(least, 1, n - 1).apply("expn", a)))


row(
    "expn",
    in_double(special.expn),
    (None, of_expn),
    ("", "ab"),
    cost=100,
    samples=((1.0, 1.0), (0.4, 3)),
    poles="b",
    refused=SHAPE,
    reference=f"{DLMF}/8.19.E13",
)


def of_struve(sign: float, name: str) -> Callable[..., Symbol]:
    """DLMF 11.4.27 and 11.4.31, less the half of 11.4.23: two neighbours and a power."""

    def adjoint(ct: Symbol, y: Symbol, v: Symbol, a: Symbol) -> Symbol:
        last = power(0.5 * a, v) * (v + 1.5).apply("rgamma") / SQUARE_ROOT_OF_PI
        return ct * (0.5 * ((v - 1).apply(name, a) + sign * (v + 1).apply(name, a) + last))

    return adjoint


for _name, _sign in (("struve", -1.0), ("modstruve", 1.0)):
    row(
        _name,
        getattr(special, _name),
        (None, of_struve(_sign, _name)),
        ("", "ab"),
        cost=300,
        samples=((0.5, 2), (0.3, 3)),
        poles="b",
        refused=SHAPE,
        reference=f"{DLMF}/11.4.E27",
    )
row(
    "hyp0f1",
    special.hyp0f1,
    (None, lambda ct, y, a, b: ct * ((a + 1).apply("hyp0f1", b) / a)),
    ("", "ab"),
    cost=200,
    samples=((0.6, 3), (-2, 2)),
    poles="y",
    refused=SHAPE,
    reference=f"{DLMF}/16.3.E1",
)
row(
    "hyperu",
    special.hyperu,
    (None, None, lambda ct, y, a, b, c: -(ct * (a * (a + 1).apply("hyperu", b + 1, c)))),
    ("", "", "abc"),
    cost=500,
    samples=((0.6, 2), (0.3, 2), (0.4, 3)),
    poles="y",
    refused=SHAPE,
    reference=f"{DLMF}/13.3.E22",
)

# Others.


def owens_t_in_h(ct: Symbol, y: Symbol, h: Symbol, a: Symbol) -> Symbol:
    half = math.sqrt(0.5)
    return -(ct * (exp(-0.5 * (h * h)) * (half * (a * h)).apply("erf") * (0.5 / math.sqrt(2 * math.pi))))


def owens_t_in_a(ct: Symbol, y: Symbol, h: Symbol, a: Symbol) -> Symbol:
    wide = 1 + a * a
    return ct * (exp(-0.5 * (h * h) * wide) / (2 * math.pi * wide))


row(
    "owens_t",
    special.owens_t,
    (owens_t_in_h, owens_t_in_a),
    ("ab", "ab"),
    cost=150,
    reference="D. B. Owen, Tables for computing bivariate normal probabilities, 1956, 2.3",
)
row(
    "wrightomega",
    special.wrightomega,
    (lambda ct, y, a: ct * (y / (1 + y)),),
    ("y",),
    cost=80,
    reference=f"{DLMF}/4.13.E4_1",
)
