"""Infinite and large numbers, and sums that cancel: the value is that of NumPy, or of Python's own function."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from scipy import special

import planned_ad
from planned_ad.errors import BoundsError

INF = np.inf
FOUR = [
    [0, 1, INF, INF], [0, -INF, -INF, 5], [-INF, INF, -INF, INF], [INF] * 4, [1.5, 2, 7, 9.0], [0.1, 0.3, 0.2, 0.7],
]  # fmt: skip
OF_FOUR = {
    "median": lambda x: np.median(x),
    "nanmedian": lambda x: np.nanmedian(x),
    "statistics.median": lambda x: statistics.median(x),
    "medians of rows": lambda x: np.sum(np.median(x.reshape(2, 2), axis=1)),
    "median of what a mask chooses": lambda x: np.median(x[x > -5]),
    "quantile": lambda x: np.quantile(x, 0.5, method="midpoint"),
    "is_integer": lambda x: 2.0 if float(x[0]).is_integer() else 3.0 * x[1],
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OF_FOUR)
def test_middles(name: str) -> None:
    f = OF_FOUR[name]
    plan = planned_ad.compile(f, (np.array([1.0, 2.0, 3.0, 4.0]),))
    for numbers in FOUR:
        x = np.array(numbers, dtype=float)
        np.testing.assert_equal(plan(x), f(x))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_tables_with_infinities() -> None:
    places = np.arange(5.0)

    def known(x):
        return np.interp(x, places, np.array([0.0, 1.0, INF, 2.0, -INF]))

    def traced(x):
        return np.interp(x[:3], places, x[3:])

    one, other = planned_ad.compile(known, (np.ones(4),)), planned_ad.compile(traced, (np.arange(8.0),))
    for x in np.array([[0.0, 1.0, 3.0, 0.5], [0.0, 2.0, 3.0, 4.0], [1.0, 1.5, 2.5, -1.0]]):
        np.testing.assert_equal(one(x), known(x))
        table = np.array([*x[:3], 0.5, 1.0, INF, INF, 3.0])
        np.testing.assert_equal(other(table), traced(table))


SUMS = {
    "of an array": lambda x: math.fsum(x),
    "of a list": lambda x: math.fsum([v * 2 for v in x]),
    "of a generator": lambda x: math.fsum(v * 2 for v in x),
    "of some": lambda x: math.fsum([x[0], 3.0, x[1], -x[0], x[2]]),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("times", [1, 20])
def test_exact_sums(name: str, times: int) -> None:
    f, rng = SUMS[name], np.random.default_rng(0)
    plan = planned_ad.compile(f, (np.arange(6.0 * times),))
    for numbers in ([1e16, 1, -1e16, 1, 1e16, -1e16], [0.1] * 6, rng.normal(size=6)):
        x = np.tile(np.array(numbers), times)
        assert plan(x) == f(x)
        np.testing.assert_array_equal(plan.gradient(x), planned_ad.grad(f)(np.ones(len(x))))
    assert set(plan.gradient(x)) <= {0.0, 1.0, 2.0}


TOO_LARGE = {
    "a product": (lambda x: x[1] * (int(x[0]) * int(x[0]) * int(x[0]) * int(x[0]) % 97), 1e5),
    "a power": (lambda x: x[1] * (int(x[0]) ** 4 % 97), 1e5),
    "with a large number": (lambda x: x[1] * (int(x[0]) * 10**18 / 1e18), 10.0),
    "a sum": (lambda x: x[1] * ((int(x[0]) + 2**61 + 2**62) % 97), 2.0**62),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_integers_of_more_than_64_bits_are_refused(name: str) -> None:
    f, number = TOO_LARGE[name]
    x = np.array([2.0, 3.0])
    plan = planned_ad.compile(f, (x,))
    assert plan(x) == f(x)
    with pytest.raises(BoundsError, match="more than 64 bits"):
        plan(np.array([number, 3.0]))


def test_integers_that_are_small_are_not_asked() -> None:
    def f(x):
        k = int(np.argmax(x))
        return x[k] * (3 * k + 7 * k * k)

    assert "integers" not in str(planned_ad.compile(f, (np.array([1.0, 3.0, 2.0]),)).explain())


def test_xlog1py_at_zero() -> None:
    def f(x):
        return special.xlog1py(x[0], x[1])

    plan = planned_ad.compile(f, (np.array([0.4, 0.2]),))
    for x in np.array([[0.0, 0.5], [0.0, -1.0], [0.0, -2.0], [0.0, INF], [0.0, np.nan], [1.0, -1.0], [2.0, 0.5]]):
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-15)
    np.testing.assert_allclose(plan.gradient(np.array([0.0, 0.5])), [np.log(1.5), 0.0])


def test_powers_with_a_modulus() -> None:
    def f(x):
        return x[1] * pow(3, int(x[0]), 101) + pow(base=x[1], exp=2)

    plan = planned_ad.compile(f, (np.array([3.0, 1.5]),))
    for x in np.array([[3.0, 1.5], [50.0, 2.0], [0.0, -1.0]]):
        assert plan(x) == f(x)


def test_functions_of_math_at_infinity() -> None:
    logarithm = planned_ad.compile(lambda x: math.lgamma(x), (0.5,))
    for x in (-INF, INF, 3.0):
        assert logarithm(x) == pytest.approx(math.lgamma(x), rel=1e-15)
    rest = planned_ad.compile(lambda x: math.remainder(x[0], x[1]), (np.array([0.5, 2.0]),))
    for x in ([0.0, np.nan], [-0.0, 2.0], [7.0, 2.0]):
        np.testing.assert_equal(rest(np.array(x)), math.remainder(*x))
