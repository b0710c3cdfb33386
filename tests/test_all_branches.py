"""Branches outside of loops: after a few ways through a function, one trace for all of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.variants import MOST_PASSES, PASSES_FOR_EACH, SEVERAL
from planned_ad.errors import BranchError
from planned_ad.tape.guards import guards_of, known_outcomes
from planned_ad.trace import trace

from .sweeps import name_of, sweep

N = 10


def sides_and_returns(x):
    a = x[0] * x[1] if x[1] > 0 else x[0] - x[1]
    b = np.sin(x[2]) if x[2] > a else np.cos(x[2]) * a
    if b > 0.1:
        if x[3] > 0:
            return a * b
        c = b * 2
    elif x[3] > x[4]:
        c = b * b
    else:
        c = a
    y = np.zeros(3)
    if x[4] > 0:
        y[0] = c
    if x[5] > 0:
        y[1] = c * c
    if x[6] > 0:
        y = y * 2
    if x[7] > 0.3 and x[6] < 0.5:
        return np.sum(y)
    return np.sum(y) * (c * x[9] if x[9] > 0 else -c)


def in_helpers(x):
    def clipped(v, low, high):
        if v < low:
            return low * v
        if v > high:
            return high + np.log(v)
        return v * v

    return sum(clipped(x[k], -0.5, 0.5) for k in range(5)) * clipped(x[5] * x[6], 0.0, 1.0)


def payoff(x):
    spot, strike = np.exp(x[0]), np.exp(x[1])
    barrier = strike * 1.2 if x[2] > 0 else strike * 0.8
    rebate = 0.0
    if spot > barrier:
        rebate = 0.1 * spot
    kind = "call" if x[3] > 0 else "put"
    value = max(spot - strike, 0.0) if kind == "call" else max(strike - spot, 0.0)
    if x[4] > 0.5:
        value *= 1.0 - x[4] / 10.0
    elif x[4] < -0.5:
        value += x[5] ** 2
    return value + rebate


def raises(x):
    total = 0.0
    for k in range(3):
        try:
            if x[k] < 0:
                raise ValueError
            total += np.sqrt(x[k])
        except ValueError:
            total -= x[k] * x[k]
    return total if x[3] > 0 else total * x[4]


def writes(x):
    y = x.copy()
    z = y[2:5] if x[0] > 0 else y[5:8]
    z *= 2.0
    if x[1] > 0:
        y[:3] = x[7:]
    if x[8] > 0:
        z = z + 1.0
    return np.sum(y * x) + z[0] * z[2]


def with_loops(x):
    total = 0.0
    if x[0] > 0:
        for k in range(30):
            total += np.sin(k * x[1])
    else:
        for k in range(25):
            if x[k % 10] > 0.2:
                total += x[k % 10]
    while total > 1.0 and x[2] > 0:
        total = total / 2.0
    if x[3] > 0:
        total += x[3]
    return total if x[4] > 0 else total * x[5]


def with_results_of_two_kinds(x):
    value = x[0] * 2.0
    if x[1] > 0:
        value = value * x[1]
    if x[2] > 0:
        value = 0.0 if x[3] > 0 else value + 1.0
    if x[4] > 0:
        value = float(value)
    return value * x[5] if x[6] > x[7] else value


def shorter(x):
    y = x
    for k in range(3):
        if x[k] > 0:
            y = y[1:]
    return y @ y


PROGRAMS = (sides_and_returns, in_helpers, with_loops, with_results_of_two_kinds, payoff, writes, raises)
A_TRACE_EACH = (shorter,)  # arrays of several lengths


def points(count: int = 40) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=N) for _ in range(count)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_trace_serves_all_ways(f: Callable) -> None:
    plan = planned_ad.compile(f, (points()[0],), max_variants=SEVERAL + 1)
    for x in points():
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)
    assert len(plan._variants) <= SEVERAL
    direction, step = np.random.default_rng(2).normal(size=N), 1e-6
    for x in points():
        difference = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
        np.testing.assert_allclose(plan.gradient(x, np.empty(N)) @ direction, difference, rtol=1e-5, atol=1e-7)
    again = pickle.loads(pickle.dumps(plan))
    assert all(again(x) == plan(x) for x in points())


@pytest.mark.parametrize("f", A_TRACE_EACH, ids=lambda f: f.__name__)
def test_what_cannot_be_recorded_so_has_a_trace_for_each_way(f: Callable) -> None:
    plan = planned_ad.compile(f, (points()[0],))
    for x in points():
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)


def test_results_of_several_shapes_have_a_trace_each() -> None:
    def f(x):
        y = x[:3] if x[0] > 0 else x[:4]
        if x[1] > 0:
            y = y * 2.0
        if x[2] > 0:
            y = y * y
        return y

    plan = planned_ad.compile(f, (points()[0],))
    for x in points():
        np.testing.assert_array_equal(plan(x), f(x))
    assert len(plan._variants) > SEVERAL


def test_a_function_that_cannot_be_recorded_so_keeps_its_limit() -> None:
    def f(x):
        y = x[:8].reshape(2, 4)
        for k in range(5):
            if x[k] > 0:
                y = y.T
        return y[0] @ y[0] * y[1, 1]

    plan = planned_ad.compile(f, (np.ones(N),), max_variants=SEVERAL + 2)
    for k in range(SEVERAL + 1):
        x = np.ones(N)
        x[: k + 1] = -1.0
        assert plan(x) == f(x)
    x = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    with pytest.warns(RuntimeWarning, match="more than 6 different branches"):
        assert plan(x) == f(x)
    assert len(plan._variants) == SEVERAL + 2


def test_nothing_is_traced_again_where_that_is_not_wanted() -> None:
    plan = planned_ad.compile(sides_and_returns, (points()[0],), on_branch="raise")
    with pytest.raises(BranchError):
        for x in points():
            plan(x)


@pytest.mark.parametrize("f", sweep(PROGRAMS, slice(1, None, 2)), ids=name_of)
def test_all_ways_may_be_asked_for_at_once(f: Callable) -> None:
    plan = planned_ad.compile(f, (points()[0],), on_branch="record", max_variants=1)
    kernel = plan.kernel.value
    for x in points():
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)
        np.testing.assert_allclose(kernel(x), f(x), rtol=1e-12)
    assert len(plan._variants) == 1


def test_what_cannot_be_recorded_so_is_traced_again_then() -> None:
    plan = planned_ad.compile(shorter, (points()[0],), on_branch="record")
    for x in points():
        np.testing.assert_allclose(plan(x), shorter(x), rtol=1e-12)
    assert len(plan._variants) > SEVERAL


def test_what_is_outside_has_traces_of_its_own() -> None:
    flag = True

    def f(x):
        y = x * 2.0 if flag else x * 3.0
        total = 0.0
        if y[0] > 0:
            total += y[1]
        if y[2] > 0:
            total *= y[3]
        if y[4] > 0:
            total -= np.sum(y)
        return total

    plan = planned_ad.compile(f, (points()[0],))
    for flag in (True, False, True):  # noqa: B007 (f reads it)
        for x in points():
            np.testing.assert_allclose(plan(x), f(x), rtol=1e-13)
    assert len(plan._variants) <= SEVERAL


def rejected_steps(x):
    """Heun's method, whose steps depend on the error."""
    mu, u, v = x[0], x[1], x[2]
    t, h, end = 0.0, 0.05, 2.0
    rejected = 0

    def f(u, v):
        return v, mu * (1 - u * u) * v - u

    while t < end:
        h = min(h, end - t)
        a1, b1 = f(u, v)
        a2, b2 = f(u + h * a1, v + h * b1)
        error = 0.5 * h * (abs(a2 - a1) + abs(b2 - b1))
        if error > 0.02:
            h *= 0.5
            rejected += 1
            continue
        u, v, t = u + 0.5 * h * (a1 + a2), v + 0.5 * h * (b1 + b2), t + h
        if error < 0.005:
            h *= 1.5
    return u * u + v + 0.1 * rejected


def steps_on_one_side(x):
    u, t, h = x[0], 0.0, 0.05
    while t < 1.0:
        error = h * abs(x[1] * u) + 0.01 * h
        if error > 0.02:
            h *= 0.5
        else:
            u = u + h * x[1]
            t = t + h
            if error < 0.005:
                h *= 1.5
    return u * h


def both_sides_bring_it_on(x):
    total, k = 0.0, 0.0
    while k < 5.0:
        if total < x[0]:
            total += abs(x[1]) + 0.1
            k += 0.125
        else:
            total -= x[2] * x[2]
            k += 0.25
    return total + k


def nested_in_a_while(x):
    level, steps, total = 0.0, 0.0, x[0]
    while level < 3.0:
        if total * total < x[1] * x[1] + 0.5:
            total = total * 1.1 + 0.05
            while steps < 4.0 + level:
                steps += 0.5 if x[2] > 0.3 else 0.75
                total += 0.01 * x[2]
        else:
            total *= 0.5
        level += 0.125
    return total + 0.01 * steps


def accepted_steps(x):
    """A search that keeps what is better, with draws that are fixed."""
    draws = np.random.default_rng(3).normal(size=200)
    best, accepted, k, scale = x[0] * x[0] + x[1], 0.0, 0, 1.0
    while accepted < 3.0 and k < 150:
        step = scale * draws[k]
        k += 1
        found = (x[0] + step) ** 2 + x[1] * np.cos(step)
        if found < best:
            best = found
            accepted += 1.0
        else:
            scale *= 0.97
    return best + 0.1 * accepted


ADAPTIVE = [rejected_steps, steps_on_one_side, both_sides_bring_it_on, nested_in_a_while, accepted_steps]


@pytest.mark.parametrize("f", ADAPTIVE, ids=lambda f: f.__name__)
def test_a_while_that_goes_on_for_longer_by_data_is_one_loop(f: Callable) -> None:
    """Its test is of plain numbers at first, and only what a branch does to them makes them data."""
    rng = np.random.default_rng(0)
    x, direction = rng.uniform(0.2, 1, 3), rng.normal(size=3)
    plan = planned_ad.compile(f, (x,), check=False)
    for scale in (1.0, 0.3, 2.0, -1.0):
        x = scale * rng.uniform(0.2, 1, 3)
        assert plan(x) == pytest.approx(f(x), rel=1e-9)
        slope = (f(x + 1e-7 * direction) - f(x - 1e-7 * direction)) / 2e-7
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-5, abs=1e-5)
    assert plan.explain().variants == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda t, u: ((t * u, t), (u, t * t)) if t > u else ((t, u * u), (t * u, u)),
        lambda t, u: (t * u, (u, (t,)), {"a": (u * u, [t])}) if t > u else (t, (u * t, (u,)), {"a": (t, [u])}),
    ],
)
def test_results_are_nested_as_those_of_the_function(f: Callable) -> None:
    plan = planned_ad.compile(f, (2.0, 3.0), on_branch="record")
    for t, u in ((2.0, 3.0), (4.0, 1.5)):
        assert plan(t, u) == f(t, u)


def test_second_derivatives_by_numbers() -> None:
    def f(x, t):
        if x[0] > 0:
            x[1] -= x[0] * t
        return np.sum(x * x) + t

    x = np.array([0.5, 2.0, 3.0])
    plan = planned_ad.compile(f, (x, 2.0), on_branch="record")
    found = plan.hessian(x, 2.0)
    assert found[1][1] == pytest.approx(0.5) and found[0][0].shape == (3, 3)


def test_calls_of_each_trace_go_on_to_the_next(monkeypatch):
    """In machine code: Python looks for the trace only where none of them fits."""

    def f(x):
        if x > 1.0:
            return x * x
        return x**3 if x > 0.0 else 4.0 * x

    plan = planned_ad.compile(f, 2.0)
    first, inputs = plan.gradient, (2.0, 0.5, -1.0)
    expected = [plan.value_and_gradient(x) for x in inputs]
    monkeypatch.setattr(planned_ad.plan, "replay", None)
    assert [plan.value_and_gradient(x) for x in inputs] == expected
    assert len(plan._variants) == 3
    monkeypatch.undo()
    assert [first(x) for x in inputs] == [gradient for _, gradient in expected]
    monkeypatch.setattr(planned_ad.plan, "replay", None)
    assert [first(x) for x in inputs] == [gradient for _, gradient in expected]


def test_known_outcomes_where_a_run_asks_in_another_order() -> None:
    """A kernel may compute what is asked later before what is asked first, which is then taken to be as it was."""

    def f(x):
        total = x[0] if x[0] > 0 else x[1]
        return total * 2.0 if x[1] > 0 else total

    tape = trace(f, (np.ones(2),)).tape
    first, second = guards_of(tape)
    assert [(g.line, g.outcome) for g in known_outcomes(tape, [first], second)] == [
        (first.line, True),
        (second.line, False),
    ]
    assert [g.outcome for g in known_outcomes(tape, [], first)] == [False]
    assert [(g.line, g.outcome) for g in known_outcomes(tape, [], second)] == [
        (first.line, True),
        (second.line, False),
    ]
    assert known_outcomes(tape, [second], second) == []


def test_many_passes_are_for_many_ways() -> None:
    """One trace for all ways that would take too many passes is tried again when there are twice as many."""

    def f(x):
        table = {name: {"rating": v} for name, v in zip("ABCDE", x)}
        ranking = sorted(table.items(), key=lambda item: -item[1]["rating"])
        for k, (_, found) in enumerate(ranking):
            found["rank"] = k + 1
        return sum(found["rank"] * found["rating"] * (name < "C") for name, found in ranking)

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (np.arange(5.0),), max_variants=64)
    assert PASSES_FOR_EACH * SEVERAL < MOST_PASSES
    for _ in range(SEVERAL + 2):
        x = rng.permutation(5) + rng.uniform(0, 0.1, 5)
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)
        assert (plan._tried_with == SEVERAL) == (len(plan._variants) > SEVERAL)
    assert len(plan._variants) > SEVERAL and not plan._one_way


@pytest.mark.long
def test_lengths_that_another_way_has() -> None:
    """A trace for one number may ask for its lengths before it asks for the number."""

    def f(x):
        y, k, t = x * 1.0, int(x[0]), 0.0
        for i in range(9):
            k = min(max(k, 0), 17)
            chosen = y > x[i]
            y[chosen] += y[chosen] * 0.5
            t += sum(v * x[i] for v in np.where(y[20 - k :] > x[:k][::-1], x[2 : 2 + k], 0.0) * np.arange(k))
        return t + np.sum(y)

    def given(k, seed):
        x = np.random.default_rng(seed).uniform(0.1, 1.9, 20)
        x[0] = k + 0.3
        return x

    plan = planned_ad.compile(f, (given(0, 3),), unroll=0, check=False)
    for seed, k in enumerate((0, 13, 4)):
        assert plan(given(k, seed)) == pytest.approx(f(given(k, seed)))


def of_integers(x):
    """Numbers, lists and objects that several integers of data choose."""
    weights, rows = [1.0, 2.0, 3.0, 4.0, 5.0], [[x[k], x[k + 1], 0.5] for k in range(5)]
    first, second = int(x[0] * 5), int(x[1] * 5)
    return weights[first] * weights[second] * x[2] + sum(rows[int(x[3] * 5)])


def test_integers_that_data_give_are_one_trace_at_last():
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(of_integers, (rng.random(8),), check=False)
    for _ in range(3 * SEVERAL):
        x = rng.random(8)
        assert plan(x) == pytest.approx(of_integers(x), rel=1e-12)
    assert len(plan._variants) == 1
