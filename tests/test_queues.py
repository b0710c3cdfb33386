"""`collections.deque`, `list.insert`, `bisect`: one trace serves for all inputs, and each does what Python does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan
from .queue_programs import LOOPS, heap_sorted
from .random_queues import N, function
from .sweeps import name_of, rotated
from .test_lists_of_lists import assert_right

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 400)]


@pytest.mark.parametrize(("f", "unroll"), rotated(LOOPS, [0, 16]), ids=name_of)
def test_value_and_slope(f: Callable, unroll: int) -> None:
    x = np.random.default_rng(0).normal(size=N)
    if f in LOOPS[::3]:
        plan: Callable = planned_ad.compile(f, (x,), unroll=unroll, check=False)
    else:
        plan = InterpretedPlan(f, x, unroll=unroll)
    assert_right(f, plan, 1, 4)


@pytest.mark.parametrize("f", LOOPS, ids=name_of)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).normal(size=42),), unroll=0)
    assert found.rolled and not found.unrolled


@pytest.mark.parametrize("seed", [*range(10), *LONG])
def test_random_programs(seed: int) -> None:
    f, x = function(seed), np.random.default_rng(seed).normal(size=N)
    if abs(f(x)) > 1e4:  # where slopes are known to a few digits
        pytest.skip("its numbers are large")
    assert_right(f, InterpretedPlan(f, x, unroll=16 * (seed % 2)), seed, 3)


def test_what_a_queue_is() -> None:
    """To the program it is a deque: no list, without slices, with a length that it keeps to."""

    def f(x):
        q, found = deque(maxlen=3), []
        for v in x:
            if v > 0:
                q.append(v)
            found.append(v * 2)
        with pytest.raises(TypeError):
            q[1:]
        kinds = isinstance(q, deque) and not isinstance(q, list) and type(q) is deque and q.maxlen == 3
        return sum(q) + (1.0 if kinds and not hasattr(found, "popleft") else 0.0)

    x = np.random.default_rng(0).normal(size=30)
    plan = planned_ad.compile(f, (x,), check=False)
    for other in (x, -x):
        assert plan(other) == pytest.approx(f(other)) == pytest.approx(1 + sum(other[other > 0][-3:]))


def test_loops_that_are_left_at_once_somewhere() -> None:
    """The last call of `sift` leaves its loop before it does anything; the others are recorded as loops."""
    x = np.random.default_rng(0).normal(size=N)
    assert_right(heap_sorted, InterpretedPlan(heap_sorted, x), 1, 4)
    (loop,) = trace(heap_sorted, (x,)).unrolled
    assert loop.reason == "is left at once"


def test_how_long_a_queue_may_be_is_known_by_a_guard():
    def f(x, width):
        window, total = deque(maxlen=2 * int(width[0]) - 1), 0.0
        for v in x:
            window.append(v)
            total += sorted(window)[len(window) // 2]
        return total

    x = np.random.default_rng(0).random(20)
    plan = planned_ad.compile(f, (x, np.array([2])))
    for width in (2, 3):
        assert plan(x, np.array([width])) == pytest.approx(f(x, np.array([width])), rel=1e-14)
