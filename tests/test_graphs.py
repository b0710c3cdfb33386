"""Loops over the plain items of one of several lists, which an index says: neighbours, edges with weights."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import InterpretedPlan, assert_right
from .program_lists import Programs, function_of

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 400)]
N, SIZE = 20, 24
EVEN = {i: [(i * 3 + 1) % N, (i * 7 + 2) % N, (i + 1) % N] for i in range(N)}
UNEVEN = [[(i * 3 + 1 + k * 5) % N for k in range(i % 4)] for i in range(N)]
WEIGHTED = [[((i * 3 + 1 + k * 5) % N, 0.1 * (k + 1)) for k in range(1 + i % 4)] for i in range(N)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def relaxed(x):
    far = {i: 1e3 for i in range(N)}
    far[0] = 0.0
    for _ in range(5):
        for u in range(N):
            for v in EVEN[u]:
                d = far[u] + x[u] * x[v] + 0.1
                if d < far[v]:
                    far[v] = d
    return sum(far[i] for i in range(N))


@rolled
def with_weights(x):
    far = [1e3] * N
    far[0] = 0.0
    for _ in range(5):
        for u in range(N):
            for v, w in WEIGHTED[u]:
                far[v] = min(far[v], far[u] + x[u] * w + 0.1)
    return sum(far)


@rolled
def laplacian(x):
    total = 0.0
    for i in range(N):
        near = 0.0
        for j in UNEVEN[i]:
            near += x[j]
        total += (x[i] * len(UNEVEN[i]) - near) ** 2
    return total


@rolled
def mean_of_neighbours(x):
    return sum(sum(x[j] * x[i] for j in WEIGHTED_TO[i]) / len(WEIGHTED_TO[i]) for i in range(N))


WEIGHTED_TO = tuple(tuple(j for j, _ in row) for row in WEIGHTED)


@rolled
def ranked(x):
    rank = [1.0 / N] * N
    for _ in range(10):
        new = [0.0] * N
        for u in range(N):
            for v in WEIGHTED_TO[u]:
                new[v] += rank[u] * x[u] / len(WEIGHTED_TO[u])
        rank = [0.15 / N + 0.85 * v for v in new]
    return sum(v * x[i] for i, v in enumerate(rank))


@rolled
def searched(x):
    """Breadth first."""
    far, waiting = {0: 0.0}, deque([0])
    while waiting:
        u = waiting.popleft()
        for v in EVEN[u]:
            if v not in far:
                far[v] = far[u] + x[u] * x[v]
                waiting.append(v)
    return far[N - 1] + far[7]


@rolled
def shortest(x):
    """Dijkstra's algorithm."""
    far, waiting = [1e3] * N, [(0.0, 0)]
    far[0] = 0.0
    while waiting:
        d, u = heapq.heappop(waiting)
        if d > far[u]:
            continue
        for v in WEIGHTED_TO[u]:
            new = d + x[u] * x[v] + 0.1
            if new < far[v]:
                far[v] = new
                heapq.heappush(waiting, (new, v))
    return sum(far)


@program
def lists_that_change(x):
    rows, total = [[0, 1], [1, 2, 3], [4]], 0.0
    for t in range(N):
        for j in rows[t % 3]:
            total += x[j] * x[t]
        if t == 5:
            rows[1].append(7)
        total += len(rows[t % 3])
    return total


@program
def changed_between_loops(x):
    rows, total = [[0, 1], [1, 2, 3], [4]], 0.0
    for t in range(N):
        for j in rows[t % 3]:
            total += x[j] * x[t]
    rows[2].append(9)
    rows[0][0] = 8
    for t in range(N):
        for j in rows[t % 3]:
            total += x[j] * x[t] * len(rows[t % 3])
    return total


@program
def left_early(x):
    total = 0.0
    for i in range(N):
        for j in UNEVEN[i]:
            if x[j] > 0.7:
                break
            total += x[j] * x[i]
        else:
            total += 0.5
    return total


@program
def what_is_asked_for_is_a_list(x):
    total = 0.0
    for i in range(N):
        row = EVEN[i]
        total += x[row[0]] * len(row)
        total += x[i] if 3 in EVEN[i] else 0.0
        total += x[max(EVEN[i])]
    return total


@program
def a_function_of_another_length(x):
    def len(row):
        return row[0] + 1

    return sum(x[i] * len(EVEN[i]) for i in range(N))


@program
def an_object_of_another_length(x):
    class First:
        def __call__(self, row):
            return row[0] + 1

    len = First()
    return sum(x[i] * len(EVEN[i]) for i in range(N))


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert not InterpretedPlan(f, np.random.default_rng(0).random(SIZE)).traces[0].unrolled


INFINITY = float("inf")


def distances(x, edges_of, neighbours):
    graph, far, queue = edges_of(x), {i: INFINITY for i in range(6)}, [(0.0, 0)]
    far[0] = 0.0
    while queue:
        d, u = heapq.heappop(queue)
        if d > far[u]:
            continue
        for v, w in neighbours(graph, u):
            if d + w < far[v]:
                far[v] = d + w
                heapq.heappush(queue, (d + w, v))
    return sum(far.values())


def of_dicts(x):
    return {i: {(i + 1) % 6: x[i], (i + 2) % 6: x[6 + i]} for i in range(6)}


def of_lists(x):
    return {i: [((i + 1) % 6, x[i]), ((i + 2) % 6, x[6 + i])] for i in range(6)}


def shortest_in_dicts(x):
    return distances(x, of_dicts, lambda graph, u: graph[u].items())


def shortest_from(start, graph):
    far, queue = {u: INFINITY for u in graph}, [(0.0, start)]
    far[start] = 0.0
    while queue:
        d, u = heapq.heappop(queue)
        if d > far[u]:
            continue
        for v, w in graph[u].items():
            if d + w < far[v]:
                far[v] = d + w
                heapq.heappush(queue, (d + w, v))
    return sum(far.values())


def shortest_in_dicts_filled_before(x):
    graph = {i: {} for i in range(6)}
    k = 0
    for i in range(6):
        for j in (1, 2):
            graph[i][(i + j) % 6] = x[k] + 0.1 * k
            k += 1
    return shortest_from(0, graph)


def shortest_between_names(x):
    names = ["home", "mill", "port", "fort", "farm"]
    graph = {name: {names[(k + 1) % 5]: x[k], names[(k + 2) % 5]: x[6 + k]} for k, name in enumerate(names)}
    return shortest_from("home", graph)


def shortest_in_lists(x):
    return distances(x, of_lists, lambda graph, u: graph[u])


def shortest_by_name(x):
    graph, far, u, total = of_dicts(x), [INFINITY] * 6, 0, 0.0
    far[0] = 0.0
    for k in range(20):
        near = graph[u]
        for v in near:
            far[v] = min(far[v], far[u] + near[v])
        total += len(near) * x[k]
        u = int(x[k] * 6)
    return sum(min(d, 9.0) for d in far) + total


def changed_dicts(x):
    graph, u, total = of_dicts(x), 0, 0.0
    for k in range(12):
        here = 0.0
        for v, w in graph[u].items():
            here += w * (v + 1)
        total += here
        graph[0][1] = here * 0.3
        u = int(x[k] * 6)
    return total


def changed_lists(x):
    graph, u, total = of_lists(x), 0, 0.0
    for k in range(12):
        here = 0.0
        for v, w in graph[u]:
            here += w * (v + 1)
        total += here
        graph[0][1] = (3, here * 0.3)
        u = int(x[k] * 6)
    return total


@pytest.mark.parametrize(
    "f",
    [
        searched, shortest, shortest_in_dicts, shortest_in_dicts_filled_before, shortest_between_names,
        shortest_in_lists, shortest_by_name, changed_dicts, changed_lists,
    ],
)  # fmt: skip
def test_one_trace_for_all_inputs(f):
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(SIZE),), check=False)
    for _ in range(3):
        x = rng.random(SIZE)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
    assert len(plan._variants) == 1


def rows_of_numbers(x):
    return {i: [x[i], x[6 + i]] for i in range(6)}


def changed_row(x):
    rows, total, u = rows_of_numbers(x), 0.0, 0
    for k in range(12):
        for w in rows[u]:
            rows[0][1] = x[k] * 0.5
            total += w
        u = int(x[k] * 1.7)
    return total


def changed_row_by_name(x):
    rows, total, u = rows_of_numbers(x), 0.0, 0
    for k in range(12):
        row = rows[u]
        for w in row:
            rows[0][1] = x[k] * 0.5
            total += w
        u = int(x[k] * 1.7)
    return total


def changed_integers(x):
    rows, total, u = [[1, 2], [3, 4], [5, 6]], 0.0, 0
    for k in range(12):
        for w in rows[u]:
            rows[0][1] = int(x[k] * 5)
            total += w * x[k]
        u = int(x[k] * 1.7)
    return total


def changed_view(x):
    graph, total, u = of_dicts(x), 0.0, 0
    for k in range(12):
        for v, w in graph[u].items():
            graph[0][2] = x[k] * 0.5
            total += w * (v + 1)
        u = int(x[k] * 1.7)
    return total


def asked_one_by_one(x):
    rows, total, u = rows_of_numbers(x), 0.0, 0
    for k in range(12):
        items = iter(rows[u])
        total += next(items)
        rows[0][1] = x[k] * 0.5
        total += next(items)
        u = int(x[k] * 1.7)
    return total


@pytest.mark.parametrize("f", [changed_row, changed_row_by_name, changed_integers, changed_view, asked_one_by_one])
@pytest.mark.parametrize("unroll", [0, 8])
def test_rows_that_change_while_they_are_run_over(f, unroll):
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(SIZE),), check=False, unroll=unroll)
    for _ in range(6):
        x = rng.random(SIZE)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)


class Program:
    """A random one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        rows = [[r.randrange(N) for _ in range(r.choice([0, 1, 2, 3]))] for _ in range(r.choice([3, 6]))]
        pairs = [[(v, r.choice([0.5, 2.0, 1])) for v in row] for row in rows]
        self.count = len(rows)
        holder = r.choice(["list", "tuple", "dict"])
        made = {"list": repr, "tuple": lambda g: repr(tuple(map(tuple, g))), "dict": lambda g: repr(dict(enumerate(g)))}
        self.lines = [f"G, H = {made[holder](rows)}, {made[holder](pairs)}", "s, y, u = 0.0, [0.0] * 20, 0"]
        for _ in range(r.choice([1, 2])):
            self.lines.append(f"for i in range({r.choice([2, 5, 18])}):")
            for _ in range(r.choice([1, 2, 3])):
                self.statement(1, ["i", "u"])

    def source(self) -> str:
        return "\n    ".join(["def f(x):", *self.lines, "return s + sum(v * v for v in y)"]) + "\n"

    def statement(self, depth: int, indices: list[str]) -> None:
        r, n = self.random, self.count
        k = r.choice([*indices, f"int(x[{indices[-1]}] * {n})"]) + f" % {n}"
        j = r.choice(indices)
        forms = [
            [f"for v in G[{k}]:", "    BODY"],
            [f"for v in G[{k}]:", "    BODY"],
            [f"for v, w in H[{k}]:", f"    s += x[v] * w * x[{j}]"],
            [f"for v in G[{k}]:", "    if x[v] > 0.6:", f"        {r.choice(['break', 'continue'])}", "    s += x[v]"],
            [f"s += len(G[{k}]) * x[{j}]"],
            [f"s += sum(x[v] for v in G[{k}])"],
            [f"u = {j} * 7 % 20"],
            [f"for q, v in enumerate(G[{k}]):", "    s += x[v] * q"],
        ]
        body = r.choice([f"y[v] += x[{j}]", "s += x[v] * y[v]", "u = v", f"s += len(G[v % {n}]) * x[v]"])
        for line in r.choice(forms):
            self.lines.append("    " * depth + line.replace("BODY", body))


def random_program(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<graphs {seed}>", np=np)


@pytest.mark.parametrize("seed", [*range(20), *LONG])
def test_random_programs(seed):
    assert_right(random_program(seed), SIZE, seed, 16 * (seed % 2))
