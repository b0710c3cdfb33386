"""`flag is True` and `flag is False` of truths that data decide, and membership in a set that is written there."""

import numpy as np
import pytest

import planned_ad

from .one_trace import traces_of


def until_it_is_so(x):
    done, v, steps = False, abs(x[0]) + 2, 0
    while done is False:
        v = v * 0.9
        steps += 1
        if v <= 1e-2 * (abs(x[1]) + 0.1):
            done = True
    return v * steps


def as_long_as_it_is(x):
    go, v = True, abs(x[0]) + 2
    while go is True:
        v = v * 0.9
        go = bool(v > 1e-2 * (abs(x[1]) + 0.1))
    return v


def from_once_on(x):
    total, hit = 0.0, False
    for k in range(20):
        if x[k] > 1.2:
            hit = True
        if hit is not True:
            total += x[k]
        elif hit is True:
            total -= 2 * x[k]
    return total


def given_by_a_function(x):
    def is_high(v):
        return v > 0.5

    total = 0.0
    for k in range(20):
        if is_high(float(x[k])) is True:
            total += x[k]
    return total


def one_of_two(x):
    a, b, total = x[0], x[1], 0.0
    for k in range(12):
        c = 0.5 * (a + b) if k % 3 else a
        if c not in {a, b}:
            total += c
        if c in {a}:
            total += 2 * c
        a, b = b, c
    return total


FUNCTIONS = [until_it_is_so, as_long_as_it_is, from_once_on, given_by_a_function, one_of_two]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_trace_serves_for_every_way(function):
    assert traces_of(function, 8) == 1


def test_truths_of_numpy_are_not_true():
    def f(x):
        return x[1] if (x[0] > 0) is True else 2 * x[2]

    plan = planned_ad.compile(f, (np.array([1.0, 2.0, 3.0]),))
    assert plan(np.array([1.0, 2.0, 3.0])) == 6.0
    assert plan.gradient(np.array([-1.0, 2.0, 3.0])).tolist() == [0.0, 0.0, 2.0]
