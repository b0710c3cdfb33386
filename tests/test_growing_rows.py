"""Arrays that each iteration puts a row or a column to, as `numpy.vstack` and its like do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs

SIZE = 30
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


def moved(state, v):
    return np.array([state[0] + 0.1 * math.cos(state[2]), 0.9 * state[1] + v, state[2] - 0.1 * state[1]])


@rolled
def a_path(x):
    state = x[:3].copy()
    path = state[None, :]
    for k in range(25):
        state = moved(state, x[k])
        path = np.vstack((path, state))
    return np.sum(path[:, 0] * path[:, 2]) + path[-1, 1]


@rolled
def from_a_line(x):
    state = x[:3].copy()
    path = np.array(state)
    for k in range(25):
        state = moved(state, x[k])
        path = np.vstack([path, state])
    return np.sum(path[3:] ** 2) + np.min(path[:, 0])


@rolled
def from_nothing(x):
    path = np.empty((0, 3))
    for k in range(25):
        path = np.vstack([path, x[k : k + 3] * k])
    return np.sum(path * path)


@rolled
def two_at_once(x):
    path = x[:4].reshape(2, 2)
    for k in range(20):
        path = np.vstack((x[k : k + 2] * path[0], path, np.sin(path[-1])))
    return np.sum(path[::3])


@rolled
def columns(x):
    table = x[:3].reshape(3, 1)
    for k in range(20):
        table = np.column_stack((table, x[k : k + 3] * np.sin(k)))
    return np.sum(table[0]) + table[1, -1]


@rolled
def rows_as_lists(x):
    path, v, u = [x[0], x[1], x[2]], x[3], x[4]
    for k in range(25):
        v, u = v * 0.9 + u * 0.1, math.sin(v) * x[k]
        path = np.vstack((path, [v, u, v * u]))
    return np.sum(path[-1] * path[0]) + np.sum(path[:, 1])


@rolled
def columns_as_lists(x):
    table, v = x[:3].reshape(3, 1), x[3]
    for k in range(25):
        v = v * 0.9 + 0.1 * x[k]
        table = np.hstack((table, [[v], [v * v], [1.0]]))
        table = np.column_stack((table, (v, 2.0 * v, x[k])))
    return np.sum(table[:, -1] * table[:, 3])


@rolled
def the_last_ones(x):
    """Three rows move on."""
    state, last = x[:3].copy(), np.zeros((3, 3))
    total = 0.0
    for k in range(25):
        state = moved(state, x[k])
        last = np.vstack((last[1:], state))
        total += np.sum(last[0] * last[2])
    return total


@program
def until_it_is_far(x):
    state = x[:3].copy()
    path, time = np.array(state), 0.0
    while time <= 2.0:
        state = moved(state, x[3])
        path = np.vstack((path, state))
        time += 0.1
    return np.sum(path[:, 1]) + path[-1, 0]


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)
