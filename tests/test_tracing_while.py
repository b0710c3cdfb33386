"""How `while` on plain integers becomes a `Loop`: how often it runs, what it leaves behind, and why it may not."""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import UnrollLimitError
from planned_ad.regions.affine import Affine
from planned_ad.tape.tape import walk
from planned_ad.tape.verify import outside_of_memory
from planned_ad.trace import trace
from planned_ad.tracing.loops import list_growth

from .recorded_loops import N, followed, loops_of, reasons, recorded, vector


@pytest.mark.parametrize("n", [17, 100_000])
def test_the_tape_does_not_grow_with_the_trips(n: int) -> None:
    def f(x, n):
        i, total = 0, 0.0
        while i < n:
            total = 0.5 * total + np.sin(x[2])
            i += 1
        return total * i

    traced = trace(f, (vector(), n))
    (loop,) = loops_of(traced)
    assert loop.trips == n
    assert len(list(walk(traced.tape.operations))) < 16
    assert not traced.unrolled


def test_short_loops_are_recorded_one_by_one() -> None:
    def f(x):
        i, total = 0, 0.0
        while i < len(x):
            total += x[i]
            i += 1
        return total

    assert not loops_of(recorded(f, vector(), unroll=N))
    assert len(loops_of(recorded(f, vector(), unroll=N - 1))) == 1


TESTS = {
    "i < n": (0, 1, 6),
    "n > i": (1, 2, 3),
    "i <= n - 1": (1, 1, 5),
    "not i >= n": (0, 3, 2),
    "i != n": (0, 2, 3),
    "i - n": (2, 1, 4),
    "2 * i + 1 < n": (0, 1, 3),
    "i < n / 4": (0, 1, 2),
    "i >= 0": (5, -1, 6),
    "i > 0": (5, -2, 3),
    "0 <= i < n": (5, -3, 2),
    "i < n and i < 4": (1, 1, 3),
    "i < 0": (0, 1, 0),
}


@pytest.mark.parametrize("test", TESTS)
def test_how_often_it_runs(test: str, define: Callable[[str], Callable]) -> None:
    start, step, trips = TESTS[test]
    f = define(
        f"""
        def f(x):
            i, n, total = {start}, len(x), 0.0
            while {test}:
                total = 0.5 * total + x[i] * i
                i += {step}
            return total * i
        """
    )
    found = [loop.trips for loop in loops_of(recorded(f, vector()))]
    assert found == [trips] * bool(trips)


@pytest.fixture
def define(tmp_path) -> Callable[[str], Callable]:
    """Makes a function `f` from its source, in a file of its own."""

    def make(source: str) -> Callable:
        file = tmp_path / "written.py"
        file.write_text("import numpy as np\n" + textwrap.dedent(source))
        spec = importlib.util.spec_from_file_location(f"written_{tmp_path.name}", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.f

    return make


def test_nested_loops_have_affine_lengths() -> None:
    def f(x):
        i, total = 0, 0.0
        while i < len(x):
            j = i - 2
            while j > 0:
                total += x[i] * x[j]
                j -= 1
            total += x[i] * j
            i += 1
        return total

    outer, inner = followed(f, vector())
    assert outer.trips == N
    assert inner.trips.expression == Affine(-2, ((outer.index, 1),))


def test_a_loop_in_a_helper_runs_as_often_as_each_caller_says() -> None:
    def power_sum(x, n):
        i, total = 0, 0.0
        while i < n:
            total += x[i] ** 2
            i += 1
        return total * i

    def f(x):
        total = power_sum(x, 3) * power_sum(x, 0)
        for k in range(len(x)):
            total += power_sum(x, k) * x[k]
        return total

    assert [str(loop.trips) for loop in followed(f, vector())] == ["3", "6", "(i2)"]


def test_what_follows_a_break_is_recorded_as_it_is() -> None:
    def f(x):
        i = 0
        while True:
            x[i] *= 2.0
            i += 1
            if i > 3:
                return np.sum(x) * i
            x[i] += 1.0

    (loop,) = followed(f, vector())
    assert loop.trips == 3


def test_a_part_of_the_iterations_is_exchanged_in_pairs() -> None:
    def f(x, n):
        u, v, k = x.copy(), np.zeros_like(x), 0
        while k < n:
            v[1:] = np.sin(u[:-1])
            u, v = v, u
            k += 1
        return np.sum(u) * k

    (loop,) = followed(f, vector(), 7)
    assert loop.trips == 3


def test_reasons() -> None:
    def scattered(x):
        i, total = 1, 0.0
        while i < len(x) - 1:
            total += x[i]
            i = i * 2 % len(x)
        return total

    def growing(x):
        i, items = 0, [x[0]]
        while i < len(x):
            items[:0] = [x[i] * items[-1]]
            i += 1
        return items[0]

    assert "grow by the same amount" in reasons(scattered, np.linspace(0.0, 1.0, 53))
    assert "grow" in reasons(growing, vector())


def test_tests_of_several_lines_and_bodies_that_begin_with_a_loop() -> None:
    def f(x):
        i, j, total = 0, 0, 0.0
        while (
            i < len(x)  # the end
            and j < 100
        ):
            while j < 3:
                total += x[i] * x[j]
                j += 1
            i += 1
            j = 0
        return total + j

    (outer, inner) = followed(f, vector())
    assert (outer.trips, inner.trips) == (N, 3)


def test_a_body_in_the_line_of_its_test_is_unrolled(define: Callable[[str], Callable]) -> None:
    f = define(
        """
        def f(x):
            i = 0
            while i < 5: i, x[i] = i + 1, x[i] ** 2
            return np.sum(x)
        """
    )
    assert reasons(f, vector()) == "has its test and its body in one line"


def test_an_unrolled_loop_is_told() -> None:
    def f(x, n):
        i, total = 1, 0.0
        while i < n:
            total = total * x[0] + 1.0
            i = i * 2 % 1000003
        return total

    (note,) = planned_ad.compile(f, (vector(), 500_000)).explain().fallbacks
    assert "test_tracing_while.py" in note
    assert "write `for i in range(...)`" in note
    assert not planned_ad.compile(f, (vector(), 1 << 9)).explain().fallbacks


def test_too_many_operations_name_the_loop() -> None:
    def f(x, n):
        i, total = 1, 0.0
        while i < n:
            total = total * x[0] + 1.0
            i = i * 7 % (n + 7)
        return total

    with pytest.raises(UnrollLimitError, match=r"The loop at .*test_tracing_while.py.*write `for i in range"):
        trace(f, (vector(), 1000), max_operations=200)


def returns_first(x, n):
    """A list of elements from outside, which the first pass appends before it is known how often the loop runs."""
    rows, t = [x[0] * 1.0], x[1]
    while n > 0:
        n -= 1
        t = 0.5 * t
        rows.append(x[0])
    return t + rows[0]


def test_a_list_of_what_is_unchanged_has_a_row_for_each_iteration() -> None:
    x = np.array([3.0, 2.0])
    traced = trace(returns_first, (x, 30))
    assert traced.rolled and outside_of_memory(traced.tape) is None
    assert (31,) in {buffer.shape for buffer in traced.tape.buffers}
    assert planned_ad.compile(returns_first, (x, 30))(x, 30) == pytest.approx(returns_first(x, 30))


def test_a_loop_that_would_reach_beside_its_memory_is_unrolled(monkeypatch) -> None:
    """The net under all forms in which a loop hands things on: rows that are too few never reach a plan."""
    monkeypatch.setattr(list_growth.Growth, "_has_room", lambda self, grown, each: True)
    traced = trace(returns_first, (np.array([3.0, 2.0]), 30))
    assert not traced.rolled
    assert "would reach memory that is not its own" in traced.unrolled[0].reason


def runs_of_positives(x):
    total, i = 0.0, 0
    while i < 24:
        j = i
        while j < len(x) and x[j] > 0:
            total += x[j] * (j - i)
            j += 1
        i = j + 1
    return total


def until_negative(x):
    total, j = 0.0, 0
    while j < 24 and x[j] > 0:
        total += x[j]
        j += 1
    return total


def left_by_an_integer(x):
    """The inner loop is on one side of a test, and left by a part of its own that is known."""
    total = 0.0
    for j in range(20):
        k, t = 0, 0.0
        while t < 1.0:
            step = 0.1 + 0.1 * np.sin(x[j] * t) ** 2
            if step > 0.12:
                while k < 1 and x[0] - x[k] <= t + step:
                    total += x[2] * t
                    k += 1
            t = t + step
    return total


@pytest.mark.parametrize("f", [runs_of_positives, until_negative, left_by_an_integer])
def test_an_index_that_the_first_part_of_a_test_keeps_in_range(f) -> None:
    wave = np.sin(np.arange(24.0) + 0.5)
    plan = planned_ad.compile(f, wave, unroll=0)
    assert plan.explain().fallbacks == ()
    for x in (wave, np.ones(24), -np.ones(24), np.cos(np.arange(24.0))):
        np.testing.assert_allclose(plan(x), f(x))
        gradient, base = plan.gradient(x), f(x)
        for k in (0, 5, 23):
            moved = x.copy()
            moved[k] += 1e-6
            np.testing.assert_allclose(gradient[k], (f(moved) - base) / 1e-6, atol=1e-6)
