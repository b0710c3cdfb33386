"""Elementwise functions that are not ufuncs, comparisons that end in a bool, and those that SciPy writes in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from ...rules.algebra import power_series, sinc_coefficients
from ...tape.tape import Value
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .reductions import all_, reduced
from .support import (
    FLOAT,
    asarray,
    broadcast,
    cast,
    constant,
    deliver,
    elementwise,
    floating,
    geometry,
    refuse,
    reshape,
    without_derivative,
)


@implements(np.around)
@implements(np.round)
def round_(recorder, a, decimals=0, out=None):
    """As NumPy: scaled by a power of ten, rounded to even, scaled back."""
    a = asarray(recorder, a)
    if a.dtype.kind != "f":
        if decimals < 0 or a.dtype == bool:
            refuse("round of integers and booleans", decimals=decimals)
        return deliver(recorder, recorder.value_of(a), out)
    scale = np.asarray(10.0 ** abs(decimals), a.dtype)
    if decimals > 0:
        result = np.rint(a * scale) / scale
    else:
        result = np.rint(a) if decimals == 0 else np.rint(a / scale) * scale
    return deliver(recorder, recorder.value_of(result), out)


@implements(np.fix)
def fix(recorder, x, out=None):
    return deliver(recorder, recorder.value_of(np.trunc(x)), out)


@implements(np.nan_to_num)
def nan_to_num(recorder, x, copy=True, nan=0.0, posinf=None, neginf=None):
    x = asarray(recorder, x)
    result = x
    if x.dtype.kind == "f":
        limits = np.finfo(x.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        high, low, nan = (np.asarray(number, x.dtype) for number in (high, low, nan))
        result = np.where(np.isnan(x), nan, np.where(x == np.inf, high, np.where(x == -np.inf, low, x)))
    if not copy:
        x[...] = result
        return x if x.ndim else x[()]
    return deliver(recorder, recorder.value_of(result))


@implements(np.sinc)
def sinc(recorder, x):
    """`sin(pi x) / (pi x)`, and 1 at 0, by way of a number too small to matter; near 0 by its series."""
    x = asarray(recorder, x)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    y = np.pi * x
    near = np.abs(y) < 1
    plain = without_derivative(recorder, np.where(x == 0, np.asarray(np.pi * 1.0e-20, x.dtype), y))
    angle = np.where(near, plain, y)
    ratio, inside = np.sin(angle) / angle, np.where(near, y, np.zeros((), x.dtype))
    series = power_series(sinc_coefficients(-1), inside * inside)
    return np.where(near, series + without_derivative(recorder, ratio - series), ratio)


@implements(np.isposinf)
def isposinf(recorder, x, out=None):
    return deliver(recorder, recorder.value_of(asarray(recorder, x) == np.inf), out)


@implements(np.isneginf)
def isneginf(recorder, x, out=None):
    return deliver(recorder, recorder.value_of(asarray(recorder, x) == -np.inf), out)


# Comparisons. Those that return a Python bool ask the tracer for one, and so record a guard.


@implements(np.isclose)
def isclose(recorder, a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    a, b = (asarray(recorder, x) for x in (a, b))
    if b.dtype.kind != "f":
        b = b.astype(np.float64)
    close = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


@implements(np.allclose)
def allclose(recorder, a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    return bool(all_(recorder, isclose(recorder, a, b, rtol, atol, equal_nan)))


def _all_equal(recorder: Any, a: Any, b: Any, equal_nan: bool = False) -> bool:
    same = a == b
    if equal_nan and a.dtype.kind == b.dtype.kind == "f":
        same = same | (np.isnan(a) & np.isnan(b))
    return bool(all_(recorder, same))


@implements(np.array_equal)
def array_equal(recorder, a1, a2, equal_nan=False):
    a, b = asarray(recorder, a1), asarray(recorder, a2)
    return a.shape == b.shape and _all_equal(recorder, a, b, equal_nan)


@implements(np.array_equiv)
def array_equiv(recorder, a1, a2):
    a, b = asarray(recorder, a1), asarray(recorder, a2)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return _all_equal(recorder, a, b)


# `scipy.special` functions that SciPy writes in Python.
#
# Sums of exponentials are shifted by the largest exponent against overflow: Blanchard, Higham & Higham, "Accurately
# computing the log-sum-exp and softmax functions", IMA J. Numer. Anal. 41(4), 2021. The result does not depend on
# the shift, so the shift is given no derivative; what is left is the derivative's own formula, exactly.
# Near a result of 0 the error of `logsumexp` is absolute, about a rounding unit.


MOST_EXPONENT = 80.0  # of which the exponential is finite in single precision, too


def _shift(recorder: Recorder, value: Value, axis: object) -> Value:
    """The largest element, without derivative; 0 where it is not finite, so that inf - inf does not occur."""
    highest = recorder.apply("stop_gradient", reduced(recorder, "reduce_max", value, axis, True))
    finite = recorder.apply("isfinite", highest)
    return recorder.apply("where", finite, highest, constant(recorder, 0, value.dtype))


def _shifted(recorder: Recorder, value: Value, shift: Value) -> Value:
    return recorder.apply("subtract", value, broadcast(recorder, shift, value.shape))


@implements(scipy.special.logsumexp)
def logsumexp(recorder, a, axis=None, b=None, keepdims=False, return_sign=False):
    """`log(sum(b * exp(a)))` along `axis`; terms with `b == 0` do not count, whatever their `a`."""
    value = floating(recorder, a)
    if b is not None:
        dtype = recorder.result_type(a, b)
        dtype = dtype if dtype.kind == "f" else FLOAT
        value, weight = cast(recorder, value, dtype), recorder.value_of(b, dtype)
        shape = np.broadcast_shapes(value.shape, weight.shape)
        value, weight = broadcast(recorder, value, shape), broadcast(recorder, weight, shape)
        nothing = constant(recorder, -np.inf, dtype)
        absent = recorder.apply("equal", weight, constant(recorder, 0, dtype))
        left_out = recorder.apply("where", recorder.apply("isnan", value), nothing, value)
        shift = _shift(recorder, recorder.apply("where", absent, nothing, value), axis)
        # What a weight of 0 leaves out is finite still: the derivative by the weight is the term without it.
        least = recorder.apply("minimum", _shifted(recorder, left_out, shift), constant(recorder, MOST_EXPONENT, dtype))
        exponents = recorder.apply("where", absent, least, _shifted(recorder, value, shift))
        terms = recorder.apply("multiply", weight, recorder.apply("exp", exponents))
    else:
        shift = _shift(recorder, value, axis)
        terms = recorder.apply("exp", _shifted(recorder, value, shift))
    total = reduced(recorder, "reduce_sum", terms, axis, keepdims)
    size = recorder.apply("absolute", total) if return_sign else total
    found = recorder.apply("add", recorder.apply("log", size), reshape(recorder, shift, total.shape))
    if return_sign:
        return recorder.result(found), recorder.result(recorder.apply("sign", total))
    return recorder.result(found)


@implements(scipy.special.softmax)
def softmax(recorder, x, axis=None):
    """`exp(x) / sum(exp(x))` along `axis`."""
    value = floating(recorder, x)
    terms = recorder.apply("exp", _shifted(recorder, value, _shift(recorder, value, axis)))
    total = reduced(recorder, "reduce_sum", terms, axis, True)
    return recorder.result(elementwise(recorder, "divide", terms, total), geometry(recorder, x))


@implements(scipy.special.log_softmax)
def log_softmax(recorder, x, axis=None):
    """`x - logsumexp(x)` along `axis`."""
    value = floating(recorder, x)
    shifted = _shifted(recorder, value, _shift(recorder, value, axis))
    total = reduced(recorder, "reduce_sum", recorder.apply("exp", shifted), axis, True)
    return recorder.result(
        elementwise(recorder, "subtract", shifted, recorder.apply("log", total)), geometry(recorder, x)
    )
