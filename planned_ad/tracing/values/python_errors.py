"""What Python's arithmetic raises where NumPy's gives inf or nan, in code that catches it.

Outside of a `try` such an error would end the function. Inside, what comes after it counts: there, traced numbers are
asked first whether Python would raise, which is a test like those that are written in the function.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ...python.liveness import is_in_users_try
from ..record.limits import INT, stays_in_64_bits

Test = Callable[..., Any]

DIVISIONS = (np.true_divide, np.floor_divide, np.remainder, np.divmod)
RAISING = (*DIVISIONS, np.power)  # operators


def _is_infinite(x: Any) -> Any:
    return abs(x) == np.inf


def _is_finite(x: Any) -> Any:
    return abs(x) < np.inf


def _is_whole(x: Any) -> Any:
    return np.floor(x) == x


def _all(*conditions: Any) -> Any:
    return functools.reduce(np.logical_and, conditions)


def _outside(test: Test) -> tuple[type[Exception], str, Test]:
    return ValueError, "math domain error", test


def _too_large(limit: float, size: Callable[[Any], Any] = lambda x: x) -> tuple[type[Exception], str, Test]:
    return OverflowError, "math range error", lambda x: _all(size(x) > limit, _is_finite(x))


# What functions of `math` raise, and of which operands, by the ufunc that computes the same.
OF_MATH: dict[np.ufunc, tuple[tuple[type[Exception], str, Test], ...]] = {
    np.sqrt: (_outside(lambda x: x < 0),),
    np.log: (_outside(lambda x: x <= 0),),
    np.log2: (_outside(lambda x: x <= 0),),
    np.log10: (_outside(lambda x: x <= 0),),
    np.log1p: (_outside(lambda x: x <= -1),),
    np.arcsin: (_outside(lambda x: abs(x) > 1),),
    np.arccos: (_outside(lambda x: abs(x) > 1),),
    np.arccosh: (_outside(lambda x: x < 1),),
    np.arctanh: (_outside(lambda x: abs(x) >= 1),),
    np.sin: (_outside(_is_infinite),),
    np.cos: (_outside(_is_infinite),),
    np.tan: (_outside(_is_infinite),),
    np.exp: (_too_large(709.782712893384),),
    np.expm1: (_too_large(709.782712893384),),
    np.exp2: (_too_large(math.nextafter(1024.0, 0.0)),),
    np.sinh: (_too_large(710.4758600739439, abs),),
    np.cosh: (_too_large(710.4758600739439, abs),),
    special.gamma: (_outside(lambda x: _all(x <= 0, _is_whole(x))), _too_large(171.62437695630272)),
    special.gammaln: (
        _outside(lambda x: _all(x <= 0, _is_whole(x), _is_finite(x))),
        _too_large(2.556348163871691e305, abs),
    ),
    np.fmod: (_outside(lambda x, y: np.logical_or(_all(_is_infinite(x), y == y), _all(y == 0, x == x))),),
    np.power: (
        _outside(lambda x, y: _all(x < 0, _is_finite(x), _is_finite(y), np.logical_not(_is_whole(y)))),
        _outside(lambda x, y: _all(x == 0, y < 0, _is_finite(y))),
        (
            OverflowError,
            "math range error",
            lambda x, y: _all(_is_infinite(np.power(x, y)), _is_finite(x), _is_finite(y)),
        ),
    ),
    np.ldexp: ((OverflowError, "math range error", lambda x, k: _all(_is_infinite(np.ldexp(x, k)), _is_finite(x))),),
}


def raise_as_math(ufunc: np.ufunc, operands: tuple[Any, ...]) -> None:
    """Raise what the function of `math` would."""
    for error, message, test in OF_MATH.get(ufunc, ()):
        if is_caught(error) and bool(test(*operands)):
            raise error(message)


def raise_as_operator(recorder: Any, ufunc: np.ufunc, operands: tuple[Any, ...]) -> None:
    """Raise what Python would for an operator on Python numbers."""
    if ufunc in DIVISIONS:
        divisor = operands[1]
        if is_caught(ZeroDivisionError) and bool(divisor == 0):
            raise ZeroDivisionError("division by zero")
    elif ufunc is np.power:
        base, exponent = operands
        require_real_power(recorder, base, exponent)
        if is_caught(ZeroDivisionError) and bool(base == 0) and bool(exponent < 0):
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        if is_caught(OverflowError) and bool(abs(np.power(base, exponent)) == np.inf) and bool(abs(base) != np.inf):
            raise OverflowError("Numerical result out of range")


def is_whole_exponent(exponent: Any) -> bool:
    """Whether it is known to be an integer, as which a power of a negative number is real."""
    return type(exponent) is int or (type(exponent) is float and exponent.is_integer())


def require_real_power(recorder: Any, base: Any, exponent: Any) -> None:
    """Refuse calls in which a power of a Python number is complex."""
    if not is_whole_exponent(exponent):
        what = "Python gives a complex number for such a power, which is not traced; write it with numpy or cmath"
        is_real = np.logical_or(np.logical_not(base < 0), np.floor(exponent) == exponent)
        recorder.scopes.require_after(recorder.value_of(is_real), "bounds", what)


def is_fraction(recorder: Any, operands: tuple[Any, ...]) -> bool:
    """Whether a power of Python integers is a float: outside of loops a test, in them it must not be."""
    if any(recorder.value_of(operand).dtype.kind == "f" for operand in operands):
        return False
    exponent = operands[1]
    return bool(exponent < 0) if not recorder.scopes.depth or type(exponent) is int else False


def require_integer(recorder: Any, number: Any) -> None:
    """Refuse calls in which a float becomes an integer that it is not: nan, an infinity, more than 64 bits."""
    if not recorder.is_scalar(number) or number.dtype.kind != "f":
        return
    if is_caught(ValueError) and bool(number != number):
        raise ValueError("cannot convert float NaN to integer")
    if is_caught(OverflowError) and bool(abs(number) == np.inf):
        raise OverflowError("cannot convert float infinity to integer")
    fits = np.abs(number) < 2.0**63
    recorder.scopes.require_after(recorder.value_of(fits), "integers", "nan, or a number too large, becomes an integer")


SHIFTS = (np.left_shift, np.right_shift)
SUMS = (np.add, np.subtract)  # of two that grow; one with a small number takes too many iterations
LARGE = 1 << 31
GROWING: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.left_shift: lambda a, b: a * 2.0**b,
    np.right_shift: lambda a, b: a * 0.0,
    np.power: lambda a, b: a**b,
}


def may_be_large(operand: Any) -> bool:
    """Whether an operand may be a large integer."""
    return abs(operand) >= LARGE if type(operand) is int else getattr(operand, "dtype", None) == INT


def require_64_bits(recorder: Any, ufunc: np.ufunc, operands: tuple[Any, ...]) -> None:
    """Refuse calls in which an integer gets too large: Python's have no end."""
    limits = recorder.builder.limits
    intervals = [(o, o) if type(o) is int else limits.of(recorder.value_of(o)) for o in operands]
    if stays_in_64_bits(ufunc.__name__, intervals):
        return
    a, b = (recorder.result(recorder.value_of(operand, np.float64)) for operand in operands)
    fits = np.abs(GROWING[ufunc](a, b)) < 2.0**63
    if ufunc in SHIFTS:
        if is_caught(ValueError) and bool(b < 0):
            raise ValueError("negative shift count")
        fits = np.logical_and(fits, b >= 0)
    what = "an integer of more than 64 bits, which only Python has"
    what += "; pass unroll= to run the loop in Python" * (recorder.scopes.depth > 0)
    recorder.scopes.require_after(recorder.value_of(fits), "integers", what)


def are_within(interval: tuple[int, int], dtype: np.dtype) -> bool:
    """Whether an integer dtype has all integers of an interval."""
    ends = np.iinfo(dtype)
    return int(ends.min) <= interval[0] and interval[1] <= int(ends.max)


def require_fits(number: Any, dtype: np.dtype) -> None:
    """Of an integer of Python's: NumPy raises an error where its dtype has none that is so large, or negative."""
    recorder, ends = number.recorder, np.iinfo(dtype)
    if are_within(recorder.builder.limits.of(number.value), dtype):
        return
    least, most = int(ends.min), min(int(ends.max), int(np.iinfo(INT).max))
    fits = np.logical_and(number >= least, number <= most)
    if is_caught(OverflowError) and not fits:
        raise OverflowError(f"Python integer out of bounds for {dtype}")
    what = f"an integer that {dtype} does not have, for which NumPy raises an error"
    recorder.scopes.require_after(recorder.value_of(fits), "integers", what)


def is_caught(error: type[Exception]) -> bool:
    """Whether code of the user's that is running may catch such an error, raised here."""
    return is_in_users_try(sys._getframe(2), error)
