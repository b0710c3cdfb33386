"""Short loops that ask data where something is, in lists, dicts, of functions and objects: one trace has all ways."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict, deque

import numpy as np
import pytest

import planned_ad

SIZE = 60


def of_a_list(x, m):
    squares, t = [v * v for v in x[:12]], 0.0
    for k in range(10):
        t = 0.9 * t + squares[m[k]] * x[k]
    return t


def exchanged(x, m):
    p, t = list(range(12)), 0.0
    for k in range(10):
        i, j = m[k], m[k + 10]
        p[i], p[j] = p[j], p[i]
        t += x[p[k]] * (k + 1)
    return t


def of_functions(x, m):
    t = 0.0
    for k in range(10):
        t += [np.sin, np.cos, np.exp][m[k] % 3](x[k])
    return t


def of_objects(x, m):
    class Weight:
        def __init__(self, w):
            self.w = w

        def of(self, v):
            return self.w * v

    weights, t = [Weight(x[0]), Weight(x[1]), Weight(x[2])], 0.0
    for k in range(10):
        chosen = weights[m[k] % 3]
        t += chosen.of(x[k])
        chosen.w = chosen.w * 0.9
    return t


def of_rows(x, m):
    rows, t = [[v, v * 2] for v in x[:5]], 0.0
    for k in range(10):
        row = rows[m[k] % 5]
        t += row[0] * row[1]
        row[0] += 0.1 * x[k]
    return t


def nearest_of_some(x, m):
    centres, t = [x[:2], x[2:4], x[4:6]], 0.0
    for k in range(10):
        p = x[2 * k + 6 : 2 * k + 8]
        j = int(np.argmin([np.sum((p - c) ** 2) for c in centres]))
        centres[j] = 0.9 * centres[j] + 0.1 * p
        t += np.sum(centres[j])
    return t


def by_names(x, m):
    names, t = ["add", "times", "less"], 0.0
    for k in range(10):
        name = names[m[k] % 3]
        if name == "add":
            t += x[k]
        elif name == "times":
            t *= x[k]
        else:
            t -= x[k]
    return t


def tree_of_samples(x, m):
    nodes, parent = [x[:2]], [-1]
    for k in range(10):
        s = m[2 * k : 2 * k + 2] / 9.0
        k = int(np.argmin([np.linalg.norm(n - s) for n in nodes]))
        step = s - nodes[k]
        length = np.linalg.norm(step) + 1e-3
        nodes.append(nodes[k] + step / length * min(length, 0.2))
        parent.append(k)
    i, cost = len(nodes) - 1, 0.0
    while parent[i] >= 0:
        cost += np.linalg.norm(nodes[i] - nodes[parent[i]] + 1e-3)
        i = parent[i]
    return cost + np.sum(nodes[-1])


def stack_of_a_listed_program(x, m):
    stack, pc = [1.0], 0
    for op in (m[:12] % 4).tolist():
        if op == 0:
            stack.append(x[pc % 6])
            pc += 1
        elif len(stack) >= 2:
            b, a = stack.pop(), stack.pop()
            stack.append(a + b if op == 1 else a * b if op == 2 else a - b)
    return sum(stack)


def shortest_ways(x, m):
    graph = defaultdict(list)
    for w, (u, v) in zip(x[:14], (m[:28].reshape(14, 2) % 7).tolist()):
        graph[u].append((v, w))
        graph[v].append((u, w))
    dist = {u: math.inf for u in range(7)}
    dist[0] = 0.0
    queue = [(0.0, 0)]
    while queue:
        d, u = heapq.heappop(queue)
        if d > dist[u]:
            continue
        for v, w in graph[u]:
            if d + w < dist[v]:
                dist[v] = d + w
                heapq.heappush(queue, (d + w, v))
    return sum(d for d in dist.values() if d < math.inf)


def least_spanning_tree(x, m):
    edges = sorted((w, int(a) % 6, int(b) % 6) for a, b, w in zip(m[:12], m[20:32], x[:12]))
    parent, t = list(range(6)), 0.0

    def find(a):
        while parent[a] != a:
            a = parent[a]
        return a

    for w, u, v in edges:
        a, b = find(u), find(v)
        if a != b:
            parent[a] = b
            t += w
    return t


def rows_of_a_listed_matrix(x, m):
    rows, t = x.reshape(20, 3).tolist(), 0.0
    for i in range(20):
        for j in range(20):
            if rows[i][0] > rows[j][1]:
                t += rows[i][2] * rows[j][0]
    return t


def listed_matrix_that_is_written_to(x, m):
    rows = x.reshape(20, 3).tolist()
    for i in range(20):
        for j in range(3):
            rows[i][j] = rows[i][j] * 0.5 + rows[i - 1][j]
    return sum(map(sum, rows))


def repeated(x, m):
    t = 0.0
    for k in range(20):
        v = [x[k], 1.0] * m[k]
        t += sum(v) * len(v)
    return t


def run_lengths(x, m):
    out = []
    for v, c in zip(x[:10], m[:10]):
        out += [v] * int(c)
    return sum(o * (i + 1) for i, o in enumerate(out))


ONE_TRACE = [
    of_a_list, exchanged, of_functions, of_objects, of_rows, nearest_of_some, by_names, tree_of_samples,
    stack_of_a_listed_program, shortest_ways, least_spanning_tree, rows_of_a_listed_matrix,
    listed_matrix_that_is_written_to, repeated, run_lengths,
]  # fmt: skip


@pytest.mark.parametrize("f", ONE_TRACE, ids=lambda f: f.__name__)
def test_one_trace_has_all_ways(f):
    rng = np.random.default_rng(0)
    x, m = rng.random(SIZE), rng.integers(1, 9, SIZE)
    plan = planned_ad.compile(f, (x, m), check=False)
    for _ in range(3):
        x, m, direction = rng.random(SIZE), rng.integers(1, 9, SIZE), rng.standard_normal(SIZE)
        value, gradient = plan.value_and_gradient(x, m)
        assert value == pytest.approx(f(x, m), rel=1e-11)
        slopes = [(f(x + h * direction, m) - f(x - h * direction, m)) / (2 * h) for h in (1e-7, 2e-7)]
        if slopes[0] == pytest.approx(slopes[1], rel=1e-4, abs=1e-4):  # no kink
            assert gradient @ direction == pytest.approx(slopes[0], rel=2e-4, abs=2e-4)
    assert len(plan._variants) == 1


def as_pythons(x):
    return x.tolist(), x[:6].reshape(2, 3).tolist(), x[:8].reshape(2, 2, 2).tolist(), x[:0].tolist(), x[:1].tolist()


def test_lists_of_arrays_are_pythons_lists():
    x = np.arange(8.0) + 0.5
    plan = planned_ad.compile(as_pythons, (x,))
    found, wanted = plan(x), as_pythons(x)
    assert found == wanted
    assert type(found[0]) is list and type(found[0][0]) is float and type(found[1][0]) is list


def changed_lists(x):
    a, queue = x.tolist(), deque(x.tolist())
    a.sort(reverse=True)
    a[2], a[0] = a[0], a[2]
    a.insert(1, 3.0)
    last = a.pop()
    del a[1]
    queue.rotate(2)
    b = a[1:4] + [last] + [v for v in a if v > 0.4]
    return sum(v * k for k, v in enumerate(b)) + queue[0] * len(a) + (a.index(max(a)) + 1) * np.array(a).sum()


def test_lists_of_arrays_are_changed_as_pythons_are():
    x = np.random.default_rng(1).random(9)
    plan = planned_ad.compile(changed_lists, (x,), check=False)
    for _ in range(3):
        x = np.random.default_rng(2).random(9)
        assert plan(x) == pytest.approx(changed_lists(x), rel=1e-13)
