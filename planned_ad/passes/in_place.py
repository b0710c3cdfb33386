"""Results that a program collects in memory of its own are collected where the caller wants them.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     y = np.zeros(4)
...     y[1:] = x
...     return y
>>> tape = simplify(primal(trace(f, (np.zeros(3),)).tape))
>>> print(brief(tape))
v0: float64[3] = x[...]
v1 = 0.0
y#1[0:1] = v1
y#1[1:4] = v0
v2: float64[4] = y#1[...]
result#2[...] = v2
>>> print(brief(results_in_place(tape)))
v0: float64[3] = x[...]
v1 = 0.0
result#2[0:1] = v1
result#2[1:4] = v0
v2: float64[4] = result#2[...]

Requires a simplified tape; ensures that local memory which is copied to a result in the end is that result's.
"""

from __future__ import annotations

from dataclasses import replace

from ..tape.tape import Guard, Load, Operation, Store, Tape, walk
from .boundary import move


def results_in_place(tape: Tape) -> Tape:
    """Requires a simplified tape; ensures that local memory which is copied to a result in the end is that result's.

    Not where a guard may still leave the program, before which the caller must not see anything.
    """
    moved: dict[int, int] = {}
    dropped: set[int] = set()
    last_guard = max((k for k, op in enumerate(tape.operations) if isinstance(op, Guard)), default=-1)
    first, last = touched(tape)
    loads = {op.out.id: op for op in tape.operations if isinstance(op, Load)}
    for op in tape.operations:
        if not isinstance(op, Store) or op.accumulate or tape.buffers[op.region.buffer].kind != "result":
            continue
        result, load = tape.buffers[op.region.buffer], loads.get(op.value.id)
        if load is None or op.region != result.whole or first[result.id] != last[result.id]:
            continue
        memory = tape.buffers[load.region.buffer]
        same = memory.kind == "local" and memory.dtype == result.dtype and memory.view == result.view
        whole = same and load.region == memory.whole and first[memory.id] > last_guard
        if whole and memory.id not in moved and last_write(tape, memory.id) < tape.operations.index(load):
            moved[memory.id] = result.id
            dropped.add(id(op))
    if not moved:
        return tape
    operations = [(k, op) for k, op in enumerate(tape.operations) if id(op) not in dropped]
    return replace(
        tape,
        operations=tuple(move(op, moved) for _, op in operations),
        turn=sum(k < tape.turn for k, _ in operations),
    )


def regions(op: Operation) -> set[int]:
    """The buffers that `op` reads or writes."""
    return {r.buffer for r in (*op.reads, *op.writes)}


def touched(tape: Tape) -> tuple[dict[int, int], dict[int, int]]:
    """Of each buffer the positions of the first and the last operation that reads or writes it."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for position, op in enumerate(tape.operations):
        for inner in walk((op,)):
            for id in regions(inner) if not inner.blocks else ():
                first.setdefault(id, position)
                last[id] = position
    return first, last


def last_write(tape: Tape, buffer: int) -> int:
    return max(k for k, op in enumerate(tape.operations) if any(r.buffer == buffer for r in op.writes))
