"""Matrix products of moderate size in registers: `out[v, u] = sum over k of scalar[v, k] * vector[k, u]`.

A tile of the result, some rows of `v` by two vectors along `u`, is summed up in registers; for each `k` it takes two
vector loads and one broadcast number a row. At these sizes the operands stay in cache. OpenBLAS allocates heap memory
in its routine for small products with both operands untransposed (seen on AVX-512 machines), and whenever it uses
threads; this one does not. (The tile: Goto & van de Geijn, Anatomy of high-performance matrix multiplication, 2008.)

Products of few rows are done here whatever their size: they read the vector operand once, as fast as memory is, some
steps of `k` after the others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from llvmlite import ir

from ...passes.products import TILED_PRODUCT
from ..llvm.places import LoopPart, Place, at_most, loop
from ..llvm.types import I64, POINTER, constant, register_type, splat
from ..nests.access import Tail, load_one, put, read
from ..nests.lanes import add

ROWS = (6, 5, 4)
THIN = 16  # rows, at most, of products that take as long as reading the vector operand once does
PANEL = 32  # steps of `k` of these at a time, whose rows are read side by side
VECTORS = 2
VECTOR_BYTES = 64


Number: TypeAlias = "int | ir.Value"


@dataclass(frozen=True, slots=True)
class Tiled:
    """The three extents and the strides that are not one: `vector` and `out` are contiguous along `u`.

    In a function for all sizes they are its arguments.
    """

    rows: Number  # of v
    width: Number  # of u
    depth: Number  # of k
    scalar_row: Number
    scalar_step: Number
    vector_step: Number
    out_row: Number

    @property
    def is_thin(self) -> bool:
        return self.rows <= THIN

    @property
    def in_panels(self) -> bool:
        """Whether some steps are done after the others."""
        return self.is_thin and self.depth * self.width > TILED_PRODUCT // THIN


def emit_tiled(
    builder: ir.IRBuilder,
    product: Tiled,
    scalar: ir.Value,
    vector: ir.Value,
    out: ir.Value,
    dtype: np.dtype,
    accumulate: bool,
    part: LoopPart | None = None,
) -> None:
    """The product, with or without adding to what `out` holds; pointers to the first elements. `part`: of the rows."""
    places = tuple(Place(builder.bitcast(p, POINTER)) for p in (scalar, vector, out))
    if not product.in_panels:
        emit_tiles(builder, product, places, (0, product.depth), dtype, accumulate, part)
        return
    begin = product.depth % PANEL or PANEL
    emit_tiles(builder, product, places, (0, begin), dtype, accumulate, part)
    with loop(builder, begin, product.depth, PANEL) as k:
        emit_tiles(builder, product, places, (k, builder.add(k, I64(PANEL))), dtype, True, part)


def emit_tiles(
    builder: ir.IRBuilder,
    product: Tiled,
    places: tuple[Place, ...],
    depth: tuple[int | ir.Value, int | ir.Value],
    dtype: np.dtype,
    accumulate: bool,
    part: LoopPart | None,
) -> None:
    """All tiles, of the products from one step of `k` to another."""
    lanes = VECTOR_BYTES // dtype.itemsize
    for first, last, rows in stretches(product.rows, tile_rows(product.rows)):
        start, stop = rows_of_part(builder, part, first, last)
        with loop(builder, start, stop, rows) as v:
            for start, stop, width in stretches(product.width, lanes * VECTORS):
                with loop(builder, start, stop, width) as u:
                    counts = [min(lanes, width - done) for done in range(0, width, lanes)]
                    emit_tile(builder, product, places, depth, v, u, rows, counts, dtype, accumulate)


def rows_of_part(
    builder: ir.IRBuilder, part: LoopPart | None, first: int, last: int
) -> tuple[int | ir.Value, int | ir.Value]:
    """The rows of whole tiles, or of those that are left over, that a part has."""
    if part is None:
        return first, last
    if not first:
        return part.first, at_most(builder, part.last, last)
    return builder.select(builder.icmp_signed("==", part.last, I64(last)), I64(first), I64(last)), I64(last)


def stretches(extent: int, step: int) -> list[tuple[int, int, int]]:
    """(start, stop, step) of the whole tiles along an extent, and of the narrower one that is left over."""
    whole = extent - extent % step
    found = [(0, whole, step), (whole, extent, extent - whole)]
    return [(start, stop, size) for start, stop, size in found if start < stop]


def tile_rows(rows: int) -> int:
    """Rows of a tile: a divisor where there is one, so that the code is there once."""
    return next((size for size in ROWS if rows % size == 0), ROWS[0])


def emit_tile(
    builder: ir.IRBuilder,
    product: Tiled,
    places: tuple[Place, ...],
    depth: tuple[int | ir.Value, int | ir.Value],
    v: ir.Value,
    u: ir.Value,
    rows: int,
    counts: Sequence[int | Tail],
    dtype: np.dtype,
    accumulate: bool,
    last_row: ir.Value | None = None,
) -> None:
    """`rows` of the result from `(v, u)` on, of so many numbers in each of the vectors next to each other.

    With `last_row`, those after it are not there.
    """
    scalar, vector, out = places
    lanes = VECTOR_BYTES // dtype.itemsize
    kind = register_type(dtype, lanes)

    def moved(offset: ir.Value, distance: Number) -> ir.Value:
        return builder.add(offset, I64(distance) if isinstance(distance, int) else distance)

    def scaled(index: ir.Value, stride: Number) -> ir.Value:
        return builder.mul(index, I64(stride) if isinstance(stride, int) else stride)

    with builder.goto_entry_block():
        cells = [[builder.alloca(kind) for _ in counts] for _ in range(rows)]
    for row in cells:
        for cell in row:
            builder.store(constant(dtype, 0, lanes), cell)
    first = scaled(v, product.scalar_row)
    starts = [moved(first, scaled(I64(i), product.scalar_row)) for i in range(rows)]
    if last_row is not None:
        known = [builder.add(v, I64(i)) for i in range(rows)]
        present = [builder.icmp_signed("<=", row, last_row) for row in known]
        starts = [scaled(builder.select(p, row, last_row), product.scalar_row) for p, row in zip(present, known)]
    with loop(builder, *depth, 1) as k:
        along = builder.add(scaled(k, product.vector_step), u)
        loaded = [read(builder, vector, moved(along, j * lanes), 1, dtype, lanes, n) for j, n in enumerate(counts)]
        along_row = scaled(k, product.scalar_step)
        for start, row in zip(starts, cells):
            number = splat(builder, load_one(builder, scalar, builder.add(start, along_row), dtype), lanes)
            for cell, numbers in zip(row, loaded):
                term = builder.fmul(number, numbers, flags=("contract",))
                builder.store(add(builder, builder.load(cell), term, dtype), cell)
    target = builder.add(scaled(v, product.out_row), u)
    for i, row in enumerate(cells):
        with contextlib.nullcontext() if last_row is None else builder.if_then(present[i]):
            for j, (cell, n) in enumerate(zip(row, counts)):
                where = moved(moved(target, scaled(I64(i), product.out_row)), j * lanes)
                total = builder.load(cell)
                if accumulate:
                    total = add(builder, read(builder, out, where, 1, dtype, lanes, n), total, dtype)
                put(builder, out, where, 1, dtype, total, lanes, n)
