"""`compile(..., memory_limit=)`: right derivatives within the limit, or an error that names the least limit."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planned_ad
from planned_ad.calls.entries import differentiated, finished
from planned_ad.calls.kinds import KINDS
from planned_ad.calls.parameters import is_scalar_loss
from planned_ad.differentiate.keep.checkpoints import run_in_segments
from planned_ad.differentiate.keep.decisions import record_decisions
from planned_ad.differentiate.keep.memory_limit import LoopNeed, escalation, needs_of
from planned_ad.differentiate.keep.segment_lengths import Lengths, Need, best_lengths
from planned_ad.errors import ArgumentError, MemoryLimitError
from planned_ad.plan import Plan
from planned_ad.python.structure import flatten
from planned_ad.tape.interpret import interpret, memory_of
from planned_ad.tape.tape import Tape
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace, trace

from .loop_programs import PROGRAMS
from .sweeps import left_out, sweep
from .tolerances import SAME

K = np.arange(12)


def reaction(u, weights):
    for _ in range(300):
        u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) + 0.01 * u[1:-1] * (1.0 - u[1:-1] * u[1:-1])
    return np.sum(weights * u)


def brusselator(u, v, weights):
    def slope(u, v):
        bend_u, bend_v = np.zeros_like(u), np.zeros_like(v)
        bend_u[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
        bend_v[1:-1] = v[2:] - 2 * v[1:-1] + v[:-2]
        return 1.0 + u * u * v - 4.4 * u + 0.1 * bend_u, 3.4 * u - u * u * v + 0.1 * bend_v

    h = 0.01
    for _ in range(501):
        a, b = slope(u, v)
        c, d = slope(u + 0.5 * h * a, v + 0.5 * h * b)
        e, f = slope(u + 0.5 * h * c, v + 0.5 * h * d)
        g, k = slope(u + h * e, v + h * f)
        u = u + h / 6 * (a + 2 * c + 2 * e + g)
        v = v + h / 6 * (b + 2 * d + 2 * f + k)
    return np.sum(weights * u * v)


def logistic_map(x):
    y = x[0]
    for _ in range(1000):
        y = x[1] * y * (1.0 - y)
    return y


def inner_steps(u, weights):
    """Steps inside of steps, and what both keep."""
    total = 0.0
    for i in range(20):
        u = u * np.exp(-0.1 * u)
        for j in range(40):
            u = np.sin(u) + 0.01 * weights * (j + i)
        total += np.sum(u * weights)
    return total


def two_phases(u, weights):
    for _ in range(60):
        u = np.sin(u) + 0.1 * weights
    for _ in range(90):
        u = np.cos(u) * u + weights
    return np.sum(u)


def with_branches(u, weights):
    energy = 0.0
    for i in range(80):
        if u[i % 12] * weights[0] > energy:
            u[1:] = np.sin(u[:-1]) + u[1:]
            energy += 0.1 * u[3] * u[3]
        else:
            u[:] = 0.9 * u * np.exp(-u * u)
            energy *= 0.95
    return energy + np.sum(weights * u)


def read_and_overwritten(u, weights):
    """The loop reads `weights`, which are something else when the reverse sweep runs."""
    for _ in range(100):
        u[:] = np.sin(u * weights) + weights
    weights[:] = u
    for _ in range(7):
        weights[:] = np.exp(-weights)
    return np.sum(weights * u)


def trajectory(u, weights):
    """What is written once and kept by the program itself is no state."""
    path = np.zeros((101, 12), u.dtype)
    path[0] = u
    speed = weights.copy()
    for i in range(100):
        speed = speed * np.cos(path[i])
        path[i + 1] = path[i] + 0.1 * np.exp(-path[i] * path[i]) * speed
    return np.sum(path * path)


def decided_by_nothing(u, weights):
    """A difference that is zero, unless its products are rounded at different times."""
    for _ in range(100):
        d = u[0] * weights[1] - weights[1] * u[0]
        if d > 0.0:
            u = 1.1 * np.sin(u)
        elif d < 0.0:
            u = 0.7 * np.exp(-u)
        else:
            u = u + 0.1 * np.cos(u) * weights
    return np.sum(u)


def steps_to_a_tolerance(u, weights):
    """Each step solves an equation by iterations of which the number is known at run time only."""
    for i in range(50):
        y, change = u[3] + 1.0, 1.0
        while change * change > 1e-16:
            better = 0.5 * (y + (2.0 + np.sin(u[i % 3])) / y)
            change = better - y
            y = better
        u[:-1] = 0.5 * u[1:] + 0.1 * y * np.cos(u[:-1])
    return np.sum(weights * u)


def make(*arrays: Any) -> Callable[[type], tuple]:
    return lambda dtype: tuple(np.asarray(a).astype(dtype) for a in arrays)


WAVE = (0.5 * np.sin(K), np.cos(K))
CASES: dict[str, tuple[Callable, Callable[[type], tuple]]] = {
    "reaction": (reaction, make(*WAVE)),
    "brusselator": (brusselator, make(1.0 + 0.1 * np.sin(K), 3.0 + 0.1 * np.cos(K), np.cos(K))),
    "logistic_map": (logistic_map, make([0.3, 3.0])),
    "inner_steps": (inner_steps, make(*WAVE)),
    "two_phases": (two_phases, make(*WAVE)),
    "with_branches": (with_branches, make(*WAVE)),
    "read_and_overwritten": (read_and_overwritten, make(*WAVE)),
    "trajectory": (trajectory, make(*WAVE)),
    "steps_to_a_tolerance": (steps_to_a_tolerance, make(*WAVE)),
    "decided_by_nothing": (decided_by_nothing, make(*WAVE)),
}


def tolerance(dtype: type) -> float:
    return 1000 * SAME[np.dtype(dtype)]  # of hundreds of steps


def same(actual: Any, expected: Any, rtol: float) -> None:
    for a, e in zip(flatten(actual)[0], flatten(expected)[0], strict=True):
        np.testing.assert_allclose(a, e, rtol=rtol, atol=rtol * np.max(np.abs(e), initial=0.0))


def least_of(error: MemoryLimitError) -> int:
    return int(re.findall(r"memory_limit=(\d+)", str(error))[-1])


@functools.cache
def plan_of(name: str, dtype: type = np.float64, limit: int | None = None) -> Plan:
    """One plan for all tests of a case."""
    function, arguments = CASES[name]
    return planned_ad.compile(function, arguments(dtype), memory_limit=limit)


@functools.cache
def least_limit(name: str, dtype: type = np.float64) -> int:
    """What the error for a limit of 0 names."""
    function, arguments = CASES[name]
    with pytest.raises(MemoryLimitError) as error:
        planned_ad.compile(function, arguments(dtype), memory_limit=0)
    return least_of(error.value)


LARGEST_LAST = sorted(CASES, key=lambda name: name == "brusselator")
FEW_SINGLE = {"logistic_map", "trajectory"}  # in single precision; the others run with `-m long`
TYPED = [
    *sweep(((name, np.float64) for name in LARGEST_LAST), slice(0, -1, 2)),
    *((name, np.float32) if name in FEW_SINGLE else left_out((name, np.float32)) for name in CASES),
]


@pytest.mark.parametrize("parts", [(10,), left_out(((2, 10),))])
@pytest.mark.parametrize(("name", "dtype"), TYPED)
def test_derivatives_are_the_same_within_every_limit(name: str, dtype: type, parts: tuple[int, ...]) -> None:
    _, arguments = CASES[name]
    free, least = plan_of(name, dtype), least_limit(name, dtype)
    cached = free.explain().cached_bytes
    after = arguments(dtype)
    expected = free.gradient(*after)
    for limit in (*(cached // part for part in parts), least):
        if limit < least:
            continue
        plan = plan_of(name, dtype, limit)
        assert plan.explain().cached_bytes <= limit
        for _ in range(2):
            own = arguments(dtype)
            same(plan.gradient(*own), expected, tolerance(dtype))
            same(own, after, 0.1 * tolerance(dtype))


@pytest.mark.parametrize("name", sweep(LARGEST_LAST, slice(1, -1, 2)))
def test_the_error_names_the_least_limit(name: str) -> None:
    function, arguments = CASES[name]
    cached, least = plan_of(name).explain().cached_bytes, least_limit(name)
    if name == "steps_to_a_tolerance":  # it keeps what runs only, and segments what might
        assert least == cached
    else:
        assert 0 < least < cached / 3
    assert plan_of(name, limit=least).explain().cached_bytes == least
    with pytest.raises(MemoryLimitError, match=f"{function.__name__}.* memory_limit={least}"):
        planned_ad.compile(function, arguments(float), memory_limit=least - 1)


@pytest.mark.parametrize("name", ["reaction", "brusselator", "logistic_map"])
def test_a_tenth_of_the_cache_is_enough_for_the_whole_workspace(name: str) -> None:
    limit = plan_of(name).explain().cached_bytes // 10
    explanation = plan_of(name, limit=limit).explain()
    assert explanation.cached_bytes <= limit
    assert explanation.workspace_bytes <= limit
    assert explanation.reruns and max(rerun.times for rerun in explanation.reruns) <= 2


def test_a_limit_that_is_met_changes_nothing() -> None:
    function, arguments = CASES["reaction"]
    free = planned_ad.compile(function, arguments(float))
    limited = planned_ad.compile(function, arguments(float), memory_limit=free.explain().cached_bytes)
    assert limited.listing() == free.listing()
    assert not limited.explain().reruns


def test_explain_says_what_is_run_again_and_how_often() -> None:
    function, arguments = CASES["reaction"]
    explanation = planned_ad.compile(function, arguments(float), memory_limit=6000).explain()
    (rerun,) = explanation.reruns
    assert rerun.iterations == 300 and rerun.times == len(rerun.segments) == 1
    assert "for _ in range(300)" in rerun.line.text
    assert f"300 iterations, once, in segments of {rerun.segments[0]}" in str(explanation)
    assert "u at the start of each of" in str(explanation)


def test_the_way_a_loop_went_is_kept() -> None:
    function, arguments = CASES["with_branches"]
    cached = planned_ad.compile(function, arguments(float), memory_limit=3000).explain().cached
    (decision,) = [c for c in cached if "goes the way that this decided" in c.reason]
    assert decision.nbytes == 80
    assert "if u[i % 12]" in decision.source


@pytest.mark.parametrize("layout", ["reversed", "every second", "transposed"])
def test_a_state_of_any_layout(layout: str) -> None:
    def f(u):
        for _ in range(200):
            u[1:-1] = np.sin(u[2:] + u[:-2]) * u[1:-1]
        return np.sum(u * u)

    def argument() -> np.ndarray:
        numbers = 1.0 + 0.1 * np.sin(np.arange(48.0)).reshape(6, 8)
        return {"reversed": numbers[::-1], "every second": numbers[:, ::2], "transposed": numbers.T}[layout]

    free = planned_ad.compile(f, argument())
    plan = planned_ad.compile(f, argument(), memory_limit=free.explain().cached_bytes // 5)
    own, after = argument(), argument()
    same(plan.gradient(own), free.gradient(after), tolerance(float))
    same(own, after, tolerance(float))


def test_other_calls_keep_the_limit_too() -> None:
    function, arguments = CASES["reaction"]
    free = planned_ad.compile(function, arguments(float), preserve_args=True)
    plan = planned_ad.compile(function, arguments(float), preserve_args=True, memory_limit=6000)
    own = arguments(float)
    assert plan(*own) == free(*own)
    same(plan.value_and_gradient(*own), free.value_and_gradient(*own), tolerance(float))
    same(plan.pullback(*own, None, None, 2.0), free.pullback(*own, None, None, 2.0), tolerance(float))
    same(own, arguments(float), 0.0)
    assert all(plan.explain(kind).cached_bytes <= 6000 for kind in ("value_and_gradient", "pullback"))


def test_what_an_iteration_finds_that_comes_from_nothing_handed_on() -> None:
    def f(x):
        a = t = 0.3
        for i in range(len(x)):
            t = 0.9 * t + np.sin(3 * a)
            a = np.tanh(x[i])
        return t

    def written_later(x, a):
        t = 0.3
        for i in range(len(x)):
            t = 0.9 * t + np.sin(3 * a[0] * t)
            a[0] = np.tanh(x[i])
        a[0] = 5.0
        return t

    x = np.linspace(-1, 1, 40)
    for g, *args in ((f, x), (written_later, x, np.array([0.4]))):
        free, limited = (planned_ad.compile(g, tuple(args), memory_limit=limit, calls=()) for limit in (None, 240))
        found = [plan.gradient(*(arg.copy() for arg in args)) for plan in (free, limited)]
        assert limited.explain().reruns
        np.testing.assert_allclose(*(each if len(args) == 1 else each[0] for each in found), rtol=1e-12, atol=1e-14)


def test_what_is_no_limit_is_refused() -> None:
    with pytest.raises(ArgumentError, match="memory_limit"):
        planned_ad.compile(logistic_map, np.ones(2), memory_limit=-1)


def test_code_does_not_grow_with_the_number_of_steps() -> None:
    def steps(n: int) -> Callable:
        def f(x):
            y = x[0]
            for _ in range(n):
                y = x[1] * y * (1.0 - y)
            return y

        return f

    limits = {10_007: 3000, 1_000_003: 20_000}
    few, many = (planned_ad.compile(steps(n), np.array([0.3, 3.0]), memory_limit=limit) for n, limit in limits.items())
    assert len(many.asm().splitlines()) < 1.1 * len(few.asm().splitlines())


# Lengths.


@given(st.integers(2, 5000), st.integers(1, 5), st.integers(0, 10_000), st.integers(1, 10_000), st.booleans())
def test_lengths_add_up(trips: int, levels: int, state: int, cached: int, single: bool) -> None:
    need = Need(state, cached, single)
    found = best_lengths(trips, levels, need)
    assert found.trips == trips and len(found.lengths) <= levels
    assert all(b < a for a, b in zip((trips, *found.lengths), found.lengths)) and min(found.lengths, default=1) >= 1
    if single:
        assert found.lengths[-1] == 1
    else:
        assert found.nbytes(need) <= trips * cached
    assert found.checkpoints >= sum(a // b for a, b in zip((trips, *found.lengths), found.lengths))


def test_two_levels_take_the_square_root() -> None:
    found = best_lengths(10_000, 1, Need(8, 8))
    assert found.nbytes(Need(8, 8)) <= 200 * 8
    assert best_lengths(10_000, 2, Need(8, 8)).nbytes(Need(8, 8)) <= 70 * 8


# Any lengths, by the interpreter.


def random_cuts(loops: Sequence[LoopNeed], draw: random.Random) -> dict[int, Lengths]:
    found: dict[int, Lengths] = {}
    for loop in loops:
        inside = random_cuts(loop.inside, draw) if draw.random() < 0.5 else {}
        trips, lengths = loop.trips, []
        while trips > 1 and draw.random() < 0.7:
            trips = draw.randint(1, trips - 1)
            lengths.append(trips)
        if inside and trips > 1:
            lengths.append(1)
        if lengths:
            found |= {loop.index: Lengths(loop.trips, tuple(lengths)), **inside}
    return found


def run(tape: Tape, traced: Trace, arguments: tuple) -> list[np.ndarray]:
    """All memory of the caller after `tape` has run by the interpreter."""
    given = {leaf.buffer: value for leaf, value in zip(traced.leaves, flatten(arguments)[0])}
    random_numbers = np.random.default_rng(1)
    memories = {}
    for id in tape.arguments:
        buffer = tape.buffers[id]
        value = given[id] if id in given else random_numbers.normal(size=buffer.shape)
        memories[id] = memory_of(buffer, np.asarray(value, buffer.dtype))
    interpret(tape, memories)
    return [memories[id] for id in tape.arguments]


def check_cuts(name: str, number: int) -> None:
    program, draw = PROGRAMS[name], random.Random(name)
    arguments = program.make_args(program.small, np.float64, np.random.default_rng(0))
    traced = trace(program.function, arguments, unroll=0)
    kind = "value_and_gradient" if is_scalar_loss(traced) else "pullback"
    expected = run(differentiated(traced, KINDS[kind], False), traced, arguments)
    tape = differentiated(traced, KINDS[kind], False, record_decisions)
    loops = needs_of(tape)
    for cuts in (*escalation(loops), *(random_cuts(loops, draw) for _ in range(number))):
        cut = verify(run_in_segments(tape, cuts))
        for actual, wanted in zip(run(cut, traced, arguments), expected, strict=True):
            np.testing.assert_array_equal(actual, wanted)
        for actual, wanted in zip(run(verify(finished(cut)), traced, arguments), expected, strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-9, atol=1e-11)


FEW = [
    "gauss_jordan_inverse",
    "three_deep_with_statements_between",
    "floyd_warshall_scalars",
    "bubble_sort",
    "tent_map",
    "hmm_forward_with_scaling",
    "chained_permutation",
    "little_machine",
    "gather_and_scatter_in_place",
]


@pytest.mark.parametrize("name", FEW)
def test_any_cuts_give_the_same_numbers(name: str) -> None:
    check_cuts(name, 1)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_any_cuts_of_any_program_give_the_same_numbers(name: str) -> None:
    check_cuts(name, 4)
