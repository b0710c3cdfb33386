"""`while` loops that end at the end of an array or where data say: what they read by their own counter."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import InterpretedPlan, assert_right
from .program_lists import Programs

SIZE = 60
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def segments(x):
    n = len(x)
    i = 0
    s = 0.0
    while i < n:
        tot = 0.0
        j = i
        while j < n and tot < 1.0:
            tot += abs(x[j])
            j += 1
        s += tot * tot
        i = j
    return s


@rolled
def segments_by_one_index(x):
    n = len(x)
    i = 0
    s = 0.0
    while i < n:
        tot = 0.0
        while i < n and tot < 1.0:
            tot += abs(x[i])
            i += 1
        s += tot * tot
    return s


@rolled
def as_far_as_a_sum(x):
    n = len(x)
    j = 0
    tot = 0.0
    while j < n and tot < 5.0:
        tot += abs(x[j])
        j += 1
    return tot * j


@rolled
def from_the_end(x):
    j = len(x) - 1
    tot = 0.0
    while j >= 0 and tot < 5.0:
        tot += abs(x[j])
        j -= 1
    return tot * j


@rolled
def merged(x):
    a = np.sort(x[:30])
    b = np.sort(x[30:])
    i = j = 0
    s = 0.0
    while i < 30 and j < 30:
        if a[i] < b[j]:
            s += a[i] * j
            i += 1
        else:
            s += b[j] * i
            j += 1
    return s


@rolled
def runs_of_labels(x):
    m = np.floor(x * 4)
    i = 0
    out = []
    n = len(x)
    while i < n:
        j = i + 1
        while j < n and m[j] == m[i]:
            j += 1
        out.append(sum(x[i:j]))
        i = j
    return sum(v * v for v in out)


@rolled
def rows_of_a_matrix(x):
    A = x.reshape(12, 5)
    i = 0
    s = 0.0
    while i < 12 and s < 9.0:
        s += A[i] @ A[i]
        i += 1
    return s * i


@rolled
def from_both_ends(x):
    lo, hi = (0, len(x) - 1)
    xs = np.sort(x)
    while lo < hi and xs[lo] + xs[hi] != 1.0:
        if xs[lo] + xs[hi] < 1.0:
            lo += 1
        else:
            hi -= 1
    return xs[lo] * xs[hi]


@rolled
def inserted(x):
    a = x.copy()
    for i in range(1, len(a)):
        v = a[i]
        j = i - 1
        while j >= 0 and a[j] > v:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = v
    return np.sum(a * np.arange(len(a)))


@rolled
def until_a_sum(x):
    j = 0
    tot = 0.0
    while tot < 25.0:
        tot += abs(x[j])
        j += 1
    return tot * j


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope_by_one_trace(f):
    assert_right(f, SIZE, 0, 16)
    plan = InterpretedPlan(f, np.random.default_rng(0).random(SIZE))
    for x in np.random.default_rng(1).random((4, SIZE)):
        assert plan(x) == pytest.approx(f(x), rel=1e-11)
    assert len(plan.traces) == 1 and not plan.traces[0].unrolled


def test_an_index_beyond_the_array_is_an_error():
    plan = planned_ad.compile(until_a_sum, (np.ones(SIZE),), calls=())
    with pytest.raises(IndexError, match="out of range for axis 0 with size 60"):
        plan(np.full(SIZE, 0.1))
    assert plan(np.full(SIZE, 2.0)) == until_a_sum(np.full(SIZE, 2.0))
