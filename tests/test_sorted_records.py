"""Lists of dicts and objects in order, the best of them, and texts by numbers: one trace for every order."""

# ruff: noqa: PERF401 (programs as people write them)

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .one_trace import traces_of
from .sweeps import name_of, rotated


@dataclasses.dataclass
class Plant:
    cost: float
    limit: float


class Bare:
    """Compared by identity."""

    def __init__(self, cost, limit):
        self.cost, self.limit = cost, limit


def merit_order(x):
    names = ["coal", "gas", "wind", "sun"]
    plants = [{"name": name, "limit": 1.0 + i, "cost": x[i]} for i, name in enumerate(names)]
    left, total = 4.2, 0.0
    for plant in sorted(plants, key=lambda p: p["cost"]):
        taken = min(plant["limit"], left)
        left -= taken
        total += taken * plant["cost"] * (2.0 if plant["name"] == "gas" else 1.0)
    return total


def objects_in_order(x):
    total = 0.0
    for k, plant in enumerate(sorted([Plant(v, v * v) for v in x[:8]], key=lambda p: -p.cost)):
        total += k * plant.limit
    return total


def many_in_order(x):
    rows = []
    for i in range(len(x)):
        rows.append({"v": x[i], "k": i})
    total = 0.0
    for k, row in enumerate(sorted(rows, key=lambda r: (r["k"] % 2, r["v"]))):
        row["v"] *= 0.5
        total += k * row["v"] * x[row["k"]]
    return total + sum(row["v"] for row in rows)


def best_of_many(x):
    rows = [(v, i % 3, i) for i, v in enumerate(x)]
    most, least = max(rows, key=lambda r: (r[1], r[0])), min(rows, key=lambda r: abs(r[0] - 0.2))
    return most[0] * most[2] + least[0] * x[least[2]]


def best_ones(x):
    rows = [{"v": v, "w": v * v} for v in x[:9]]
    pairs = [(v, i) for i, v in enumerate(x)]
    best, (least, place) = max(rows, key=lambda r: r["v"]), min(pairs, key=lambda p: abs(p[0]))
    return best["w"] + 2.0 * min(rows, key=lambda r: (r["w"], r["v"]))["v"] + least * x[place]


def names_by_value(x):
    prices = {name: x[i] for i, name in enumerate(["gold", "oil", "gas", "corn"])}
    weights = {"gold": 1.0, "oil": 2.0, "gas": 0.5, "corn": 3.0}
    ranks = {name: k for k, name in enumerate(sorted(prices, key=prices.get))}
    first = sum(weights[name] * prices[name] for name in sorted(prices, key=prices.get, reverse=True)[:2])
    return first + sum(ranks[name] * prices[name] for name in prices)


def items_by_value(x):
    prices, total = dict(zip("abcdefghijklmnopqrst", x)), 0.0
    for k, (name, v) in enumerate(sorted(prices.items(), key=lambda item: item[1])):
        total += k * v * (3.0 if name == "e" else 1.0)
    return total


def shortest_paths(x):
    n = 6
    lengths = np.abs(x[:n, None] - x[None, :n]) + 0.1
    found, done = [1e9] * n, [False] * n
    found[0] = 0.0
    for _ in range(n):
        u = min((j for j in range(n) if not done[j]), key=lambda j: found[j])
        done[u] = True
        for v in range(n):
            if not done[v] and found[u] + lengths[u, v] < found[v]:
                found[v] = found[u] + lengths[u, v]
    return sum(found)


def nearest_neighbours(x):
    left, here, total = set(range(1, 20)), 0, 0.0
    while left:
        there = min(left, key=lambda j: abs(x[j] - x[here]))
        total += (1 + 0.1 * there) * abs(x[there] - x[here]) + 0.01 * sum(x[j] for j in left)
        left.remove(there)
        here = there
    return total


def visited(x):
    seen, here, total = {0}, 0, 0.0
    while len(seen) < 8:
        best, least = None, np.inf
        for j in range(8):
            if j in seen:
                continue
            if abs(x[j] - x[here]) < least:
                best, least = j, abs(x[j] - x[here])
        seen.add(best)
        total, here = total + least * (best + 1), best
    return total


def spanning_tree(x):
    tree, total = [0], 0.0
    while len(tree) < 6:
        best = None
        for i in tree:
            for j in range(6):
                if j not in tree and (best is None or abs(x[i] - x[j]) < best[0]):
                    best = abs(x[i] - x[j]), j
        total += best[0] * best[1]
        tree.append(best[1])
    return total


PROGRAMS = [
    merit_order, objects_in_order, many_in_order, best_of_many, best_ones, names_by_value, items_by_value,
    shortest_paths, nearest_neighbours, visited, spanning_tree,
]  # fmt: skip


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [16, 16, 0]), ids=name_of)
def test_one_trace_serves(f: Callable, unroll: int) -> None:
    assert traces_of(f, unroll) <= (2 if f is merit_order else 1)


def sorted_and_written(x):
    plants = [Plant(v, 1.0 + v) for v in x[:6]]
    for k, plant in enumerate(sorted(plants, key=lambda p: p.cost)):
        plant.limit *= k
    return sum(plant.limit * plant.cost for plant in plants)


def best_and_written(x):
    rows = [{"v": v, "w": v * v} for v in x[:5]]
    max(rows, key=lambda r: r["v"])["w"] = 7.0 * x[5]
    return sum(row["w"] * row["v"] for row in rows)


def best_and_removed(x):
    rows = []
    for i in range(20):
        rows.append(Bare(x[i], i))
    best = max(rows, key=lambda r: r.cost)
    return best.cost + rows.index(best) * x[0]


def best_among_others(x):
    rows = [Bare(v, 1.0) for v in x]
    best = max(rows, key=lambda r: r.cost)
    return best.cost * sum(k for k, r in enumerate(rows) if r != best) + x[0] * (best in rows[:9])


def best_as_keys(x):
    rows = [Bare(v, v * v) for v in x[:4]]
    best, first = max(rows, key=lambda r: r.cost), {rows[0], rows[1]}
    places, top = {r: k + 1.0 for k, r in enumerate(rows)}, sorted(rows, key=lambda r: r.cost)[:2]
    total = places.get(best, 7.0) * x[0] + (3.0 if best in first else 2.0) + rows.count(best) * x[1]
    return total + sum(r.limit for r in rows if r in top) + len({best, min(rows, key=lambda r: r.limit)})


def sorted_several_times(x):
    plants = [Plant(v, v) for v in x[:5]]
    for k in range(4):
        for plant in sorted(plants, key=lambda p: p.limit):
            plant.limit = plant.limit * 0.7 + 0.1 * k
    return sum(p.limit * (k + 1) for k, p in enumerate(plants))


@dataclasses.dataclass(order=True)
class Ordered:
    cost: float
    limit: float


class ByLimit(Ordered):
    def __lt__(self, other):
        return self.limit < other.limit


def by_their_own_order(x):
    return sum(k * p.cost for k, p in enumerate(sorted([ByLimit(x[i], x[i + 1]) for i in range(7)])))


def best_that_is_one(x):
    rows = [{"v": v} for v in x[:5]]
    return x[0] if max(rows, key=lambda r: r["v"]) is rows[2] else x[1]


def set_that_grows_again(x):
    left, total = set(range(6)), 0.0
    for k in range(4):
        j = min(left, key=lambda j: abs(x[j] - 0.1 * k))
        left.discard(j)
        total += x[j] * (k + 1)
        left.add(k)
    return total


def counters_by_count(x):
    counts = collections.Counter("abracadabra")
    return sum(x[k] * n for k, (_, n) in enumerate(counts.most_common()))


OF_THE_PROGRAM = [
    sorted_and_written, best_and_written, best_and_removed, best_among_others, best_as_keys, sorted_several_times,
    by_their_own_order,
    best_that_is_one, set_that_grows_again, counters_by_count,
]  # fmt: skip


@pytest.mark.parametrize("f", OF_THE_PROGRAM, ids=name_of)
def test_the_program_has_its_own(f: Callable) -> None:
    assert traces_of(f, 16) >= 1


def test_nan_is_neither_least_nor_most() -> None:
    def f(x):
        return min([{"v": v} for v in x], key=lambda r: r["v"])["v"]

    plan = planned_ad.compile(f, (np.arange(3.0),))
    with pytest.raises(planned_ad.errors.BoundsError, match="nan"):
        plan(np.array([1.0, np.nan, 0.0]))
