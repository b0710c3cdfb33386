"""Where the nodes of a graph are drawn: in layers, each below all that it depends on (Sugiyama et al., 1981).

>>> drawn = layered(3, [(0, 1), (1, 2), (0, 2)])
>>> drawn.layers
[[0], [1, 3], [2]]
>>> drawn.chains[2]
[0, 3, 2]

Node 3 stands for the arc from 0 to 2 where it passes the layer in between, so that it goes around node 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SWEEPS_OF_ORDER = 6  # over the layers, down and up in turns


@dataclass(frozen=True, slots=True)
class Layered:
    """`layers`: nodes from left to right, the first layer first; `chains`: of each arc, the nodes on its way."""

    layers: list[list[int]]
    chains: list[list[int]]


def layered(count: int, arcs: Sequence[tuple[int, int]]) -> Layered:
    """Place `count` nodes, each of which comes after those that its arcs come from."""
    depth = [0] * count
    for a, b in sorted(arcs, key=lambda arc: arc[1]):
        depth[b] = max(depth[b], depth[a] + 1)
    layers: list[list[int]] = [[] for _ in range(1 + max(depth, default=-1))]
    for node in range(count):
        layers[depth[node]].append(node)
    chains = []
    for a, b in arcs:
        passing = list(range(count, count + depth[b] - depth[a] - 1))
        count += len(passing)
        for node, layer in zip(passing, layers[depth[a] + 1 :]):
            layer.append(node)
        chains.append([a, *passing, b])
    return Layered(untangled(layers, chains), chains)


def untangled(layers: list[list[int]], chains: Sequence[Sequence[int]]) -> list[list[int]]:
    """The same layers, each in the order of where its neighbours stand on average."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for chain in chains:
        for a, b in pairwise(chain):
            above.setdefault(b, []).append(a)
            below.setdefault(a, []).append(b)
    for turn in range(SWEEPS_OF_ORDER):
        downwards = turn % 2 == 0
        for number in range(1, len(layers)) if downwards else range(len(layers) - 2, -1, -1):
            beside = layers[number - 1 if downwards else number + 1]
            layers[number] = in_order_of_neighbours(layers[number], beside, above if downwards else below)
    return layers


def in_order_of_neighbours(layer: list[int], beside: list[int], neighbours: dict[int, list[int]]) -> list[int]:
    """A layer in the order of where the neighbours of its nodes stand in the one beside it, on average."""
    place = {node: (k + 0.5) / len(beside) for k, node in enumerate(beside)}

    def average(position: int) -> float:
        found = [place[n] for n in neighbours.get(layer[position], ()) if n in place]
        return sum(found) / len(found) if found else (position + 0.5) / len(layer)

    return [layer[position] for position in sorted(range(len(layer)), key=average)]
