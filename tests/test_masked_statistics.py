"""Least squares, statistics and lists of the elements that a mask chooses: one trace for every number of them."""

import warnings

import numpy as np
import pytest
import scipy.stats

import planned_ad

from .one_trace import traces_of


def chosen(x):
    return x[x > -0.6]


def pairs(x):
    a, b = x[:12], x[12:]
    mask = a > -0.9
    return a[mask], b[mask]


def rows(x):
    points = x.reshape(12, 2)
    return points[points[:, 0] > -1.2]


def lines_through_points(x):
    a, b = pairs(x)
    slope, start = np.polyfit(a, b, 1)
    A = np.column_stack([a, np.ones(len(a))])
    found, residuals, rank, s = np.linalg.lstsq(A, b, rcond=None)
    return slope * start + found[0] + residuals[0] + s[1] * rank


def curves_with_weights(x):
    a, b = pairs(x)
    found, spread = np.polyfit(a, b, 1, w=1 / (1 + b * b), cov=True)
    return found.sum() + spread[0, 1] + np.polynomial.Polynomial.fit(a, b, 2)(0.1)


def covariances(x):
    a, b = pairs(x)
    points = rows(x)
    found = np.cov(a, b)[0, 1] + np.corrcoef(a, b)[1, 0] + np.cov(a, bias=True)
    return (
        found + np.cov(points.T).trace() + np.cov(points, rowvar=False)[0, 1] + np.corrcoef(points, rowvar=False)[0, 1]
    )


def filters(x):
    y = chosen(x)
    wealth = np.cumprod(1 + 0.1 * y)
    found = np.convolve(y, [0.25, 0.5, 0.25], "same").max() + np.convolve(y, np.array([1.0, -1.0]))[-1]
    fall = (wealth / np.maximum.accumulate(wealth)).min() + np.minimum.accumulate(wealth)[-1]
    return found + fall + np.correlate(y, np.array([1.0, 2.0, 3.0])).sum() + np.vander(y, 3)[0] @ np.arange(3.0)


def orders(x):
    y, points = chosen(x), rows(x)
    counts = np.histogram(y, bins=4, range=(-1.0, 2.0))[0]
    found = np.percentile(y, [25, 50, 75]).sum() + counts @ np.arange(4) * y[0] + np.histogram(y, 3)[1][1]
    found += np.nanmean(y) + np.nanmax(y) + np.nanstd(np.where(y > 1, np.nan, y))
    return found + np.median(points, axis=0) @ (1, 2)


def spreads_of_columns(x):
    y, points = chosen(x), rows(x)
    scaled = (points - points.mean(axis=0)) / points.std(axis=0, ddof=1)
    size = np.linalg.norm(points, 1, axis=1).max() + np.linalg.norm(y, np.inf) + np.sort(points, axis=0)[0, 1]
    return np.linalg.eigvalsh(scaled.T @ scaled)[1] + size + np.tile(y, 2).var() + points.var()


def factors(x):
    points, centred = rows(x), rows(x) - rows(x).mean(axis=0)
    upper = np.linalg.qr(points, mode="r")
    q, r = np.linalg.qr(points)
    found = upper[0, 1] ** 2 + np.abs(q @ r).sum() + np.linalg.svd(centred, compute_uv=False)[0]
    return found + np.linalg.pinv(points)[0] @ points[:, 1] + np.sum(np.linalg.pinv(points) ** 2)


def sums_by_subscripts(x):
    y, points = chosen(x), rows(x)
    found = np.einsum("i,i->", y, y) + np.einsum("ij,ik->jk", points, points)[0, 1]
    return found + np.einsum("ij,j", points, np.array([1.0, 2.0])).max() + np.einsum("ij->ji", points)[1, 0]


def lists_of_elements(x):
    y = chosen(x)
    items = list(y)
    items.append(0.5)
    ordered = sorted(y)
    found = sum(k * v for k, v in enumerate(ordered)) + max(list(y)) - min(y.tolist())
    return found + sum(items) / len(items)


def densities(x):
    y = chosen(x)
    return scipy.stats.norm.logpdf(y, 0.1, 1.2).sum() + scipy.stats.expon(scale=2.0).sf(y * y).mean()


def comparisons_of_samples(x):
    a, b = pairs(x)
    fit = scipy.stats.linregress(a, b)
    moments = scipy.stats.skew(a) + scipy.stats.kurtosis(b) + scipy.stats.gmean(np.exp(a))
    return fit.slope + fit.rvalue + scipy.stats.pearsonr(a, b)[0] + moments


def fit_in_each_group(x):
    a, b = x[:12], x[12:]
    label, total = np.where(a > 0, 1, 0), 0.0
    for k in range(2):
        group = label == k
        total += np.polyfit(np.append(a[group], [3.0, 4.0]), np.append(b[group], [1.0, 2.0]), 1)[0] * (k + 1)
    return total


def few_and_none(x):
    y = x[x > 9.0]
    single = x[np.argmax(x) == np.arange(24)]
    found = np.nan_to_num([np.nanvar(y, ddof=1), single.var(ddof=1), np.std(single, ddof=1), np.cov(single)], nan=7.0)
    return found.sum() * x[0] + np.nan_to_num(np.nanmax(single * np.nan), nan=3.0)


FUNCTIONS = [
    lines_through_points, curves_with_weights, covariances, filters, orders, spreads_of_columns, factors,
    sums_by_subscripts, lists_of_elements, densities, comparisons_of_samples, fit_in_each_group,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_trace_serves_for_any_number_of_elements(function):
    assert traces_of(function, 8) <= 1


def test_moments_of_few_numbers_are_those_of_numpy():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = np.linspace(-1, 1, 24)
        plan = planned_ad.compile(few_and_none, (x,), check=False)
        for given in (x, x**2, np.roll(x, 5), np.abs(x + 0.01) + 8.5):
            assert plan(given) == pytest.approx(few_and_none(given), rel=1e-12)


def test_a_list_of_floats_is_an_array_of_them():
    def f(x):
        y = x.astype(np.float32)
        found = np.convolve(y[y > 0], [0.1, 0.3])
        return found.dtype.itemsize + found.sum()

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.normal(size=24),), check=False)
    for _ in range(3):
        x = rng.normal(size=24)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
