"""Loads and stores of single numbers and of blocks: whole vectors at unit stride, lane by lane otherwise."""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from .lanes import from_lanes, lane_mask, reversed_lanes
from .types import I32, I64, constant, memory_type, splat
from .vecmath_lanes import declare, suffix


def address(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, kind: ir.Type, element: ir.Type) -> ir.Value:
    typed = builder.bitcast(base, element.as_pointer())
    place = builder.gep(typed, [offset])
    return place if kind == element else builder.bitcast(place, kind.as_pointer())


def load_one(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, dtype: np.dtype) -> ir.Value:
    kind = memory_type(dtype)
    value = builder.load(address(builder, base, offset, kind, kind), align=dtype.itemsize)
    return builder.icmp_unsigned("!=", value, ir.Constant(kind, 0)) if dtype.kind == "b" else value


def store_one(builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, dtype: np.dtype, value: ir.Value) -> None:
    kind = memory_type(dtype)
    if dtype.kind == "b":
        value = builder.zext(value, kind)
    builder.store(value, address(builder, base, offset, kind, kind), align=dtype.itemsize)


def read(
    builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, stride: int, dtype: np.dtype, lanes: int, count: int
) -> ir.Value:
    """A block of `lanes` numbers `stride` apart, of which the first `count` exist."""
    if lanes == 1:
        return load_one(builder, base, offset, dtype)
    if stride == 0:
        return splat(builder, load_one(builder, base, offset, dtype), lanes)
    if abs(stride) == 1 and count == lanes:
        element, kind = memory_type(dtype), memory_type(dtype, lanes)
        if stride < 0:
            offset = builder.add(offset, ir.Constant(I64, 1 - lanes))
        value = builder.load(address(builder, base, offset, kind, element), align=dtype.itemsize)
        if stride < 0:
            value = reversed_lanes(builder, value)
        if dtype.kind == "b":
            value = builder.icmp_unsigned("!=", value, ir.Constant(kind, [0] * lanes))
        return value
    if stride == 1 and dtype.kind == "f":
        return masked_load(builder, base, offset, dtype, lanes, count)
    found = [
        load_one(builder, base, builder.add(offset, ir.Constant(I64, lane * stride)), dtype) for lane in range(count)
    ]
    return from_lanes(builder, found, lanes)


def masked_load(
    builder: ir.IRBuilder, base: ir.Value, offset: ir.Value, dtype: np.dtype, lanes: int, count: int
) -> ir.Value:
    kind = memory_type(dtype, lanes)
    place = address(builder, base, offset, kind, memory_type(dtype))
    name = f"llvm.masked.load.{suffix(kind)}.p0"
    mask = lane_mask(lanes, count)
    function = declare(builder.module, name, kind, [place.type, I32, mask.type, kind])
    # lanes that do not exist hold 1, which no function minds
    return builder.call(function, [place, I32(dtype.itemsize), mask, constant(dtype, 1, lanes)])


def put(
    builder: ir.IRBuilder,
    base: ir.Value,
    offset: ir.Value,
    stride: int,
    dtype: np.dtype,
    value: ir.Value,
    lanes: int,
    count: int,
) -> None:
    """Store the first `count` lanes of a block, `stride` apart."""
    if lanes == 1:
        store_one(builder, base, offset, dtype, value)
        return
    element, kind = memory_type(dtype), memory_type(dtype, lanes)
    if abs(stride) == 1 and count == lanes:
        if dtype.kind == "b":
            value = builder.zext(value, kind)
        if stride < 0:
            offset = builder.add(offset, ir.Constant(I64, 1 - lanes))
            value = reversed_lanes(builder, value)
        builder.store(value, address(builder, base, offset, kind, element), align=dtype.itemsize)
        return
    if stride == 1 and dtype.kind == "f":
        place = address(builder, base, offset, kind, element)
        mask = lane_mask(lanes, count)
        name = f"llvm.masked.store.{suffix(kind)}.p0"
        function = declare(builder.module, name, ir.VoidType(), [kind, place.type, I32, mask.type])
        builder.call(function, [value, place, I32(dtype.itemsize), mask])
        return
    for lane in range(count):
        place = builder.add(offset, ir.Constant(I64, lane * stride))
        store_one(builder, base, place, dtype, builder.extract_element(value, I32(lane)))
