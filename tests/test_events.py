"""Events and records in lists, as simulations have them: one trace for every order and every number of them."""

from __future__ import annotations

import dataclasses
import heapq
import statistics
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .one_trace import traces_of
from .sweeps import name_of, rotated


@dataclasses.dataclass(order=True)
class Event:
    time: float
    kind: int


def queue_of_texts(x):
    events = [(abs(v), "in") for v in x[:10]]
    heapq.heapify(events)
    waiting, total, last = 0, 0.0, 0.0
    while events:
        time, kind = heapq.heappop(events)
        total, last = total + waiting * (time - last), time
        if kind == "in":
            waiting += 1
            heapq.heappush(events, (time + 1.0 + 0.1 * waiting, "out"))
        else:
            waiting -= 1
    return total


def queue_of_objects(x):
    events, total = [], 0.0
    for v in x:
        heapq.heappush(events, Event(abs(v), 0))
    while events:
        event = heapq.heappop(events)
        if event.kind == 0:
            heapq.heappush(events, Event(event.time + 0.5, 1))
        else:
            total += event.time**2
    return total


def sweep(x):
    events = [(v, "in") for v in x] + [(v + 0.2, "out") for v in x]
    events.sort()
    inside, total = 0, 0.0
    for at, kind in events:
        inside += 1 if kind == "in" else -1
        total += inside * at
    return total


def some_in_order(x):
    events = []
    for v in x:
        if v > 0.3:
            events.append((v, "b"))
            events.append((v, "a"))
    events.sort()
    total = 0.0
    for k, (at, kind) in enumerate(events):
        total += k * at * (2.0 if kind == "a" else 1.0)
    return total


def sorted_and_popped(x):
    events, total = [(v, 0) for v in x], 0.0
    while events:
        events.sort()
        at, kind = events.pop(0)
        if kind == 0:
            events.append((at + 0.4, 1))
        else:
            total += at * len(events)
    return total


def merged(x):
    a, b, out = sorted(x[:11]), sorted(x[11:]), []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    out = out + a[i:] + b[j:]
    return sum(k * v for k, v in enumerate(out))


def filtered_records(x):
    agents = [[v, 0.5 * v + 0.1] for v in x]
    for _ in range(4):
        buyers = [a for a in agents if a[0] > a[1]]
        sellers = [a for a in agents if a[0] <= a[1]]
        if not buyers or not sellers:
            break
        for a in buyers:
            a[1] += 0.1 / len(buyers)
    return sum(a[0] * a[1] for a in agents)


def filtered_dicts(x):
    rows = [{"v": v, "n": 0} for v in x]
    max(rows, key=lambda r: r["v"])["n"] += 1
    for row in rows:
        if row["v"] > 0.5:
            row["n"] += 1
    hits = [row for row in rows if row["n"] >= 1]
    return sum(row["v"] * row["n"] for row in hits) / len(hits)


class Stump:
    def fit(self, x, r):
        least = np.inf
        for t in x:
            left = [b for a, b in zip(x, r) if a <= t]
            mean = sum(left) / len(left)
            error = sum((v - mean) ** 2 for v in left)
            if error < least:
                least, self.at, self.value = error, t, mean
        return self


def boosting(x):
    x, found = x[:9], [0.0] * 9
    for _ in range(2):
        stump = Stump().fit(x, [a - b for a, b in zip(np.sin(5 * x), found)])
        found = [f + 0.3 * (stump.value if a <= stump.at else -stump.value) for f, a in zip(found, x)]
    return sum(f * f for f in found)


def first_ones(x):
    cumulated, total = np.cumsum(np.abs(x)) / np.sum(np.abs(x)), 0.0
    for u in np.linspace(0.05, 0.95, 20):
        k = next(i for i, c in enumerate(cumulated) if c >= u)
        total += u * x[k] + next((v for v in x if v > 2 * u), 0.0)
    return total


def given_one_by_one(x):
    positive = (v for v in x if v > 0)
    return next(positive) * 2.0 + next(positive)


def rebalanced(x):
    wanted, total = [0.5, 0.3, 0.2], 0.0
    held = list(wanted)
    for r in x:
        held = [v * (1 + r * v) for v in held]
        if any(abs(a - b) > 0.1 for a, b in zip(held, wanted)):
            total, held = total + held[0], list(wanted)
    return total + sum(held)


def stiffness(x):
    n = len(x)
    k = np.zeros((n + 1, n + 1))
    for i in range(n):
        dofs = [i, i + 1]
        k[np.ix_(dofs, dofs)] += x[i] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        k[i] *= np.array([1, i]).sum()
    return np.sum(k[1:, 1:] ** 2)


def curve(x):
    times, values = [0.0], [1.0]
    for i, v in enumerate(x):
        s = sum(np.interp(0.7 * j, times, values) for j in range(i))
        times.append(times[-1] + 0.5 + abs(v))
        values.append((1 - 0.1 * v * s) / (1.3 + abs(v)))
    return values[-1]


def of_some(x):
    some = [v for v in x if v > 0]
    return statistics.mean(some) * statistics.pstdev(some) + statistics.median(some)


PROGRAMS = [
    queue_of_texts, queue_of_objects, sweep, some_in_order, sorted_and_popped, merged, filtered_records,
    filtered_dicts, boosting, first_ones, rebalanced, stiffness, curve, of_some,
]  # fmt: skip


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [16, 16, 16, 0]), ids=name_of)
def test_one_trace_serves(f: Callable, unroll: int) -> None:
    assert traces_of(f, unroll) == 1


def writes_where_it_looks(x):
    rows = [{"v": v, "seen": 0.0} for v in x]

    def looked_at(row):
        row["seen"] += 1.0
        return row["v"] > 0.5

    found = next((row["v"] for row in rows if looked_at(row)), 0.0)
    found += any(looked_at(row) for row in rows)

    def counted(pair):
        pair[1] += 1.0
        return pair[0] > -1.0

    pairs = [[v, 0.0] for v in x]
    found += all(counted(pair) for pair in pairs) + sum(pair[0] * pair[1] for pair in pairs)
    return found * x[0] + sum(row["seen"] * row["v"] for row in rows)


def raises_behind_it(x):
    def is_large(v):
        if v < -1.5:
            raise ValueError
        return v > 0

    return next((v for v in np.abs(x[:3]) if is_large(v)), 0.0) * next(v for v in [*np.abs(x[:2]), *x] if is_large(v))


def written_to(x):
    rows = [{"v": v} for v in x]
    row = next((row for row in rows if row["v"] > 0.5), rows[0])
    row["v"] *= 3.0
    return sum(row["v"] * (k + 1) for k, row in enumerate(rows))


@pytest.mark.parametrize("f", [writes_where_it_looks, raises_behind_it, written_to])
def test_items_behind_the_first_are_not_looked_at(f: Callable) -> None:
    assert traces_of(f, 16) >= 1 and traces_of(f, 0) >= 1


def test_a_generator_that_is_held_gives_its_items_one_by_one() -> None:
    assert traces_of(given_one_by_one, 16) >= 1


class Last:
    def see(self, x):
        for v in x:
            if v > 0.5:
                self.value = v
        return self


def asks_by_name(x):
    return x[0] * (2.0 if hasattr(Last().see(x), "value") else 3.0)


def asks_by_error(x):
    try:
        return Last().see(x).value * x[0]
    except AttributeError:
        return x[1]


@pytest.mark.parametrize("f", [asks_by_name, asks_by_error, lambda x: getattr(Last().see(x), "value", 7.0) * x[0]])
def test_an_attribute_that_is_not_there(f: Callable) -> None:
    x = np.linspace(0.0, 1.0, 20)
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == f(x) and plan(0.2 * x) == pytest.approx(f(0.2 * x)) and plan(0.7 * x) == f(0.7 * x)


def test_an_attribute_that_is_missed_is_the_functions_error() -> None:
    x = np.linspace(0.0, 1.0, 20)
    plan = planned_ad.compile(lambda x: Last().see(x).value * x[-1], (x,), check=False)
    assert plan(x) == 1.0
    with pytest.raises(AttributeError):
        plan(0.1 * x)
