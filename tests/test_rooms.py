"""Loops that stop, in other loops: what they keep takes room for the iterations that run, which grows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.check import checked as check
from planned_ad.calls.entries import differentiated, entry_tape
from planned_ad.calls.kernel_functions import njit_spec
from planned_ad.calls.kinds import KINDS
from planned_ad.calls.known_plans import KnownPlans
from planned_ad.differentiate.keep import rooms
from planned_ad.tape.interpret import GuardBroken, interpret
from planned_ad.tape.tape import Loop, walk
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace, trace

from .oracle import assert_differences, assert_shadows, interpreted, memories_for, shadow_leaves, shadows_in


def roots(a):
    total = 0.0
    for i in range(len(a)):
        x = a[i] * np.linspace(1.0, 2.0, 8)
        for _ in range(100):
            new = 0.5 * (x + a[i] / x)
            d = np.sum(np.abs(new - x))
            x = new
            if d < 1e-9:
                break
        total += np.sum(np.sin(x) * x)
    return total


def written(a, w):
    """Writes to an argument what must not be written twice."""
    total = 0.0
    for i in range(len(a)):
        x = a[i]
        for _ in range(50):
            w[i] = w[i] * 0.9 + 0.01 * x * x
            new = 0.5 * (x + a[i] / x)
            d = abs(new - x)
            x = new
            if d < 1e-6:
                break
        total += x * w[i] ** 2
    return total


def deep(a, w):
    """A loop that stops in another, on one side of a branch, with an ordinary loop in it that carries a number."""
    total, s = 0.0, 0.1 * a[0]
    for i in range(len(a)):
        if w[i] > 0.7:
            x = a[i] * 1.0
            for _ in range(30):
                y = x * w[i]
                for _ in range(25):
                    new = 0.5 * (y + a[i] / y) + 0.01 * s
                    gone = abs(new - y) < 1e-3
                    y = new
                    if gone:
                        break
                for j in range(len(w)):
                    y = y + 0.001 * np.sin(y * w[j]) * y
                before, x = x, 0.5 * (x + y)
                if abs(x - before) < 1e-2:
                    break
            s = 0.5 * s + 0.1 * x
            total += np.sin(x) * x
    return total


def known_by_its_copy(a):
    """What is overwritten in each iteration is kept as a whole."""
    state, total = a * 1.0, 0.0
    for i in range(len(a)):
        for k in range(20):
            state[1:] = state[1:] * 0.9 + 0.1 * np.sin(state[:-1])
            state[0] = 0.5 * (state[0] + a[i] / state[0])
            if abs(state[0] ** 2 - a[i]) < 1e-6 * (k + 1):
                break
        total += np.sum(state * state)
    return total


def near(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(1.0, 2.0, n)


def far(n: int, scale: float = 1e10) -> np.ndarray:
    """Arguments from which Newton takes longer."""
    return scale * np.random.default_rng(1).uniform(1.0, 10.0, n)


def of_both(n: int) -> tuple[np.ndarray, np.ndarray]:
    return near(n), np.random.default_rng(2).uniform(0.5, 1.5, n)


N = 5
PROGRAMS = [(roots, 1, 1e10), (written, 2, 1e4), (deep, 2, 20.0), (known_by_its_copy, 1, 1e4)]


def arguments(count: int, first: np.ndarray) -> tuple[np.ndarray, ...]:
    return (first, *of_both(len(first))[1:count])


def compiled(f: Callable, args: object, **options: object) -> planned_ad.Plan:
    return planned_ad.compile(f, args, unroll=0, check=False, **options)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly any room at first, in small programs too."""
    monkeypatch.setattr(rooms, "PLENTY", -1)
    monkeypatch.setattr(rooms, "RUN", 1)
    known = KnownPlans[planned_ad.Plan]()  # those of other tests have grown
    monkeypatch.setattr("planned_ad.plan.KNOWN", known)
    monkeypatch.setattr("planned_ad.compiling.KNOWN", known)


def run_by_interpreter(traced: Trace, args: tuple, room: int, simplified: bool) -> dict:
    tape = (entry_tape if simplified else differentiated)(traced, KINDS["gradient"], False, room=room)
    memories = memories_for(verify(tape), traced, args, {}, [])
    interpret(tape, memories)
    return shadows_in(tape, memories)


# Room.


def test_room_is_for_what_runs() -> None:
    plan = planned_ad.compile(roots, near(1000))
    found = plan.explain()
    product = 1000 * 100 * 8 * 8  # bytes
    assert found.cached_bytes < found.workspace_bytes < product / 4
    assert any("there is room for 16,100 iterations at first" in c.reason for c in found.cached)
    assert any(guard.what == "room for iterations" for guard in found.guards)


def test_a_few_places_are_one_for_each_iteration() -> None:
    few = trace(roots, (near(20),))
    assert not rooms.capacities(few.tape, 1)
    assert rooms.capacities(trace(roots, (near(200),)).tape, 1)


def test_where_there_is_as_much_room_as_iterations_nothing_is_counted() -> None:
    traced = trace(roots, (near(200),))
    assert rooms.capacities(traced.tape, 1) and not rooms.capacities(traced.tape, 8)


def test_without_room_it_is_said() -> None:
    reasons = [c.reason for c in planned_ad.compile(roots, near(20), check=False).explain().cached]
    assert any("there is room for each iteration that may run" in reason for reason in reasons)


@pytest.mark.parametrize("simplified", [False, True])
@pytest.mark.parametrize("f, count, scale", PROGRAMS)
def test_the_reverse_sweep_finds_what_was_kept(
    f: Callable, count: int, scale: float, simplified: bool, narrow: None
) -> None:
    """By the interpreter, in whose memory nothing is a number that was not written."""
    first = near(N)
    traced = trace(f, arguments(count, first), unroll=0)
    assert rooms.capacities(traced.tape, 8)
    for start in (first, far(N, scale)):
        args = arguments(count, start)
        expected = interpreted(traced, "gradient", args)
        for room in (8, 64):
            try:
                assert_shadows(run_by_interpreter(traced, args, room, simplified), expected, f"room {room}")
            except GuardBroken as error:
                assert error.guard.what == "room for iterations"
                assert room == 8 and start is not first
                break


# Growth.


@pytest.mark.parametrize("f, count, scale", PROGRAMS)
def test_a_call_that_needs_more_room_is_right(f: Callable, count: int, scale: float, narrow: None) -> None:
    plan = compiled(f, arguments(count, near(N)), on_branch="raise")
    traced, kernel = plan._variants[0].trace, plan.gradient
    for start in (near(N), far(N, scale)):
        args, own = arguments(count, start), [a.copy() for a in arguments(count, start)]
        expected = interpreted(traced, "gradient", args)
        assert_shadows(shadow_leaves(traced, kernel(*own)), expected, "a call held from before")
        after = [a.copy() for a in args]
        value = f(*after)
        for found, wanted in zip(own, after):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)
        np.testing.assert_allclose(plan.value_and_gradient(*(a.copy() for a in args))[0], value, rtol=1e-13)
    assert plan._variants[0].room > 1
    assert len(plan._variants) == 1


def test_there_is_room_for_what_the_check_has_seen(narrow: None) -> None:
    """Nothing is compiled a second time for the example's own length."""
    start = far(N)
    checked = planned_ad.compile(roots, start, unroll=0)
    assert dict(checked.explain().checked.iterations)  # counted
    variant = checked._variants[0]
    gradient = checked.gradient(start)
    assert variant.room > 1 and checked._variants == [variant]
    unchecked = compiled(roots, start)
    np.testing.assert_array_equal(gradient, unchecked.gradient(start))
    assert unchecked._variants[0].room == variant.room


@pytest.mark.parametrize("how_long", ["expected", "found"])
def test_a_part_of_an_example_says_how_much_room_all_of_it_takes(
    how_long: str, narrow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where checking takes too long, before it starts or while it runs: nothing is compiled a second time."""
    if how_long == "expected":
        monkeypatch.setattr(check, "costs", lambda tape: 1e9)
    else:
        monkeypatch.setattr(check, "within", lambda seconds, run: (False, run()))
    start = far(N)
    plan = planned_ad.compile(roots, start, unroll=0)
    checked = plan.explain().checked
    assert "than a check may" in checked.left_out and dict(checked.iterations)
    variant = plan._variants[0]
    plan.gradient(start)
    assert variant.room > 1 and plan._variants == [variant]


def test_iterations_of_all_runs_are_those_of_a_part_and_more_of_the_same() -> None:
    tape = trace(roots, (near(N),), unroll=0).tape
    outer, inner = (op.index for op in walk(tape.operations) if isinstance(op, Loop))
    assert rooms.projected(tape, {inner: 7}, {inner: 2}) == {inner: 18}
    assert rooms.projected(tape, {}, {}) == {}
    assert outer != inner


def test_gradients_with_more_room_against_differences(narrow: None) -> None:
    plan = compiled(roots, near(N))
    plan.gradient(far(N))
    assert plan._variants[0].room > 1
    start = 30.0 * near(N)
    shadows = shadow_leaves(plan._variants[0].trace, plan.gradient(start))
    assert_differences(roots, plan._variants[0].trace, (start,), shadows)


def test_shadows_that_are_added_to_are_added_to_once(narrow: None) -> None:
    plan = compiled(roots, near(N))
    expected = plan.gradient(far(N))
    fresh = compiled(roots, near(N))
    shadow = np.ones(N)
    fresh.pullback(far(N), shadow, 2.0)
    assert fresh._variants[0].room > 1
    np.testing.assert_allclose(shadow, 1.0 + 2.0 * expected, rtol=1e-12)


def test_a_tape_of_a_split_plan_grows(narrow: None) -> None:
    plan = compiled(written, of_both(N))
    forward, reverse = plan.split()
    tape, before = forward.tape(), forward.tape_nbytes
    for start in (far(N, 1e4), near(N)):
        args = arguments(2, start)
        expected = interpreted(plan._variants[0].trace, "gradient", args)
        forward(*(a.copy() for a in args), tape)
        assert_shadows(shadow_leaves(plan._variants[0].trace, reverse(tape)), expected, "split")
    assert forward.tape_nbytes > before


def test_another_branch_is_not_traced_for_want_of_room(narrow: None) -> None:
    def f(a):
        if a[0] > 0.0:
            return roots(a) * a[0]
        return np.sum(a * a)

    plan = compiled(f, near(N), max_variants=2)
    plan.gradient(-near(N))
    for start in (far(N), -near(N), near(N)):
        expected = compiled(f, start).gradient(start)
        np.testing.assert_allclose(plan.gradient(start), expected, rtol=1e-12)
    assert len(plan._variants) == 2


def test_compiled_code_says_what_to_do(narrow: None) -> None:
    variant = compiled(roots, near(N))._variants[0]
    _, message = njit_spec(variant.trace, variant.entry("gradient"), "retrace").broken
    assert "no room for as many iterations" in message and "plan.gradient does" in message


def test_a_memory_limit_is_met_with_room_and_then_in_segments(narrow: None) -> None:
    free = compiled(roots, near(N))
    limit = free.explain().cached_bytes
    plan = compiled(roots, near(N), memory_limit=limit)
    assert plan.explain().cached_bytes == limit
    np.testing.assert_array_equal(plan.gradient(near(N)), free.gradient(near(N)))
    np.testing.assert_allclose(plan.gradient(far(N)), free.gradient(far(N)), rtol=1e-12)
    found, more = plan.explain(), free.explain()
    assert found.reruns and not more.reruns
    assert found.cached_bytes <= limit < more.cached_bytes
