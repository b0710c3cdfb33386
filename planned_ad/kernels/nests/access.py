"""Loads and stores of single numbers and of blocks: whole vectors at unit stride, lane by lane otherwise.

Of a block, only the first lanes may exist: so many that are known here, or a `Tail`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from llvmlite import ir

from ...planning.schedule import Counted
from ..llvm.places import Place
from ..llvm.types import I32, I64, memory_type, register_type, splat
from ..maths.notation import declare, suffix
from .lanes import from_lanes, lane_mask, reversed_lanes


@dataclass(frozen=True, slots=True)
class Tail:
    """The lanes of the last block of a ragged axis that exist: `rest` of them, at least one."""

    mask: ir.Value
    rest: ir.Value


def tail(builder: ir.IRBuilder, rest: ir.Value, lanes: int) -> Tail:
    numbers = ir.Constant(ir.VectorType(I64, lanes), list(range(lanes)))
    return Tail(builder.icmp_signed("<", numbers, splat(builder, rest, lanes)), rest)


def address(builder: ir.IRBuilder, place: Place, offset: ir.Value, kind: ir.Type, element: ir.Type) -> ir.Value:
    typed = builder.bitcast(place.pointer, element.as_pointer())
    found = builder.gep(typed, [offset])
    return found if kind == element else builder.bitcast(found, kind.as_pointer())


def load_one(builder: ir.IRBuilder, place: Place, offset: ir.Value, dtype: np.dtype) -> ir.Value:
    kind = memory_type(dtype)
    value = place.marked(builder.load(address(builder, place, offset, kind, kind), align=dtype.itemsize))
    return builder.icmp_unsigned("!=", value, ir.Constant(kind, 0)) if dtype.kind == "b" else value


def store_one(builder: ir.IRBuilder, place: Place, offset: ir.Value, dtype: np.dtype, value: ir.Value) -> None:
    kind = memory_type(dtype)
    if dtype.kind == "b":
        value = builder.zext(value, kind)
    place.marked(builder.store(value, address(builder, place, offset, kind, kind), align=dtype.itemsize))


def read(
    builder: ir.IRBuilder,
    place: Place,
    offset: ir.Value,
    stride: int,
    dtype: np.dtype,
    lanes: int,
    count: int | Tail,
) -> ir.Value:
    """A block of `lanes` numbers `stride` apart, of which the first `count` exist."""
    if lanes == 1:
        return load_one(builder, place, offset, dtype)
    if stride == 0:
        return splat(builder, load_one(builder, place, offset, dtype), lanes)
    if abs(stride) == 1 and (count == lanes or masks(dtype, stride, count)):
        return read_vector(builder, place, offset, stride, dtype, lanes, count)
    first, found = lane_place(builder, place, offset, dtype), []
    for lane in range(count if isinstance(count, int) else lanes):
        move: ir.Value = ir.Constant(I64, lane * stride)
        if isinstance(count, Tail):  # lanes that do not exist repeat the last one that does
            last = builder.sub(count.rest, ir.Constant(I64, 1))
            number = builder.select(
                builder.icmp_signed("<", ir.Constant(I64, lane), last), ir.Constant(I64, lane), last
            )
            move = builder.mul(number, ir.Constant(I64, stride))
        found.append(load_one(builder, first, move, dtype))
    return from_lanes(builder, found, lanes)


def at_counted_places(builder: ir.IRBuilder, item: Counted, offset: ir.Value, stride: int, lanes: int) -> ir.Value:
    """What an array that counts holds at `lanes` places `stride` apart."""
    first = builder.add(builder.mul(offset, ir.Constant(I64, item.step)), ir.Constant(I64, item.first))
    numbers = splat(builder, first, lanes)
    if lanes > 1:
        moves = [lane * stride * item.step for lane in range(lanes)]
        numbers = builder.add(numbers, ir.Constant(ir.VectorType(I64, lanes), moves))
    return builder.sitofp(numbers, register_type(item.dtype, lanes)) if item.dtype.kind == "f" else numbers


def masks(dtype: np.dtype, stride: int, count: int | Tail) -> bool:
    """Whether an incomplete block is one access under a mask."""
    return isinstance(count, Tail) or (stride == 1 and dtype.kind == "f")


def mask_of(builder: ir.IRBuilder, lanes: int, count: int | Tail, stride: int) -> ir.Value:
    """The lanes that exist, in the order of memory."""
    mask = lane_mask(lanes, count) if isinstance(count, int) else count.mask
    return mask if stride > 0 else reversed_lanes(builder, mask)


def read_vector(
    builder: ir.IRBuilder,
    place: Place,
    offset: ir.Value,
    stride: int,
    dtype: np.dtype,
    lanes: int,
    count: int | Tail,
) -> ir.Value:
    """Neighbours in memory, forwards or backwards, at once."""
    element, kind = memory_type(dtype), memory_type(dtype, lanes)
    if stride < 0:
        offset = builder.add(offset, ir.Constant(I64, 1 - lanes))
    where = address(builder, place, offset, kind, element)
    if count == lanes:
        value = place.marked(builder.load(where, align=dtype.itemsize))
    else:
        mask = mask_of(builder, lanes, count, stride)
        name = f"llvm.masked.load.{suffix(kind)}.p0"
        function = declare(builder.module, name, kind, [where.type, I32, mask.type, kind])
        # lanes that do not exist hold 1, which no function minds
        one = ir.Constant(kind, [1.0 if dtype.kind == "f" else 1] * lanes)
        value = place.marked(builder.call(function, [where, I32(dtype.itemsize), mask, one]))
    if stride < 0:
        value = reversed_lanes(builder, value)
    return builder.icmp_unsigned("!=", value, ir.Constant(kind, [0] * lanes)) if dtype.kind == "b" else value


def put(
    builder: ir.IRBuilder,
    place: Place,
    offset: ir.Value,
    stride: int,
    dtype: np.dtype,
    value: ir.Value,
    lanes: int,
    count: int | Tail,
) -> None:
    """Store the first `count` lanes of a block, `stride` apart (neighbours, where the count is a tail)."""
    if lanes == 1:
        store_one(builder, place, offset, dtype, value)
        return
    element, kind = memory_type(dtype), memory_type(dtype, lanes)
    if abs(stride) == 1 and (count == lanes or masks(dtype, stride, count)):
        if dtype.kind == "b":
            value = builder.zext(value, kind)
        if stride < 0:
            offset = builder.add(offset, ir.Constant(I64, 1 - lanes))
            value = reversed_lanes(builder, value)
        where = address(builder, place, offset, kind, element)
        if count == lanes:
            place.marked(builder.store(value, where, align=dtype.itemsize))
            return
        mask = mask_of(builder, lanes, count, stride)
        name = f"llvm.masked.store.{suffix(kind)}.p0"
        function = declare(builder.module, name, ir.VoidType(), [kind, where.type, I32, mask.type])
        place.marked(builder.call(function, [value, where, I32(dtype.itemsize), mask]))
        return
    assert isinstance(count, int)
    first = lane_place(builder, place, offset, dtype)
    for lane in range(count):
        move = ir.Constant(I64, lane * stride)
        store_one(builder, first, move, dtype, builder.extract_element(value, I32(lane)))


def lane_place(builder: ir.IRBuilder, place: Place, offset: ir.Value, dtype: np.dtype) -> Place:
    """The place of the first lane, from which the others are so many numbers away that it is known here."""
    kind = memory_type(dtype)
    return replace(place, pointer=address(builder, place, offset, kind, kind))
