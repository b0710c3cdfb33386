"""Checks in machine code that arrays which must not overlap do not.

Two byte ranges overlap where either start lies inside the other; empty ranges contain nothing. A few pairs are compared
one by one. The pairs of many arrays are as many as their number squared, so that the code for them is a loop over
tables: its length does not depend on how many there are, and it compares one array with `LANES` others at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir

from ..llvm.places import Place, loop
from ..llvm.types import I8, I64, POINTER, STACK_ALIGNMENT, splat
from .access import load_one, read

PAIRS_IN_LINE = 64
LANES = 8
INTEGER = np.dtype(np.int64)
BYTE = np.dtype(np.uint8)

Ranges = Sequence[tuple[ir.Value, int]]
"""Of each array the address of its lowest byte, and how many bytes there are from it to the highest one."""
Pairs = Sequence[tuple[int, int]]


def overlap_bits(
    builder: ir.IRBuilder, ranges: Ranges, pairs: Pairs, number: Callable[[int], ir.Value] = I64
) -> list[ir.Value]:
    """Integers of one type that are all zero where no pair of ranges overlaps; `number` makes those of a few pairs."""
    pairs = [(first, second) for first, second in pairs if ranges[first][1] and ranges[second][1]]
    if len(pairs) <= PAIRS_IN_LINE:
        known = {k: (ranges[k][0], number(ranges[k][1])) for k in sorted({k for pair in pairs for k in pair})}
        return [bit for first, second in pairs for bit in both_ways(builder, known[first], known[second])]
    return [TableCheck(builder, ranges, pairs).emit()]


def both_ways(
    builder: ir.IRBuilder,
    one: tuple[ir.Value, ir.Value],
    other: tuple[ir.Value, ir.Value],
) -> tuple[ir.Value, ir.Value]:
    """Whether the other range starts inside the one, and the one inside the other."""
    (low, nbytes), (other_low, other_nbytes) = one, other
    return (
        builder.icmp_unsigned("<", builder.sub(other_low, low), nbytes),
        builder.icmp_unsigned("<", builder.sub(low, other_low), other_nbytes),
    )


class TableCheck:
    """The check as a loop over the rows of a table, which says for each array the others that it is compared with."""

    def __init__(self, builder: ir.IRBuilder, ranges: Ranges, pairs: Pairs) -> None:
        self.builder = builder
        self.count = -(-len(ranges) // LANES) * LANES
        wanted = np.zeros((self.count, self.count), bool)
        for first, second in pairs:
            wanted[min(first, second), max(first, second)] = True
        self.rows = 1 + int(np.flatnonzero(wanted.any(axis=1))[-1])
        self.starts = self.table(I64, [int(n) // LANES * LANES for n in first_true(wanted[: self.rows])])
        self.wanted = self.table(I8, bytearray(wanted[: self.rows].astype(np.uint8).tobytes()))
        self.nbytes = self.table(I64, [n for _, n in ranges] + [0] * (self.count - len(ranges)))
        self.lows = self.addresses(ranges)

    def table(self, kind: ir.Type, numbers: Sequence[int] | bytearray) -> Place:
        array = ir.ArrayType(kind, len(numbers))
        module = self.builder.module
        found = ir.GlobalVariable(module, array, module.get_unique_name("overlaps"))
        found.linkage, found.global_constant, found.initializer = "internal", True, ir.Constant(array, numbers)
        return Place(found.bitcast(POINTER))

    def addresses(self, ranges: Ranges) -> Place:
        """The addresses as an array on the stack; those past the end are never wanted, but read."""
        builder = self.builder
        with builder.goto_entry_block():
            cells = builder.alloca(ir.ArrayType(I64, self.count))
        cells.align = STACK_ALIGNMENT
        for position in range(self.count):
            low = ranges[position][0] if position < len(ranges) else I64(0)
            builder.store(low, builder.gep(cells, [I64(0), I64(position)]))
        return Place(builder.bitcast(cells, POINTER))

    def emit(self) -> ir.Value:
        builder = self.builder
        kind = ir.VectorType(ir.IntType(1), LANES)
        with builder.goto_entry_block():
            cell = builder.alloca(kind)
        builder.store(ir.Constant(kind, [0] * LANES), cell)
        with loop(builder, 0, self.rows, 1) as row:
            one = tuple(
                splat(builder, load_one(builder, place, row, INTEGER), LANES) for place in (self.lows, self.nbytes)
            )
            offset = builder.mul(row, I64(self.count))
            with loop(builder, load_one(builder, self.starts, row, INTEGER), I64(self.count), LANES) as column:
                other = tuple(self.block(place, column, INTEGER) for place in (self.lows, self.nbytes))
                forth, back = both_ways(builder, one, other)  # type: ignore[arg-type]
                wanted = self.block(self.wanted, builder.add(offset, column), BYTE)
                wanted = builder.icmp_unsigned("!=", wanted, ir.Constant(wanted.type, [0] * LANES))
                found = builder.and_(builder.or_(forth, back), wanted)
                builder.store(builder.or_(builder.load(cell), found), cell)
        return builder.bitcast(builder.load(cell), ir.IntType(LANES))

    def block(self, place: Place, offset: ir.Value, dtype: np.dtype) -> ir.Value:
        return read(self.builder, place, offset, 1, dtype, LANES, LANES)


def first_true(rows: np.ndarray) -> np.ndarray:
    """Of each row the first true column; past the end where there is none."""
    return np.where(rows.any(axis=1), rows.argmax(axis=1), rows.shape[1])
