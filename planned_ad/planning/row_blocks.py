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
>>> print(brief(in_row_blocks(tape)))

Requires a simplified tape; ensures the same numbers, but that sums along the axis are made of those of the blocks.

`e` takes 2 MB in the first tape, and in the second the 16 KB of one block. `analysis.rowwise` says what can run row by
row. (Polyhedral compilers do the same: fusion, the outer loop tiled, arrays contracted to a tile.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..analysis.rowwise import TOTALS, OutOfOrder, Place, Rowwise, Touch, clash, decides, row_bounds
from ..analysis.shared_axes import AxisOf, SharedAxes, is_many, narrowed
from ..passes.inline import end_of_indices
from ..regions.affine import Extent, loop_index
from ..regions.regions import Region, View, compose, contiguous
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt
from ..tape.tape import Apply, Load, Loop, Operation, Scatter, Store, Tape, Value
from .anchors import decide_anchors

WORTH = 1 << 18  # bytes that are not kept whole: below, they stay in a cache anyway
BLOCK_NBYTES = 1 << 14  # of what is kept of one block: half of a cache of the first level
MOST_NBYTES = 1 << 18  # of one block; a cache of the second level
LINE = 16  # rows, at least, where rows are columns of memory: two lines of a cache
CLASSES = 4  # of axes that are tried, those with most bytes first
AGAIN = 6  # times that a tape is parted


def in_row_blocks(tape: Tape) -> Tape:
    """Requires a simplified tape; ensures the same numbers (sums reassociated). The same tape where nothing is large."""
    for _ in range(AGAIN):
        if total_nbytes(tape.operations) < WORTH:
            return tape
        found = parted(tape)
        if found is None:
            return tape
        tape = found
    return tape


def total_nbytes(operations: Sequence[Operation]) -> int:
    return sum(op.out.nbytes for op in operations if isinstance(op, Apply))


def parted(tape: Tape) -> Tape | None:
    """The tape with the rows of one class of axes in a loop; None where no class is worth it."""
    kept = frozenset(decide_anchors(tape).reasons)
    local = frozenset(b.id for b in tape.buffers if not b.visible)
    found = [*candidates(tape, SharedAxes(tape.operations, local), kept)]
    found += candidates(tape, SharedAxes(tape.operations), kept)
    for blocks in sorted(found, key=lambda blocks: -blocks.saved):
        if blocks.saved >= WORTH:
            try:
                return blocks.written()
            except OutOfOrder:
                continue
    return None


def candidates(tape: Tape, shared: SharedAxes, kept: frozenset[int]) -> Iterator[RowBlocks]:
    """The tape parted along the axes that have most bytes."""
    weights: Counter[tuple[AxisOf, int]] = Counter()
    for op in tape.operations:
        if isinstance(op, Apply) and op.out.id in kept:
            for k, n in enumerate(op.out.shape):
                if is_many(n):
                    weights[shared.root(op.out, k), n] += op.out.nbytes
    for buffer in tape.buffers:
        for n, stride in zip(buffer.view.shape, buffer.view.strides) if not buffer.visible else ():
            if is_many(n):
                weights[shared.root_of_memory(buffer.id, stride), n] += buffer.nbytes
    for (root, extent), nbytes in weights.most_common(CLASSES):
        if nbytes >= WORTH:
            yield RowBlocks(tape, shared, root, extent, kept)


class RowBlocks:
    """A tape parted along one class of axes: what goes before, on rows and after.

    `stored`: values on rows that are needed whole; `again`: operations that are done again for what comes after;
    `local`: buffers that only rows use, by their extents: one block of them is enough.
    """

    def __init__(self, tape: Tape, shared: SharedAxes, root: AxisOf, extent: int, kept: frozenset[int]) -> None:
        self.tape, self.extent, self.kept = tape, extent, kept
        self.made = {v.id: (position, op) for position, op in enumerate(tape.operations) for v in op.outputs}
        self.rowwise = Rowwise(tape.operations, tape.buffers, shared, root, self.extent, needed_before(tape.operations))
        self.rowwise.part()
        self.stored: dict[int, Value] = {}
        self.again: dict[int, Operation] = {}  # by position
        for op in self.at(Place.AFTER):
            for value in op.inputs:
                self.need(value)
        for value in tape.results:
            self.need(value)
        self.local = self.only_on_rows()

    @property
    def saved(self) -> int:
        """Bytes that are not kept whole any more; none where not even the smallest block stays in a cache."""
        if self.count() * self.row_nbytes() > MOST_NBYTES:
            return 0
        rows = [self.made[id][1].outputs[0] for id in self.rowwise.axes if id in self.kept]
        memory = sum(self.tape.buffers[id].nbytes for id in self.local)
        return memory + sum(v.nbytes for v in rows if v.id not in self.stored)

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
        read = Touch(region, position, False)
        touches = (t for found in self.rowwise.touches.values() for t in found.get(region.buffer, ()))
        return any(touch.position > position and clash(read, touch) for touch in touches)

    # Writing.

    def written(self) -> Tape:
        """The tape, in this order."""
        tape, builder = self.tape, rebuilt(self.tape)
        before, after = ([k for k, p in enumerate(self.rowwise.places) if p is place] for place in (Place.BEFORE, Place.AFTER))
        for k in before:
            builder.emit(tape.operations[k])
        totals = {id: self.memory(builder, value, "total") for id, value in self.rowwise.totals.items()}
        stored = {id: self.memory(builder, value, "rows") for id, value in self.stored.items()}
        for id, buffer in totals.items():
            self.start(builder, self.made[id][1], buffer)
        count = self.count()
        small = {id: self.small(builder, id, axis, count) for id, axis in self.local.items()}
        index = end_of_indices(tape.operations)
        line = next(iter(self.at(Place.ROWS))).line
        body = BlockWriter(self, builder, count, loop_index(index) * count, totals, stored, small).block()
        builder.emit(Loop(index=index, start=0, step=1, trips=self.extent // count, body=body, line=line))
        rest = self.extent % count
        if rest:
            for op in BlockWriter(self, builder, rest, self.extent - rest, totals, stored, small).block():
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
        return rows_together(self.extent, self.row_nbytes(), least)

    def row_nbytes(self) -> int:
        rows = [self.made[id][1].outputs[0] for id in self.rowwise.axes if id in self.kept]
        memory = sum(self.tape.buffers[id].nbytes for id in self.local)
        return max((memory + sum(v.nbytes for v in rows)) // self.extent, 1)

    def only_on_rows(self) -> dict[int, int]:
        """Memory of which each row is used by that row alone: its numbers, with the axis of its buffer."""
        found = {}
        touches = self.rowwise.touches
        for id, rows in touches[Place.ROWS].items():
            buffer = self.tape.buffers[id]
            if buffer.kind != "local" or id in touches[Place.BEFORE] or id in touches[Place.AFTER]:
                continue
            step = max(map(abs, buffer.view.strides), default=0)
            axes = [k for k, s in enumerate(buffer.view.strides) if s == step and buffer.view.shape[k] == self.extent]
            if len(axes) == 1 and all(is_row(touch, step, buffer.low) for touch in rows):
                found[id] = axes[0]
        return found

    def memory(self, builder: TapeBuilder, value: Value, label: str) -> int:
        builder.line = self.made[value.id][1].line
        return builder.new_buffer("local", label, value.dtype, contiguous(value.shape)).id

    def small(self, builder: TapeBuilder, id: int, axis: int, count: int) -> int:
        """The memory of one block of a buffer that only rows use."""
        buffer = self.tape.buffers[id]
        shape = (*buffer.view.shape[:axis], count, *buffer.view.shape[axis + 1 :])
        builder.line = buffer.line
        view = View(buffer.view.offset, shape, buffer.view.strides)
        return builder.new_buffer("local", buffer.label, buffer.dtype, view).id

    def start(self, builder: TapeBuilder, op: Operation, buffer: int) -> None:
        """What a total is before the first block."""
        assert isinstance(op, Apply)
        builder.line = op.line
        number = {"reduce_max": -np.inf, "reduce_min": np.inf}.get(op.primitive, 0.0)
        builder.store(builder.buffers[buffer].whole, builder.constant(number, op.out.dtype))


@dataclass
class BlockWriter:
    """Writes the operations on rows for `count` rows from row `first` on."""

    blocks: RowBlocks
    builder: TapeBuilder
    count: int
    first: Extent
    totals: dict[int, int]
    stored: dict[int, int]
    small: dict[int, int]  # memory of one block, in place of buffers
    names: dict[int, Value] = field(default_factory=dict)
    shown: dict[tuple[int, int], Value] = field(default_factory=dict)  # rows of values from before
    found: list[tuple[int, Operation]] = field(default_factory=list)  # with the position that they come from
    position: int = 0

    def block(self) -> tuple[Operation, ...]:
        rowwise = self.blocks.rowwise
        for position, (op, place) in enumerate(zip(rowwise.operations, rowwise.places)):
            if place is Place.ROWS:
                self.position, self.builder.line = position, op.line
                self.write(op)
        return tuple(op for _, op in sorted(self.found, key=lambda item: item[0]))

    def emit(self, op: Operation, position: int | None = None) -> None:
        self.found.append((self.position if position is None else position, op))

    def write(self, op: Operation) -> None:
        axes = self.blocks.rowwise.axes
        match op:
            case Load():
                self.emit(replace(op, out=self.new(op.out), region=self.rows_of_region(op.region, axes[op.out.id])))
            case Store():
                axis = self.blocks.rowwise.store_axis(op)
                assert axis is not None
                region = self.rows_of_region(op.region, axis)
                self.emit(replace(op, region=region, value=self.names.get(op.value.id, op.value)))
            case Scatter():
                axis = next(axes[v.id] for v in (op.value, *op.indices) if v.id in axes)
                indices = tuple(self.rows(v, axis) for v in op.indices)
                self.emit(replace(op, indices=indices, value=self.rows(op.value, axis)))
            case Apply():
                self.apply(op)

    def apply(self, op: Apply) -> None:
        operands, parameters = self.operands(op)
        total = op.out.id in self.totals
        out = self.builder.new_value(op.out.shape, op.out.dtype) if total else self.new(op.out)
        self.emit(replace(op, out=out, operands=operands, parameters=parameters))
        if total:
            self.add(op, out)
        elif op.out.id in self.stored:
            whole = Region(self.stored[op.out.id], contiguous(op.out.shape))
            region = self.rows_of_region(whole, self.blocks.rowwise.axes[op.out.id])
            self.emit(Store(region=region, value=out, line=op.line))

    def operands(self, op: Apply) -> tuple[tuple[Value, ...], tuple[tuple[str, object], ...]]:
        rowwise, kind = self.blocks.rowwise, RULES[op.primitive].kind
        if kind == "view":
            (operand,) = op.operands
            view = narrowed(op.params["view"], operand.shape, rowwise.axes[operand.id], self.count)
            return (self.names[operand.id],), (("view", view),)
        if kind == "contract":
            label = rowwise.label_of(op)
            labels = (op.params["a_labels"], op.params["b_labels"])
            found = (self.rows(v, names.index(label)) if label in names else v for v, names in zip(op.operands, labels))
            return tuple(found), op.parameters
        if kind == "gather":
            source, *indices = op.operands
            return (source, *(self.rows(v, rowwise.axes[op.out.id]) for v in indices)), op.parameters
        axis = rowwise.axis_of(op.operands[0]) if kind == "reduce" else rowwise.axes[op.out.id]
        assert axis is not None
        return tuple(self.rows(v, axis) if v.shape else v for v in op.operands), op.parameters

    def add(self, op: Apply, part: Value) -> None:
        """A part of a total, to what there is of it."""
        whole = Region(self.totals[op.out.id], contiguous(op.out.shape))
        combine = TOTALS.get(op.primitive, "add")
        if combine == "add":
            self.emit(Store(region=whole, value=part, accumulate=True, line=op.line))
            return
        before, after = (self.builder.new_value(part.shape, part.dtype) for _ in range(2))
        self.emit(Load(out=before, region=whole, line=op.line))
        self.emit(Apply(out=after, primitive=combine, operands=(before, part), line=op.line))
        self.emit(Store(region=whole, value=after, line=op.line))

    def new(self, value: Value) -> Value:
        """What a value on rows is called here."""
        axis = self.blocks.rowwise.axes[value.id]
        shape = (*value.shape[:axis], self.count, *value.shape[axis + 1 :])
        self.names[value.id] = self.builder.new_value(shape, value.dtype)
        return self.names[value.id]

    def rows_of_view(self, view: View, axis: int) -> View:
        shape = (*view.shape[:axis], self.count, *view.shape[axis + 1 :])
        return View(view.offset + self.first * view.strides[axis], shape, view.strides)

    def rows_of_region(self, region: Region, axis: int) -> Region:
        if region.buffer in self.small:
            view = region.view
            shape = (*view.shape[:axis], self.count, *view.shape[axis + 1 :])
            return Region(self.small[region.buffer], View(view.offset, shape, view.strides))
        return Region(region.buffer, self.rows_of_view(region.view, axis))

    def rows(self, value: Value, axis: int) -> Value:
        """The rows of a value along an axis: of one on rows, or of one from before, as it is shown there."""
        if value.id in self.blocks.rowwise.axes:
            return self.names[value.id]
        if (value.id, axis) not in self.shown:
            self.shown[value.id, axis] = self.show(value, axis)
        return self.shown[value.id, axis]

    def show(self, value: Value, axis: int) -> Value:
        """Rows of a value from before: loaded again, or of what is kept."""
        base, view = value, contiguous(value.shape)
        position, op = self.blocks.made[value.id]
        while isinstance(op, Apply) and op.primitive == "view" and base.id not in self.blocks.kept:
            inner = compose(op.params["view"], view)
            if inner is None:
                break
            base, view = op.operands[0], inner
            position, op = self.blocks.made[base.id]
        shape = (*view.shape[:axis], self.count, *view.shape[axis + 1 :])
        out = self.builder.new_value(shape, value.dtype)
        if isinstance(op, Load) and base.id not in self.blocks.kept:
            seen = compose(op.region.view, view)
            if seen is not None:
                region = Region(op.region.buffer, seen)
                self.blocks.rowwise.read_again(Touch(region, position, False, False, axis))
                self.emit(Load(out=out, region=self.rows_of_region(region, axis), line=op.line), position)
                return out
        shown = (("view", self.rows_of_view(view, axis)),)
        self.emit(Apply(out=out, primitive="view", operands=(base,), parameters=shown, line=op.line))
        return out


def is_row(touch: Touch, step: int, low: int) -> bool:
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


def rows_together(extent: int, row_nbytes: int, least: int) -> int:
    """How many rows go together: they fill a cache, and divide the axis where a number near does."""
    wanted = min(max(BLOCK_NBYTES // row_nbytes, least), extent // 2)
    near = [n for n in range(max(wanted // 2, least), wanted + 1) if extent % n == 0]
    if near:
        return max(near, key=lambda n: (n % 8 == 0, n))
    return wanted - wanted % 8 if wanted >= 8 else wanted
