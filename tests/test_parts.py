"""`compile(..., threads=k)`: steps in parts, which any number of threads do with the same result."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError
from planned_ad.kernels.threads import division, parts, pool
from planned_ad.planning.schedule import walk_steps

from .malloc import count_in_subprocess
from .oracle import lazily_compiled
from .sweeps import rotated

RNG = np.random.default_rng(3)
WEIGHTS, TURNS = RNG.random((40, 24)), RNG.random((80, 80))


@pytest.fixture
def everything_in_parts(monkeypatch) -> None:
    """However small."""
    monkeypatch.setattr(parts, "WORTH", 0.0)
    monkeypatch.setattr(parts, "LEAST", 2)
    monkeypatch.setattr(parts, "INNERMOST", 1)


def sums(x, a):
    return np.sum(np.sin(x) * x) * np.prod(1 + 0.01 * a) + np.max(x)


def rows_and_columns(x, a):
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    return np.sum((e / e.sum(axis=1, keepdims=True)) * WEIGHTS) + np.sum(a.sum(axis=0) ** 2) * x[0]


def stencil(x, a):
    b = np.zeros_like(a)
    for _ in range(20):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = np.tanh(b[1:-1, 1:-1] + x[0])
    return np.sum(a * WEIGHTS)


def products(x, a):
    batch = a.reshape(8, 5, 24)
    return np.sum(np.einsum("bij,bkj->bik", batch, batch) ** 2) + np.sum((a.T @ a) ** 2) * x[1]


def own_rows(x, a):
    """Iterations with memory of their own, that add to what all have."""
    long, total = a.reshape(12, 80), np.zeros(80)
    for i in range(len(long)):
        row = np.zeros(80)
        row[:40] = long[i, 40:] * x[0]
        row[40:] = row[:40] ** 2
        for j in range(79):
            row[j + 1] = row[j] * long[i, j] + row[j + 1]
        total += row
    return np.sum(total**2)


def items(x, a):
    """Iterations whose shadows are zero before and after each."""

    def one(row):
        total = 0.0
        for _ in range(30):
            row = row + 0.01 * np.sin(row) * np.roll(row, 1)
            total += np.sum(row)
        return total

    return np.sum(planned_ad.vectorize(one)(a.reshape(12, 80))) * x[0]


NEST, PRODUCT, LOOP = parts.NestParts, parts.ProductParts, parts.LoopParts
PROGRAMS = {  # with parts that there must be, and whether these have sums of their own
    sums: {(NEST, True)},
    rows_and_columns: {(NEST, True), (NEST, False)},
    stencil: {(NEST, False)},
    products: {(PRODUCT, False)},
    own_rows: {(LOOP, True)},
    items: {(LOOP, False)},
}


def arguments() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.random(1037), rng.random((40, 24))


def flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, tuple | list):
        return [leaf for item in result for leaf in flat(item)]
    return [np.array(result)]


def parts_of(plan, kind: str = "gradient") -> list[parts.Parts]:
    return list(division.cut_steps(plan._variants[0].entry(kind).memory).values())


def in_parts(f: Callable, threads: int) -> planned_ad.Plan:
    """A plan that no other test has."""
    return lazily_compiled(f, *arguments(), threads=threads, check=False, frozen=("in parts",))


@functools.cache
def plain(f: Callable) -> list[np.ndarray]:
    return flat(lazily_compiled(f, *arguments(), check=False).value_and_gradient(*arguments()))


@pytest.mark.parametrize(("f", "counts"), rotated(PROGRAMS, [(1, 2), (1, 3), (1, 4), (1, 2, 3, 4)]))
def test_results_do_not_depend_on_how_many_threads_there_are(f, counts, everything_in_parts) -> None:
    expected, found = plain(f), []
    for threads in counts:
        plan = in_parts(f, threads)
        found += [flat(plan.value_and_gradient(*arguments())) for _ in range(1 if threads == 1 else 3)]
    cut = parts_of(plan, "value_and_gradient")
    assert {(type(p), bool(p.sums)) for p in cut} >= PROGRAMS[f]
    assert f is not own_rows or any(isinstance(p, LOOP) and p.own for p in cut)
    assert f is not items or any(isinstance(p, LOOP) and p.cleared for p in cut)
    assert f is not products or {p.loop is None for p in cut if isinstance(p, PRODUCT)} == {True, False}
    for other in found:
        assert all(map(np.array_equal, found[0], other))
    for one, other in zip(found[0], expected):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def turned(x):
    for _ in range(30):
        x = np.tanh(TURNS @ x)
    return x


def test_derivatives_of_all_kinds(everything_in_parts) -> None:
    x, a = arguments()
    one, two = (in_parts(rows_and_columns, k) for k in (1, 2))
    directions = planned_ad.compile(turned, x[:80], threads=2, check=False, frozen=("in parts",))
    assert any(isinstance(p, LOOP) for p in parts_of(directions._derived("jacobian"), "call"))
    assert np.array_equal(
        directions.jacobian(x[:80]),
        planned_ad.compile(turned, x[:80], check=False, frozen=("in parts",)).jacobian(x[:80]),
    )
    for call in ("jvp", "hvp"):
        assert all(map(np.array_equal, *(flat(getattr(plan, call)(x, a, x, a)) for plan in (one, two))))
    halves = [plan.split() for plan in (one, two)]
    tapes = [forward.tape() for forward, _ in halves]
    values = [forward(x, a, tape) for (forward, _), tape in zip(halves, tapes)]
    assert values[0] == values[1]
    shadows = [flat(reverse(tape)) for (_, reverse), tape in zip(halves, tapes)]
    assert all(map(np.array_equal, *shadows))


def shifted(x, a):
    """What must not be cut: each element needs the one before."""
    for i in range(1, len(x)):
        x[i] = 0.5 * x[i - 1] + x[i]
    a[1:] += a[:-1]
    np.add.at(a, (np.arange(40) % 3, np.zeros(40, int)), x[:40])
    return np.sum(x) + np.sum(a**2)


def test_what_depends_on_an_order_is_not_cut(everything_in_parts) -> None:
    plans = [in_parts(shifted, k) for k in (1, 3)]
    after = arguments()
    value = shifted(*after)
    for plan in plans:
        own = arguments()
        assert plan(*own) == pytest.approx(value, rel=1e-13)
        assert all(np.allclose(p, q, rtol=1e-13) for p, q in zip(own, after))
    memory = plans[1]._variants[0].entry("gradient").memory
    cut = division.cut_steps(memory)
    assert not any(id(step) in cut for step in walk_steps(memory.steps) if getattr(step, "ordered", False))


def reset_by_data(x, a):
    total, y = np.zeros(a.shape[1]), np.zeros(a.shape)
    for i in range(a.shape[0]):
        p = 0.0
        for j in range(a.shape[1]):
            p = np.sin(p + a[i, j])
            total[j] += a[i, j] * p
            y[i, j] = total[j]
            if a[i, j] > 0.4:
                total[j] = 0.0
    return np.sum(y * y)


def last_one_held(x, a):
    held, y = np.zeros(a.shape[1]), np.zeros(a.shape)
    for i in range(a.shape[0]):
        p = 0.0
        for j in range(a.shape[1]):
            p = np.sin(p + a[i, j])
            if a[i, j] > 0.2:
                held[j] = p * a[i, j]
            y[i, j] = held[j] + p
    return np.sum(y * y)


@pytest.mark.parametrize("f", [reset_by_data, last_one_held])
def test_what_one_iteration_leaves_to_another_at_times(f, everything_in_parts) -> None:
    """Memory that a side of a test writes to is not each iteration's own, nor cleared by it."""
    one, two = (flat(in_parts(f, k).value_and_gradient(*arguments())) for k in (1, 2))
    np.testing.assert_allclose(one[0], f(*arguments()), rtol=1e-12)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def large(x):
    return np.sum(np.exp(-x * x) * np.sin(x))


def test_small_steps_stay_in_one_thread() -> None:
    plan = planned_ad.compile(large, np.ones(100), threads=2)
    assert not parts_of(plan)
    assert plan.explain().threaded.share == 0.0
    assert "in 2 threads: nothing" in str(plan.explain())
    assert planned_ad.compile(large, np.ones(100)).explain().threaded is None


def test_explanation() -> None:
    plan = planned_ad.compile(large, np.ones(100_000), threads=3)
    told = plan.explain().threaded
    (step,) = told.steps
    assert told.threads == 3 and told.share == 1.0 and told.nbytes == 0
    assert step.parts == parts.PARTS and step.line.text.startswith("return np.sum(np.exp")
    assert "in 3 threads: 100 % of the operations" in str(plan.explain())


@pytest.mark.parametrize("threads", [0, 1.5, "2"])
def test_threads_are_a_number(threads) -> None:
    with pytest.raises(ArgumentError, match="threads is an integer"):
        planned_ad.compile(large, np.ones(3), threads=threads)


def test_plans_of_other_numbers_of_threads_are_others() -> None:
    one, two = (planned_ad.compile(large, np.ones(5), threads=k) for k in (1, 2))
    assert one is not two and two is planned_ad.compile(large, np.ones(5), threads=2)
    assert pickle.loads(pickle.dumps(two))._options["threads"] == 2


def test_several_callers_at_once() -> None:
    """One has the pool, the others do their parts themselves."""
    plan = planned_ad.compile(large, np.ones(60_000), threads=3)
    inputs = [np.random.default_rng(k).normal(size=60_000) for k in range(4)]
    expected = [plan.gradient(x) for x in inputs]
    right = []

    def call(k: int) -> None:
        dx = np.empty(60_000)
        right.extend(np.array_equal(plan.gradient(inputs[k], dx), expected[k]) for _ in range(30))

    callers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(right) == 120 and all(right)


def test_in_compiled_code() -> None:
    x = np.linspace(0, 1, 60_000)
    plan = planned_ad.compile(large, x, threads=2)
    gradient = plan.kernel.gradient

    @numba.njit
    def descend(x, dx):
        for _ in range(3):
            x -= 0.01 * gradient(x, dx)
        return x

    y = x.copy()
    for _ in range(3):
        y -= 0.01 * planned_ad.compile(large, x).gradient(y)
    assert np.array_equal(descend(x.copy(), np.empty_like(x)), y)


ALLOCATING = """
import numpy as np, planned_ad

def f(x, a):
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    return np.sum(e / np.sum(e, axis=1, keepdims=True) * x) + np.sum(np.sin(a))

x, a = np.ones(200), np.ones((400, 200))
plan = planned_ad.compile(f, (x, a), threads=3)
assert plan.explain().threaded.share > 0.9
dx, da = np.empty_like(x), np.empty_like(a)

def call():
    plan.gradient(x, a, dx, da)
"""


def test_nothing_is_allocated() -> None:
    assert count_in_subprocess(ALLOCATING, 100) == {"malloc": 0, "blocks": 0}


PROGRAM = """
import os, threading, warnings
import numpy as np, planned_ad
from planned_ad.kernels.threads import pool

warnings.simplefilter("ignore")  # of forks of processes with threads
def f(x):
    return np.sum(np.exp(-x * x) * np.sin(x))

x = np.linspace(0, 1, 60_000)
plan = planned_ad.compile(f, x, threads=3)
expected = plan.gradient(x)
child = os.fork()
if not child:
    alone = np.array_equal(plan.gradient(x), expected) and pool.WORKING.count == 0
    again = planned_ad.compile(f, x[1:], threads=2)
    again.gradient(x[1:])
    print(alone, pool.WORKING.count, np.array_equal(plan.gradient(x), expected), flush=True)
    raise SystemExit
print(os.waitpid(child, 0)[1], np.array_equal(plan.gradient(x), expected), pool.WORKING.count)
threading.Thread(target=lambda: [plan.gradient(x) for _ in range(10_000_000)], daemon=True).start()
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="there are no forks")
def test_forks_and_the_end_of_a_process() -> None:
    """A fork has no workers until it compiles; a process ends though its workers wait, and a thread calls."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and done.returncode == 0
    assert done.stdout.splitlines() == ["True 1 True", "0 True 2"]


def test_workers_sleep_and_wake() -> None:
    x = np.linspace(0, 1, 60_000)
    plan = planned_ad.compile(large, x, threads=2)
    expected = plan.gradient(x)
    sleeping = threading.Event()
    for _ in range(20):
        sleeping.wait(0.002)
        assert pool.pool_memory()[pool.STATE] & pool.INSIDE == 0
        assert np.array_equal(plan.gradient(x), expected)
