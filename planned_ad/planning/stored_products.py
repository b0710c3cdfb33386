"""Products of matrices that are computed where the program stores them, or adds them to what is there.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def product(x, y, out):
...     out[...] = x.T @ y
>>> tape = simplify(primal(trace(product, (np.zeros((8, 20)), np.zeros((8, 30)), np.zeros((20, 30)))).tape))
>>> print(brief(tape))
v0: float64[20, 8] = x{+0 [20, 8] by [1, 20]}
v1: float64[8, 30] = y[...]
v2: float64[20, 30] = contract(v0, v1, a_labels=(0, 1), b_labels=(1, 2), out_labels=(0, 2))
out[...] = v2
>>> stored_products(tape)
{3: 2}

Requires a block of a tape; ensures that a product which is computed at its store reads what it reads at its own place.
The result has no memory of its own then, which derivatives by large matrices of weights would write and read once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..regions.regions import View, c_strides, is_injective, is_ragged
from ..tape.tape import Apply, Load, Operation, Store, Tape, Value


def stored_products(tape: Tape) -> dict[int, int]:
    """The positions of stores, with those of the products that are computed there."""
    operations = tape.operations
    uses = Counter(v.id for op in operations for v in op.inputs)
    uses.update(v.id for v in tape.results)
    made = {v.id: (position, op) for position, op in enumerate(operations) for v in op.outputs}
    found = {}
    for position, op in enumerate(operations):
        if not isinstance(op, Store) or op.value.id not in made or uses[op.value.id] != 1:
            continue
        at, product = made[op.value.id]
        if not isinstance(product, Apply) or product.primitive != "contract" or product.out.dtype.kind != "f":
            continue
        read = {buffer for v in product.operands for buffer in buffers_of(v, made)}
        between = {region.buffer for other in operations[at + 1 : position] for region in other.writes}
        is_apart = op.region.buffer not in read and not read & between
        if is_apart and (at < tape.turn) == (position < tape.turn) and has_rows(op.region.view, product.out.shape):
            found[position] = at
    return found


def buffers_of(value: Value, made: Mapping[int, tuple[int, Operation]]) -> Sequence[int]:
    """The memory that a value may be read from where it lies."""
    while value.id in made:
        _, op = made[value.id]
        if isinstance(op, Load):
            return (op.region.buffer,)
        if not isinstance(op, Apply) or op.primitive != "view":
            break
        (value,) = op.operands
    return ()


def has_rows(view: View, shape: tuple[int, ...]) -> bool:
    """Whether a view has the shape and the order of an array, with room between its rows at most."""
    if view.shape != shape or is_ragged(shape):
        return False
    return view.strides == c_strides(shape) or (
        len(shape) >= 2 and view.strides[-1] == 1 and min(view.strides) > 0 and is_injective(view)
    )
