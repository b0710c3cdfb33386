"""Arrays that are made of as many elements as data say: in loops, and where calls have had several numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BranchError
from planned_ad.trace import trace

from .interpreted_plans import assert_right
from .program_lists import function_of
from .random_created_arrays import SIZE, function
from .sweeps import name_of, rotated

LONG = [pytest.param(seed, seed % 2 * 16, marks=pytest.mark.long) for seed in range(8, 400)]


def discounted(x):
    total, terms = 0.0, (9 * x).astype(int)
    for i in range(24):
        t = np.arange(1, terms[i] + 1)
        total += x[i] * np.sum(1.0 / (1.0 + 0.05 * x[0]) ** t)
    return total


def smoothed(x):
    out = np.zeros(24)
    for i in range(24):
        h = int(5 * x[i])
        weights = np.exp(-0.5 * (np.arange(-h, h + 1) / (1.0 + x[i])) ** 2)
        weights /= weights.sum()
        lo, hi = max(0, i - h), min(24, i + h + 1)
        out[i] = np.dot(weights[lo - (i - h) : len(weights) - (i + h + 1 - hi)], x[lo:hi])
    return np.sum(out**2)


def recurrences(x):
    total = 0.0
    for v in x:
        n = int(7 * v) + 1
        c = np.zeros(n)
        c[0] = 1.0
        for j in range(1, n):
            c[j] = c[j - 1] * x[j] / (j + 1)
        total += c[-1] + c.sum()
    return total


def trees(x):
    total = 0.0
    for v in x:
        n = int(6 * v)
        j = np.arange(n + 1)
        values = np.maximum(100 * np.exp(0.1 * v * (2 * j - n)) - 95, 0)
        for k in range(n, 0, -1):
            values = 0.99 * (0.5 * values[1 : k + 1] + 0.5 * values[:k])
        total += values[0]
    return total


def paths(x):
    total = 0.0
    for v in x:
        n = int(9 * v)
        points = np.zeros((n, 2))
        for k in range(n):
            points[k, 0], points[k, 1] = np.cos(k * v), np.sin(k * x[0])
        total += np.sum(np.sqrt(0.1 + (np.diff(points, axis=0) ** 2).sum(axis=1)))
    return total


def on_one_side(x):
    total = 0.0
    for i in range(24):
        if x[i] > 0.4:
            chosen = x[x > x[i]]
            total += np.sum(chosen)
        if x[i] > 0.5:
            t = np.linspace(0.0, x[i], int(4 + 9 * x[i]))
            total += np.sum(t**2)
    return total


def running_totals(x):
    waits = []
    for v in x:
        if v > 0.5:
            waits.append(v)  # noqa: PERF401 (as people write it)
    w = np.zeros(len(waits) + 1)
    for k, v in enumerate(waits):
        w[k + 1] = w[k] + v
        w[w > 3.0] = k
    return w[-1] + np.sum(w)


def outside_of_loops(x):
    n = int(9 * x[0]) + 2
    u = np.ones(n + 1)
    for _ in range(20):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) + 0.01 * x[1]
    return np.sum(u**2)


PROGRAMS = [discounted, smoothed, recurrences, trees, paths, on_one_side, running_totals, outside_of_loops]


@pytest.mark.parametrize("f", PROGRAMS, ids=name_of)
def test_one_trace_is_for_all_lengths(f: Callable) -> None:
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(SIZE),), check=False, calls=())
    assert not plan.explain().fallbacks
    for _ in range(4):
        x = rng.random(SIZE)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
    assert len(plan._variants) == 1
    assert_right(f, SIZE, 1, 0)


@pytest.mark.parametrize(
    "expression",
    [
        "np.zeros(k) + x[i]",
        "np.full((k,), x[i])",
        "np.ones((2, k))[1] * x[i]",
        "np.ones((k, 2)) * x[:2]",
        "np.arange(0, 2 * k, 3) * x[i]",
        "np.arange(k, -1, -2) * x[i]",
        "np.arange(0.0, x[i], 0.13)",
        "np.linspace(x[0], x[i], k, endpoint=False)",
        "x[np.arange(k)]",
        "np.sqrt(np.zeros(len(x[x > x[i]])) + x[i])",
        "x[: len(np.empty(k, dtype=int))]",
    ],
)
def test_what_a_loop_adds_up(expression: str) -> None:
    lines = [
        "s = 0.0",
        "for i in range(24):",
        "    k = int(9 * x[i])",
        f"    s += np.sum(({expression}) ** 2)",
        "return s",
    ]
    f = function_of("def f(x):\n    " + "\n    ".join(lines) + "\n", f"<{expression}>", np=np)
    found = trace(f, (np.linspace(0.1, 0.9, SIZE),), unroll=0)
    assert found.rolled and not found.unrolled
    assert_right(f, SIZE, 1, 0)


@pytest.mark.parametrize(("seed", "unroll"), [*rotated(range(8), [0, 16]), *LONG])
def test_random_programs(seed: int, unroll: int) -> None:
    assert_right(function(seed), SIZE, seed, unroll)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.int64])
@pytest.mark.parametrize("made", ["n[i]", "0, n[i], 2", "n[i], n[i] + 3", "n[i], 0, -1", "1, n[i]"])
def test_ranges_of_integers_of_any_type(made: str, dtype: type) -> None:
    """Their elements are of 64 bits, their number is as NumPy has it, also where its own differences wrap around."""
    lines = [
        "s = 0.0",
        "for i in range(24):",
        f"    t = np.arange({made})",
        "    s += np.sum(t * 100 * x[i]) + t.itemsize",
    ]
    f = function_of("def f(x, n):\n    " + "\n    ".join([*lines, "return s"]) + "\n", f"<ranges {made}>", np=np)
    x, n = np.linspace(0.1, 1.0, 24), np.random.default_rng(0).integers(1, 120, 24).astype(dtype)
    n[:2] = 127
    with np.errstate(over="ignore"):
        assert planned_ad.compile(f, (x, n), check=False)(x, n) == pytest.approx(f(x, n), rel=1e-12)


def lengths(x):
    total = 0.0
    for v in x:
        total += np.sum(np.arange(int(v)) * v)
    return total


def test_a_call_with_more_elements_than_there_is_memory_for_is_traced_again() -> None:
    few, many = np.linspace(1.0, 9.0, SIZE), np.linspace(1.0, 90.0, SIZE)
    plan = planned_ad.compile(lengths, (few,), max_steps=10)
    assert plan(few) == pytest.approx(lengths(few))
    assert plan(many) == pytest.approx(lengths(many))
    assert plan._options["max_steps"] > 10 and len(plan._variants) == 1
    fixed = planned_ad.compile(lengths, (few,), max_steps=10, on_branch="raise")
    with pytest.raises(BranchError, match=r"an array of more than the 10 elements"):
        fixed(many)


def test_a_negative_number_of_elements_is_the_error_of_numpy() -> None:
    def f(x):
        return sum(np.sum(np.ones(int(v)) * v) for v in x)

    plan = planned_ad.compile(f, (np.linspace(1.0, 9.0, SIZE),))
    with pytest.raises(ValueError, match="negative dimensions"):
        plan(np.linspace(-2.0, 9.0, SIZE))
