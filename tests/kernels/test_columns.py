"""Columns of narrow arrays: accessed together, with the same result."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from tests import sweeps


def lengths(x):
    return np.sum(np.sqrt(x[:, 0] ** 2 + x[:, 1] ** 2 + x[:, 2] ** 2 + 1.0))


def pairs(x):
    return np.sum(x[:, 0] * np.sin(x[:, 1]))


def quads(x):
    return np.sum(x[:, 3] * x[:, 0] - x[:, 1] ** 2 * x[:, 2])


def some_only(x):
    return np.sum(x[:, 0] * x[:, 2] ** 2)


def rotated(x):
    """Writes columns that other columns are computed from."""
    y = np.empty_like(x)
    y[:, 1] = x[:, 0] * x[:, 2]
    y[:, 0] = x[:, 1] - x[:, 2]
    y[:, 2] = y[:, 0] * y[:, 1]
    return np.sum(y * y)


def in_place(x):
    x[:, 0] += x[:, 1] * x[:, 2]
    x[:, 1] *= x[:, 0]
    x[:, 2] -= x[:, 1]
    return np.sum(x**3)


def triangle(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            dx, dy, dz = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            total += 1.0 / (1.0 + dx * dx + dy * dy + dz * dz)
    return total


WIDTHS = {lengths: 3, pairs: 2, quads: 4, some_only: 3, rotated: 3, in_place: 3, triangle: 3}


@pytest.mark.parametrize(("rows", "dtype"), sweeps.rotated([1, 7, 8, 16, 37], [np.float64, np.float32]))
@pytest.mark.parametrize("function", WIDTHS, ids=lambda f: f.__name__)
def test_gradients(function, rows, dtype):
    x = np.random.default_rng(rows).normal(size=(rows, WIDTHS[function])).astype(dtype)
    direction = np.random.default_rng(1).normal(size=x.shape)
    value, dx = planned_ad.compile(function, (x,), unroll=0).value_and_gradient(x.copy())
    exact, h = x.astype(np.float64), 1e-6
    tolerance = 1e-6 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(value, function(exact.copy()), rtol=tolerance, atol=tolerance)
    slope = (function(exact + h * direction) - function(exact - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.sum(dx * direction), slope, rtol=10 * tolerance, atol=10 * tolerance * rows)


def test_three_columns_are_read_as_whole_vectors():
    plan = planned_ad.compile(lengths, (np.ones((64, 3)),))
    assert "shufflevector <24 x double>" in plan.llvm("gradient")


@pytest.mark.parametrize("rows", [8, 16, 37, 40])
def test_nothing_beyond_the_columns_is_touched(rows):
    """Rows of the argument are apart from one another, and the shadow lies between numbers of somebody else."""
    x = np.full((rows, 4), np.nan)
    x[:, :3] = 1.0
    around = np.full(3 * rows + 16, 7.0)
    shadow = around[8:-8].reshape(rows, 3)
    plan = planned_ad.compile(lengths, (x[:, :3],))
    plan.gradient(x[:, :3], shadow)
    np.testing.assert_allclose(shadow, 0.5)
    np.testing.assert_array_equal(np.concatenate((around[:8], around[-8:])), 7.0)
