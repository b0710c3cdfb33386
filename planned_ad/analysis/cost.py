"""What it costs to have a value again where it is needed, beside keeping it: the one answer, whoever asks.

The planner asks for the values of a block, `differentiate.keep` for what a reverse sweep needs, the passes for what
moves out of loops. Operations cost what their row of the rule table says, in additions for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from ..rules.table import RULES
from ..tape.tape import Apply, Constant, IndexValue, Operation, Value

DEAR = 10.0  # a primitive of this cost is never evaluated again: memory is cheaper
# Additions per element that cost as much as keeping a number: arithmetic on arrays is vectorised, and waits for memory.
SCALAR_LIMIT = 8.0
ARRAY_LIMIT = 16.0
FEW = 8  # elements: their sum costs no more than keeping it
COPY_FROM = 4.0  # an array of this cost is read from where the program has stored it
ONCE = 1.5  # a number of this cost is computed once for many elements; a single operation or read, for each
WASTE = 1 << 20  # bytes for iterations that need not run: beyond them a value is computed again, whatever it costs
JUMPS = ("floor", "ceil", "trunc", "rint", "rint_product", "sign", "copysign", "floor_divide", "remainder")
EXTREMA_ALONG = ("reduce_max", "reduce_min")
# What gives the very same bits again: arithmetic may be contracted otherwise in other surroundings.
SELECTIONS = ("negative", "absolute", "minimum", "maximum", "where", "sign", "floor", "ceil", "trunc", "rint", "cast")

Parts = Mapping[int, float]  # what evaluating a value evaluates, by ids of values: each once


def is_dear(op: Apply) -> bool:
    return RULES[op.primitive].cost >= DEAR


def is_local(op: Operation, in_memory: Callable[[Value], bool]) -> bool:
    """Whether an element of what `op` makes takes a few elements of its operands: of any array, or one `in_memory`."""
    if not isinstance(op, Apply):
        return False
    kind = RULES[op.primitive].kind
    return (
        kind in ("elementwise", "view")
        or (kind == "gather" and in_memory(op.operands[0]))
        or (kind == "reduce" and op.operands[0].size <= FEW)
    )


def evaluated_parts(op: Operation, operands: Iterable[Parts]) -> Parts:
    """The parts of what `op` makes, from those of its operands: loads, and what is kept, are one read."""
    if isinstance(op, Constant | IndexValue):
        return {}
    if not isinstance(op, Apply):
        return {value.id: 1.0 for value in op.outputs}
    found = {} if op.primitive == "view" else {op.out.id: RULES[op.primitive].cost}
    for parts in operands:
        found.update(parts)
    return found


def is_short(op: Apply, parts: Parts) -> bool:
    """Whether evaluating all `parts` of what `op` makes costs no more than keeping it."""
    return sum(parts.values()) <= (ARRAY_LIMIT if op.out.shape else SCALAR_LIMIT)


def hangs_on_a_bit(primitive: str, dtype: np.dtype) -> bool:
    """Whether the last bit of an operand may decide what a primitive gives: a truth, an integer, another step, or which
    numbers are equal to an extremum, as its adjoint asks."""
    return dtype.kind != "f" or primitive in JUMPS or primitive in EXTREMA_ALONG


def rounds_nothing(op: Apply) -> bool:
    """Whether `op`, done again in other surroundings on the same numbers, gives the very same bits."""
    kind = RULES[op.primitive].kind
    chosen = op.out.dtype.kind != "f" or op.primitive in SELECTIONS
    return kind in ("view", "gather") or (kind == "elementwise" and chosen)


def worth_keeping(op: Operation) -> bool:
    """Whether an inner block does better to read this value, kept in memory from outside, than to have it again."""
    if isinstance(op, IndexValue | Constant):
        return True
    if not isinstance(op, Apply) or op.primitive == "view":
        return False
    return op.out.size <= max((v.size for v in op.operands), default=0)
