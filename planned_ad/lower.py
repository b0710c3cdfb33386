"""Turn contractions that a loop nest does as well as BLAS into products and sums, which fuse.

A matrix product reads each element many times, and BLAS keeps them in cache; anything with a dimension of
one (a dot product, matrix times vector, an outer product) reads its largest operand once, at the speed of memory.
"""

from __future__ import annotations

import math
from dataclasses import replace

from .builder import TapeBuilder, rebuilt
from .regions import View, c_strides
from .tape import Apply, Tape, Value

SMALL_PRODUCT = 8**3  # multiplications below which a call of BLAS costs more than it saves


def lower_products(tape: Tape) -> Tape:
    """Requires a simplified tape; ensures that the contractions left are worth a library call.

    The same tape when there is nothing to lower.
    """
    if not any(isinstance(op, Apply) and op.primitive == "contract" and not worth_a_call(op) for op in tape.operations):
        return tape
    builder = rebuilt(tape)
    turn = 0
    for position, op in enumerate(tape.operations):
        if position == tape.turn:
            turn = len(builder.operations)
        if isinstance(op, Apply) and op.primitive == "contract" and not worth_a_call(op):
            lower(builder, op)
        else:
            builder.emit(op)
    if tape.turn == len(tape.operations):
        turn = len(builder.operations)
    return replace(tape, operations=tuple(builder.operations), turn=turn)


def extents_of(op: Apply) -> dict[int, int]:
    params = op.params
    labels = (*params["a_labels"], *params["b_labels"])  # type: ignore[misc]
    return dict(zip(labels, (*op.operands[0].shape, *op.operands[1].shape)))


def worth_a_call(op: Apply) -> bool:
    """Whether rows, columns and summed labels all have some length, and there is enough to do."""
    params, extents = op.params, extents_of(op)
    a, b, out = (set(params[f"{name}_labels"]) for name in ("a", "b", "out"))  # type: ignore[call-overload]
    rows = math.prod(extents[label] for label in (a & out) - b)
    columns = math.prod(extents[label] for label in (b & out) - a)
    summed = math.prod(extents[label] for label in (a & b) - out)
    return min(rows, columns, summed) > 1 and rows * columns * summed > SMALL_PRODUCT


def lower(builder: TapeBuilder, op: Apply) -> None:
    """Both operands repeated over all labels, multiplied, and summed over those that are not in the result."""
    params, extents = op.params, extents_of(op)
    out_labels: tuple[int, ...] = params["out_labels"]  # type: ignore[assignment]
    a_labels: tuple[int, ...] = params["a_labels"]  # type: ignore[assignment]
    b_labels: tuple[int, ...] = params["b_labels"]  # type: ignore[assignment]
    summed = tuple(label for label in a_labels if label not in out_labels)
    labels = (*out_labels, *summed)
    builder.line = op.line
    a = over(builder, op.operands[0], a_labels, labels, extents)
    b = over(builder, op.operands[1], b_labels, labels, extents)
    if not summed:
        builder.emit(Apply(out=op.out, primitive="multiply", operands=(a, b), line=op.line))
        return
    product = builder.apply("multiply", a, b)
    axes = tuple(range(len(out_labels), len(labels)))
    builder.emit(
        Apply(out=op.out, primitive="reduce_sum", operands=(product,), parameters=(("axes", axes),), line=op.line)
    )


def over(builder: TapeBuilder, value: Value, own: tuple[int, ...], labels: tuple[int, ...], extents: dict) -> Value:
    """`value`, whose axes are labelled `own`, as an array over all `labels`, repeated along those that it lacks."""
    strides = dict(zip(own, c_strides(value.shape)))
    view = View(0, tuple(extents[label] for label in labels), tuple(strides.get(label, 0) for label in labels))
    return builder.view(value, view)
