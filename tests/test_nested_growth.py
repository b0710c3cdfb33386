"""Lists that grow by one element whichever way branches in branches go have a length that is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.tape.guards import guards_of
from planned_ad.trace import trace

from .interpreted_plans import assert_right
from .random_nested_growth import SIZE, function
from .sweeps import name_of, rotated

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 400)]


def between_two_bounds(x):
    return np.sum(np.array([0.5 * v**2 if 0.2 < v < 0.6 else abs(v) - 0.5 for v in x]) ** 2)


def both(x):
    found = []
    for v in x:
        if v > 0.2 and v < 0.6:
            found.append(0.5 * v * v)
        else:
            found.append(v - 0.5)
    return np.sum(np.array(found) * x)


def three_kinds(x):
    found, s = [], 0.0
    for k, v in enumerate(x):
        if v > 0.7:
            found.append(v * v)
        elif v > 0.4:
            if k % 2 or s > 2.0:
                found.append(np.sin(v))
            else:
                found.append(0.1 * v)
        else:
            found.append(-v)
        s += v * v
    return s * np.sum(np.array(found) * x)


@pytest.mark.parametrize(("f", "unroll"), rotated([between_two_bounds, both, three_kinds], [0, 16]), ids=name_of)
def test_length_is_known(f: Callable, unroll: int) -> None:
    found = trace(f, (np.random.default_rng(0).random(SIZE),), unroll=unroll)
    assert found.rolled and not found.unrolled
    assert not any(guard.what == "bounds" for guard in guards_of(found.tape))
    assert_right(f, SIZE, 1, unroll)


@pytest.mark.parametrize("seed", [*range(12), *LONG])
def test_random_programs(seed: int) -> None:
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))
