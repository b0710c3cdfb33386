"""`np.nanargmax` and `np.nanargmin` of nothing but nan: NumPy raises, and so do plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad

NANS = np.full(3, np.nan)


def at_once(x):
    return x[np.nanargmax(x)]


def in_a_loop(x):
    total = 0.0
    for k in range(20):
        total += x[np.nanargmin(x * (k + 1.0))]
    return total


def by_rows(x):
    return np.sum(np.nanargmax(x.reshape(1, 3), axis=1) * x[2])


def caught(x):
    try:
        return x[np.nanargmax(x)] * 2.0
    except ValueError:
        return 7.0


@pytest.mark.parametrize("f", [at_once, in_a_loop, by_rows])
def test_a_line_of_nan_is_an_error(f: Callable[[Any], Any]) -> None:
    plan = planned_ad.compile(f, (np.array([1.0, np.nan, 3.0]),))
    x = np.array([np.nan, 2.0, 5.0])
    assert plan(x) == f(x)
    with pytest.raises(ValueError, match="All-NaN slice"):
        plan(NANS)


def test_that_is_caught() -> None:
    plan = planned_ad.compile(caught, (np.array([1.0, np.nan, 3.0]),))
    assert plan(np.array([4.0, np.nan, 3.0])) == 8.0
    assert plan(NANS) == 7.0
    assert plan(np.array([1.0, 2.0, 3.0])) == 6.0
