"""Emit one loop nest with explicit SIMD.

The innermost loop runs over blocks of `lanes` numbers; what is left over is one narrower block. Along a ragged axis,
whose extent is known when the nest is entered, that is a block under a mask, or single numbers. Items are
placed at the loop depth that they depend on, so what does not change in an inner loop is computed outside,
as scalars. Strided and gathered accesses are made lane by lane.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, field

import numpy as np
from llvmlite import ir

from ...planning.schedule import Compute, Counted, GatherRead, Immediate, Item, Nest, Position, Read, Reduce, Write
from ...regions.affine import Ragged
from ...regions.regions import View
from ..llvm.places import LoopPart, Pointers, at_most, loop
from ..llvm.types import I32, I64, constant, register_type, splat
from ..maths import elementwise
from ..maths import vector_functions as vecmath
from .access import Tail, at_counted_places, load_one, put, read, store_one, tail
from .axes import Axis, item_levels, loop_axes
from .interleaved import Columns, column_reads, column_writes, load_columns, store_columns
from .lanes import IDENTITY, across_lanes, add, combine, from_lanes, widen
from .neighbours import growth_of_items, inner_accesses, place_growth
from .row_sums import SHORT_BLOCKS, UNROLL_ITEMS, RowSums, row_sums, short_blocks

VECTOR_BYTES = 64
RAGGED_BYTES = 32  # loops over triangles are short: what is left over counts
APART_BYTES = 16  # many numbers that are apart take long to compile
MANY_APART = 12


@dataclass(frozen=True, slots=True)
class NestPart:
    """A part of a nest that is cut along the loop at `depth`; the items in `sums` are summed for it alone."""

    stretch: LoopPart
    depth: int
    sums: Container[int]


@dataclass
class NestEmitter:
    """The emission of one nest, or of a part of it, into `builder`'s current block."""

    builder: ir.IRBuilder
    nest: Nest
    pointers: Pointers
    cut: NestPart | None = None
    axes: list[Axis] = field(default_factory=list)
    level: list[int] = field(default_factory=list)  # per item: loops around it
    growth: list[int | None] = field(default_factory=list)  # per item: from a lane to the next
    scalars: dict[int, ir.Value] = field(default_factory=dict)  # registers computed outside the innermost loop
    accumulators: dict[int, list[ir.Value]] = field(default_factory=dict)
    in_registers: dict[int, int] = field(default_factory=dict)  # Reduce item -> depth of the loops it sums over
    rows: RowSums = field(default_factory=RowSums)
    extents: list[int | ir.Value] = field(default_factory=list)  # of the axes, in this iteration of the loops around
    indices: list[ir.Value] = field(default_factory=list)
    columns: dict[int, Columns] = field(default_factory=dict)  # of items that are made together
    lanes: int = 1

    def emit(self) -> None:
        nest = self.nest
        self.look_at_axes()
        filled = self.prepare_reductions()
        for number in filled if self.cut is None else [n for n in filled if n in self.cut.sums]:
            self.fill(nest.items[number])
        if 0 in nest.domain:
            return
        depth = len(self.axes)
        self.extents = [self.pointers.extent(self.builder, axis.extent) for axis in self.axes]
        self.lanes = self.choose_lanes()
        if self.cut is None or self.cut.depth < depth - 1:
            self.rows = row_sums(nest, self.axes, short_blocks(nest, self.axes, self.lanes))
        if depth == 0:
            self.emit_block(ir.Constant(I64, 0), 1, 1, unroll=0)
            return
        self.open_loops(0)

    def look_at_axes(self) -> None:
        nest = self.nest
        self.axes = loop_axes(nest)
        self.level = item_levels(nest, self.axes)
        self.growth = growth_of_items(nest.items, self.level, self.axes)
        self.columns = column_reads(nest, self.axes) | column_writes(nest, self.axes)

    # Reductions.

    def emit_before_parts(self, sums: Container[int]) -> None:
        """What comes before all parts, in which `sums` are summed by themselves. It leaves the axes known."""
        self.look_at_axes()
        for number in self.prepare_reductions():
            if number not in sums:
                self.fill(self.nest.items[number])

    def unit(self, depth: int) -> int:
        """At multiples of what a loop can be cut, once the axes are known: the innermost one between blocks."""
        if depth < len(self.axes) - 1:
            return 1
        self.lanes = self.choose_lanes()
        return self.lanes * self.copies()

    def prepare_reductions(self) -> list[int]:
        """Decide for each reduction whether it sums in registers; those that are to find the identity in memory."""
        depth, filled = len(self.axes), []
        for number, item in enumerate(self.nest.items):
            if not isinstance(item, Reduce):
                continue
            first = depth
            while first > 0 and number in self.axes[first - 1].reduced_by:
                first -= 1
            outer = any(number in axis.reduced_by for axis in self.axes[:first])
            if first < depth and 0 not in self.nest.domain:
                self.in_registers[number] = first
            if not item.adds and (outer or first == depth or 0 in self.nest.domain):
                filled.append(number)
        return filled

    def fill(self, item: Item) -> None:
        """Store the identity of the reduction to each element of its result."""
        assert isinstance(item, Reduce)
        kept = [(n, s) for k, (n, s) in enumerate(zip(item.view.shape, item.view.strides)) if k not in item.axes]
        if any(n == 0 for n, _ in kept):
            return
        number = constant(item.dtype, IDENTITY[item.operation](item.dtype))
        place = self.pointers.place(item.memory)
        count: int | ir.Value = math.prod(n for n, _ in kept)
        if kept and isinstance(kept[0][0], Ragged):  # rows that there are; within them also what is not there
            rows = self.pointers.extent(self.builder, kept[0][0])
            count = self.builder.mul(rows, ir.Constant(I64, kept[0][1]))
        if count == 1:
            store_one(self.builder, place, ir.Constant(I64, 0), item.dtype, number)
            return
        with loop(self.builder, 0, count, 1) as i:
            store_one(self.builder, place, i, item.dtype, number)

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
        self.rows.start(self.builder, depth)

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
            base = self.pointers.place(item.memory)
            if item.adds or any(number in axis.reduced_by for axis in self.axes[:first]):
                total = combine(self.builder, item, load_one(self.builder, base, offset, item.dtype), total)
            store_one(self.builder, base, offset, item.dtype, total)
        self.rows.finish(self.builder, depth, self.pointers, self.offset)

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
        extent = self.axes[-1].extent
        nbytes = VECTOR_BYTES
        if not self.is_costly():
            elsewhere = set(self.in_registers).union(*(columns.items for columns in self.columns.values()))
            apart, neighbours = inner_accesses(self.nest, self.axes, self.level, self.growth, elsewhere)
            if isinstance(extent, Ragged) or apart > neighbours:
                nbytes = RAGGED_BYTES if apart <= max(neighbours, MANY_APART) else APART_BYTES
        lanes = nbytes // max(sizes, default=8)
        while lanes > extent:
            lanes //= 2
        return max(lanes, 1)

    def open_loops(self, depth: int) -> None:
        """The loops from `depth` inwards, with what belongs between them."""
        self.emit_level(depth)
        innermost = depth == len(self.axes) - 1
        copies = self.copies()
        self.start_accumulators(depth, copies)
        is_cut = self.cut is not None and depth == self.cut.depth
        if innermost and is_cut:
            self.emit_innermost_part(copies)
        elif innermost and isinstance(self.extents[depth], int):
            self.emit_innermost(copies)
        elif innermost:
            self.emit_ragged(copies, self.extents[depth])
        else:
            start, stop = (self.stretch.first, self.stretch.last) if is_cut else (0, self.extents[depth])
            with loop(self.builder, start, stop, 1) as index:
                self.indices.append(index)
                self.open_loops(depth + 1)
                self.indices.pop()
        self.finish_accumulators(depth)

    def copies(self) -> int:
        """How many blocks run at once: several only where sums would wait for one another."""
        sums = bool(self.in_registers)
        blocks = self.axes[-1].extent // self.lanes
        return 4 if sums and len(self.nest.items) <= UNROLL_ITEMS and blocks >= 8 else 1

    @property
    def stretch(self) -> LoopPart:
        assert self.cut is not None
        return self.cut.stretch

    def emit_innermost_part(self, copies: int) -> None:
        """A part of the innermost loop: the same blocks as of the whole one; the last part has what is left over."""
        builder, extent, unit = self.builder, self.axes[-1].extent, self.lanes * copies
        whole, last = extent - extent % unit, self.stretch.last
        with loop(builder, self.stretch.first, at_most(builder, last, whole), unit) as index:
            for k in range(copies):
                start = builder.add(index, I64(k * self.lanes)) if k else index
                self.emit_block(start, self.lanes, self.lanes, unroll=k)
        if whole < extent:
            with builder.if_then(builder.icmp_signed("==", last, I64(extent))):
                self.emit_innermost(copies, whole)

    def emit_innermost(self, copies: int, done: int = 0) -> None:
        """The innermost loop from index `done` on."""
        extent, lanes = self.axes[-1].extent, self.lanes
        for together in (copies, 1) if copies > 1 else (1,):
            step = lanes * together
            last = extent - (extent - done) % step
            if last == done:
                continue
            blocks = (last - done) // lanes
            if last - done == step or (blocks <= SHORT_BLOCKS and len(self.nest.items) <= UNROLL_ITEMS):
                for k in range(blocks):
                    self.emit_block(ir.Constant(I64, done + k * lanes), lanes, lanes, unroll=k % together)
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

    def emit_ragged(self, copies: int, extent: ir.Value) -> None:
        """An innermost loop to an extent known at run time."""
        builder, lanes = self.builder, self.lanes
        done: ir.Value = ir.Constant(I64, 0)
        for together in (copies, 1) if copies > 1 else (1,):
            step = lanes * together  # a power of two
            last = builder.and_(extent, ir.Constant(I64, -step))
            with loop(builder, done, last, step) as index:
                for k in range(together):
                    start = builder.add(index, ir.Constant(I64, k * lanes)) if k else index
                    self.emit_block(start, lanes, lanes, unroll=k)
            done = last
        if lanes == 1:
            return
        if self.masks_the_rest():
            with builder.if_then(builder.icmp_signed("<", done, extent)):
                self.emit_block(done, lanes, tail(builder, builder.sub(extent, done), lanes), unroll=0)
        else:
            with loop(builder, done, extent, 1) as index:
                self.emit_block(index, 1, 1, unroll=0)

    def is_costly(self) -> bool:
        """Whether a number takes so long that an incomplete block at once pays."""
        names = (item.primitive for item in self.nest.items if isinstance(item, Compute))
        return any(vecmath.is_formula(name) for name in names)

    def masks_the_rest(self) -> bool:
        """Whether an incomplete block is one under a mask.

        Single numbers find in the store buffer what an iteration before has just put there, which a vector around them
        does not; scattered places take no mask.
        """
        if not self.is_costly():
            return False
        for number, item in enumerate(self.nest.items):
            if isinstance(item, GatherRead) or (isinstance(item, Write) and item.indices):
                return False
            to_memory = isinstance(item, Write | Reduce) and number not in self.in_registers
            if to_memory and abs(self.axes[-1].strides[number]) != 1:
                return False
        return all(abs(self.axes[-1].strides[-1 - register]) == 1 for register in self.nest.spills)

    # Items.

    def emit_level(self, depth: int) -> None:
        """Items that `depth` loops around decide, as scalars."""
        for number, item in enumerate(self.nest.items):
            if self.level[number] == depth and not isinstance(item, Write | Reduce):
                self.scalars[number] = self.emit_item(number, item, depth, 1, 1, self.scalars.__getitem__)
                if number in self.nest.spills:
                    self.write(number, self.nest.spills[number], self.scalars[number], depth, 1, 1)

    def emit_block(self, start: ir.Value, lanes: int, count: int | Tail, unroll: int) -> None:
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

        together = self.columns if lanes > 1 and count == lanes else {}
        for number, item in enumerate(self.nest.items):
            if self.level[number] < depth:
                continue
            if number in together and isinstance(item, Read):
                if number not in registers:
                    registers.update(self.read_columns(together[number], item, depth, lanes))
                if number in self.nest.spills:
                    self.write(number, self.nest.spills[number], registers[number], depth, lanes, count)
            elif number in together and isinstance(item, Write):
                if number == max(together[number].items):
                    self.write_columns(together[number], item, register, depth)
            elif isinstance(item, Write):
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
        if isinstance(item, Position):
            return splat(builder, self.pointers.offset(builder, item.expression), lanes)
        if isinstance(item, Counted):
            offset = self.offset(number, item.view, depth)
            return at_counted_places(builder, item, offset, self.inner_stride(number, depth), lanes)
        if isinstance(item, Compute):
            operands = [register(k) for k in item.operands]
            source = self.nest.items[item.operands[-1]].dtype  # type: ignore[union-attr]
            parameters, contract = dict(item.parameters), number not in self.nest.exact
            return elementwise.emit(builder, item.primitive, operands, item.dtype, source, parameters, contract)
        if isinstance(item, Read):
            offset, stride = self.offset(number, item.view, depth), self.inner_stride(number, depth)
            return read(builder, self.pointers.place(item.memory), offset, stride, item.dtype, lanes, count)
        assert isinstance(item, GatherRead)
        offset = self.offset(number, item.view, depth)
        base, stride = self.pointers.place(item.memory), self.inner_stride(number, depth)
        indices = [register(k) for k in item.indices]
        growth = place_growth(item, stride, self.growth)
        if growth is not None:  # places like any others
            place = self.add_indices(offset, indices, item, 0)
            return read(builder, base, place, growth, item.dtype, lanes, count)
        lane_values = []
        assert isinstance(count, int)
        for lane in range(count):
            place = builder.add(offset, ir.Constant(I64, lane * stride))
            place = self.add_indices(place, indices, item, lane)
            lane_values.append(load_one(self.builder, base, place, item.dtype))
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

    def write_item(self, number: int, item: Write, register, depth: int, lanes: int, count: int | Tail) -> None:
        source = register(item.source)
        if not item.indices:
            self.write(number, item, source, depth, lanes, count)
            return
        builder, dtype = self.builder, self.dtype_of(item.source)
        base, stride = self.pointers.place(item.memory), self.inner_stride(number, depth)
        offset = self.offset(number, item.view, depth)
        indices = [register(k) for k in item.indices]
        growth = place_growth(item, stride, self.growth)
        if growth:
            place = self.add_indices(offset, indices, item, 0)
            if item.accumulate:
                source = add(builder, read(builder, base, place, growth, dtype, lanes, count), source, dtype)
            put(builder, base, place, growth, dtype, source, lanes, count)
            return
        assert isinstance(count, int)
        for lane in range(count):  # in order: the last of equal indices wins, and sums see one another
            place = builder.add(offset, ir.Constant(I64, lane * stride))
            place = self.add_indices(place, indices, item, lane)
            value = builder.extract_element(source, I32(lane)) if lanes > 1 else source
            if item.accumulate:
                value = add(builder, load_one(self.builder, base, place, dtype), value, dtype)
            store_one(self.builder, base, place, dtype, value)

    def read_columns(self, columns: Columns, item: Read, depth: int, lanes: int) -> dict[int, ir.Value]:
        first = self.nest.items[columns.first]
        assert isinstance(first, Read)
        offset, place = self.offset(columns.first, first.view, depth), self.pointers.place(item.memory)
        found = load_columns(self.builder, place, offset, item.dtype, lanes, len(columns.items))
        return dict(zip(columns.items, found))

    def write_columns(self, columns: Columns, item: Write, register, depth: int) -> None:
        writes = [self.nest.items[k] for k in columns.items]
        sources = [register(write.source) for write in writes]  # type: ignore[union-attr]
        offset = self.offset(columns.first, writes[0].view, depth)  # type: ignore[union-attr]
        place, dtype = self.pointers.place(item.memory), self.dtype_of(item.source)
        store_columns(self.builder, place, offset, dtype, sources, item.accumulate)

    def dtype_of(self, number: int) -> np.dtype:
        return self.nest.items[number].dtype  # type: ignore[union-attr]

    def write(self, number: int, item: Write, source: ir.Value, depth: int, lanes: int, count: int | Tail) -> None:
        """A plain write; `number` is the item whose strides the access has (a spill has those of its register)."""
        dtype = self.dtype_of(item.source)
        spill = self.nest.spills.get(number) is item
        key = -1 - number if spill else number
        stride = self.inner_stride(key, depth)
        offset = self.offset(key, item.view, depth)
        if item.accumulate:
            source = add(
                self.builder,
                read(self.builder, self.pointers.place(item.memory), offset, stride, dtype, lanes, count),
                source,
                dtype,
            )
        put(self.builder, self.pointers.place(item.memory), offset, stride, dtype, source, lanes, count)

    def reduce(self, number: int, item: Reduce, source: ir.Value, lanes: int, count: int | Tail, unroll: int) -> None:
        builder, depth = self.builder, len(self.axes)
        if number in self.rows.sums:
            self.rows.add(builder, number, self.indices[-1], source)
            return
        if number in self.in_registers:
            cell = self.accumulators[number][unroll % len(self.accumulators[number])]
            if count != self.lanes:
                identity = constant(item.dtype, IDENTITY[item.operation](item.dtype), self.lanes)
                if isinstance(count, Tail):
                    source = builder.select(count.mask, source, identity)
                else:
                    source = widen(builder, source, identity, count, lanes, self.lanes)
            builder.store(combine(builder, item, builder.load(cell), source), cell)
            return
        offset, stride = self.offset(number, item.view, depth), self.inner_stride(number, depth)
        if stride == 0 and lanes > 1:
            raise AssertionError("a reduced innermost axis sums in registers")
        place = self.pointers.place(item.memory)
        old = read(builder, place, offset, stride, item.dtype, lanes, count)
        put(builder, place, offset, stride, item.dtype, combine(builder, item, old, source), lanes, count)

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
