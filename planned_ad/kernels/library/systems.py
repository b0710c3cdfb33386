"""LU, Cholesky and triangular systems in a kernel, by LAPACK and BLAS (see `rules.systems` and `rules.triangular`).

Right sides and results lie row by row. To Fortran they are transposed, so that `A x = b` is solved from the right,
`x^T A^T = b^T`, and nothing is copied but the right side into the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from ...rules.systems import SMALL, order_of_factors
from ..llvm.types import I32, I64
from ..maths import vector_functions
from .equations import integers_to_numbers
from .routines import Item, descending
from .small import emit_small_cholesky, emit_small_lu, mark_not_positive, solve_small


def emit_lu(item: Item) -> None:
    """The factors, column by column; the interchanges as numbers; the first zero pivot."""
    builder, factors = item.builder, item.result
    n, _ = item.shapes[0]
    if n <= SMALL:
        emit_small_lu(item)
        return
    item.copy_in(0, factors, 1, n)
    behind = item.at(factors, (n * n, 1))
    integers = builder.bitcast(behind, I32.as_pointer())
    info = item.info()
    item.call("getrf", n, n, factors, n, integers, info)
    integers_to_numbers(item, integers, behind, n)
    builder.store(builder.sitofp(builder.load(info), factors.type.pointee), item.at(behind, (n, 1)))


def interchange(item: Item, factors: ir.Value, n: int, width: int, k: ir.Value) -> None:
    """Exchange row `k` of the result with the one that the factorisation says."""
    builder = item.builder
    number = builder.load(item.at(factors, (k, 1), (n * n, 1)))
    other = builder.sub(builder.fptosi(number, I64), I64(1))
    with builder.if_then(builder.icmp_signed("!=", other, k)), item.loops(width) as (j,):
        first, second = (item.at(item.result, (row, width), (j, 1)) for row in (k, other))
        a, b = builder.load(first), builder.load(second)
        builder.store(b, first)
        builder.store(a, second)


def solve_factored(item: Item, factors: ir.Value, n: int, width: int, transposed: bool) -> None:
    """Solve in place, where the result holds the right side."""
    if n <= SMALL:
        solve_small(item, factors, n, width, transposed)
        return

    def solve(lower: bool) -> None:
        by_triangle(item, factors, n, item.result, n, width, lower=lower, transposed=transposed, unit=lower)

    if not transposed:
        with item.loops(n) as (k,):
            interchange(item, factors, n, width, k)
        solve(True)
        solve(False)
    else:
        solve(False)
        solve(True)
        with descending(item.builder, n) as k:
            interchange(item, factors, n, width, k)


def by_triangle(
    item: Item, matrix: ir.Value, leading: int, x: ir.Value, n: int, width: int, *, lower, transposed, unit
) -> None:
    """Solve in place with a triangle that lies column by column; `x` lies row by row."""
    half, diagonal = "L" if lower else "U", "U" if unit else "N"
    if width == 1:
        item.call("trsv", half, "T" if transposed else "N", diagonal, n, matrix, leading, x, 1)
        return
    turned = "N" if transposed else "T"
    item.call("trsm", "R", half, turned, diagonal, width, n, 1.0, matrix, leading, x, width)


def emit_lu_solve(item: Item) -> None:
    n, width = item.shapes[1]
    item.copy_in(1, item.result, width, 1)
    solve_factored(item, item.line(0), n, width, item.params["transposed"])


def emit_lu_inverse(item: Item) -> None:
    builder = item.builder
    n = order_of_factors(item.shapes[0][0])
    with item.loops(n, n) as (i, j):
        one = builder.select(builder.icmp_signed("==", i, j), item.number(1), item.number(0))
        builder.store(one, item.at(item.result, (i, n), (j, 1)))
    solve_factored(item, item.line(0), n, n, False)


def emit_lu_factors(item: Item) -> None:
    n = order_of_factors(item.shapes[0][0])
    item.move(item.line(0), (n, 1) if n <= SMALL else (1, n), item.result, (n, 1), (n, n))


@contextmanager
def each_pivot(item: Item, factors: ir.Value, n: int) -> Iterator[tuple[ir.Value, ir.Value]]:
    """The pivots, one after the other, and whether each was found in another row."""
    builder = item.builder
    with item.loops(n) as (k,):
        pivot = builder.load(item.at(factors, (k, n + 1)))
        found = builder.load(item.at(factors, (k, 1), (n * n, 1)))
        own = builder.sitofp(builder.add(k, I64(1)), found.type)
        yield pivot, builder.fcmp_ordered("!=", found, own)


def emit_lu_det(item: Item) -> None:
    builder, factors = item.builder, item.line(0)
    n = order_of_factors(item.shapes[0][0])
    builder.store(item.number(1), item.result)
    with each_pivot(item, factors, n) as (pivot, moved):
        signed = builder.select(moved, builder.fneg(pivot), pivot)
        builder.store(builder.fmul(builder.load(item.result), signed), item.result)


def emit_lu_slogdet(item: Item) -> None:
    """The sign, and the sum of logarithms."""
    builder, factors = item.builder, item.line(0)
    n = order_of_factors(item.shapes[0][0])
    sign, total = item.result, item.at(item.result, (1, 1))
    builder.store(item.number(1), sign)
    builder.store(item.number(0), total)
    zero = item.number(0)
    with each_pivot(item, factors, n) as (pivot, moved):
        signed = builder.select(moved, builder.fneg(pivot), pivot)
        negative = builder.fcmp_ordered("<", signed, zero)
        one = builder.select(negative, item.number(-1), item.number(1))
        one = builder.select(builder.fcmp_unordered("==", signed, zero), builder.fmul(signed, zero), one)
        builder.store(builder.fmul(builder.load(sign), one), sign)
        size = builder.select(builder.fcmp_ordered("<", pivot, zero), builder.fneg(pivot), pivot)
        size = builder.select(builder.fcmp_ordered("==", pivot, zero), zero, size)  # of -0, too
        log = vector_functions.call(builder, "log", [size])
        builder.store(builder.fadd(builder.load(total), log), total)


def emit_cholesky(item: Item) -> None:
    """The lower factor row by row: to Fortran, the upper one."""
    builder, factor = item.builder, item.result
    n, _ = item.shapes[0]
    if n <= SMALL:
        emit_small_cholesky(item)
        return
    with item.loops(n, n) as (i, j):
        number = builder.select(builder.icmp_signed("<=", j, i), item.element(0, i, j), item.number(0))
        builder.store(number, item.at(factor, (i, n), (j, 1)))
    info = item.info()
    item.call("potrf", "U", n, factor, n, info)
    mark_not_positive(item, builder.icmp_signed(">", builder.load(info), I32(0)))


def emit_triangular_solve(item: Item) -> None:
    n, width = item.shapes[1]
    item.copy_in(1, item.result, width, 1)
    lower, transposed, unit = (item.params[name] for name in ("lower", "transposed", "unit"))
    matrix = item.operands[0]
    row, column = item.strides[0]
    if n > 1 and not (row == 1 and column >= n):
        if column == 1 and row >= n:
            lower, transposed, column = not lower, not transposed, row  # row by row: to Fortran, the transpose
        else:
            matrix, column = item.temporary(n * n), n
            item.copy_in(0, matrix, 1, n)
    leading = max(column, n, 1) if n > 1 else 1
    by_triangle(item, matrix, leading, item.result, n, width, lower=lower, transposed=transposed, unit=unit)
