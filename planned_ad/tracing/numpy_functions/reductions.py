"""Sums, products, extrema, means, covariances and the like along axes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...rules.reductions import start_of
from ...tape.tape import Value
from ..record.dispatch import WITH_FUNCTION, implements
from ..record.recorder import Recorder
from . import shapes
from .joining import concatenate
from .support import (
    BOOL,
    FLOAT,
    NO_VALUE,
    asarray,
    axes_of,
    axis_of,
    broadcast,
    cast,
    constant,
    deliver,
    elementwise,
    floating,
    geometry,
    is_few_numbers,
    raise_where,
    refuse,
    reshape,
    without_axes,
)

NO_WEIGHT = "Weights sum to zero, can't be normalized"
# What a further number, `initial=`, is joined to the result by.
JOIN = {"reduce_sum": "add", "reduce_prod": "multiply", "reduce_max": "maximum", "reduce_min": "minimum"}


def reduced(recorder: Recorder, primitive: str, value: Value, axis: object, keepdims: object) -> Value:
    """`value` without the axes `axis` (None: all), or with them of length 1."""
    axes = axes_of(axis, len(value.shape))
    out = recorder.apply(primitive, value, axes=axes) if axes else value
    if keepdims is not NO_VALUE and keepdims:
        return reshape(recorder, out, tuple(1 if k in axes else n for k, n in enumerate(value.shape)))
    return out


def accumulator(value: Value, dtype: Any, out: Any) -> np.dtype:
    """The dtype in which NumPy adds up: integers narrower than the machine's, and booleans, in the machine's."""
    if dtype is not None:
        return np.dtype(dtype)
    own = np.add.reduce(np.empty(1, value.dtype)).dtype if value.dtype.kind in "biu" else value.dtype
    return own if out is None else np.promote_types(own, _only(out).dtype)


def _only(out: Any) -> Any:
    return out[0] if isinstance(out, tuple) else out


def _delivered(recorder: Recorder, value: Value, out: Any, like: Any) -> Any:
    """As `deliver`, but a reduction's result is cast to whatever `out` holds."""
    return deliver(recorder, value if out is None else cast(recorder, value, _only(out).dtype), out, like)


def _accumulate(recorder, primitive, a, axis, dtype, out, keepdims, initial):
    value = recorder.value_of(a)
    value = cast(recorder, value, accumulator(value, dtype, out))
    result = reduced(recorder, primitive, value, axis, keepdims)
    like = without_axes(geometry(recorder, a), axis, keepdims)
    return _delivered(recorder, _joined(recorder, primitive, result, initial), out, like)


def _joined(recorder, primitive, result, initial):
    if initial is NO_VALUE or initial is None:
        return result
    return elementwise(recorder, JOIN[primitive], result, recorder.value_of(initial, result.dtype))


def _where(recorder, a, where, otherwise):
    """`a` with the number that does not count in a reduction where `where` is false."""
    if where is NO_VALUE or where is None or where is True:
        return a
    a = asarray(recorder, a)
    return np.where(where, a, np.asarray(otherwise, a.dtype))


@implements(np.sum)
def sum_(recorder, a, axis=None, dtype=None, out=None, keepdims=NO_VALUE, initial=NO_VALUE, where=NO_VALUE):
    a = _where(recorder, a, where, 0)
    return _accumulate(recorder, "reduce_sum", a, axis, dtype, out, keepdims, initial)


@implements(np.prod)
def prod(recorder, a, axis=None, dtype=None, out=None, keepdims=NO_VALUE, initial=NO_VALUE, where=NO_VALUE):
    a = _where(recorder, a, where, 1)
    return _accumulate(recorder, "reduce_prod", a, axis, dtype, out, keepdims, initial)


def _extremum(recorder, primitive, a, axis, out, keepdims, initial):
    if is_few_numbers(recorder, a) and axis in (None, 0) and out is None and keepdims is initial is NO_VALUE:
        numbers = [recorder.value_of(number, FLOAT) for number in a]
        return recorder.result(functools.reduce(functools.partial(recorder.apply, JOIN[primitive]), numbers))
    value = recorder.value_of(a)
    if value.size == 0 and 0 in (value.shape[k] for k in axes_of(axis, len(value.shape))):
        if initial is NO_VALUE:
            raise ValueError("zero-size array to reduction operation max or min, which has no identity; pass initial=")
        keeps: Any = keepdims is not NO_VALUE and bool(keepdims)
        empty = np.zeros(value.shape, value.dtype).sum(axis, keepdims=keeps)
        start = recorder.value_of(initial, value.dtype)
        return deliver(recorder, broadcast(recorder, start, np.shape(empty)), out)
    result = _joined(recorder, primitive, reduced(recorder, primitive, value, axis, keepdims), initial)
    return _delivered(recorder, result, out, without_axes(geometry(recorder, a), axis, keepdims))


def _extremum_where(recorder, a, where, initial, operation):
    if where is NO_VALUE or where is None or where is True:
        return a
    if initial is NO_VALUE or initial is None:
        raise ValueError(
            f"reduction operation '{operation}' does not have an identity, so to use a where mask one has "
            "to specify 'initial'"
        )
    return _where(recorder, a, where, start_of(operation, asarray(recorder, a).dtype))


@implements(np.amax)
@implements(np.max)
def max_(recorder, a, axis=None, out=None, keepdims=NO_VALUE, initial=NO_VALUE, where=NO_VALUE):
    a = _extremum_where(recorder, a, where, initial, "maximum")
    return _extremum(recorder, "reduce_max", a, axis, out, keepdims, initial)


@implements(np.amin)
@implements(np.min)
def min_(recorder, a, axis=None, out=None, keepdims=NO_VALUE, initial=NO_VALUE, where=NO_VALUE):
    a = _extremum_where(recorder, a, where, initial, "minimum")
    return _extremum(recorder, "reduce_min", a, axis, out, keepdims, initial)


@implements(np.ptp)
def ptp(recorder, a, axis=None, out=None, keepdims=NO_VALUE):
    value = recorder.value_of(a)
    high, low = (reduced(recorder, primitive, value, axis, keepdims) for primitive in ("reduce_max", "reduce_min"))
    like = without_axes(geometry(recorder, a), axis, keepdims)
    return deliver(recorder, recorder.apply("subtract", high, low), out, like)


@implements(np.any)
def any_(recorder, a, axis=None, out=None, keepdims=NO_VALUE, *, where=NO_VALUE):
    value = cast(recorder, recorder.value_of(_where(recorder, a, where, 0)), BOOL)
    like = without_axes(geometry(recorder, a), axis, keepdims)
    return deliver(recorder, reduced(recorder, "reduce_any", value, axis, keepdims), out, like)


@implements(np.all)
def all_(recorder, a, axis=None, out=None, keepdims=NO_VALUE, *, where=NO_VALUE):
    value = cast(recorder, recorder.value_of(_where(recorder, a, where, 1)), BOOL)
    like = without_axes(geometry(recorder, a), axis, keepdims)
    return deliver(recorder, reduced(recorder, "reduce_all", value, axis, keepdims), out, like)


# Means. NumPy adds integers up as float64.


def _count(value: Value, axis: object) -> int:
    count = 1
    for k in axes_of(axis, len(value.shape)):
        count *= value.shape[k]
    return count


def _mean(recorder: Recorder, value: Value, axis: object, keepdims: object) -> Value:
    total = reduced(recorder, "reduce_sum", value, axis, keepdims)
    return recorder.apply("divide", total, constant(recorder, _count(value, axis), value.dtype))


def _typed(recorder: Recorder, a: object, dtype: object) -> Value:
    if dtype is None:
        return floating(recorder, a)
    if np.dtype(dtype).kind != "f":  # type: ignore[call-overload]
        refuse("mean, var and std", dtype=dtype)
    return cast(recorder, recorder.value_of(a), dtype)


def _mean_where(recorder, a, axis, dtype, out, keepdims, where):
    a = recorder.array(_typed(recorder, a, dtype))
    where = np.broadcast_to(asarray(recorder, where), a.shape)
    count = sum_(recorder, where, axis, a.dtype, keepdims=keepdims)
    return deliver(recorder, recorder.value_of(sum_(recorder, a, axis, keepdims=keepdims, where=where) / count), out)


@implements(np.mean)
def mean(recorder, a, axis=None, dtype=None, out=None, keepdims=NO_VALUE, *, where=NO_VALUE):
    if where is not NO_VALUE and where is not None and where is not True:
        return _mean_where(recorder, a, axis, dtype, out, keepdims, where)
    like = without_axes(geometry(recorder, a), axis, keepdims)
    return deliver(recorder, _mean(recorder, _typed(recorder, a, dtype), axis, keepdims), out, like)


def _shifted(recorder, a, axis, dtype, given) -> Value:
    """What is left after the mean is taken off."""
    value = _typed(recorder, a, dtype)
    centre = _mean(recorder, value, axis, True) if given is NO_VALUE else recorder.value_of(given, value.dtype)
    return recorder.apply("subtract", value, broadcast(recorder, centre, value.shape))


def _degrees(value: Value, axis: Any, ddof: Any, correction: Any) -> Any:
    """Of freedom: what the sum of squares is divided by."""
    if correction is not NO_VALUE:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    return max(_count(value, axis) - ddof, 0)


def _variance(recorder, shifted: Value, axis, degrees, keepdims) -> Value:
    """The mean square: two passes, no cancellation."""
    total = reduced(recorder, "reduce_sum", recorder.apply("multiply", shifted, shifted), axis, keepdims)
    return recorder.apply("divide", total, constant(recorder, degrees, shifted.dtype))


def _var_where(recorder, a, axis, dtype, out, ddof, keepdims, where, mean, correction, root=False):
    refuse("var and std with where=", mean=mean, correction=correction)
    a = recorder.array(_typed(recorder, a, dtype))
    where = np.broadcast_to(asarray(recorder, where), a.shape)
    centre = _mean_where(recorder, a, axis, None, None, True, where)
    count = sum_(recorder, where, axis, a.dtype, keepdims=keepdims)
    found = sum_(recorder, (a - centre) ** 2, axis, keepdims=keepdims, where=where) / np.maximum(count - ddof, 0)
    return deliver(recorder, recorder.value_of(np.sqrt(found) if root else found), out)


@implements(np.var)
def var(
    recorder,
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=NO_VALUE,
    *,
    where=NO_VALUE,
    mean=NO_VALUE,
    correction=NO_VALUE,
):
    if where is not NO_VALUE and where is not None and where is not True:
        return _var_where(recorder, a, axis, dtype, out, ddof, keepdims, where, mean, correction)
    like = without_axes(geometry(recorder, a), axis, keepdims)
    shifted = _shifted(recorder, a, axis, dtype, mean)
    degrees = _degrees(shifted, axis, ddof, correction)
    return deliver(recorder, _variance(recorder, shifted, axis, degrees, keepdims), out, like)


@implements(np.std)
def std(
    recorder,
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=NO_VALUE,
    *,
    where=NO_VALUE,
    mean=NO_VALUE,
    correction=NO_VALUE,
):
    if where is not NO_VALUE and where is not None and where is not True:
        return _var_where(recorder, a, axis, dtype, out, ddof, keepdims, where, mean, correction, root=True)
    shifted = _shifted(recorder, a, axis, dtype, mean)
    degrees = _degrees(shifted, axis, ddof, correction)
    if _count(shifted, axis) == 1 and degrees > 0 and mean is NO_VALUE:
        # x - x for any x: its derivative is zero, and not that of a square root at 0.
        value = reduced(recorder, "reduce_sum", shifted, axis, keepdims)
    else:
        value = recorder.apply("sqrt", _variance(recorder, shifted, axis, degrees, keepdims))
    like = without_axes(geometry(recorder, a), axis, keepdims)
    return deliver(recorder, value, out, like)


@implements(np.average)
def average(recorder, a, axis=None, weights=None, returned=False, *, keepdims=NO_VALUE):
    value = recorder.value_of(a)
    least = FLOAT if value.dtype.kind in "biu" else value.dtype
    if weights is None:
        total_weight = constant(recorder, _count(value, axis), least)
        result = _mean(recorder, cast(recorder, value, least), axis, keepdims)
    else:
        weight = recorder.value_of(weights)
        least = np.result_type(least, weight.dtype)
        value, weight = cast(recorder, value, least), cast(recorder, weight, least)
        weight = _weights_along(recorder, weight, value.shape, axis)
        total_weight = reduced(recorder, "reduce_sum", weight, axis, keepdims)
        raise_where(recorder, np.any(recorder.result(total_weight) == 0), ZeroDivisionError(NO_WEIGHT))
        total = reduced(recorder, "reduce_sum", recorder.apply("multiply", value, weight), axis, keepdims)
        result = recorder.apply("divide", total, total_weight)
    if not returned:
        return recorder.result(result)
    return recorder.result(result), recorder.result(broadcast(recorder, total_weight, result.shape))


def _weights_along(recorder: Recorder, weight: Value, shape: tuple[int, ...], axis: object) -> Value:
    if weight.shape == shape:
        return weight
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = axes_of(axis, len(shape))
    if weight.shape != tuple(shape[k] for k in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    spread = tuple(n if k in axes else 1 for k, n in enumerate(shape))
    return broadcast(recorder, reshape(recorder, weight, spread), shape)


# Running sums and products.


def _cumulate(recorder, operation, a, axis, dtype, out):
    value, like = recorder.value_of(a), geometry(recorder, a)
    if axis is None:
        value, axis, like = reshape(recorder, value, (value.size,)), 0, None
    value = cast(recorder, value, accumulator(value, dtype, out))
    axis = axis_of(axis, len(value.shape))
    running = recorder.apply("cumulate", value, axis=axis, operation=operation, reverse=False, exclusive=False)
    return _delivered(recorder, running, out, like)


@implements(np.cumsum)
def cumsum(recorder, a, axis=None, dtype=None, out=None):
    return _cumulate(recorder, "add", a, axis, dtype, out)


@implements(np.cumprod)
def cumprod(recorder, a, axis=None, dtype=None, out=None):
    return _cumulate(recorder, "multiply", a, axis, dtype, out)


# Reductions that pass over NaN.


def _replaced(recorder, a, number) -> Any:
    a = asarray(recorder, a)
    return np.where(np.isnan(a), number, a) if a.dtype.kind == "f" else a


@implements(np.nansum)
def nansum(recorder, a, axis=None, dtype=None, out=None, keepdims=NO_VALUE, initial=NO_VALUE, where=NO_VALUE):
    return sum_(recorder, _replaced(recorder, a, 0), axis, dtype, out, keepdims, initial, where)


@implements(np.nanprod)
def nanprod(recorder, a, axis=None, dtype=None, out=None, keepdims=NO_VALUE, initial=NO_VALUE, where=NO_VALUE):
    return prod(recorder, _replaced(recorder, a, 1), axis, dtype, out, keepdims, initial, where)


@implements(np.nanmean)
def nanmean(recorder, a, axis=None, dtype=None, out=None, keepdims=NO_VALUE, *, where=NO_VALUE):
    return mean(recorder, a, axis, dtype, out, keepdims, where=_numbers(recorder, a, where))


def _numbers(recorder, a, where) -> Any:
    """Where numbers are that count: not nan, and not left out; True where all are."""
    a = asarray(recorder, a)
    left = where is NO_VALUE or where is None or where is True
    if a.dtype.kind != "f":
        return True if left else where
    return ~np.isnan(a) if left else ~np.isnan(a) & where


@implements(np.nanvar)
def nanvar(
    recorder, a, axis=None, dtype=None, out=None, ddof=0, keepdims=NO_VALUE, *, where=NO_VALUE, mean=NO_VALUE,
    correction=NO_VALUE,
):  # fmt: skip
    found = _var_where(recorder, a, axis, dtype, None, ddof, keepdims, _mask(recorder, a, where), mean, correction)
    return deliver(recorder, recorder.value_of(found), out)


@implements(np.nanstd)
def nanstd(
    recorder, a, axis=None, dtype=None, out=None, ddof=0, keepdims=NO_VALUE, *, where=NO_VALUE, mean=NO_VALUE,
    correction=NO_VALUE,
):  # fmt: skip
    mask = _mask(recorder, a, where)
    found = _var_where(recorder, a, axis, dtype, None, ddof, keepdims, mask, mean, correction, root=True)
    return deliver(recorder, recorder.value_of(found), out)


def _mask(recorder, a, where) -> Any:
    mask = _numbers(recorder, a, where)
    return np.ones(np.shape(a) if mask is True else (), bool) if mask is True else mask


def _nan_extremum(recorder, a, axis, out, keepdims, initial, where, operation) -> Any:
    """nan where a line has nothing but nan."""
    a = asarray(recorder, a)
    counted = _numbers(recorder, a, where)
    extremum = max_ if operation == "maximum" else min_
    if counted is True:
        return extremum(recorder, a, axis, out, keepdims, initial)
    if where is not NO_VALUE and where is not None and where is not True and initial is NO_VALUE:
        return extremum(recorder, a, axis, out, keepdims, initial, where)  # NumPy's error
    found = extremum(
        recorder, _where(recorder, a, counted, start_of(operation, a.dtype)), axis, None, keepdims, initial
    )
    empty = ~any_(recorder, counted, axis, keepdims=keepdims)
    found = found if initial is not NO_VALUE else np.where(empty, np.nan, found)
    return deliver(recorder, recorder.value_of(found[()] if not np.ndim(found) else found), out)


@implements(np.nanmax)
def nanmax(recorder, a, axis=None, out=None, keepdims=NO_VALUE, initial=NO_VALUE, where=NO_VALUE):
    return _nan_extremum(recorder, a, axis, out, keepdims, initial, where, "maximum")


@implements(np.nanmin)
def nanmin(recorder, a, axis=None, out=None, keepdims=NO_VALUE, initial=NO_VALUE, where=NO_VALUE):
    return _nan_extremum(recorder, a, axis, out, keepdims, initial, where, "minimum")


@implements(np.nancumsum)
def nancumsum(recorder, a, axis=None, dtype=None, out=None):
    return cumsum(recorder, _replaced(recorder, a, 0), axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(recorder, a, axis=None, dtype=None, out=None):
    return cumprod(recorder, _replaced(recorder, a, 1), axis, dtype, out)


# `np.add.reduce(x)` and the like are these functions, along axis 0 unless told otherwise.
WITH_FUNCTION["reduce"] |= {
    np.add: sum_,
    np.multiply: prod,
    np.maximum: max_,
    np.minimum: min_,
    np.logical_and: all_,
    np.logical_or: any_,
}


def _running(operation: str) -> Any:
    def running(recorder, a, axis=0, dtype=None, out=None):
        value = recorder.value_of(a)
        if dtype is not None:
            value = cast(recorder, value, dtype)
        axis = axis_of(axis, len(value.shape))
        found = recorder.apply("cumulate", value, axis=axis, operation=operation, reverse=False, exclusive=False)
        return _delivered(recorder, found, out, geometry(recorder, a))

    return running


WITH_FUNCTION["accumulate"] |= {
    np.add: cumsum,
    np.multiply: cumprod,
    **{getattr(np, name): _running(name) for name in ("maximum", "minimum", "fmax", "fmin")},
}


# Covariances and correlations.


@implements(np.cov)
def cov(recorder, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    if dtype is None:
        dtype = np.promote_types(recorder.result_type(m, *([] if y is None else [y])), FLOAT)
    x = _variables(recorder, m, rowvar, dtype)
    if y is not None:
        x = concatenate(recorder, (x, _variables(recorder, y, rowvar, dtype)), 0)
    freedom = int(not bias) if ddof is None else ddof
    if fweights is None and aweights is None:
        x = x - x.mean(axis=1, keepdims=True)
        return shapes.view(recorder, np.dot(x, x.T) / max(x.shape[1] - freedom, 0), np.squeeze)
    weights = 1.0
    for name, own in (("fweights", fweights), ("aweights", aweights)):
        if own is not None:
            raise_where(recorder, np.any(asarray(recorder, own) < 0), ValueError(f"{name} cannot be negative"))
            weights = weights * asarray(recorder, own).astype(dtype)
    total = np.sum(weights)
    raise_where(recorder, total == 0, ZeroDivisionError(NO_WEIGHT))
    x = x - np.sum(x * weights, axis=1, keepdims=True) / total
    lost = 0.0 if not freedom else freedom if aweights is None else freedom * np.sum(weights * aweights) / total
    return shapes.view(recorder, np.dot(x, (x * weights).T) / np.maximum(total - lost, 0), np.squeeze)


def _variables(recorder, m, rowvar, dtype):
    x = shapes.atleast_2d(recorder, asarray(recorder, m).astype(dtype))
    return x.T if not rowvar and x.shape[0] != 1 else x


@implements(np.corrcoef)
def corrcoef(recorder, x, y=None, rowvar=True, *, dtype=None):
    c = cov(recorder, x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(shapes.view(recorder, c, np.diagonal))
    return np.clip(c / deviation[:, None] / deviation[None, :], -1, 1)
