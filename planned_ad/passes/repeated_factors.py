"""Sums of products of arrays that repeat themselves are products of matrices.

>>> import numpy as np
>>> from planned_ad.passes.dead_code import drop_dead
>>> from planned_ad.passes.rewrite import rewrite
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(a, b):
...     return np.sum(a[:, :, None] * b, axis=1)
>>> tape = drop_dead(rewrite(trace(f, (np.zeros((20, 30)), np.zeros((30, 40)))).tape))
>>> print(brief(tape))
v6: float64[20, 30, 40] = a{+0 [20, 30, 40] by [30, 1, 0]}
v7: float64[20, 30, 40] = b{+0 [20, 30, 40] by [0, 40, 1]}
v4: float64[20, 30, 40] = multiply(v6, v7)
v5: float64[20, 40] = reduce_sum(v4, axes=(1,))
return v5
>>> print(brief(drop_dead(rewrite(products_of_repeated(tape)))))
v11: float64[20, 30] = a[...]
v12: float64[30, 40] = b[...]
v10: float64[20, 40] = contract(v11, v12, a_labels=(0, 1), b_labels=(1, 2), out_labels=(0, 2))
return v10

Requires a primal tape; ensures the same numbers (sums reassociated). The adjoints are then products of matrices too,
where otherwise each would sum an array of all the terms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ..regions.regions import View
from ..tape.builder import rebuilt, written_anew
from ..tape.tape import Apply, Operation, Tape, walk
from .products import contraction, extents_of, has_ragged_axis, repeated_labels, repeats, shown_through, without_repeats
from .short_axes import LONGEST


def products_of_repeated(tape: Tape) -> Tape:
    """Requires a primal tape; ensures the same numbers (sums reassociated). The same tape where nothing changes."""
    views = shown_through(tape)
    uses = Counter(v.id for v in tape.results)
    uses.update(v.id for op in walk(tape.operations) for v in (op.steering if op.blocks else op.inputs))
    made = {op.out.id: op for op in walk(tape.operations) if isinstance(op, Apply)}
    once = {id: op for id, op in made.items() if uses[id] == 1}
    found = {id: product for id, op in made.items() if (product := product_for(views, once, op)) is not None}
    if not found:
        return tape
    builder = rebuilt(tape)

    def write(op: Operation) -> None:
        if op.blocks:
            builder.emit(builder.with_written_blocks(op, write))
        elif isinstance(op, Apply) and op.out.id in found:
            without_repeats(views, builder, found[op.out.id])
        else:
            builder.emit(op)

    return written_anew(tape, builder, write)


def product_for(views: Mapping[int, View], once: Mapping[int, Apply], op: Apply) -> Apply | None:
    """The contraction that takes the place of an operation; None where it stays. `once`: what is used once only."""
    if op.primitive == "contract":
        return op if repeats(views, op) and not has_ragged_axis(op) else None
    factors = once.get(op.operands[0].id) if op.primitive == "reduce_sum" else None
    if factors is None or factors.out.dtype.kind != "f" or op.out.dtype != factors.out.dtype:
        return None
    if factors.primitive == "contract":
        product = summed_over_more(op, factors)
        return product if product is not None and not has_ragged_axis(product) else None
    alike = all(v.shape == factors.out.shape and v.dtype == op.out.dtype for v in factors.operands)
    if factors.primitive != "multiply" or not alike or has_ragged_axis(factors):
        return None
    product = contraction(op, factors)
    return product if is_of_matrices(views, product) else None


def summed_over_more(total: Apply, product: Apply) -> Apply | None:
    """The sum of a product along axes that both operands have."""
    params = product.params
    labels = params["out_labels"]
    summed = {labels[axis] for axis in total.params["axes"]}
    if not summed <= set(params["a_labels"]) & set(params["b_labels"]):
        return None
    kept = tuple(label for label in labels if label not in summed)
    parameters = (("a_labels", params["a_labels"]), ("b_labels", params["b_labels"]), ("out_labels", kept))
    return replace(product, out=total.out, parameters=parameters)


def is_of_matrices(views: Mapping[int, View], op: Apply) -> bool:
    """Whether a contraction is one of rows and columns, none of them short, once its operands do not repeat.

    What is summed has to move in both: the sum of products is not the product of sums, in floating arithmetic.
    """
    params, extents = op.params, extents_of(op)
    all_labels = (params["a_labels"], params["b_labels"])
    a, b = (set(own) - set(repeated_labels(views, v, own)) for v, own in zip(op.operands, all_labels))
    out = set(params["out_labels"])
    summed = extents.keys() - out
    if not summed <= a & b:
        return False
    return all(
        math.prod(extents[label] for label in group) > LONGEST for group in ((a & out) - b, (b & out) - a, summed)
    )
