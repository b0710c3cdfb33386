"""Integers in recorded loops: counters, indices and bounds read at run time, pairs."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.trace import trace

from .recorded_loops import N, applied, followed, loops_of, recorded, square, vector

# Integers.


def test_counters_are_expressions_of_the_index() -> None:
    def f(x, y):
        k, m = 0, len(x) - 1
        for i in range(len(x)):
            x[k] = y[m] * i
            k += 1
            m -= 1
        return np.sum(x) + k

    (loop,) = followed(f, vector(), vector(1))
    assert applied(loop.body, "gather") == 0


def test_counters_that_do_not_grow_evenly_are_run_time_integers() -> None:
    def f(x):
        k, w = 0, np.zeros(N * (N + 1) // 2)
        for i in range(N):
            for j in range(i + 1):
                w[k] = x[i] * x[j]
                k += 1
        return np.sum(w**2) + k

    followed(f, vector())


def test_counters_on_one_side_of_a_branch() -> None:
    def f(x, y):
        k = 0
        for v in x:
            if v > 0:
                y[k] = v
                k += 1
        return y

    followed(f, vector(), vector(1))


def test_indices_read_at_run_time() -> None:
    def f(x, idx):
        k, total = 0, 0.0
        for i in range(len(idx)):
            total = 0.5 * total + x[k] * x[idx[i]]
            x[idx[i]] += total
            k = idx[k]
        return total

    followed(f, vector(), np.array([3, 5, 0, 0, 1, 2]))


def test_bounds_read_at_run_time() -> None:
    def f(x, ptr):
        total = 0.0
        for i in range(len(ptr) - 1):
            for p in range(ptr[i], ptr[i + 1]):
                total = 0.5 * total + x[p]
        return total

    loops = followed(f, vector(), np.array([0, 2, 2, 6]))
    assert loops[1].count is not None


def pairs_of_rows(x):
    total = 0.0
    for i, row in enumerate(x):
        for j, other in enumerate(x[:i]):
            total += np.sum((row - other) ** 2) * j
        for a, b in zip(x[:i], x[1 : i + 1]):  # noqa: RUF007
            total += a[0] * b[1]
        for a, weight in zip(x[i:], range(N)):
            total = 0.5 * total + a[2] * weight
        for a in reversed(x[:i]):
            total = 0.5 * total + a[0]
    return total


def combined(x):
    total = 0.0
    for row, other in itertools.combinations(x, 2):
        total += np.sin(row @ other)
    for i, j in itertools.permutations(range(len(x)), 2):
        total += x[i, 0] * x[j, 1] * i
    return total + sum(x[i, j] for i, j in itertools.combinations_with_replacement(range(N), 2))


@pytest.mark.parametrize("f", [pairs_of_rows, combined])
def test_pairs(f: Callable) -> None:
    traced = recorded(f, square())
    assert not traced.unrolled and loops_of(traced)
    assert len(traced.tape.operations) < 40


def test_combinations_of_a_list_are_those_that_it_had() -> None:
    def f(x):
        items, total = [v * 2.0 for v in x], 0.0
        for a, b in itertools.combinations(items, 2):
            items[1] = a * b
            total += a - b * items[1]
        return total

    recorded(f, vector())


@pytest.mark.parametrize("count", [100, 20_000])
def test_large_arrays_from_outside_are_one_constant_in_every_pass(count: int) -> None:
    pairs = np.random.default_rng(0).integers(0, N, (count, 2))

    def f(x):
        total = 0.0
        for k in range(count):
            i, j = pairs[k]
            total += x[i] * x[j] + pairs[k, 0]
        return total

    traced = trace(f, (vector(),))
    assert not traced.unrolled and len(traced.tape.operations) < 20


def test_a_counter_through_a_triangle_is_a_number() -> None:
    """It grows by as much as the inner loop runs, which is no multiple of the index."""

    def f(packed):
        total, c = 0.0, 0
        for j in range(N):
            for i in range(j + 1, N):
                total += packed[c] * i
                c += 1
        return total * c

    traced = recorded(f, np.random.default_rng(2).normal(size=N * (N - 1) // 2))
    assert not traced.unrolled and len(loops_of(traced)) == 2


def test_integer_powers_of_indices() -> None:
    def f(x):
        total = 0.0
        for k in range(N):
            total += (-1) ** (k + 1) * x[k] / (k + 1) + x[k] ** k + k**2 * x[k] + 2**k * x[k] + np.exp(-(k**3)) * x[k]
            total += (-3) ** k * x[k] + 1**k + k**0
        return total

    traced = recorded(f, np.abs(vector()))
    assert not traced.unrolled and len(loops_of(traced)) == 1


@pytest.mark.parametrize(
    "power", [lambda k: 10 ** (k + 20), lambda k: 2.0 ** (k - 3), lambda k: 2 ** (k - 3), lambda k: k**-1]
)
def test_powers_that_are_no_integers_of_64_bits(power: Callable) -> None:
    def f(x):
        total = 0.0
        for k in range(1, N):
            total += power(k) * x[k]
        return total

    recorded(f, vector())
