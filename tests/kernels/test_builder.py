"""What the builder of LLVM leaves out, and what it must not."""

from __future__ import annotations

from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

import planned_ad
from planned_ad.kernels.llvm.builder import TerseBuilder
from planned_ad.kernels.llvm.types import I64, POINTER, splat
from planned_ad.kernels.maths.notation import F64


@pytest.fixture
def function() -> ir.Function:
    kind = ir.FunctionType(ir.VoidType(), [POINTER, I64, I64])
    return ir.Function(ir.Module("test"), kind, "f")


def written(function: ir.Function) -> list[str]:
    """The operations of a function; LLVM finds nothing wrong with it."""
    with llvm.parse_assembly(str(function.module)) as module:
        module.verify()
    return [instruction.opname for block in function.blocks for instruction in block.instructions]


def builder_of(function: ir.Function) -> TerseBuilder:
    return TerseBuilder(function.append_basic_block("entry"))


SAME = {
    "plus zero": lambda b, p, i, j: b.add(i, I64(0)),
    "zero plus": lambda b, p, i, j: b.add(I64(0), i),
    "times one": lambda b, p, i, j: b.mul(i, I64(1)),
    "one times": lambda b, p, i, j: b.mul(I64(1), i),
}


@pytest.mark.parametrize("write", SAME.values(), ids=SAME)
def test_what_says_nothing_is_left_out(function: ir.Function, write: Callable) -> None:
    builder = builder_of(function)
    assert write(builder, *function.args) is function.args[1]
    builder.ret_void()
    assert written(function) == ["ret void"]


def test_the_first_element_is_where_memory_starts(function: ir.Function) -> None:
    builder, (pointer, index, _) = builder_of(function), function.args
    assert builder.gep(pointer, [I64(0)]) is pointer
    assert builder.gep(pointer, [index]) is not pointer
    builder.ret_void()
    assert written(function) == ["getelementptr", "ret void"]


def test_what_a_block_has_said_is_not_said_again(function: ir.Function) -> None:
    builder, (pointer, one, other) = builder_of(function), function.args
    first = builder.gep(pointer, [builder.add(one, builder.mul(other, I64(3)))])
    assert builder.gep(pointer, [builder.add(one, builder.mul(other, I64(3)))]) is first
    builder.ret_void()
    assert written(function) == ["mul", "add", "getelementptr", "ret void"]


def test_what_differs_is_said(function: ir.Function) -> None:
    builder, (pointer, one, other) = builder_of(function), function.args
    sums = [builder.add(one, other), builder.add(one, other, flags=["nsw"]), builder.add(one, I64(1))]
    sums += [builder.add(one, I64(2)), builder.mul(one, other), builder.mul(one, I64(0))]
    assert len(set(map(id, sums))) == len(sums)
    wide, narrow = (builder.bitcast(pointer, kind.as_pointer()) for kind in (F64, ir.FloatType()))
    places = [builder.gep(start, [one]) for start in (pointer, wide, narrow)]
    assert [place.type for place in places] == [pointer.type, F64.as_pointer(), ir.FloatType().as_pointer()]
    builder.ret_void()
    assert written(function).count("getelementptr") == 3


def test_what_another_block_has_said_is_said_again(function: ir.Function) -> None:
    """It may not have run."""
    builder, (pointer, one, other) = builder_of(function), function.args
    with builder.if_then(builder.icmp_signed("<", one, other)):
        builder.store(ir.IntType(8)(0), builder.gep(pointer, [builder.add(one, other)]))
    builder.store(ir.IntType(8)(1), builder.gep(pointer, [builder.add(one, other)]))
    builder.ret_void()
    assert written(function).count("add") == 2


def test_pointers_are_only_called_others(function: ir.Function) -> None:
    builder, pointer = builder_of(function), function.args[0]
    number = builder.bitcast(pointer, F64.as_pointer())
    assert number.type == F64.as_pointer() and number.get_reference() == pointer.get_reference()
    assert builder.bitcast(number, POINTER) is pointer
    builder.store(builder.fadd(builder.load(number), F64(1.0)), number)
    builder.ret_void()
    assert written(function) == ["load", "fadd", "store", "ret void"]


def test_a_constant_in_each_lane_is_a_constant(function: ir.Function) -> None:
    builder = builder_of(function)
    assert isinstance(splat(builder, F64(2.5), 4), ir.Constant)
    assert not isinstance(splat(builder, function.args[1], 4), ir.Constant)


def test_a_small_kernel_is_compiled_once() -> None:
    """What the slow path calls only calls what the fast one calls."""
    code = planned_ad.compile(lambda x: np.sum(x * x), (np.ones(3),)).llvm("gradient")
    assert code.count("store <2 x double>") == 1, code
