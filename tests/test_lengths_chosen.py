"""Arrays of several lengths between which data choose, on the sides of a branch and from one iteration to the next."""

from __future__ import annotations

import numpy as np
import pytest

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs

SIZE = 60
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def best_path(x):
    """It begins with the row of a point."""
    least, best = np.inf, np.array([x[:2]])
    for k in range(30):
        path = np.outer(x[:3] * np.sin(k), x[k : k + 2])
        cost = np.sum(path)
        if cost < least:
            least, best = cost, path
    return least + best[-1, 0] + np.min(best[:, 1])


@rolled
def best_of_none(x):
    least, best = 1e9, np.zeros(0)
    for k in range(30):
        found = x[k : k + 3] * np.sin(k)
        if np.sum(found) < least:
            least, best = np.sum(found), found
    return least + best[-1] + len(best)


@rolled
def used_in_each_iteration(x):
    least, best, total = 1e9, np.array([x[:2]]), 0.0
    for k in range(30):
        path = np.outer(x[:3] * np.sin(k), x[:2])
        if np.sum(path) < least:
            least, best = np.sum(path), path
        total += np.sum(best) * x[k] + len(best) * best.shape[0]
    return total


@rolled
def on_two_sides(x):
    total = 0.0
    for k in range(30):
        v = x[:3] * np.sin(k) if x[k] > 0.6 else x[:5] * x[k]
        total += np.sum(v) + v[0] + v.max() + np.mean(v**2)
    return total


@rolled
def exchanged(x):
    a, b, total = x[:2], x[2:7], 0.0
    for k in range(30):
        if x[k] > 0.7:
            a, b = b, a
        total += np.sum(a * a) * k - np.sum(b)
    return total


@program
def longer_at_times(x):
    kept, total = np.zeros(0), 0.0
    for k in range(30):
        if x[k] * np.sin(k) > 0.2:
            kept = np.append(kept, x[k] * k)
        total += np.sum(kept)
    return total + len(kept)


@program
def written_to(x):
    now, total = x[:2].copy(), 0.0
    for k in range(30):
        if np.sin(k * x[0]) > 0.5:
            now = np.concatenate([now[:1], now[-1:], x[k : k + 1]])
        else:
            now = now[:2] * 0.9
        now[0] += 0.1
        total += np.sum(now)
    return total


@program
def two_names(x):
    """What one of them shows may be what is written to by the other."""
    now, before, total = x[:2].copy(), x[:4].copy(), 0.0
    for k in range(30):
        if x[k] > 0.5:
            now, before = before, now
        now[0] = now[0] * 0.5 + x[k]
        other = now
        other[1] += 0.25 * before[0]
        total += np.sum(now) - np.sum(before) * 0.5
    return total


@program
def of_other_shapes(x):
    total = 0.0
    for k in range(30):
        v = x[:6].reshape(2, 3) if x[k] > 0.5 else x[:6].reshape(3, 2)
        total += np.sum(v[0]) * v[1, 1]
    return total


def beside_one_of_a_known_length(x):
    total = 0.0
    for k in range(30):
        v = x[:3] if x[k] > 0.5 else x[1:2]
        total += np.sum(v * x[k : k + 3])
    return total


@pytest.mark.parametrize("f", PROGRAMS.all)
@pytest.mark.parametrize("unroll", [0, 16])
def test_value_and_slope(f, unroll):
    assert_right(f, SIZE, 0, unroll)


def test_one_of_which_is_repeated():
    assert_right(beside_one_of_a_known_length, SIZE, 0, 16, compiled=True)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)
