"""Objects, dicts and lists that take turns on sides of branches, while the arrays in them have other names too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import assert_right
from .random_exchanged_objects import SIZE, Holder, function
from .sweeps import name_of, rotated

LONG = [pytest.param(seed, seed % 2 * 16, marks=pytest.mark.long) for seed in range(8, 400)]
RECORDED = [*range(8), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(8, 120))]


def written_or_exchanged(x):
    o, p = Holder(x[0]), Holder(0.3)
    ref = o.arr
    if x[0] > 0.5:
        ref[1] *= 0.7
    else:
        o, p = p, o
    if x[1] > 0.5:
        ref[1] *= 0.7
    if x[2] > 0.5:
        ref[1] *= 0.7
    return o.arr[1] + 0.5 * p.arr[1]


def in_a_short_loop(x):
    o, p = Holder(x[0]), Holder(0.3)
    ref = o.arr
    for v in x[:4]:
        if v > 0.5:
            ref[1] *= 0.7
        else:
            o, p = p, o
    return o.arr[1] + 0.5 * p.arr[1]


def within_one_another(x):
    first, second = {"inner": Holder(x[0])}, {"inner": Holder(x[1])}
    ref = second["inner"].arr
    if x[2] > 0.5:
        first, second = second, first
    if x[3] > 0.4:
        ref[0] = x[4]
    return first["inner"].arr[0] + 2.0 * second["inner"].arr[0]


def of_itself(x):
    o, p = Holder(x[0]), Holder(x[1])
    o.other, p.other = p, o
    ref = o.arr
    if x[2] > 0.5:
        o = o.other
    if x[3] > 0.4:
        ref[0] = x[4]
    return o.arr[0] + 2.0 * o.other.arr[0]


@pytest.mark.parametrize("f", [written_or_exchanged, in_a_short_loop, within_one_another, of_itself], ids=name_of)
def test_all_ways_in_one_trace(f: Callable) -> None:
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(SIZE),), check=False, on_branch="record", calls=())
    for x in rng.random((12, SIZE)):
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
    assert_right(f, SIZE, 1, 16)


@pytest.mark.parametrize("seed", RECORDED)
def test_random_programs_in_one_trace(seed: int) -> None:
    f, rng = function(seed, short=True), np.random.default_rng(seed)
    plan = planned_ad.compile(f, (rng.random(SIZE),), check=False, on_branch="record", calls=())
    for x in rng.random((5, SIZE)):
        assert plan(x) == pytest.approx(f(x), rel=1e-11)


@pytest.mark.parametrize(("seed", "unroll"), [*rotated(range(8), [0, 16]), *LONG])
def test_random_programs(seed: int, unroll: int) -> None:
    assert_right(function(seed), SIZE, seed, unroll)


def rebound_where_it_cannot_be_told(x):
    s, o, p, third = 0.0, Holder(x[0]), Holder(0.3), Holder(0.7)
    ref, cur, both = o.arr, o, {"o": o, "p": third}
    for v in x[:6]:
        if s > 0.5:
            s = 0.0
        else:
            cur = p
        if v > 0.9:
            ref = p.arr
        if s > 0.5:
            o.arr[1] = x[1]
        else:
            o.arr[1] = x[1]
        if v > 0.9:
            ref = p.arr
    for q in (cur, both["p"]):
        s += 1 + 0.3 * q.weight
    return s + ref[1]


def test_a_variable_that_had_a_value_is_not_unassigned() -> None:
    f, rng = rebound_where_it_cannot_be_told, np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(SIZE),), check=False, calls=())
    for x in rng.random((25, SIZE)):
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
