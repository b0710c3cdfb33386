"""The cheapest set of nodes that separates a source from a sink."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

Arc = tuple[Any, Any]

MANY = 200  # nodes, from where on SciPy is faster
LARGEST = 1 << 31

SOURCE, SINK = ("source",), ("sink",)


def minimum_node_cut(
    costs: Mapping[Any, int],
    arcs: Iterable[Arc],
    sources: Iterable[Any],
    sinks: Iterable[Any],
) -> set[Any]:
    """The nodes of least total cost that every path from a source to a sink goes through; sources and sinks may be
    among them. Of several such sets the one nearest to the sinks, which is the same for every largest flow.

    A flow through nodes of limited capacity (Ford & Fulkerson, 1956): each node is an arc from where it is entered to
    where it is left. The flow through many nodes is SciPy's (Dinic, 1970).
    """
    unit = math.gcd(*costs.values()) or 1  # so that sums of many bytes fit SciPy's numbers
    costs = {node: cost // unit for node, cost in costs.items()}
    unlimited = 1 + sum(costs.values())
    capacities: dict[Arc, int] = {((node, "in"), (node, "out")): cost for node, cost in costs.items()}
    capacities |= {((a, "out"), (b, "in")): unlimited for a, b in arcs}
    capacities |= {(SOURCE, (node, "in")): unlimited for node in sources}
    capacities |= {((node, "out"), SINK): unlimited for node in sinks}
    is_large = len(costs) >= MANY and 2 * unlimited < LARGEST
    near = (near_sink_by_scipy if is_large else near_sink)(capacities)
    return {node for node in costs if (node, "out") in near and (node, "in") not in near}


def near_sink(capacities: Mapping[Arc, int]) -> set[Hashable]:
    """From where something could still flow to the sink when the flow is the largest; shortest augmenting paths
    (Edmonds & Karp, 1972)."""
    flow = Network()
    for (a, b), capacity in capacities.items():
        flow.connect(a, b, capacity)
    while (path := flow.shortest_path()) is not None:
        flow.push(path)
    return flow.reaching_sink()


def near_sink_by_scipy(capacities: Mapping[Arc, int]) -> set[Hashable]:
    """The same by SciPy's compiled code, which counts in 32 bits: twice any capacity has to fit."""
    from scipy.sparse import csgraph, csr_array  # 0.1 s, which most programs never need

    places = list({SOURCE: None, SINK: None} | {place: None for arc in capacities for place in arc})
    number = {place: k for k, place in enumerate(places)}
    rows, columns = ([number[arc[end]] for arc in capacities] for end in (0, 1))
    shape = (len(places), len(places))
    network = csr_array((np.array(list(capacities.values()), np.int32), (rows, columns)), shape=shape)
    flow = csgraph.maximum_flow(network, number[SOURCE], number[SINK], method="dinic").flow
    left = network.astype(np.int64) - flow.astype(np.int64)
    left.eliminate_zeros()
    reached = csgraph.breadth_first_order(csr_array(left.T), number[SINK], return_predecessors=False)
    return {places[k] for k in reached}


def components(nodes: Iterable[Any], arcs: Iterable[Arc]) -> Iterator[tuple[list[Any], list[Arc]]]:
    """The nodes in lists that no arc connects, each with its arcs: what can be cut by itself."""
    leaving: dict[Any, list[Any]] = {node: [] for node in nodes}
    touching: dict[Any, list[Any]] = {node: [] for node in leaving}
    for a, b in arcs:
        leaving[a].append(b)
        touching[a].append(b)
        touching[b].append(a)
    seen: set[Any] = set()
    for start in touching:
        if start in seen:
            continue
        seen.add(start)
        part = [start]
        for node in part:  # which grows
            new = [other for other in dict.fromkeys(touching[node]) if other not in seen]
            seen.update(new)
            part += new
        yield part, [(node, other) for node in part for other in leaving[node]]


class Network:
    """What can still flow along each arc, and back along those that carry some."""

    def __init__(self) -> None:
        self.left: dict[Hashable, dict[Hashable, int]] = {SOURCE: {}, SINK: {}}

    def connect(self, a: Hashable, b: Hashable, capacity: int) -> None:
        self.left.setdefault(a, {})[b] = capacity
        self.left.setdefault(b, {}).setdefault(a, 0)

    def shortest_path(self) -> list[Hashable] | None:
        """Nodes from the source to the sink along arcs with room, or None."""
        before: dict[Hashable, Hashable] = {SOURCE: SOURCE}
        waiting: deque[Hashable] = deque([SOURCE])
        while waiting:
            node = waiting.popleft()
            for other, room in self.left[node].items():
                if room and other not in before:
                    before[other] = node
                    waiting.append(other)
            if SINK in before:
                break
        else:
            return None
        path: list[Hashable] = [SINK]
        while path[-1] != SOURCE:
            path.append(before[path[-1]])
        return path[::-1]

    def push(self, path: list[Hashable]) -> None:
        room = min(self.left[a][b] for a, b in pairwise(path))
        for a, b in pairwise(path):
            self.left[a][b] -= room
            self.left[b][a] += room

    def reaching_sink(self) -> set[Hashable]:
        """The nodes from which something could still flow to the sink."""
        found: set[Hashable] = {SINK}
        waiting: deque[Hashable] = deque([SINK])
        while waiting:
            node = waiting.popleft()
            for other in self.left[node]:
                if other not in found and self.left[other][node]:
                    found.add(other)
                    waiting.append(other)
        return found
