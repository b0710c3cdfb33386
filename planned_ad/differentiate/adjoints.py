"""The adjoint of each operation, by the rows of the rule table; of a loop a loop that runs backwards, of a branch the
same side again.

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

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..analysis.dependence import Place
from ..analysis.enclosing import never_runs
from ..analysis.singularities import strengthened
from ..errors import UnsupportedError
from ..passes.products import in_numbers
from ..regions.regions import Region, View, inverse, is_fixed, is_ragged
from ..rules.algebra import Symbol
from ..rules.table import RULES
from ..tape.builder import TapeBuilder
from ..tape.callees import cotangents_of_call
from ..tape.tape import Apply, Branch, Constant, Guard, IndexValue, Load, Loop, Operation, Scatter, Store, Value
from .keep.handover import hand_over
from .moving_views import inverse_in_loops, refuse_flattening
from .sweep import Part, Sweep, sum_repeated

Block = tuple[Operation, ...]


def transpose(sweep: Sweep, operations: Sequence[Operation]) -> list[Operation]:
    """Write the adjoints of `operations`, the last first.

    Returns the operations with what they have to keep for it: loops and branches store what their adjoints need.
    """
    primal: list[Operation] = []
    sweep.block = operations
    for position in reversed(range(len(operations))):
        op, sweep.position = operations[position], position
        sweep.builder.line = op.line
        if op.blocks:
            primal += reversed(transpose_blocks(sweep, op, position))
        else:
            transpose_operation(sweep, op)
            primal.append(op)
    return primal[::-1]


def transpose_operation(sweep: Sweep, op: Operation) -> None:
    """Write the adjoint of one operation."""
    if isinstance(op, Apply):
        if op.out.id in sweep.contributions:
            transpose_apply(sweep, op)
    elif isinstance(op, Load):
        transpose_load(sweep, op)
    elif isinstance(op, Store):
        transpose_store(sweep, op)
    elif isinstance(op, Scatter):
        transpose_scatter(sweep, op)
    elif not isinstance(op, Constant | Guard | IndexValue):
        raise UnsupportedError(f"{op.line}: {type(op).__name__} has no adjoint yet")


def transpose_apply(sweep: Sweep, op: Apply) -> None:
    rule = RULES[op.primitive]
    cotangent = sweep.collapse(op.out)
    assert cotangent is not None
    builder = sweep.builder
    if op.primitive == "call":
        for operand, found in cotangents_of_call(builder, op, cotangent):
            sweep.contribute(operand, found)
        return
    if rule.kind == "view":
        for part in view_adjoint(builder, cotangent, op.params["view"], op.operands[0].shape):
            sweep.contribute(op.operands[0], part)
        return
    if rule.kind == "gather":
        sweep.contribute(op.operands[0], Part(cotangent, indices=op.operands[1:]))
        return
    symbols = [Symbol(builder, v) for v in op.operands]
    for operand, adjoint in zip(op.operands, rule.adjoints):
        if operand.id not in sweep.active:
            continue
        if adjoint is None:
            if rule.refused:
                raise UnsupportedError(f"{op.line}: {op.primitive} has no derivative here: {rule.refused}")
            continue
        before = len(builder.operations)
        result: Any = adjoint(Symbol(builder, cotangent), Symbol(builder, op.out), *symbols, **op.params)
        refuse_flattening(op, builder.operations[before:])
        unbounded = op.out.id in sweep.facts.unbounded or sweep.facts.is_steep(op)
        if unbounded and rule.kind == "contract":
            in_numbers(builder, before)
        builder.operations[before:] = strengthened(builder.operations[before:], [cotangent.id], sweep.facts, unbounded)
        part = result.value
        if part.shape != operand.shape and rule.kind == "elementwise":
            if operand.shape == ():
                part = builder.apply("reduce_sum", part, axes=tuple(range(len(part.shape))))
            else:
                part = builder.broadcast(part, operand.shape)
        sweep.contribute(operand, part)


def view_adjoint(builder: TapeBuilder, cotangent: Value, view: View, shape: tuple[int, ...]) -> Iterable[Value | Part]:
    """The contribution of a view's cotangent to what it shows: repeated axes are summed, the rest put back."""
    if view.size == 0:
        return
    cotangent, view = sum_repeated(builder, cotangent, view)
    back = inverse(view, shape) if is_fixed(view) and not is_ragged(shape) else inverse_in_loops(view, shape)
    if back is not None:
        yield builder.view(cotangent, back)
    else:
        yield Part(cotangent, view=view)


def transpose_load(sweep: Sweep, op: Load) -> None:
    parts = sweep.contributions.pop(op.out.id, ())
    if not parts or op.region.buffer not in sweep.shadows:
        return
    region = sweep.shadow(op.region)
    sweep.add_parts(region, parts)
    total = sweep.sum_of_whole(parts)
    if total is not None and total.size:
        sweep.add(region, total)


def transpose_store(sweep: Sweep, op: Store) -> None:
    if op.region.buffer not in sweep.shadows:
        return
    builder, region = sweep.builder, sweep.shadow(op.region)
    if op.value.id in sweep.active:
        cotangent = builder.load(region)
        if op.value.shape != cotangent.shape:
            cotangent = builder.apply("reduce_sum", cotangent, axes=tuple(range(len(cotangent.shape))))
        sweep.contribute(op.value, cotangent)
    if not op.accumulate:
        builder.store(region, sweep.zero(op.value.dtype))


def transpose_scatter(sweep: Sweep, op: Scatter) -> None:
    if op.region.buffer not in sweep.shadows:
        return
    builder, region = sweep.builder, sweep.shadow(op.region)
    if op.value.id in sweep.active:
        cotangent = builder.apply("gather", builder.load(region), *op.indices)
        if not op.accumulate:
            cotangent = keep_last(sweep, cotangent, op.indices, op.region.shape)
        if op.value.shape != cotangent.shape:
            cotangent = builder.apply("reduce_sum", cotangent, axes=tuple(range(len(cotangent.shape))))
        sweep.contribute(op.value, cotangent)
    if not op.accumulate:
        zeros = builder.broadcast(sweep.zero(op.value.dtype), op.indices[0].shape + op.region.shape[len(op.indices) :])
        builder.scatter(region, op.indices, zeros)


def keep_last(sweep: Sweep, cotangent: Value, indices: tuple[Value, ...], shape: tuple[int, ...]) -> Value:
    """Zero the cotangents of values that a later equal index overwrote: the last writer of an element is its owner."""
    builder, extents, count = sweep.builder, shape[: len(indices)], indices[0].size
    if count <= 1:
        return cotangent
    order = builder.reshape(builder.constant(np.arange(count)), indices[0].shape)
    owner = sweep.memory("last writer", extents, np.dtype(np.int64))
    builder.scatter(owner, indices, order)
    last = builder.apply("equal", builder.apply("gather", builder.load(owner), *indices), order)
    rest = cotangent.shape[len(last.shape) :]
    mask = builder.broadcast(builder.reshape(last, last.shape + (1,) * len(rest)), cotangent.shape)
    return builder.apply("where", mask, cotangent, builder.constant(0, cotangent.dtype))


# Loops and branches.


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
        indices=sweep.indices,
    )
    outside = {v.id: v for v in op.inputs}

    def write() -> None:
        transpose(inner, block)
        for id in sorted(inner.contributions):
            add_to_total(inner, outside[id])

    return sweep.builder.recorded(write)


def add_to_total(sweep: Sweep, value: Value) -> None:
    """Add what one pass through a block contributes to the cotangent of a value from outside of it.

    Of a large array of which it gathers a few elements, where the array lies: no pass over all of it for each block.
    """
    parts = sweep.contributions.pop(value.id)
    if all(isinstance(part, Part) and part.indices for part in parts):
        shadow = sweep.shown(value)
        if shadow is not None:
            return sweep.add_parts(shadow, parts)
    memory = sweep.total(value)
    sweep.add_parts(memory, parts)
    whole = sweep.sum_of_whole(parts)
    if whole is not None:
        sweep.builder.store(memory, whole, accumulate=True)
    return None


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
