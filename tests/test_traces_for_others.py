"""A trace for other arguments begins with what the last one has found out of the function's loops and lists."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
import planned_ad.calls.check.checked_traces as checked_traces
import planned_ad.trace as tracing
from planned_ad.errors import TraceError

from .run_time_list_programs import chain


def hull(x):
    points = sorted((p[0], p[1]) for p in x)
    around = np.array(chain(points)[:-1] + chain(points[::-1])[:-1])  # of a length that is rolled: each has a trace
    return np.sum(np.sqrt(np.sum((around - np.roll(around, 1, axis=0)) ** 2, axis=1)))


def shortest(x):
    """Dijkstra's way across a grid of costs; its places are known by floating numbers, which no dict in memory has."""
    cost = np.exp(x)
    known, queue = {0.0: 0.0}, [(0.0, 0)]
    while queue:
        far, at = heapq.heappop(queue)
        if far > known[float(at)]:
            continue
        i, j = divmod(at, 2)
        for a, b in ((i + 1, j), (i, 1 - j)):
            if a < len(x):
                length = far + cost[i, j] * cost[a, b]
                if length < known.get(float(2 * a + b), np.inf):
                    known[float(2 * a + b)] = length
                    heapq.heappush(queue, (length, 2 * a + b))
    return known[float(2 * len(x) - 1)]


def data(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(9, 2))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows by one for each run of a function that is traced."""
    found: list[Any] = []
    once = tracing._trace_once

    def counted(f: Any, *rest: Any) -> Any:
        found.append(f)
        return once(f, *rest)

    monkeypatch.setattr(tracing, "_trace_once", counted)
    return found


def agrees(plan: Any, f: Callable, x: np.ndarray) -> None:
    assert plan(x) == pytest.approx(f(x), rel=1e-12)
    direction, h = np.cos(np.arange(x.size)).reshape(x.shape), 1e-6
    slope = (f(x + h * direction) - f(x - h * direction)) / (2 * h)
    assert np.sum(plan.gradient(x) * direction) == pytest.approx(slope, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("f", [hull, shortest])
def test_another_way_takes_one_run(f: Callable, runs: list[Any]) -> None:
    plan = planned_ad.compile(f, (data(0),))
    first = len(runs)
    agrees(plan, f, data(0))
    assert first > 1 and len(runs) == first
    traces = len(plan._variants)
    for seed in (1, 2, 3):
        agrees(plan, f, data(seed))
    others = len(plan._variants) - traces
    # One run each; one more where it is tried whether a length may be any.
    assert others and len(runs) - first <= others + 1


def test_a_derivative_and_its_function_are_looked_at_once(runs: list[Any]) -> None:
    planned_ad.compile(planned_ad.grad(hull), (data(0),))
    assert [f is hull for f in runs].count(True) == 1  # by itself, to compare it with the function


def test_what_leads_nowhere_is_found_out_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, refused = checked_traces.trace, []

    def refusing(*args: Any, decisions: Any = None, **options: Any) -> Any:
        if decisions is not None:
            refused.append(decisions)
            raise TraceError("refused")
        return trace(*args, **options)

    monkeypatch.setattr(checked_traces, "trace", refusing)
    plan = planned_ad.compile(lambda x: hull(x), (data(0),))
    assert not refused
    for seed in (1, 2, 3):
        agrees(plan, hull, data(seed))
    assert len(refused) == len(plan._variants) - 1 > 0
