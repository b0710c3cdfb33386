"""Generator expressions with conditions over a few objects: with each item, the sides of its test are over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan
from .sweeps import name_of, rotated


class Point:
    def __init__(self, value):
        self.value, self.kind = value, 0

    def is_above(self, limit):
        if self.value > limit:  # noqa: SIM103 (a test)
            return True
        return False


def points(x, count=6):
    return [Point(x[i]) for i in range(count)]


def sum_of_some(x):
    ps, s = points(x), 0.0
    for _ in range(30):
        s = s * 0.9 + sum(p.value for p in ps if p.value > s * 0.1)
        for p in ps:
            p.value *= 0.99
    return s


def pairs(x):
    ps, s = points(x, 4), 0.1 * x[0]
    for _ in range(20):
        s = 0.8 * s + 0.1 * sum(p.value * q.value for p in ps if p.value > s * 0.1 for q in ps if q.value < 0.5)
        for p in ps:
            p.value = 0.9 * p.value + 0.05 * s
    return s


def by_a_method(x):
    ps, s = points(x), 0.1 * x[0]
    for _ in range(20):
        s = 0.8 * s + 0.1 * sum(p.value * p.value for p in ps if p.is_above(s) and not p.is_above(0.9))
        for p in ps:
            p.value -= 0.02 * s
    return s


def several_conditions(x):
    ps, s = [{"v": x[i], "k": i % 3} for i in range(6)], 0.1 * x[0]
    for _ in range(20):
        s = 0.8 * s + 0.1 * sum(p["v"] for p in ps if p["v"] > -0.2 if p["v"] < 0.7 or p["k"] == 1)
        for p in ps:
            p["v"] = 0.9 * p["v"] + 0.05 * s
    return s


def nearest_centres(x):
    ps, centres = points(x, 6), [x[0], x[1], x[2]]
    for _ in range(18):
        changed = False
        for p in ps:
            far = [(p.value - c) ** 2 for c in centres]
            nearest = far.index(min(far))
            if nearest != p.kind:
                p.kind = nearest
                changed = True
        if not changed:
            break
        for c in range(3):
            centres[c] += 0.2 * sum(p.value - centres[c] for p in ps if p.kind == c)
    return sum((p.value - centres[p.kind]) ** 2 for p in ps)


def any_of_some(x):
    ps, s = points(x), 0.1 * x[0]
    for _ in range(20):
        s = 0.8 * s + (0.3 if any(p.value > s for p in ps if p.value < 0.5) else 0.1)
        for p in ps:
            p.value = 0.9 * p.value + 0.01 * s
    return s + ps[0].value


def lists_of_some(x):
    ps, s = points(x, 5), 0.1 * x[0]
    for _ in range(20):
        some = [p.value for p in ps if p.value > s * 0.1]
        s = 0.9 * s + 0.1 * (sum(some) / len(some) if some else x[1]) + max((v for v in some if v < 1.0), default=0.0)
        for p in ps:
            p.value *= 0.99
    return s


LOOPS = [sum_of_some, several_conditions, nearest_centres]
OTHERS = [pairs, by_a_method, any_of_some, lists_of_some]


@pytest.mark.parametrize(("f", "unroll"), rotated([*LOOPS, *OTHERS], [16, 0]), ids=name_of)
def test_value_and_slope(f: Callable, unroll: int) -> None:
    rng = np.random.default_rng(0)
    plan, direction = InterpretedPlan(f, rng.normal(size=6), unroll=unroll), rng.normal(size=6)
    for _ in range(4 if f in LOOPS else 2):
        x, step = rng.normal(size=6), 1e-7 * direction
        assert plan(x) == pytest.approx(f(x), rel=1e-11)
        slope = (f(x + step) - f(x - step)) / 2e-7
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("f", LOOPS, ids=name_of)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).normal(size=6),))
    assert found.rolled and not found.unrolled
