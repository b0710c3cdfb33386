"""Which way a loop went has to be the same when it is run again.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     for i in range(9):
...         if np.sin(x[i]) > 0.0:
...             x[i] = 1.0
>>> tape = trace(f, (np.zeros(9),), unroll=1).tape
>>> print(brief(tape))
v0 = 0.0
v1 = 1.0
for i0 in range(0, 9, 1):
    v2 = x[i0]
    v3 = sin(v2)
    v4: bool = greater(v3, v0)
    if v4:
        x[i0] = v1
>>> print(brief(record_decisions(tape)))
v0 = 0.0
v1 = 1.0
for i0 in range(0, 9, 1):
    v2 = x[i0]
    v3 = sin(v2)
    v4: bool = greater(v3, v0)
    cache#1[i0] = v4
    v5: bool = cache#1[i0]
    if v5:
        x[i0] = v1

Requires a primal tape; ensures the same numbers, and that every decision of its loops lies in memory.

Run again in other surroundings, arithmetic may be contracted otherwise, and a number that was zero comes out as 1e-17.
That is no harm to a derivative, unless the number is tested: then the iterations that are run again would not be those
whose results the caller sees. So what steers a loop's operations, and comes from rounded numbers, is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.cost import rounds_nothing
from ...tape.builder import TapeBuilder, continued
from ...tape.tape import Apply, Constant, Load, Loop, Operation, Scatter, Store, Tape, Value, renamed, walk
from .caches import new_cache
from .handover import read_exactly

REASON = "the loop goes the way that this decided once more when it is run again"


def record_decisions(tape: Tape) -> Tape:
    """`tape`, a primal, with every decision in a loop that rounding may change stored to memory, and read from there.

    There is a place for each iteration, so that nothing overwrites it, and whoever needs the decision later reads it.
    """
    recorded = Steering(tape).inexact()
    if not recorded:
        return tape
    builder = continued(tape)
    operations = tuple(op for one in tape.operations for op in with_records(builder, one, (), recorded, {}))
    return replace(tape, buffers=tuple(builder.buffers), operations=operations, turn=len(operations))


class Steering:
    """Follows back what decides in the loops of a tape: branches, numbers of iterations, and indices."""

    def __init__(self, tape: Tape):
        self.operations = [op for loop in tape.operations if isinstance(loop, Loop) for op in walk((loop,))]
        self.made = {v.id: op for op in walk(tape.operations) for v in op.outputs}
        self.written = {r.buffer for op in tape.operations for r in op.writes}
        self.stored: dict[int, list[Value]] = {}
        for op in walk(tape.operations):
            if isinstance(op, Store | Scatter):
                self.stored.setdefault(op.region.buffer, []).append(op.value)

    def inexact(self) -> set[int]:
        """The integers and booleans that decide, and are made from floating numbers that may come out otherwise."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = [v for op in self.operations for v in steering(op)]
        while waiting:
            value = waiting.pop()
            if value.id in seen:
                continue
            seen.add(value.id)
            op = self.made[value.id]
            if isinstance(op, Load):
                waiting += self.stored.get(op.region.buffer, ())
            elif isinstance(op, Apply) and any(v.dtype.kind not in "biu" and not self.stays(v) for v in op.operands):
                found.add(value.id)
            elif isinstance(op, Apply):
                waiting += [v for v in op.operands if v.dtype.kind in "biu"]
        return found

    def stays(self, value: Value) -> bool:
        """Whether a floating number comes from memory that nothing writes to, by operations that round nothing."""
        op = self.made[value.id]
        if isinstance(op, Load):
            return op.region.buffer not in self.written
        if not isinstance(op, Apply):
            return isinstance(op, Constant)
        return rounds_nothing(op) and all(v.dtype.kind in "biu" or self.stays(v) for v in op.operands)


def steering(op: Operation) -> Iterator[Value]:
    """What `op` reads that decides on what is done."""
    yield from read_exactly(op)
    if isinstance(op, Loop):
        yield from op.steering


def with_records(
    builder: TapeBuilder, op: Operation, loops: tuple[Loop, ...], recorded: set[int], names: dict[int, Value]
) -> Iterator[Operation]:
    """`op`, with what is `recorded` of it stored and loaded; `names` are what values are called from then on."""
    inside = (*loops, op) if isinstance(op, Loop) else loops
    blocks = tuple(
        tuple(new for inner in block for new in with_records(builder, inner, inside, recorded, names))
        for block in op.blocks
    )
    yield renamed(op.with_blocks(*(() for _ in blocks)), names).with_blocks(*blocks)
    for value in op.outputs:
        if loops and value.id in recorded:
            builder.line = op.line
            region = new_cache(builder, loops, value.shape, value.dtype, REASON)
            out = names[value.id] = builder.new_value(value.shape, value.dtype)
            yield Store(region=region, value=value, line=op.line)
            yield Load(out=out, region=region, line=op.line)
