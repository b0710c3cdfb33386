"""Branches in symbolic loops, what unrolls a loop, and the traps of running a body several times to record it."""

from __future__ import annotations

import types
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import UnrollLimitError
from planned_ad.trace import trace

from .recorded_loops import N, branches_of, followed, loops_of, reasons, recorded, square, vector

# Tests.


def test_tests_that_the_bounds_decide() -> None:
    def f(x):
        for i in range(1, len(x)):
            if i > 0:
                x[i] += x[i - 1]
            if i == len(x):
                x[i] = 0.0
        return x

    traced = recorded(f, vector())
    assert not traced.unrolled and not branches_of(traced)


def test_the_ends_of_a_loop_are_peeled() -> None:
    def f(x):
        y = np.zeros(len(x))
        for i in range(len(x)):
            if i == 0:
                y[i] = x[0]
            elif i == len(x) - 1:
                y[i] = 2.0
            else:
                y[i] = y[i - 1] * x[i]
        return np.sum(y)

    (loop,) = followed(f, vector())
    assert loop.trips in (N - 2, N)


def test_tests_of_two_indices() -> None:
    def f(a):
        for i in range(len(a)):
            for j in range(len(a)):
                if i == j:
                    a[i, j] = 1.0
                elif i > j:
                    a[i, j] *= a[j, i]
        return np.sum(a)

    followed(f, square())


def test_parity() -> None:
    def f(x):
        for i in range(1, len(x)):
            if i % 2:
                x[i] = 0.5 * x[i - 1]
            else:
                x[i] += 1.0
        return np.sum(x)

    followed(f, vector())


def test_a_test_decides_no_more_than_its_statement() -> None:
    """Also where the statement has a loop with tests of its own in it."""

    def f(x, y, s):
        level = 0.1
        for v in x:
            if v > 0:
                for w in y:
                    if w > level:
                        s = 0.5 * s + w
            level = 0.5
            s *= 0.9
        return s

    followed(f, vector(), vector(1), 0.3)


def test_continue_and_early_return() -> None:
    def bent(u, v):
        if u > v:
            return 0.5 * u
        return np.sin(v)

    def f(x, y):
        total = 0.0
        for i in range(len(x)):
            if x[i] > 1.0:
                continue
            t = np.cos(bent(x[i], bent(y[i], total)))
            if t < 0.9 and not y[i] > 0.5:
                y[i] += t
                continue
            total += t
        return total

    followed(f, vector(), vector(1))


def test_variables_that_a_branch_makes() -> None:
    def f(x, s):
        for i in range(len(x)):
            t = x[i] if x[i] > s else s * 2
            if t > 0.5:
                u = t * 2
            else:
                u = x[i]
            x[i] = t + u
        return np.sum(x)

    followed(f, vector(), 0.2)


def test_a_variable_of_one_side_only_is_as_python_has_it() -> None:
    def f(x):
        total = 0.0
        for v in x:
            if v > 0:
                t = v
            total += t
        return total

    recorded(f, np.array([1.0, -1.0, 1.0, -2.0, 3.0]))
    plan = planned_ad.compile(f, (np.array([1.0, -1.0]),), unroll=0)
    with pytest.raises(UnboundLocalError):
        plan(np.array([-1.0, 1.0]))
    with pytest.raises(UnboundLocalError):
        planned_ad.compile(f, (np.array([-1.0, 1.0]),), unroll=0)


# What unrolls a loop, and where that is too much.


def grows(x):
    parts = []
    for i in range(len(x)):
        parts[:0] = [x[i] ** 2]
    return parts[0] * parts[-1]


def has_an_iterator(x):
    numbers, total = iter(range(len(x))), 0.0
    for _ in range(len(x)):
        total = 0.5 * total + x[next(numbers)]
    return total


def uses_a_dict_by_index(x):
    table = {}
    for i in range(len(x)):
        table[0.5, i] = x[i] * 2
    return table[0.5, 3]


def is_a_comprehension(x):
    return sum({k: np.sin(v) for k, v in enumerate(x)}.values())


@pytest.mark.parametrize(
    "f, words",
    [
        (grows, "a list, dict or set grow"),
        (has_an_iterator, "holds an iterator"),
        (uses_a_dict_by_index, "dict key"),
        (is_a_comprehension, "comprehension or generator"),
    ],
)
def test_reasons_for_unrolling(f: Callable, words: str) -> None:
    assert words in reasons(f, vector())


def test_a_loop_is_unrolled_alone() -> None:
    """Loops in it stay loops."""

    def f(x):
        parts = []
        for i in range(len(x)):
            total = 0.0
            for v in x:
                total = 0.5 * total + v * x[i]
            parts[:0] = [total]
        return sum(parts)

    traced = recorded(f, vector())
    assert len(traced.unrolled) == 1
    assert len(loops_of(traced)) == N


def test_too_many_iterations_name_the_loop_and_say_why() -> None:
    with pytest.raises(UnrollLimitError) as caught:
        trace(grows, (np.ones(1000),), max_operations=500)
    text = str(caught.value)
    assert "parts[:0] = [x[i] ** 2]" in text
    assert f"test_tracing_loop_bodies.py:{grows.__code__.co_firstlineno + 2}" in text  # the `for`
    assert "shrink" in text and "max_operations" in text


# Traps.


COUNTER = {"calls": 0}


def test_effects_on_globals_happen_as_often_as_they_should() -> None:
    """A body runs several times while it is recorded; dicts and lists are put back."""

    def f(x):
        COUNTER["calls"] = 0
        for v in x:
            COUNTER["calls"] += 1
            x[0] += v
        return np.sum(x) + COUNTER["calls"]

    recorded(f, vector())


def test_views_alias_in_loops() -> None:
    def f(x):
        for i in range(len(x) - 1):
            w = x[i : i + 2]
            z = w[::-1]
            w[0] += 0.5 * z[0]
            z[0] *= 0.5
        return np.sum(x) + w[1]

    followed(f, vector())


def test_a_view_of_the_last_iteration_is_written_to_after_the_loop() -> None:
    def f(x):
        for i in range(len(x) - 2):
            w = x[i : i + 2]
            w[0] += w[1]
        w[1] = 2.0
        return np.sum(x)

    recorded(f, vector())


def test_a_ragged_view_is_written_to_after_the_loop() -> None:
    def f(x):
        for i in range(len(x) - 2):
            w = x[i:]
        w[0] = 2.0
        return np.sum(x) * np.sum(w)

    recorded(f, vector())


def test_a_carried_view_moves_over_an_array_that_changes() -> None:
    def f(a):
        row = a[0]
        for i in range(1, len(a)):
            a[i] += 0.5 * row
            row = a[i]
            row[0] *= 0.3
        row[2] = 7.0
        return np.sum(a) + row[1]

    recorded(f, square())


def test_an_alias_of_an_argument_is_rebound_on_one_side() -> None:
    def f(x, y):
        u = x
        for i in range(len(x)):
            if y[i] > 0:
                u = y
            u[i] = 0.5 * u[i]
        return np.sum(x) + np.sum(y)

    recorded(f, vector(), vector(1))


def test_functions_made_in_the_body() -> None:
    def f(x, y):
        total = 0.0
        for i in range(len(x)):

            def scaled(v, k=i, c=x[i]):
                return v * c + k

            total += scaled(y[i])
        return total + scaled(1.0)

    recorded(f, vector(), vector(1))


def test_errors_of_one_iteration_are_those_of_the_function() -> None:
    def f(x):
        for i in range(len(x) + 1):
            x[i] *= 2
        return x

    with pytest.raises(IndexError):
        trace(f, (vector(),), unroll=0)


def test_tracing_leaves_pythons_own_trace_function_alone() -> None:
    import sys

    before = sys.gettrace()

    def f(x):
        total = 0.0
        for v in x:
            if v > 0:
                total += v
        return total

    recorded(f, vector())
    assert sys.gettrace() is before


def counts_in_an_array_that_is_not_traced(x):
    seen = np.zeros(1, np.float16)
    total = 0.0
    for value in x:
        seen += 1
        total = total + value * float(seen[0])
    return total


def swaps_the_members_of_a_set(x):
    members, total = {0}, 0.0
    for value in x:
        (last,) = members
        members.remove(last)
        members.add(last + 1)
        total = total + value * last
    return total


@pytest.mark.parametrize("f", [counts_in_an_array_that_is_not_traced, swaps_the_members_of_a_set])
def test_state_that_is_not_traced_unrolls_the_loop(f):
    traced = trace(f, (np.ones(20),), unroll=0)
    assert "a set, or an array that is not traced" in traced.unrolled[0].reason
    x = np.linspace(1, 2, 20)
    plan = planned_ad.compile(f, x, unroll=0)
    np.testing.assert_allclose(plan.gradient(x), np.arange(20) + (f is counts_in_an_array_that_is_not_traced))


loop_constants = types.ModuleType("loop_constants")
loop_constants.SCALE, loop_constants.COUNT = 0.5, 0  # type: ignore[attr-defined]


def reads_attributes_of_modules(x):
    total = 0.0
    for k in range(N):
        total += np.sum(x[k : k + 1, np.newaxis]) * np.pi + loop_constants.SCALE
        if np.newaxis is not None:
            total += 1.0
    return total + np.pi


def counts_in_a_module(x):
    total = 0.0
    for k in range(N):
        loop_constants.COUNT += 1
        total += x[k] * loop_constants.COUNT
    return total


def test_attributes_of_modules_that_are_first_read_in_a_loop() -> None:
    assert loops_of(recorded(reads_attributes_of_modules, vector()))
    x = vector()
    plan = planned_ad.compile(reads_attributes_of_modules, x)
    assert plan(x) == pytest.approx(reads_attributes_of_modules(x))


def test_a_counter_in_a_module_is_never_frozen(monkeypatch) -> None:
    monkeypatch.setattr(loop_constants, "COUNT", 0)
    x = vector()
    plan = planned_ad.compile(counts_in_a_module, x, check=False)
    np.testing.assert_allclose(plan.gradient(x), np.arange(1, N + 1)[: len(x)])


@pytest.mark.parametrize("rows", [5, 12])
def test_short_loops_in_one_another_are_not_unrolled_together(rows: int) -> None:
    def f(x):
        total = 0.0
        for i in range(rows):
            for j in range(rows):
                total += np.sin(x[i] * x[j])
        return total

    x = np.linspace(-1, 1, rows)
    traced = trace(f, (x,))
    assert bool(loops_of(traced)) is (rows == 12)
    assert planned_ad.compile(f, x)(x) == pytest.approx(f(x))


WEIGHTS = np.linspace(1.0, 2.0, N)


def test_a_global_that_one_side_is_the_first_to_read() -> None:
    """What a name means outside is no news that a side brings."""

    def f(x):
        s = 0.0
        for i in range(N):
            if x[i] > 0.0:
                s += WEIGHTS[i] * x[i]
        return s

    traced = recorded(f, vector())
    assert not traced.unrolled and len(branches_of(traced)) == 1
    assert not any(buffer.label == "['WEIGHTS']" and buffer.kind == "local" for buffer in traced.tape.buffers)
