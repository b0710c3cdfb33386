"""Indices modulo a length, `u[(i + 1) % n]`: the iterations that wrap around are recorded by themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.tape.tape import Apply, walk
from planned_ad.trace import trace

from .oracle import check_gradient

N = 40


def both_ways(u):
    v = np.zeros(N)
    for i in range(N):
        v[i] = u[i] * u[(i + 1) % N] - np.sin(u[(i - 1) % N])
    return np.sum(v**2)


def two_axes(u):
    u, v = u.reshape(8, 5), np.zeros((8, 5))
    for i in range(8):
        for j in range(5):
            v[i, j] = u[(i + 1) % 8, j] * u[i, (j - 1) % 5] + u[(i + 7) % 8, (j + 2) % 5]
    return np.sum(v**2)


def len_of_it(u):
    total = 0.0
    for i, x in enumerate(u):
        total += x * u[(i + 3) % len(u)] ** 2
    return total


def backwards(u):
    total = 0.0
    for i in range(N - 1, -1, -1):
        total += (i + 1) % N * u[i] * u[(i - 2) % N]
    return total


def quotient(u):
    total = 0.0
    for i in range(N):
        total += u[i] * ((i + 2) // N) + u[(i + 2) % N] ** 2
    return total


def often_around(u):
    total = 0.0
    for i in range(N):
        total += u[i] * u[7 * i % N]
    return total


def ring(u):
    last, total = np.zeros(3), 0.0
    for i in range(N):
        last[i % 3] = u[i] ** 2
        total += last[(i + 1) % 3] * u[i]
    return total


def left_early(u):
    total = 0.0
    for i in range(N):
        total += u[(i + 1) % N] * u[i]
        if total > 4.0:
            break
    return total


def of_each_row(u):
    total = 0.0
    for i in range(6):
        for j in range(i + 20):
            total += u[j] * u[(i + j) % 22]
    return total


SLICES = (both_ways, two_axes, len_of_it, backwards, quotient)


@pytest.mark.parametrize("unroll", [1, 16])
@pytest.mark.parametrize("f", [*SLICES, often_around, ring, left_early, of_each_row], ids=lambda f: f.__name__)
def test_gradients(f: Callable, unroll: int) -> None:
    u = np.random.default_rng(1).normal(size=N)
    check_gradient(f, u, every_call=False) if unroll == 16 else compare(f, u)


def compare(f: Callable, u: np.ndarray) -> None:
    plan = planned_ad.compile(f, u, unroll=1, check=False)
    for x in (u, 2 * u, -u):
        assert plan(x.copy()) == pytest.approx(f(x.copy()), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("f", SLICES, ids=lambda f: f.__name__)
def test_they_are_no_indices_known_at_run_time(f: Callable) -> None:
    tape = trace(f, (np.ones(N),), unroll=1).tape
    assert not any(isinstance(op, Apply) and op.primitive in ("gather", "remainder") for op in walk(tape.operations))
