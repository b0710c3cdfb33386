"""Sets whose elements data say: `if k not in seen: seen.add(k)`."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs
from .random_sets import function

SIZE = 40
LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 400)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


def labelled(x):
    return np.floor(x * 9).astype(int)


@rolled
def first_of_each(x):
    seen, s = set(), 0.0
    for k, v in zip(labelled(x), x):
        if k not in seen:
            seen.add(k)
            s += v * v
        else:
            s -= 0.1 * v
    return s + len(seen)


@rolled
def visited(x):
    m, seen, s, k = labelled(x), {0}, 0.0, 0
    for i in range(len(x)):
        k = (k + m[i]) % 20
        if k in seen:
            continue
        seen.add(k)
        s += x[i] * k
    return s


@rolled
def taken_in_turn(x):
    used, s = set(), 0.0
    for i in range(20):
        best, at = -1.0, -1
        for j in range(len(x)):
            if j in used:
                continue
            v = x[j] * (1 + ((i + j) % 3))
            if v > best:
                best, at = v, j
        used.add(at)
        s += best * (i + 1)
    return s


@rolled
def in_and_out(x):
    seen = set()
    for k in labelled(x):
        if k in seen:
            seen.remove(k)
        else:
            seen.add(k)
    return sum(x[k] for k in range(9) if k in seen) ** 2


@rolled
def counted_in_a_loop(x):
    m, s = labelled(x), 0.0
    for i in range(len(x)):
        near = set()
        for j in range(i):
            if abs(x[j] - x[i]) < 0.1:
                near.add(m[j])
        s += len(near) * x[i]
    return s


@rolled
def in_an_object(x):
    class Marks:
        def __init__(self):
            self.done = set()

        def is_new(self, k):
            if k in self.done:
                return False
            self.done.add(k)
            return True

    marks, s = Marks(), 0.0
    for k, v in zip(labelled(x), x):
        if marks.is_new(k):
            s += v * k
    return s


@program
def its_order(x):
    seen = set()
    for k in labelled(x):
        seen.add(k * 7 % 23)
    s = 0.0
    for k in seen:
        s = 0.5 * s + x[k % 5]
    return s


@program
def with_others(x):
    one, other = set(), set()
    for v, k in zip(x, labelled(x)):
        if v > 0.5:
            one.add(k)
        else:
            other.add(k % 6)
    return x[0] * len(one & other) + x[1] * len(one | other) + x[2] * len(one - {3}) + x[3] * (one == other)


@program
def what_it_is(x):
    seen = set()
    for k in labelled(x):
        seen.add(k)
    return float(isinstance(seen, set)) + 2.0 * (type(seen) is set) + len(seen) * x[0] + bool(seen)


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE, 0)


@pytest.mark.parametrize("seed", [*range(10), *LONG])
def test_random_programs(seed):
    assert_right(function(seed), 24, seed, 16 * (seed % 2))


def test_what_is_not_there_cannot_be_removed():
    def f(x):
        seen = set()
        for k in labelled(x):
            seen.add(k)
        for k in range(3):
            seen.remove(k)
        return len(seen) * x[0]

    x = np.linspace(0.0, 0.99, SIZE)
    plan = planned_ad.compile(f, (x,), calls=())
    assert plan(x) == pytest.approx(f(x))
    with pytest.raises(KeyError):
        plan(0.5 + x * 0.5)
