"""What a run of another trace has shown leads the next one the same way, as far as both are recorded alike."""

from __future__ import annotations

from collections import deque

import numpy as np

import planned_ad
from planned_ad.python.source import Line
from planned_ad.tape.tape import Guard, Value
from planned_ad.tracing.record.known_guards import KnownGuards


def guard(what: str, number: int, outcome: object) -> Guard:
    predicate = Value(id=number, shape=(), dtype=np.dtype(bool))
    return Guard(predicate=predicate, outcome=outcome, what=what, line=at(number))


def at(number: int) -> Line:
    return Line(file="program.py", number=number, function="f")


def test_guards_that_are_not_asked_for_are_passed_over() -> None:
    known = KnownGuards([guard("index", 1, True), guard("branch", 2, False), guard("branch", 3, True)])
    assert known.outcome("branch", at(2)) is False
    assert known.outcome("number", at(9)) is None
    assert known.outcome("branch", at(3)) is True
    assert known.outcome("branch", at(3)) is None


def test_another_truth_ends_what_is_known() -> None:
    known = KnownGuards([guard("branch", 1, True), guard("branch", 2, False), guard("branch", 3, True)])
    assert known.outcome("branch", at(2)) is None
    assert known.outcome("branch", at(3)) is None


GRAPH = {0: [1], 1: [3, 2], 2: [1, 4], 3: [5], 4: [], 5: []}
EDGES = [(0, 1), (1, 3), (1, 2), (2, 1), (2, 4), (3, 5)]


def shortest_paths(x):
    """By the queue that is a list recorded in several ways; no run has a circle of predecessors."""
    length = {edge: x[k] for k, edge in enumerate(EDGES)}
    distance, before, queue = [0.0] + [1e3] * 5, [None] * 6, [0]
    while queue:
        u = queue.pop(0)
        for v in GRAPH[u]:
            new = distance[u] + length[u, v]
            if new < distance[v]:
                distance[v], before[v] = new, u
                if queue and distance[v] < distance[queue[0]]:
                    queue.insert(0, v)
                else:
                    queue.append(v)
    count, node = 0, 5
    while node is not None:
        count += 1
        node = before[node]
    return sum(distance) * count


def test_traces_of_another_kind_are_not_led_astray() -> None:
    inputs = np.array([[0.18, 0.69, 0.15, 0.59, 0.41, 1.35], [0.08, 0.08, 0.18, 0.14, 0.09, 0.1],
                       [0.62, 1.29, 7.37, 5.45, 3.48, 1.03], [7.0, 5.0, 1.0, 0.5, 2.0, 0.1]])  # fmt: skip
    plan = planned_ad.compile(shortest_paths, (inputs[0],))
    for x in [*inputs, *inputs[::-1]]:
        np.testing.assert_allclose(plan(x), shortest_paths(x), rtol=1e-14)


def inserted_in_front(x):
    """Two loops that ask the same line for several numbers; in another trace of it, other ones of them."""
    s, a, b = 0.1 * x[0], deque(maxlen=3), []
    for _ in range(20):
        b.append(s * 0.1)
        if a:
            s += a.popleft() * 0.3
    for i in range(7):
        for _ in range(i % 4):
            b.insert(0, i * 0.1)
            s += 0.1 * sum(b)
        if x[i] > -0.1:
            s = 0.9 * s + 0.1 * s * 0.1
            s = 0.9 * s + 0.1 * x[i]
            if b:
                s += b.pop() * 0.2
        else:
            s = 0.9 * s + 0.1 * s * 0.1
            if len(a) > 0:  # noqa: SIM102 (two tests)
                if b:
                    s += b.pop() * 0.2
            if a:
                s += a.popleft() * 0.3
        for v in b:
            s += 0.05 * v * v
        s = 0.9 * s + 0.1 * i * 0.1
    return s + sum(a) * 0.3 + sum(v * (k + 1) for k, v in enumerate(b)) * 0.1 + len(a)


def test_tests_of_other_numbers_at_the_same_line_are_not_taken_for_known() -> None:
    xs = np.random.default_rng(165).normal(size=(5, 20))
    plan = planned_ad.compile(inserted_in_front, (xs[0],), check=False)
    for x in xs:
        assert np.isclose(plan(x), inserted_in_front(x), rtol=1e-12)
