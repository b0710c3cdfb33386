"""Arrays whose length is data, which loops hand on, and between which tests choose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.trace import trace

from .interpreted_plans import assert_right, inputs
from .program_lists import Programs
from .random_mask_programs import function
from .sweeps import name_of

FOUND = Programs()
program, rolled = FOUND.program, FOUND.rolled
LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(25, 600)]


@rolled
def active_set(x):
    """Newton's method for square roots, as long as they change."""
    a = 0.2 + x * x
    root, active = np.ones(len(x)), np.arange(len(x))
    for _ in range(30):
        change = (root[active] ** 2 - a[active]) / (2 * root[active])
        root[active] -= change
        active = active[np.abs(change) > 1e-9]
        if len(active) == 0:
            break
    return root @ x


@rolled
def shorter_and_shorter(x):
    v, total = np.abs(x), 0.0
    for _ in range(20):
        if len(v) < 2:
            break
        v = v[v > v.mean()] * 0.9
        total += v.sum()
    return total


@rolled
def rows_that_are_left(x):
    rows, total = np.outer(x, x[:3]), 0.0
    for k in range(20):
        rows = rows[rows[:, 0] > 0.05 * k - 0.5]
        total += np.sum(rows * rows)
    return total + len(rows)


@rolled
def read_after_the_loop(x):
    for k in range(20):
        v = np.sort(x[x > 0.1 * k - 1.5])
    return v.sum() + v[:2] @ v[:2] + len(v)


@rolled
def chosen_by_a_test(x):
    total, v = 0.0, x * 1.0
    for k in range(20):
        if x[k % 3] > 0.1:
            v = x[x > 0.05 * k - 0.5]
        total += v.sum() * np.cos(k)
    return total + len(v)


@rolled
def of_known_length_on_one_side(x):
    total = 0.0
    for k in range(20):
        v = x[x > 0.05 * k] if x[k % 3] > 0.0 else x[:4] * 2.0
        total += v.sum() + len(v)
    return total


@rolled
def found_in_a_helper(x):
    def large(k):
        for level in (0.9, 0.5, 0.1):
            found = x[x > level + 0.01 * k]
            if len(found) > 2:
                return found
        return x[x > -1.0]

    return sum(large(k).sum() * (k + 1) for k in range(20))


@program
def written_to_on_a_side(x):
    total = 0.0
    for k in range(20):
        v = x[x > 0.05 * k - 0.5]
        if len(v) > 2:
            v[0:2] = 0.3
        total += v.sum()
    return total


@program
def two_names(x):
    total, v = 0.0, x * 1.0
    other = v
    for k in range(20):
        v = v[v > 0.05 * k - 0.8]
        if k % 3 == 0:
            other = v
        v *= 0.9
        total += other.sum() + v.sum()
    return total


@program
def a_view_of_what_is_written_to(x):
    y, total = x.copy(), 0.0
    tail = y[1:]
    for k in range(20):
        total += tail.sum()
        tail = y[int(np.abs(x[0]) * 3) % 4 :]
        y[3] = 0.1 * k
        total += 2 * tail.sum()
    return total


@program
def longer_and_longer(x):
    v = x[x > 0.5]
    for k in range(4):
        v = np.concatenate([v, x[x > 0.1 * k]])
    return v.sum() + len(v)


@pytest.mark.parametrize("f", FOUND.all, ids=name_of)
def test_value_and_slope(f: Callable) -> None:
    assert_right(f, 12, 0, 0, compiled=f in FOUND.loops[::3])


@pytest.mark.parametrize("f", FOUND.loops, ids=name_of)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (inputs(0, 12)[1],), unroll=0)
    assert found.rolled and not found.unrolled


@pytest.mark.parametrize("seed", [*range(25), *LONG])
def test_random_programs(seed: int) -> None:
    assert_right(function(seed), 7, seed, 16 * (seed % 2))
