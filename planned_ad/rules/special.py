"""Elementwise special functions, as in `scipy.special`: the gamma and the error functions, and their kin.

Derivatives: Abramowitz & Stegun, chapters 6 and 7; NIST Digital Library of Mathematical Functions, chapters 5 and 7.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from .algebra import Symbol, cos, digamma, exp, log, sin, where
from .rows import row, same_dtype

AS = "Abramowitz & Stegun, Handbook of Mathematical Functions"

row("expit", special.expit, (lambda ct, y, a: ct * (y * (1 - y)),), ("y",), cost=16)
row("logit", special.logit, (lambda ct, y, a: ct / (a * (1 - a)),), ("a",), cost=16, samples=((0.05, 0.95),), poles="y")

TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


def gaussian(ct: Symbol, a: Symbol) -> Symbol:
    """`2 / sqrt(pi) exp(-a**2)`, the derivative of `erf`."""
    return ct * (TWO_OVER_ROOT_PI * exp(-(a * a)))


row("erf", special.erf, (lambda ct, y, a: gaussian(ct, a),), ("a",), cost=40, reference=f"{AS}, 7.1.19")
row("erfc", special.erfc, (lambda ct, y, a: -gaussian(ct, a),), ("a",), cost=40, reference=f"{AS}, 7.1.19")


def order_of_polygamma(operands, parameters):
    n = parameters["n"]
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"polygamma: order {n!r}; it is a positive int (order 0 is digamma)")
    return same_dtype(operands, parameters)


row("gammaln", special.gammaln, (lambda ct, y, a: ct * digamma(a),), ("a",), cost=40, samples=((0.3, 5),), poles="a")
row(
    "digamma",
    special.digamma,
    (lambda ct, y, a: ct * a.apply("polygamma", n=1),),
    ("a",),
    cost=40,
    samples=((0.3, 5),),
    reference=f"{AS}, 6.3.1",
    poles="a",
)
row(
    "polygamma",
    lambda a, *, n: np.asarray(special.polygamma(n, a)).astype(a.dtype),
    (lambda ct, y, a, *, n: ct * a.apply("polygamma", n=n + 1),),
    ("a",),
    cost=60,
    result=order_of_polygamma,
    samples=((0.5, 5),),
    examples=({"n": 1}, {"n": 2}),
    reference=f"{AS}, 6.4.1",
    poles="a",
)


row(
    "gamma",
    special.gamma,
    (lambda ct, y, a: ct * (y * digamma(a)),),
    ("ya",),
    cost=60,
    samples=((0.3, 4),),
    poles="a",
    reference=f"{AS}, 6.3.1",
)
row("gammasgn", special.gammasgn, (None,), ("",), cost=8)


def of_rgamma(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    """`-digamma(a) / gamma(a)`, below 1/2 by reflection (6.1.17), which has no poles: `sin(pi a) gamma(1 - a) / pi`."""
    reflects = a < 0.5
    above, below = where(reflects, 1, a), where(reflects, a, 0.25)
    angle = math.pi * below
    rate = (cos(angle) - sin(angle) * (1 / math.pi) * digamma(1 - below)) * (1 - below).apply("gamma")
    return ct * where(reflects, rate, -(above.apply("rgamma") * digamma(above)))


row("rgamma", special.rgamma, (of_rgamma,), ("a",), cost=60, samples=((-2.5, 4),), reference=f"{AS}, 6.1.17")
row(
    "betaln",
    special.betaln,
    (lambda ct, y, a, b: ct * (digamma(a) - digamma(a + b)), lambda ct, y, a, b: ct * (digamma(b) - digamma(a + b))),
    ("ab", "ab"),
    cost=120,
    samples=((0.3, 4),),
    poles="ab",
    reference=f"{AS}, 6.2.2",
)
row(
    "beta",
    special.beta,
    (
        lambda ct, y, a, b: ct * (y * (digamma(a) - digamma(a + b))),
        lambda ct, y, a, b: ct * (y * (digamma(b) - digamma(a + b))),
    ),
    ("yab", "yab"),
    cost=120,
    samples=((0.3, 4),),
    poles="ab",
    reference=f"{AS}, 6.2.2",
)
row(
    "binom",
    special.binom,
    (
        lambda ct, y, a, b: ct * (y * (digamma(a + 1) - digamma(a - b + 1))),
        lambda ct, y, a, b: ct * (y * (digamma(a - b + 1) - digamma(b + 1))),
    ),
    ("yab", "yab"),
    cost=120,
    samples=((3.2, 6), (0.3, 2.6)),
    poles="y",
    reference=f"{AS}, 6.1.21",
)

row(
    "poch",
    special.poch,
    (
        lambda ct, y, a, b: ct * (y * (digamma(a + b) - digamma(a))),
        lambda ct, y, a, b: ct * (y * digamma(a + b)),
    ),
    ("yab", "yab"),
    cost=120,
    samples=((0.5, 4), (0.3, 2)),
    poles="y",
    reference=f"{AS}, 6.1.22",
)

# The inverses and the scaled forms of the error function and of the normal distribution. DLMF 7.17, 7.10.
ROOT_PI = math.sqrt(math.pi)
row("erfi", special.erfi, (lambda ct, y, a: ct * (TWO_OVER_ROOT_PI * exp(a * a)),), ("a",), cost=40)
row(
    "erfinv",
    special.erfinv,
    (lambda ct, y, a: ct * (ROOT_PI / 2 * exp(y * y)),),
    ("y",),
    cost=60,
    samples=((-0.8, 0.8),),
    poles="y",
)
row(
    "erfcinv",
    special.erfcinv,
    (lambda ct, y, a: -(ct * (ROOT_PI / 2 * exp(y * y))),),
    ("y",),
    cost=60,
    samples=((0.2, 1.8),),
    poles="y",
)
ROOT_TWO_PI = math.sqrt(2 * math.pi)
row(
    "ndtri",
    special.ndtri,
    (lambda ct, y, a: ct * (ROOT_TWO_PI * exp(0.5 * (y * y))),),
    ("y",),
    cost=60,
    samples=((0.1, 0.9),),
    poles="y",
)
row(
    "ndtri_exp",
    special.ndtri_exp,
    (lambda ct, y, a: ct * (ROOT_TWO_PI * exp(0.5 * (y * y) + a)),),
    ("ya",),
    cost=60,
    samples=((-3, -0.3),),
    poles="y",
)


def of_erfcx(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    """`2 a y - 2 / sqrt(pi)`; where the terms cancel, the asymptotic series of that (DLMF 7.12.1)."""
    large = a > 20.0
    inverse = 1 / (where(large, a, 20.0) * where(large, a, 20.0))
    series = inverse * 0.0
    for n in range(8, 0, -1):
        series = -(2 * n + 1) / 2 * inverse * (1 + series)
    tail = -(1 / ROOT_PI) * inverse * (1 + series)
    return ct * where(large, tail, 2 * where(large, 0, a) * y - TWO_OVER_ROOT_PI)


row("erfcx", special.erfcx, (of_erfcx,), ("ya",), cost=40, reference="https://dlmf.nist.gov/7.10.E2")


def of_log_ndtr(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    """`phi(a) / Phi(a)`: for `a < 0`, where both vanish, `sqrt(2 / pi) / erfcx(-a / sqrt(2))`."""
    below = a < 0
    left, right = where(below, a, 0), where(below, 0, a)
    scaled = math.sqrt(2 / math.pi) / (-math.sqrt(0.5) * left).apply("erfcx")
    return ct * where(below, scaled, exp(-0.5 * (right * right) - where(below, 0, y)) * (1 / ROOT_TWO_PI))


row("log_ndtr", special.log_ndtr, (of_log_ndtr,), ("ya",), cost=60, reference=f"{AS}, 26.2.1")


def xlogy_in_second(ct: Symbol, y: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """`a / b`; 0 where both are 0, since `xlogy(0, b)` is 0 for every `b`."""
    return ct * (a / where(a.equals(0) & b.equals(0), 1, b))


row(
    "xlogy",
    special.xlogy,
    (lambda ct, y, a, b: ct * log(b), xlogy_in_second),
    ("b", "ab"),
    cost=14,
    samples=((-2, 2), (0.1, 3)),
    poles="b",
)
