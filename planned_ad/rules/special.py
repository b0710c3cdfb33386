"""Elementwise special functions, as in `scipy.special`. Derivatives: Abramowitz & Stegun 6.3, 6.4 and 7.1.19."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from .algebra import Symbol, digamma, exp, log, where
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
