"""Sorting: Python's `sorted` and `list.sort` of traced numbers, NumPy's order of arrays of run-time lengths."""

# ruff: noqa: PERF401, E741 (programs as people write them)

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BoundsError

from .interpreted_plans import InterpretedPlan
from .sweeps import name_of, rotated


def median_of_some(x):
    return np.median([v for v in x if v > 0])


def sorted_array_of_some(x):
    o = np.sort(np.array([v for v in x if v > 0]))
    return np.sum(o * o) + o[0] * o[-1] + o[1]


def quantiles_of_some(x):
    o = np.array([v for v in x if v > 0])
    return np.percentile(o, 30) + np.quantile(o, 0.85)


def medians_in_a_loop(x):
    s = 0.0
    for i in range(10):
        o = [v for v in x if v > -0.1 * i]
        s += np.median(o) * i
    return s


def medians_of_masked(x):
    s = 0.0
    for i in range(10):
        s += np.median(x[x > -0.1 * i]) * i
    return s


def all_numbers(x):
    o = sorted(x)
    return sum(i * v for i, v in enumerate(o))


def in_reverse(x):
    o = sorted(x[:8], reverse=True)
    return o[0] * o[1] + o[-1]


def pairs(x):
    o = sorted([(abs(v - 0.3), i) for i, v in enumerate(x)])
    return sum(x[i] * d for d, i in o[:5])


def indices_by_key(x):
    o = sorted(range(len(x)), key=lambda i: -x[i])
    return x[o[0]] * x[o[1]] + x[o[-1]]


def tuples_by_key(x):
    o = sorted(((v, x[-1 - i]) for i, v in enumerate(x[:10])), key=lambda t: t[1])
    return sum(i * a * b for i, (a, b) in enumerate(o))


def sorted_in_place(x):
    o = [v for v in x if v > 0]
    o.sort()
    return sum(i * v for i, v in enumerate(o))


def some_in_reverse(x):
    return sum(i * v for i, v in enumerate(sorted((v for v in x if v > 0), reverse=True)))


def least_ones_in_a_loop(x):
    t = 0.0
    for i in range(5):
        d = sorted([abs(v - 0.1 * i) for v in x])
        t += sum(d[:3]) * i
    return t


def nearest_neighbours(x):
    t = 0.0
    for i in range(len(x)):
        ds = []
        for j in range(len(x)):
            if i != j:
                ds.append((abs(x[i] - x[j]), j))
        ds = sorted(ds)
        t += sum(x[j] for d, j in ds[:3])
    return t


def beside_texts(x):
    names = ["a", "b", "c"]
    o = sorted(zip(names, x), key=lambda t: t[1])
    return o[0][1] * 2 + o[1][1]


def known_numbers_among_them(x):
    o = sorted(list(x[:5]) + [0.0, 1.0])
    return o[3] + o[2] * o[6]


def trimmed_mean(x):
    o = sorted(x)
    k = 3
    return sum(o[k:-k]) / (len(o) - 2 * k)


def list_of_products(x):
    l = [x[i] * x[i + 1] for i in range(8)]
    l.sort()
    return l[0] * l[3]


def equal_ones_stay_as_they_were(x):
    pairs = [(round(float(v)), v) for v in x]
    first = sorted(pairs, key=lambda pair: pair[0])
    last = sorted(pairs, key=lambda pair: pair[0], reverse=True)
    return sum(i * v for i, (_, v) in enumerate(first)) + sum(i * i * v for i, (_, v) in enumerate(last))


PROGRAMS = [
    median_of_some,
    sorted_array_of_some,
    quantiles_of_some,
    medians_in_a_loop,
    medians_of_masked,
    all_numbers,
    in_reverse,
    pairs,
    indices_by_key,
    tuples_by_key,
    sorted_in_place,
    some_in_reverse,
    least_ones_in_a_loop,
    nearest_neighbours,
    beside_texts,
    known_numbers_among_them,
    trimmed_mean,
    list_of_products,
    equal_ones_stay_as_they_were,
]


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [0, 16]), ids=name_of)
def test_sorting(f: Callable, unroll: int) -> None:
    rng = np.random.default_rng(0)
    x, direction = rng.normal(size=(2, 18))
    plan = planned_ad.compile(f, (x,), unroll=0, check=False) if unroll == 0 else InterpretedPlan(f, x, unroll=unroll)
    for _ in range(5 if unroll == 0 else 3):
        x, step = rng.normal(size=18), 1e-7 * direction
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + step) - f(x - step)) / 2e-7
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-6, abs=1e-6)
    assert unroll or plan.explain().variants == 1 or f is beside_texts


@pytest.mark.parametrize("f", [all_numbers, sorted_in_place], ids=lambda f: f.__name__)
def test_nan_has_no_place(f: Callable) -> None:
    x = np.random.default_rng(0).normal(size=18)
    plan = planned_ad.compile(f, (x,))
    x[3] = np.nan
    if f is all_numbers:
        with pytest.raises(BoundsError, match="nan"):
            plan(x)
    else:
        assert plan(x) == pytest.approx(f(x))  # it is not among those that are sorted


def test_medians_with_nan_and_of_nothing_are_nan() -> None:
    def f(x):
        return np.median(x[x != 0.5])

    x = np.random.default_rng(0).normal(size=9)
    plan = planned_ad.compile(lambda x: sum(f(x * k) for k in range(1, 3)), (x,), unroll=0)
    assert plan(x) == pytest.approx(f(x) + f(2 * x))
    x[4] = np.nan
    assert np.isnan(plan(x))


def test_what_has_no_numbers_is_sorted_by_python() -> None:
    def f(x):
        words = sorted(["c", "a", "b"], key=str.upper)
        found = sorted([1, 3, 2], reverse=True)
        rows = [x[:2], x[2:4]]
        rows.sort(key=lambda row: row[0])
        rows[0][0] = 7.0
        return x[0] * found[0] + x[2] * (words[0] == "a")

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.normal(size=6),), check=False)
    for _ in range(4):
        x = rng.normal(size=6)
        assert plan(x.copy()) == pytest.approx(f(x.copy()))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "i8"])
@pytest.mark.parametrize("method", ["lower", "higher", "nearest", "linear", "midpoint"])
@pytest.mark.parametrize("quantile", [np.quantile, np.nanquantile])
def test_quantiles_beside_infinities_and_of_integers(quantile, method, dtype):
    x = (np.random.default_rng(0).random((5, 4)) * 100).astype(dtype)
    if dtype == "f8":
        x[0, 0], x[2, 1], x[3, 2] = -np.inf, np.inf, np.nan

    def f(x, w):
        one = quantile(x, 0.3, axis=0, method=method)
        return w * 2.0, one, quantile(x, [0.0, 0.25, 1.0], axis=1, method=method), quantile(x, 0.6, method=method)

    with np.errstate(invalid="ignore"):
        wanted = f(x, 1.0)
    plan = planned_ad.compile(f, (x, 1.0), check=False)
    for got, of_numpy in zip(plan(x, 1.0), wanted, strict=True):
        assert np.asarray(got).dtype == np.asarray(of_numpy).dtype
        np.testing.assert_allclose(got, of_numpy, rtol=1e-6 if dtype == "f4" else 1e-13)
