"""Eigenvalues, singular values and QR in a kernel, by LAPACK (see `planned_ad.rules.decompositions`).

Matrices go in column by column, as NumPy hands them over, so that the vectors have the signs that NumPy's have; they
come out row by row. Each routine works in scratch memory of the size that it asks for.
"""

from __future__ import annotations

import functools

import numpy as np
from llvmlite import ir

from ...rules.decompositions import qr_shapes, routine, size, svd_shapes
from ..llvm.types import I32
from .routines import Item, rounded


def emit_eigh(item: Item) -> None:
    n, _ = item.shapes[0]
    values, vectors = item.result, item.at(item.result, (n, 1))
    half = "L" if item.params["lower"] else "U"
    info = item.info()
    if item.params["driver"] == "evr":
        matrix, columns = item.temporary(n * n), item.temporary(n * n)
        item.copy_in(0, matrix, 1, n)
        work, integers = eigh_work(n, "evr", item.dtype)
        support, found = item.temporary(2 * n, INTEGERS), item.info()
        room, whole = item.temporary(work), item.temporary(integers, INTEGERS)
        item.call(
            *("syevr", "V", "A", half, n, matrix, n, 0.0, 1.0, 1, n, 0.0, found, values, columns, n, support),
            *(room, work, whole, integers, info),
        )
    else:
        columns = item.temporary(n * n)
        item.copy_in(0, columns, 1, n)
        work, integers = eigh_work(n, "evd", item.dtype)
        room, whole = item.temporary(work), item.temporary(integers, INTEGERS)
        item.call("syevd", "V", half, n, columns, n, values, room, work, whole, integers, info)
    item.move(columns, (1, n), vectors, (n, 1), (n, n))
    mark_failure(item, info, values)


def emit_svd(item: Item) -> None:
    m, n = item.shapes[0]
    full = item.params["full"]
    (_, p), (k,), (q, _) = shapes = svd_shapes((m, n), full)
    u, s = item.result, item.at(item.result, (size(shapes[0]), 1))
    vh = item.at(s, (k, 1))
    matrix, left, right = item.temporary(m * n), item.temporary(m * p), item.temporary(q * n)
    item.copy_in(0, matrix, 1, m)
    work = svd_work(m, n, full, item.dtype)
    room, integers = item.temporary(work), item.temporary(8 * k, INTEGERS)
    info = item.info()
    item.call("gesdd", "A" if full else "S", m, n, matrix, m, s, left, m, right, q, room, work, integers, info)
    item.move(left, (1, m), u, (p, 1), (m, p))
    item.move(right, (1, q), vh, (n, 1), (q, n))
    mark_failure(item, info, s)


def emit_pinv(item: Item) -> None:
    """`V diag(1 / s) U^T` over the singular values that count; to Fortran, its transpose."""
    builder = item.builder
    m, n = item.shapes[0]
    k = min(m, n)
    matrix, left, right = item.temporary(m * n), item.temporary(m * k), item.temporary(k * n)
    s = item.temporary(k)
    item.copy_in(0, matrix, 1, m)
    work = svd_work(m, n, False, item.dtype)
    room, integers, info = item.temporary(work), item.temporary(8 * k, INTEGERS), item.info()
    item.call("gesdd", "S", m, n, matrix, m, s, left, m, right, k, room, work, integers, info)
    mark_failure(item, info, s)
    least = builder.fmul(builder.load(s), item.number(item.params["rcond"]))
    with item.loops(k) as (j,):
        value = builder.load(item.at(s, (j, 1)))
        factor = builder.fdiv(item.number(1), value)
        factor = builder.select(builder.fcmp_ordered("<=", value, least), item.number(0), factor)
        with item.loops(m) as (i,):
            number = builder.fmul(builder.load(item.at(left, (i, 1), (j, m))), factor)
            builder.store(number, item.at(matrix, (i, k), (j, 1)))  # transposed: see `tiles` for what is so avoided
    item.call("gemm", "T", "N", m, n, k, 1.0, matrix, k, right, k, 0.0, item.result, m)


def emit_qr(item: Item) -> None:
    builder = item.builder
    m, n = item.shapes[0]
    (_, p), _ = qr_shapes((m, n), item.params["complete"])
    q, r = item.result, item.at(item.result, (m * p, 1))
    matrix, factors, work = item.temporary(m * p), item.temporary(n), qr_work(m, n, p, item.dtype)
    room, info = item.temporary(work), item.info()
    item.copy_in(0, matrix, 1, m)
    item.call("geqrf", m, n, matrix, m, factors, room, work, info)
    with item.loops(n, n) as (i, j):
        number = builder.load(item.at(matrix, (i, 1), (j, m)))
        number = builder.select(builder.icmp_signed("<=", i, j), number, item.number(0))
        builder.store(number, item.at(r, (i, n), (j, 1)))
    item.call("orgqr", m, p, n, matrix, m, factors, room, work, info)
    item.move(matrix, (1, m), q, (p, 1), (m, p))


def mark_failure(item: Item, info: ir.Value, values: ir.Value) -> None:
    """Without convergence the first value is nan."""
    builder = item.builder
    with builder.if_then(builder.icmp_signed("!=", builder.load(info), I32(0)), likely=False):
        builder.store(item.number(float("nan")), values)


# Scratch memory.

INTEGERS = np.dtype(np.int32)


@functools.cache
def eigh_work(n: int, driver: str, dtype: np.dtype) -> tuple[int, int]:
    """Numbers and integers; as many as the routine likes best."""
    found, integers, _ = routine(f"sy{driver}_lwork", dtype)(n)
    least = 1 + 6 * n + 2 * n * n if driver == "evd" else 26 * n
    return max(int(found), least), max(int(integers), 3 + 5 * n if driver == "evd" else 10 * n)


@functools.cache
def svd_work(m: int, n: int, full: bool, dtype: np.dtype) -> int:
    found, _ = routine("gesdd_lwork", dtype)(m, n, compute_uv=1, full_matrices=int(full))
    return int(found)


@functools.cache
def qr_work(m: int, n: int, p: int, dtype: np.dtype) -> int:
    first, _ = routine("geqrf_lwork", dtype)(m, n)
    second = routine("orgqr", dtype)(np.zeros((m, p), dtype, "F"), np.zeros(n, dtype), lwork=-1)[1][0]
    return max(int(first), int(second), p)


def scratch_counts(
    primitive: str, shape: tuple[int, int], params: dict, dtype: np.dtype
) -> tuple[list[int], list[int]]:
    """The pieces of scratch memory of a routine: of numbers, and of integers."""
    m, n = shape
    if primitive == "eigh":
        work, integers = eigh_work(n, params["driver"], dtype)
        return [n * n, n * n, work], [2 * n, integers]
    if primitive == "pinv":
        k = min(m, n)
        return [m * n, m * k, k * n, k, svd_work(m, n, False, dtype)], [8 * k]
    if primitive == "svd":
        (_, p), (k,), (q, _) = svd_shapes(shape, params["full"])
        return [m * n, m * p, q * n, svd_work(m, n, params["full"], dtype)], [8 * k]
    (_, p), _ = qr_shapes(shape, params["complete"])
    return [m * p, n, qr_work(m, n, p, dtype)], []


def decomposition_scratch(primitive: str, shape: tuple[int, int], params: dict, dtype: np.dtype) -> int:
    numbers, integers = scratch_counts(primitive, shape, params, dtype)
    return sum(rounded(k * dtype.itemsize) for k in numbers) + sum(rounded(k * 4) for k in integers)
