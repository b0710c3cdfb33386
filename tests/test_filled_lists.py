"""Lists made with their length, `[None] * n`, that loops fill; see `filled_list_programs`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.trace import trace

from .filled_list_programs import LISTS, LOOPS
from .interpreted_plans import assert_right
from .sweeps import name_of, rotated


@pytest.mark.parametrize(("f", "unroll"), rotated([*LOOPS, *LISTS], [0, 16]), ids=name_of)
def test_values_and_slopes(f: Callable, unroll: int) -> None:
    assert_right(f, 24, 0, unroll, compiled=unroll == 0)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).random(24),), unroll=0)
    assert found.rolled and not found.unrolled
