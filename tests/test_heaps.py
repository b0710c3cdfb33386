"""`heapq` in loops: one trace serves for every order of the items."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import PlannedADError
from planned_ad.trace import trace

from .interpreted_plans import assert_right, inputs
from .program_lists import Programs
from .random_heap_programs import function
from .sweeps import name_of

FOUND = Programs()
program, rolled = FOUND.program, FOUND.rolled
LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(25, 600)]


@rolled
def servers(x):
    """Customers go to the server that is free first."""
    free, waited = [0.0] * 3, 0.0
    for arrival, work in enumerate(np.abs(x)):
        start = max(heapq.heappop(free), 0.3 * arrival)
        waited += start - 0.3 * arrival
        heapq.heappush(free, start + work)
    return waited + max(free)


@rolled
def events(x):
    queue, total, count = [], 0.0, 0
    for k in range(10):
        heapq.heappush(queue, (x[k] ** 2, k))
    while queue and count < 40:
        time, k = heapq.heappop(queue)
        count += 1
        total += np.sin(time) * (k + 1)
        if time < 0.8:
            heapq.heappush(queue, (time + 0.3 * abs(x[(k + count) % 20]), k))
    return total + len(queue)


@rolled
def largest(x):
    """The five largest, in a heap that begins with five."""
    kept = [v for v in x[:5]]
    heapq.heapify(kept)
    for v in x[5:]:
        heapq.heappushpop(kept, v)
    return kept[0] * x[0] + len(kept)


@rolled
def first_of_each(x):
    queue = [(0.1, 0), (0.2, 1), (0.3, 2)]
    total = 0.0
    for v in x:
        time, who = queue[0]
        total += time * (who + 1)
        heapq.heapreplace(queue, (time + v * v, who))
    return total


@program
def read_in_its_order(x):
    queue = []
    for v in x:
        heapq.heappush(queue, v)
        if len(queue) > 6:
            heapq.heappop(queue)
    return sum(v * (k + 1) for k, v in enumerate(queue))


@program
def no_heap_at_first(x):
    queue = [0.5, 0.1, x[0]]
    for v in x:
        heapq.heappush(queue, v)
        x = x + 0.1 * heapq.heappop(queue)
    return np.sum(x) + queue[0]


@program
def no_heap_any_more(x):
    queue, other = [0.1, 0.2, 0.3], []
    queue.sort(reverse=True)
    for v in x:
        if v > 0.5:
            other.append(v)
        heapq.heappush(queue, v)
        x = x + 0.1 * heapq.heappop(queue)
    rest = other[1:]
    return np.sum(x) + (heapq.heappop(rest) if rest else 0.0)


@program
def appended_to(x):
    queue, total = [], 0.0
    for v in x:
        queue.append(v)
        total += heapq.heappushpop(queue, v * v)
    return total


@pytest.mark.parametrize("f", FOUND.all, ids=name_of)
def test_value_and_slope(f: Callable) -> None:
    assert_right(f, 24, 0, 0, compiled=f in FOUND.loops)


@pytest.mark.parametrize("f", FOUND.loops, ids=name_of)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (inputs(0, 24)[1],), unroll=0)
    assert not [loop for loop in found.unrolled if loop.line.text.lstrip().startswith(("for", "while"))]


@pytest.mark.parametrize("seed", [*range(25), *LONG])
def test_random_programs(seed: int) -> None:
    assert_right(function(seed), 24, seed, 16 * (seed % 2))


def test_what_is_not_there() -> None:
    def f(x):
        queue = []
        for v in x:
            if v > 0:
                heapq.heappush(queue, v)
        return heapq.heappop(queue)

    plan = planned_ad.compile(f, (np.ones(20),))
    assert plan(np.arange(20.0)) == 1.0
    with pytest.raises(IndexError):
        plan(-np.ones(20))


def test_nan_has_no_place() -> None:
    def f(x):
        queue = []
        for v in x:
            if v != 0:
                heapq.heappush(queue, v)
        return queue[0] ** 2

    plan = planned_ad.compile(f, (np.ones(20),))
    fixed = planned_ad.compile(f, (np.ones(20),), on_branch="raise")
    for x in (np.where(np.arange(20) == 7, np.nan, 1.0), np.where(np.arange(20) == 0, np.nan, -np.arange(20.0))):
        np.testing.assert_equal(plan(x), f(x))  # traced by itself, item by item
        with pytest.raises(PlannedADError):
            fixed(x)
