"""Products of matrices by BLAS, through the C pointers that `scipy.linalg.cython_blas` publishes.

A contraction is split into batch, row, column and summed labels. Of each group, the axes that lie at one stride
in memory form one matrix dimension; the others become loops around the call. Where no operand order makes a
dimension contiguous, plain loops do the product (`uses_blas` says so beforehand, and the plan counts it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from ...passes.products import TILED_PRODUCT
from ...planning.schedule import LibraryStep
from ...regions.regions import View
from ..llvm.places import LoopPart, Pointers, loop
from ..llvm.types import I8, I32, I64, constant, memory_type
from ..maths.notation import declare
from .routines import cell, library_symbol
from .shared_tiles import Kind, SharedTiles
from .tiles import Tiled, emit_tiled

SMALLEST_WIDTH = 4  # numbers along a vector: below, most of it would be empty
WORTH_OF_VECTORS = 4  # how much longer another axis has to be than one along which vectors can run


@dataclass(frozen=True, slots=True)
class Dimension:
    """An extent and the strides of first operand, second operand and result along it (0 where it has none)."""

    extent: int
    a: int
    b: int
    out: int


@dataclass(frozen=True, slots=True)
class Product:
    """A contraction as loops around one matrix product `out[m, n] += a[m, k] b[k, n]`."""

    loops: tuple[Dimension, ...]
    sums: tuple[Dimension, ...]  # loops that add up
    m: Dimension
    n: Dimension
    k: Dimension

    @property
    def blas(self) -> bool:
        return self.call_order() is not None

    def call_order(self) -> tuple[bool, str, int, str, int, int] | None:
        """(swapped, transa, lda, transb, ldb, ldc) of a column-major call, or None."""
        for swapped in (False, True):
            m, n = (self.n, self.m) if swapped else (self.m, self.n)
            first = (m.b, self.k.b) if swapped else (m.a, self.k.a)
            second = (self.k.a, n.a) if swapped else (self.k.b, n.b)
            ldc = leading(m.out, n.out, m.extent, n.extent)
            a, b = operand(first, m.extent, self.k.extent), operand(second, self.k.extent, n.extent)
            if ldc is not None and a is not None and b is not None:
                return swapped, *a, *b, ldc
        return None


def leading(unit: int, step: int, extent: int, steps: int) -> int | None:
    """The leading dimension of a column-major matrix with these strides; None if it is none."""
    if unit != 1 and extent > 1:
        return None
    if steps > 1 and step < max(extent, 1):
        return None
    return step if steps > 1 else max(extent, 1)


def operand(strides: tuple[int, int], rows: int, columns: int) -> tuple[str, int] | None:
    """Transposition flag and leading dimension of a `rows` x `columns` operand of BLAS."""
    plain = leading(strides[0], strides[1], rows, columns)
    if plain is not None:
        return "N", plain
    turned = leading(strides[1], strides[0], columns, rows)
    return None if turned is None else ("T", turned)


def product_of(step: LibraryStep) -> Product:
    """How the contraction of `step` is done, from the strides of its operands."""
    params: dict[str, Any] = step.operation.params
    a_labels, b_labels, out_labels = (params[f"{name}_labels"] for name in ("a", "b", "out"))
    (_, a_view, _), (_, b_view, _) = step.operands
    out_strides = dict(zip(out_labels, step.target.strides))
    a_strides, b_strides = dict(zip(a_labels, a_view.strides)), dict(zip(b_labels, b_view.strides))
    extents = dict(zip((*a_labels, *b_labels), (*a_view.shape, *b_view.shape)))
    groups: dict[str, list[Dimension]] = {"batch": [], "m": [], "n": [], "k": []}
    for label in dict.fromkeys((*out_labels, *a_labels)):
        if extents[label] == 1:
            continue
        in_a, in_b, in_out = label in a_strides, label in b_strides, label in out_strides
        kind = "k" if not in_out else "batch" if in_a and in_b else "m" if in_a else "n"
        dimension = Dimension(
            extents[label], a_strides.get(label, 0), b_strides.get(label, 0), out_strides.get(label, 0)
        )
        groups[kind].append(dimension)
    m, m_loops = collapse(groups["m"])
    n, n_loops = collapse(groups["n"])
    k, k_loops = collapse(groups["k"])
    return Product((*groups["batch"], *m_loops, *n_loops), k_loops, m, n, k)


def collapse(group: list[Dimension]) -> tuple[Dimension, tuple[Dimension, ...]]:
    """One dimension of as many axes as lie at one stride everywhere, and the axes left over.

    Of several such the largest, or one along which numbers lie next to each other and that is not much smaller.
    """
    runs: list[Dimension] = []
    for d in group:
        last = runs[-1] if runs else None
        if last and all(x == y * d.extent for x, y in ((last.a, d.a), (last.b, d.b), (last.out, d.out))):
            runs[-1] = Dimension(last.extent * d.extent, d.a, d.b, d.out)
        else:
            runs.append(d)
    if not runs:
        return Dimension(1, 0, 0, 0), ()
    worth = [d.extent * (WORTH_OF_VECTORS if 1 in (d.out, d.a, d.b) else 1) for d in runs]
    best = max(range(len(runs)), key=worth.__getitem__)
    return runs[best], tuple(runs[:best] + runs[best + 1 :])


def emit_contract(builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers, shared: SharedTiles) -> None:
    """The contraction: zero the result where it is added up, then loops around products."""
    emit_zeros(builder, step, pointers)
    emit_products(builder, step, pointers, shared=shared)


def shared_tiles(steps: Iterable[LibraryStep]) -> SharedTiles:
    """The functions for products of these steps of which there are several."""
    return SharedTiles.of(kind for kind in map(kind_of, steps) if kind is not None)


def kind_of(step: LibraryStep) -> Kind | None:
    """The kind of the tiles of a contraction; None where it is done in another way, or whatever its size."""
    dtype, product = step.operation.out.dtype, product_of(step)
    form = tiled_form(product) if dtype.kind == "f" else None
    if form is None or form[1].in_panels:
        return None
    return dtype, step.accumulate or bool(product.sums)


def emit_zeros(builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers) -> None:
    product, out = product_of(step), step.operation.out
    if out.size and (product.k.extent == 0 or product.sums) and not step.accumulate:
        zero(builder, pointers.of(step.result), pointers.offset(builder, step.target.offset), step.target, out.dtype)


def emit_products(
    builder: ir.IRBuilder,
    step: LibraryStep,
    pointers: Pointers,
    part: LoopPart | None = None,
    cut: int | None = None,
    shared: SharedTiles | None = None,
) -> None:
    """The products, on memory that is zero where they are added up; or a `part` of them: those of a stretch of the loop
    around them of this number, or of the rows of tiles. `shared`: functions for some."""
    product = product_of(step)
    dtype, accumulate = step.operation.out.dtype, step.accumulate or bool(product_of(step).sums)
    (a_memory, a_view, _), (b_memory, b_view, _) = step.operands
    bases = [pointers.of(a_memory), pointers.of(b_memory), pointers.of(step.result)]
    offsets = [pointers.offset(builder, view.offset) for view in (a_view, b_view, step.target)]
    if step.operation.out.size == 0:
        return
    if product.k.extent == 0 or any(d.extent == 0 for d in product.sums):
        return

    def inside(dimensions: tuple[Dimension, ...], offsets: list[ir.Value]) -> None:
        if dimensions:
            d = dimensions[0]
            is_cut = part is not None and len(product.loops) - len(dimensions) == cut
            start, stop = (part.first, part.last) if part is not None and is_cut else (0, d.extent)
            with loop(builder, start, stop, 1) as index:
                moved = [
                    builder.add(o, builder.mul(index, ir.Constant(I64, s))) if s else o
                    for o, s in zip(offsets, (d.a, d.b, d.out))
                ]
                inside(dimensions[1:], moved)
            return
        typed = memory_type(dtype)
        places = [builder.gep(builder.bitcast(p, typed.as_pointer()), [o]) for p, o in zip(bases, offsets)]
        tiled = tiled_form(product) if dtype.kind == "f" else None
        if tiled is not None:
            swapped, form = tiled
            scalar, vector = (places[0], places[1]) if swapped else (places[1], places[0])
            rows = part if cut is None else None
            kind = kind_of(step)
            if shared is not None and kind in shared.kinds:
                assert kind is not None
                shared.call(builder, form, kind, (scalar, vector, places[2]))
                return
            emit_tiled(builder, form, scalar, vector, places[2], dtype, accumulate, part=rows)
        elif product.blas and dtype.kind == "f":
            call_gemm(builder, product, places, dtype, accumulate)
        else:
            plain_product(builder, product, places, dtype, accumulate)

    inside((*product.sums, *product.loops), offsets)


def tiled_form(product: Product) -> tuple[bool, Tiled] | None:
    """The product as tiles in registers, where it is small enough and a vector runs along rows or columns.

    The flag says whether vectors run along the columns `n` (then the first operand gives the scalars).
    """
    m, n, k = product.m, product.n, product.k
    found = None
    if n.out == 1 and n.b == 1 and n.extent >= SMALLEST_WIDTH:
        found = True, Tiled(m.extent, n.extent, k.extent, m.a, k.a, k.b, m.out)
    elif m.out == 1 and m.a == 1 and m.extent >= SMALLEST_WIDTH:
        found = False, Tiled(n.extent, m.extent, k.extent, n.b, k.b, k.a, n.out)
    is_large = m.extent * n.extent * k.extent > TILED_PRODUCT
    return None if found is None or (is_large and not found[1].is_thin) else found


def zero(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, view: View, dtype: np.dtype) -> None:
    """Zeros from an offset on, in the shape and the strides of a view."""
    if not view.shape:
        kind = memory_type(dtype)
        builder.store(ir.Constant(kind, 0), builder.gep(builder.bitcast(base, kind.as_pointer()), [offset]))
        return
    with loop(builder, 0, view.shape[0], 1) as i:
        inner = View(0, view.shape[1:], view.strides[1:])
        zero(builder, base, builder.add(offset, builder.mul(i, I64(view.strides[0]))), inner, dtype)


def call_gemm(builder: ir.IRBuilder, product: Product, places: list[ir.Value], dtype, accumulate: bool) -> None:
    order = product.call_order()
    assert order is not None
    swapped, transa, lda, transb, ldb, ldc = order
    m, n = (product.n, product.m) if swapped else (product.m, product.n)
    a, b = (places[1], places[0]) if swapped else (places[0], places[1])
    kind = memory_type(dtype)
    function = declare(
        builder.module,
        library_symbol("dgemm" if dtype.itemsize == 8 else "sgemm"),
        ir.VoidType(),
        [I8.as_pointer()] * 2
        + [I32.as_pointer()] * 3
        + [kind.as_pointer()] * 2
        + [I32.as_pointer(), kind.as_pointer(), I32.as_pointer()]
        + [kind.as_pointer()] * 2
        + [I32.as_pointer()],
    )
    integers = [cell(builder, I32(v)) for v in (m.extent, n.extent, product.k.extent, lda, ldb, ldc)]
    letters = [cell(builder, ir.Constant(I8, ord(c))) for c in (transa, transb)]
    one, beta = cell(builder, constant(dtype, 1)), cell(builder, constant(dtype, 1 if accumulate else 0))
    rows, columns, depth, la, lb, lc = integers
    builder.call(function, [*letters, rows, columns, depth, one, a, la, b, lb, beta, places[2], lc])


def plain_product(builder: ir.IRBuilder, product: Product, places: list[ir.Value], dtype, accumulate: bool) -> None:
    """Three loops, for integers and for strides that BLAS does not take."""
    m, n, k = product.m, product.n, product.k
    floating = dtype.kind == "f"

    def at(place: ir.Value, *steps: tuple[ir.Value, int]) -> ir.Value:
        offset: ir.Value = ir.Constant(I64, 0)
        for index, stride in steps:
            offset = builder.add(offset, builder.mul(index, ir.Constant(I64, stride)))
        return builder.gep(place, [offset])

    with loop(builder, 0, m.extent, 1) as i, loop(builder, 0, n.extent, 1) as j:
        target = at(places[2], (i, m.out), (j, n.out))
        if not accumulate:
            builder.store(constant(dtype, 0), target)
        with loop(builder, 0, k.extent, 1) as q:
            x = builder.load(at(places[0], (i, m.a), (q, k.a)))
            y = builder.load(at(places[1], (q, k.b), (j, n.b)))
            total = builder.load(target)
            if floating:
                builder.store(builder.fadd(total, builder.fmul(x, y, flags=("contract",)), flags=("contract",)), target)
            else:
                builder.store(builder.add(total, builder.mul(x, y)), target)
