"""Searches in sorted tables: what NumPy finds, in tables that are compared with whole and in larger ones."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import InterpretedPlan


def table_of(count: int, dtype: type, rng: np.random.Generator) -> np.ndarray:
    """A sorted table with numbers that are there several times; nan and infinity behind them where there is room."""
    numbers = np.sort(rng.integers(-count // 2, count // 2 + 1, count)).astype(dtype)
    if dtype is float and count > 4:
        numbers[-3:] = np.inf, np.nan, np.nan
    return numbers


def places_in(table: np.ndarray) -> np.ndarray:
    """Each number of a table, what is beside it, and what is in no interval."""
    numbers = table[np.isfinite(table)].astype(float)
    return np.concatenate((numbers, numbers - 0.5, np.nextafter(numbers, np.inf), [np.inf, -np.inf, np.nan, -0.0]))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [float, int])
def test_every_place_is_found(side, dtype):
    """Of a table that is known and of one that is traced."""
    rng = np.random.default_rng(7)
    for count in (0, 1, 2, 15, 16, 17, 18, 31, 32, 33, 63, 64, 65, 100):
        table = table_of(count, dtype, rng)
        at = places_in(table)
        plan = InterpretedPlan(
            lambda v, t=table: (np.searchsorted(t, v, side), np.searchsorted(t + v[-1], v, side)), at
        )
        for result in plan(at):
            np.testing.assert_array_equal(result, np.searchsorted(table, at, side))


@pytest.mark.parametrize("count", [3, 256, 257, 1000])
def test_one_place(count):
    """In a loop, as steps of a simulation look up their table."""
    table = np.linspace(0.0, 1.0, count)

    def looked_up(v):
        found = 0
        for i in range(len(v)):
            found = found * 3 % 1009 + np.searchsorted(table, v[i]) + np.searchsorted(table, v[i], "right")
        return found * v[0]

    at = np.concatenate((table[::7], table[::5] + 1e-9, [-1.0, 2.0]))
    plan = planned_ad.compile(looked_up, (at,))
    assert plan(at) == looked_up(at)
    assert plan(at[::-1].copy()) == looked_up(at[::-1])


@pytest.mark.parametrize("count", [5, 16, 17, 400])
def test_functions_that_search(count):
    edges = np.linspace(-1.0, 1.0, count) ** 3
    heights = np.cos(9 * edges)
    x = np.random.default_rng(1).uniform(-1.2, 1.2, 50)
    x[:5] = edges[0], edges[-1], edges[count // 2], edges[1], edges[-2]
    inside = x[np.abs(x) < 0.99]

    def found(x, heights):
        by_edges = np.histogram(x, edges, weights=x)[0]
        by_count = np.histogram(x, count, (-1, 1))[0]
        return np.interp(x, edges, heights), np.digitize(x, edges), by_edges, by_count

    plan = planned_ad.compile(found, (x, heights))
    for result, expected in zip(plan(x, heights), found(x, heights), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)
    dx, dh = planned_ad.compile(lambda x, h: np.sum(np.interp(x, edges, h) ** 2), (inside, heights)).gradient(
        inside, heights
    )
    at = np.searchsorted(edges, inside, "right") - 1
    share = (inside - edges[at]) / (edges[at + 1] - edges[at])
    value = heights[at] + share * (heights[at + 1] - heights[at])
    expected = np.zeros(count)
    np.add.at(expected, at, 2 * value * (1 - share))
    np.add.at(expected, at + 1, 2 * value * share)
    np.testing.assert_allclose(dx, 2 * value * (heights[at + 1] - heights[at]) / (edges[at + 1] - edges[at]), rtol=1e-9)
    np.testing.assert_allclose(dh, expected, rtol=1e-9, atol=1e-12)
