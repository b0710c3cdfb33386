"""Calls of native callees from a kernel: by address, with pointers to operands and results in memory.

Here, too, what the status of a kernel says, which is other than 0 where it was left early.
"""

from __future__ import annotations

from typing import TypeGuard

from llvmlite import ir

from ...planning.schedule import LibraryStep
from ...regions.regions import contiguous, same_layout
from ..llvm.addresses import pointer_at
from ..llvm.places import Pointers
from ..llvm.types import I32, I64, POINTER

CALLEE_FAILED = 2  # the status of a kernel that was left because a callee failed; an error is pending then
FIRST_GUARD = 3  # of one that was left at the first of its guards; those after it count on
SIGNATURE = ir.FunctionType(I32, [POINTER.as_pointer(), POINTER])


def emit_call(builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers) -> None:
    """The call; where it fails the kernel is left, with an error pending."""
    native = step.operation.params["callee"].native
    with builder.goto_entry_block():
        table = builder.alloca(POINTER, max(len(step.operands), 1))
    for k, (memory, view, dtype) in enumerate(step.operands):
        assert same_layout(contiguous(view.shape, view.offset), view), "an operand is not row-major"
        offset = builder.mul(pointers.offset(builder, view.offset), I64(dtype.itemsize))
        place = builder.gep(pointers.of(memory), [offset])
        builder.store(place, builder.gep(table, [I64(k)]))
    result = pointers.of(step.result)
    failed = builder.icmp_signed("!=", call_address(builder, native.address, table, result), I32(0))
    with builder.if_then(failed, likely=False):
        on_failure = getattr(native, "on_failure", 0)
        if on_failure:
            call_address(builder, on_failure, table, result)
        builder.ret(I32(CALLEE_FAILED))


def call_address(builder: ir.IRBuilder, address: int, table: ir.Value, result: ir.Value) -> ir.Value:
    function = pointer_at(builder, "address", address, SIGNATURE)
    return builder.call(function, [table, result])


def may_leave(step: object) -> TypeGuard[LibraryStep]:
    """Whether a step may end the kernel early by itself."""
    return isinstance(step, LibraryStep) and step.operation.primitive == "call"


def in_python(step: object) -> TypeGuard[LibraryStep]:
    """Whether a step runs Python."""
    return may_leave(step) and step.operation.params["callee"].native.in_python
