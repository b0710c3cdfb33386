"""Divisions of the reverse sweep as products: not where the last bit decides, which is greatest or where a step is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .oracle import check_gradient

ROWS = 24


def greatest(w, v):
    total = 0.0
    for i in range(ROWS):
        total += np.max(w[i, : i + 1] / np.sqrt(20)) * v[i, 0]
    return total


def greatest_at_run_time(w, v):
    total = 0.0
    for i in range(ROWS):
        total += np.min(w[i, : i + 1] / v[i, 0])
    return total


def causal_attention(w, v):
    out = np.zeros_like(v)
    for i in range(ROWS):
        s = w[i, : i + 1] / np.sqrt(20)
        s = np.exp(s - s.max())
        s /= s.sum()
        out[i] = s @ v[: i + 1]
    return np.sum(np.sin(out))


@pytest.mark.parametrize("f", [greatest, greatest_at_run_time, causal_attention])
def test_extrema_of_quotients(f: Callable) -> None:
    rng = np.random.default_rng(2)  # no two candidates for an extremum within the steps of the differences
    check_gradient(f, rng.normal(size=(ROWS, ROWS)), 2.0 + rng.random((ROWS, 5)), every_call=False)


def test_each_extremum_has_one_place() -> None:
    w, v = np.random.default_rng(0).normal(size=(ROWS, ROWS)), np.ones((ROWS, 5))
    dw, _ = planned_ad.compile(greatest, (w, v)).gradient(w, v)
    assert ((dw != 0.0).sum(axis=1) == 1).all()
    np.testing.assert_allclose(dw.sum(axis=1), 1.0 / np.sqrt(20))


def steps(w, v):
    total = 0.0
    for i in range(ROWS):
        total += np.sum(np.floor(w[i, : i + 1] / 0.1) * v[: i + 1, 0])
    return total


def rounded(w, v):
    total = 0.0
    for i in range(ROWS):
        total += np.sum(np.rint(w[i, : i + 1] / 0.2 + 0.5) * v[: i + 1, 0] * v[i, 1])
    return total


def remainders(w, v):
    total = 0.0
    for i in range(ROWS):
        total += np.sum((w[i, : i + 1] / 0.1 % 1.0) * v[: i + 1, 0] + w[i, : i + 1] / 0.7 // 0.3 * v[: i + 1, 1])
    return total


@pytest.mark.parametrize("f", [steps, rounded, remainders])
def test_steps_of_quotients(f: Callable) -> None:
    """`0.3 / 0.1` is less than 3, and `0.3 * 10.0` is not."""
    rng = np.random.default_rng(0)
    w, v = np.round(rng.integers(0, 30, (ROWS, ROWS)) * 0.1, 1), rng.random((ROWS, 5))
    _, dv = planned_ad.compile(f, (w, v)).gradient(w, v)
    for row in (0, 1, ROWS // 2):
        for column in (0, 1):
            ahead, behind = v.copy(), v.copy()
            ahead[row, column] += 0.5
            behind[row, column] -= 0.5
            np.testing.assert_allclose(dv[row, column], f(w, ahead) - f(w, behind), rtol=1e-9, atol=1e-9)
