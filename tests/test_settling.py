"""Lists, deques and arrays whose length settles in the first iterations of a loop."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .interpreted_plans import assert_right
from .program_lists import Programs

SIZE = 90
PROGRAMS = Programs()


@PROGRAMS.rolled
def popped_where_it_is_long(x):
    window, total = [], 0.0
    for v in x:
        window.append(v)
        if len(window) > 5:
            window.pop(0)
        total += math.tanh(sum(window) / len(window))
    return total


@PROGRAMS.rolled
def deleted(x):
    window, total = [], 0.0
    for v in x:
        window.append(v * v)
        if len(window) > 4:
            del window[0]
        total += max(window) * window[0]
    return total


@PROGRAMS.rolled
def sliced(x):
    window, total = [], 0.0
    for v in x:
        window.append(v)
        window = window[-5:]
        total += math.sin(sum(window)) * window[-1]
    return total


@PROGRAMS.rolled
def added_and_sliced(x):
    window, total = [], 0.0
    for v in x:
        window = ([*window, v])[-3:]
        total += window[0] * window[-1]
    return total


@PROGRAMS.rolled
def inserted(x):
    window, total = [], 0.0
    for v in x:
        window.insert(0, v)
        if len(window) > 5:
            window.pop()
        total += sum(v * 0.5**k for k, v in enumerate(window))
    return total


@PROGRAMS.rolled
def of_a_deque(x):
    window, total = deque(maxlen=5), 0.0
    for v in x:
        window.append(v)
        total += math.tanh(sum(window) / len(window))
    return total


@PROGRAMS.rolled
def two_that_stay(x):
    q, total = [0.1, 0.2], 0.0
    for v in x:
        q.append(v * q[-1] + 0.5 * q[-2])
        q = q[-2:]
        total += q[0]
    return q[-1] + total


@PROGRAMS.rolled
def of_twenty(x):
    """Eight iterations are too few."""
    window, total = [], 0.0
    for v in x:
        window.append(v)
        if len(window) > 20:
            window.pop(0)
        total += max(window) - sum(window) / len(window)
    return total


@PROGRAMS.rolled
def in_a_function(x):
    def smoothed(values, width):
        window, out = [], []
        for v in values:
            window.append(v)
            if len(window) > width:
                window.pop(0)
            out.append(sum(window) / len(window))
        return out

    return sum(a * b for a, b in zip(smoothed(x, 3), smoothed(x, 6)))


@PROGRAMS.rolled
def of_tests_of_data(x):
    """Its length never settles."""
    stack, total = [], 0.0
    for v in x:
        while stack and stack[-1] > v:
            total += stack.pop() * v
        stack.append(v)
    return total + sum(stack)


@PROGRAMS.rolled
def beside_a_choice(x):
    """The choice is a branch in each iteration, the first ones too."""
    window, total = [], 0.0
    for v in x:
        if v > 0.5:
            window.append(v)
            if len(window) > 3:
                window.pop(0)
        total += sum(window) * v
    return total


@PROGRAMS.rolled
def chosen_beside_a_window(x):
    window, total = [], 0.0
    for v in x:
        window.append(v)
        if len(window) > 3:
            window.pop(0)
        total += v if sum(window) > 1.5 else v * v
    return total


@PROGRAMS.program
def kept_lists(x):
    """The list that is replaced is kept, with what was appended to it."""
    window, kept = [0.1, 0.2], []
    for v in x:
        kept.append(window)
        window = [*window[-1:], v]
        kept[-1].append(v * v)
    return sum(sum(w) for w in kept)


@pytest.mark.parametrize("f", PROGRAMS.all)
@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
def test_values_and_slopes(f: Callable, compiled: bool) -> None:
    assert_right(f, SIZE, 3, 0, compiled)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).random(SIZE),), unroll=0)
    assert found.rolled and not found.unrolled


def test_an_attempt_that_takes_too_many_operations_is_none() -> None:
    def f(x):
        window, total = [], 0.0
        for v in x:
            window.append(v)
            if len(window) > 40:
                window.pop(0)
            total += sum(window[-2:]) * window[0]
        return total

    x = np.random.default_rng(0).random(400)
    plan = planned_ad.compile(f, x, max_operations=600)
    assert plan(x) == pytest.approx(f(x), rel=1e-12)


def test_short_loops_have_no_time_to_settle() -> None:
    assert_right(popped_where_it_is_long, 12, 3, 0)
