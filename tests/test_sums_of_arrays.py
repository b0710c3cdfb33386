"""`sum` of arrays that loops give, which begins with 0."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs

SIZE = 60
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def by_groups(x):
    m = np.floor(x * 8).astype(int) + 1
    c = np.zeros((3, 2))
    X = x.reshape(-1, 2)
    g = [[] for _ in range(3)]
    for i in range(len(X)):
        g[m[i] % 3].append(i)
    for k in range(3):
        if g[k]:
            c[k] = sum(X[i] for i in g[k]) / len(g[k])
    return np.sum(c**2)


@rolled
def chosen_rows(x):
    X = x.reshape(-1, 2)
    q = []
    t = 0.0
    for i in range(len(X)):
        if X[i, 0] > 0.3:
            q.append(X[i] * 2)  # noqa: PERF401
    if q:
        t += np.sum(sum(q) / len(q))
    return t + np.sum(sum(a * v for a, v in zip(x, q)))


@rolled
def attention(x):
    K = []
    out = 0.0
    for t in range(30):
        K.append(x[t] * np.array([1.0, 2.0, 3.0]))
        q = np.array([x[t], 1.0, x[t] ** 2])
        s = np.array([k @ q for k in K])
        a = np.exp(s - s.max())
        a = a / a.sum()
        o = sum(ai * v for ai, v in zip(a, K))
        out += np.sum(o * o)
    return out


@program
def groups_without_rows(x):
    m = np.floor(x * 8).astype(int) + 1
    X = x.reshape(-1, 2)
    t = 0.0
    for j in range(20):
        g = [X[i] for i in range(30) if m[i] == j % 9]
        s = sum(g)
        t += np.sum(s) * (j + 1)
    return t


@program
def perhaps_no_row(x):
    X = x.reshape(-1, 2)
    q = []
    for i in range(len(X)):
        if X[i, 0] > 0.97:
            q.append(X[i] * 2)  # noqa: PERF401
    return np.sum(sum(q)) + x[0]


@program
def means_of_clusters(x):
    X = x.reshape(-1, 2)
    cent = [X[0], X[1], X[2]]
    for _ in range(4):
        g = [[] for _ in range(3)]
        for p in X:
            g[int(np.argmin([np.sum((p - c) ** 2) for c in cent]))].append(p)
        cent = [sum(q) / len(q) if q else c for q, c in zip(g, cent)]
    return sum(min(np.sum((p - c) ** 2) for c in cent) for p in X)


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16, compiled=True)  # as plans tell traces of what others have required in vain


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)


def test_a_sum_of_none_is_another_trace():
    x = np.random.default_rng(0).random(SIZE)
    plan = planned_ad.compile(perhaps_no_row, (np.append(x[:-2], [0.98, 0.5]),), calls=())
    for changed in (0.98, 0.5, 0.99):
        y = np.append(np.minimum(x[:-2], 0.9), [changed, 0.5])
        assert plan(y) == pytest.approx(perhaps_no_row(y), rel=1e-12)
