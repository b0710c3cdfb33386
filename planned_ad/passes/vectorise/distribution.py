"""What a loop that hands numbers on does beside handing them on is done for all iterations at once.

>>> import numpy as np
>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(y):
...     h, s = 1.0, 0.0
...     for v in y:
...         s += np.log(h) + v / h
...         h = 0.1 + 0.9 * h + np.exp(v)
...     return s
>>> tape = trace(f, (np.zeros(50),), unroll=1).tape
>>> print(brief(tape))
v0 = 1.0
v1 = 0.0
v2 = 0.9
v3 = 0.1
h#1[...] = v0
s#2[...] = v1
for i0 in range(0, 50, 1):
    v4 = h#1[...]
    v5 = s#2[...]
    v6 = y[i0]
    v7 = log(v4)
    v8 = divide(v6, v4)
    v9 = add(v7, v8)
    v10 = add(v5, v9)
    v11 = multiply(v2, v4)
    v12 = add(v3, v11)
    v13 = exp(v6)
    v14 = add(v12, v13)
    h#1[...] = v14
    s#2[...] = v10
    after#3[...] = v6
v15 = h#1[...]
v16 = s#2[...]
v17 = after#3[...]
return v16
>>> print(brief(vectorise(tape)))
v0 = 1.0
v1 = 0.0
v2 = 0.9
v3 = 0.1
h#1[...] = v0
v17: float64[50] = y[...]
v18: float64[50] = exp(v17)
exp#4[...] = v18
for i0 in range(0, 50, 1):
    v13 = exp#4[i0]
    v4 = h#1[...]
    v11 = multiply(v2, v4)
    v12 = add(v3, v11)
    v14 = add(v12, v13)
    h#1[...] = v14
    expanded#5[i0] = v4
v19: float64[50] = expanded#5[...]
v21: float64[50] = log(v19)
v22: float64[50] = divide(v17, v19)
v23: float64[50] = add(v21, v22)
v25 = reduce_sum(v23, axes=(0,))
v26 = add(v1, v25)
return v26

Requires a loop of which no form in `passes.vectorise` makes array operations; ensures the same numbers, up to the order
of sums. Operations on a cycle of dependences stay in the loop, with what lies between them (loop distribution; Allen
and Kennedy, Optimizing Compilers for Modern Architectures, 2001, ch. 5.5); what they depend on goes before it, what
depends on them behind, where functions worth a vector are among it, more of them than numbers that one part keeps for
another.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...analysis.cost import is_dear
from ...analysis.enclosing import certainly_runs
from ...analysis.independence import NotIndependent, kept_in_turn
from ...regions.affine import Ragged
from ...rules.table import RULES
from ...tape.builder import TapeBuilder
from ...tape.tape import Apply, Branch, Loop, Operation, Store, walk
from ..short_loops import MOST_TRIPS
from .interchange import Lift, Straight, expand_scalars

LANES = 8  # numbers that fill a vector by themselves
CHEAP = 2.0  # additions: what is done again, rather than kept for another part
PAYS = 5.0  # additions, at least, for each number that is kept


def distributed(builder: TapeBuilder, loop: Loop, around: tuple[Loop, ...], lift: Lift) -> tuple[Operation, ...]:
    """The loop, and what goes before and behind it by `lift`; raises `NotIndependent` where it stays as it is."""
    check_is_counted(loop)
    graph = Dependences(loop.body, kept_in_turn(builder.buffers, loop, around))
    parts = [Straight([loop.body[k] for k in sorted(place)]) for place in graph.parts()]
    before, cycle, behind = parts
    gain = sum(vector_work(op) for part in (before, behind) for op in part.operations)
    if not gain or not cycle.operations:
        raise NotIndependent("all that is worth a vector is handed on")
    expand_scalars(builder, loop, parts, graph.again())
    kept = sum(op.value.size for part in parts for op in part.kept if isinstance(op, Store))
    if gain < PAYS * kept:
        raise NotIndependent("it would keep too many numbers")
    found: list[Operation] = []
    for part in parts:
        piece = replace(loop, body=tuple(part.operations))
        written = (piece,) if part is cycle else lift(piece, around) if part.operations else ()
        if written is None:
            raise NotIndependent("a part of it is no array operation")
        found += written
    return tuple(found)


def check_is_counted(loop: Loop) -> None:
    """Refuses loops that may stop, are written out, or have nothing that is worth a vector."""
    if loop.count is not None or loop.stops or isinstance(loop.trips, Ragged) or abs(loop.step) != 1:
        raise NotIndependent("its iterations are counted at run time")
    if loop.trips <= MOST_TRIPS or not certainly_runs(loop):
        raise NotIndependent("there are few iterations")
    if not any(map(vector_work, walk(loop.body))):
        raise NotIndependent("no function in it is worth a vector")


def vector_work(op: Operation) -> float:
    """What functions cost of which vectors do several at a time, and by itself `op` does not."""
    if isinstance(op, Branch):
        return max(sum(map(vector_work, block)) for block in op.blocks)
    return (
        RULES[op.primitive].cost * op.out.size if isinstance(op, Apply) and is_dear(op) and op.out.size < LANES else 0
    )


class Dependences:
    """Which operations of a body have to come before which: by values, and by memory.

    `backwards`: pairs of positions, of which the second one has to come before the first one of the next iteration.
    """

    def __init__(self, body: Sequence[Operation], backwards: Iterable[tuple[int, int]]):
        self.body = body
        made = {value.id: k for k, op in enumerate(body) for value in op.outputs}
        edges = {(made[v.id], k) for k, op in enumerate(body) for v in op.inputs if v.id in made}
        touching: defaultdict[int, list[tuple[int, Operation]]] = defaultdict(list)
        for k, op in enumerate(body):
            for buffer in {region.buffer for region in (*op.reads, *op.writes)}:
                touching[buffer].append((k, op))
        for found in touching.values():  # in this iteration or in later ones
            edges |= {(j, k) for (j, a), (k, b) in itertools.combinations(found, 2) if a.writes or b.writes}
        handed = set(backwards)
        edges |= {(k, j) for j, k in handed if j != k}
        self.after: list[set[int]] = [set() for _ in body]
        self.before: list[set[int]] = [set() for _ in body]
        for j, k in edges:
            self.after[j].add(k)
            self.before[k].add(j)
        self.cycles = {k for j, k in handed if j == k}
        everything = np.array([*edges], dtype=np.int64).reshape(-1, 2)
        matrix = coo_array((np.ones(len(everything)), everything.T), shape=(len(body), len(body)))
        _, labels = connected_components(matrix, connection="strong")
        members = np.bincount(labels)
        self.cycles |= {k for k, label in enumerate(labels) if members[label] > 1}

    def reached(self, start: Iterable[int], steps: Sequence[Set[int]]) -> set[int]:
        """The positions that steps from `start` lead to, and these."""
        left = list(start)
        found = set(left)
        while left:
            new = steps[left.pop()] - found
            found |= new
            left += new
        return found

    def parts(self) -> tuple[set[int], set[int], set[int]]:
        """What goes before the loop, what stays in it, and what goes behind it.

        What is worth no vector, and nothing that is depends on it, stays, or goes behind.
        """
        behind = self.reached(self.cycles, self.after)
        needed = self.reached(self.cycles, self.before)
        free = set(range(len(self.body))) - behind
        before = self.reached((k for k in free if vector_work(self.body[k])), self.before)
        inside = (behind & needed) | (free & needed) - before
        return before, inside, (behind | free) - before - inside

    def again(self) -> frozenset[int]:
        """Values that do not depend on what is handed on, and cost little."""
        free = set(range(len(self.body))) - self.reached(self.cycles, self.after)
        ops = (self.body[k] for k in free)
        return frozenset(op.out.id for op in ops if isinstance(op, Apply) and is_cheap(op))


def is_cheap(op: Apply) -> bool:
    rule = RULES[op.primitive]
    return rule.kind == "view" or (rule.kind == "elementwise" and rule.cost <= CHEAP)
