"""Sorting, searching and what is made of them: positions of extrema, medians and quantiles, histograms, sets.

Which element comes where is data, found anew at each call; derivatives pass through the elements that are chosen. What
is written here in NumPy's own functions runs on traced arrays.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...python.liveness import is_in_users_try
from ..complex.functions import of_complex, whole
from ..complex.pairs import complex_of
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .positions import positions_below
from .support import NO_VALUE, asarray, axes_of, axis_of, deliver, raise_where, refuse, requires, unsupported

# Sorting.


def order_of(recorder: Recorder, a: Any, axis: int) -> Any:
    """The permutation that sorts each line along `axis`."""
    return positions_below(
        recorder, recorder.result(recorder.apply("argsort", recorder.value_of(a), axis=axis)), a.shape[axis]
    )


def lined(recorder: Recorder, a: Any, axis: int | None) -> tuple[Any, int]:
    """`a` and the axis that is meant; all of it as one line where that is None."""
    a = asarray(recorder, a)
    if axis is None:
        return a.ravel(), 0
    if not a.ndim:
        raise np.exceptions.AxisError(axis, 0)
    return a, axis_of(axis, a.ndim)


@implements(np.argsort)
def argsort(recorder, a, axis=-1, kind=None, order=None, *, stable=None):
    """Equal elements keep their order, whichever `kind` is asked for."""
    refuse("argsort", order=order)
    a, axis = lined(recorder, a, axis)
    return order_of(recorder, a, axis)


@implements(np.sort)
def sort(recorder, a, axis=-1, kind=None, order=None, *, stable=None):
    refuse("sort", order=order)
    a, axis = lined(recorder, a, axis)
    return np.take_along_axis(a, order_of(recorder, a, axis), axis)


@of_complex(np.argsort)
def complex_argsort(recorder, a, axis=-1, kind=None, order=None, *, stable=None):
    """By real parts, then by imaginary ones; what has a nan in it comes last, as NumPy has it."""
    refuse("argsort", order=order)
    a = complex_of(recorder, a)
    a, axis = (a.ravel(), 0) if axis is None else (a, axis_of(axis, a.ndim))
    real, imag = a.real, a.imag
    return np.lexsort((imag, real, np.isnan(imag), np.isnan(real)), axis)


@of_complex(np.sort)
def complex_sort(recorder, a, axis=-1, kind=None, order=None, *, stable=None):
    places = complex_argsort(recorder, a, axis, kind, order)
    a = complex_of(recorder, a)
    a, axis = (a.ravel(), 0) if axis is None else (a, axis)
    return whole(recorder, *(np.take_along_axis(part, places, axis) for part in (a.real, a.imag)))


def check_places(recorder: Recorder, a: Any, kth: Any, axis: int | None) -> None:
    line, axis = lined(recorder, a, axis)
    count, kth = line.shape[axis], asarray(recorder, kth)
    outside = np.any(np.logical_or(kth < -count, kth >= count))
    raise_where(recorder, outside, ValueError(f"kth is out of bounds ({count})"))


@implements(np.partition)
def partition(recorder, a, kth, axis=-1, kind="introselect", order=None):
    """Sorted all the way, which every partition may be."""
    check_places(recorder, a, kth, axis)
    return sort(recorder, a, axis, order=order)


@implements(np.argpartition)
def argpartition(recorder, a, kth, axis=-1, kind="introselect", order=None):
    check_places(recorder, a, kth, axis)
    return argsort(recorder, a, axis, order=order)


@implements(np.lexsort)
def lexsort(recorder, keys, axis=-1):
    """By the last key first: sorted by each key in turn, in sorts that keep the order of equal elements."""
    keys = [asarray(recorder, key) for key in keys]
    axis = axis_of(axis, keys[0].ndim)
    order = order_of(recorder, keys[0], axis)
    for key in keys[1:]:
        order = np.take_along_axis(order, order_of(recorder, np.take_along_axis(key, order, axis), axis), axis)
    return positions_below(recorder, order, keys[0].shape[axis])


# Positions of extrema.


def extremum_at(recorder: Recorder, a: Any, axis: int | None, keepdims: Any, extremum: Any) -> Any:
    """Of the first element that is the extremum of its line, or of its first nan."""
    whole = axis is None
    given = asarray(recorder, a)
    a, axis = lined(recorder, a, axis)
    count = a.shape[axis]
    if count == 0:
        raise ValueError("attempt to get argmax or argmin of an empty sequence")
    best = a == extremum(a, axis=axis, keepdims=True)
    if a.dtype.kind == "f":
        best = best | np.isnan(a)
    places = np.arange(count).reshape([-1 if k == axis else 1 for k in range(a.ndim)])
    keeps: Any = bool(keepdims) and keepdims is not NO_VALUE
    found = np.min(np.where(best, places, count - 1), axis=axis, keepdims=keeps)
    if whole and keepdims is not NO_VALUE and keepdims:
        found = found.reshape((1,) * given.ndim)
    return positions_below(recorder, found, count)


@implements(np.argmax)
def argmax(recorder, a, axis=None, out=None, *, keepdims=NO_VALUE):
    return deliver(recorder, recorder.value_of(extremum_at(recorder, a, axis, keepdims, np.max)), out)


@implements(np.argmin)
def argmin(recorder, a, axis=None, out=None, *, keepdims=NO_VALUE):
    return deliver(recorder, recorder.value_of(extremum_at(recorder, a, axis, keepdims, np.min)), out)


def without_nan(recorder: Recorder, a: Any, number: float) -> Any:
    a = asarray(recorder, a)
    return np.where(np.isnan(a), number, a) if a.dtype.kind == "f" else a


def require_numbers_along(recorder: Recorder, a: Any, axis: int | None) -> None:
    """A call of the plan raises ValueError where a line of `a` is nothing but nan; what catches that asks first."""
    if a.dtype.kind != "f" or not a.size:
        return
    holds = ~np.any(np.all(np.isnan(a), axis=axis))
    if is_in_users_try(sys._getframe(2), ValueError) and not bool(holds):
        raise ValueError("All-NaN slice encountered")
    recorder.scopes.require_after(recorder.value_of(holds), "bounds", "a line of nothing but nan (All-NaN slice)")


@implements(np.nanargmax)
def nanargmax(recorder, a, axis=None, out=None, *, keepdims=NO_VALUE):
    a = asarray(recorder, a)
    require_numbers_along(recorder, a, axis)
    return argmax(recorder, without_nan(recorder, a, -np.inf), axis, out, keepdims=keepdims)


@implements(np.nanargmin)
def nanargmin(recorder, a, axis=None, out=None, *, keepdims=NO_VALUE):
    a = asarray(recorder, a)
    require_numbers_along(recorder, a, axis)
    return argmin(recorder, without_nan(recorder, a, np.inf), axis, out, keepdims=keepdims)


# Quantiles.

# Hyndman and Fan, Sample quantiles in statistical packages (1996): `alpha` and `beta` of the continuous ones.
CONTINUOUS = {
    "linear": (1.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
TAKEN = ("lower", "higher", "nearest")  # one element, of the dtype of the data
STEPPED = (*TAKEN, "midpoint")
MEDIAN = "(median)"  # the mean of what "midpoint" takes, as NumPy computes it
HALFWAY = ("midpoint", MEDIAN)


def positions_between(q: Any, count: Any, method: str) -> tuple[Any, Any, Any]:
    """The places in a sorted line of `count` elements that the quantiles `q` lie between, and how far."""
    if method == "linear":  # as NumPy has it: rounding decides whether a quantile is an element or just beside it
        place = (count - 1) * q
    elif method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        place = count * q + (alpha + q * (1 - alpha - beta)) - 1
    elif method in STEPPED or method == MEDIAN:
        place = q * (count - 1)
    else:
        raise unsupported(f"the method {method!r} of quantiles", f"use one of {', '.join([*CONTINUOUS, *STEPPED])}")
    place = np.clip(place, 0, count - 1)
    low = np.floor(place)
    if method == "nearest":
        low = np.round(place)
    high = np.ceil(place) if method != "nearest" else low
    share = place - low
    if method in HALFWAY:
        share = np.where(high > low, 0.5, 0.0)
    return low.astype(np.int64), high.astype(np.int64), share


def one_line(recorder: Recorder, a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """`a` with the axes that are reduced as one, its last; and these axes."""
    a = asarray(recorder, a)
    axes = axes_of(axis, a.ndim)
    kept = [k for k in range(a.ndim) if k not in axes]
    return a.transpose(*kept, *axes).reshape(*(a.shape[k] for k in kept), -1), axes


def quantiles(recorder: Recorder, a: Any, q: Any, axis: Any, keepdims: Any, method: str, ignored: bool) -> Any:
    """Quantiles of the lines of `a`; `ignored`: nan are passed over, else they make the quantile nan."""
    given = asarray(recorder, a)
    if given.dtype.kind not in "fiu":
        raise TypeError(f"quantiles of {given.dtype}")
    if not recorder.is_concrete(q):
        raise unsupported("a quantile whose probability is traced", "pass the probability as a number")
    weak = type(q) in (int, float) and given.dtype.kind == "f"  # then the quantile has the dtype of the data
    q = np.asarray(recorder.number_of(q), np.float64)
    if q.ndim > 1 or ((q < 0) | (q > 1)).any():
        raise ValueError("Quantiles must be in the range [0, 1]" if q.ndim < 2 else "q must be a scalar or 1d")
    lines, axes = one_line(recorder, given, axis)
    if lines.dtype.kind != "f" and method not in TAKEN:
        lines = lines.astype(np.float64)
    lines = np.take_along_axis(lines, order_of(recorder, lines, lines.ndim - 1), -1)
    if ignored:
        count: Any = np.sum(~np.isnan(lines), axis=-1, keepdims=True).astype(np.float64)
        low, high, share = positions_between(q.reshape(-1), count, method)
        low, high = (
            positions_below(recorder, np.clip(place, 0, lines.shape[-1] - 1), lines.shape[-1]) for place in (low, high)
        )
        chosen = [np.take_along_axis(lines, place, -1) for place in (low, high)]
    else:
        low, high, share = positions_between(q.reshape(-1), float(lines.shape[-1]), method)
        chosen = [lines[..., place] for place in (low, high)]
    if weak:
        share = share.astype(lines.dtype)
    if method in TAKEN:
        found = chosen[method == "higher"]
    else:
        step = chosen[1] - chosen[0]
        found = np.where(share >= 0.5, chosen[1] - step * (1 - share), chosen[0] + step * share)
    if method == MEDIAN:  # the mean of both, which infinities have
        found = np.where(share > 0, (chosen[0] + chosen[1]) / 2, chosen[0])
    if not ignored and lines.dtype.kind == "f":
        found = np.where(np.isnan(lines[..., -1:]), np.nan, found)
    found = np.moveaxis(found, -1, 0)
    if keepdims is not NO_VALUE and keepdims:
        found = found.reshape(found.shape[0], *(1 if k in axes else n for k, n in enumerate(given.shape)))
    return found if q.ndim else found[0]


def _quantile(recorder, a, q, axis, out, keepdims, method, ignored, options) -> Any:
    refuse("quantile", weights=options.get("weights"), interpolation=options.get("interpolation"))
    return deliver(recorder, recorder.value_of(quantiles(recorder, a, q, axis, keepdims, method, ignored)), out)


@implements(np.quantile)
def quantile(recorder, a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, **options):
    return _quantile(recorder, a, q, axis, out, keepdims, method, False, options)


@implements(np.nanquantile)
def nanquantile(recorder, a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, **options):
    return _quantile(recorder, a, q, axis, out, keepdims, method, True, options)


@implements(np.percentile)
def percentile(recorder, a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, **options):
    return _quantile(recorder, a, _hundredth(recorder, q), axis, out, keepdims, method, False, options)


@implements(np.nanpercentile)
def nanpercentile(
    recorder, a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, **options
):
    return _quantile(recorder, a, _hundredth(recorder, q), axis, out, keepdims, method, True, options)


def _hundredth(recorder: Recorder, q: Any) -> Any:
    if not recorder.is_concrete(q):
        return q
    return q / 100 if type(q) in (int, float) else np.true_divide(recorder.number_of(q), 100)


@implements(np.median)
def median(recorder, a, axis=None, out=None, overwrite_input=False, keepdims=False):
    return _quantile(recorder, a, 0.5, axis, out, keepdims, MEDIAN, False, {})


@implements(np.nanmedian)
def nanmedian(recorder, a, axis=None, out=None, overwrite_input=False, keepdims=NO_VALUE):
    return _quantile(recorder, a, 0.5, axis, out, keepdims, MEDIAN, True, {})


# Searching.

#: Tables of up to so many numbers are compared with whole, for one place and for each of several.
COMPARED_WITH_ONE, COMPARED_WITH_EACH = 256, 16


@implements(np.searchsorted)
def searchsorted(recorder, a, v, side="left", sorter=None):
    """Small tables are compared with whole, in vectors; in large ones the interval of each place is halved."""
    recorder.scopes.decisions.searches |= not recorder.is_concrete(a)
    a, v = asarray(recorder, a), asarray(recorder, v)
    if a.ndim != 1:
        raise ValueError("object too deep for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    a = a if sorter is None else a[sorter]
    if recorder.is_concrete(a) and recorder.is_concrete(v):
        return np.searchsorted(recorder.number_of(a), recorder.number_of(v), side)
    count = a.shape[0]
    if count <= (COMPARED_WITH_ONE if v.size == 1 else COMPARED_WITH_EACH):
        return positions_below(recorder, np.sum(is_before(a, v[..., None], side), axis=-1, dtype=np.int64), count + 1)
    found, rest = np.zeros(v.shape, np.int64), count
    while rest:  # The place is from `found` to `found + rest`.
        half = (rest + 1) // 2
        middle = a[positions_below(recorder, found + (half - 1), count)]
        found, rest = found + np.where(is_before(middle, v, side), half, 0), rest - half
    return positions_below(recorder, found, count + 1)


def is_before(a: Any, v: Any, side: str) -> Any:
    """Whether numbers of a table come before places that are looked for; nan comes last, in tables too."""
    before = a < v if side == "left" else a <= v
    if v.dtype.kind == "f":
        before = before | (np.isnan(v) & (~np.isnan(a) if side == "left" else np.True_))
    return before


@implements(np.digitize)
def digitize(recorder, x, bins, right=False):
    bins = np.asarray(recorder.number_of(bins)) if recorder.is_concrete(bins) else asarray(recorder, bins)
    steps = np.diff(bins)
    rises, falls = np.all(steps >= 0), np.all(steps <= 0)
    message = "bins must be monotonically increasing or decreasing"
    raise_where(recorder, np.logical_not(np.logical_or(rises, falls)), ValueError(message))
    side: Any = "left" if right else "right"
    if recorder.is_concrete(rises) or not recorder.scopes.depth:
        is_known = recorder.is_concrete(rises)
        if recorder.number_of(rises) if is_known else recorder.outcome(recorder.value_of(rises), "branch"):
            return np.searchsorted(bins, x, side=side)
        return bins.shape[0] - np.searchsorted(bins[::-1], x, side=side)
    found = np.searchsorted(bins, x, side=side), bins.shape[0] - np.searchsorted(bins[::-1], x, side=side)
    return np.where(rises, *found)


@implements(np.interp)
def interp(recorder, x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = (asarray(recorder, obj).astype(np.float64) for obj in (x, xp, fp))
    if xp.ndim != 1 or fp.shape != xp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        period = abs(period)
        x, xp, left, right = x % period, xp % period, None, None
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period))
        fp = np.concatenate((fp[-1:], fp, fp[:1]))
    count = xp.shape[0]
    left, right = fp[0] if left is None else left, fp[-1] if right is None else right
    if count == 1:
        return np.where(x < xp[0], left, np.where(x > xp[0], right, fp[0]))
    at = positions_below(recorder, np.clip(np.searchsorted(xp, x, side="right") - 1, 0, count - 2), count - 1)
    slope = (fp[at + 1] - fp[at]) / (xp[at + 1] - xp[at])
    inside = slope * (x - xp[at]) + fp[at]
    if not (recorder.is_concrete(fp) and np.isfinite(recorder.number_of(fp)).all()):  # of a table with infinities
        from_above = slope * (x - xp[at + 1]) + fp[at + 1]
        is_level = (x == xp[at]) | (np.isnan(from_above) & (fp[at] == fp[at + 1]))
        inside = np.where(np.isnan(inside), np.where(is_level, fp[at], from_above), inside)
    found = np.where(x < xp[0], left, np.where(x > xp[-1], right, np.where(x == xp[-1], fp[-1], inside)))
    return found[()] if not x.ndim else found


# Counting.


def has_few_bins(recorder: Recorder, x: Any, least: int) -> bool:
    """Whether no bin is needed but those that are asked for."""
    return bool(least) and requires(recorder, lambda: np.all(x < least), "numpy.bincount")


@implements(np.bincount)
def bincount(recorder, x, weights=None, minlength=0):
    """How many bins there are is that of the example, unless `minlength` gives enough (a guard); in loops it has to."""
    x = asarray(recorder, x)
    if x.size:
        raise_where(recorder, np.min(x) < 0, ValueError("'list' argument must have no negative elements"))
    if x.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if x.ndim else "object of too small depth for desired array"
        )
    least = int(minlength)
    if x.size == 0:
        count = 0
    elif recorder.is_concrete(x):
        count = int(recorder.number_of(x).max()) + 1
    elif recorder.scopes.depth and has_few_bins(recorder, x, least):
        count = least
    else:
        count = recorder.outcome(recorder.value_of(np.maximum(np.max(x) + 1, least)), "count")
    counts = np.zeros_like(asarray(recorder, np.zeros(max(count, least), np.int64 if weights is None else np.float64)))
    np.add.at(
        counts, x, np.ones(x.shape, np.int64) if weights is None else asarray(recorder, weights).astype(np.float64)
    )
    return counts


def edges_of(recorder: Recorder, a: Any, bins: Any, span: Any, is_like_array: bool = True) -> Any:
    """The edges of bins, of the type of `a` where they are `is_like_array`, else of that of the ends."""
    if isinstance(bins, str):
        raise unsupported(f"histogram bins chosen by {bins!r}", "say how many bins, or give their edges")
    if recorder.is_array(bins) or np.ndim(bins):
        edges = np.asarray(recorder.number_of(bins)) if recorder.is_concrete(bins) else asarray(recorder, bins)
        message = "`bins` must increase monotonically, when an array"
        raise_where(recorder, np.any(edges[:-1] > edges[1:]), ValueError(message))
        return asarray(recorder, edges)
    first, last = (np.min(a), np.max(a)) if span is None else span
    if span is not None:
        raise_where(recorder, first > last, ValueError("max must be larger than min in range parameter."))
    finds = "autodetected" if span is None else "supplied"
    is_finite = np.logical_and(np.isfinite(first), np.isfinite(last))
    raise_where(recorder, np.logical_not(is_finite), ValueError(f"{finds} range of the histogram is not finite"))
    like = [np.empty(0, a.dtype)] if is_like_array else []
    dtype = recorder.result_type(first, last, *like)
    dtype = dtype if dtype.kind == "f" else np.result_type(dtype, float)
    margin = np.where(first == last, 0.5, 0.0)[()].astype(dtype)
    return np.linspace(first - margin, last + margin, int(bins) + 1, dtype=dtype)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(recorder, a, bins=10, range=None, weights=None):
    return edges_of(recorder, asarray(recorder, a).ravel(), bins, range)


@implements(np.histogram)
def histogram(recorder, a, bins=10, range=None, density=None, weights=None):
    """Elements are found between the edges; an element on the last edge belongs to the last bin."""
    a = asarray(recorder, a).ravel()
    edges = edges_of(recorder, a, bins, range)
    count = edges.shape[0] - 1
    last = edges[-1]
    inside = (a >= edges[0]) & (a <= last)
    bin = np.searchsorted(edges, a, side="right") - 1
    bin = positions_below(recorder, np.where(inside, np.where(a == last, count - 1, bin), count), count + 1)
    weights = None if weights is None else asarray(recorder, weights).ravel()
    counts = np.zeros_like(asarray(recorder, np.zeros(count + 1, np.int64 if weights is None else weights.dtype)))
    np.add.at(counts, bin, np.ones(a.shape, np.int64) if weights is None else weights)
    counts = counts[:count]
    if density:
        counts = counts / (edges[1:] - edges[:-1]).astype(float) / counts.sum()
    return counts, edges


# Sets.


@implements(np.unique)
def unique(
    recorder,
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    sorted=True,
):
    """How many different elements there are is that of the example (a guard)."""
    refuse("unique", axis=axis)
    given = asarray(recorder, ar)
    flat = given.ravel()
    order = np.argsort(flat)
    line = flat[order]
    differs = line[1:] != line[:-1]
    if equal_nan and line.dtype.kind == "f":
        differs = differs & ~(np.isnan(line[1:]) & np.isnan(line[:-1]))
    first = np.concatenate((np.ones(min(flat.shape[0], 1), bool), differs))
    places = np.flatnonzero(first)
    results = [line[places]]
    if return_index:
        results.append(order[places])
    if return_inverse:
        inverse = np.zeros_like(order)
        inverse[order] = np.cumsum(first) - 1
        results.append(inverse.reshape(given.shape))
    if return_counts:
        results.append(np.diff(np.concatenate((places, np.array([flat.shape[0]])))))
    return results[0] if len(results) == 1 else tuple(results)
