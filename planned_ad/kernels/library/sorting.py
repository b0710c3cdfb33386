"""Sorting: the permutation that sorts a line, by heap sort, in the memory of the result alone.

Equal elements are told apart by their place, so that the order is that of a stable sort. (Williams, Algorithm 232:
Heapsort, Communications of the ACM 7, 1964; Floyd's construction of the heap.)
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from ...planning.schedule import LibraryStep
from ...regions.regions import c_strides
from ..llvm.builder import TerseBuilder
from ..llvm.places import Pointers, loop
from ..llvm.types import I64, POINTER, memory_type

VOID = ir.VoidType()


def emit_argsort(builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers) -> None:
    """One call for each line along the axis."""
    ((memory, view, dtype),) = step.operands
    shape, axis = step.operation.out.shape, int(step.operation.params["axis"])
    if step.operation.out.size == 0:
        return
    sort = sorter(builder.module, dtype)
    units = c_strides(shape)
    source = builder.bitcast(pointers.of(memory), memory_type(dtype).as_pointer())
    result = builder.bitcast(pointers.of(step.result), I64.as_pointer())

    def lines(axes: list[int], start: ir.Value, position: ir.Value) -> None:
        if axes:
            with loop(builder, 0, shape[axes[0]], 1) as i:
                moved = builder.add(start, builder.mul(i, I64(view.strides[axes[0]])))
                lines(axes[1:], moved, builder.add(position, builder.mul(i, I64(units[axes[0]]))))
            return
        line, into = builder.gep(source, [start]), builder.gep(result, [position])
        arguments = [builder.bitcast(line, POINTER), I64(view.strides[axis]), into, I64(units[axis]), I64(shape[axis])]
        builder.call(sort, arguments)

    lines([k for k in range(len(shape)) if k != axis], pointers.offset(builder, view.offset), I64(0))


def sorter(module: ir.Module, dtype: np.dtype) -> ir.Function:
    """`void sort(source, stride, result, result_stride, n)`, once in a module for each dtype."""
    name = f"planned_ad.argsort.{dtype.kind}{dtype.itemsize}"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(VOID, [POINTER, I64, I64.as_pointer(), I64, I64]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    Sorter(function, dtype).emit()
    return function


class Sorter:
    """Writes the function that sorts one line."""

    def __init__(self, function: ir.Function, dtype: np.dtype):
        self.builder = TerseBuilder(function.append_basic_block("entry"))
        source, self.stride, self.result, self.unit, self.n = function.args
        self.dtype = dtype
        self.source = self.builder.bitcast(source, memory_type(dtype).as_pointer())
        self.root, self.moving = self.builder.alloca(I64), self.builder.alloca(I64)

    def place(self, k: ir.Value) -> ir.Value:
        return self.builder.gep(self.result, [self.builder.mul(k, self.unit)])

    def at(self, k: ir.Value) -> ir.Value:
        """The `k`-th index of the permutation."""
        return self.builder.load(self.place(k))

    def emit(self) -> None:
        builder, one = self.builder, I64(1)
        with loop(builder, I64(0), self.n, 1) as i:
            builder.store(i, self.place(i))
        half = builder.lshr(self.n, one)
        with loop(builder, I64(0), half, 1) as i:
            self.sift(builder.sub(builder.sub(half, one), i), self.n)
        with loop(builder, one, self.n, 1) as i:
            last = builder.sub(self.n, i)
            largest, other = self.at(I64(0)), self.at(last)
            builder.store(largest, self.place(last))
            builder.store(other, self.place(I64(0)))
            self.sift(I64(0), last)
        builder.ret_void()

    def sift(self, start: ir.Value, end: ir.Value) -> None:
        """Let what is at `start` sink in the heap before `end`, until both of its children are smaller."""
        builder, one = self.builder, I64(1)
        builder.store(start, self.root)
        builder.store(self.at(start), self.moving)
        look, sink, done = (builder.append_basic_block(name) for name in ("look", "sink", "done"))
        builder.branch(look)
        builder.position_at_end(look)
        root = builder.load(self.root)
        left = builder.add(builder.shl(root, one), one)
        with builder.if_then(builder.icmp_signed(">=", left, end)):
            builder.branch(done)
        right = builder.add(left, one)
        last = builder.icmp_signed(">=", right, end)
        beside = builder.select(last, left, right)
        child = builder.select(self.less(self.at(left), self.at(beside)), beside, left)
        builder.cbranch(self.less(builder.load(self.moving), self.at(child)), sink, done)
        builder.position_at_end(sink)
        builder.store(self.at(child), self.place(root))
        builder.store(child, self.root)
        builder.branch(look)
        builder.position_at_end(done)
        builder.store(builder.load(self.moving), self.place(builder.load(self.root)))

    def less(self, i: ir.Value, j: ir.Value) -> ir.Value:
        """Whether element `i` comes before element `j`."""
        builder = self.builder
        a, b = (builder.load(builder.gep(self.source, [builder.mul(k, self.stride)])) for k in (i, j))
        if self.dtype.kind == "f":
            a_nan, b_nan = (builder.fcmp_unordered("uno", v, v) for v in (a, b))
            before = builder.or_(builder.fcmp_ordered("<", a, b), builder.and_(b_nan, builder.not_(a_nan)))
            equal = builder.or_(builder.fcmp_ordered("==", a, b), builder.and_(a_nan, b_nan))
        else:
            unsigned = self.dtype.kind in "ub"
            before = (builder.icmp_unsigned if unsigned else builder.icmp_signed)("<", a, b)
            equal = builder.icmp_signed("==", a, b)
        return builder.or_(before, builder.and_(equal, builder.icmp_signed("<", i, j)))
