"""Complex arithmetic and functions, by those of real numbers.

The signs of zeros are NumPy's where they choose a side of a branch cut: that of the imaginary part along the negative
real axis. The inverse functions are those of Kahan ("Branch cuts for complex elementary functions", 1987), division is
Smith's (1962).
"""

from __future__ import annotations

import math

import numpy as np

from .reals import (
    ComplexValue,
    Real,
    arcsinh,
    arctan2,
    cos,
    cosh,
    exp,
    expm1,
    hypot,
    log,
    log1p,
    number_pair,
    sin,
    sinh,
    tan,
    tanh,
    where,
)
from .reals import sqrt as root

# Arithmetic.


def add(a: ComplexValue, b: ComplexValue) -> ComplexValue:
    if a.is_real and b.is_real:
        return ComplexValue(a.real + b.real, None)
    real = a.parts[0] if b.is_imaginary else b.parts[0] if a.is_imaginary else a.real + b.real
    return ComplexValue(real, a.imag + b.imag)


def subtract(a: ComplexValue, b: ComplexValue) -> ComplexValue:
    real = a.parts[0] if b.is_imaginary else a.real - b.real
    return ComplexValue(real, None if a.is_real and b.is_real else a.imag - b.imag)


def negative(a: ComplexValue) -> ComplexValue:
    return ComplexValue(None if a.is_imaginary else -a.real, a.some.of(-0.0) if a.is_real else -a.imag)


def conjugate(a: ComplexValue) -> ComplexValue:
    return ComplexValue(a.parts[0], a.some.of(-0.0) if a.is_real else -a.imag)


def complex_product(a: ComplexValue, b: ComplexValue) -> ComplexValue:
    if a.is_real and b.is_real:
        return ComplexValue(a.real * b.real, None)
    if b.is_real or (b.is_imaginary and not a.is_real):
        a, b = b, a
    if a.is_real and b.is_imaginary:
        return ComplexValue(None, a.real * b.imag + 0.0)
    if a.is_real:
        return ComplexValue(a.real * b.real, a.real * b.imag + b.real.zero())
    if a.is_imaginary and b.is_imaginary:
        return ComplexValue(0.0 - a.imag * b.imag, None)
    if a.is_imaginary:
        return ComplexValue(0.0 - a.imag * b.imag, a.imag * b.real + b.imag.zero())
    return ComplexValue(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def divide(a: ComplexValue, b: ComplexValue) -> ComplexValue:
    if b.is_real:
        if a.is_real:
            return ComplexValue(a.real / b.real, a.some.of(0.0) / b.real)
        imag = (a.imag - (a.real * b.real).zero()) / b.real
        return ComplexValue(None if a.is_imaginary else a.real / b.real, imag)
    swapped = abs(b.real) < abs(b.imag)
    large, small = where(swapped, b.imag, b.real), where(swapped, b.real, b.imag)
    ratio = where(large.equals(0.0), 0.0, small / large)
    scale = large + small * ratio
    first, second = where(swapped, a.imag, a.real), where(swapped, a.real, a.imag)
    imag = second - first * ratio
    return ComplexValue((first + second * ratio) / scale, where(swapped, -imag, imag) / scale)


def squared(a: ComplexValue) -> ComplexValue:
    return complex_product(a, a)


def inverted(a: ComplexValue) -> ComplexValue:
    return divide(ComplexValue(a.some.of(1.0), None), a)


def whole_power(a: ComplexValue, n: int) -> ComplexValue:
    """By squaring, as NumPy does for exponents up to 100."""
    if n == 0:
        return ComplexValue(a.some.of(1.0), None)
    result: ComplexValue | None = None
    base, bits = a, abs(n)
    while bits:
        if bits & 1:
            result = base if result is None else complex_product(result, base)
        bits >>= 1
        if bits:
            base = complex_product(base, base)
    assert result is not None
    return inverted(result) if n < 0 else result


def power(a: ComplexValue, b: ComplexValue) -> ComplexValue:
    """`exp(b log a)`; of 0 it is 0 where the real part of `b` is positive, 1 where `b` is 0, else nan."""
    at_zero = a.real.equals(0.0).both(a.imag.equals(0.0))
    safe = ComplexValue(where(at_zero, 1.0, a.real), where(at_zero, 0.0, a.imag))
    result = complex_exp(complex_product(b, complex_logarithm(safe)))
    none = b.real.equals(0.0).both(b.imag.equals(0.0))
    rises = b.real.apply("greater", 0.0)
    constant = where(none, 1.0, where(rises, b.real.of(0.0), math.nan))
    unless_real = where(none.either(rises), b.real.of(0.0), math.nan)
    itself = where(b.real.equals(1.0).both(b.imag.equals(0.0)), b.real.of(1.0), 0.0)
    real, imag = constant + itself * a.real, unless_real + itself * a.imag
    return ComplexValue(where(at_zero, real, result.real), where(at_zero, imag, result.imag))


# Size and direction.


def modulus(a: ComplexValue) -> Real:
    if a.is_real or a.is_imaginary:
        return abs(a.some)
    return hypot(a.real, a.imag)


def angle(a: ComplexValue) -> Real:
    return arctan2(a.imag, a.real)


def sign(a: ComplexValue) -> ComplexValue:
    size = modulus(a)
    size = where(size.equals(0.0), 1.0, size)
    return a.each(lambda part: part / size)


# Exponentials and logarithms.


def complex_exp(a: ComplexValue) -> ComplexValue:
    if a.is_real:
        return ComplexValue(exp(a.real), None)
    if a.is_imaginary:
        return ComplexValue(cos(a.imag), sin(a.imag))
    size = exp(a.real)
    return ComplexValue(size * cos(a.imag), size * sin(a.imag))


def exponential_2(a: ComplexValue) -> ComplexValue:
    return complex_exp(a.each(lambda part: part * math.log(2.0)))


def exponential_m1(a: ComplexValue) -> ComplexValue:
    half = sin(a.imag * 0.5)
    return ComplexValue(expm1(a.real) * cos(a.imag) - 2.0 * half * half, exp(a.real) * sin(a.imag))


def complex_logarithm(a: ComplexValue) -> ComplexValue:
    """Near the unit circle, where the logarithm of the size is small, by `log1p`."""
    if a.is_real or a.is_imaginary:
        return ComplexValue(log(abs(a.some)), angle(a))
    size = hypot(a.real, a.imag)
    swapped = abs(a.real) < abs(a.imag)
    large, small = where(swapped, a.imag, a.real), where(swapped, a.real, a.imag)
    large = large * large.of(1.0).apply("copysign", large)  # its absolute value, with a derivative at ties too
    near = abs(size - 1.0) < 0.25
    close = log1p(where(near, (large - 1.0) * (large + 1.0) + small * small, 0.0)) * 0.5
    return ComplexValue(where(near, close, log(where(near, 1.0, size))), angle(a))


def log_to(base: float):
    def function(a: ComplexValue) -> ComplexValue:
        return complex_logarithm(a).each(lambda part: part * (1.0 / math.log(base)))

    return function


def logarithm_1p(a: ComplexValue) -> ComplexValue:
    size = hypot(1.0 + a.real, a.imag)
    near = size < 2.0
    close = log1p(where(near, a.real * (2.0 + a.real) + a.imag * a.imag, 0.0)) * 0.5
    return ComplexValue(where(near, close, log(where(near, 1.0, size))), arctan2(a.imag, 1.0 + a.real))


def complex_root(a: ComplexValue) -> ComplexValue:
    """The root with a real part that is not negative; the sign of the imaginary part is that of the argument's."""
    if a.is_real:
        left = a.real < 0.0
        return ComplexValue(root(where(left, 0.0, a.real)), root(where(left, -a.real, 0.0)))
    left = a.real < 0.0  # no absolute values: they have no derivatives at 0, where the root has
    t = root((where(left, -a.real, a.real) + hypot(a.real, a.imag)) * 0.5)
    other = where(t.equals(0.0), a.imag, a.imag / (2.0 * where(t.equals(0.0), 1.0, t)))
    side = other.of(1.0).apply("copysign", a.imag)
    return ComplexValue(where(left, other * side, t), where(left, t * side, other))


# Trigonometric and hyperbolic functions.


def sine(a: ComplexValue) -> ComplexValue:
    return ComplexValue(sin(a.real) * cosh(a.imag), cos(a.real) * sinh(a.imag))


def complex_cosine(a: ComplexValue) -> ComplexValue:
    return ComplexValue(cos(a.real) * cosh(a.imag), -(sin(a.real) * sinh(a.imag)))


def tangent(a: ComplexValue) -> ComplexValue:
    t, h, inverse = tan(a.real), tanh(a.imag), 1.0 / cosh(a.imag)
    below = 1.0 + (t * h) * (t * h)
    return ComplexValue(t * inverse * inverse / below, h * (1.0 + t * t) / below)


def times_i(a: ComplexValue) -> ComplexValue:
    return ComplexValue(-a.imag, a.real)


def over_i(a: ComplexValue) -> ComplexValue:
    return ComplexValue(a.imag, -a.real)


def hyperbolic_sine(a: ComplexValue) -> ComplexValue:
    return over_i(sine(times_i(a)))


def hyperbolic_cosine(a: ComplexValue) -> ComplexValue:
    return complex_cosine(times_i(a))


def hyperbolic_tangent(a: ComplexValue) -> ComplexValue:
    return over_i(tangent(times_i(a)))


# Their inverses (Kahan).


def one_plus(a: ComplexValue) -> ComplexValue:
    return ComplexValue(1.0 + a.real, a.imag)


def one_minus(a: ComplexValue) -> ComplexValue:
    return ComplexValue(1.0 - a.real, -a.imag)


def roots_beside_one(a: ComplexValue) -> tuple[ComplexValue, ComplexValue]:
    """`sqrt(1 + a)` and `sqrt(1 - a)`, on the sides of their cuts on which `a` lies."""
    return complex_root(one_plus(a)), complex_root(one_minus(a))


def inverse_sine(a: ComplexValue) -> ComplexValue:
    plus, minus = roots_beside_one(a)
    return ComplexValue(
        arctan2(a.real, plus.real * minus.real - plus.imag * minus.imag),
        arcsinh(minus.real * plus.imag - minus.imag * plus.real),
    )


def inverse_cosine(a: ComplexValue) -> ComplexValue:
    plus, minus = roots_beside_one(a)
    return ComplexValue(
        2.0 * arctan2(minus.real, plus.real),
        arcsinh(plus.real * minus.imag - plus.imag * minus.real),
    )


def inverse_hyperbolic_cosine(a: ComplexValue) -> ComplexValue:
    plus, minus = complex_root(one_plus(a)), complex_root(ComplexValue(a.real - 1.0, a.imag))
    return ComplexValue(
        arcsinh(minus.real * plus.real + minus.imag * plus.imag),
        2.0 * arctan2(minus.imag, plus.real),
    )


def inverse_hyperbolic_sine(a: ComplexValue) -> ComplexValue:
    return over_i(inverse_sine(times_i(a)))


def inverse_hyperbolic_tangent(a: ComplexValue) -> ComplexValue:
    away = (1.0 - a.real) * (1.0 - a.real) + a.imag * a.imag
    return ComplexValue(
        log1p(4.0 * a.real / away) * 0.25,
        arctan2(2.0 * a.imag, (1.0 - a.real) * (1.0 + a.real) - a.imag * a.imag) * 0.5,
    )


def inverse_tangent(a: ComplexValue) -> ComplexValue:
    return over_i(inverse_hyperbolic_tangent(times_i(a)))


# Tests.


def equal(a: ComplexValue, b: ComplexValue) -> Real:
    return a.real.equals(b.real).both(a.imag.equals(b.imag))


def not_equal(a: ComplexValue, b: ComplexValue) -> Real:
    return equal(a, b).apply("logical_not")


def any_part(primitive: str):
    return lambda a: a.real.apply(primitive).either(a.imag.apply(primitive))


def is_finite(a: ComplexValue) -> Real:
    return a.real.apply("isfinite").both(a.imag.apply("isfinite"))


def truth(a: ComplexValue) -> Real:
    return a.real.apply("not_equal", 0.0).either(a.imag.apply("not_equal", 0.0))


def by_truths(primitive: str):
    return lambda *pairs: truth(pairs[0]).apply(primitive, *map(truth, pairs[1:]))


def before(strictly: str, is_strict: bool):
    """NumPy's order: by the real parts, then by the imaginary ones."""

    def compare(a: ComplexValue, b: ComplexValue) -> Real:
        second = a.imag.apply(strictly if is_strict else strictly + "_equal", b.imag)
        numbers = a.imag.equals(a.imag).both(b.imag.equals(b.imag))
        return a.real.apply(strictly, b.real).both(numbers).either(a.real.equals(b.real).both(second))

    return compare


FORMULAS = {
    np.add: add, np.subtract: subtract, np.multiply: complex_product, np.divide: divide, np.negative: negative,
    np.positive: lambda a: a, np.conjugate: conjugate, np.square: squared, np.reciprocal: inverted,
    np.power: power, np.float_power: power, np.absolute: modulus, np.sign: sign,
    np.exp: complex_exp, np.exp2: exponential_2,
    np.expm1: exponential_m1, np.log: complex_logarithm, np.log2: log_to(2.0), np.log10: log_to(10.0),
    np.log1p: logarithm_1p, np.sqrt: complex_root, np.sin: sine, np.cos: complex_cosine, np.tan: tangent,
    np.sinh: hyperbolic_sine, np.cosh: hyperbolic_cosine, np.tanh: hyperbolic_tangent, np.arcsin: inverse_sine,
    np.arccos: inverse_cosine, np.arctan: inverse_tangent, np.arcsinh: inverse_hyperbolic_sine,
    np.arccosh: inverse_hyperbolic_cosine, np.arctanh: inverse_hyperbolic_tangent, np.equal: equal,
    np.not_equal: not_equal, np.isnan: any_part("isnan"), np.isinf: any_part("isinf"), np.isfinite: is_finite,
    np.less: before("less", True), np.less_equal: before("less", False), np.greater: before("greater", True),
    np.greater_equal: before("greater", False), np.logical_not: by_truths("logical_not"),
    np.logical_and: by_truths("logical_and"), np.logical_or: by_truths("logical_or"),
    np.logical_xor: by_truths("logical_xor"),
}  # fmt: skip


__all__ = ["FORMULAS", "angle", "number_pair", "whole_power"]
