"""Slices of lists whose bounds loops move, pairs of their items, and lists that are copied: one trace."""

import copy
from itertools import combinations

import numpy as np
import pytest

from .one_trace import traces_of

N = 20


def pairs_by_slices(x):
    points, total = [(x[k], x[k + 4]) for k in range(N)], 0.0
    for i, p in enumerate(points):
        for q in points[i + 1 :]:
            gap = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2
            if gap < 2.0:
                total += (2.0 - gap) ** 2
    return total


def pairs_of_combinations(x):
    points, total = [(x[k], x[k + 4]) for k in range(N)], 0.0
    for p, q in combinations(points, 2):
        gap = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2
        if gap < 2.0:
            total += (2.0 - gap) ** 2
    return total


def pairs_of_arrays(x):
    points, total = [np.array([x[k], x[k + 4]]) for k in range(N)], 0.0
    for p, q in combinations(points, 2):
        gap = np.sum((p - q) ** 2)
        if gap < 2.0:
            total += (2.0 - gap) ** 2
    return total


def written_to_meanwhile(x):
    v, total = [x[k] for k in range(N)], 0.0
    for i in range(N - 1):
        for w in v[i + 1 :]:
            v[i + 1] = v[i + 1] * 0.9 + w * 0.05
            if w < v[i]:
                total += (v[i] - w) ** 2
    return total + sum(v)


def combined_and_written_to(x):
    v, total = [x[k] for k in range(N)], 0.0
    for p, q in combinations(v, 2):
        v[3] = v[3] * 0.99
        if p > q:
            total += p - q
    return total + v[3]


def named_pairs(x):
    names = list("ABCDEFGHIJKLMNOPQRST")
    rating, total = {name: x[k] for k, name in enumerate(names)}, 0.0
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            gap = rating[a] - rating[b]
            if gap > 0.1:
                total += gap
            rating[a] -= 0.001 * gap
    return total


def sums_and_extremes(x):
    v, best, total = [x[k] for k in range(N)], 0.0, 0.0
    for i in range(1, N - 2):
        for j in range(i + 1, N + 1):
            found = sum(v[i:j]) - 0.2 * (j - i)
            if found > best:
                best = found
        lowest = min(v[i:])
        widest = max(abs(v[j] - v[i]) for j in range(i + 1, N))
        total += lowest * i + widest * min((v[j] for j in range(i)), default=2.0)
        v[i] = 0.5 * v[i] + 0.1 * lowest
    return best + total


def enumerated_and_zipped(x):
    v, total = [x[k] for k in range(N)], 0.0
    for i in range(N - 2):
        for j, w in enumerate(v[i + 1 :]):
            total += w * (j + 1) * v[i]
        for a, b in zip(v[i:], v[i + 1 :]):
            total += a * b * (1 if a > b else 2)
    return total


def counted_from_the_end(x):
    v, total = [x[k] for k in range(N)], 0.0
    for i in range(N):
        for w in v[i - 3 :]:
            total += w * i
        for w in v[i : i + 3]:
            total -= w * w
    return total


def eliminated(rows):
    n, found = len(rows), 1.0
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[p] = rows[p], rows[k]
        found *= rows[k][k]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            for j in range(k, n):
                rows[i][j] -= factor * rows[k][j]
    return found


def matrix(x):
    return [[x[(5 * i + j) % 24] * (1 + 0.1 * i) for j in range(5)] for i in range(5)]


def copied_by_slices(x):
    rows = matrix(x)
    return eliminated([row[:] for row in rows]) + rows[1][2]


def copied_by_their_method(x):
    rows = matrix(x)
    return eliminated([row.copy() for row in rows]) + rows[1][2]


def copied_deeply(x):
    rows = matrix(x)
    return eliminated(copy.deepcopy(rows)) + rows[1][2]


ONE_TRACE = [
    pairs_by_slices, pairs_of_combinations, pairs_of_arrays, written_to_meanwhile, combined_and_written_to, named_pairs,
    sums_and_extremes, enumerated_and_zipped, copied_by_slices, copied_by_their_method, copied_deeply,
]  # fmt: skip


@pytest.mark.parametrize("function", ONE_TRACE, ids=lambda f: f.__name__)
def test_one_trace_serves_for_every_way(function):
    assert traces_of(function, 8) == 1


def test_bounds_from_the_end():
    assert traces_of(counted_from_the_end, 8) == 1
