"""Move what every iteration computes alike out in front of its loop.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x, a):
...     for i in range(1, 4):
...         x[i] = x[i - 1] * np.exp(a)
>>> tape = trace(f, (np.zeros(4), 2.0), unroll=1).tape
>>> print(brief(tape))
v0 = a[...]
for i0 in range(0, 3, 1):
    v1 = x[i0]
    v2 = exp(v0)
    v3 = multiply(v1, v2)
    x[i0 + 1] = v3
>>> print(brief(hoist_invariants(tape)))
v0 = a[...]
v2 = exp(v0)
for i0 in range(0, 3, 1):
    v1 = x[i0]
    v3 = multiply(v1, v2)
    x[i0 + 1] = v3

Requires a simplified tape; ensures the same numbers, with no more work in any iteration.

Only what is worth keeping moves: computed values that are no larger than what they are computed from, and the loads
and views that these need. (Aho, Lam, Sethi & Ullman, Compilers, 2nd ed., section 9.5.1.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..analysis.cost import worth_keeping
from ..analysis.enclosing import certainly_runs, indices_of, inside, is_within, never_runs, stays_inside
from ..regions.bounds import Iterations
from ..regions.regions import Region, View, is_fixed, is_ragged, overlap
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, written_anew
from ..tape.tape import Apply, Buffer, Constant, IndexValue, Load, Loop, Operation, Tape


def hoist_invariants(tape: Tape, *, loads: bool = False) -> Tape:
    """Requires a simplified tape; ensures the same numbers, with no more work in any iteration.

    loads : move what is only loaded or seen in another shape, too. The derivative that needs such a value then needs
        it once.
    """
    if not any(isinstance(op, Loop) for op in tape.operations):
        return tape
    builder = TapeBuilder(list(tape.buffers))

    def write(op: Operation) -> None:
        builder.operations += hoisted(tape.buffers, op, Iterations(), loads)

    return written_anew(tape, builder, write)


def hoisted(buffers: Sequence[Buffer], op: Operation, around: Iterations, loads: bool) -> list[Operation]:
    """`op`, after what has moved out of it."""
    within = inside(around, op) if isinstance(op, Loop) else around
    blocks = (tuple(o for inner in block for o in hoisted(buffers, inner, within, loads)) for block in op.blocks)
    op = op.with_blocks(*blocks)
    if not isinstance(op, Loop) or never_runs(op):
        return [op]
    moved = moving_operations(buffers, op, around, loads)
    if not moved:
        return [op]
    ids = {v.id for o in moved for v in o.outputs}
    body = tuple(o for o in op.body if not (o.outputs and o.outputs[0].id in ids))
    return [*moved, replace(op, body=body)]


def moving_operations(buffers: Sequence[Buffer], loop: Loop, around: Iterations, loads: bool) -> list[Operation]:
    """The operations of the body that move out, in order: those worth it, and what they need."""
    inner = {v.id for op in loop.body for v in op.outputs}
    written: dict[int, list[Region]] = {}
    for region in loop.writes:
        written.setdefault(region.buffer, []).append(region)
    candidates: dict[int, Operation] = {}
    for op in loop.body:
        known = all(v.id not in inner or v.id in candidates for v in op.inputs)
        if known and is_invariant(buffers, loop, op, around, written):
            candidates[op.outputs[0].id] = op
    needed: set[int] = set()
    for id, op in reversed(candidates.items()):
        if id in needed or (isinstance(op, Apply) and worth_keeping(op)) or (loads and is_read_or_seen(op)):
            needed.add(id)
            needed.update(v.id for v in op.inputs)
    return [op for id, op in candidates.items() if id in needed]


def is_read_or_seen(op: Operation) -> bool:
    """Whether it is loaded, or all of an array in another shape: its cotangent is handed on once, not in each pass."""
    if isinstance(op, Apply):
        return RULES[op.primitive].kind == "view" and op.out.size == op.operands[0].size > 1
    return isinstance(op, Load)


def is_invariant(
    buffers: Sequence[Buffer], loop: Loop, op: Operation, around: Iterations, written: Mapping[int, Sequence[Region]]
) -> bool:
    """Whether `op`, its operands being invariant, gives the same number in front of the loop, and cannot fail there.

    `written`: what the loop writes of each buffer.
    """
    if loop.index in indices_of(op):
        return False
    match op:
        case Constant() | IndexValue():
            return True
        case Apply():
            return certainly_runs(loop) or is_total(op, around)
        case Load():
            if any(overlap(region, op.region) for region in written.get(op.region.buffer, ())):
                return False
            return certainly_runs(loop) or stays_inside(buffers[op.region.buffer], op.region.view, around)
    return False


def is_total(op: Apply, around: Iterations) -> bool:
    """Whether `op` has a result for any operands in the iterations `around`: indices may be out of range, also those
    of a view that moves, and integers divided by zero."""
    if RULES[op.primitive].kind in ("gather", "other") or any(is_ragged(v.shape) for v in op.operands):
        return False
    for _, view in op.parameters:
        if isinstance(view, View) and not is_fixed(view):
            return is_within(0, math.prod(op.operands[0].shape), view, around)
    return op.primitive not in ("floor_divide", "remainder") or op.out.dtype.kind == "f"
