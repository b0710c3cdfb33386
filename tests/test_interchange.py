"""Loops over items around loops over time: the loops over time go outside, around operations on all items."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.passes.vectorise import vectorise as vectorising
from planned_ad.passes.vectorise.interchange import interchanged
from planned_ad.passes.vectorise.vectorise import is_nest, vectorise
from planned_ad.tape.guards import decides
from planned_ad.tape.tape import Loop, walk
from planned_ad.trace import trace

from .blocks import assert_same
from .interpreted_plans import assert_right
from .program_lists import Programs
from .random_item_loops import ITEMS, STEPS, random_item_loops

N, T = 12, 20
SIZE = N * T
PROGRAMS = Programs()


@PROGRAMS.rolled
def paths(x):
    z, s = x.reshape(N, T), 0.0
    for i in range(N):
        v = 1.0
        for t in range(T):
            v = v * np.exp(0.1 * z[i, t] - 0.01 * v)
        s += max(v - 1.0, 0.0)
    return s / N


@PROGRAMS.rolled
def a_sum_in_the_loop_over_time(x):
    z, s = x.reshape(N, T), 0.0
    for row in z:
        h = 0.1
        for v in row:
            h = 0.1 + 0.2 * v * v + 0.7 * h * np.tanh(h)
            s += np.log(h) + v * v / h
        s -= 0.5 * h
    return s


@PROGRAMS.rolled
def choices(x):
    z, s = x.reshape(N, T), 0.0
    for i in range(N):
        v, count = z[i, 0], 0.0
        for t in range(1, T):
            if v > 0.6:
                v = 0.5 * v * v
                count += v
            else:
                v = v + np.sin(z[i, t]) * v
        if count > 0.2:
            s += count
        s += v
    return s


@PROGRAMS.rolled
def two_loops_over_time(x):
    z, out = x.reshape(N, T), np.zeros(N)
    for i in range(N):
        a, b = 0.3, 1.0
        for t in range(T):
            a = np.sin(a + z[i, t])
        c = a * a
        for t in range(T - 1, -1, -1):
            b = b * np.cos(z[i, t] * c) + a
        out[i] = b - c
    return np.sum(out**2)


@PROGRAMS.rolled
def memory_of_each_item(x):
    z, s = x.reshape(N, T), 0.0
    for i in range(N):
        path = np.zeros(T + 1)
        path[0] = z[i, 1]
        for t in range(T):
            path[t + 1] = path[t] + 0.1 * np.sin(path[t]) * z[i, t]
        s += np.sum(path**2) + path[7]
    return s


@PROGRAMS.rolled
def sums_by_time(x):
    z, mean = x.reshape(N, T), np.zeros(T)
    for i in range(N):
        v = 0.5
        for t in range(T):
            v = np.tanh(v + z[i, t])
            mean[t] += v / N
    return np.sum(mean**2)


@PROGRAMS.rolled
def small_vectors(x):
    z, s = x.reshape(N, T), 0.0
    w = z[0, :4].reshape(2, 2)
    for i in range(N):
        h = np.zeros(2)
        for t in range(T):
            h = np.tanh(w @ h + z[i, t])
        s += h @ h
    return s


@PROGRAMS.rolled
def loops_in_loops(x):
    z, s = x.reshape(N, T), 0.0
    for i in range(N):
        v = z[i, 0]
        for t in range(T):
            w = v
            for _ in range(17):
                w = w - 0.1 * (w**3 - z[i, t])
            v = 0.5 * w + 0.1
            s += v
    return s


@PROGRAMS.rolled
def the_last_one_is_used(x):
    z = x.reshape(N, T)
    v = 0.0
    for i in range(N):
        v = z[i, 2]
        for t in range(T):
            v = np.sin(v) + z[i, t]
    return v * v


@PROGRAMS.rolled
def a_maximum_over_all(x):
    z, worst = x.reshape(N, T), 0.0
    for i in range(N):
        v = 0.1
        for t in range(T):
            v = np.sin(v) * 0.9 + z[i, t]
            worst = np.maximum(worst, v)
    return worst


@PROGRAMS.program
def one_item_needs_the_one_before(x):
    z, v = x.reshape(N, T), 0.0
    for i in range(N):
        for t in range(T):
            v = np.sin(v) + z[i, t]
    return v


@PROGRAMS.program
def a_row_that_needs_the_row_before(x):
    z = x.reshape(N, T).copy()
    for i in range(1, N):
        for t in range(1, T):
            z[i, t] = np.sin(z[i, t - 1]) * z[i - 1, t]
    return np.sum(z)


@PROGRAMS.program
def items_read_what_all_have_summed(x):
    z, s = x.reshape(N, T), 0.0
    for i in range(N):
        v = 0.1
        for t in range(T):
            v = np.sin(v) + z[i, t] * s
            s += 0.01 * v
    return s


@PROGRAMS.program
def steps_that_differ(x):
    z, s = x.reshape(N, T), 0.0
    for i in range(N):
        v = 0.1
        for t in range(i):
            v = np.sin(v) + z[i, t]
        s += v
    return s


@pytest.mark.parametrize("f", PROGRAMS.all)
@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
def test_values_and_slopes(f: Callable, compiled: bool) -> None:
    assert_right(f, SIZE, 3, 0, compiled)


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_only_loops_over_time_are_left(f: Callable) -> None:
    tape = trace(f, (np.random.default_rng(0).random(SIZE),), unroll=0).tape
    changed = vectorise(tape)
    assert_same(tape, changed)
    trips = [int(op.trips) for op in walk(changed.operations) if isinstance(op, Loop)]
    assert (N in trips) == (f not in PROGRAMS.loops and f is not a_row_that_needs_the_row_before)


def test_few_items_stay_in_a_loop_of_their_own() -> None:
    def f(x):
        s = 0.0
        for i in range(3):
            v = x[i]
            for t in range(30):
                v = np.sin(v) * x[t]
            s += v
        return s

    tape = vectorise(trace(f, (np.ones(30),), unroll=0).tape)
    assert any(map(is_nest, walk(tape.operations)))


def test_a_state_that_is_kept_of_many_items_is_kept_of_a_block_of_them() -> None:
    def f(x):
        s = 0.0
        for i in range(x.shape[0]):
            v = 0.1
            for t in range(x.shape[1]):
                v = np.sin(v) + x[i, t]
            s += v
        return s

    x = np.zeros((4000, 50))
    assert planned_ad.compile(f, (x,), check=False).explain().workspace_bytes < x.nbytes / 10


def check_random(seed: int) -> bool:
    """Whether the loop over items of a random program was taken inside; its tape means the same."""
    f, done = random_item_loops(seed), []
    tape = trace(f, (np.random.default_rng(seed).random(2 * ITEMS * STEPS),), unroll=0).tape
    if any(map(decides, tape.operations)):
        return False  # a loop was written out, and numbers that the example does not have would go another way

    def noted(*args):
        found = interchanged(*args)
        done.append(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectorising, "interchanged", noted)
        assert_same(tape, vectorise(tape))
    return bool(done)


def test_random_programs() -> None:
    assert sum(map(check_random, range(40))) > 5


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 1000, 50))
def test_more_random_programs(first: int) -> None:
    assert sum(map(check_random, range(100 + first, 150 + first))) > 5
