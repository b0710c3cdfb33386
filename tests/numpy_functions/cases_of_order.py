"""Cases of sorting, searching and counting, of reductions that pass over some elements, and of running extrema."""

from __future__ import annotations

import numpy as np

from .cases import case, floats


def holed(*shape: int) -> np.ndarray:
    """Numbers, some of them nan; not a whole line."""
    a = floats(*shape)
    a.reshape(-1)[::6] = np.nan
    return a


def sorted_in_place(x):
    y = x.copy()
    y.sort(axis=0)
    return y * np.arange(y.shape[-1])


V, A, N, NV = floats(9), floats(4, 5), holed(4, 5), holed(9)

name = "argmax"
case(lambda x: x[np.argmax(x)] * 2, V, name=name)
case(lambda x: np.take_along_axis(x, np.argmax(x, axis=1, keepdims=True), 1), A, name=name)
case(lambda x: x[x.argmin(axis=0), np.arange(5)], A, name=name)
case(lambda x: x.ravel()[np.argmin(x)] + np.argmax(x, keepdims=True), A, name=name)
case(lambda x: np.argmax(np.round(x)), A, name=name, rounds=True)
case(lambda x: x[np.nanargmax(x)] - x[np.nanargmin(x)], NV, name=name)

name = "sort"
case(lambda x: np.sort(x) * np.arange(9), V, name=name)
case(lambda x: np.sort(x, axis=0) * np.arange(5), A, name=name)
case(lambda x: np.sort(x, axis=None)[::2], A, name=name)
case(lambda x: x[np.argsort(x)[::-1]] * np.arange(9), V, name=name)
case(lambda x: np.argsort(x, axis=0), A, name=name, rounds=True)
case(lambda x: np.argsort(np.round(x), kind="stable"), V, name=name, rounds=True)
case(lambda x: np.sort(np.partition(x, 3)[:3]) + x[np.argpartition(x, 0)[0]], V, name=name)
case(lambda x: x[np.lexsort((x, np.round(x)))] * np.arange(9), V, name=name)
case(sorted_in_place, A, name=name)
case(lambda x: np.nan_to_num(np.sort(x)), NV, name=name)

name = "quantile"
case(np.median, V, name=name)
case(lambda x: np.median(x, axis=1), A, name=name)
case(lambda x: np.median(x, axis=(0, 1), keepdims=True), A, name=name)
case(lambda x: np.nanmedian(x, axis=1), N, name=name)
case(lambda x: np.quantile(x, [0.1, 0.5, 0.93]), V, name=name)
case(lambda x: np.quantile(x, 0.3, axis=1), A, name=name)
case(lambda x: np.percentile(x, [10, 35.0], axis=0, keepdims=True), A, name=name)
case(lambda x: np.nanquantile(x, [0.2, 0.7], axis=1), N, name=name)
case(lambda x: np.nanpercentile(x, 30, axis=0), N, name=name)
LINE = np.sin(np.arange(41.0) ** 2)  # 40 steps: these quantiles are elements, to the last bit
case(lambda x: x * (x > np.percentile(x, 95)) - x * (x < np.percentile(x, 40)), LINE, name=name)
for method in (
    "hazen", "weibull", "lower", "higher", "nearest", "midpoint", "median_unbiased", "normal_unbiased",
    "interpolated_inverted_cdf",
):  # fmt: skip
    case(lambda x, method=method: np.quantile(x, [0.11, 0.57, 0.9], axis=1, method=method), A, name="quantile methods")

name = "search"
case(lambda x: x * np.searchsorted(np.sort(x), x), V, name=name)
case(lambda x: np.searchsorted(np.array([-1.0, 0.0, 0.5]), x, side="right"), A, name=name, rounds=True)
case(lambda x: x * np.digitize(x, np.array([-1.0, 0, 0.5])), A, name=name)
case(lambda x: x * np.digitize(x, np.array([1.0, 0, -0.5]), right=True), A, name=name)
case(lambda x: np.interp(x, np.linspace(-1, 1, 7), np.arange(7.0) ** 2), V, name=name)
case(lambda x: np.interp(np.linspace(-2, 2, 11), np.sort(x), x * x, left=0.0, right=x[0]), V, name=name)
case(lambda x: np.interp(x, np.array([0.0, 1, 2]), np.array([1.0, 3, 2]), period=3.0), V, name=name)
case(lambda x: np.interp(x[0], np.linspace(-3, 3, 7), np.arange(7.0) ** 2), V, name=name)

name = "count"
BINS = np.array([0, 1, 1, 3, 2, 0, 5, 5, 1])
case(lambda x: np.bincount(BINS, weights=x * x, minlength=8), V, name=name)
case(lambda x: np.bincount((x > 0).astype(int)), V, name=name, rounds=True)
case(lambda x: np.histogram(x, bins=5)[1] * np.append(np.histogram(x, bins=5)[0], 1), V, name=name)
case(lambda x: np.histogram(x, bins=[-1, 0.0, 0.3, 2], weights=x**2)[0], V, name=name)
case(lambda x: np.histogram(x, bins=4, range=(-2, 2), density=True, weights=x * x)[0], V, name=name)
case(lambda x: np.histogram2d(x, x[::-1], bins=3, weights=x * x)[0], V, name=name)
case(lambda x: np.histogram2d(x, x * x, [3, [0, 0.5, 3]], [[-1, 1], None], True, x)[0], V, name=name)
case(lambda x: np.histogramdd(x.reshape(3, 3), (2, [-2.0, 0, 0.5, 2], 2), weights=x[:3])[0], V, name=name)
case(lambda x: np.histogramdd([x, x], 2)[0] * x[0], V, name=name)
case(lambda x: np.unique(np.concatenate((x, x[:3]))), V, name=name)
case(lambda x: x[np.unique(x, return_index=True)[1]] * np.arange(9), V, name=name)
case(lambda x: np.unique(np.round(x), return_counts=True)[1] * x[:1], V, name=name)
case(lambda x: x * np.unique(np.round(x), return_inverse=True)[1], A, name=name)

name = "nan"
case(lambda x: np.nanmax(x, axis=1) + np.nanmin(x), N, name=name)
case(lambda x: np.nanvar(x, axis=0, ddof=1), N, name=name)
case(lambda x: np.nanstd(x) + np.nanstd(x, axis=1, keepdims=True), N, name=name)
case(lambda x: np.nanstd(x), A, name=name)
case(lambda x: np.nancumsum(x, axis=1) + np.nancumprod(x, axis=0), N, name=name)
case(lambda x: np.nanmean(x, axis=1, where=x > -0.5), N, name=name)
case(lambda x: np.nansum(x, axis=0, out=np.zeros_like(x[0])), N, name=name)

name = "where="
case(lambda x: np.sum(x, axis=0, where=x > 0), A, name=name)
case(lambda x: np.max(x, axis=1, where=x < 0.5, initial=-9.0), A, name=name)
case(lambda x: np.mean(x, where=x > 0), A, name=name)
case(lambda x: np.var(x, axis=1, where=x > -1), A, name=name)
case(lambda x: np.std(x, where=x > -1, ddof=1), A, name=name)
case(lambda x: np.prod(x, axis=1, where=x > 0), A, name=name)
case(lambda x: x * np.any(x > 0, axis=0, where=x < 0.5), A, name=name)

name = "running"
case(lambda x: np.maximum.accumulate(x), V, name=name)
case(lambda x: np.maximum.accumulate(x, axis=1), A, name=name)
case(lambda x: np.minimum.accumulate(x, axis=0) ** 2, A, name=name)
case(lambda x: np.nan_to_num(np.fmax.accumulate(x)), NV, name=name)
case(lambda x: np.maximum.accumulate(np.round(x).astype(int)), V, name=name, rounds=True)
