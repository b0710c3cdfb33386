"""Loops whose count is known at run time run in SIMD lanes where their iterations hang on nothing of each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.kernels.nests.counted_loops import nest_of_loop
from planned_ad.planner import plan_memory
from planned_ad.planning.schedule import LoopStep, walk_steps
from planned_ad.trace import trace

from ..oracle import assert_close
from ..sweeps import name_of

COUNTS = [0, 1, 3, 7, 8, 9, 31, 64]
N = 64
WHERE = np.random.default_rng(5).integers(0, 9, N)


def of_a_slice(x, k):
    return np.sum(np.exp(-x[:k] * x[N - 1]))


def of_a_slice_turned(x, k):
    return np.sum(np.tanh(x[:k][::-1] * np.arange(64)[:k]))


def of_a_mask(x, k):
    found = 0.0
    for i in range(20):
        found += np.sum(np.sqrt(1.0 + x[np.arange(N) < k - i] ** 2)) - np.sum(np.exp(x)[x > 0.1 * k - i])
    return found


def written(x, k):
    y = x * 0.5
    y[:k] = np.sin(y[:k]) * x[:k]
    y[:k] += np.exp(y[:k])
    return np.sum(y * np.cos(x))


def written_by_places(x, k):
    found, y = 0.0, np.empty(N)
    for i in range(20):
        is_near = np.abs(x - 0.02 * k * i) < 1
        near, far = np.nonzero(is_near)[0], np.nonzero(~is_near)[0]
        y[near] = 0.5 * np.exp(x[near])
        y[far] = np.abs(x[far]) - 0.5
        found += np.sum(y * x)
    return found


def scattered(x, k):
    sums = np.zeros(9)
    np.add.at(sums, WHERE[:k], np.exp(x[:k]))
    return np.sum(sums**2) + np.sum(np.sin(x[WHERE[:k]]))


def rows(x, k):
    a = x.reshape(16, 4)
    return np.sum(np.exp(a[: k // 4]) * a[k // 8, 1])


def one_after_the_other(x, k):
    s, y = x[0], x * 1.0
    for i in range(k):
        s = 0.9 * s + np.sin(x[i])
        if i:
            y[i] = 0.5 * y[i - 1] + x[i]
    return s + np.sum(y)


def several_sums(x, k):
    total, taken, n = 1.0, 0.5, 0
    for i in range(k):
        e = np.exp(x[i])
        total += e * x[i]
        taken -= 1.0 / (1.0 + e)
        n += 2
    return total * taken + n


def extremes(x, k):
    largest, least = x[0], 1.0
    for i in range(k):
        largest = max(largest, np.sin(3 * x[i]))
        least = min(least, np.exp(x[i]))
    return largest * least + x[1]


def read_while_it_grows(x, k):
    total, found = 0.0, 0.0
    for i in range(k):
        total += np.exp(x[i])
        found += total * x[i]
    return found


PROGRAMS = [
    of_a_slice, of_a_slice_turned, of_a_mask, written, written_by_places, scattered, rows, one_after_the_other,
    several_sums, extremes, read_while_it_grows,
]  # fmt: skip
IN_LANES = [of_a_slice, of_a_slice_turned, written, written_by_places, scattered, several_sums]
ONE_BY_ONE = [one_after_the_other, read_while_it_grows]


def of_data(f: Callable) -> Callable:
    """A program, of a count that is data."""

    def g(x, c):
        return f(x, int(c[0]))

    g.__name__ = f.__name__
    return g


@pytest.mark.parametrize("f", PROGRAMS, ids=name_of)
def test_numbers_are_those_of_the_function(f: Callable) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=N)
    plan = planned_ad.compile(of_data(f), (x, planned_ad.Const(np.array([9]))), check=False)
    for k in COUNTS:
        x, c, direction, step = rng.normal(size=N), np.array([k]), rng.normal(size=N), 1e-6
        value, gradient = plan.value_and_gradient(x, c)
        assert_close(value, f(x.copy(), k), f"{k}")
        slope = (f(x + step * direction, k) - f(x - step * direction, k)) / (2 * step)
        assert gradient @ direction == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("f", [*IN_LANES, *ONE_BY_ONE], ids=name_of)
def test_what_hangs_together_stays_a_loop(f: Callable) -> None:
    example = np.random.default_rng(1).normal(size=N), planned_ad.Const(np.array([9]))
    steps = plan_memory(entry_tape(trace(of_data(f), example), KINDS["gradient"], preserve_args=False)).steps
    counted = [step for step in walk_steps(steps) if isinstance(step, LoopStep) and step.count is not None]
    in_lanes = [nest_of_loop(step) is not None for step in counted]
    assert in_lanes[0] if f in IN_LANES else not any(in_lanes)
