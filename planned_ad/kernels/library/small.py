"""LU and Cholesky of small matrices written out in a kernel, where the calls of LAPACK take longer than the arithmetic.

Matrices lie row by row. A row is a vector, so that an elimination takes an instruction or two; rows are exchanged in
memory, where the other row may be any. Pivots are LAPACK's: the first of the largest in each column.
"""

from __future__ import annotations

from llvmlite import ir

from ...rules.triangular import NOT_POSITIVE
from ..llvm.types import I1, I32, I64, register_type, splat
from ..maths.notation import declare, suffix
from .routines import Item, descending

LANES = 8  # numbers of a right side that are solved for at once


def emit_small_lu(item: Item) -> None:
    builder = item.builder
    n, _ = item.shapes[0]
    rows = item.result
    with item.loops(n, n) as (i, j):
        builder.store(item.element(0, i, j), item.at(rows, (i, n), (j, 1)))
    behind = item.at(rows, (n * n, 1))
    info: ir.Value = item.number(0)
    for k in range(n):
        best, place = magnitude_of(item, builder.load(item.at(rows, (k, n + 1)))), I64(k)
        for i in range(k + 1, n):
            size = magnitude_of(item, builder.load(item.at(rows, (i, n), (k, 1))))
            larger = builder.fcmp_ordered(">", size, best)
            best, place = builder.select(larger, size, best), builder.select(larger, I64(i), place)
        number = builder.sitofp(builder.add(place, I64(1)), rows.type.pointee)
        builder.store(number, item.at(behind, (k, 1)))
        other, own = load_row(item, item.at(rows, (place, n)), n), load_row(item, item.at(rows, (k, n)), n)
        store_row(item, own, item.at(rows, (place, n)))
        store_row(item, other, item.at(rows, (k, n)))
        pivot = builder.extract_element(other, I32(k))
        is_zero = builder.fcmp_ordered("==", pivot, item.number(0))
        first = builder.and_(is_zero, builder.fcmp_ordered("==", info, item.number(0)))
        info = builder.select(first, item.number(k + 1), info)
        factor = builder.fdiv(item.number(1), builder.select(is_zero, item.number(1), pivot))
        right = builder.select(lanes(n, lambda j, k=k: j > k), other, ir.Constant(other.type, None))
        for i in range(k + 1, n):
            target = item.at(rows, (i, n))
            row = load_row(item, target, n)
            multiple = builder.fmul(builder.extract_element(row, I32(k)), factor)
            term = builder.fmul(in_each_lane(item, multiple, right.type), right, flags=("contract",))
            row = builder.fsub(row, term, flags=("contract",))
            store_row(item, builder.insert_element(row, multiple, I32(k)), target)
    builder.store(info, item.at(behind, (n, 1)))


def lanes(n: int, holds) -> ir.Constant:
    """Which lanes of a row."""
    return ir.Constant(ir.VectorType(I1, n), [bool(holds(j)) for j in range(n)])


def row_type(item: Item, width: int) -> ir.VectorType:
    """A vector also of one number."""
    return ir.VectorType(register_type(item.dtype), width)


def load_row(item: Item, place: ir.Value, width: int) -> ir.Value:
    found = item.builder.load(item.builder.bitcast(place, row_type(item, width).as_pointer()))
    found.align = item.dtype.itemsize
    return found


def store_row(item: Item, row: ir.Value, place: ir.Value) -> None:
    stored = item.builder.store(row, item.builder.bitcast(place, row.type.as_pointer()))
    stored.align = item.dtype.itemsize


def magnitude_of(item: Item, value: ir.Value) -> ir.Value:
    function = declare(item.builder.module, f"llvm.fabs.{suffix(value.type)}", value.type, [value.type])
    return item.builder.call(function, [value])


def root_of_number(item: Item, value: ir.Value) -> ir.Value:
    function = declare(item.builder.module, f"llvm.sqrt.{suffix(value.type)}", value.type, [value.type])
    return item.builder.call(function, [value])


def solve_small(item: Item, factors: ir.Value, n: int, width: int, transposed: bool) -> None:
    """Solve in place, where the result holds the right side row by row."""

    def interchange(k: ir.Value) -> None:
        builder = item.builder
        number = builder.load(item.at(factors, (k, 1), (n * n, 1)))
        other = builder.sub(builder.fptosi(number, I64), I64(1))
        with item.loops(width) as (j,):
            first, second = (item.at(item.result, (row, width), (j, 1)) for row in (k, other))
            a, b = builder.load(first), builder.load(second)
            builder.store(b, first)
            builder.store(a, second)

    if not transposed:
        with item.loops(n) as (k,):
            interchange(k)
    whole = width - width % LANES
    if whole:
        with item.loops(whole // LANES) as (block,):
            start = item.builder.mul(block, I64(LANES))
            substitute_rows(item, factors, n, item.at(item.result, (start, 1)), width, LANES, transposed)
    if width > whole:
        substitute_rows(item, factors, n, item.at(item.result, (whole, 1)), width, width - whole, transposed)
    if transposed:
        with descending(item.builder, n) as k:
            interchange(k)


def substitute_rows(
    item: Item, factors: ir.Value, n: int, x: ir.Value, step: int, count: int, transposed: bool
) -> None:
    """`L U x = b`, or `U^T L^T x = b`, for `count` columns of right sides."""
    rows = [load_row(item, item.at(x, (i, step)), count) for i in range(n)]
    inverses = [item.builder.fdiv(item.number(1), item.builder.load(item.at(factors, (i, n + 1)))) for i in range(n)]
    for lower in (False, True) if transposed else (True, False):
        upwards = lower != transposed  # from the first unknown to the last
        order = range(n) if upwards else range(n - 1, -1, -1)
        for i in order:
            for j in range(i) if upwards else range(n - 1, i, -1):
                place = item.at(factors, (j, n), (i, 1)) if transposed else item.at(factors, (i, n), (j, 1))
                rows[i] = minus(item, rows[i], item.builder.load(place), rows[j])
            if not lower:
                rows[i] = item.builder.fmul(rows[i], in_each_lane(item, inverses[i], rows[i].type))
    for i, row in enumerate(rows):
        store_row(item, row, item.at(x, (i, step)))


def minus(item: Item, row: ir.Value, factor: ir.Value, other: ir.Value) -> ir.Value:
    term = item.builder.fmul(in_each_lane(item, factor, row.type), other, flags=("contract",))
    return item.builder.fsub(row, term, flags=("contract",))


def in_each_lane(item: Item, value: ir.Value, kind: ir.VectorType) -> ir.Value:
    if kind.count > 1:
        return splat(item.builder, value, kind.count)
    return item.builder.insert_element(ir.Constant(kind, ir.Undefined), value, I32(0))


def emit_small_cholesky(item: Item) -> None:
    """Row after row; numbers stay in registers."""
    builder = item.builder
    n, _ = item.shapes[0]
    found: dict[tuple[int, int], ir.Value] = {}
    inverses: list[ir.Value] = []
    fails: ir.Value = I1(0)
    for i in range(n):
        for j in range(i + 1):
            total = item.element(0, i, j)
            for k in range(j):
                term = builder.fmul(found[i, k], found[j, k], flags=("contract",))
                total = builder.fsub(total, term, flags=("contract",))
            if j < i:
                found[i, j] = builder.fmul(total, inverses[j])
                continue
            fails = builder.or_(fails, builder.fcmp_ordered("<=", total, item.number(0)))
            found[i, i] = root_of_number(item, total)
            inverses.append(builder.fdiv(item.number(1), found[i, i]))
    for i in range(n):
        for j in range(n):
            builder.store(found.get((i, j), item.number(0)), item.at(item.result, (i, n), (j, 1)))
    mark_not_positive(item, fails)


def mark_not_positive(item: Item, fails: ir.Value) -> None:
    """Where there is no factor: see `NOT_POSITIVE`."""
    builder = item.builder
    n, _ = item.shapes[0]
    with builder.if_then(fails, likely=False):
        with item.loops(n, n) as (i, j):
            number = builder.select(builder.icmp_signed("==", i, j), item.number(1), item.number(0))
            builder.store(number, item.at(item.result, (i, n), (j, 1)))
        builder.store(item.number(NOT_POSITIVE), item.result)
