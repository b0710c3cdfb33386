"""`map`, `filter` and lists of iterators are loops; see `mapped_programs`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planned_ad.trace import trace

from .interpreted_plans import assert_right, inputs
from .mapped_programs import LOOPS, PROGRAMS
from .sweeps import name_of, rotated


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [0, 16]), ids=name_of)
def test_mapped(f: Callable, unroll: int) -> None:
    assert_right(f, 24, 0, unroll, compiled=unroll == 0 and f in LOOPS[::3])


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (inputs(0, 24)[1],))
    assert found.rolled and not found.unrolled
