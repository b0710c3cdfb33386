"""Groups of nodes of one kind that do not wait for one another, in an order in which each waits for those before only.

Kinds that wait for themselves, by way of others, are a circle: its groups, by how many nodes are in between, are done
one after the other, with nothing from outside among them.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import count

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...tape.tape import Buffer
from .order import Node, dependences

Group = tuple[Hashable, list[Node]]  # and their kind


def groups_in_order(
    buffers: Sequence[Buffer], nodes: Sequence[Node], kinds: Sequence[Hashable]
) -> Iterator[list[list[Group]]]:
    """What is done together: groups, by their depth in a circle; outside of circles one at a time.

    A kind of None is a node by itself.
    """
    waits = dependences(buffers, nodes)
    names: defaultdict[Hashable, int] = defaultdict(count().__next__)
    kind = [names[id(node) if name is None else (name,)] for node, name in zip(nodes, kinds)]
    edges = np.array([(kind[other], kind[k]) for k, others in enumerate(waits) for other in others]).reshape(-1, 2)
    graph = coo_array((np.ones(len(edges), bool), (edges[:, 0], edges[:, 1])), shape=(len(names), len(names)))
    _, circles = connected_components(graph.tocsr(), connection="strong")
    circle = [int(circles[k]) for k in kind]
    depth = [0] * len(nodes)
    for k, others in enumerate(waits):
        depth[k] = max((depth[other] + 1 for other in others if circle[other] == circle[k]), default=0)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for k, of in enumerate(circle):
        members[of].append(k)
    together = list(members.values())
    place = {k: c for c, some in enumerate(together) for k in some}
    before = [{place[other] for k in some for other in waits[k]} - {c} for c, some in enumerate(together)]
    for c in topological(before):
        levels: defaultdict[int, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for k in together[c]:
            levels[depth[k]][kind[k]].append(k)
        yield [
            [(kinds[some[0]], [nodes[k] for k in some]) for some in levels[level].values()] for level in sorted(levels)
        ]


def topological(before: Sequence[set[int]]) -> Iterator[int]:
    """In an order in which each comes after those before it, the first ones first."""
    after: defaultdict[int, list[int]] = defaultdict(list)
    for k, others in enumerate(before):
        for other in others:
            after[other].append(k)
    missing = list(map(len, before))
    ready = [k for k, n in enumerate(missing) if not n]
    heapq.heapify(ready)
    while ready:
        k = heapq.heappop(ready)
        yield k
        for other in after[k]:
            missing[other] -= 1
            if not missing[other]:
                heapq.heappush(ready, other)
