"""Python's integers beside arrays of few bits: compared as they are, and refused where NumPy refuses them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BoundsError

X = np.array([3.0, 2.0, 1.0, 0.5])
COMPARE = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
NARROW = [np.uint8, np.int8, np.uint16, np.int32, np.uint32, np.uint64]


def compared(compare: Callable, dtype: Any) -> Callable:
    u = np.array([1, 2, 5, np.iinfo(dtype).max], dtype)

    def f(x):
        s = 0.0
        for i in range(-20, 300):
            s += np.sum(compare(u, i) * x) + np.sum(compare(i, u)) * x[2] * i
        return s + np.sum(compare(u, int(x[0])) * x)

    return f


@pytest.mark.parametrize("dtype", NARROW, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("compare", COMPARE, ids=lambda compare: compare.__name__)
def test_comparisons(compare, dtype):
    f = compared(compare, dtype)
    plan = planned_ad.compile(f, (X,), check=False)
    for first in (3.0, 300.0, -3.0, 5e9):
        x = np.array([first, *X[1:]])
        assert plan(x) == pytest.approx(f(x), rel=1e-12)


@pytest.mark.parametrize("dtype", NARROW, ids=lambda dtype: dtype.__name__)
def test_comparisons_with_numbers_that_it_has_not(dtype):
    u = np.array([1, 2, 5, 7], dtype)

    def f(x, u):
        return np.sum(x * (u > -50) + x**2 * (u < 2**40)) + (x[0] if u[1] > -3 else 0.0)

    if dtype is not np.uint64:  # which no type has that has negative numbers too
        assert planned_ad.compile(f, (X, u))(X, u) == f(X, u)


def test_comparisons_of_signed_and_unsigned_arrays():
    u, i = np.array([0, 1, 2**63, 2**64 - 1, 5], np.uint64), np.array([-1, 0, 1, 2**62, -5])

    def f(u, i, w):
        return w * 2.0, *(found for op in COMPARE for found in (op(u, i), op(i, u), op(u[:, None], i)))

    for got, wanted in zip(planned_ad.compile(f, (u, i, 1.0), check=False)(u, i, 1.0), f(u, i, 1.0), strict=True):
        np.testing.assert_array_equal(got, wanted)


def stored(x):
    y = np.zeros(3, np.uint8)
    y[0] = int(x[0])
    return np.sum(y) * x[1]


def filled(x):
    return np.sum(np.full(3, int(x[0]), np.int8)) * x[1]


def added_in_a_loop(x):
    a, s = np.arange(5, dtype=np.uint8), 0.0
    for i in range(20):
        s += np.sum(a + int(x[i % 4])) * x[1]
    return s


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("f", [stored, filled, added_in_a_loop])
def test_what_a_dtype_does_not_have_is_an_error(f, check):
    plan = planned_ad.compile(f, (X,), check=check)
    assert plan(X) == f(X)
    for first in (300.0, -300.0):
        x = np.array([first, *X[1:]])
        with pytest.raises(OverflowError, match=r"out of bounds for u?int8"):
            plan(x)
    assert plan(X) == f(X)


def test_such_errors_are_handled():
    def f(x):
        try:
            y = np.full(3, int(x[0]), np.int8)
        except OverflowError:
            return x[1] * 2
        return np.sum(y) * x[1]

    plan = planned_ad.compile(f, (X,), check=False)
    for first in (3.0, 300.0, -3.0, -300.0):
        x = np.array([first, *X[1:]])
        assert plan(x) == f(x)


@pytest.mark.parametrize("check", [True, False])
def test_chosen_by_where(check):
    """NumPy wraps what the dtype does not have, and raises an error from 2.5 on."""

    def f(x):
        u, k = np.array([3, 0, 200], np.uint8), int(x[0])
        return np.sum(np.where(u > 0, u, k) * x[1])

    plan = planned_ad.compile(f, (X,), check=check)
    for first in (3.0, 300.0, -3.0, 7.0):
        x = np.array([first, *X[1:]])
        try:
            wanted = f(x)
        except OverflowError:
            with pytest.raises(OverflowError):
                plan(x)
        else:
            assert plan(x) == pytest.approx(wanted, rel=1e-14)


def test_bounds_beyond_the_dtype_clip_nothing():
    def f(x):
        u, k = np.array([3, 0, 200], np.uint8), int(x[0])
        return np.sum(np.clip(u, -3, 300) * x[3] + np.clip(u, 1, k + 300) * x[1] + np.clip(u, k - 300, 100) * x[2])

    plan = planned_ad.compile(f, (X,), check=False)
    for first in (3.0, 300.0, -3.0):
        x = np.array([first, *X[1:]])
        assert plan(x) == pytest.approx(f(x), rel=1e-14)


def test_results_that_doubles_do_not_have():
    def f(n, w):
        return w * 2.0, n[0], int(n[0]) + 1, np.array([n[0]])

    n = np.array([2**53 - 2])
    plan = planned_ad.compile(f, (n, 1.0), check=False)
    assert plan(n, 1.0) == f(n, 1.0)
    with pytest.raises(BoundsError, match="a result is an integer of more than 53 bits"):
        plan(n + 3, 1.0)


@pytest.mark.parametrize("n", [3, 8, 33])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i4", "u8"])
def test_division_of_long_integers_by_short_ones(dtype, n):
    def f(u, w):
        total = np.sum(u)
        return w * 2.0, total // u, total % u, u // total, (u.astype(np.int64) - 3) // u, (3 - u.astype(np.int64)) % u

    u = (np.arange(n) % 7 + 1).astype(dtype)
    if dtype == "u8":  # beside which NumPy makes signed ones floats
        f, g = (lambda u, w: g(u, w)[:4]), f
    for got, wanted in zip(planned_ad.compile(f, (u, 1.0), check=False)(u, 1.0), f(u, 1.0), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_members_of_another_integer_type():
    def f(u, i, w):
        return w * 2.0, np.isin(u, i)

    u, i = np.array([0, 1, 2, 4_000_000_000], np.uint32), np.array([1, 2, -3], np.int32)
    plan = planned_ad.compile(f, (u, i, 1.0), check=False)
    for k in (i, i[::-1].copy(), -i):
        np.testing.assert_array_equal(plan(u, k, 1.0)[1], np.isin(u, k))
