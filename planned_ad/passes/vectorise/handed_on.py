"""What an iteration hands on to the next only because it has loaded it: the next one loads it from where it is.

>>> import numpy as np
>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     s, before = 0.0, x[0]
...     for now in x[1:]:
...         s += (now - before) ** 2
...         before = now
...     return s
>>> tape = trace(f, (np.zeros(9),), unroll=1).tape
>>> print(brief(vectorise(tape)))
v1 = 0.0
v9: float64[8] = x[0:8]
v10: float64[8] = x[1:9]
v11: float64[8] = subtract(v10, v9)
v12: float64[8] = multiply(v11, v11)
v14 = reduce_sum(v12, axes=(0,))
v15 = add(v1, v14)
return v15

Requires that memory holds before the loop what an iteration before the first would have handed on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from ...regions.affine import loop_index, substitute
from ...regions.regions import Region, overlap
from ...tape.tape import Load, Loop, Operation, Store


def loads_itself(loop: Loop, before: Sequence[Operation]) -> Loop:
    """The loop, in which iterations load what they were handed; `before` are the operations in front of it."""
    while loop.count is None:
        sources = handed_on(loop, before)
        if not sources:
            break
        body = (
            replace(op, region=sources.get(op.region, op.region)) if isinstance(op, Load) else op for op in loop.body
        )
        loop = replace(loop, body=tuple(body))
    return loop


def handed_on(loop: Loop, before: Sequence[Operation]) -> dict[Region, Region]:
    """Places in which an iteration finds what the one before has loaded, and where it finds that otherwise."""
    made = {value.id: op for op in loop.body for value in op.outputs}
    touching: defaultdict[int, list[tuple[int, Operation, Region]]] = defaultdict(list)
    for position, op in enumerate(loop.body):
        for region in (*op.reads, *op.writes):
            touching[region.buffer].append((position, op, region))
    found: dict[Region, Region] = {}
    for position, store in enumerate(loop.body):
        if not isinstance(store, Store) or store.accumulate:
            continue
        load, place = made.get(store.value.id), store.region
        loads = [k for k, op, _ in touching[place.buffer] if is_load_of(op, place)]
        if not isinstance(load, Load) or not loads or max(loads) > position or load.region.shape != place.shape:
            continue
        if any(overlap(r, place) for k, _, r in touching[place.buffer] if k != position and k not in loads):
            continue
        if any(region in op.writes for _, op, region in touching[load.region.buffer]):
            continue
        earlier = replace(
            load.region.view,
            offset=substitute(load.region.view.offset, loop.index, loop_index(loop.index) - loop.step),
        )
        first = Region(load.region.buffer, replace(earlier, offset=substitute(earlier.offset, loop.index, loop.start)))
        if holds(before, place, first):
            found[place] = Region(load.region.buffer, earlier)
    return found


def is_load_of(op: Operation, region: Region) -> TypeGuard[Load]:
    return isinstance(op, Load) and op.region == region


def holds(before: Sequence[Operation], place: Region, source: Region) -> bool:
    """Whether `place` was last filled from `source`, which has not changed since."""
    loaded = {op.out.id: k for k, op in enumerate(before) if is_load_of(op, source)}
    for op in reversed(before):
        if any(overlap(written, place) for written in op.writes):
            if not isinstance(op, Store) or op.accumulate or op.region != place or op.value.id not in loaded:
                return False
            later = (written for other in before[loaded[op.value.id] :] for written in other.writes)
            return not any(overlap(written, source) for written in later)
    return False
