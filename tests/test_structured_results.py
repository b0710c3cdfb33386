"""Results that data choose, or that are None for some: as the function has them; what holds more is refused by name."""

from __future__ import annotations

import collections
import functools
from dataclasses import dataclass

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import UnsupportedError

INPUTS = [np.array([0.3, 0.9, 1.2, -1.0, 0.1]), np.full(5, -0.5), np.array([0.1, 0.2, 1.5, 1.4, 0.0])]


@dataclass
class Point:
    v: float
    w: float = 1.0
    next: Point | None = None


def best_or_none(x):
    best = None
    for i in range(20):
        if x[i % 5] > 0.8 and (best is None or x[i % 5] > best):
            best = x[i % 5] * 2
    return best, x[0] * 2


def best_alone(x):
    best = None
    for i in range(20):
        if x[i % 5] > 0.8:
            best = x[i % 5] * 2
    return best


def last_index(x):
    last = None
    for i in range(20):
        if x[i % 5] > 0.3:
            last = i
    return {"at": last, "value": [x[0] * 2]}


def best_point(x):
    points = [Point(x[i] * 2) for i in range(5)]
    best = points[0]
    for i in range(20):
        if points[i % 5].v > best.v:
            best = points[i % 5]
        best.w += 0.1 * x[i % 5]
    return best, points


def kept_points(x):
    points = [Point(x[i] * 2) for i in range(5)]
    for _ in range(20):
        points = [p for p in points if p.v > -2.0 * p.w]
        for p in points:
            p.w *= 0.9
    return points


def rows_in_order(x):
    rows = [[x[i] * 2, float(i)] for i in range(5)]
    for _ in range(20):
        for k in range(4):
            if rows[k][0] > rows[k + 1][0]:
                rows[k], rows[k + 1] = rows[k + 1], rows[k]
    return rows


def chosen_dict(x):
    found = [{"v": x[i], "n": i} for i in range(5)]
    best = found[0]
    for i in range(20):
        if found[i % 5]["v"] > best["v"]:
            best = found[i % 5]
    return best


def chain(x):
    points = [Point(x[i]) for i in range(5)]
    first = None
    for i in range(20):
        if points[i % 5].v > 0.5:
            points[i % 5].next = None if first is points[i % 5] else first
            first = points[i % 5]
            break
    return first, x[1] * 3


def some_range(x):
    return range(2, 5), x[0] * 2


PROGRAMS = [
    best_or_none,
    best_alone,
    last_index,
    best_point,
    kept_points,
    rows_in_order,
    chosen_dict,
    chain,
    some_range,
]


def assert_same(found, expected):
    if isinstance(expected, Point):
        assert type(found) is Point
        assert_same(vars(found), vars(expected))
    elif isinstance(expected, tuple | list):
        assert type(found) is type(expected) and len(found) == len(expected)
        for a, b in zip(found, expected):
            assert_same(a, b)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        assert_same([*found.values()], [*expected.values()])
    elif isinstance(expected, float):
        assert isinstance(found, float) and found == pytest.approx(expected, rel=1e-12)
    else:
        assert type(found) is type(expected) and found == expected


@pytest.mark.parametrize("options", [{}, {"check": False, "unroll": 0}], ids=str)
@pytest.mark.parametrize("f", PROGRAMS)
def test_results(f, options):
    plan = planned_ad.compile(f, INPUTS[0], **options)
    for x in INPUTS:
        assert_same(plan(x), f(x))


class WithQueue:
    def __init__(self, v):
        self.q = collections.deque([v])


class Numbers(list):
    pass


REFUSED = {
    "deque": lambda x: collections.deque([x[0], 1.0], maxlen=4),
    "Counter": lambda x: [collections.Counter({"a": x[0]})],
    "deque in an object": lambda x: WithQueue(x[0] * 2),
    "Numbers": lambda x: Numbers([x[0]]),
    "dict_values": lambda x: {"a": x[0]}.values(),
    "generator": lambda x: (v * 2 for v in [x[0], x[1]]),
    "function": lambda x: lambda: x[0] * 2,
    "partial": lambda x: functools.partial(max, x[0] * 2),
    "ndarray": lambda x: np.array([x[0], None], dtype=object),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_plan_does_not_give_back(name):
    for f in (REFUSED[name], lambda x: (x[2] * 2, REFUSED[name](x))):
        with pytest.raises(UnsupportedError, match=f"returns a {name.split()[0]} that holds computed numbers"):
            planned_ad.compile(f, INPUTS[0])
