"""Decompositions of complex matrices, and eigenvalues of any, in a kernel (see `planned_ad.rules.eigenvalues`).

As in `decompositions`: matrices go in column by column, and come out row by row; complex numbers are pairs.
"""

from __future__ import annotations

import functools

import numpy as np
from llvmlite import ir

from ...rules.complex_decompositions import COMPLEX
from ...rules.decompositions import qr_shapes, routine, svd_shapes
from ..llvm.types import I64
from .decompositions import INTEGERS, mark_failure
from .routines import Item, rounded

Shape = tuple[int, ...]


def copy_pairs_in(item: Item, target: ir.Value) -> None:
    """The pairs of the operand, column by column."""
    m, n, _ = item.shapes[0]
    with item.loops(m, n, 2) as (i, j, part):
        item.builder.store(item.element(0, i, j, part), item.at(target, (i, 2), (j, 2 * m), (part, 1)))


def move_pairs(item: Item, source: ir.Value, leading: int, target: ir.Value, shape: tuple[int, int]) -> None:
    """Pairs that lie column by column, to where they lie row by row."""
    with item.loops(*shape, 2) as (i, j, part):
        number = item.builder.load(item.at(source, (i, 2), (j, 2 * leading), (part, 1)))
        item.builder.store(number, item.at(target, (i, 2 * shape[1]), (j, 2), (part, 1)))


class Scratch:
    """The pieces of scratch memory that a routine was promised, in their order."""

    def __init__(self, item: Item):
        self.item = item
        counts, integers = _scratch_counts(item.operation.primitive, item.shapes[0], item.params, item.dtype)
        self.numbers = [item.temporary(count) for count in counts]
        self.integers = [item.temporary(count, INTEGERS) for count in integers]


def emit_complex_eigh(item: Item) -> None:
    n, _, _ = item.shapes[0]
    values, vectors = item.result, item.at(item.result, (n, 1))
    half, info = "L" if item.params["lower"] else "U", item.info()
    work, reals, integers = _eigh_work(n, item.params["driver"], item.dtype)
    scratch = Scratch(item)
    matrix, columns, room, more = scratch.numbers
    support, whole = scratch.integers
    copy_pairs_in(item, matrix)
    if item.params["driver"] == "evr":
        item.call_complex(
            *("heevr", "V", "A", half, n, matrix, n, 0.0, 1.0, 1, n, 0.0, item.info(), values, columns, n, support),
            *(room, work, more, reals, whole, integers, info),
        )
        matrix = columns
    else:
        item.call_complex("heevd", "V", half, n, matrix, n, values, room, work, more, reals, whole, integers, info)
    move_pairs(item, matrix, n, vectors, (n, n))
    mark_failure(item, info, values)


def emit_complex_svd(item: Item) -> None:
    m, n, _ = item.shapes[0]
    full = item.params["full"]
    (_, p), (k,), (q, _) = svd_shapes((m, n), full)
    u, s = item.result, item.at(item.result, (2 * m * p, 1))
    vh = item.at(s, (k, 1))
    scratch, info = Scratch(item), item.info()
    matrix, left, right, room, more = scratch.numbers
    (whole,) = scratch.integers
    copy_pairs_in(item, matrix)
    work, _ = _svd_work(m, n, full, item.dtype)
    item.call_complex(
        *("gesdd", "A" if full else "S", m, n, matrix, m, s, left, m, right, q),
        *(room, work, more, whole, info),
    )
    move_pairs(item, left, m, u, (m, p))
    move_pairs(item, right, q, vh, (q, n))
    mark_failure(item, info, s)


def emit_complex_qr(item: Item) -> None:
    builder = item.builder
    m, n, _ = item.shapes[0]
    (_, p), _ = qr_shapes((m, n), item.params["complete"])
    q, r = item.result, item.at(item.result, (2 * m * p, 1))
    matrix, factors, room = Scratch(item).numbers
    work, info = _qr_work(m, n, p, item.dtype), item.info()
    copy_pairs_in(item, matrix)
    item.call_complex("geqrf", m, n, matrix, m, factors, room, work, info)
    with item.loops(n, n, 2) as (i, j, part):
        number = builder.load(item.at(matrix, (i, 2), (j, 2 * m), (part, 1)))
        number = builder.select(builder.icmp_signed("<=", i, j), number, item.number(0))
        builder.store(number, item.at(r, (i, 2 * n), (j, 2), (part, 1)))
    item.call_complex("ungqr", m, p, n, matrix, m, factors, room, work, info)
    move_pairs(item, matrix, m, q, (m, p))


def emit_complex_eig(item: Item) -> None:
    n, _, _ = item.shapes[0]
    vectors = item.at(item.result, (2 * n, 1))
    matrix, columns, room, more = Scratch(item).numbers
    work, info = _eig_work(n, True, item.dtype), item.info()
    copy_pairs_in(item, matrix)
    item.call_complex(
        "geev", "N", "V", n, matrix, n, item.result, columns, n, columns, n, room, work, more, info
    )  # the left vectors are not asked for
    move_pairs(item, columns, n, vectors, (n, n))
    mark_failure(item, info, item.result)


def emit_eig(item: Item) -> None:
    """Of two values that are conjugates LAPACK gives one vector: its real part, and in the next column the other."""
    builder = item.builder
    n, _ = item.shapes[0]
    zero = item.number(0)
    vectors = item.at(item.result, (2 * n, 1))
    matrix, columns, room, values = Scratch(item).numbers
    others = item.at(values, (n, 1))
    work, info = _eig_work(n, False, item.dtype), item.info()
    item.copy_in(0, matrix, 1, n)
    item.call("geev", "N", "V", n, matrix, n, values, others, columns, n, columns, n, room, work, info)
    with item.loops(n) as (j,):
        imag = builder.load(item.at(others, (j, 1)))
        builder.store(builder.load(item.at(values, (j, 1))), item.at(item.result, (j, 2)))
        builder.store(imag, item.at(item.result, (j, 2), (1, 1)))
        is_first, is_second = builder.fcmp_ordered(">", imag, zero), builder.fcmp_ordered("<", imag, zero)
        real_at = builder.select(is_second, builder.sub(j, I64(1)), j)
        imag_at = builder.select(is_first, builder.add(j, I64(1)), j)
        with item.loops(n) as (i,):
            other = builder.load(item.at(columns, (i, 1), (imag_at, n)))
            other = builder.select(is_first, other, builder.select(is_second, builder.fneg(other), zero))
            builder.store(builder.load(item.at(columns, (i, 1), (real_at, n))), item.at(vectors, (i, 2 * n), (j, 2)))
            builder.store(other, item.at(vectors, (i, 2 * n), (j, 2), (1, 1)))
    mark_failure(item, info, item.result)


# Scratch memory: numbers of LAPACK's that are complex count twice.


@functools.cache
def _eigh_work(n: int, driver: str, dtype: np.dtype) -> tuple[int, int, int]:
    """Complex numbers, reals and integers."""
    best = int(routine(f"he{driver}_lwork", COMPLEX[dtype.char])(n)[0].real)
    if driver == "evr":
        return max(best, 2 * n), 24 * n, 10 * n
    return max(best, 2 * n + n * n), 1 + 5 * n + 2 * n * n, 3 + 5 * n


@functools.cache
def _svd_work(m: int, n: int, full: bool, dtype: np.dtype) -> tuple[int, int]:
    """Complex numbers and reals."""
    found, _ = routine("gesdd_lwork", COMPLEX[dtype.char])(m, n, compute_uv=1, full_matrices=int(full))
    k, larger = min(m, n), max(m, n)
    return int(found.real), max(5 * k * k + 7 * k, 2 * larger * k + 2 * k * k + k)


@functools.cache
def _qr_work(m: int, n: int, p: int, dtype: np.dtype) -> int:
    kind = COMPLEX[dtype.char]
    first, _ = routine("geqrf_lwork", kind)(m, n)
    second = routine("ungqr", kind)(np.zeros((m, p), kind, "F"), np.zeros(n, kind), lwork=-1)[1][0]
    return max(int(first.real), int(second.real), p)


@functools.cache
def _eig_work(n: int, is_complex: bool, dtype: np.dtype) -> int:
    found, _ = routine("geev_lwork", COMPLEX[dtype.char] if is_complex else dtype)(n, compute_vl=0, compute_vr=1)
    return max(int(np.real(found)), 2 * n if is_complex else 4 * n)


def _scratch_counts(primitive: str, shape: Shape, params: dict, dtype: np.dtype) -> tuple[list[int], list[int]]:
    """The pieces of scratch memory of a routine: of real numbers, and of integers."""
    m, n = shape[:2]
    if primitive == "eig":
        return [n * n, n * n, _eig_work(n, False, dtype), 2 * n], []
    if primitive == "complex_eig":
        return [2 * n * n, 2 * n * n, 2 * _eig_work(n, True, dtype), 2 * n], []
    if primitive == "complex_eigh":
        work, reals, integers = _eigh_work(n, params["driver"], dtype)
        return [2 * n * n, 2 * n * n, 2 * work, reals], [2 * n, integers]
    if primitive == "complex_svd":
        (_, p), (k,), (q, _) = svd_shapes((m, n), params["full"])
        work, reals = _svd_work(m, n, params["full"], dtype)
        return [2 * m * n, 2 * m * p, 2 * q * n, 2 * work, reals], [8 * k]
    (_, p), _ = qr_shapes((m, n), params["complete"])
    return [2 * m * p, 2 * n, 2 * _qr_work(m, n, p, dtype)], []


def complex_decomposition_scratch(primitive: str, shape: Shape, params: dict, dtype: np.dtype) -> int:
    numbers, integers = _scratch_counts(primitive, shape, params, dtype)
    return sum(rounded(k * dtype.itemsize) for k in numbers) + sum(rounded(k * 4) for k in integers)
