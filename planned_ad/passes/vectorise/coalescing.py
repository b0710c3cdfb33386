"""A variable that a loop inside takes on and hands back lies in one memory, not in one for each loop.

>>> import numpy as np
>>> from planned_ad.passes.dead_code import drop_dead
>>> from planned_ad.passes.vectorise.own_memory import accesses_in
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.tape.tape import walk
>>> from planned_ad.trace import trace
>>> def f(x):
...     s = 0.0
...     for i in range(30):
...         for t in range(50):
...             s += x[i, t]
...     return s
>>> tape = drop_dead(trace(f, (np.zeros((30, 50)),), unroll=1).tape)
>>> print(brief(tape))
v0 = 0.0
s#2[...] = v0
for i0 in range(0, 30, 1):
    v1 = s#2[...]
    s#1[...] = v1
    for i1 in range(0, 50, 1):
        v2 = s#1[...]
        v3 = x[i0, i1]
        v4 = add(v2, v3)
        s#1[...] = v4
    v5 = s#1[...]
    s#2[...] = v5
v6 = s#2[...]
return v6
>>> accesses = accesses_in(op for op in walk(tape.operations) if not op.blocks)
>>> loop = coalesced(tape.buffers, tape.operations[2], accesses)
>>> print(brief(replace(tape, operations=(*tape.operations[:2], loop, tape.operations[3]), turn=4)))
v0 = 0.0
s#2[...] = v0
for i0 in range(0, 30, 1):
    for i1 in range(0, 50, 1):
        v2 = s#2[...]
        v3 = x[i0, i1]
        v4 = add(v2, v3)
        s#2[...] = v4
v6 = s#2[...]
return v6

Requires a loop; ensures the same numbers. (Of registers it is called coalescing; Chaitin 1982.)
"""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...analysis.independence import depending
from ...analysis.mirrored_loops import live
from ...regions.regions import Region
from ...tape.tape import Buffer, Load, Loop, Operation, Scatter, Store, Value, walk


def coalesced(buffers: Sequence[Buffer], loop: Loop, accesses: Mapping[int, int]) -> Loop:
    """`accesses`: how often the whole program touches each buffer."""
    body = loop.body
    while (joined := with_one_less(buffers, body, accesses)) is not None:
        body = joined
    body = tuple(coalesced(buffers, op, accesses) if isinstance(op, Loop) else op for op in body)
    return replace(loop, body=body)


def with_one_less(
    buffers: Sequence[Buffer], block: tuple[Operation, ...], accesses: Mapping[int, int]
) -> tuple[Operation, ...] | None:
    """The block without a memory that is filled before a loop, and from which another one is filled behind it."""
    touched = [touches(op) for op in block]
    for end, back in enumerate(block):
        if not is_whole_store(buffers, back) or not isinstance(back, Store):
            continue
        target = buffers[back.region.buffer]
        for start in reversed(range(end)):
            begun = block[start]
            if touches_memory(begun, target.id):
                break
            if not is_whole_store(buffers, begun) or not isinstance(begun, Store):
                continue
            source = buffers[begun.region.buffer]
            if (
                not source.visible
                and (source.view, source.dtype) == (target.view, target.dtype)
                and sum(found[source.id] for found in touched[start : end + 1]) == accesses.get(source.id)
                and any(isinstance(op, Loop) and touches_memory(op, source.id) for op in block[start:end])
                and is_from(block[:start], target.whole, begun.value)
                and is_from(block[start:end], source.whole, back.value)
            ):
                return without_copies(tuple(in_other(op, source.id, target.id) for op in block), target.id)
    return None


def is_whole_store(buffers: Sequence[Buffer], op: Operation) -> bool:
    return isinstance(op, Store) and not op.accumulate and op.region == buffers[op.region.buffer].whole


def is_from(block: Sequence[Operation], region: Region, value: Value) -> bool:
    """Whether a value is computed from what a region holds."""
    loads = (op for op in block if isinstance(op, Load) and op.region == region)
    return any(value.id in depending(block, load.out) for load in loads)


def touches(op: Operation) -> collections.Counter[int]:
    """How often an operation, and those in it, touch each buffer."""
    inner = (o for o in walk((op,)) if not o.blocks)
    return collections.Counter(region.buffer for o in inner for region in (*o.reads, *o.writes))


def touches_memory(op: Operation, buffer: int) -> bool:
    return any(region.buffer == buffer for region in (*op.reads, *op.writes))


def in_other(op: Operation, source: int, target: int) -> Operation:
    """`op` on another memory."""
    if op.blocks:
        return op.with_blocks(*(tuple(in_other(inner, source, target) for inner in block) for block in op.blocks))
    if isinstance(op, Load | Store | Scatter) and op.region.buffer == source:
        return replace(op, region=Region(target, op.region.view))
    return op


def without_copies(block: tuple[Operation, ...], buffer: int) -> tuple[Operation, ...]:
    """The block without stores of what the memory already holds."""
    kept: list[Operation] = []
    held: dict[int, Region] = {}  # values that are in the memory now
    for op in block:
        if isinstance(op, Load) and op.region.buffer == buffer:
            held[op.out.id] = op.region
        elif isinstance(op, Store) and held.get(op.value.id) == op.region and not op.accumulate:
            continue
        elif any(region.buffer == buffer for region in op.writes):
            held = {}
        kept.append(op)
    return live(kept)
