"""Products of matrices in the order of the memory that they are stored to.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def turned(x, y, out):
...     out.T[...] = x @ y
>>> tape = simplify(primal(trace(turned, (np.zeros((20, 8)), np.zeros((8, 30)), np.zeros((30, 20)))).tape))
>>> print(brief(tape))
v0: float64[20, 8] = x[...]
v1: float64[8, 30] = y[...]
v2: float64[20, 30] = contract(v0, v1, a_labels=(0, 1), b_labels=(1, 2), out_labels=(0, 2))
out{+0 [20, 30] by [1, 20]} = v2
>>> print(brief(in_stored_order(tape)))
v0: float64[20, 8] = x[...]
v1: float64[8, 30] = y[...]
v3: float64[30, 20] = contract(v0, v1, a_labels=(0, 1), b_labels=(1, 2), out_labels=(2, 0))
out[...] = v3

Requires a tape; ensures the same numbers. A product that lies as its memory does is computed there
(`planning/stored_products.py`), along rows of that memory.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..regions.regions import Region, View, is_injective, is_ragged
from ..tape.builder import rebuilt, written_anew
from ..tape.tape import Apply, Operation, Store, Tape, Value, walk


def in_stored_order(tape: Tape) -> Tape:
    """Requires a tape; ensures the same numbers. The same tape where all products lie as their memory does."""
    uses = Counter(v.id for v in tape.results)
    uses.update(v.id for op in walk(tape.operations) for v in (op.steering if op.blocks else op.inputs))
    products = {v.id for op in walk(tape.operations) if is_matrix_product(op) for v in op.outputs if uses[v.id] == 1}
    orders: dict[int, tuple[int, ...]] = {}
    for op in walk(tape.operations):
        if isinstance(op, Store) and op.value.id in products:
            order = downwards(op.region.view)
            if order is not None and op.region.shape == op.value.shape:
                orders[op.value.id] = order
    if not orders:
        return tape
    builder = rebuilt(tape)
    turned: dict[int, Value] = {}

    def write(op: Operation) -> None:
        builder.line = op.line
        if op.blocks:
            builder.emit(builder.with_written_blocks(op, write))
        elif isinstance(op, Apply) and op.out.id in orders:
            order, labels = orders[op.out.id], op.params
            labels["out_labels"] = tuple(labels["out_labels"][k] for k in order)
            turned[op.out.id] = builder.apply("contract", *op.operands, **labels)
        elif isinstance(op, Store) and op.value.id in turned:
            view, order = op.region.view, orders[op.value.id]
            view = View(view.offset, tuple(view.shape[k] for k in order), tuple(view.strides[k] for k in order))
            builder.emit(replace(op, region=Region(op.region.buffer, view), value=turned[op.value.id]))
        else:
            builder.emit(op)

    return written_anew(tape, builder, write)


def is_matrix_product(op: Operation) -> bool:
    """Whether each operand of a contraction has an axis of its own in the result."""
    if not isinstance(op, Apply) or op.primitive != "contract" or any(is_ragged(v.shape) for v in op.operands):
        return False
    a, b, out = (set(op.params[f"{name}_labels"]) for name in ("a", "b", "out"))
    return bool((a & out) - b) and bool((b & out) - a)


def downwards(view: View) -> tuple[int, ...] | None:
    """The order of a view's axes by their strides, the largest first; None where they are in it, or meet in memory."""
    if min(view.strides, default=0) <= 0 or not is_injective(view):
        return None
    order = tuple(sorted(range(len(view.shape)), key=lambda k: -view.strides[k]))
    return None if order == tuple(range(len(order))) else order
