"""Memory that holds one value all its life is that value.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     y = np.zeros(5)
...     y[:1], y[1:] = x[:1], x[:4]
...     return y
>>> tape = simplify(reverse(trace(f, (np.zeros(5),)).tape, loss=False))
>>> print(brief(tape))
v1 = 0.0
# reverse sweep
dx#2[4:5] = v1
v6: float64[5] = cotangent#4[...]
dy#3[...] = v6
v7: float64[4] = dy#3[1:5]
dx#2[0:4] = v7
v9: float64[1] = dy#3[0:1]
dx#2[0:1] += v9
>>> print(brief(simplify(without_held_once(tape))))
v1 = 0.0
# reverse sweep
dx#2[4:5] = v1
v10: float64[4] = cotangent#4[1:5]
dx#2[0:4] = v10
v11: float64[1] = cotangent#4[0:1]
dx#2[0:1] += v11

Requires a simplified tape; ensures the same numbers. The shadow of an array that was joined from parts is such memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..regions.regions import Region, View, contiguous, is_fixed, remap
from ..tape.tape import Apply, Load, Operation, Store, Tape, Value, walk


def without_held_once(tape: Tape) -> Tape:
    """Requires a simplified tape; ensures that loads of memory that is stored to once, as a whole, are of the value."""
    accesses = Counter(r.buffer for op in walk(tape.operations) if not op.blocks for r in (*op.reads, *op.writes))
    found: dict[int, Value] = {}
    for block in all_blocks(tape.operations):
        found |= {id: value for id, value, count in held(tape, block) if count == accesses[id]}
    if not found:
        return tape
    return replace(tape, operations=with_values(tape, tape.operations, found))


def all_blocks(operations: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
    yield operations
    for op in operations:
        for block in op.blocks:
            yield from all_blocks(block)


def held(tape: Tape, block: Sequence[Operation]) -> Iterator[tuple[int, Value, int]]:
    """Private memory that a block stores a value to as a whole and then loads: with that value, and its accesses."""
    stored: dict[int, Value] = {}
    counts: Counter[int] = Counter()
    for op in block:
        for region in (*op.reads, *op.writes) if not op.blocks else ():
            buffer = tape.buffers[region.buffer]
            if isinstance(op, Store) and not op.accumulate and region == buffer.whole and not buffer.visible:
                counts[buffer.id] += 1 if buffer.id not in stored else 2  # a second one is one too many
                stored[buffer.id] = op.value
            elif isinstance(op, Load) and buffer.id in stored and part_of(region, buffer.view, op.out) is not None:
                counts[buffer.id] += 1
    for id, value in stored.items():
        if counts[id] > 1 and value.dtype == tape.buffers[id].dtype:
            yield id, value, counts[id]


def part_of(region: Region, whole: View, out: Value) -> View | None:
    """What a load shows of the array that was stored."""
    if not is_fixed(region.view) or not is_fixed(whole):
        return None
    return remap(region.view, whole, contiguous(whole.shape)) if out.shape else None


def with_values(tape: Tape, operations: Sequence[Operation], found: dict[int, Value]) -> tuple[Operation, ...]:
    return tuple(changed(tape, op, found) for op in operations)


def changed(tape: Tape, op: Operation, found: dict[int, Value]) -> Operation:
    if op.blocks:
        return op.with_blocks(*(with_values(tape, block, found) for block in op.blocks))
    if not isinstance(op, Load) or op.region.buffer not in found:
        return op
    value = found[op.region.buffer]
    view = part_of(op.region, tape.buffers[op.region.buffer].view, op.out)
    assert view is not None
    if not value.shape:
        view = View(0, view.shape, (0,) * len(view.shape))
    return Apply(out=op.out, primitive="view", operands=(value,), parameters=(("view", view),), line=op.line)
