"""Derivatives of the digamma function, branch-free, for scalars and SIMD vectors.

For x >= 0, with s = n + 1 (Abramowitz & Stegun 6.4.10, and Euler-Maclaurin summation of the tail, 23.1.30):

    (-1)^(n+1) psi_n(x) / n! = zeta(s, x) = sum_{k < m} (x + k)^-s + zeta(s, x + m)
    zeta(s, a) = a^(1-s) / (s - 1) + a^-s / 2 + sum_j B_2j / (2j)! s (s + 1) ... (s + 2j - 2) a^(1-s-2j)

For x < 0 by reflection (A&S 6.4.7): psi_n(x) = (-1)^n psi_n(1 - x) - pi^(n+1) P_n(cot(pi x)), where P_0 = c and
P_(n+1) = -(1 + c^2) P_n', since the derivative of cot is -(1 + cot^2). At the poles the value is that of SciPy:
infinite, with the sign of the approach from above.
"""

from __future__ import annotations

import math
from fractions import Fraction

from llvmlite import ir
from numpy.polynomial import polynomial

from ..llvm.builder import TerseBuilder
from . import vector_functions as vecmath
from .notation import F64, Lanes, declare, element_of, like, suffix, where

TERMS = 12  # of the asymptotic series
BERNOULLI = tuple(
    Fraction(*pair)
    for pair in (
        (1, 6),
        (-1, 30),
        (1, 42),
        (-1, 30),
        (5, 66),
        (-691, 2730),
        (7, 6),
        (-3617, 510),
        (43867, 798),
        (-174611, 330),
        (854513, 138),
        (-236364091, 2730),
    )
)
"""B_2, B_4, ..., B_24."""


def polygamma(builder: ir.IRBuilder, n: int, x: ir.Value) -> ir.Value:
    """`scipy.special.polygamma(n, x)` for n >= 1, of a double, a float, or a vector of them."""
    kind = x.type
    if element_of(kind) != F64:
        wide = polygamma(builder, n, builder.fpext(x, like(F64, kind)))
        return builder.fptrunc(wide, kind)
    function = declare(builder.module, f"planned_ad.polygamma{n}.{suffix(kind)}", kind, [kind])
    if function.is_declaration:
        function.linkage = "internal"
        function.attributes.add("nounwind")
        inside = TerseBuilder(function.append_basic_block("entry"))
        inside.ret(body(Lanes(inside, function.args[0]), n).value)
    return builder.call(function, [x])


def body(x: Lanes, n: int) -> Lanes:
    is_negative = x < 0.0
    sign = -1.0 if n % 2 == 0 else 1.0
    tail = zeta(n + 1, where(is_negative, 1.0 - x, x.intrinsic("fabs"))) * (sign * math.factorial(n))
    reflected = tail * -sign - cotangent_derivative(x, n)
    return where(is_negative, reflected, tail)


def zeta(s: int, x: Lanes) -> Lanes:
    """Hurwitz' zeta function of an integer s >= 2, for x >= 0."""
    shift = 12 + s
    total = power(1.0 / x, s)
    for k in range(1, shift):
        total = total + power(1.0 / (x + float(k)), s)
    a = x + float(shift)
    inverse = 1.0 / a
    square = inverse * inverse
    series = x.splat(0.0)
    for j in range(TERMS, 0, -1):
        rising = math.prod(range(s, s + 2 * j - 1))
        series = series * square + float(BERNOULLI[j - 1] * rising / math.factorial(2 * j))
    leading = power(inverse, s - 1)
    return total + leading * ((series * inverse + 0.5) * inverse + 1.0 / (s - 1))


def power(base: Lanes, n: int) -> Lanes:
    """`base**n` for n >= 1, by squaring."""
    result = None
    while n:
        if n & 1:
            result = base if result is None else result * base
        n >>= 1
        if n:
            base = base * base
    assert result is not None
    return result


def cotangent_derivative(x: Lanes, n: int) -> Lanes:
    """`pi d^n/dx^n cot(pi x)`; infinite at integers."""
    rest = x - x.intrinsic("rint")
    rest = where(rest.intrinsic("fabs").equals(rest.intrinsic("fabs")), rest, 0.0)  # x = -inf counts as an integer
    angle = rest * math.pi
    sine, cosine = (Lanes(x.builder, vecmath.call(x.builder, name, [angle.value])) for name in ("sin", "cos"))
    cotangent = cosine / sine
    coefficients = [0.0, 1.0]
    for _ in range(n):
        coefficients = list(-polynomial.polymul([1.0, 0.0, 1.0], polynomial.polyder(coefficients)))
    first = (n + 1) % 2  # an odd or an even polynomial
    square, result = cotangent * cotangent, x.splat(coefficients[-1])
    for c in coefficients[first:-1:2][::-1]:
        result = result * square + float(c)
    if first:
        result = result * cotangent
    return result * math.pi ** (n + 1)
