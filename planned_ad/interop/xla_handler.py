"""A call of a plan as a handler of XLA's foreign function interface: compiled code that JAX's compiled code calls.

What lies where in the frame that XLA passes is in `xla/ffi/api/c_api.h` of jaxlib, major version 0; offsets are bytes.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from ..calls.kernel_functions import KernelFunction
from ..kernels.entry.native_calls import BROKEN_GUARD
from ..kernels.llvm.addresses import pointer_at
from ..kernels.llvm.builder import TerseBuilder
from ..kernels.llvm.codelibrary import compile_module
from ..kernels.llvm.types import I8, I32, I64, POINTER, memory_type
from .plain_plans import PlainOperand, kernel_slots

EXTENSION, API, ARGS, RETS = 8, 16, 72, 112  # of a frame; ARGS and RETS: tables of buffers
DATA, RANK, DIMS = 24, 32, 40  # of a buffer
EXTENSION_TYPE, METADATA, IS_METADATA = 8, 24, 1  # of an extension
API_MINOR, CREATE_ERROR = 36, 48  # of the interface
MINOR_VERSION = 28  # of metadata, after the major one
INTERNAL = 13  # a code of errors
LEARN = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
FAILED = b"planned_ad: a branch that could not be recorded, no memory, or a function that failed\0"

counter = itertools.count()


class XLAHandler:
    """Runs a kernel on the buffers of a frame, once for each item of their leading batch axes.

    Parameters
    ----------
    function : KernelFunction
    inputs, outputs : sequence of PlainOperand
        Of XLA's buffers: arrays and numbers; see `plain_plans.kernel_slots`.
    learn : callable
        The same call from Python, on arrays and numbers: it records a branch that the kernel does not know.
    """

    def __init__(
        self,
        function: KernelFunction,
        inputs: Sequence[PlainOperand],
        outputs: Sequence[PlainOperand],
        learn: Callable[..., Any],
    ):
        self.function, self.inputs, self.outputs, self.learn = function, inputs, outputs, learn
        self.callback = LEARN(self.learnt)
        self.symbol = f"planned_ad.xla.{next(counter)}"
        self.library = compile_module(self.symbol, self.emit)
        self.address = self.library.address(self.symbol)

    def learnt(self, pointers: Any) -> int:
        """Record the branch of these inputs; a message where that cannot be done."""
        try:
            arrays = [array_of_buffer(pointers[k], operand) for k, operand in enumerate(self.inputs)]
            self.learn(*(a.copy() if o.kind == "array" else a.item() for o, a in zip(self.inputs, arrays)))
        except Exception as error:
            self.message = ctypes.create_string_buffer(f"{type(error).__name__}: {error}".encode())
            return ctypes.addressof(self.message)
        return 0

    def emit(self, module: ir.Module) -> None:
        """`XLA_FFI_Error *handler(XLA_FFI_CallFrame *frame)`."""
        function = ir.Function(module, ir.FunctionType(POINTER, [POINTER]), self.symbol)
        (frame,) = function.args
        builder = TerseBuilder(function.append_basic_block("entry"))
        with builder.if_then(builder.icmp_unsigned("!=", word(builder, frame, EXTENSION), I64(0))):
            emit_metadata(builder, frame)
        buffers = [pointer_in(builder, frame, ARGS, k) for k in range(len(self.inputs))]
        buffers += [pointer_in(builder, frame, RETS, k) for k in range(len(self.outputs))]
        operands = [*self.inputs, *self.outputs]
        starts = [pointer(builder, buffer, DATA) for buffer in buffers]
        table = builder.alloca(POINTER, size=I64(len(operands)))
        count = batch(builder, buffers[-1], len(operands[-1].shape))
        before, again = builder.block, function.append_basic_block("again")
        builder.cbranch(builder.icmp_signed(">", count, I64(0)), again, done := function.append_basic_block("done"))
        builder.position_at_end(again)
        number = builder.phi(I64)
        number.add_incoming(I64(0), before)
        for k, (operand, start) in enumerate(zip(operands, starts)):
            place = builder.gep(start, [builder.mul(number, I64(nbytes(operand)))])
            builder.store(place, builder.gep(table, [I64(k)]))
        status = self.emit_call(builder, table)
        with builder.if_then(builder.icmp_signed("==", status, I32(BROKEN_GUARD)), likely=False):
            learn = pointer_at(builder, "address", ctypes.cast(self.callback, ctypes.c_void_p).value, LEARN_TYPE)
            message = builder.call(learn, [table])
            with builder.if_then(builder.icmp_unsigned("!=", message, POINTER(None))):
                builder.ret(emit_error(builder, frame, message))
            second = self.emit_call(builder, table)
            with builder.if_then(builder.icmp_signed("!=", second, I32(0))):
                builder.ret(emit_error(builder, frame, text(module, FAILED)))
        others = builder.and_(
            builder.icmp_signed("!=", status, I32(0)), builder.icmp_signed("!=", status, I32(BROKEN_GUARD))
        )
        with builder.if_then(others, likely=False):
            builder.ret(emit_error(builder, frame, text(module, FAILED)))
        following = builder.add(number, I64(1))
        number.add_incoming(following, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, count), again, done)
        builder.position_at_end(done)
        builder.ret(POINTER(None))

    def emit_call(self, builder: ir.IRBuilder, table: ir.Value) -> ir.Value:
        """Call the kernel with what the table points to; what it adds to begins with zeros."""
        arguments, cells = [], []
        for slot in kernel_slots(self.function, self.inputs, self.outputs):
            number = slot.number + slot.is_output * len(self.inputs)
            place = builder.load(builder.gep(table, [I64(number)]))
            if slot.operand.kind == "array":
                if slot.is_output:
                    zero(builder, place, nbytes(slot.operand))
                arguments.append(place)
                continue
            own, other = (memory_type(dtype) for dtype in (slot.parameter.dtype, slot.operand.dtype) if dtype)
            place = builder.bitcast(place, other.as_pointer())
            if slot.is_output:
                with builder.goto_entry_block():  # once, not for each item of a batch
                    cells.append((builder.alloca(own), place))
                builder.store(own(0.0), cells[-1][0])
                arguments.append(builder.bitcast(cells[-1][0], POINTER))
            else:
                arguments.append(as_type(builder, builder.load(place), own))
        kernel = ir.FunctionType(I32, [parameter.type for parameter in self.function.parameters])
        status = builder.call(pointer_at(builder, "address", self.function.address_taking_gil, kernel), arguments)
        for cell, place in cells:
            builder.store(as_type(builder, builder.load(cell), place.type.pointee), place)
        return status


def as_type(builder: ir.IRBuilder, number: ir.Value, kind: ir.Type) -> ir.Value:
    """A number in single or double precision."""
    if number.type == kind:
        return number
    return builder.fptrunc(number, kind) if isinstance(kind, ir.FloatType) else builder.fpext(number, kind)


LEARN_TYPE = ir.FunctionType(POINTER, [POINTER.as_pointer()])


def nbytes(operand: PlainOperand) -> int:
    assert operand.dtype is not None
    return int(np.prod(operand.shape)) * operand.dtype.itemsize


def array_of_buffer(address: int, operand: PlainOperand) -> np.ndarray:
    size = nbytes(operand)
    found: Any = (ctypes.c_uint8 * size).from_address(address) if size else ()
    return np.asarray(found, np.uint8).view(operand.dtype or np.uint8).reshape(operand.shape)


def word(builder: ir.IRBuilder, base: ir.Value, offset: int, kind: ir.Type = I64) -> ir.Value:
    return builder.load(builder.bitcast(builder.gep(base, [I64(offset)]), kind.as_pointer()))


def pointer(builder: ir.IRBuilder, base: ir.Value, offset: int) -> ir.Value:
    return builder.inttoptr(word(builder, base, offset), POINTER)


def pointer_in(builder: ir.IRBuilder, frame: ir.Value, offset: int, number: int) -> ir.Value:
    return pointer(builder, pointer(builder, frame, offset), 8 * number)


def batch(builder: ir.IRBuilder, buffer: ir.Value, rank: int) -> ir.Value:
    """How many items a buffer holds: the product of the extents before the last `rank` ones."""
    function = builder.function
    leading = builder.sub(word(builder, buffer, RANK), I64(rank))
    dims = builder.bitcast(pointer(builder, buffer, DIMS), I64.as_pointer())
    before, look, step, after = builder.block, *(function.append_basic_block(n) for n in ("look", "step", "after"))
    builder.branch(look)
    builder.position_at_end(look)
    axis, count = builder.phi(I64), builder.phi(I64)
    builder.cbranch(builder.icmp_signed("<", axis, leading), step, after)
    builder.position_at_end(step)
    more = builder.mul(count, builder.load(builder.gep(dims, [axis])))
    for phi, first, then in ((axis, I64(0), builder.add(axis, I64(1))), (count, I64(1), more)):
        phi.add_incoming(first, before)
        phi.add_incoming(then, step)
    builder.branch(look)
    builder.position_at_end(after)
    return count


def zero(builder: ir.IRBuilder, place: ir.Value, size: int) -> None:
    memset = builder.module.declare_intrinsic("llvm.memset", [POINTER, I64])
    builder.call(memset, [place, I8(0), I64(size), ir.Constant(ir.IntType(1), 0)])


def emit_metadata(builder: ir.IRBuilder, frame: ir.Value) -> None:
    """Say which version of the interface this is for, and leave: XLA asks once."""
    extension = pointer(builder, frame, EXTENSION)
    asked = builder.icmp_signed("==", word(builder, extension, EXTENSION_TYPE, I32), I32(IS_METADATA))
    with builder.if_then(asked):
        metadata = pointer(builder, extension, METADATA)
        minor = word(builder, pointer(builder, frame, API), API_MINOR, I32)
        for offset, value in ((MINOR_VERSION - 4, I32(0)), (MINOR_VERSION, minor)):
            builder.store(value, builder.bitcast(builder.gep(metadata, [I64(offset)]), I32.as_pointer()))
        builder.ret(POINTER(None))


def emit_error(builder: ir.IRBuilder, frame: ir.Value, message: ir.Value) -> ir.Value:
    """An error of XLA's, with a message that it copies."""
    given = builder.alloca(I64, size=I64(4))
    for k, value in enumerate((I64(28), I64(0), builder.ptrtoint(message, I64), I64(INTERNAL))):
        builder.store(value, builder.gep(given, [I64(k)]))
    kind = ir.FunctionType(POINTER, [POINTER])
    create = builder.bitcast(pointer(builder, pointer(builder, frame, API), CREATE_ERROR), kind.as_pointer())
    return builder.call(create, [builder.bitcast(given, POINTER)])


def text(module: ir.Module, characters: bytes) -> ir.Value:
    found = module.globals.get("failed")
    if found is None:
        kind = ir.ArrayType(I8, len(characters))
        found = ir.GlobalVariable(module, kind, "failed")
        found.initializer, found.global_constant = ir.Constant(kind, bytearray(characters)), True
    return found.bitcast(POINTER)
