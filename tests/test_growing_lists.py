"""Lists that get longer in the loops that read them: values, slopes, and that such loops stay loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.trace import trace

from .growing_list_programs import LOOPS, PROGRAMS
from .interpreted_plans import assert_right, inputs
from .random_growing_lists import function
from .sweeps import name_of, rotated

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 400)]


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [0, 16]), ids=name_of)
def test_lists_that_get_longer(f: Callable, unroll: int) -> None:
    assert_right(f, 24, 0, unroll, compiled=unroll == 0 and f in LOOPS[::3])


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).random(24),), unroll=0)
    assert found.rolled and not found.unrolled


def valid(seed: int) -> Callable | None:
    """The random program of this seed, where Python has no error for it, and no large number."""
    f = function(seed)
    try:
        values = [f(x) for x in inputs(seed % 1000, 10)]
    except (IndexError, ValueError):
        return None
    return f if np.max(np.abs(values)) < 1e6 else None  # differences of more say nothing


@pytest.mark.parametrize("seed", [*range(12), *LONG])
def test_random_programs(seed: int) -> None:
    f = next(found for n in range(seed, 10**6, 1000) if (found := valid(n)) is not None)
    assert_right(f, 10, seed % 1000, 16 * (seed % 2))
