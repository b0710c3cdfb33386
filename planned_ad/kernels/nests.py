"""Emit one loop nest with explicit SIMD.

The innermost loop runs over blocks of `lanes` numbers; what is left over is one narrower block. Items are
placed at the loop depth that they depend on, so what does not change in an inner loop is computed outside,
as scalars. Strided and gathered accesses are made lane by lane.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from llvmlite import ir

from ..affine import Extent
from ..regions import View
from ..schedule import Compute, GatherRead, Immediate, Memory, Nest, Read, Reduce, Write
from . import elementwise
from .elementwise import CONTRACT, intrinsic
from .types import I32, I64, constant, memory_type, register_type, splat
from .vecmath_lanes import declare, suffix

UNROLL_ITEMS = 16  # nests of at most this many items run several blocks at once, for independent sums
VECTOR_BYTES = 64

IDENTITY = {
    "reduce_sum": lambda dtype: 0,
    "reduce_prod": lambda dtype: 1,
    "reduce_max": lambda dtype: -np.inf if dtype.kind == "f" else (np.iinfo(dtype).min if dtype.kind in "iu" else 0),
    "reduce_min": lambda dtype: np.inf if dtype.kind == "f" else (np.iinfo(dtype).max if dtype.kind in "iu" else 1),
    "reduce_any": lambda dtype: 0,
    "reduce_all": lambda dtype: 1,
}


@dataclass
class Pointers:
    """Where each memory starts, in the function being emitted."""

    base: dict[Memory, ir.Value]  # i8*, at element 0 of views
    indices: dict[int, ir.Value] = field(default_factory=dict)  # of the loops around, by loop

    def offset(self, builder: ir.IRBuilder, offset: Extent) -> ir.Value:
        """The offset of a view where the loops around stand now."""
        if isinstance(offset, int):
            return ir.Constant(I64, offset)
        total: ir.Value = ir.Constant(I64, offset.constant)
        for index, coefficient in offset.terms:
            total = builder.add(total, builder.mul(self.indices[index], ir.Constant(I64, coefficient)))
        return total

    def of(self, memory: Memory) -> ir.Value:
        return self.base[memory]


@dataclass
class Axis:
    """One loop: its extent and, per item, how far the item's access moves with it."""

    extent: int
    strides: dict[int, int]
    reduced_by: frozenset[int]  # items that reduce over this axis


@dataclass
class NestEmitter:
    """The emission of one nest into `builder`'s current block."""

    builder: ir.IRBuilder
    nest: Nest
    pointers: Pointers
    axes: list[Axis] = field(default_factory=list)
    level: list[int] = field(default_factory=list)  # per item: loops around it
    scalars: dict[int, ir.Value] = field(default_factory=dict)  # registers computed outside the innermost loop
    accumulators: dict[int, list[ir.Value]] = field(default_factory=dict)
    in_registers: dict[int, int] = field(default_factory=dict)  # Reduce item -> depth of the loops it sums over
    indices: list[ir.Value] = field(default_factory=list)
    lanes: int = 1

    def emit(self) -> None:
        nest = self.nest
        self.axes = loop_axes(nest)
        self.level = item_levels(nest, self.axes)
        self.prepare_reductions()
        if 0 in nest.domain:
            return
        depth = len(self.axes)
        self.lanes = self.choose_lanes()
        if depth == 0:
            self.emit_block(ir.Constant(I64, 0), 1, 1, unroll=0)
            return
        self.open_loops(0)

    # Reductions.

    def prepare_reductions(self) -> None:
        """Decide for each reduction whether it sums in registers, and put the identity where it sums in memory."""
        depth = len(self.axes)
        for number, item in enumerate(self.nest.items):
            if not isinstance(item, Reduce):
                continue
            first = depth
            while first > 0 and number in self.axes[first - 1].reduced_by:
                first -= 1
            outer = any(number in axis.reduced_by for axis in self.axes[:first])
            if first < depth and 0 not in self.nest.domain:
                self.in_registers[number] = first
            if outer or first == depth or 0 in self.nest.domain:
                self.fill(item)

    def fill(self, item: Reduce) -> None:
        """Store the identity of the reduction to each element of its result."""
        extents = [(n, s) for n, s in zip(item.view.shape, item.view.strides) if s != 0]
        count = int(np.prod([n for n, _ in extents], dtype=np.int64)) if extents else 1
        if any(n == 0 for k, n in enumerate(item.view.shape) if k not in item.axes):
            return
        number = constant(item.dtype, IDENTITY[item.operation](item.dtype))
        base = self.pointers.of(item.memory)
        if count == 1:
            self.store_one(base, ir.Constant(I64, 0), item.dtype, number)
            return
        with loop(self.builder, 0, count, 1) as i:
            self.store_one(base, i, item.dtype, number)

    def start_accumulators(self, depth: int, copies: int) -> None:
        for number, first in self.in_registers.items():
            if first == depth:
                item = self.nest.items[number]
                assert isinstance(item, Reduce)
                identity = IDENTITY[item.operation](item.dtype)
                cells = []
                for _ in range(copies):
                    cell = self.cell(register_type(item.dtype, self.lanes))
                    self.builder.store(constant(item.dtype, identity, self.lanes), cell)
                    cells.append(cell)
                self.accumulators[number] = cells

    def finish_accumulators(self, depth: int) -> None:
        for number, first in self.in_registers.items():
            if first != depth:
                continue
            item = self.nest.items[number]
            assert isinstance(item, Reduce)
            parts = [self.builder.load(cell) for cell in self.accumulators[number]]
            while len(parts) > 1:
                pairs = [combine(self.builder, item, a, b) for a, b in zip(parts[::2], parts[1::2])]
                parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
            total = across_lanes(self.builder, item, parts[0])
            offset = self.offset(number, item.view, depth)
            base = self.pointers.of(item.memory)
            if any(number in axis.reduced_by for axis in self.axes[:first]):
                total = combine(self.builder, item, self.load_one(base, offset, item.dtype), total)
            self.store_one(base, offset, item.dtype, total)

    def cell(self, kind: ir.Type) -> ir.Value:
        """A stack cell in the function's entry block, which LLVM turns into a register."""
        with self.builder.goto_entry_block():
            return self.builder.alloca(kind)

    # Loops.

    def choose_lanes(self) -> int:
        if not self.axes:
            return 1
        sizes = [
            i.dtype.itemsize
            for i in self.nest.items
            if isinstance(i, Read | Compute | GatherRead) and i.dtype.kind == "f"
        ]
        lanes = VECTOR_BYTES // max(sizes, default=8)
        extent = self.axes[-1].extent
        while lanes > extent:
            lanes //= 2
        return max(lanes, 1)

    def open_loops(self, depth: int) -> None:
        """The loops from `depth` inwards, with what belongs between them."""
        self.emit_level(depth)
        innermost = depth == len(self.axes) - 1
        copies = self.copies()
        self.start_accumulators(depth, copies)
        if innermost:
            self.emit_innermost(copies)
        else:
            with loop(self.builder, 0, self.axes[depth].extent, 1) as index:
                self.indices.append(index)
                self.open_loops(depth + 1)
                self.indices.pop()
        self.finish_accumulators(depth)

    def copies(self) -> int:
        """How many blocks run at once: several only where sums would wait for one another."""
        sums = bool(self.in_registers)
        blocks = self.axes[-1].extent // self.lanes
        return 4 if sums and len(self.nest.items) <= UNROLL_ITEMS and blocks >= 8 else 1

    def emit_innermost(self, copies: int) -> None:
        extent, lanes = self.axes[-1].extent, self.lanes
        done = 0
        for together in (copies, 1) if copies > 1 else (1,):
            step = lanes * together
            last = extent - (extent - done) % step
            if last == done:
                continue
            if last - done == step:
                for k in range(together):
                    self.emit_block(ir.Constant(I64, done + k * lanes), lanes, lanes, unroll=k)
            else:
                with loop(self.builder, done, last, step) as index:
                    for k in range(together):
                        start = self.builder.add(index, ir.Constant(I64, k * lanes)) if k else index
                        self.emit_block(start, lanes, lanes, unroll=k)
            done = last
        if done < extent:
            rest = extent - done
            width = 1 << (rest - 1).bit_length()
            self.emit_block(ir.Constant(I64, done), width, rest, unroll=0)

    # Items.

    def emit_level(self, depth: int) -> None:
        """Items that `depth` loops around decide, as scalars."""
        for number, item in enumerate(self.nest.items):
            if self.level[number] == depth and not isinstance(item, Write | Reduce):
                self.scalars[number] = self.emit_item(number, item, depth, 1, 1, self.scalars.__getitem__)
                if number in self.nest.spills:
                    self.write(number, self.nest.spills[number], self.scalars[number], depth, 1, 1)

    def emit_block(self, start: ir.Value, lanes: int, count: int, unroll: int) -> None:
        """One block of the innermost loop: `lanes` numbers from index `start` on, of which `count` exist."""
        depth = len(self.axes)
        if depth:
            self.indices.append(start)
        registers: dict[int, ir.Value] = {}
        splats: dict[int, ir.Value] = {}

        def register(number: int) -> ir.Value:
            if number in registers:
                return registers[number]
            if number not in splats:
                splats[number] = splat(self.builder, self.scalars[number], lanes)
            return splats[number]

        for number, item in enumerate(self.nest.items):
            if self.level[number] < depth:
                continue
            if isinstance(item, Write):
                self.write_item(number, item, register, depth, lanes, count)
            elif isinstance(item, Reduce):
                self.reduce(number, item, register(item.source), lanes, count, unroll)
            else:
                registers[number] = self.emit_item(number, item, depth, lanes, count, register)
                if number in self.nest.spills:
                    self.write(number, self.nest.spills[number], registers[number], depth, lanes, count)
        if depth:
            self.indices.pop()

    def emit_item(self, number, item, depth, lanes, count, register) -> ir.Value:
        builder = self.builder
        if isinstance(item, Immediate):
            return constant(item.dtype, item.number, lanes)
        if isinstance(item, Compute):
            operands = [register(k) for k in item.operands]
            source = self.nest.items[item.operands[-1]].dtype  # type: ignore[union-attr]
            return elementwise.emit(builder, item.primitive, operands, item.dtype, source, dict(item.parameters))
        if isinstance(item, Read):
            offset = self.offset(number, item.view, depth)
            return self.read(item.memory, offset, self.inner_stride(number, depth), item.dtype, lanes, count)
        assert isinstance(item, GatherRead)
        offset = self.offset(number, item.view, depth)
        indices = [register(k) for k in item.indices]
        base, stride = self.pointers.of(item.memory), self.inner_stride(number, depth)
        lane_values = []
        for lane in range(count):
            place = builder.add(offset, ir.Constant(I64, lane * stride))
            place = self.add_indices(place, indices, item, lane)
            lane_values.append(self.load_one(base, place, item.dtype))
        return from_lanes(builder, lane_values, lanes)

    def add_indices(self, place, indices, item, lane) -> ir.Value:
        builder = self.builder
        for index, stride in zip(indices, item.strides):
            value = index
            if isinstance(index.type, ir.VectorType):
                value = builder.extract_element(index, I32(lane))
            value = elementwise.cast(builder, value, np.dtype(f"i{value.type.width // 8}"), np.dtype(np.int64))
            place = builder.add(place, builder.mul(value, ir.Constant(I64, stride)))
        return place

    def write_item(self, number: int, item: Write, register, depth: int, lanes: int, count: int) -> None:
        source = register(item.source)
        if not item.indices:
            self.write(number, item, source, depth, lanes, count)
            return
        builder, dtype = self.builder, self.dtype_of(item.source)
        base, stride = self.pointers.of(item.memory), self.inner_stride(number, depth)
        offset = self.offset(number, item.view, depth)
        indices = [register(k) for k in item.indices]
        for lane in range(count):  # in order: the last of equal indices wins, and sums see one another
            place = builder.add(offset, ir.Constant(I64, lane * stride))
            place = self.add_indices(place, indices, item, lane)
            value = builder.extract_element(source, I32(lane)) if lanes > 1 else source
            if item.accumulate:
                value = add(builder, self.load_one(base, place, dtype), value, dtype)
            self.store_one(base, place, dtype, value)

    def dtype_of(self, number: int) -> np.dtype:
        return self.nest.items[number].dtype  # type: ignore[union-attr]

    def write(self, number: int, item: Write, source: ir.Value, depth: int, lanes: int, count: int) -> None:
        """A plain write; `number` is the item whose strides the access has (a spill has those of its register)."""
        dtype = self.dtype_of(item.source)
        spill = self.nest.spills.get(number) is item
        key = -1 - number if spill else number
        stride = self.inner_stride(key, depth)
        offset = self.offset(key, item.view, depth)
        if item.accumulate:
            source = add(self.builder, self.read(item.memory, offset, stride, dtype, lanes, count), source, dtype)
        self.put(item.memory, offset, stride, dtype, source, lanes, count)

    def reduce(self, number: int, item: Reduce, source: ir.Value, lanes: int, count: int, unroll: int) -> None:
        builder, depth = self.builder, len(self.axes)
        if number in self.in_registers:
            cell = self.accumulators[number][unroll % len(self.accumulators[number])]
            if count < self.lanes:
                identity = constant(item.dtype, IDENTITY[item.operation](item.dtype), self.lanes)
                source = widen(builder, source, identity, count, lanes, self.lanes)
            builder.store(combine(builder, item, builder.load(cell), source), cell)
            return
        offset, stride = self.offset(number, item.view, depth), self.inner_stride(number, depth)
        if stride == 0 and lanes > 1:
            raise AssertionError("a reduced innermost axis sums in registers")
        old = self.read(item.memory, offset, stride, item.dtype, lanes, count)
        self.put(item.memory, offset, stride, item.dtype, combine(builder, item, old, source), lanes, count)

    # Addresses.

    def inner_stride(self, number: int, depth: int) -> int:
        return self.axes[-1].strides[number] if depth == len(self.axes) and self.axes else 0

    def offset(self, number: int, view: View, depth: int) -> ir.Value:
        """Elements from the start of the memory to the access, at the loop indices known at `depth`."""
        builder = self.builder
        total = self.pointers.offset(builder, view.offset)
        for axis, index in zip(self.axes[:depth], self.indices):
            stride = axis.strides[number]
            if stride == 0:
                continue
            if isinstance(index, ir.Constant) and isinstance(total, ir.Constant):
                total = ir.Constant(I64, total.constant + index.constant * stride)
                continue
            step = index if stride == 1 else builder.mul(index, ir.Constant(I64, stride))
            total = builder.add(total, step)
        return total

    def address(self, base: ir.Value, offset: ir.Value, kind: ir.Type, element: ir.Type) -> ir.Value:
        builder = self.builder
        typed = builder.bitcast(base, element.as_pointer())
        place = builder.gep(typed, [offset])
        return place if kind == element else builder.bitcast(place, kind.as_pointer())

    def load_one(self, base: ir.Value, offset: ir.Value, dtype: np.dtype) -> ir.Value:
        kind = memory_type(dtype)
        value = self.builder.load(self.address(base, offset, kind, kind), align=dtype.itemsize)
        return self.builder.icmp_unsigned("!=", value, ir.Constant(kind, 0)) if dtype.kind == "b" else value

    def store_one(self, base: ir.Value, offset: ir.Value, dtype: np.dtype, value: ir.Value) -> None:
        kind = memory_type(dtype)
        if dtype.kind == "b":
            value = self.builder.zext(value, kind)
        self.builder.store(value, self.address(base, offset, kind, kind), align=dtype.itemsize)

    def read(self, memory: Memory, offset: ir.Value, stride: int, dtype: np.dtype, lanes: int, count: int) -> ir.Value:
        builder, base = self.builder, self.pointers.of(memory)
        if lanes == 1:
            return self.load_one(base, offset, dtype)
        if stride == 0:
            return splat(builder, self.load_one(base, offset, dtype), lanes)
        if abs(stride) == 1 and count == lanes:
            element, kind = memory_type(dtype), memory_type(dtype, lanes)
            if stride < 0:
                offset = builder.add(offset, ir.Constant(I64, 1 - lanes))
            value = builder.load(self.address(base, offset, kind, element), align=dtype.itemsize)
            if stride < 0:
                value = reversed_lanes(builder, value)
            if dtype.kind == "b":
                value = builder.icmp_unsigned("!=", value, ir.Constant(kind, [0] * lanes))
            return value
        if stride == 1 and dtype.kind == "f":
            return self.masked_load(base, offset, dtype, lanes, count)
        found = [
            self.load_one(base, builder.add(offset, ir.Constant(I64, lane * stride)), dtype) for lane in range(count)
        ]
        return from_lanes(builder, found, lanes)

    def masked_load(self, base, offset, dtype, lanes, count) -> ir.Value:
        kind = memory_type(dtype, lanes)
        place = self.address(base, offset, kind, memory_type(dtype))
        name = f"llvm.masked.load.{suffix(kind)}.p0"
        mask = lane_mask(lanes, count)
        function = declare(self.builder.module, name, kind, [place.type, I32, mask.type, kind])
        # lanes that do not exist hold 1, which no function minds
        return self.builder.call(function, [place, I32(dtype.itemsize), mask, constant(dtype, 1, lanes)])

    def put(self, memory: Memory, offset, stride, dtype, value, lanes, count) -> None:
        builder, base = self.builder, self.pointers.of(memory)
        if lanes == 1:
            self.store_one(base, offset, dtype, value)
            return
        element, kind = memory_type(dtype), memory_type(dtype, lanes)
        if abs(stride) == 1 and count == lanes:
            if dtype.kind == "b":
                value = builder.zext(value, kind)
            if stride < 0:
                offset = builder.add(offset, ir.Constant(I64, 1 - lanes))
                value = reversed_lanes(builder, value)
            builder.store(value, self.address(base, offset, kind, element), align=dtype.itemsize)
            return
        if stride == 1 and dtype.kind == "f":
            place = self.address(base, offset, kind, element)
            mask = lane_mask(lanes, count)
            name = f"llvm.masked.store.{suffix(kind)}.p0"
            function = declare(builder.module, name, ir.VoidType(), [kind, place.type, I32, mask.type])
            builder.call(function, [value, place, I32(dtype.itemsize), mask])
            return
        for lane in range(count):
            place = builder.add(offset, ir.Constant(I64, lane * stride))
            self.store_one(base, place, dtype, builder.extract_element(value, I32(lane)))


def add(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, dtype: np.dtype) -> ir.Value:
    return builder.fadd(a, b, flags=CONTRACT) if dtype.kind == "f" else builder.add(a, b)


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


class loop:
    """`with loop(builder, start, stop, step) as index:` emits a counted loop; it runs at least once."""

    def __init__(self, builder: ir.IRBuilder, start: int, stop: int, step: int):
        self.builder, self.start, self.stop, self.step = builder, start, stop, step

    def __enter__(self) -> ir.Value:
        builder = self.builder
        before = builder.block
        self.body = builder.append_basic_block("loop")
        builder.branch(self.body)
        builder.position_at_end(self.body)
        self.index = builder.phi(I64)
        self.index.add_incoming(ir.Constant(I64, self.start), before)
        return self.index

    def __exit__(self, kind, error, trace) -> None:
        if kind is not None:
            return
        builder = self.builder
        following = builder.add(self.index, ir.Constant(I64, self.step), flags=["nsw", "nuw"])
        self.index.add_incoming(following, builder.block)
        done = builder.icmp_unsigned(">=", following, ir.Constant(I64, self.stop))
        after = builder.append_basic_block("after")
        builder.cbranch(done, after, self.body)
        builder.position_at_end(after)


def accesses(nest: Nest) -> dict[int, View]:
    """The view of each item that addresses memory; spills under the key `-1 - register`."""
    found = {k: item.view for k, item in enumerate(nest.items) if isinstance(item, Read | GatherRead | Write | Reduce)}
    found.update({-1 - register: write.view for register, write in nest.spills.items()})
    return found


def loop_axes(nest: Nest) -> list[Axis]:
    """The loops: axes of extent 1 dropped, ordered for unit strides inside, and merged where all accesses allow."""
    views = accesses(nest)
    axes = []
    for k, extent in enumerate(nest.domain):
        if extent != 1:
            strides = {number: view.strides[k] for number, view in views.items()}
            reduced = frozenset(n for n, i in enumerate(nest.items) if isinstance(i, Reduce) and k in i.axes)
            axes.append(Axis(extent, strides, reduced))
    if not nest.ordered and len(axes) > 1:
        inner = max(range(len(axes)), key=lambda k: (innermost_score(axes[k]), k))
        rest = sorted((k for k in range(len(axes)) if k != inner), key=lambda k: (-reach(axes[k]), k))
        axes = [axes[k] for k in [*rest, inner]]
    merged: list[Axis] = []
    for axis in axes:
        if merged and joins(merged[-1], axis):
            outer = merged.pop()
            axis = Axis(outer.extent * axis.extent, axis.strides, axis.reduced_by)
        merged.append(axis)
    return merged


def innermost_score(axis: Axis) -> tuple[float, int]:
    """How well an axis serves as the innermost: unit strides are good, other strides are bad; long ones better."""
    strides = [abs(s) for s in axis.strides.values()]
    score = sum(1.0 if s == 1 else 0.5 if s == 0 else -1.0 for s in strides)
    if axis.extent < 4:
        score -= len(strides)
    return (score, axis.extent)


def reach(axis: Axis) -> int:
    return sum(abs(s) for s in axis.strides.values())


def joins(outer: Axis, inner: Axis) -> bool:
    return outer.reduced_by == inner.reduced_by and all(
        outer.strides[n] == inner.strides[n] * inner.extent for n in outer.strides
    )


def item_levels(nest: Nest, axes: list[Axis]) -> list[int]:
    """The number of loops around each item: reads of memory that the nest writes, and writes, stay inside all."""
    depth = len(axes)
    written = {i.memory for i in itertools.chain(nest.items, nest.spills.values()) if isinstance(i, Write | Reduce)}
    levels: list[int] = []
    for number, item in enumerate(nest.items):
        if isinstance(item, Immediate):
            level = 0
        elif isinstance(item, Compute):
            level = max((levels[k] for k in item.operands), default=0)
        elif isinstance(item, Read | GatherRead) and item.memory not in written:
            moves = [k + 1 for k, axis in enumerate(axes) if axis.strides[number]]
            level = max([0, *moves, *(levels[k] for k in getattr(item, "indices", ()))])
        else:
            level = depth
        if number in nest.spills:
            level = depth
        levels.append(level)
    return levels


__all__ = ["NestEmitter", "Pointers", "intrinsic", "loop"]
