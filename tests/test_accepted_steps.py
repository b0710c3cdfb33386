"""Steps that are accepted or not, and the best so far: `if e < e0 or u < exp(e0 - e): x = candidate`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from .interpreted_plans import InterpretedPlan, assert_right
from .program_lists import Programs

SIZE = 3
STEPS = 0.4 * np.random.default_rng(1).standard_normal((60, SIZE))
DRAWS = np.random.default_rng(2).random(60)
PROGRAMS = Programs()
rolled = PROGRAMS.rolled


@rolled
def annealed(x):
    at = x.copy()
    e = at @ at
    least = e
    for k in range(60):
        c = at + STEPS[k]
        ec = c @ c
        if ec < e or DRAWS[k] < math.exp(e - ec):
            at = c
            e = ec
        if e < least:
            least = e
    return at @ at + least


@rolled
def with_the_best(x):
    at = x.copy()
    e = at @ at
    least, best = e, at
    for k in range(60):
        c = at + STEPS[k]
        ec = c @ c
        if ec < e or DRAWS[k] < math.exp(e - ec):
            at = c
            e = ec
        if e < least:
            least = e
            best = at
    return at @ at + least + best[0]


@rolled
def by_two_tests(x):
    at = x.copy()
    e = at @ at
    least, best = e, at
    for k in range(60):
        c = at + STEPS[k]
        ec = c @ c
        if ec < e:  # noqa: SIM114
            at = c
            e = ec
        elif DRAWS[k] < math.exp(e - ec):
            at = c
            e = ec
        if e < least:
            least = e
            best = at
    return at @ at + least + best[0]


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_one_trace_for_all_ways(f):
    first, *others = np.random.default_rng(0).normal(size=(4, SIZE))
    plan = InterpretedPlan(f, first)
    for x in others:
        assert plan(x) == pytest.approx(f(x), rel=1e-11)
    assert len(plan.traces) == 1 and not plan.traces[0].unrolled
