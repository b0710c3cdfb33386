"""Lists whose length is data: the loops that fill them stay loops, and one trace serves for all lengths."""

# ruff: noqa: PERF401 (programs as people write them)

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.tape.tape import Guard
from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan, assert_right
from .lists_in_turn_programs import IN_TURN, OTHERS_IN_TURN
from .random_joined_lists import SIZE
from .random_joined_lists import function as joined_lists
from .run_time_list_programs import LOOPS, PROGRAMS, sum_of_some
from .sweeps import name_of, rotated


@pytest.mark.parametrize(("f", "unroll"), rotated([*PROGRAMS, *IN_TURN, *OTHERS_IN_TURN], [0, 16]), ids=name_of)
def test_lists_of_a_length_that_is_data(f: Callable, unroll: int) -> None:
    """Compiled for some of those that one trace serves for all inputs, where loops are loops."""
    rng = np.random.default_rng(0)
    x, direction = rng.normal(size=(2, 18))
    is_loop = unroll == 0 and f in (*LOOPS, *IN_TURN)
    if is_loop and f in (*LOOPS, *IN_TURN)[::3]:
        plan = planned_ad.compile(f, (x,), unroll=unroll, check=False)
    else:
        plan = InterpretedPlan(f, x, unroll=unroll)
    for _ in range(5 if is_loop else 2):
        x, step = rng.normal(size=18), 1e-7 * direction
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + step) - f(x - step)) / 2e-7
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("f", [*LOOPS, *IN_TURN], ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).normal(size=42),), unroll=3 if f.__name__ in DOUBLED else 0)
    assert found.rolled and not found.unrolled
    fixed = [op for op in found.tape.operations if isinstance(op, Guard) and op.what in ("branch", "count")]
    assert not fixed or f.__name__ in BRANCHES


# Which may have twice as many elements after each of a few iterations.
DOUBLED = ("clipped",)

# Which ask outside of loops whether there is anything, or have a first iteration that is another.
BRANCHES = ("extremes", "tuples", "crossings", "clipped", "flushed_by_a_closure")


def test_second_derivatives() -> None:
    x, v = np.random.default_rng(0).normal(size=(2, 30))
    plan = planned_ad.compile(lambda x: sum_of_some(x) ** 2, (x,))
    some = np.where(x > 0, x, 0.0)
    expected = 2 * (2 * some @ v) * 2 * some + 2 * sum_of_some(x) * 2 * v * (x > 0)
    np.testing.assert_allclose(plan.hvp(x, v), expected, rtol=1e-12)


def test_memory_is_for_all_that_may_be_appended() -> None:
    def f(x):
        out = []
        for v in x:
            if v > 0:
                out.append(v)
                out.append(2.0 * v)
        return sum(out)

    plan = planned_ad.compile(f, (-np.ones(100),))
    assert plan(np.ones(100)) == pytest.approx(300.0)
    assert plan.explain().workspace_bytes < 2 * 200 * 8 + 2000


def test_empty_extremes_are_the_functions_error() -> None:
    def f(x):
        return max([v for v in x if v > 0])

    plan = planned_ad.compile(f, (np.ones(20),))
    with pytest.raises(ValueError, match="empty"):
        plan(-np.ones(20))


def test_index_out_of_range_is_an_error() -> None:
    def f(x):
        out = []
        for v in x:
            if v > 0:
                out.append(v)
        return out[3]

    plan = planned_ad.compile(f, (np.ones(20),))
    with pytest.raises(IndexError):
        plan(-np.ones(20))


def test_what_needs_a_known_length_is_for_each_length() -> None:
    """NumPy functions that have no rule for run-time lengths, and results: a trace for each number of elements."""

    def middle(x):
        return np.median([v for v in x if v > 0])

    def some(x):
        return [v * v for v in x if v > 0]

    rng = np.random.default_rng(0)
    for f in (middle, some):
        plan = planned_ad.compile(f, (rng.normal(size=12),))
        for _ in range(20):
            x = rng.normal(size=12)
            np.testing.assert_allclose(plan(x), f(x), rtol=1e-13)
        assert plan.explain().variants <= 12


def test_what_only_a_list_can_do_is_done_by_one() -> None:
    def f(x):
        out = []
        for v in x:
            if v > 0:
                out.append(v)
        out.insert(0, x[0])
        return sum(i * v for i, v in enumerate(out))

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.normal(size=20),))
    for _ in range(5):
        x = rng.normal(size=20)
        assert plan(x) == pytest.approx(f(x), rel=1e-13)


def test_growing_while_it_is_run_over() -> None:
    def f(x):
        work = [x[0]]
        total = 0.0
        for v in x:
            if v > 0.5:
                work.append(v)
        for w in work:
            total += w
            if w > 1.0:
                work.append(w * 0.4)
        return total + len(work)

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.normal(size=20),))
    for _ in range(5):
        x = rng.normal(size=20)
        assert plan(x) == pytest.approx(f(x), rel=1e-13)


def test_a_list_that_grows_out_of_itself() -> None:
    """How much room it needs is counted through all iterations, and nothing is written beyond that."""

    def f(x):
        found = [x[0]]
        for v in x:
            if v > 0:
                found = found[:] + [0.5 * v, v]
        return sum(found)

    plan = planned_ad.compile(f, (-np.ones(200),))
    assert plan(np.ones(200)) == pytest.approx(f(np.ones(200)))


def test_constants_that_each_iteration_appends() -> None:
    def f(x):
        found = []
        for _ in x:
            found.append(1.0)
            found.append(0.5)
        return x[0] + sum(found)

    plan = planned_ad.compile(f, (np.ones(20),))
    assert plan(np.ones(20)) == pytest.approx(31.0)
    np.testing.assert_array_equal(plan.gradient(np.ones(20)), np.eye(20)[0])


@pytest.mark.parametrize("seed", [*range(12), *[pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 400)]])
def test_random_joined_lists(seed: int) -> None:
    assert_right(joined_lists(seed), SIZE, seed, 16 * (seed % 2))
