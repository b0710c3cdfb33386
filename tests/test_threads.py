"""One plan called from eight threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import planned_ad

THREADS = 8


def small(x):
    y = np.zeros(6)
    for i in range(1, 6):
        y[i] = x[i] * x[i - 1] + y[i - 1] ** 2
        x[i] = np.sin(y[i])
    return np.sum(x * y)


def large(x):
    """Long enough to release the GIL."""
    x[1:] *= np.exp(-x[:-1])
    return np.sum(np.sin(x) * np.exp(-x * x))


def branching(x):
    if x[0] > 0:
        return np.sum(x**2)
    if x[1] > 0:
        return np.sum(x**3)
    return np.sum(np.sin(x))


def together(work: Callable[[int], None]) -> None:
    """Run `work(k)` in each thread, all starting at the same moment."""
    barrier = threading.Barrier(THREADS)

    def start(k: int) -> None:
        barrier.wait()
        work(k)

    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(start, k) for k in range(THREADS)]:
            future.result()


@pytest.mark.parametrize(("f", "size", "repeats"), [(small, 6, 2000), (large, 100_000, 20)])
def test_gradients(f, size: int, repeats: int) -> None:
    plan = planned_ad.compile(f, np.ones(size))
    entry = plan._variants[0].entry("gradient")
    assert entry.spec.release_gil == (f is large)
    inputs = [np.random.default_rng(k).normal(size=size) for k in range(THREADS)]
    expected = [plan.gradient(x.copy()) for x in inputs]
    values = [plan(x.copy()) for x in inputs]

    def work(k: int) -> None:
        dx, x = np.empty(size), np.empty(size)
        for _ in range(repeats):
            x[:] = inputs[k]
            plan.gradient(x, dx)
            assert np.array_equal(dx, expected[k])
            if f is small:
                x[:] = inputs[k]
                assert plan(x) == values[k]
                x[:] = inputs[k]
                value, shadow = plan.value_and_gradient(x)  # the slow path
                assert value == values[k] and np.array_equal(shadow, expected[k])

    together(work)


def test_branches_found_at_the_same_time_are_traced_once() -> None:
    plan = planned_ad.compile(branching, np.ones(2))
    starts = [np.array(s) for s in ([1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0])]
    expected = [planned_ad.compile(branching, s).gradient(s) for s in starts]

    def work(k: int) -> None:
        for i in range(50):
            j = (k + i) % 3
            np.testing.assert_array_equal(plan.gradient(starts[j]), expected[j])

    together(work)
    assert plan.explain().variants == 3


def test_compiling_in_threads() -> None:
    def work(k: int) -> None:
        plan = planned_ad.compile(lambda x: np.sum(x ** (k + 2)), np.ones(3))
        x = np.full(3, 1.5)
        np.testing.assert_allclose(plan.gradient(x), (k + 2) * x ** (k + 1), rtol=1e-12)
        np.testing.assert_allclose(plan.value_and_gradient(x)[0], np.sum(x ** (k + 2)), rtol=1e-12)

    together(work)


def test_first_calls_at_the_same_time_compile_one_entry() -> None:
    plan = planned_ad.compile(small, np.ones(6))
    x = np.linspace(0.1, 1, 6)
    expected = planned_ad.compile(small, np.ones(6)).value_and_gradient(x.copy())

    def work(k: int) -> None:
        value, dx = plan.value_and_gradient(x.copy())
        assert value == expected[0]
        np.testing.assert_array_equal(dx, expected[1])

    together(work)
