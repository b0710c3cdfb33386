"""Vectors of numbers: made from lanes, cut, widened, and combined to one number."""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from ...planning.schedule import Reduce
from ..llvm.types import I32
from ..maths import elementwise
from ..maths.elementwise import CONTRACT

IDENTITY = {
    "reduce_sum": lambda dtype: 0,
    "reduce_prod": lambda dtype: 1,
    "reduce_max": lambda dtype: -np.inf if dtype.kind == "f" else (np.iinfo(dtype).min if dtype.kind in "iu" else 0),
    "reduce_min": lambda dtype: np.inf if dtype.kind == "f" else (np.iinfo(dtype).max if dtype.kind in "iu" else 1),
    "reduce_any": lambda dtype: 0,
    "reduce_all": lambda dtype: 1,
}


def add(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, dtype: np.dtype) -> ir.Value:
    """A sum; of truths, whether one is true."""
    if dtype.kind == "f":
        return builder.fadd(a, b, flags=CONTRACT)
    return builder.or_(a, b) if dtype.kind == "b" else builder.add(a, b)


def combine(builder: ir.IRBuilder, item: Reduce, a: ir.Value, b: ir.Value) -> ir.Value:
    """Two partial results of a reduction as one."""
    floating = item.dtype.kind == "f"
    match item.operation:
        case "reduce_sum":
            return add(builder, a, b, item.dtype)
        case "reduce_prod":
            return builder.fmul(a, b) if floating else builder.mul(a, b)
        case "reduce_max":
            return elementwise.emit(builder, "maximum", [a, b], item.dtype, item.dtype, {})
        case "reduce_min":
            return elementwise.emit(builder, "minimum", [a, b], item.dtype, item.dtype, {})
        case "reduce_any":
            return builder.or_(a, b)
        case _:
            return builder.and_(a, b)


def across_lanes(builder: ir.IRBuilder, item: Reduce, value: ir.Value) -> ir.Value:
    """The lanes of one vector combined, by halves."""
    lanes = elementwise.lanes_of(value)
    while lanes > 1:
        half = lanes // 2
        undefined = ir.Constant(value.type, ir.Undefined)
        kind = ir.VectorType(I32, half)
        low = builder.shuffle_vector(value, undefined, ir.Constant(kind, list(range(half))))
        high = builder.shuffle_vector(value, undefined, ir.Constant(kind, list(range(half, lanes))))
        if half == 1:
            low, high = (builder.extract_element(v, I32(0)) for v in (low, high))
        value, lanes = combine(builder, item, low, high), half
    return value


def from_lanes(builder: ir.IRBuilder, values: list[ir.Value], lanes: int) -> ir.Value:
    """A vector of scalars; lanes that do not exist repeat the last one."""
    if lanes == 1:
        return values[0]
    vector: ir.Value = ir.Constant(ir.VectorType(values[0].type, lanes), ir.Undefined)
    for lane in range(lanes):
        vector = builder.insert_element(vector, values[min(lane, len(values) - 1)], I32(lane))
    return vector


def reversed_lanes(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    lanes = value.type.count
    order = ir.Constant(ir.VectorType(I32, lanes), list(range(lanes))[::-1])
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), order)


def lane_mask(lanes: int, count: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(ir.IntType(1), lanes), [int(k < count) for k in range(lanes)])


def widen(builder, value, identity, count: int, lanes: int, wide: int) -> ir.Value:
    """`count` lanes of `value` in a vector of `wide` lanes whose others are the identity."""
    if lanes == 1:
        return value if wide == 1 else builder.insert_element(identity, value, I32(0))
    if lanes == wide:
        return builder.select(lane_mask(wide, count), value, identity)
    order = [k if k < count else lanes for k in range(wide)]
    narrow = builder.shuffle_vector(identity, identity, ir.Constant(ir.VectorType(I32, lanes), list(range(lanes))))
    return builder.shuffle_vector(value, narrow, ir.Constant(ir.VectorType(I32, wide), order))
