"""The cheapest cut, by both ways and by trying all."""

from __future__ import annotations

import itertools
import random

import pytest

from planned_ad.analysis import minimum_cut
from planned_ad.analysis.minimum_cut import minimum_node_cut, near_sink, near_sink_by_scipy


def random_case(seed: int, count: int):
    chosen = random.Random(seed)
    costs = {f"n{k}": chosen.choice((0, 8, 8, 16, 8 * chosen.randint(1, 50))) for k in range(count)}
    names = list(costs)
    arcs = [(a, b) for a, b in itertools.permutations(names, 2) if chosen.random() < 2.5 / count]  # circles too
    ends = chosen.randint(1, max(1, count // 4))
    return costs, arcs, chosen.sample(names, ends), chosen.sample(names, ends)


def separates(cut: set, arcs: list, sources: list, sinks: list) -> bool:
    reached = waiting = set(sources) - cut
    while waiting:
        waiting = {b for a, b in arcs if a in waiting and b not in cut} - reached
        reached = reached | waiting
    return not reached & set(sinks)


@pytest.mark.parametrize("seed", range(40))
def test_both_ways_find_the_same_cut(seed, monkeypatch):
    costs, arcs, sources, sinks = case = random_case(seed, 5 + seed)
    ours = minimum_node_cut(*case)
    monkeypatch.setattr(minimum_cut, "MANY", 0)
    assert minimum_node_cut(*case) == ours
    assert separates(ours, arcs, sources, sinks)
    if len(costs) <= 11:
        every = itertools.chain.from_iterable(itertools.combinations(costs, k) for k in range(len(costs) + 1))
        least = min(sum(costs[n] for n in cut) for cut in every if separates(set(cut), arcs, sources, sinks))
        assert sum(costs[n] for n in ours) == least


def used_ways(monkeypatch) -> list[str]:
    used: list[str] = []
    for way in (near_sink, near_sink_by_scipy):
        monkeypatch.setattr(minimum_cut, way.__name__, lambda c, way=way: used.append(way.__name__) or way(c))
    return used


def test_large_costs_are_cut_exactly(monkeypatch):
    """Sums beyond 32 bits are none of SciPy's; those just below are."""
    monkeypatch.setattr(minimum_cut, "MANY", 0)
    used = used_ways(monkeypatch)
    for scale, way in ((1 << 40, "near_sink"), ((1 << 30) // 4 - 2, "near_sink_by_scipy"), (1 << 29, "near_sink")):
        costs = {"a": scale, "b": scale + 1, "c": scale - 1}
        assert minimum_node_cut(costs, [("a", "b"), ("b", "c"), ("c", "a")], ["a"], ["c"]) == {"c"}
        assert used.pop() == way


def test_many_nodes_are_scipys(monkeypatch):
    used = used_ways(monkeypatch)
    costs = {k: 8 * (1 + k * 7 % 13) for k in range(300)}
    cut = minimum_node_cut(costs, [(k, k + 1) for k in range(299)], [0], [299])
    assert used == ["near_sink_by_scipy"]
    assert cut == {max(k for k in costs if costs[k] == 8)}  # of all that are as cheap, the one nearest to the sink
