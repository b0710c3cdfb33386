"""`min` and `max` of tuples of numbers: the first that differ say which one is taken."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs

SIZE = 60
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def nearest_hit(x):
    tot = 0.0
    for i in range(len(x)):
        h = []
        for s in range(5):
            q = np.sin(7 * x[i] + s)
            if q > 0:
                h.append((q, s))
        if h:
            q, s = min(h)
            tot += q**2 * (s + 1)
        else:
            tot += 0.1
    return tot


@rolled
def last_of_three(x):
    tot = 0.0
    for i in range(len(x)):
        h = []
        for s in range(5):
            q = np.sin(7 * x[i] + s)
            if q > 0:
                h.append((s // 2, q, x[i] * s))
        if h:
            s, q, w = max(h)
            tot += q**2 * (s + 1) * w
    return tot


@rolled
def nearest_neighbour(x):
    tot = 0.0
    for i in range(30):
        d, j = min((abs(x[i] - x[k]) + (1.0 if k == i else 0.0), k) for k in range(30))
        tot += d * x[j]
    return tot


@rolled
def of_zip_and_enumerate(x):
    m = np.floor(x * 8).astype(int) + 1
    return min(zip(x, m))[0] + max((v, k) for k, v in enumerate(x))[1]


@program
def of_written_tuples(x):
    s = 0.0
    for i in range(20):
        a, b = max((x[i], i), (x[i + 1], i + 1), (x[i + 2], 0))
        s += a * b
    return s


@rolled
def ties_by_the_second(x):
    m = np.floor(x * 8).astype(int) + 1
    r = [(float(m[i] // 3), x[i]) for i in range(30)]
    a, b = min(r)
    c, d = max(r)
    return a * b + c * d + b


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)


def first_of_none(x):
    total = 0.0
    for i in range(40):
        total += min((x[k], k) for k in range(i % 20) if x[k] > 0.1)[0]
    return total


def test_no_tuple_is_an_error():
    x = np.random.default_rng(0).random(SIZE)
    with pytest.raises(ValueError, match="empty"):
        planned_ad.compile(first_of_none, (x,))


def with_a_default(x):
    total = 0.0
    for i in range(40):
        v, k = min(((x[k], k) for k in range(20) if x[k] > x[i]), default=(2.0, 0))
        total += v * (1 + k)
    return total


def test_a_default():
    assert_right(with_a_default, SIZE, 0, 16)
