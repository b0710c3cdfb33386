"""A second name of a list or dict that an iteration hands on, and that nobody reads before it is another's."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace


def appended(w, x):
    """Of two layers, whose states are put into a new list."""
    states, total = [np.zeros(3), np.zeros(3)], 0.0
    for t in range(len(x)):
        new, given = [], x[t]
        for state, weights in zip(states, w):
            given = np.tanh(weights @ state + given)
            new.append(given)
        states = new
        total += np.sum(given)
    return total


def changed_by_its_second_name(w, x):
    states, total = [0.0, 1.0], 0.0
    for t in range(len(x)):
        new = [states[1], states[0] * 0.5 + x[t, 0]]
        other = new
        states = new
        other[0] = other[0] + 1.0
        total += states[0] * new[1]
    return total + states[0]


def filled_dict(w, x):
    states, total = {"a": x[0], "b": x[1]}, 0.0
    for t in range(len(x)):
        new = {}
        new["a"] = np.tanh(w[0] @ states["b"] + x[t])
        new["b"] = states["a"] * 0.5
        states = new
        new["b"] = new["b"] + 1.0
        total += np.sum(states["b"])
    return total


def read_after_the_loop(w, x):
    """What is put there then is in both."""
    states = [np.zeros(3), np.zeros(3)]
    for t in range(len(x)):
        new = []
        for state, weights in zip(states, w):
            new.append(np.tanh(weights @ state + x[t]))
        states = new
    new[0] = new[0] * 5.0
    new.append(x[0])
    return np.sum(states[0]) + np.sum(states[1]) * 2 + len(states)


def read_by_the_next_iteration(w, x):
    states, total = [np.zeros(3), np.zeros(3)], 0.0
    new = states
    for t in range(len(x)):
        total += np.sum(new[0])
        new = []
        for state, weights in zip(states, w):
            new.append(np.tanh(weights @ state + x[t]))
        states = new
        states[1] = states[1] * 2.0
    return total + np.sum(new[1])


def rows_with_names(w, x):
    """A wave: the rows of the memory that is exchanged have names as well."""
    before, now = x.copy(), 1.1 * x
    for _ in range(20):
        after = np.zeros(x.shape)
        for i in range(len(x)):
            above, below, row = now[(i - 1) % len(x)], now[(i + 1) % len(x)], now[i]
            after[i] = 2 * row - before[i] + 0.1 * w[0, 0, 0] * (above + below - 2 * row)
        before = now
        now = after
    return np.sum(now**2)


def rows_that_are_written_to(w, x):
    before, now, total = x.copy(), 1.1 * x, 0.0
    for _ in range(20):
        after = np.zeros(x.shape)
        for i in range(len(x)):
            row = now[i]
            after[i] = 0.9 * row - 0.1 * before[i]
        row[0] = 0.5 * w[0, 0, 0]
        before = now
        now = after
        total += before[-1, 0]
    return total + np.sum(before * now) + row[0]


LOOPS = [rows_with_names, appended, changed_by_its_second_name, filled_dict]
OTHERS = [rows_that_are_written_to, read_after_the_loop, read_by_the_next_iteration]


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, 3, 3)), rng.normal(size=(30, 3))


@pytest.mark.parametrize("f", [*LOOPS, *OTHERS])
def test_value_and_slope(f):
    plan = planned_ad.compile(f, inputs(0), check=False)
    for seed in (1, 2):
        (w, x), (_, step) = inputs(seed), inputs(seed + 10)
        value, (_, gradient) = plan.value_and_gradient(w, x)
        assert value == pytest.approx(f(w, x), rel=1e-12)
        slope = (f(w, x + 1e-6 * step) - f(w, x - 1e-6 * step)) / 2e-6
        assert np.sum(gradient * step) == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("f", LOOPS)
def test_loops_stay_loops(f):
    assert not trace(f, inputs(0)).unrolled
