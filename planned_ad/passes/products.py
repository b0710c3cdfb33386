"""Write contractions in the form that suits them: fused into loop nests, or as plain products for a kernel.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda a, x: a @ x, (np.zeros((20, 20)), np.zeros(20))).tape
>>> print(brief(tape))
v0: float64[20, 20] = a[...]
v1: float64[20] = x[...]
v2: float64[20] = contract(v0, v1, a_labels=(0, 1), b_labels=(1,), out_labels=(0,))
return v2
>>> print(brief(lower_products(tape)))
v0: float64[20, 20] = a[...]
v1: float64[20] = x[...]
v3: float64[20, 20] = view(v1, view={+0 [20, 20] by [0, 1]})
v4: float64[20, 20] = multiply(v0, v3)
v2: float64[20] = reduce_sum(v4, axes=(1,))
return v2

Requires a simplified tape; ensures that the contractions left repeat no operand, and are worth a kernel.

A matrix product reads each element many times, and wants to keep it in registers or caches; anything with a dimension
of one (a dot product, matrix times vector, an outer product) reads its largest operand once, at the speed of memory,
and becomes a product and a sum, which fuse. An operand that repeats itself is not multiplied out. An operand along
which no vector runs is turned over first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from ..regions.regions import View, c_strides, contiguous, is_ragged
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.tape import Apply, Load, Operation, Tape, Value, walk

TILED_PRODUCT = 256**3  # multiplications up to which tiles in registers are as fast as BLAS on one core
TURNED_ROWS = 8  # uses of each number of an operand that make it worth turning it over first
SHORTEST_ROW = 4  # numbers of a row of the result: along fewer, no vector runs
FEW = 4  # rows, columns or summed numbers
SMALL_PRODUCT = 8**3  # multiplications below which a call of BLAS costs more than it saves


def lower_products(tape: Tape) -> Tape:
    """Requires a simplified tape; ensures that the contractions left repeat no operand, and are worth a kernel.

    The same tape when there is nothing to lower. What repeats may leave a smaller contraction: lower that again.
    """
    views, made = shown_through(tape), made_for_one_use(tape)
    products = [op for op in walk(tape.operations) if isinstance(op, Apply) and op.primitive == "contract"]
    if all(form_for(views, made, op) is None for op in products):
        return tape
    builder = rebuilt(tape)

    def write(op: Operation) -> None:
        if isinstance(op, Apply) and op.primitive == "contract":
            (form_for(views, made, op) or TapeBuilder.emit)(builder, op)
        else:
            builder.emit(builder.with_written_blocks(op, write))

    return written_anew(tape, builder, write)


def form_for(
    views: Mapping[int, View], made: Mapping[int, Apply], op: Apply
) -> Callable[[TapeBuilder, Apply], None] | None:
    """How a contraction is written in a form that serves it better; None where it is served as it is."""
    if has_ragged_axis(op):
        return lower
    if repeats(views, op):
        return partial(without_repeats, views)
    if not worth_a_call(op):
        return lower
    number = turned(views, op)
    return None if number is None else partial(turn_over, number, made)


def has_ragged_axis(op: Apply) -> bool:
    """Whether an extent differs between iterations: neither tiles nor BLAS take such a product."""
    return any(is_ragged(v.shape) for v in op.operands)


def shown_through(tape: Tape) -> dict[int, View]:
    """Of the values that are views, or loads, the view."""
    found: dict[int, View] = {op.out.id: op.region.view for op in walk(tape.operations) if isinstance(op, Load)}
    for op in walk(tape.operations):
        if isinstance(op, Apply) and op.primitive == "view":
            view = op.params["view"]
            assert isinstance(view, View)
            found[op.out.id] = view
    return found


def made_for_one_use(tape: Tape) -> dict[int, Apply]:
    """What makes the values that are computed number by number, and used once."""
    uses = Counter(v.id for v in tape.results)
    uses.update(v.id for op in walk(tape.operations) for v in (op.steering if op.blocks else op.inputs))
    applied = (op for op in walk(tape.operations) if isinstance(op, Apply) and uses[op.out.id] == 1)
    return {op.out.id: op for op in applied if RULES[op.primitive].kind == "elementwise"}


def repeated_labels(views: Mapping[int, View], value: Value, labels: tuple[int, ...]) -> tuple[int, ...]:
    """The labels along which `value` shows the same elements again and again."""
    view = views.get(value.id)
    if view is None:
        return ()
    return tuple(label for label, n, s in zip(labels, view.shape, view.strides) if s == 0 and n > 1)


def repeats(views: Mapping[int, View], op: Apply) -> bool:
    """Whether an operand of a contraction repeats itself along an axis."""
    params = op.params
    return any(
        repeated_labels(views, value, labels)
        for value, labels in zip(op.operands, (params["a_labels"], params["b_labels"]))
    )


def without_repeats(views: Mapping[int, View], builder: TapeBuilder, op: Apply) -> None:
    """The contraction on what does not repeat.

    Of a label along which one operand repeats: where it is summed, the other operand is summed along it first; where
    only the result has it, the result repeats along it.
    """
    params = op.params
    extents, out_labels = extents_of(op), params["out_labels"]
    operands, labels = list(op.operands), [params["a_labels"], params["b_labels"]]
    repeated = [repeated_labels(views, value, own) for value, own in zip(operands, labels)]
    builder.line = op.line
    for this, other in ((0, 1), (1, 0)):
        for label in repeated[this]:
            if label not in labels[this]:  # summed already
                continue
            axis = labels[this].index(label)
            operands[this] = first_along(builder, operands[this], axis)
            labels[this] = labels[this][:axis] + labels[this][axis + 1 :]
            if label in labels[other] and label not in out_labels:
                axis = labels[other].index(label)
                operands[other] = builder.apply("reduce_sum", operands[other], axes=(axis,))
                labels[other] = labels[other][:axis] + labels[other][axis + 1 :]
            elif label not in labels[other] and label not in out_labels:  # both repeat along it
                count = builder.constant(np.asarray(extents[label]).astype(operands[this].dtype))
                operands[this] = builder.apply("multiply", operands[this], count)
    kept = tuple(label for label in out_labels if label in labels[0] or label in labels[1])
    a, b = operands
    small = builder.apply("contract", a, b, a_labels=labels[0], b_labels=labels[1], out_labels=kept)
    strides = dict(zip(kept, c_strides(small.shape)))
    view = View(0, op.out.shape, tuple(strides.get(label, 0) for label in out_labels))
    builder.emit(Apply(out=op.out, primitive="view", operands=(small,), parameters=(("view", view),), line=op.line))


def first_along(builder: TapeBuilder, value: Value, axis: int) -> Value:
    """`value` at index 0 of `axis`, which is dropped."""
    own = contiguous(value.shape)
    view = View(0, own.shape[:axis] + own.shape[axis + 1 :], own.strides[:axis] + own.strides[axis + 1 :])
    return builder.view(value, view)


def turned(views: Mapping[int, View], op: Apply) -> int | None:
    """Which operand of a product has to be turned over, for vectors to run along the result's rows."""
    params, extents = op.params, extents_of(op)
    both: tuple[tuple[int, ...], ...] = (params["a_labels"], params["b_labels"])
    *_, along = params["out_labels"]
    owners = [number for number in (0, 1) if along in both[number]]
    batch = set(both[0]) & set(both[1]) & set(params["out_labels"])
    each = math.prod(n for label, n in extents.items() if label not in batch)
    if len(owners) > 1 or each > TILED_PRODUCT or extents[along] < SHORTEST_ROW:
        return None
    (number,) = owners
    value = op.operands[number]
    if math.prod(extents.values()) < TURNED_ROWS * value.size:
        return None
    view = views.get(value.id)
    strides = view.strides if view is not None else c_strides(value.shape)
    return None if strides[both[number].index(along)] == 1 else number


def turn_over(number: int, made: Mapping[int, Apply], builder: TapeBuilder, op: Apply) -> None:
    """The product with one operand copied, or computed, with the axis along the result's rows last."""
    params = op.params
    builder.line = op.line
    operands, labels = list(op.operands), [params["a_labels"], params["b_labels"]]
    along = params["out_labels"][-1]
    order = sorted(range(len(labels[number])), key=lambda k: labels[number][k] == along)
    own = contiguous(operands[number].shape)
    shown = View(0, tuple(own.shape[k] for k in order), tuple(own.strides[k] for k in order))
    labels[number] = tuple(labels[number][k] for k in order)
    computed = with_axes_in_order(shown, made, builder, operands[number])
    operands[number] = computed or builder.apply("copy", builder.view(operands[number], shown))
    builder.emit(
        replace(
            op,
            operands=tuple(operands),
            parameters=(("a_labels", labels[0]), ("b_labels", labels[1]), ("out_labels", params["out_labels"])),
        )
    )


def with_axes_in_order(shown: View, made: Mapping[int, Apply], builder: TapeBuilder, value: Value) -> Value | None:
    """What is computed number by number, with its axes in the order that is shown; None of anything else."""
    op = made.get(value.id)
    if op is None or any(v.shape not in ((), value.shape) for v in op.operands):
        return None
    operands = [
        with_axes_in_order(shown, made, builder, v) or builder.view(v, shown) if v.shape else v for v in op.operands
    ]
    return builder.apply(op.primitive, *operands, **op.params)


def contraction(total: Apply, factors: Apply) -> Apply:
    """A sum of products as a contraction."""
    labels = tuple(range(len(factors.out.shape)))
    kept = tuple(label for label in labels if label not in total.params["axes"])
    parameters = (("a_labels", labels), ("b_labels", labels), ("out_labels", kept))
    return replace(total, primitive="contract", operands=factors.operands, parameters=parameters)


def extents_of(op: Apply) -> dict[int, int]:
    params = op.params
    labels = (*params["a_labels"], *params["b_labels"])
    return dict(zip(labels, (*op.operands[0].shape, *op.operands[1].shape)))


def worth_a_call(op: Apply) -> bool:
    """Whether rows, columns and summed labels have some length, two of them more than a few, and there is enough to do.

    A product by a matrix of 2 x 2 uses each number twice: tiles would fetch it more often than a nest does.
    """
    params, extents = op.params, extents_of(op)
    a, b, out = (set(params[f"{name}_labels"]) for name in ("a", "b", "out"))
    rows = math.prod(extents[label] for label in (a & out) - b)
    columns = math.prod(extents[label] for label in (b & out) - a)
    summed = math.prod(extents[label] for label in (a & b) - out)
    least, second, _ = sorted((rows, columns, summed))
    return least > 1 and second > FEW and rows * columns * summed > SMALL_PRODUCT


def lower(builder: TapeBuilder, op: Apply) -> None:
    """Both operands repeated over all labels, multiplied, and summed over those that are not in the result."""
    params, extents = op.params, extents_of(op)
    out_labels: tuple[int, ...] = params["out_labels"]
    a_labels: tuple[int, ...] = params["a_labels"]
    b_labels: tuple[int, ...] = params["b_labels"]
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


def in_numbers(builder: TapeBuilder, begun: int) -> None:
    """Have the contractions written since that sum nothing be products of numbers, whose zeros may be strong
    (`analysis.singularities`): the derivative of a dot product."""
    written = builder.operations[begun:]
    del builder.operations[begun:]
    for op in written:
        if isinstance(op, Apply) and op.primitive == "contract" and sums_nothing(op):
            lower(builder, op)
        else:
            builder.emit(op)


def sums_nothing(op: Apply) -> bool:
    return {*op.params["a_labels"], *op.params["b_labels"]} <= {*op.params["out_labels"]}


def over(builder: TapeBuilder, value: Value, own: tuple[int, ...], labels: tuple[int, ...], extents: dict) -> Value:
    """`value`, whose axes are labelled `own`, as an array over all `labels`, repeated along those that it lacks."""
    strides = dict(zip(own, c_strides(value.shape)))
    view = View(0, tuple(extents[label] for label in labels), tuple(strides.get(label, 0) for label in labels))
    return builder.view(value, view)
