"""`while` loops whose tests are of floats that are known: as many iterations as Python makes, counted before."""

from __future__ import annotations

import math

import numpy as np
import pytest

import planned_ad
from planned_ad.tape.tape import Loop, walk
from planned_ad.trace import trace

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs

SIZE = 60
DT = 0.1
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def by_steps(x):
    v, t = x[0], 0.0
    while t <= 5.0:
        v = v + DT * math.sin(v * x[1])
        t += DT
    return v


@rolled
def a_history(x):
    state, t = x[:3].reshape(3, 1).copy(), 0.0
    history = state
    while t <= 4.0:
        t += DT
        state = state + DT * np.array([[math.cos(state[2, 0])], [0.1], [state[0, 0]]])
        history = np.hstack((history, state))
    return np.sum(history[0] * history[2]) + history[1, -1]


@rolled
def a_list_of_rows(x):
    state, t, path = x[:3].copy(), 0.0, []
    while t < 3.0:
        state = state * 0.9 + x[3:6] * t
        path.append(state.copy())
        t += DT
    path = np.array(path)
    return np.sum(path[:, 0] * path[:, 1]) + path[-1, 2]


@rolled
def clocks_that_run_apart(x):
    """Steps that grow, and time that is asked for in the body and after the loop."""
    t, dt, v = 0.0, 0.01, x[0]
    while t < 3.0 - dt:
        v += dt * math.cos(t) * x[1]
        t, dt = t + dt, dt * 1.05
    return v * t + x[int(t * 10)]


@rolled
def backwards(x):
    t, v = 2.0, x[0]
    while t > 1e-9:
        v = 0.9 * v + t * x[2]
        t -= 0.05
    return v + t


@rolled
def in_another_loop(x):
    total = 0.0
    for i in range(20):
        t, v = 0.0, x[i]
        while t < 2.0:
            v += DT * math.sin(v) * x[i + 1]
            t += DT
        total += v
    return total


@rolled
def with_a_count_beside(x):
    """The counter ends it first."""
    t, k, v = 0.0, 0, x[0]
    while t < 5.0 and k < 30:
        v = v * 0.9 + x[k]
        t += DT
        k += 1
    return v * t


@rolled
def with_a_count_that_comes_later(x):
    t, k, v = 0.0, 0, x[0]
    while k < 55 and t < 2.0:
        v = v * 0.9 + x[k]
        t += DT
        k += 1
    return v * t * k


@rolled
def of_a_number_times_a_step(x):
    n, v = 0, x[0]
    while n * DT < 3.0:
        v = v * 0.95 + x[n]
        n += 1
    return v


@program
def any_of_two_in_a_call(x):
    t, s, v = 2.0, 0.0, x[0]
    while any([t < 5, s < 3]):
        v = v * 0.9 + x[1] * t
        t += 0.125
        s += 0.1
    return v + t * s


@program
def all_of_two_in_a_call(x):
    t, s, v = 2.0, 0.0, x[0]
    while all(c for c in (t < 5, s < 3)):
        v = v * 0.9 + x[1] * t
        t += 0.125
        s += 0.1
    return v + t * s


@program
def with_a_last_iteration_of_its_own(x):
    t, k, v = 0.0, 0, x[0]
    while t < 3.0:
        if k == 29:
            v = v + 100 * x[1]
        v = v * 0.9 + x[k]
        t += DT
        k += 1
    return v * t


@program
def with_a_first_iteration_of_its_own(x):
    t, v, before = 0.0, x[0], None
    while t < 3.0:
        v = v * 0.9 + (x[1] if before is None else before * x[2])
        before = v * t
        t += DT
    return v * t + before


@program
def exchanged_in_each_iteration(x):
    a, b, t = x[:4].copy(), x[4:8].copy(), 0.0
    while t < 3.05:
        b[:] = a * 0.9 + x[1] * t
        a, b = b, a
        t += DT
    return np.sum(a) + 2 * np.sum(b) + t


@program
def of_numpy_after_all(x):
    t, v = 0.0, x[0]
    while t < 3.0:
        v = v * 0.9 + x[1] * t
        t = t + np.float64(DT)
    return v * (2.0 if isinstance(t, np.float64) else 3.0)


@program
def either_of_two(x):
    t, v = 0.0, x[0]
    while t < 2.0 or v < 3.0:
        v += 0.1 + x[1] * DT
        t += DT
    return v


@program
def at_times(x):
    """Data decide when time goes on."""
    t, v, k = 0.0, x[0], 0
    while t < 2.0:
        v += DT * x[k % 60]
        if x[k % 60] > 0.2:
            t += DT
        k += 1
    return v


@program
def by_data(x):
    t, v = 0.0, x[0]
    while t < 2.0 + x[1]:
        v = v * 0.9 + x[2]
        t += DT
    return v


@program
def steps_by_data(x):
    t, v = 0.0, x[0]
    while t < 2.0:
        v = v * 0.9 + x[2]
        t += 0.05 + 0.05 * x[3]
    return v


@program
def with_an_else(x):
    t, v = 0.0, x[0]
    while t < 2.5:
        v = 0.9 * v + x[2] * t
        t += DT
        if v > 1e6:
            break
    else:
        v += 1.0
    return v


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)


def counted(step, end):
    def f(x):
        t, n = 0.0, 0.0
        while t < end:
            t += step
            n = n + x * x
        return n

    return f


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_without_a_comparison(f):
    """Compiled without a look at what Python makes of it."""
    x = np.random.default_rng(3).random(SIZE)
    assert planned_ad.compile(f, (x,), check=False)(x) == pytest.approx(f(x), rel=1e-12)


@pytest.mark.parametrize("step", [0.1, 0.3, 1 / 3, 0.7])
def test_the_number_of_iterations_is_that_of_python(step):
    """Where sums of a step are rounded to other numbers than products."""
    for end in (9.0, 18.9, 21.0, 29.7):
        f = counted(step, end)
        traced = trace(f, (1.0,), unroll=4)
        (loop,) = [op for op in walk(traced.tape.operations) if isinstance(op, Loop)]
        assert loop.trips == f(1.0) and loop.count is None


def test_a_step_from_outside_that_changes():
    class Settings:
        dt = 0.1

    def f(x):
        t, v = 0.0, x[0]
        while t < 4.0:
            v += Settings.dt * math.sin(v)
            t += Settings.dt
        return v

    x = np.array([0.3])
    plan = planned_ad.compile(f, (x,))
    assert plan(x) == pytest.approx(f(x), rel=1e-13)
    Settings.dt = 0.07
    assert plan(x) == pytest.approx(f(x), rel=1e-13)


def test_what_never_ends_is_said():
    def f(x):
        t, v = 0.0, x[0]
        while t < 1.0:
            v = v * 0.9
            t += 0.0
            if v < 1e-3:
                t = 2.0
        return v

    x = np.array([0.9])
    assert planned_ad.compile(f, (x,))(x) == pytest.approx(f(x), rel=1e-13)
