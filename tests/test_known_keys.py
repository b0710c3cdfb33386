"""Dicts of lists and sets whose keys are known in each iteration: `for a, b in EDGES: adjacent[a].append(b)`."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from .interpreted_plans import InterpretedPlan, assert_loops_stay, assert_right

EDGES = [(a * a % 19, (3 * a + 1) % 23) for a in range(40)]


def of_known_edges(x):
    adj = defaultdict(list)
    for a, b in EDGES:
        adj[a].append(b)
        adj[b].append(a)
    s = 0.0
    for u in range(24):
        for v in adj[u]:
            s += (x[u] - x[v]) ** 2
    return s


def known_in_a_comprehension(x):
    adj = {i: [] for i in range(24)}
    for a, b in EDGES:
        adj[a].append(b)
    h = x * 1.0
    for _t in range(3):
        g = h.copy()
        for u in range(24):
            for v in adj[u]:
                g[u] += 0.05 * (h[v] - h[u])
        h = g
    return np.sum(h**2)


def known_members(x):
    seen, s = set(), 0.0
    for a, b in EDGES:
        if (a, b) not in seen and a not in seen:
            s += x[a] * x[b] * len(seen)
            seen.add(a)
    return s


@pytest.mark.parametrize("f", [of_known_edges, known_in_a_comprehension, known_members])
def test_dicts_whose_keys_are_known_stay_pythons(f):
    assert_right(f, 24, 0, 0)
    (trace,) = InterpretedPlan(f, np.random.default_rng(0).random(24), unroll=0).traces
    assert not trace.decisions.placed and not trace.decisions.tables


def extinct(x):
    p, left = x[:3], np.array([1.0, 0.5, 0.3])
    gone = set()
    for _t in range(60):
        left = left * np.exp(-0.2 * p)
        for i in range(3):
            if i not in gone and left[i] < 0.02:
                gone.add(i)
                left[i] = 0.0
    return left.sum() + len(gone) * p[0]


def removed_from_a_display(x):
    active, s = {0, 1, 2, 3}, 0.0
    for i in range(24):
        for j in (0, 1, 2, 3):
            if j in active:
                s += x[i] * j
                if s > 5 + 3 * j:
                    active.remove(j)
    return s


def added_on_one_side(x):
    seen, s = set(), 0.0
    for i in range(24):
        if x[i] > 0.5:
            seen.add(i)
        s += len(seen) * x[i]
    return s


def lists_on_either_side(x):
    groups = defaultdict(list)
    for i in range(24):
        if x[i] > 0.5:
            groups[i % 4].append(x[i])
        else:
            groups[4].append(x[i] ** 2)
    return sum(sum(v) * (k + 1) for k, v in groups.items())


@pytest.mark.parametrize("f", [extinct, removed_from_a_display, added_on_one_side, lists_on_either_side])
def test_data_say_which_known_keys_are_there(f):
    assert_right(f, 24, 0, 16)
    assert_loops_stay(f, 24)
