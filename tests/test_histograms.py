"""Histograms: their edges follow the data, also where all of these are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import planned_ad

X = np.array([0.1, 0.5, 0.9, 1.7, 0.4, 1.2])
W = np.array([1.0, 2.0, 0.5, 3.0, 0.7, 1.1])


def weighted(x: Any) -> Any:
    counts, edges = np.histogram(x, bins=3, weights=W)
    return np.sum(counts * edges[1:] ** 2)


def dense(x: Any) -> Any:
    counts, edges = np.histogram(x, bins=4, density=True)
    return np.sum(counts * edges[:-1])


def in_a_range(x: Any) -> Any:
    counts, edges = np.histogram(x, bins=4, range=(x[0], x[0]))
    return np.sum(counts * edges[1:]) + x[2]


def of_two(x: Any) -> Any:
    counts, first, second = np.histogram2d(x, x[::-1] ** 2, bins=(3, 2))
    return np.sum(counts * first[1:, None] * second[:-1])


@pytest.mark.parametrize("f", [weighted, dense, in_a_range, of_two, lambda x: np.histogram_bin_edges(x, 5) @ W])
def test_edges_follow_the_data(f: Any) -> None:
    plan = planned_ad.compile(f, (X,))
    for x in (X, X[::-1] * 2.0, np.full(6, 0.7), np.zeros(6)):
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)
    moved = X * np.linspace(1.0, 1.3, 6)
    slopes = [(f(moved + h) - f(moved - h)) / 2e-6 for h in 1e-6 * np.eye(6)]
    np.testing.assert_allclose(plan.gradient(moved), slopes, rtol=1e-6, atol=1e-8)
