"""Loops that pass over memory once: as array operations they are one nest, however long the arrays are.

>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     for i in range(1000):
...         x[i] *= x[i]
>>> tape = trace(f, (np.zeros((1000, 1000)),)).tape
>>> print(brief(tape))
for i0 in range(0, 1000, 1):
    v0: float64[1000] = x[i0, :]
    v1: float64[1000] = multiply(v0, v0)
    x[i0, :] = v1
>>> print(brief(vectorise(tape)))
v2: float64[1000, 1000] = x[...]
v3: float64[1000, 1000] = multiply(v2, v2)
x[...] = v3

A loop keeps near what its iteration makes, which counts where one statement reads what another has left. Where each
number goes from memory through arithmetic to memory, or into sums, nothing is left; the loop would only part the primal
from its reverse sweep, and have all of it kept.

Iterations that may run in any order run upwards in memory. Rows of what the program knows as one axis are one axis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import replace

import numpy as np

from ...analysis.independence import Sharing, moves
from ...regions.affine import Ragged, coefficient
from ...rules.table import RULES
from ...tape.tape import Apply, Constant, IndexValue, Load, Loop, Scatter, Store
from .loop_products import varying_values

MOST_STREAMED = 32  # operations: more of them need more numbers at a time than there are registers


def streams(loop: Loop, sharing: Sharing) -> bool:
    """Whether an iteration hands no memory on from one statement to another, and what it sums is only summed."""
    if len(loop.body) > MOST_STREAMED or isinstance(loop.trips, Ragged) or sharing.last:
        return False
    written = {op.region.buffer: op.region for op in loop.body if isinstance(op, Store)}
    varying = varying_values(loop)
    terms = {term.value.id for carry in sharing.carries.values() for term in carry.terms}
    uses = Counter(v.id for op in loop.body for v in op.inputs)
    for op in loop.body:
        match op:
            case Store() if op.region.shape and not moves(op.region, loop.index):
                return False  # a sum of arrays, which stays near
            case Load() | Store():
                if written.get(op.region.buffer, op.region) != op.region:
                    return False
            case Apply():
                kind = RULES[op.primitive].kind
                summed = op.primitive == "reduce_sum" and op.out.id in terms and uses[op.out.id] == 1
                is_product = kind == "contract" and op.out.shape == () and any(v.id not in varying for v in op.operands)
                if kind not in ("elementwise", "view") and not summed and not is_product:
                    return False
            case Constant() | IndexValue():
                pass
            case _:
                return False
    return True


def joins_rows(loop: Loop, shapes: Set[tuple[int, tuple[int, ...]]], varying: frozenset[int]) -> bool:
    """Whether iterations look at rows, one after the other, that the program elsewhere does not know as an array of
    rows, and at single numbers besides; `shapes` as it looks at each buffer."""
    for op in loop.body:
        if isinstance(op, IndexValue) or (isinstance(op, Apply) and RULES[op.primitive].kind in ("view", "contract")):
            return False
        for region in (*op.reads, *op.writes):
            if not region.shape and not moves(region, loop.index):
                continue
            (stride, *rest) = region.view.strides or (0,)
            move = coefficient(region.view.offset, loop.index) * loop.step
            if (
                rest
                or stride <= 0
                or move != stride * region.view.size
                or (region.buffer, (loop.trips, *region.shape)) in shapes
            ):
                return False
        summed = isinstance(op, Apply) and op.primitive == "reduce_sum"
        if any(bool(v.shape) != (v.id in varying) for v in op.outputs) and not summed:
            return False
    return True


def upwards(loop: Loop, sharing: Sharing) -> Loop:
    """The loop in the direction in which most of its accesses move upwards; as it is where its order matters."""
    if isinstance(loop.trips, Ragged) or loop.stops or sharing.last:
        return loop
    if any(isinstance(op, Scatter) and not op.accumulate for op in loop.body):
        return loop
    regions = [r for op in loop.body for r in (*op.reads, *op.writes) if moves(r, loop.index)]
    rising = sum(np.sign(coefficient(r.view.offset, loop.index) * loop.step) for r in regions)
    if rising >= 0:
        return loop
    return replace(loop, start=loop.start + (loop.trips - 1) * loop.step, step=-loop.step)
