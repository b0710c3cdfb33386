"""Loops that are left by `break` or `return` on a traced test: one loop, right whatever the number of iterations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import TraceError
from planned_ad.tape.tape import Loop, walk
from planned_ad.trace import trace

from .recorded_loops import loops_of, recorded
from .sweeps import rotated
from .tracing_oracle import assert_same, replay


def newton(a, tol):
    x = a
    for k in range(400):  # noqa: B007
        new = 0.5 * (x + a / x)
        if abs(new - x) < tol:
            break
        x = new
    return new * a * (k + 1)


def newton_in_a_function(a, tol):
    return a * returned(a, tol)


def returned(a, tol):
    x = a
    for _ in range(400):
        new = 0.5 * (x + a / x)
        if abs(new - x) < tol:
            return new
        x = new
    return x


def endless(a, tol):
    x, n = a, 0
    while True:
        new = 0.5 * (x + a / x)
        n += 1
        if abs(new - x) < tol or n == 390:
            break
        x = new
    return x * n


def both(a, tol):
    x, d, n = a, 1.0, 0
    while n < 390 and d > tol:
        d = abs(0.5 * (a / x - x))
        x = 0.5 * (x + a / x)
        n += 1
    return x * n


def either(a, tol):
    x, d = a, 1.0
    while d > tol or d < -tol:
        d = 0.5 * (a / x - x)
        x = x + d
    return x * d + a


def chain(a, tol):
    x = a
    while tol < x < 1e300:
        x = 0.9 * x
    return x * a


def denied(a, tol):
    x = a
    while not x < tol:
        x = 0.9 * x
    else:
        x = x + a
    return x * a


def with_else(a, tol):
    x, steps = a, 0.0
    for k in range(400):
        if x < tol:
            steps = steps + k
            break
        x = 0.9 * x
    else:
        x = x * 0.0
    return x * a + steps


NEWTON = [(1e2, 10.0), (1e17, 1.0), (1e180, 1e80)]  # about 3, 30 and 300 iterations
HALVES = [(1.0, 0.8), (1.0, 0.05), (1e10, 1e-3)]
PROGRAMS = [
    (newton, NEWTON),
    (newton_in_a_function, NEWTON),
    (endless, NEWTON),
    (both, NEWTON),
    (either, [(2.0, 1e-3), (1e9, 1e-3), (1e12, 1e-2)]),
    (chain, HALVES),
    (denied, HALVES),
    (with_else, HALVES),
]


@pytest.mark.parametrize("unroll", [0, 1, 16, 300])
@pytest.mark.parametrize("f, inputs", PROGRAMS)
def test_one_loop_serves_every_number_of_iterations(f: Callable, inputs: list, unroll: int) -> None:
    traced = trace(f, inputs[0], unroll=unroll)
    assert not traced.unrolled
    assert len(loops_of(traced)) == 1
    for own in inputs:
        assert_same(replay(traced, *own)[0], f(*own))


@pytest.mark.parametrize("f, inputs", PROGRAMS)
def test_gradients_of_one_variant(f: Callable, inputs: list) -> None:
    plan = planned_ad.compile(f, inputs[0])
    for a, tol in inputs:
        value, (da, _) = plan.value_and_gradient(a, tol)
        step = 1e-6 * a
        np.testing.assert_allclose(value, f(a, tol), rtol=1e-12)
        np.testing.assert_allclose(da, (f(a + step, tol) - f(a - step, tol)) / (2 * step), rtol=1e-5)
    assert plan.explain().variants == 1


# What variables hold after the loop, and what the loop leaves undone.


def after_the_loop(x):
    converged, total = False, 0.0
    for k in range(50):  # noqa: B007
        x = 0.5 * np.cos(x)
        total, before = total + 1.0, x
        if np.max(x) < 0.45:
            converged = True
            break
        x = x + 0.01
    if converged:
        total = total * 2.0
    return np.sum(x) * k + np.sum(before) * total


def no_iteration_after_the_last(x):
    for k in range(len(x)):
        if x[k] == 0.0:
            break
        x[k] = 1.0 / x[k]
    return np.sum(x) * k


def out_of_range_after_the_last(x):
    i = 0
    while x[i] < 0.7:
        x[i] = x[i] ** 2
        i += 1
    return np.sum(x) * i


def arrays_of_the_last_iteration(x):
    x = x * 1.0
    for _ in range(30):
        kept = x
        x = x * 0.9
        if np.sum(x) < 1.0:
            break
    return np.sum(kept) / np.sum(x)


def left_in_a_loop_of_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(20):
            for k in range(3):
                total += x[i] * (k + 1)
                if total > 20.0:
                    return total * j
    return total


def on_to_the_next(x, y):
    n = 0
    for i in range(len(x)):
        for j in range(len(y)):
            if y[j] > x[i]:
                break
            n += 1
        else:
            y = y * 1.01
            continue
        if n > 30:
            break
    return np.sum(y) * n * j


def found(x, t):
    for k in range(len(x)):
        if x[k] > t:
            return k, x[k] * 2
    return -1, x[0]


def searches(x):
    total = 0.0
    for i in range(len(x)):
        k, v = found(x, x[i] * 0.9)
        total += v * k
    return total


def inner_newton(x):
    total = 0.0
    for v in x:
        z, k = v + 1, 0
        while True:
            z = 0.5 * (z + v / z)
            k += 1
            if abs(z * z - v) < 1e-10:
                break
            if k > 40:
                break
        total += z * k
    return total


def pairs(x):
    total = 0.0
    for k, (a, b) in enumerate(zip(x, x[::-1])):
        total += a * b
        if total > 1:
            return total * a, k
    return total, -1


OTHERS = [
    (after_the_loop, 1),
    (no_iteration_after_the_last, 1),
    (out_of_range_after_the_last, 1),
    (arrays_of_the_last_iteration, 1),
    (left_in_a_loop_of_a_loop, 3),
    (on_to_the_next, 2),
    (searches, 2),
    (inner_newton, 2),
    (pairs, 1),
]


@pytest.mark.parametrize(("program", "unroll"), rotated(OTHERS, [0, 16, 300]))
def test_what_is_left_behind(program: tuple[Callable, int], unroll: int) -> None:
    f, loops = program

    def inputs(seed: int) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        x = rng.random(24)
        if f is no_iteration_after_the_last:
            x[seed + 3 :] = 0.0
        x[20] = max(x[20], 0.75) if f is out_of_range_after_the_last else x[20]
        return [x, rng.random(24) + 0.2] if f is on_to_the_next else [x]

    traced = trace(f, tuple(inputs(0)), unroll=unroll)
    assert not traced.unrolled
    assert len(loops_of(traced)) == loops
    for seed in range(6):
        expected = f(*inputs(seed))
        assert_same(replay(traced, *inputs(seed))[0], expected)


def test_a_loop_that_cannot_be_one_is_unrolled_as_before() -> None:
    def f(x):
        parts = []
        for v in x:
            parts[:0] = [v * 2]
            if v > 1.0:
                break
        return parts[0] * parts[-1]

    traced = recorded(f, np.array([0.5, 1.5, 2.0]))
    assert "grow" in traced.unrolled[0].reason


def test_an_array_that_the_next_iteration_overwrites_outlives_the_loop() -> None:
    def f(x):
        for _ in range(20):
            kept = x
            x = x * 0.9
        return np.sum(kept * x)

    assert not recorded(f, np.ones(3)).unrolled


# The machine's loops.


def test_the_adjoint_begins_at_the_last_iteration() -> None:
    plan = planned_ad.compile(newton, (2.0, 1e-9))
    forward, backward = [op for op in walk(plan.memory().tape.operations) if isinstance(op, Loop)]
    assert forward.stops and forward.count is None
    assert backward.count is not None and not backward.stops


# Branches in functions that a loop calls.


def chosen(v):
    if v > 0.5:
        c = np.sin(v)
    else:
        c = np.cos(v)
    return v * c


def early(v):
    if v > 0.5:
        return np.sin(v) * v
    w = v * 2
    if w > 0.3:
        return w
    return np.cos(w)


def several(v, w):
    if v > 0.5:
        y = w * v
    else:
        y = w + v
        w = w * 2
    n = 0
    if v < 0.7:
        n = 1
        y = y + n
    return y, w * n


class Step:
    def __init__(self):
        self.c = 0.5

    def __call__(self, v):
        if v > self.c:
            self.c = self.c * 1.1
            t = chosen(v)
        else:
            t = self.c
        return t * 2


def calls_chosen(x):
    total = 0.0
    for v in x:
        total += chosen(v) * chosen(total)
    return total


def calls_early(x):
    total = 0.0
    for v in x:
        total = 0.5 * total + early(v) * early(total)
    return total


def calls_several(x):
    w = np.ones(3)
    for v in x:
        a, b = several(v, w)
        w = 0.5 * a + 0.1 * b
    return np.sum(w)


def calls_an_object(x):
    step, total = Step(), 0.0
    for v in x:
        total += step(v)
    return total * step.c


@pytest.mark.parametrize("f", [calls_chosen, calls_early, calls_several, calls_an_object])
def test_branches_in_functions_that_a_loop_calls(f: Callable) -> None:
    traced = recorded(f, np.random.default_rng(1).random(20))
    assert not traced.unrolled
    assert len(loops_of(traced)) == 1


@pytest.mark.parametrize("unroll", [0, 16])
def test_a_continue_in_finally_loses_no_restart(unroll: int) -> None:
    """It drops the exception that is on its way, also ours."""

    def f(x):
        t = 0.1
        for _v in x[:10]:
            try:
                u = 0.0
                for k in range(20):
                    u = 0.5 * u + np.sin(x[k])
                t = 0.8 * t + 0.1 * u
            finally:
                if np.sum(x) > 0.1:
                    continue  # noqa: B012 (what is tested)
        return t

    x = np.linspace(0.1, 0.9, 20)
    assert replay(trace(f, (x.copy(),), unroll=unroll), x.copy())[0] == pytest.approx(f(x), rel=1e-12)


def overruled(x):
    u = 0.0
    for v in x:
        try:
            if v > 0.5:
                break
        finally:
            u += v
            continue  # noqa: B012 (what is tested)
    return u


def overruled_around(x):
    u = 0.0
    for k in range(20):
        try:
            if k % 2:
                break
        finally:
            try:
                continue  # noqa: B012 (what is tested)
            finally:
                u += x[k]
    return u


def overruled_at_times(x):
    u = 0.3
    for k in range(20):
        try:
            if x[k] < 0.7:
                return u
        finally:
            u *= 1.1 + x[k]
            if k < 12:
                continue  # noqa: B012 (what is tested)
        u += 0.5
    return u


@pytest.mark.parametrize("f", [overruled, overruled_around, overruled_at_times])
def test_a_continue_in_finally_overrules_a_break(f: Callable) -> None:
    x = np.linspace(0.1, 0.9, 20)
    assert replay(trace(f, (x.copy(),), unroll=0), x.copy())[0] == pytest.approx(f(x), rel=1e-12)


def test_a_trace_that_starts_again_and_again_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        s = 0.0
        for i in range(40):
            s = s + x[i % 20]
            if s > 3:
                break
        return s

    monkeypatch.setattr("planned_ad.trace.MOST_RUNS", 1)
    with pytest.raises(TraceError, match=r"test_tracing_exits\.py:\d+ in f: the loops here could not be followed"):
        trace(f, (np.ones(20),))
