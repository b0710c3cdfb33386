"""Products whose rows grow or shrink from one iteration to the next, in blocks: of these each is a product of matrices.

>>> import numpy as np
>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def lower_half(a, c):
...     for i in range(64):
...         c[i, :i] += a[:i] @ a[i]
>>> tape = trace(lower_half, (np.zeros((64, 80)), np.zeros((64, 64)))).tape
>>> print(brief(tape))
for i0 in range(0, 64, 1):
    v0: float64[(i0), 80] = a[0:i0, :]
    v1: float64[80] = a[i0, :]
    v2: float64[(i0)] = contract(v0, v1, a_labels=(0, 1), b_labels=(1,), out_labels=(0,))
    v3: float64[(i0)] = c[i0, 0:i0]
    v4: float64[(i0)] = add(v3, v2)
    c[i0, 0:i0] = v4
>>> print(brief(vectorise(tape)))
v10: float64[32, 80] = a[0:32, :]
v11: float64[32, 80] = a[32:64, :]
v12: float64[32, 32] = contract(v10, v11, a_labels=(0, 1), b_labels=(2, 1), out_labels=(2, 0))
v13: float64[32, 32] = c[32:64, 0:32]
v14: float64[32, 32] = add(v13, v12)
c[32:64, 0:32] = v14
v25: float64[2, 16, 80] = a{+0 [2, 16, 80] by [2560, 80, 1]}
v26: float64[2, 16, 80] = a{+1280 [2, 16, 80] by [2560, 80, 1]}
v27: float64[2, 16, 16] = contract(v25, v26, a_labels=(3, 0, 1), b_labels=(3, 2, 1), out_labels=(3, 2, 0))
v28: float64[2, 16, 16] = c{+1024 [2, 16, 16] by [2080, 64, 1]}
v29: float64[2, 16, 16] = add(v28, v27)
c{+1024 [2, 16, 16] by [2080, 64, 1]} = v29
for i5 in range(0, 15, 1):
    v35: float64[4, (i5 + 1), 80] = a{+0 [4, (i5 + 1), 80] by [1280, 80, 1]}
    v36: float64[4, 80] = a[i5 + 1:i5 + 50:16, :]
    v37: float64[4, (i5 + 1)] = contract(v35, v36, a_labels=(2, 0, 1), b_labels=(2, 1), out_labels=(2, 0))
    v38: float64[4, (i5 + 1)] = c{+64*i5 + 64 [4, (i5 + 1)] by [1040, 1]}
    v39: float64[4, (i5 + 1)] = add(v38, v37)
    c{+64*i5 + 64 [4, (i5 + 1)] by [1040, 1]} = v39

The numbers that such an axis has in each iteration fill a triangle (and a rectangle, where it does not begin with one).
That is cut into squares (`triangle_pieces`), of which all of one size are products of one shape; triangles of a few
rows stay loops.

What only the products read must be there before the loop. They run before it, and the rest of the loop reads them from
memory of their own; what the loop only adds to is added to at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from ...regions.regions import Region, View, c_strides, contiguous
from ...tape.builder import TapeBuilder
from ...tape.tape import Apply, Buffer, Load, Loop, Operation, walk
from .growing_axes import Cut, cuts_of
from .triangle_pieces import InPiece, Piece, triangle_pieces

Lift = Callable[[Loop, tuple[Loop, ...]], "tuple[Operation, ...] | None"]


class NotCut(Exception):
    """A loop that stays as it is."""


def growing_products(
    builder: TapeBuilder, loop: Loop, around: tuple[Loop, ...], new_index: Callable[[], int], lift: Lift
) -> tuple[Operation, ...]:
    """The loop with its growing products in blocks, and the rest of it; raises `NotCut` where it has none.

    `lift` writes a loop, inside of others, as array operations, or returns None.
    """
    cuts = list(cuts_of(builder.buffers, loop, around))
    if not cuts:
        raise NotCut
    found: list[Operation] = []
    body: dict[int, Operation | None] = dict(enumerate(loop.body))
    for cut in cuts:
        builder.line = loop.body[cut.position].line
        for position in cut.replaced:
            body[position] = None
        place = None
        if cut.target is None:
            place = own_place(builder, cut)
            body[cut.position] = Load(out=cut.value, region=place_of_row(place, cut), line=builder.line)
            if not cut.growth.axes(cut.value.shape):
                found += builder.recorded(functools.partial(store_zeros, builder, place))
        for piece in triangle_pieces(cut.growth, new_index):
            found += in_piece(builder, cut, place, piece, around, lift)
    rest = replace(loop, body=tuple(op for op in body.values() if op is not None))
    return (*found, rest)


def store_zeros(builder: TapeBuilder, place: Buffer) -> None:
    builder.store(place.whole, builder.constant(0, place.dtype))


def own_place(builder: TapeBuilder, cut: Cut) -> Buffer:
    """Memory for a value in all rows."""
    return builder.new_buffer("local", "rows", cut.value.dtype, contiguous(cut.growth.place_of(cut.value)))


def place_of_row(place: Buffer, cut: Cut) -> Region:
    """Where an iteration finds its value."""
    row_stride, *strides = c_strides(place.shape)
    offset = cut.growth.upwards(cut.growth.row, cut.growth.rows) * row_stride
    if cut.growth.in_front:
        offset += sum(strides[k] * (cut.growth.most - cut.growth.extent) for k in cut.growth.axes(cut.value.shape))
    return Region(place.id, View(offset, cut.value.shape, tuple(strides)))


def in_piece(
    builder: TapeBuilder, cut: Cut, place: Buffer | None, piece: Piece, around: tuple[Loop, ...], lift: Lift
) -> tuple[Operation, ...]:
    """The operations for one size of pieces: squares as one product, triangles as a loop over their rows."""
    row = Loop(
        index=piece.index,
        start=0,
        step=1,
        trips=piece.rows,
        body=builder.recorded(lambda: write_piece(builder, cut, place, piece)),
        line=builder.line,
    )
    if piece.is_triangle:
        inside = row.body
        if piece.blocks is not None:
            inside = of_all(replace(piece.blocks, body=row.body, line=row.line), (*around, row), lift)
        return (replace(row, body=inside),)
    found = lift(row, around if piece.blocks is None else (*around, piece.blocks))
    if found is None or not any(isinstance(op, Apply) and op.primitive == "contract" for op in walk(found)):
        raise NotCut
    return found if piece.blocks is None else of_all(replace(piece.blocks, body=found, line=row.line), around, lift)


def of_all(blocks: Loop, around: tuple[Loop, ...], lift: Lift) -> tuple[Operation, ...]:
    """What is done for all blocks of a size at once, or in a loop over them."""
    return lift(blocks, around) or (blocks,)


def write_piece(builder: TapeBuilder, cut: Cut, place: Buffer | None, piece: Piece) -> None:
    """One row of a piece."""
    growth = cut.growth
    copier = InPiece(builder.new_value, growth=growth, piece=piece)
    for op in cut.made_by:
        builder.emit(copier.copy(op))
    value = copier.values[cut.value.id]
    if cut.target is not None:
        target = copier.renamed(cut.target)
    else:
        assert place is not None
        target = copier.renamed(place_of_row(place, cut))
    if cut.target is None and growth.axes(cut.value.shape):
        builder.store(target, value)
    else:
        builder.store(target, builder.apply("add", builder.load(target), value))
