"""Products of three matrices in the order that takes fewer multiplications; of a product, its diagonal alone.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda a, b, x: a @ b @ x, (np.zeros((20, 20)), np.zeros((20, 20)), np.zeros(20))).tape
>>> print(brief(in_cheaper_order(tape)))
v0: float64[20, 20] = a[...]
v1: float64[20, 20] = b[...]
v3: float64[20] = x[...]
v5: float64[20] = contract(v1, v3, a_labels=(3, 1), b_labels=(1,), out_labels=(3,))
v4: float64[20] = contract(v0, v5, a_labels=(0, 3), b_labels=(3,), out_labels=(0,))
return v4
>>> tape = trace(lambda a, b: np.trace(a @ b), (np.zeros((20, 30)), np.zeros((30, 20)))).tape
>>> print(brief(in_cheaper_order(tape)))
v0: float64[20, 30] = a[...]
v1: float64[30, 20] = b[...]
v3: float64[20] = contract(v0, v1, a_labels=(0, 1), b_labels=(1, 0), out_labels=(0,))
v4 = reduce_sum(v3, axes=(0,))
return v4

Requires a primal tape; ensures the same numbers (sums reassociated). What more than one operation reads stays, and what
a loop around does not compute again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..regions.regions import View, c_strides, is_ragged
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.operations import all_blocks
from ..tape.tape import Apply, Operation, Tape, Value, walk
from .dead_code import drop_dead
from .products import extents_of

MOST_TIMES = 16  # products in a row that change places
FEWER = 2  # times as many multiplications that are worth it

Labels = tuple[int, ...]


def in_cheaper_order(tape: Tape) -> Tape:
    """Requires a primal tape; ensures the same numbers (sums reassociated). The same tape where nothing changes."""
    for _ in range(MOST_TIMES):
        changed = one_step(tape)
        if changed is tape:
            break
        tape = drop_dead(changed)
    return tape


@dataclass(frozen=True, slots=True)
class ProductOfTwo:
    """Two operands, the second of which may be a product, with their labels."""

    a: Value
    a_labels: Labels
    b: Value | ProductOfTwo
    b_labels: Labels
    out_labels: Labels


def one_step(tape: Tape) -> Tape:
    """With the last product of each chain in another place."""
    if not any(isinstance(op, Apply) and op.primitive == "contract" for op in walk(tape.operations)):
        return tape
    uses = Counter(v.id for v in tape.results)
    uses.update(v.id for op in walk(tape.operations) for v in (op.steering if op.blocks else op.inputs))
    found: dict[int, ProductOfTwo] = {}
    for block in all_blocks(tape.operations):
        made = [op for op in block if isinstance(op, Apply)]
        products = {op.out.id: op for op in made if op.primitive == "contract" and not is_uneven(op)}
        products = {id: op for id, op in products.items() if uses[id] == 1}
        for op in made:
            product = in_place_of(op, products)
            if product is not None and not any(v.id in found for v in op.inputs):
                found[op.out.id] = product
    if not found:
        return tape
    builder = rebuilt(tape)

    def write(op: Operation) -> None:
        if op.blocks:
            builder.emit(builder.with_written_blocks(op, write))
        elif isinstance(op, Apply) and op.out.id in found:
            builder.line, product = op.line, found[op.out.id]
            operands = product.a, product_written(builder, product.b)
            builder.emit(replace(op, primitive="contract", operands=operands, parameters=labels_of(product)))
        else:
            builder.emit(op)

    return written_anew(tape, builder, write)


def product_written(builder: TapeBuilder, product: Value | ProductOfTwo) -> Value:
    if not isinstance(product, ProductOfTwo):
        return product
    return builder.apply("contract", product.a, product_written(builder, product.b), **dict(labels_of(product)))


def labels_of(product: ProductOfTwo) -> tuple[tuple[str, object], ...]:
    return ("a_labels", product.a_labels), ("b_labels", product.b_labels), ("out_labels", product.out_labels)


def is_uneven(op: Apply) -> bool:
    return any(is_ragged(v.shape) for v in (*op.operands, op.out)) or op.out.dtype.kind != "f"


def in_place_of(op: Apply, products: Mapping[int, Apply]) -> ProductOfTwo | None:
    """What takes the place of a view of a product, or of a product of one, read nowhere else; None where it stays."""
    if op.primitive == "view":
        product = products.get(op.operands[0].id)
        return None if product is None else of_diagonal(product, op.params["view"])
    if op.primitive != "contract" or is_uneven(op):
        return None
    return next(filter(None, (reordered(op, products, place) for place in (0, 1))), None)


def of_diagonal(product: Apply, view: View) -> ProductOfTwo | None:
    """The diagonal of a product of matrices: of each row and column the sum."""
    shape = product.out.shape
    if len(shape) != 2 or shape[0] != shape[1] or view != View(0, shape[:1], (sum(c_strides(shape)),)):
        return None
    params = product.params
    row, column = params["out_labels"]
    a, b = (tuple(row if label == column else label for label in params[name]) for name in ("a_labels", "b_labels"))
    if len({*a}) < len(a) or len({*b}) < len(b):  # the diagonal of an operand
        return None
    return ProductOfTwo(product.operands[0], a, product.operands[1], b, (row,))


def reordered(op: Apply, products: Mapping[int, Apply], place: int) -> ProductOfTwo | None:
    """Of `(a b) c`, or `c (a b)`: `a (b c)` or `b (a c)`, if that takes fewer multiplications by far."""
    inner = products.get(op.operands[place].id)
    if inner is None or inner.out.size == 1:
        return None
    own, other = op.params["ab"[place] + "_labels"], op.params["ba"[place] + "_labels"]
    kept, extents = op.params["out_labels"], extents_of(op)
    offset = 1 + max((*own, *other), default=0)  # of labels that are summed inside
    names = dict(zip(inner.params["out_labels"], own))
    sides = []
    for side, value in zip("ab", inner.operands):
        labels = tuple(names.get(label, label + offset) for label in inner.params[side + "_labels"])
        extents |= dict(zip(labels, value.shape))
        sides.append((value, labels))
    third = op.operands[1 - place]
    if 0 in extents.values():  # what is no number in the other operand stays none
        return None

    def count(*several: Labels) -> int:
        return math.prod(extents[label] for label in set().union(*several))

    least = count(sides[0][1], sides[1][1]) + count(own, other)
    best = None
    for (first, labels), (second, its_labels) in (sides, sides[::-1]):
        together = tuple(k for k in dict.fromkeys((*its_labels, *other)) if k in kept or k in labels)
        cost = count(its_labels, other) + count(labels, together)
        if FEWER * cost <= least:
            least, best = (
                cost,
                ProductOfTwo(first, labels, ProductOfTwo(second, its_labels, third, other, together), together, kept),
            )
    return best
