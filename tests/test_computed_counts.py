"""Loops that run as often as the program has computed: what their derivative keeps of them, in any order."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.known_plans import KnownPlans
from planned_ad.differentiate.keep import rooms
from planned_ad.errors import UnsupportedError
from planned_ad.trace import trace
from planned_ad.tracing.record.limits import ANY, RULES

from .oracle import compiled

START = np.array([0, 3, 3, 7, 12, 13, 20])
COLUMN = np.array([0, 3, 5, 1, 2, 8, 9, 4, 0, 11, 13, 17, 2, 19, 18, 16, 15, 14, 7, 6])
POINTS = [np.random.default_rng(seed).permutation(np.linspace(-0.9, 1.3, 20)) for seed in range(3)]


def products_of_rows(x):
    """Rows of a sparse matrix."""
    s = 0.0
    for i in range(6):
        p = 1.0
        for k in range(START[i], START[i + 1]):
            p *= 1.0 + 0.3 * x[COLUMN[k]] if x[COLUMN[k]] > p - 1.0 else 0.9
        s = s + np.sin(p)
    return s


def substeps(x):
    """As many as the speed of a wave asks for."""
    u = np.sin(np.arange(12.0)) + x[:12] * 0.1
    for i in range(20):
        c = 1.0 + x[i] ** 2
        n = int(np.ceil(c / 0.4))
        for _ in range(n):
            u[1:-1] += 0.1 * c / n * np.sin(u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u * u)


def in_three_loops(x):
    s = 0.1
    for i in range(20):
        for _ in range(int(2 + abs(x[i]) * 3)):
            for k in range(int(1 + abs(x[(i + 3) % 20]) * 4), -1, -1):
                s = 0.9 * math.sin(s) + 0.1 * x[i] * s + 0.02 * k
    return s


def left_early(x):
    s = 0.1
    for i in range(20):
        for _ in range(int(4 + 3 * abs(x[i]))):
            s = s * (0.5 + 0.1 * x[i]) + math.cos(s)
            if s > 1.9:
                break
    return s


def outermost(x):
    """With an argument that it writes to."""
    for k in range(int(30 + 30 * abs(x[3]))):
        x[1:] = np.sin(x[:-1]) * 0.5 + 0.5 * x[1:] * x[1:] + 0.001 * k
    return np.sum(x)


def outermost_and_left_early(x):
    s = 0.2
    for k in range(int(3000 + 300 * abs(x[3]))):
        s = 0.99 * math.sin(s) + 0.01 * x[4] * math.cos(k)
        if s < -0.0145:
            break
    return s


def handed_on(x):
    """What one iteration stores and the next one loads, on a side of a branch and after it."""
    y, t = x.copy(), x[0]
    for i in range(4):
        for k in range(int(1.2 + 2.7 * abs(t))):
            if k > 1:
                t = 0.5 * t + 0.1 * np.sin(t * x[i])
            y[(k + 1) % 6] = 0.9 * np.tanh(t) + 0.3 * x[k % 20]
        t = t + y[i] * y[i + 1]
    return t + np.sum(y * y)


def odd_and_even(x):
    """Sorting by transposition: the number of iterations has a bound."""
    a = list(x)
    for p in range(20):
        for i in range(p % 2, 19, 2):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
    return a[0] * 2 + a[5] * a[7]


def comb_sort(x):
    a = x.copy()
    gap, done = len(a), False
    while gap > 1 or not done:
        gap, done = max(1, int(gap / 1.3)), True
        for i in range(len(a) - gap):
            if a[i] > a[i + gap]:
                a[i], a[i + gap] = a[i + gap], a[i]
                done = False
    return a[0] * 2 + a[5] * a[7]


PROGRAMS = (
    products_of_rows,
    substeps,
    in_three_loops,
    left_early,
    outermost,
    outermost_and_left_early,
    handed_on,
    odd_and_even,
    comb_sort,
)


def slope(f: Callable, x: np.ndarray) -> np.ndarray:
    steps = 1e-5 * np.eye(len(x))
    return np.array([(f(x + step) - f(x - step)) / 2e-5 for step in steps])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(f: Callable) -> None:
    plan = compiled(f, POINTS[0].copy(), unroll=0)
    assert not plan._variants[0].trace.unrolled
    for x in POINTS:
        value, gradient = plan.value_and_gradient(x.copy())
        assert value == pytest.approx(f(x.copy()), rel=1e-10)
        np.testing.assert_allclose(gradient, slope(lambda y: f(y.copy()), x), rtol=1e-6, atol=1e-8)
    assert len(plan._variants) == 1


@pytest.mark.parametrize(
    "f", [in_three_loops, left_early, outermost, outermost_and_left_early], ids=lambda f: f.__name__
)
def test_room_grows_where_a_call_needs_it(f: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "LONG", 4)
    monkeypatch.setattr(rooms, "RUN", 1)
    monkeypatch.setattr(rooms, "PLENTY", 64)
    known = KnownPlans[planned_ad.Plan]()  # those of other tests have other rooms
    monkeypatch.setattr("planned_ad.plan.KNOWN", known)
    monkeypatch.setattr("planned_ad.compiling.KNOWN", known)
    plan, x = compiled(f, POINTS[0].copy(), unroll=0), POINTS[1]
    np.testing.assert_allclose(plan.gradient(x.copy()), slope(lambda y: f(y.copy()), x), rtol=1e-6, atol=1e-8)
    assert plan._variants[0].room > 1
    assert any("there is room for" in cached.reason for cached in plan.explain().cached)


@pytest.mark.parametrize("f", [in_three_loops, left_early, substeps], ids=lambda f: f.__name__)
def test_second_derivatives_and_batches(f: Callable) -> None:
    x, v = POINTS[0], np.cos(np.arange(20.0))
    plan = compiled(f, x.copy(), unroll=0)
    moved = [plan.gradient(x + h * v) for h in (1e-5, -1e-5)]
    product = planned_ad.compile(lambda z: planned_ad.jvp(planned_ad.grad(f))(z, v)[1], (x,), unroll=0)
    np.testing.assert_allclose(product(x), (moved[0] - moved[1]) / 2e-5, rtol=1e-5, atol=1e-6)
    batch = planned_ad.vectorize(planned_ad.grad(f))(np.stack(POINTS))
    np.testing.assert_allclose(batch, [plan.gradient(y.copy()) for y in POINTS], rtol=1e-9, atol=1e-12)


def test_a_derivative_in_the_program_takes_more_iterations_where_a_call_needs_them() -> None:
    def power(x, n):
        for _ in range(n[0]):
            x = np.sin(x)
        return np.sum(x)

    plan = compiled(lambda x, n: np.sum(planned_ad.grad(power)(x, n) ** 2), POINTS[0], np.array([4]), unroll=0)
    for n in (4, 0, 1500):
        value = np.ones(20)
        x = POINTS[0]
        for _ in range(n):
            value, x = value * np.cos(x), np.sin(x)
        assert plan(POINTS[0], np.array([n])) == pytest.approx(np.sum(value**2), rel=1e-9)


def test_a_loop_that_is_cut_for_less_memory_needs_a_bound() -> None:
    with pytest.raises(UnsupportedError, match=r"known only at run time, without a bound.*Give the loop a bound"):
        planned_ad.compile(substeps, (POINTS[0],), memory_limit=1000, unroll=0)


# What is known of integers.


def test_intervals_hold_all_results() -> None:
    """Of each operation, over pairs of small intervals."""
    numpy_of = {"where": lambda a, b: np.stack([a, b]), "negative": lambda a, b: -a}
    numpy_of |= {"absolute": lambda a, b: abs(a)}
    unchanged = ("cast", "view", "broadcast", "reduce_min", "reduce_max")
    numpy_of |= {name: lambda a, b: a for name in unchanged}
    ends = [(a, b) for a in range(-3, 4) for b in range(a, 4)]
    for name, rule in RULES.items():
        function = numpy_of.get(name) or getattr(np, name)
        for first in ends:
            for second in ends:
                operands = {name: [first] for name in (*unchanged, "negative", "absolute")}
                operands |= {"where": [ANY, first, second]}
                found = rule(*operands.get(name, [first, second]))
                if found is None:
                    assert name in ("floor_divide", "remainder")
                    assert second[0] <= 0
                    continue
                a, b = np.meshgrid(np.arange(first[0], first[1] + 1), np.arange(second[0], second[1] + 1))
                values = function(a, b)
                assert found[0] <= values.min() <= values.max() <= found[1], (name, first, second)


def test_an_index_that_is_in_range_by_its_interval_needs_no_guard() -> None:
    def f(x, k):
        s = 0.0
        for i in range(40):
            s = s + x[(k[i] * 7 + i) % 20] * i
        return s

    tape = trace(f, (POINTS[0], np.arange(40)), unroll=0).tape
    assert "guard" not in str(tape)
    k = np.array([-(2**60), 5] * 20)
    plan = compiled(f, POINTS[0], np.arange(40), unroll=0)
    assert plan(POINTS[0], k) == pytest.approx(f(POINTS[0], k), rel=1e-12)
