"""The adjoint of a loop is a loop that runs backwards; the adjoint of a branch takes the same side again.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     for i in range(1, 9):
...         x[i] = np.sin(x[i - 1])
>>> tape = trace(f, (np.zeros(9),), unroll=1).tape
>>> print(brief(tape))
for i0 in range(0, 8, 1):
    v0 = x[i0]
    v1 = sin(v0)
    x[i0 + 1] = v1
>>> print(brief(reverse(tape, accumulate=True, loss=False)))
for i0 in range(0, 8, 1):
    v0 = x[i0]
    v1 = sin(v0)
    x[i0 + 1] = v1
# reverse sweep
for i0 in range(7, -1, -1):
    v6 = x[i0]
    v2 = dx#1[i0 + 1]
    v3 = 0.0
    dx#1[i0 + 1] = v3
    v4 = cos(v6)
    v5 = multiply(v2, v4)
    dx#1[i0] += v5

Requires the position of a loop or branch in a primal; ensures that its adjoint finds all that it reads of the primal.

The blocks of the adjoint mirror those of the primal. Values of a block live only in it, so that what the mirrored
block needs of them has to get there somehow: see `handover`. (Here `x[i - 1]` still is where it was.)
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.dependence import Place
from ..analysis.enclosing import never_runs
from ..regions.regions import Region
from ..tape.builder import recorded
from ..tape.tape import Branch, Loop, Operation, Value
from .keep.handover import hand_over
from .reverse import Part, Sweep, transpose

Block = tuple[Operation, ...]


def transpose_blocks(sweep: Sweep, op: Operation, position: int) -> Block:
    """Write the adjoint of a loop or branch; returns `op` with all that stores what the adjoint reads back.

    Values from outside that `op` reads get their cotangents through memory, which is zeroed before the adjoint.
    """
    primal: Block = (op,)
    if never_runs(op):
        return primal
    builder = sweep.builder
    totals: dict[int, tuple[Value, Region]] = {}
    blocks = [transposed(sweep, op, block, totals) for block in op.blocks]
    builder.line = op.line
    mirrored = adjoint_of(sweep, op, blocks)
    adjoint: Operation | None = mirrored
    if sweep.parent is None:
        assert sweep.overwrites is not None
        primal, adjoint = hand_over(builder, sweep.overwrites, Place(((position, 0),)), op, mirrored, sweep.rooms)
    if adjoint is None:
        return primal
    for value, memory in totals.values():
        builder.store(memory, sweep.zero(value.dtype))
    builder.emit(adjoint)
    for value, memory in totals.values():
        sweep.contribute(value, builder.load(memory))
    return primal


def transposed(sweep: Sweep, op: Operation, block: Block, totals: dict[int, tuple[Value, Region]]) -> Block:
    """The adjoint of a block of `op`. It names the primal's values, whose block is then no longer there."""
    inner = Sweep(
        sweep.builder,
        sweep.active,
        sweep.shadows,
        parent=sweep,
        loops=(*sweep.loops, op) if isinstance(op, Loop) else sweep.loops,
        defined=frozenset(v.id for inner in block for v in inner.outputs),
        totals=totals,
        counts=sweep.counts,
        facts=sweep.facts,
    )
    outside = {v.id: v for v in op.inputs}

    def write() -> None:
        transpose(inner, block)
        for id in sorted(inner.contributions):
            add_to_total(inner, outside[id])

    return recorded(sweep.builder, write)


def add_to_total(sweep: Sweep, value: Value) -> None:
    """Add what one pass through a block contributes to the cotangent of a value from outside of it."""
    builder, memory = sweep.builder, sweep.total(value)
    whole = None
    for part in sweep.contributions.pop(value.id):
        if isinstance(part, Part):
            sweep.add_part(memory, part)
        else:
            whole = part if whole is None else builder.apply("add", whole, part)
    if whole is not None:
        builder.store(memory, whole, accumulate=True)


def adjoint_of(sweep: Sweep, op: Operation, blocks: list[Block]) -> Operation:
    """The loop or branch around the adjoints of the blocks of `op`.

    Of a loop that stops early, the iterations that ran: in these the branch that it is has been taken.
    """
    if isinstance(op, Branch):
        then, otherwise = blocks
        return replace(op, then=then, otherwise=otherwise)
    assert isinstance(op, Loop)
    (body,) = blocks
    count = op.count
    if op.index in sweep.counts:
        count, taken = sweep.counts[op.index], sweep.builder.constant(True)
        body = tuple(replace(o, predicate=taken) if isinstance(o, Branch) else o for o in body)
    return replace(op, start=op.last, step=-op.step, body=body, count=count, stops=False)
