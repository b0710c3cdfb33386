"""Objects, dicts and lists that each iteration makes anew, changed on one side of a branch: such loops stay loops."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.variants import MOST_PASSES
from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan
from .objects_in_turn_programs import PROGRAMS as IN_TURN
from .sweeps import name_of, rotated


class Point:
    total = 0.0

    def __init__(self, v):
        self.v = v
        self.w = 0.0

    def norm(self):
        return (self.v * self.v + self.w * self.w) ** 0.5

    def __add__(self, other):
        return Point(self.v + other.v)


@dataclasses.dataclass
class Pair:
    x: float
    y: float

    def __mul__(self, k):
        return Pair(self.x * k, self.y * k)

    def __add__(self, other):
        return Pair(self.x + other.x, self.y + other.y)


def one_for_each(x):
    total = 0.0
    for v in x:
        p = Point(v)
        total += p.norm()
    return total + p.v


def changed_on_one_side(x):
    total = 0.0
    for v in x:
        p = Point(v)
        if v > 0.5:
            p.v, p.w = 2 * v, 1.0
        total += p.v * p.w + p.v
    return total


def two_names(x):
    total = 0.0
    for v in x:
        p = Point(v)
        q = p
        q.v = q.v * 2
        if v > 0.5:
            p.v = p.v + 1
        total += q.v * p.v
    return total


def of_dicts(x):
    total = 0.0
    for v in x:
        found = {"a": v, "b": 0.0}
        if v > 0.5:
            found["a"] = 2 * v
        total += found["a"]
    return total


def of_lists(x):
    total = 0.0
    for v in x:
        found = [v, 0.0]
        if v > 0.5:
            found[1] = 2 * v
        total += found[0] * found[1]
    return total


def of_lists_that_grow(x):
    total = 0.0
    for v in x:
        found = []
        if v > 0.5:
            found.append(v)
        if v > 0.2:
            found.append(v * v)
        total += sum(found) * len(found)
    return total


def of_a_class(x):
    total = 0.0
    for v in x:
        p = Point(v)
        Point.total = Point.total + p.v
        total += Point.total
    result, Point.total = Point.total, 0.0
    return total + result


def in_turn(x):
    total = Point(0.0)
    for v in x:
        total = total + Point(v * v)
    return total.v


def values(x):
    position = Pair(0.0, 1.0)
    for v in x:
        position = position + Pair(v, -v) * 0.1
    return position.x * position.y


def the_one_before(x):
    last, total = None, 0.0
    for v in x:
        p = Point(v)
        if last is not None:
            total += p.v * last.v
        last = p
    return total


def kept_at_times(x):
    kept, total = Point(0.0), 0.0
    for v in x:
        p = Point(v)
        if v > 0.5:
            kept = p
        kept.v += 1.0
        total += p.v
    return total + kept.v


def chained(x):
    total, last = 0.0, Point(1.0)
    for v in x:
        p = Point(v)
        p.next = last
        last = p
        total += p.next.v * p.v
    return total


def functions(x):
    total = 0.0
    for v in x:

        def scaled(a, k=v):
            return a * k

        total += scaled(2.0)
    return total + scaled(1.0)


def of_dataclasses(x):
    one, other = Pair(x[0], 0.0), Pair(x[1], 1.0)
    for v in x:
        one.y, other.y = other.y + v * one.x, 0.9 * one.y
    return one.x * one.y + other.y


LOOPS = [one_for_each, changed_on_one_side, two_names, of_dicts, of_lists, of_lists_that_grow, of_dataclasses]
PROGRAMS = [*LOOPS, of_a_class, in_turn, values, the_one_before, kept_at_times, chained, functions]


OPTIONS: list[dict] = [{}, {"unroll": 0}, {"on_branch": "record"}]


@pytest.mark.parametrize(("f", "options"), rotated([*PROGRAMS, *IN_TURN], OPTIONS), ids=name_of)
def test_objects_in_loops(f: Callable, options: dict) -> None:
    rng = np.random.default_rng(0)
    if options and f not in IN_TURN:
        plan = planned_ad.compile(f, (rng.random(20),), check=False, **options)
    else:
        plan = InterpretedPlan(f, rng.random(20), **({"branches": MOST_PASSES} if "on_branch" in options else options))
    for x in rng.random((3 if f in IN_TURN else 6, 20)):
        step = 1e-7 * rng.normal(size=20)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + step) - f(x - step)) / 2
        assert plan.gradient(x) @ step == pytest.approx(slope, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).random(40),), unroll=0)
    assert found.rolled and not found.unrolled
