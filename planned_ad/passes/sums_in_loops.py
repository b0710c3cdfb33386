"""What iterations load, add to and store again is what they add to memory.

>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     s = 0.0
...     for i in range(4):
...         s = s + np.sin(x[i]) + x[0]
...     return s
>>> import numpy as np
>>> tape = trace(f, (np.zeros(4),), unroll=1).tape
>>> loop = next(op for op in tape.operations if isinstance(op, Loop))
>>> print(brief(replace(tape, operations=(adding(loop),), turn=1, results=())))
for i0 in range(0, 4, 1):
    v2 = x[i0]
    v3 = sin(v2)
    v5 = x[0]
    s#1[...] += v3
    s#1[...] += v5

Requires a loop; ensures the same numbers, rounded alike. Nobody else may look at that memory in the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..tape.tape import Apply, Load, Loop, Operation, Store, Value


def adding(loop: Loop) -> Loop:
    """The loop, and those in it, with sums as what is added to memory."""
    body = tuple(adding(op) if isinstance(op, Loop) else op for op in loop.body)
    terms, gone = sums_in(body)
    if not terms:
        return replace(loop, body=body)
    new: list[Operation] = []
    for position, op in enumerate(body):
        if position in terms:
            assert isinstance(op, Store)
            new += [replace(op, value=value, accumulate=True) for value in terms[position]]
        elif not any(v.id in gone for v in op.outputs):
            new.append(op)
    return replace(loop, body=tuple(new))


def sums_in(body: Sequence[Operation]) -> tuple[dict[int, list[Value]], set[int]]:
    """What stores, by position, add to what they have loaded, where nothing else is done with that memory.

    And the values from the loads up to what is stored.
    """
    made = {v.id: op for op in body for v in op.outputs}
    uses = Counter(v.id for op in body for v in op.inputs)
    touches = Counter(region.buffer for op in body for region in (*op.reads, *op.writes))
    pairs: Counter[int] = Counter()
    found: dict[int, tuple[int, set[int], list[Value]]] = {}
    begun: dict[int, int] = {}  # memory that is being added to, and by which load
    for position, op in enumerate(body):
        if isinstance(op, Load):
            begun[op.region.buffer] = op.out.id
        elif isinstance(op, Store) and not op.accumulate:
            links, terms = added_terms(op, made, uses)
            if begun.pop(op.region.buffer, None) in links:
                found[position] = op.region.buffer, links, terms
                pairs[op.region.buffer] += 2
    alone = {position: sums for position, sums in found.items() if touches[sums[0]] == pairs[sums[0]]}
    gone = {id for _, links, _ in alone.values() for id in links}
    return {position: terms for position, (_, _, terms) in alone.items()}, gone


def added_terms(store: Store, made: Mapping[int, Operation], uses: Mapping[int, int]) -> tuple[set[int], list[Value]]:
    """The values from the load of what a store writes to up to what it writes, and what is added on the way."""
    links, terms, value = set[int](), list[Value](), store.value
    while uses[value.id] == 1 and value.shape == store.region.shape:
        links.add(value.id)
        op = made.get(value.id)
        if isinstance(op, Load):
            return (links, terms[::-1]) if op.region == store.region and terms else (set(), [])
        if not isinstance(op, Apply) or op.primitive != "add" or op.out.dtype.kind not in "fi":
            break
        first, second = op.operands
        value, term = (first, second) if begins_there(first, store, made) else (second, first)
        if term.shape != store.region.shape or term.dtype != value.dtype:
            break
        terms.append(term)
    return set(), []


def begins_there(value: Value, store: Store, made: Mapping[int, Operation]) -> bool:
    """Whether a sum begins with what a store writes to, on its left."""
    op = made.get(value.id)
    while isinstance(op, Apply) and op.primitive == "add":
        op = made.get(op.operands[0].id)
    return isinstance(op, Load) and op.region == store.region
