"""Short loops of array operations are written out, so that what each iteration does to an element fuses.

>>> import numpy as np
>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     for k in range(2):
...         for i in range(20):
...             x[i] = x[i] * x[i]
>>> tape = vectorise(trace(f, (np.zeros(20),), unroll=1).tape)
>>> print(brief(tape))
for i0 in range(0, 2, 1):
    v2: float64[20] = x[...]
    v3: float64[20] = multiply(v2, v2)
    x[...] = v3
>>> print(brief(write_out_short_loops(tape)))
v4: float64[20] = x[...]
v5: float64[20] = multiply(v4, v4)
x[...] = v5
v6: float64[20] = x[...]
v7: float64[20] = multiply(v6, v6)
x[...] = v7

A loop over time is one loop when its body has loops over elements, and is recorded iteration by iteration when it has
array operations: after `vectorise` the two are one program, and this makes them one tape. Requires a primal tape;
ensures the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..regions.affine import Affine, Extent, Ragged, coefficient, exact, ragged, substitute
from ..regions.regions import View, elements_shown, is_ragged
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.renaming import Copier
from ..tape.tape import Apply, Constant, IndexValue, Load, Loop, Operation, Store, Tape

MOST_TRIPS = 16  # as of loops that are recorded one by one
MOST_WRITTEN = 400  # operations
LEAST_ELEMENTS = 16  # of the largest array
LONG_ARRAY = 1 << 10  # elements beside which what a loop costs is nothing
LARGE_ARRAY = 1 << 15  # elements of an array that does not stay near from one iteration to the next
LONG_TRIANGLE = 1 << 10  # numbers in a row of it


@dataclass
class Iteration(Copier):
    """Copies operations of a loop's body for one iteration: `number`, of the loop `index`."""

    index: int = 0
    number: Extent = 0

    def renamed(self, item: Any) -> Any:
        match item:
            case Ragged():
                return ragged(int(item), substitute(exact(item), self.index, self.number))
            case Affine():
                return substitute(item, self.index, self.number)
        return super().renamed(item)


def write_out_short_loops(tape: Tape) -> Tape:
    """Innermost loops first; the rest of the tape stays as it is."""
    if not any(isinstance(op, Loop) for op in tape.operations):
        return tape
    builder = rebuilt(tape)

    def write(op: Operation) -> None:
        for written in written_out(builder, op):
            builder.emit(written)

    return written_anew(tape, builder, write)


def written_out(builder: TapeBuilder, op: Operation) -> list[Operation]:
    """An operation with the short loops in it written out."""
    if not op.blocks:
        return [op]
    blocks = [tuple(new for inner in block for new in written_out(builder, inner)) for block in op.blocks]
    op = op.with_blocks(*blocks)
    if not isinstance(op, Loop) or not is_written_out(op):
        return [op]
    found: list[Operation] = []
    for k in range(int(op.trips)):
        copier = Iteration(builder.new_value, index=op.index, number=op.start + k * op.step)
        found += [settled_index(copier.copy(inner)) for inner in op.body]
    return found


def is_written_out(loop: Loop) -> bool:
    """Whether a loop does the same few array operations a few times."""
    trips, body = loop.trips, loop.body
    if isinstance(trips, Ragged) or loop.count is not None or loop.stops or not 1 <= trips <= MOST_TRIPS:
        return False
    return (
        trips * len(body) <= MOST_WRITTEN
        and all(isinstance(op, Apply | Load | Store | IndexValue | Constant) for op in body)
        and largest(body) >= LEAST_ELEMENTS
        and not is_better_apart(loop)
        and not any(is_long_triangle(op) or is_part_of_ragged(op) for op in body)
    )


def is_better_apart(loop: Loop) -> bool:
    """Whether iterations on long arrays have nothing to gain from one another: no result, and no large array."""
    read = {region.buffer for op in loop.body for region in op.reads}
    written = {region.buffer for op in loop.body for region in op.writes}
    if largest(loop.body) < LONG_ARRAY or read & written:
        return False
    made = {v.id for op in loop.body for v in op.outputs}
    still = [
        elements_shown(op.region.view)
        for op in loop.body
        if isinstance(op, Load) and not shows_another_part(op.region.view, loop)
    ]
    for op in loop.body:
        if not (isinstance(op, Apply) and op.primitive == "view" and shows_another_part(op.params["view"], loop)):
            still += [v.size for v in op.inputs if v.id not in made]
    return max(still, default=0) < LARGE_ARRAY


def shows_another_part(view: View, loop: Loop) -> bool:
    """Whether a view is of another part of memory in each iteration."""
    return isinstance(view.offset, Affine) and coefficient(view.offset, loop.index) != 0


def is_long_triangle(op: Operation) -> bool:
    """Whether this has rows of different lengths, and enough numbers in them to take its time as it is."""
    if not isinstance(op, Apply) or not any(is_ragged(v.shape) for v in (*op.operands, op.out)):
        return False
    sizes = [op.out.size, *(v.size for v in op.operands)]
    return max(sizes) >= LONG_TRIANGLE


def is_part_of_ragged(op: Operation) -> bool:
    """Whether this shows rows of different lengths: they lie as far apart as the longest, but in one iteration."""
    return (
        isinstance(op, Apply)
        and RULES[op.primitive].kind == "view"
        and any(is_ragged(v.shape[1:]) for v in op.operands)
    )


def largest(body: Sequence[Operation]) -> int:
    """How many elements the largest array has that is computed."""
    return max((op.out.size for op in body if isinstance(op, Apply)), default=0)


def settled_index(op: Operation) -> Operation:
    """An index that has become a number, as a constant."""
    if isinstance(op, IndexValue) and isinstance(op.expression, int):
        return Constant(out=op.out, data=np.array(op.expression, np.int64), line=op.line)
    return op
