"""Sums into an element of the array whose other elements they read: a carry where loops never come to that element."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.tape.tape import Loop, walk
from planned_ad.trace import trace

from .oracle import check_gradient

RNG = np.random.default_rng(8)


def below(a, b):
    n, m = b.shape
    for i in range(n):
        for j in range(m):
            for k in range(i + 1, n):
                b[i, j] += a[k, i] * b[k, j]
    return np.sum(b**2)


def above(a, b):
    n, m = b.shape
    for i in range(n - 1, 0, -1):
        for j in range(m):
            for k in range(i):
                b[i, j] -= a[i, k] * b[k, j]
    return np.sum(b**2)


def of_a_vector(a, b):
    x = b[:, 0]
    for i in range(len(x)):
        for k in range(i + 1, len(x)):
            x[i] += a[i, k] * x[k]
    return np.sum(x**2)


def left_of_it(a, b):
    for i in range(len(a)):
        for j in range(1, len(a)):
            for k in range(j):
                a[i, j] += 0.1 * a[i, k]
    return np.sum(a**2) + b[0, 0]


def itself_too(a, b):
    x = b[:, 0]
    for i in range(len(x)):
        for k in range(len(x)):
            x[i] += 0.1 * a[i, k] * x[k]
    return np.sum(x**2)


def up_to_itself(a, b):
    for i in range(len(b)):
        for k in range(i + 1):
            b[i, 1] += 0.1 * a[i, k] * b[k, 1]
    return np.sum(b**2)


def in_the_next_row(a, b):
    n, m = b.shape
    for i in range(n - 1):
        for k in range(m):
            b[i + 1, 0] += 0.1 * b[i, k] * a[i, k % n]
    return np.sum(b**2)


def wraps_around(a, b):
    flat = b.reshape(-1)
    for i in range(4, len(flat) - 5):
        for k in range(5):
            flat[i] += 0.1 * flat[i + k - 2] * a[0, k]
    return np.sum(flat**2)


ONE_SUM = (below, above, of_a_vector, left_of_it, in_the_next_row)


@pytest.mark.parametrize("f", [*ONE_SUM, itself_too, up_to_itself, wraps_around], ids=lambda f: f.__name__)
def test_gradients(f: Callable) -> None:
    check_gradient(f, 0.3 * RNG.normal(size=(9, 9)), 0.3 * RNG.normal(size=(9, 7)), every_call=False)


@pytest.mark.parametrize("f", ONE_SUM, ids=lambda f: f.__name__)
def test_they_are_one_sum(f: Callable) -> None:
    tape = vectorise(trace(f, (np.ones((30, 30)), np.ones((30, 28))), unroll=1).tape)
    innermost = [op for op in walk(tape.operations) if isinstance(op, Loop) and not any(o.blocks for o in op.body)]
    assert innermost and all(any(v.shape for inner in op.body for v in inner.outputs) for op in innermost)
