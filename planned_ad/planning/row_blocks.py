"""Work on large arrays that share an axis goes in blocks of rows along it: what is only used there is never whole.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def normalised(x):
...     e = np.exp(x)
...     return e / e.sum(axis=1, keepdims=True)
>>> tape = simplify(primal(trace(normalised, (np.zeros((4096, 64)),)).tape))
>>> print(brief(tape))
v0: float64[4096, 64] = x[...]
v1: float64[4096, 64] = exp(v0)
v2: float64[4096] = reduce_sum(v1, axes=(1,))
v4: float64[4096, 64] = view(v2, view={+0 [4096, 64] by [1, 0]})
v5: float64[4096, 64] = divide(v1, v4)
result#1[...] = v5
>>> blocked, (note,) = in_row_blocks(tape)
>>> print(note)
16 of 4096 rows at a time; 2121600 bytes are never whole
>>> print(brief(blocked))
for i0 in range(0, 256, 1):
    v6: float64[16, 64] = x[16*i0:16*i0 + 16, :]
    v7: float64[16, 64] = exp(v6)
    v8: float64[16] = reduce_sum(v7, axes=(1,))
    v9: float64[16, 64] = view(v8, view={+0 [16, 64] by [1, 0]})
    v10: float64[16, 64] = divide(v7, v9)
    result#1[16*i0:16*i0 + 16, :] = v10

Requires a simplified tape; ensures the same numbers, but that sums along the axis are made of those of the blocks.

`e` takes 2 MB in the first tape, and in the second the 16 KB of one block. `analysis.rowwise` says what can run row by
row. (Polyhedral compilers do the same: fusion, the outer loop tiled, arrays contracted to a tile.)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..analysis.rowwise import OutOfOrder, Place, RowAccess, Rowwise, clash, decides, row_bounds
from ..analysis.shared_axes import AxisOf, SharedAxes, is_many
from ..passes.dead_code import drop_dead
from ..passes.inline import end_of_indices
from ..passes.sums_in_loops import adding
from ..regions.affine import loop_index
from ..regions.regions import Region, View, contiguous, is_fixed
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt
from ..tape.tape import Apply, Load, Loop, Operation, Store, Tape, Value, free_values, renamed, walk
from .anchors import decide_anchors
from .row_writer import Parted, RowWriter
from .schedule import BlockedRows
from .stored_products import stored_products

WORTH = 1 << 18  # bytes that are not kept whole: below, they stay in a cache anyway
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
PAYS = 3  # operations on numbers, at least, for each that has to be moved for it
LINE = 16  # rows, at least, where rows are columns of memory: two lines of a cache
CLASSES = 4  # of axes that are tried, those with most bytes first
PHASES = 3  # of rows between totals, of which one may be worth it where the first is not
MOST_OPERATIONS = 1000  # of a block: longer ones are mostly scalar code, and trying costs time
AGAIN = 6  # times that a tape is parted

Path = tuple[tuple[int, int], ...]
Made = dict[int, tuple[int, Operation]]  # where each value is made, in loops: where these are


def in_row_blocks(tape: Tape) -> tuple[Tape, tuple[BlockedRows, ...]]:
    """The tape with loops over blocks of rows, and what these are; the same tape if nothing is large.

    Requires a simplified tape; ensures the same numbers (sums reassociated).
    """
    notes: list[BlockedRows] = []
    kept = kept_values(tape)
    for _ in range(AGAIN):
        large = [path for path, block in blocks_of(tape.operations) if is_large(block)]
        forms = ((form, path) for path in large for form in (*with_loads_inside(tape, path), tape))
        ways = (with_rows_in_a_loop(f, kept if f is tape else kept_values(f), path) for f, path in forms)
        found = next(filter(None, ways), None)
        if found is None:
            break
        tape, kept, note = found
        notes.append(note)
    return tape, tuple(notes)


def blocks_of(operations: Sequence[Operation], around: Path = ()) -> Iterator[tuple[Path, Sequence[Operation]]]:
    """All blocks of a tape, and how they are reached: positions of operations, and numbers of their blocks."""
    yield around, operations
    for position, op in enumerate(operations):
        for number, block in enumerate(op.blocks):
            yield from blocks_of(block, (*around, (position, number)))


def is_large(block: Sequence[Operation]) -> bool:
    """Whether there is much to keep: of what loops compute, the derivative may keep the values of all iterations."""
    return made_nbytes(block) >= WORTH and sum(1 for _ in walk(tuple(block))) <= MOST_OPERATIONS


def made_nbytes(block: Sequence[Operation]) -> int:
    """Bytes of arrays that a block computes."""
    made = sum(op.out.nbytes for op in block if isinstance(op, Apply) and op.out.shape)
    for op in block:
        times = int(op.trips) if isinstance(op, Loop) else 1
        made += times * sum(map(made_nbytes, op.blocks))
    return made


def block_at(operations: tuple[Operation, ...], path: Path) -> tuple[Operation, ...]:
    for position, number in path:
        operations = operations[position].blocks[number]
    return operations


def with_block_at(operations: tuple[Operation, ...], path: Path, block: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Operations with another block in place of one."""
    if not path:
        return block
    (position, number), *rest = path
    op = operations[position]
    blocks = list(op.blocks)
    blocks[number] = with_block_at(blocks[number], tuple(rest), block)
    return (*operations[:position], op.with_blocks(*blocks), *operations[position + 1 :])


def with_rows_in_a_loop(
    tape: Tape, kept: frozenset[int], path: Path
) -> tuple[Tape, frozenset[int], BlockedRows] | None:
    """The tape with the rows of one class of axes of a block in a loop, and what it keeps; None where none is worth it.

    `kept`: the values that have memory of their own before.
    """
    inner = tape
    if path:
        operations = block_at(tape.operations, path)
        inner = replace(tape, operations=operations, turn=len(operations), results=())
    if whole_nbytes(inner, kept) < WORTH:
        return None
    before = whole_nbytes(tape, kept)
    inner = replace(inner, operations=tuple(adding(op) if isinstance(op, Loop) else op for op in inner.operations))
    written = frozenset(region.buffer for op in inner.operations for region in op.writes)
    local = frozenset(id for id in written if not tape.buffers[id].visible)
    found: list[RowBlocks] = []
    tried: set[tuple[frozenset[AxisOf], int]] = set()
    for through in dict.fromkeys((written, local, frozenset[int]())):
        found += ways_to_part(inner, SharedAxes(walk(inner.operations), through), kept, bool(path), tried)
    for blocks in sorted(found, key=lambda blocks: -blocks.saved):
        if blocks.saved >= WORTH:
            try:
                parted = blocks.written(rebuilt(tape), end_of_indices(tape.operations))
            except OutOfOrder:
                continue
            operations = with_block_at(tape.operations, path, parted.operations)
            turn = tape.turn if path else parted.turn
            changed = drop_dead(replace(tape, buffers=parted.buffers, operations=operations, turn=turn))
            keeps = kept_values(changed)
            less = before - whole_nbytes(changed, keeps)
            if less >= WORTH:
                line = blocks.at(Place.ROWS)[0].line
                return changed, keeps, BlockedRows(rows=blocks.extent, together=blocks.count(), nbytes=less, line=line)
    return None


def with_loads_inside(tape: Tape, path: Path) -> tuple[Tape, ...]:
    """The tape with what a block reads of values that are loaded around it, from memory that nothing writes to, loaded
    in it: parts of these that are no regular parts of that memory would be kept whole. None where there are none."""
    written = {region.buffer for op in walk(tape.operations) for region in op.writes}
    loads = {op.out.id: op for op in walk(tape.operations) if isinstance(op, Load) and op.region.buffer not in written}
    block, builder = block_at(tape.operations, path), rebuilt(tape)
    found = [loads[v.id] for v in free_values((block,), ()) if v.id in loads and is_fixed(loads[v.id].region.view)]
    new = {op.out.id: builder.new_value(op.out.shape, op.out.dtype) for op in found if op.out.shape}
    inside = [replace(op, out=new[op.out.id]) for op in found if op.out.shape]
    block = (*inside, *(renamed(op, new) for op in block))
    return (replace(tape, operations=with_block_at(tape.operations, path, block)),) if inside else ()


def kept_values(tape: Tape) -> frozenset[int]:
    """The values that have memory of their own."""
    found = set(decide_anchors(tape).reasons)
    for _, block in blocks_of(tape.operations):
        operations = tuple(block)
        turn = tape.turn if operations == tape.operations else len(operations)
        inside = replace(tape, operations=operations, turn=turn, results=())
        found -= {v.id for k in stored_products(inside).values() for v in operations[k].outputs}
    return frozenset(found)


def whole_nbytes(tape: Tape, kept: Container[int]) -> int:
    """Of all values and memory of a tape that have a place of their own."""
    values = sum(v.nbytes for op in walk(tape.operations) for v in op.outputs if v.id in kept)
    used = {region.buffer for op in walk(tape.operations) for region in (*op.reads, *op.writes)}
    return values + sum(tape.buffers[id].nbytes for id in used if not tape.buffers[id].visible)


def ways_to_part(
    tape: Tape, shared: SharedAxes, kept: frozenset[int], is_inner: bool, tried: set[tuple[frozenset[AxisOf], int]]
) -> Iterator[RowBlocks]:
    """The tape parted along the axes that have most bytes, but those that have been `tried` before."""
    weights: Counter[tuple[AxisOf, int]] = Counter()
    for op in walk(tape.operations):
        if isinstance(op, Apply) and op.out.id in kept:
            for k, n in enumerate(op.out.shape):
                if is_many(n):
                    weights[shared.root(op.out, k), n] += op.out.nbytes
    for buffer in tape.buffers:
        for n, stride in zip(buffer.view.shape, buffer.view.strides) if not buffer.visible else ():
            if is_many(n):
                weights[shared.root_of_memory(buffer.id, stride), n] += buffer.nbytes
    enclosed = ((k, op) for k, whole in enumerate(tape.operations) for op in walk((whole,)))
    made = {v.id: (k, op) for k, op in enclosed for v in op.outputs}
    needed = needed_before(tape.operations)
    for (root, extent), nbytes in weights.most_common(CLASSES):
        key = shared.axes_in(root), extent
        if key in tried:
            continue
        tried.add(key)
        before = needed
        for _ in range(PHASES if nbytes >= WORTH else 0):
            blocks = RowBlocks(tape, shared, root, extent, kept, made, before, is_inner)
            yield blocks
            found = blocks.rowwise.axes.keys() | blocks.rowwise.totals.keys()
            if found <= before:
                break
            before |= found


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
    ) -> None:
        self.tape, self.extent, self.kept = tape, extent, kept
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
        found = memory + sum(v.nbytes for v in rows if v.id not in self.stored)
        return found if not self.rowwise.loops or self.crowds() or found >= LOOP_WORTH else 0

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
        return max((memory + sum(v.nbytes for v in rows)) // self.extent, 1)

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


def needed_before(operations: Sequence[Operation]) -> frozenset[int]:
    """Values that decide something: guards look at them, or loops, before anything is written."""
    needed: set[int] = set()
    for op in reversed(operations):
        if decides(op) or op.steering or any(v.id in needed for v in op.outputs):
            needed.update(v.id for v in op.inputs)
    return frozenset(needed)


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
