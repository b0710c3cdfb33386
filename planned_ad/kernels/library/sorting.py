"""Sorting: the permutation that sorts a line, equal elements in their order.

Elements become numbers that are in order as unsigned ones, beside their places. Short lines are sorted by insertion,
others by their digits, the last one first (Knuth, The Art of Computer Programming, volume 3, 5.2.5); digits that are
the same everywhere are passed over.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from ...planning.schedule import LibraryStep
from ...regions.regions import c_strides
from ..llvm.builder import TerseBuilder
from ..llvm.places import Pointers, loop
from ..llvm.types import I64, POINTER, memory_type
from .fourier import SCRATCH

VOID, DOUBLE = ir.VoidType(), ir.DoubleType()
PAIR = ir.LiteralStructType([I64, I64])  # of a number and its place
SHORT = 64  # elements
DIGITS, VALUES = 8, 256
SIGN = 1 << 63


def sorting_scratch(step: LibraryStep) -> int:
    """Bytes for the pairs of a line, twice, and for how often there is each digit."""
    n = step.operation.out.shape[step.operation.params["axis"]]
    return 16 * n if n <= SHORT else 32 * n + 8 * DIGITS * VALUES


def emit_argsort(builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers) -> None:
    """One call for each line along the axis."""
    ((memory, view, dtype),) = step.operands
    shape, axis = step.operation.out.shape, int(step.operation.params["axis"])
    if step.operation.out.size == 0:
        return
    sort = sorter(builder.module, dtype, shape[axis] <= SHORT)
    units, scratch = c_strides(shape), pointers.of(SCRATCH)
    source = builder.bitcast(pointers.of(memory), memory_type(dtype).as_pointer())
    result = builder.bitcast(pointers.of(step.result), I64.as_pointer())

    def lines(axes: list[int], start: ir.Value, position: ir.Value) -> None:
        if axes:
            with loop(builder, 0, shape[axes[0]], 1) as i:
                moved = builder.add(start, builder.mul(i, I64(view.strides[axes[0]])))
                lines(axes[1:], moved, builder.add(position, builder.mul(i, I64(units[axes[0]]))))
            return
        line, into = builder.gep(source, [start]), builder.gep(result, [position])
        given = [builder.bitcast(line, POINTER), I64(view.strides[axis]), into, I64(units[axis]), I64(shape[axis])]
        builder.call(sort, [*given, scratch])

    lines([k for k in range(len(shape)) if k != axis], pointers.offset(builder, view.offset), I64(0))


def sorter(module: ir.Module, dtype: np.dtype, is_short: bool) -> ir.Function:
    """`void sort(source, stride, result, result_stride, n, scratch)`, once in a module for each dtype and length."""
    name = f"planned_ad.argsort.{dtype.kind}{dtype.itemsize}.{'short' if is_short else 'long'}"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(VOID, [POINTER, I64, I64.as_pointer(), I64, I64, POINTER]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    Sorter(function, dtype).emit(is_short)
    return function


class Sorter:
    """Writes the function that sorts one line."""

    def __init__(self, function: ir.Function, dtype: np.dtype):
        self.builder = TerseBuilder(function.append_basic_block("entry"))
        source, self.stride, self.result, self.unit, self.n, self.scratch = function.args
        self.dtype = dtype
        self.source = self.builder.bitcast(source, memory_type(dtype).as_pointer())

    def emit(self, is_short: bool) -> None:
        builder = self.builder
        pairs = builder.bitcast(self.scratch, PAIR.as_pointer())
        with loop(builder, I64(0), self.n, 1) as i:
            self.store(self.number_at(i), i, self.pair(pairs, i))
        if is_short:
            self.insert(pairs)
        else:
            pairs = self.by_digits(pairs)
        with loop(builder, I64(0), self.n, 1) as i:
            place = builder.gep(self.result, [builder.mul(i, self.unit)])
            builder.store(builder.load(self.field(self.pair(pairs, i), 1)), place)
        builder.ret_void()

    # Numbers and pairs.

    def number_at(self, i: ir.Value) -> ir.Value:
        """The number that stands for an element: nan is the largest, and zero has no sign."""
        builder = self.builder
        value = builder.load(builder.gep(self.source, [builder.mul(i, self.stride)]))
        if self.dtype.kind == "f":
            value = value if value.type == DOUBLE else builder.fpext(value, DOUBLE)
            bits = builder.bitcast(builder.fadd(value, DOUBLE(0.0)), I64)
            turned = builder.or_(builder.ashr(bits, I64(63)), I64(SIGN))
            is_nan = builder.fcmp_unordered("uno", value, value)
            return builder.select(is_nan, I64(-1), builder.xor(bits, turned))
        if self.dtype.kind in "ub":
            return value if value.type == I64 else builder.zext(value, I64)
        return builder.xor(value if value.type == I64 else builder.sext(value, I64), I64(SIGN))

    def pair(self, pairs: ir.Value, i: ir.Value) -> ir.Value:
        return self.builder.gep(pairs, [i])

    def field(self, pair: ir.Value, number: int) -> ir.Value:
        return self.builder.gep(pair, [ir.IntType(32)(0), ir.IntType(32)(number)])

    def store(self, number: ir.Value, place: ir.Value, pair: ir.Value) -> None:
        self.builder.store(number, self.field(pair, 0))
        self.builder.store(place, self.field(pair, 1))

    # By insertion.

    def insert(self, pairs: ir.Value) -> None:
        """Each pair is let down among those before it, below the larger ones."""
        builder, one = self.builder, I64(1)
        with loop(builder, one, self.n, 1) as i:
            own, place = (builder.load(self.field(self.pair(pairs, i), k)) for k in (0, 1))
            before, look, move, done = builder.block, *(builder.append_basic_block(n) for n in ("look", "move", "done"))
            step = builder.append_basic_block("step")
            builder.branch(look)
            builder.position_at_end(look)
            j = builder.phi(I64)
            j.add_incoming(i, before)
            builder.cbranch(builder.icmp_signed(">", j, I64(0)), step, done)
            builder.position_at_end(step)
            below = builder.sub(j, one)
            other = self.pair(pairs, below)
            number = builder.load(self.field(other, 0))
            builder.cbranch(builder.icmp_unsigned(">", number, own), move, done)
            builder.position_at_end(move)
            self.store(number, builder.load(self.field(other, 1)), self.pair(pairs, j))
            j.add_incoming(below, builder.block)
            builder.branch(look)
            builder.position_at_end(done)
            self.store(own, place, self.pair(pairs, j))

    # By digits.

    def by_digits(self, pairs: ir.Value) -> ir.Value:
        """Where the pairs are in order: in one of the two halves of the memory."""
        builder = self.builder
        other = builder.gep(pairs, [self.n])
        counts = builder.bitcast(builder.gep(other, [self.n]), I64.as_pointer())
        with loop(builder, 0, DIGITS * VALUES, 1) as k:
            builder.store(I64(0), builder.gep(counts, [k]))
        with loop(builder, I64(0), self.n, 1) as i:
            number = builder.load(self.field(self.pair(pairs, i), 0))
            for digit in range(DIGITS):
                self.add_one(self.count(counts, digit, self.digit_of(number, digit)))
        first = builder.load(self.field(pairs, 0))
        for digit in range(DIGITS):
            all_the_same = builder.load(self.count(counts, digit, self.digit_of(first, digit)))
            before = builder.block
            with builder.if_then(builder.icmp_signed("!=", all_the_same, self.n)):
                self.deal(pairs, other, counts, digit)
                dealt = builder.block
            found, left = builder.phi(pairs.type), builder.phi(pairs.type)
            for phi, new, old in ((found, other, pairs), (left, pairs, other)):
                phi.add_incoming(new, dealt)
                phi.add_incoming(old, before)
            pairs, other = found, left
        return pairs

    def deal(self, pairs: ir.Value, other: ir.Value, counts: ir.Value, digit: int) -> None:
        """Move all pairs to the other half, those with a smaller digit before those with a larger one."""
        builder = self.builder
        with builder.goto_entry_block():
            start = builder.alloca(I64)
        builder.store(I64(0), start)
        with loop(builder, 0, VALUES, 1) as value:
            cell = self.count(counts, digit, value)
            count, here = builder.load(cell), builder.load(start)
            builder.store(here, cell)
            builder.store(builder.add(here, count), start)
        with loop(builder, I64(0), self.n, 1) as i:
            own, place = (builder.load(self.field(self.pair(pairs, i), k)) for k in (0, 1))
            to = self.add_one(self.count(counts, digit, self.digit_of(own, digit)))
            self.store(own, place, self.pair(other, to))

    def digit_of(self, number: ir.Value, digit: int) -> ir.Value:
        builder = self.builder
        return builder.and_(builder.lshr(number, I64(8 * digit)), I64(VALUES - 1))

    def count(self, counts: ir.Value, digit: int, value: ir.Value) -> ir.Value:
        return self.builder.gep(counts, [self.builder.add(value, I64(VALUES * digit))])

    def add_one(self, cell: ir.Value) -> ir.Value:
        """What was in a cell, which is one more then."""
        found = self.builder.load(cell)
        self.builder.store(self.builder.add(found, I64(1)), cell)
        return found
