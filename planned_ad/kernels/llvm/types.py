"""NumPy dtypes as LLVM types: in a register, and in memory (where a Boolean takes a byte)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir

I1, I8, I32, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
POINTER = I8.as_pointer()
FLOATS = {4: ir.FloatType(), 8: ir.DoubleType()}  # by their bytes

# Vectors that do not fit in registers go to the stack: there, one that crosses a cache line takes twice the time, and
# whether it does would depend on where the caller's stack happens to end.
STACK_ALIGNMENT = 64


def align_stack(function: ir.Function) -> None:
    """Have what a function keeps on the stack not cross cache lines; also where only others are written out in it.

    llvmlite does not print the alignment where there is no other attribute.
    """
    function.attributes.add("nounwind")
    function.attributes.alignstack = STACK_ALIGNMENT


@functools.cache
def vector_type(element: ir.Type, lanes: int) -> ir.Type:
    """Made once: llvmlite keeps the text of a type with it."""
    return ir.VectorType(element, lanes)


def register_type(dtype: np.dtype, lanes: int = 1) -> ir.Type:
    """The type of one number, or of a vector of `lanes` numbers."""
    if dtype.kind == "f":
        scalar: ir.Type = FLOATS[dtype.itemsize]
    elif dtype.kind == "b":
        scalar = I1
    else:
        scalar = ir.IntType(8 * dtype.itemsize)
    return scalar if lanes == 1 else vector_type(scalar, lanes)


def memory_type(dtype: np.dtype, lanes: int = 1) -> ir.Type:
    """The type in memory."""
    if dtype.kind == "b":
        return I8 if lanes == 1 else vector_type(I8, lanes)
    return register_type(dtype, lanes)


def constant(dtype: np.dtype, number: object, lanes: int = 1) -> ir.Constant:
    """`number` in each lane."""
    kind = register_type(dtype, lanes)
    plain = float(number) if dtype.kind == "f" else int(number)  # type: ignore[call-overload, arg-type]
    return element_constant(kind, plain)


def splat(builder: ir.IRBuilder, value: ir.Value, lanes: int) -> ir.Value:
    """A vector with `value` in each lane."""
    if lanes == 1:
        return value
    vector = vector_type(value.type, lanes)
    if isinstance(value, ir.Constant) and isinstance(value.constant, int | float):
        return element_constant(vector, value.constant)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, I32(0))
    zeros = element_constant(vector_type(I32, lanes), 0)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def value_unless(
    builder: ir.IRBuilder,
    condition: ir.Value,
    value: ir.Value,
    other: Callable[[], ir.Value],
    likely: bool | None = None,
) -> ir.Value:
    """`value`, or where `condition` holds what `other` writes, which runs there only; `likely`: that it does."""
    before = builder.block
    with builder.if_then(condition, likely=likely):
        instead = other()
        inside = builder.block
    found = builder.phi(value.type)
    found.add_incoming(value, before)
    found.add_incoming(instead, inside)
    return found


def element_constant(kind: ir.Type, number: float) -> ir.Constant:
    """A number of this type, in each lane of a vector."""
    return _kept_constant(kind, number, math.copysign(1.0, number))


@functools.lru_cache(4096)
def _kept_constant(kind: ir.Type, number: float, sign: float) -> ir.Constant:
    """Formulas have the same numbers again and again, of which llvmlite keeps the text; `sign`: of a zero too."""
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)
