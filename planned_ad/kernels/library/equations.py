"""Banded systems and Sylvester's equation in a kernel, by LAPACK (see `planned_ad.rules.equations`)."""

from __future__ import annotations

import functools

import numpy as np
from llvmlite import ir

from ...rules.equations import is_tridiagonal, routine
from ..llvm.types import I32, I64
from .decompositions import INTEGERS
from .routines import Item, descending, rounded


def emit_band_lu(item: Item) -> None:
    builder = item.builder
    lower, upper = item.params["lower"], item.params["upper"]
    rows, n = item.shapes[0]
    tall = rows + lower
    behind = item.at(item.result, (tall * n, 1))
    info = item.info()
    integers = builder.bitcast(behind, I32.as_pointer())
    if is_tridiagonal(lower, upper, n):
        for k, (row, first, count) in enumerate(((2, 0, n - 1), (1, 0, n), (0, 1, n - 1))):
            with item.loops(count) as (i,):
                place = item.at(item.result, (k * n, 1), (i, 1))
                builder.store(item.element(0, I64(row), builder.add(i, I64(first))), place)
        vectors = [item.at(item.result, (k * n, 1)) for k in range(4)]
        for vector, count in zip(vectors, (n - 1, n, n - 1, n - 2)):
            for k in range(count, n):  # behind it
                builder.store(item.number(0), item.at(vector, (k, 1)))
        item.call("gttrf", n, *vectors, integers, info)
    else:
        with item.loops(n, tall) as (j, i):
            builder.store(item.number(0), item.at(item.result, (i, 1), (j, tall)))
        with item.loops(rows, n) as (i, j):
            builder.store(item.element(0, i, j), item.at(item.result, (lower, 1), (i, 1), (j, tall)))
        item.call("gbtrf", n, n, lower, upper, item.result, tall, integers, info)
    integers_to_numbers(item, integers, behind, n)
    builder.store(builder.sitofp(builder.load(info), item.result.type.pointee), item.at(behind, (n, 1)))


def integers_to_numbers(item: Item, integers: ir.Value, numbers: ir.Value, count: int) -> None:
    """Integers to numbers that begin at the same place, and are at least as wide: from the end."""
    builder = item.builder
    with descending(builder, count) as k:
        number = builder.sitofp(builder.load(builder.gep(integers, [k])), numbers.type.pointee)
        builder.store(number, builder.gep(numbers, [k]))


def emit_band_solve(item: Item) -> None:
    builder = item.builder
    lower, upper = item.params["lower"], item.params["upper"]
    n, width = item.shapes[1]
    tall = 2 * lower + upper + 1
    factors = item.line(0)
    integers, info = item.temporary(n, INTEGERS), item.info()
    with item.loops(n) as (k,):
        number = builder.load(item.at(factors, (tall * n, 1), (k, 1)))
        builder.store(builder.fptosi(number, I32), builder.gep(integers, [k]))
    x = item.result if width == 1 else item.temporary(n * width)
    item.copy_in(1, x, 1, n)
    turned = "T" if item.params["transposed"] else "N"
    if is_tridiagonal(lower, upper, n):
        vectors = [item.at(factors, (k * n, 1)) for k in range(4)]
        item.call("gttrs", turned, n, width, *vectors, integers, x, n, info)
    else:
        item.call("gbtrs", turned, n, lower, upper, width, factors, tall, integers, x, n, info)
    if width > 1:
        item.move(x, (1, n), item.result, (width, 1), (n, width))


def emit_permutation(item: Item) -> None:
    """Interchange after interchange; for the inverse from the last to the first."""
    builder = item.builder
    (n,) = item.shapes[0]
    with item.loops(n) as (k,):
        builder.store(k, item.at(item.result, (k, 1)))

    def interchange(k: ir.Value) -> None:
        other = builder.sub(item.element(0, k), I64(1))
        first, second = item.at(item.result, (k, 1)), item.at(item.result, (other, 1))
        a, b = builder.load(first), builder.load(second)
        builder.store(b, first)
        builder.store(a, second)

    if item.params["inverse"]:
        with descending(builder, n) as k:
            interchange(k)
    else:
        with item.loops(n) as (k,):
            interchange(k)


def emit_sylvester(item: Item) -> None:
    """By the Schur forms of both: `A = U R U^T`, `B = V S V^T`, `R Y + Y S = U^T Q V` (Bartels and Stewart)."""
    m, n = item.shapes[2]
    forms = [schur(item, 0, m), schur(item, 1, n)]
    (r, u), (s, v) = forms
    q, half = item.temporary(m * n), item.temporary(m * n)
    scale, info = item.temporary(1), item.info()
    item.copy_in(2, q, 1, m)
    # (with one operand transposed: see `tiles` for what OpenBLAS does otherwise)
    item.call("gemm", "T", "N", n, m, m, 1.0, q, m, u, m, 0.0, half, n)
    item.call("gemm", "T", "N", m, n, n, 1.0, half, n, v, n, 0.0, q, m)
    item.call("trsyl", "N", "N", 1, m, n, r, m, s, n, q, m, scale, info)
    item.call("gemm", "N", "T", n, m, n, 1.0, v, n, q, m, 0.0, half, n)
    item.call("gemm", "N", "T", m, n, m, 1.0, u, m, half, n, 0.0, q, m)
    builder = item.builder
    factor = builder.fdiv(item.number(1), builder.load(scale))  # `trsyl` solves for `scale` times the right side
    with item.loops(m, n) as (i, j):
        number = builder.fmul(builder.load(item.at(q, (i, 1), (j, m))), factor)
        builder.store(number, item.at(item.result, (i, n), (j, 1)))


def schur(item: Item, k: int, n: int) -> tuple[ir.Value, ir.Value]:
    """The real Schur form of operand `k`, and the orthogonal matrix."""
    form, vectors = item.temporary(n * n), item.temporary(n * n)
    values, work = item.temporary(2 * n), schur_work(n, item.dtype)
    room, flags = item.temporary(work), item.temporary(n, INTEGERS)
    found, info = item.info(), item.info()
    item.copy_in(k, form, 1, n)
    nothing = ir.Constant(I32.as_pointer(), None)  # a choice of eigenvalues, which is not made
    imaginary = item.at(values, (n, 1))
    item.call("gees", "V", "N", nothing, n, form, n, found, values, imaginary, vectors, n, room, work, flags, info)
    return form, vectors


@functools.cache
def schur_work(n: int, dtype: np.dtype) -> int:
    found = routine("gees", dtype)(lambda re, im: None, np.eye(n, dtype=dtype), lwork=-1)
    return max(int(found[-2][0]), 3 * n)


def equation_scratch(primitive: str, shapes: list[tuple[int, ...]], dtype: np.dtype) -> int:
    if primitive == "band_solve":
        (width,), (n, m) = shapes
        return rounded(width * dtype.itemsize) + rounded(4 * n) + rounded(n * m * dtype.itemsize)
    if primitive != "sylvester":
        return 0
    m, n = shapes[2]
    numbers = [k for o in (m, n) for k in (o * o, o * o, 2 * o, schur_work(o, dtype))] + [m * n, m * n, 1]
    return sum(rounded(k * dtype.itemsize) for k in numbers) + rounded(4 * m) + rounded(4 * n)
