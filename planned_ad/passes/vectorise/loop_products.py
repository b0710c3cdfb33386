"""Products of matrices that loops write out: as dot products of rows and columns, or as sums of multiples of rows.

>>> import numpy as np
>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(a, b, c):
...     for i in range(30):
...         for j in range(40):
...             for k in range(50):
...                 c[i, j] += a[i, k] * b[k, j]
>>> tape = trace(f, (np.zeros((30, 50)), np.zeros((50, 40)), np.zeros((30, 40)))).tape
>>> print(brief(vectorise(tape)))
v16: float64[30, 50] = a[...]
v17: float64[40, 50] = b{+0 [40, 50] by [1, 40]}
v18: float64[30, 40] = c[...]
v19: float64[30, 40] = contract(v16, v17, a_labels=(2, 0), b_labels=(1, 0), out_labels=(2, 1))
v20: float64[30, 40] = add(v18, v19)
c[...] = v20

A sum of products of two rows is a product by the row that is alike in all iterations of the loop around, and those
together are one by the matrix that is alike in the next. What iterations sum is a product where each adds an outer one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ...analysis.enclosing import indices_of
from ...analysis.independence import Sharing, moves
from ...regions.regions import View, is_ragged
from ...tape.builder import TapeBuilder
from ...tape.tape import Apply, Load, Loop, Operation, Store, Value
from ..products import contraction


@dataclass(frozen=True, slots=True)
class Factor:
    """An array, and the axes of a product along which it does not repeat itself: all of them, or those of `shown`."""

    value: Value
    axes: tuple[int, ...]
    shown: View | None = None


OuterProducts = dict[int, tuple[Factor, ...]]  # by the value that each makes


def varying_values(loop: Loop) -> frozenset[int]:
    """The values of a loop's body that are not alike in all iterations."""
    varying: set[int] = set()
    for op in loop.body:
        if loop.index in indices_of(op) or any(v.id in varying for v in op.inputs):
            varying.update(v.id for v in op.outputs)
    return frozenset(varying)


def with_products(builder: TapeBuilder, loop: Loop) -> Loop:
    """The loop with sums of products, of an array that all iterations have and one of their own, as contractions.

    A sum of sums of products is the sum of several.
    """
    if not any(isinstance(op, Apply) and op.primitive == "reduce_sum" for op in loop.body):
        return loop
    varying = varying_values(loop)
    made = {v.id: op for op in loop.body for v in op.outputs}
    uses = Counter(v.id for op in loop.body for v in op.inputs)
    body: list[Operation] = []
    changed = False
    for op in loop.body:
        products = None
        if isinstance(op, Apply) and op.primitive == "reduce_sum":
            products = summed_products(op.operands[0], made, varying, uses)
        if products is None:
            body.append(op)
            continue
        assert isinstance(op, Apply)
        changed = True
        total: Value | None = None
        for number, product in enumerate(products, 1):
            term = contraction(op, product)
            if len(products) > 1:
                term = replace(term, out=builder.new_value(op.out.shape, op.out.dtype))
            body.append(term)
            if total is not None:
                out = op.out if number == len(products) else builder.new_value(op.out.shape, op.out.dtype)
                body.append(Apply(out=out, primitive="add", operands=(total, term.out), line=op.line))
                total = out
            else:
                total = term.out
    return replace(loop, body=without_unused(body)) if changed else loop


def summed_products(
    value: Value, made: Mapping[int, Operation], varying: Set[int], uses: Mapping[int, int]
) -> list[Apply] | None:
    """The products that a value is the sum of; None where it is another sum, or looked at elsewhere."""
    op = made.get(value.id)
    if not isinstance(op, Apply) or uses[value.id] != 1:
        return None
    if is_product(op, varying):
        return [op]
    if op.primitive != "add" or any(v.shape != value.shape for v in op.operands):
        return None
    terms = [summed_products(v, made, varying, uses) for v in op.operands]
    return None if None in terms else [product for term in terms for product in term or ()]


def without_unused(body: Sequence[Operation]) -> tuple[Operation, ...]:
    """The operations without those that compute what nothing uses."""
    used: set[int] = set()
    kept: list[Operation] = []
    for op in reversed(body):
        if not isinstance(op, Apply) or op.out.id in used:
            used.update(v.id for v in op.inputs)
            kept.append(op)
    return tuple(reversed(kept))


def is_product(op: Apply, varying: Set[int]) -> bool:
    """Whether `op` multiplies an array that is alike in all iterations by one that is not, element by element."""
    if op.primitive != "multiply" or op.out.dtype.kind != "f":
        return False
    arrays = all(v.shape == op.out.shape and v.dtype == op.out.dtype for v in op.operands)
    return arrays and len([v for v in op.operands if v.id in varying]) == 1


def outer_products(loop: Loop, sharing: Sharing, varying: Set[int], uses: Mapping[int, int]) -> OuterProducts:
    """Values of which iterations make a sum alone, each an outer product of two arrays of the iteration's own.

    A number times an array is one.
    """
    summed = {term.value.id for carry in sharing.carries.values() for term in carry.terms if carry.operation == "add"}
    added = (op for op in loop.body if isinstance(op, Store) and op.accumulate)
    summed |= {op.value.id for op in added if not moves(op.region, loop.index)}
    made = {v.id: op for op in loop.body for v in op.outputs}
    found: OuterProducts = {}
    for id in sorted(summed & made.keys()):
        op = made[id]
        if isinstance(op, Apply) and uses[id] == 1 and op.out.shape != () and op.out.dtype.kind == "f":
            factors = outer_factors(op, made)
            own = all(v.id in varying and v.dtype == op.out.dtype for v in op.operands)
            alone = all(f.shown is None or uses[f.value.id] == 1 for f in factors)
            if own and alone and sorted(k for f in factors for k in f.axes) == list(range(len(op.out.shape))):
                found[id] = factors
    return found


def outer_factors(op: Apply, made: Mapping[int, Operation]) -> tuple[Factor, ...]:
    """The factors of a product element by element, or of a contraction; none where it sums."""
    if op.primitive == "contract":
        labels = op.params["out_labels"]
        both = (op.params["a_labels"], op.params["b_labels"])
        if not set(both[0]) | set(both[1]) <= set(labels):
            return ()
        return tuple(Factor(v, tuple(map(labels.index, own))) for v, own in zip(op.operands, both))
    return tuple(factor_shown(v, made) for v in op.operands) if op.primitive == "multiply" else ()


def factor_shown(value: Value, made: Mapping[int, Operation]) -> Factor:
    """A factor without the axes along which it repeats itself."""
    op = made.get(value.id)
    view = op.region.view if isinstance(op, Load) else op.params.get("view") if isinstance(op, Apply) else None
    axes = tuple(axis for axis, stride in enumerate(view.strides) if stride) if view is not None else ()
    if view is None or len(axes) == len(value.shape) or is_ragged(view.shape):
        return Factor(value, tuple(range(len(value.shape))))
    return Factor(
        value, axes, View(view.offset, tuple(view.shape[k] for k in axes), tuple(view.strides[k] for k in axes))
    )


def multiplied_only(loop: Loop, varying: Set[int], in_products: Set[int]) -> Set[int]:
    """What is loaded for products alone, which read it where it lies; `in_products`: what is only part of one."""
    loaded = {op.out.id for op in loop.body if isinstance(op, Load)}
    for op in loop.body:
        alike = [v for v in op.inputs if v.id not in varying]
        is_product = isinstance(op, Apply) and op.primitive == "contract" and len(alike) == 1
        if not is_product and not any(v.id in in_products for v in op.outputs):
            loaded -= {v.id for v in op.inputs}
    return loaded
