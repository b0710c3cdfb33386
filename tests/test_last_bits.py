"""What hangs on the last bit of a number decides as in NumPy, wherever that number was kept meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad


def zeros_of_a_row(T):
    T = T.copy()
    T[1] = T[1] * T[0, 1] - T[0] * T[1, 1]
    return np.sum(T) + 100.0 * np.count_nonzero(T[1])


def zeros_in_a_loop(T):
    T = T.copy()
    for i in range(1, 3):
        T[i, :] = T[i, :] * T[0, 0] - T[0, :] * T[i, 0]
    return np.sum(np.where(T != 0, T, T[0, 1]))


def row_changed_in_steps(T):
    T = T.copy()
    for i in range(1, 3):
        row = T[i, :] * T[0, 0]
        row -= T[0, :] * T[i, 0]
        T[i, :] = row
    return np.sum(np.where(T != 0, 1.0, T[0, 1]))


def rank(T):
    T, found = T.copy(), 0
    T[2] = 2.0 * T[1]
    for c in range(3):
        pivot = None
        for r in range(found, 3):
            if T[r, c] != 0:
                pivot = r
                break
        if pivot is None:
            continue
        T[[found, pivot]] = T[[pivot, found]]
        for r in range(found + 1, 3):
            T[r] = T[r] * T[found, c] - T[found] * T[r, c]
        found += 1
    return float(found) * T[0, 0]


def through_lists(T):
    rows = [list(row) for row in T]
    for i in range(1, 3):
        rows[i] = [a * rows[0][0] - b * rows[i][0] for a, b in zip(rows[i], rows[0])]
    return sum(sum(1.0 for v in row if v == 0.0) for row in rows) * T[0, 1]


def through_a_long_loop(T):
    kept, total = np.zeros(60), 0.0
    for k in range(60):
        a, b = T[k % 3, 0] + k, T[k % 3, 1]
        kept[k] = a * b - b * a
    for v in kept:
        total = total * 0.5 + (T[0, 0] if v == 0.0 else T[0, 1] ** 2)
    return total


def through_order(T):
    t = T.reshape(-1)
    d = np.concatenate([t * t[0] - t[0] * t, [1e-18 * t[1], -1e-18 * t[2]]])
    return np.argmax(d) * t[0] + np.argsort(d)[0] * t[1] + np.searchsorted(np.sort(d), 0.0) * t[2]


def an_array_that_is_handed_on(T):
    u, found = T[0] * 1.0, 0.0
    for k in range(30):
        found = found + np.count_nonzero(u * T[1, 1] - T[1, 1] * u + (u - T[0] * (1.0 + k)))
        u = u + T[0] * 1.0
    return found * T[0, 0]


PROGRAMS = [
    zeros_of_a_row, zeros_in_a_loop, row_changed_in_steps, rank, through_lists, through_a_long_loop, through_order,
    an_array_that_is_handed_on,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_numbers_that_are_zero_in_numpy(f: Callable) -> None:
    """In all calls of a plan, which round nothing in another way."""
    for seed in range(3):
        T, direction = (np.random.default_rng(k).uniform(1, 5, (3, 3)) for k in (seed, seed + 9))
        plan = planned_ad.compile(f, (T,), unroll=4)
        expected = f(T)
        value, gradient = plan.value_and_gradient(T)
        np.testing.assert_allclose([plan(T), value, plan.jvp(T, direction)[0]], [expected] * 3, rtol=1e-12)
        slope = (f(T + 1e-6 * direction) - f(T - 1e-6 * direction)) / 2e-6
        if abs(slope) < 1e3:  # elsewhere a count changes
            np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-5, atol=1e-6)


DIFFERENCES = {
    "a root of squares": lambda x: np.sqrt(x[0] ** 2 - x[1] ** 2),
    "of arrays": lambda x: np.sum(np.sqrt(x[:1] ** 3 - x[1:] ** 3)),
    "with a sign": lambda x: np.log(-x[1] * x[1] + x[0] * x[0]),
    "of products that are no squares": lambda x: 1.0 / (x[0] * (x[0] + 1.0) - x[1] * (x[1] + 1.0)),
    "an angle": lambda x: np.arctan2(x[0] * 0.7 - x[1] * 0.7, -1.0),
    "in a loop": lambda x: sum(np.sqrt((x[0] + k) ** 2 - (x[1] + k) ** 2) for k in range(20)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", DIFFERENCES)
def test_products_that_are_equal_have_no_difference(name: str) -> None:
    f = DIFFERENCES[name]
    plan = planned_ad.compile(f, (np.array([2.0, 1.0]),))
    for number in (0.3625025, 0.1, 0.7):
        x = np.array([number, number])
        assert plan(x) == f(x)


EDGES = {
    "beside a number": lambda x, y: np.sqrt(x * x - y),
    "through memory": lambda x, y: np.sqrt(np.concatenate([x * x - y, x])),
    "with a sign": lambda x, y: np.sqrt(y + -x * x),
}


@pytest.mark.parametrize("name", EDGES)
def test_a_product_less_itself_is_zero_under_a_root(name: str) -> None:
    f, x = EDGES[name], np.array([1.1, 0.3, 0.7, 1.9, 0.1])
    value = planned_ad.compile(f, (x, np.zeros(5)), calls=())
    np.testing.assert_array_equal(value(x, x * x), f(x, x * x))


def errors_of_sums(a, b):
    e = np.zeros(a.size)
    for i in range(a.size):
        t = a[i] + b[i]
        if abs(a[i]) >= abs(b[i]):
            e[i] = (a[i] - t) + b[i]
        else:
            e[i] = (b[i] - t) + a[i]
    return e


def rounded(a, b):
    y = a.copy()
    for i in range(a.size):
        if b[i] > 0.5:
            y[i] = (y[i] + 6755399441055744.0) - 6755399441055744.0
    return y


def compensated(a, b):
    total, rest, out = 0.0, 0.0, np.zeros(a.size)
    for i in range(a.size):
        if b[i] > 0.0:
            y = a[i] - rest
            t = total + y
            rest = (t - total) - y
            total = t
        out[i] = rest
    return out


def untouched(a, b):
    y = -np.zeros(a.size)
    for i in range(a.size):
        if b[i] > 0.5:
            y[i] += a[i]
    return y - (-0.0)


@pytest.mark.parametrize("f", [errors_of_sums, rounded, compensated, untouched])
def test_sums_in_branches_are_rounded_as_they_are_written(f: Callable) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 12)) * 10.0 ** rng.integers(-8, 8, (2, 12))
    plan = planned_ad.compile(f, (a, b), calls=())
    for _ in range(3):
        a, b = b, rng.permutation(a)
        np.testing.assert_array_equal(plan(a, b), f(a, b))
        np.testing.assert_array_equal(np.signbit(plan(a, b)), np.signbit(f(a, b)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"])
def test_integers_of_large_numbers_wrap_around(dtype: str) -> None:
    x = np.linspace(-3e5, 7e5, 37)
    plan = planned_ad.compile(lambda x: ((2.0 * x).astype(dtype), np.sum(x)), (x,), calls=())
    for y in (x, x / 977):
        np.testing.assert_array_equal(plan(y)[0], (2.0 * y).astype(dtype))
