"""A tape parted along one class of axes: what goes before, on rows and after, and how many rows go together.

`planning.row_blocks` says along which axes, and whether it is worth it; `planning.row_writer` writes what is on rows.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..analysis.rowwise import PRODUCT_ROWS, Place, RowAccess, Rowwise, clash, multiplications, row_bounds
from ..analysis.shared_axes import AxisOf, SharedAxes
from ..regions.affine import loop_index
from ..regions.regions import Region, View, contiguous
from ..rules.table import RULES
from ..tape.builder import TapeBuilder
from ..tape.tape import Apply, Load, Loop, Operation, Store, Tape, Value
from .fetches import is_far
from .row_writer import Parted, RowWriter

BLOCK_NBYTES = 1 << 14  # of what is kept of one block: half of a cache of the first level
MOST_NBYTES = 1 << 18  # of one block; a cache of the second level
SHORT = 32  # numbers in a row, at most, for rows to be side by side in vectors
LANES = 8  # rows, at least, for that
PAGE = 1 << 12  # bytes: rows that are so far apart, or a multiple, have the same few places in a cache
LOOP_WORTH = 1 << 18  # bytes that are not kept whole where blocks run through loops: what does not fit a cache
LOOP_NBYTES = 1 << 16  # of what is kept of one block that runs through loops
LOOP_MOST_NBYTES = 1 << 20
LOOP_ROWS = 64  # rows of a block that runs through loops, where they stay in a cache: each iteration has its cost
STRIP_NBYTES = 1 << 11  # of memory that is passed through strip by strip
VECTOR = 32  # bytes
PAYS = 3  # operations on numbers, at least, for each that has to be moved for it
LINE = 16  # rows, at least, where rows are columns of memory: two lines of a cache

Made = dict[int, tuple[int, Operation]]  # where each value is made, in loops: where these are


class RowBlocks:
    """A tape, or a block of one, parted along one class of axes: what goes before, on rows and after.

    `stored`: values on rows that are needed whole; `again`: operations that are done again for what comes after;
    `local`: buffers that only rows use, by their extents: one block of them is enough.
    """

    def __init__(
        self,
        tape: Tape,
        shared: SharedAxes,
        root: AxisOf,
        extent: int,
        kept: frozenset[int],
        made: Made,
        before: frozenset[int],
        is_inner: bool,
        again: frozenset[int],
    ) -> None:
        self.tape, self.extent, self.kept, self.far = tape, extent, kept, again
        self.made = made
        self.rowwise = Rowwise(tape.operations, tape.buffers, shared, root, extent, before)
        self.rowwise.part()
        self.stored: dict[int, Value] = {}
        self.again: dict[int, Operation] = {}  # by position
        for op in self.at(Place.AFTER):
            for value in op.inputs:
                self.need(value)
        for value in tape.results:
            self.need(value)
        # What an iteration of a loop around finds in memory, one before may have left there.
        self.local = {} if is_inner else self.only_on_rows()

    @property
    def saved(self) -> int:
        """Bytes that are not kept whole any more; none where not even the smallest block stays in a cache."""
        count = self.count()
        if count * self.row_nbytes() > self.most_nbytes() or (self.rowwise.loops and count < self.rowwise.least):
            return 0
        rows = [self.made[id][1].outputs[0] for id in self.rowwise.axes if id in self.kept]
        memory = sum(self.tape.buffers[id].nbytes for id in self.local)
        found = memory + sum(v.nbytes for v in rows if v.id not in self.stored) + self.fetched()[0]
        return found if not self.rowwise.loops or self.crowds() or found >= LOOP_WORTH else 0

    def fetched(self) -> tuple[int, int]:
        """Bytes of large memory whose rows are fetched several times, and would be once: how often, and how many.

        Products of matrices are no such: they compute with what is fetched for longer.
        """
        rows = self.at(Place.ROWS)
        products = [op for op in rows if isinstance(op, Apply) and RULES[op.primitive].kind == "contract"]
        if any(multiplications(op) > PAYS * max(v.size for v in op.operands) for op in products):
            return 0, 0
        bases = (self.made[base.id][1] for op in rows for base in map(self.base, op.inputs) if base.id in self.made)
        fetched, once = 0, dict[int, int]()
        for op in bases:
            if is_far(op, self.far) and self.is_outermost(op):
                fetched += op.out.nbytes
                once[op.region.buffer] = max(once.get(op.region.buffer, 0), op.out.nbytes)
        distinct = sum(once.values())
        return (fetched - distinct, distinct) if fetched > distinct else (0, 0)

    def is_outermost(self, op: Load) -> bool:
        """Whether rows of what is loaded are rows of its memory, and fill vectors."""
        axis = self.rowwise.axis_in(op.out)
        if op.out.nbytes < VECTOR * self.extent:
            return False
        return axis is not None and abs(op.region.view.strides[axis]) == max(map(abs, op.region.view.strides))

    def at(self, place: Place) -> list[Operation]:
        return [op for op, found in zip(self.tape.operations, self.rowwise.places) if found is place]

    def need(self, value: Value) -> None:
        """What comes after needs the whole of `value`: it is stored, or computed again from what is still there."""
        if value.id not in self.rowwise.axes or value.id in self.stored:
            return
        position, op = self.made[value.id]
        if position in self.again:
            return
        if value.id in self.kept or (isinstance(op, Load) and self.is_overwritten(op.region, position)):
            self.stored[value.id] = value
            return
        self.again[position] = op
        for operand in op.inputs:
            self.need(operand)

    def is_overwritten(self, region: Region, position: int) -> bool:
        read = RowAccess(region, position, False)
        touches = (t for found in self.rowwise.touches.values() for t in found.get(region.buffer, ()))
        return any(touch.position > position and clash(read, touch) for touch in touches)

    # Writing.

    def written(self, builder: TapeBuilder, index: int) -> Tape:
        """The tape, in this order; `index`: that of the new loop."""
        tape = self.tape
        before, after = (
            [k for k, p in enumerate(self.rowwise.places) if p is place] for place in (Place.BEFORE, Place.AFTER)
        )
        for k in before:
            builder.emit(tape.operations[k])
        totals = {id: self.memory(builder, value, "total") for id, value in self.rowwise.totals.items()}
        stored = {id: self.memory(builder, value, "rows") for id, value in self.stored.items()}
        for id, buffer in totals.items():
            self.start(builder, self.made[id][1], buffer)
        count = self.count()
        small = {id: self.small(builder, id, axis, count) for id, axis in self.local.items()}
        last, parted = self.is_last(), Parted(self.tape, self.rowwise, self.made, self.kept)
        line = next(iter(self.at(Place.ROWS))).line
        body = RowWriter(parted, builder, count, loop_index(index) * count, totals, stored, small, last).block()
        builder.emit(Loop(index=index, start=0, step=1, trips=self.extent // count, body=body, line=line))
        rest = self.extent % count
        if rest:
            for op in RowWriter(parted, builder, rest, self.extent - rest, totals, stored, small, last).block():
                builder.emit(op)
        for id, buffer in {**totals, **stored}.items():
            value = self.made[id][1].outputs[0]
            builder.emit(Load(out=value, region=Region(buffer, contiguous(value.shape)), line=self.made[id][1].line))
        primal = len(builder.operations)
        for _, op in sorted(self.again.items()):
            builder.emit(op)
        for k in after:
            if k < tape.turn or tape.turn == len(tape.operations):
                primal = len(builder.operations) + 1
            builder.emit(tape.operations[k])
        turn = {0: 0, len(tape.operations): len(builder.operations)}.get(tape.turn, primal)
        return replace(tape, buffers=tuple(builder.buffers), operations=tuple(builder.operations), turn=turn)

    def count(self) -> int:
        """How many rows go together."""
        rows = [(self.made[id][1].outputs[0], axis) for id, axis in self.rowwise.axes.items()]
        least = LINE if any(is_innermost(value.shape, axis) for value, axis in rows) else 1
        least = max(least, PRODUCT_ROWS) if self.fetched()[1] else least
        if least * self.row_nbytes() > self.most_nbytes():
            least = min(least, LANES)
        if not self.rowwise.loops:
            return rows_together(self.extent, self.row_nbytes(), max(least, self.rowwise.least), BLOCK_NBYTES)
        if self.crowds():
            return rows_together(self.extent, self.row_nbytes(), max(LANES, self.rowwise.least), 0)
        least = max(least, self.loop_rows(), self.rowwise.least)
        return rows_together(self.extent, self.row_nbytes(), least, LOOP_NBYTES)

    def crowds(self) -> bool:
        """Whether beside loops rows of arrays from outside are gone through that drive one another out of a cache."""
        touches = (touch for found in self.rowwise.touches[Place.ROWS].values() for touch in found)
        moves = ((self.tape.buffers[touch.region.buffer], touch.step) for touch in touches)
        return any(b.visible and step and step * b.dtype.itemsize % PAGE == 0 for b, step in moves)

    def loop_rows(self) -> int:
        """How many rows are worth an iteration: enough for the strips of memory that it passes to be read at speed."""
        touches = (touch for found in self.rowwise.loops.values() for touch in found)
        buffers = (self.tape.buffers[t.region.buffer] for t in touches if t.step == 1 and t.axis is None)
        sizes = [buffer.dtype.itemsize for buffer in buffers if buffer.visible]
        if sizes:
            return min(max(LOOP_ROWS, STRIP_NBYTES // min(sizes)), LOOP_MOST_NBYTES // self.row_nbytes())
        return min(LOOP_ROWS, MOST_NBYTES // self.row_nbytes())

    def most_nbytes(self) -> int:
        """Of one block: twice as many with products, which compute with what is fetched for longer."""
        if self.rowwise.loops:
            return LOOP_MOST_NBYTES
        return MOST_NBYTES * (2 if self.rowwise.least > 1 else 1)

    def row_nbytes(self) -> int:
        rows = [self.made[id][1].outputs[0] for id in self.rowwise.axes if id in self.kept]
        memory = sum(self.tape.buffers[id].nbytes for id in self.local)
        return max((memory + sum(v.nbytes for v in rows) + self.fetched()[1]) // self.extent, 1)

    def only_on_rows(self) -> dict[int, int]:
        """Memory of which each row is used by that row alone: its numbers, with the axis of its buffer."""
        found, touches = {}, self.rowwise.touches
        loaded = {region.buffer for op in self.again.values() for region in op.reads}
        for id, rows in touches[Place.ROWS].items():
            buffer = self.tape.buffers[id]
            if buffer.visible or id in loaded or id in touches[Place.BEFORE] or id in touches[Place.AFTER]:
                continue
            step = max(map(abs, buffer.view.strides), default=0)
            extents = list(enumerate(zip(buffer.view.strides, buffer.view.shape)))
            axes = [k for k, (s, n) in extents if s == step > 0 and n == self.extent]
            if len(axes) == 1 and all(is_row(touch, step, buffer.low) for touch in rows):
                found[id] = axes[0]
            elif buffer.view == contiguous(buffer.view.shape):
                axes = [k for k, (s, n) in extents if n == self.extent and all(touch.step == s for touch in rows)]
                found.update((id, k) for k in axes)
        return found

    def memory(self, builder: TapeBuilder, value: Value, label: str) -> int:
        builder.line = self.made[value.id][1].line
        return builder.new_buffer("local", label, value.dtype, contiguous(value.shape)).id

    def is_last(self) -> bool:
        """Whether rows are so short, and so much is done with them, that several side by side fill vectors better.

        Not where rows are columns of memory: they are side by side there.
        """
        if self.rowwise.loops or any(self.is_inner_axis(id, axis) for id, axis in self.local.items()):
            return False
        inner, work, moved = 0, 0, 0
        axes = self.rowwise.axes
        for op in self.at(Place.ROWS):
            value = op.value if isinstance(op, Store) else op.outputs[0] if op.outputs else op.inputs[-1]
            if isinstance(op, Apply) and RULES[op.primitive].kind == "reduce":
                value = op.operands[0]
            if value.id in axes:
                inner = max(inner, *(n for k, n in enumerate(value.shape) if k != axes[value.id]), 0)
            if isinstance(op, Apply) and RULES[op.primitive].kind in ("elementwise", "reduce"):
                work += value.size if value.size > self.extent else 0
            elif isinstance(op, Load | Store):
                moved += distinct(op.region)
        loads = {id: op for id, (_, op) in self.made.items() if isinstance(op, Load)}
        read = {base.id for op in self.at(Place.ROWS) for base in map(self.base, op.inputs)}
        moved += sum(distinct(loads[id].region) for id in read & loads.keys() if id not in axes)
        return 1 < inner <= SHORT and work >= PAYS * moved and self.count() >= LANES

    def is_inner_axis(self, id: int, axis: int) -> bool:
        """Whether an axis of a buffer lies within another one."""
        strides = self.tape.buffers[id].view.strides
        return abs(strides[axis]) < max(map(abs, strides))

    def base(self, value: Value) -> Value:
        """What a value is a view of."""
        while value.id in self.made and value.id not in self.kept:
            _, op = self.made[value.id]
            if not isinstance(op, Apply) or op.primitive != "view":
                break
            value = op.operands[0]
        return value

    def small(self, builder: TapeBuilder, id: int, axis: int, count: int) -> int:
        """The memory of one block of a buffer that only rows use."""
        buffer = self.tape.buffers[id]
        builder.line = buffer.line
        if self.is_last():  # all that lies between two rows, for `count` of them
            step = buffer.view.strides[axis]
            return builder.new_buffer(buffer.kind, buffer.label, buffer.dtype, contiguous((abs(step), count))).id
        shape = (*buffer.view.shape[:axis], count, *buffer.view.shape[axis + 1 :])
        view = View(buffer.view.offset, shape, buffer.view.strides)
        if axis and buffer.view == contiguous(buffer.view.shape):
            view = contiguous(shape)
        return builder.new_buffer(buffer.kind, buffer.label, buffer.dtype, view).id

    def start(self, builder: TapeBuilder, op: Operation, buffer: int) -> None:
        """What a total is before the first block."""
        assert isinstance(op, Apply)
        builder.line = op.line
        number = {"reduce_max": -np.inf, "reduce_min": np.inf}.get(op.primitive, 0.0)
        builder.store(builder.buffers[buffer].whole, builder.constant(number, op.out.dtype))


def distinct(region: Region) -> int:
    """How many elements a region has, each counted once, where it has more than one for a row."""
    extents = [n for n, stride in zip(region.view.shape, region.view.strides) if stride and n > 1]
    return math.prod(extents) if len(extents) > 1 else 0


def is_row(touch: RowAccess, step: int, low: int) -> bool:
    """Whether an access on rows is to those of memory that begins at `low` and has rows of `step` elements."""
    if touch.axis is None or touch.region.view.strides[touch.axis] != step:
        return False
    first, last = row_bounds(touch.region.view, touch.axis)
    return isinstance(first, int) and isinstance(last, int) and low <= first and last < low + step


def is_innermost(shape: tuple[int, ...], axis: int) -> bool:
    """Whether rows along an axis are columns."""
    return any(n > 1 for n in shape[:axis]) and all(n == 1 for n in shape[axis + 1 :])


def rows_together(extent: int, row_nbytes: int, least: int, block_nbytes: int) -> int:
    """How many rows go together: they fill a cache, and divide the axis where a number near does."""
    wanted = min(max(block_nbytes // row_nbytes, least), extent // 2)
    near = [n for n in range(max(wanted // 2, least), wanted + 1) if extent % n == 0]
    if near:
        return max(near, key=lambda n: (n % 8 == 0, n))
    return wanted - wanted % 8 if wanted >= 8 else wanted
