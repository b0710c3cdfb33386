"""Dicts of lists and sets whose keys are known in each iteration: `for a, b in EDGES: adjacent[a].append(b)`."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from .interpreted_plans import InterpretedPlan, assert_right

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
