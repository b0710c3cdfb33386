"""Matrix products of moderate size in registers: `out[v, u] = sum over k of scalar[v, k] * vector[k, u]`.

A tile of the result, some rows of `v` by two vectors along `u`, is summed up in registers; for each `k` it takes two
vector loads and one broadcast number a row. At these sizes everything stays in cache. The routine of OpenBLAS for such
products with both operands untransposed allocates heap memory at each call (seen with 0.3.29 on AVX-512 machines);
this one does not. (Goto & van de Geijn, Anatomy of high-performance matrix multiplication, 2008, for the tile.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from .access import load_one, put, read
from .lanes import add
from .places import loop
from .types import I64, POINTER, constant, register_type, splat

ROWS = 6
VECTORS = 2
VECTOR_BYTES = 64
LARGEST = 100**3  # multiplications: beyond, BLAS blocks for the caches


@dataclass(frozen=True, slots=True)
class Tiled:
    """The three extents and the strides that are not one: `vector` and `out` are contiguous along `u`."""

    rows: int  # of v
    width: int  # of u
    depth: int  # of k
    scalar_row: int
    scalar_step: int
    vector_step: int
    out_row: int


def emit_tiled(
    builder: ir.IRBuilder,
    product: Tiled,
    scalar: ir.Value,
    vector: ir.Value,
    out: ir.Value,
    dtype: np.dtype,
    accumulate: bool,
) -> None:
    """The product, with or without adding to what `out` holds; pointers to the first elements."""
    lanes = VECTOR_BYTES // dtype.itemsize
    scalar, vector, out = (builder.bitcast(p, POINTER) for p in (scalar, vector, out))
    block = lanes * VECTORS
    full = product.width - product.width % block
    rest = range(full, product.width, lanes)
    parts = [(0, full, block)] if full else []
    parts += [(start, start + lanes, min(lanes, product.width - start)) for start in rest]
    rows = product.rows - product.rows % ROWS
    for first, last, count in ((0, rows, ROWS), (rows, product.rows, product.rows - rows)):
        if first == last:
            continue
        with loop(builder, first, last, count) as v:
            for start, stop, wide in parts:
                with loop(builder, start, stop, max(wide, lanes)) as u:
                    emit_tile(builder, product, (scalar, vector, out), v, u, count, wide, dtype, accumulate)


def emit_tile(
    builder: ir.IRBuilder,
    product: Tiled,
    places: tuple[ir.Value, ir.Value, ir.Value],
    v: ir.Value,
    u: ir.Value,
    rows: int,
    width: int,
    dtype: np.dtype,
    accumulate: bool,
) -> None:
    """`rows` by `width` elements of the result, from `(v, u)` on."""
    scalar, vector, out = places
    lanes = VECTOR_BYTES // dtype.itemsize
    counts = [min(lanes, width - done) for done in range(0, width, lanes)]
    kind = register_type(dtype, lanes)

    def moved(offset: ir.Value, distance: int) -> ir.Value:
        return builder.add(offset, ir.Constant(I64, distance))

    def scaled(index: ir.Value, stride: int) -> ir.Value:
        return builder.mul(index, ir.Constant(I64, stride))

    with builder.goto_entry_block():
        cells = [[builder.alloca(kind) for _ in counts] for _ in range(rows)]
    for row in cells:
        for cell in row:
            builder.store(constant(dtype, 0, lanes), cell)
    first = scaled(v, product.scalar_row)
    with loop(builder, 0, product.depth, 1) as k:
        along = builder.add(scaled(k, product.vector_step), u)
        loaded = [read(builder, vector, moved(along, j * lanes), 1, dtype, lanes, n) for j, n in enumerate(counts)]
        across = builder.add(first, scaled(k, product.scalar_step))
        for i, row in enumerate(cells):
            number = splat(builder, load_one(builder, scalar, moved(across, i * product.scalar_row), dtype), lanes)
            for cell, numbers in zip(row, loaded):
                term = builder.fmul(number, numbers, flags=("contract",))
                builder.store(add(builder, builder.load(cell), term, dtype), cell)
    target = builder.add(scaled(v, product.out_row), u)
    for i, row in enumerate(cells):
        for j, (cell, n) in enumerate(zip(row, counts)):
            place = moved(target, i * product.out_row + j * lanes)
            total = builder.load(cell)
            if accumulate:
                total = add(builder, read(builder, out, place, 1, dtype, lanes, n), total, dtype)
            put(builder, out, place, 1, dtype, total, lanes, n)
