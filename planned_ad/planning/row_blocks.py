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

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..analysis.rowwise import TOTALS, OutOfOrder, Place, Rowwise, Touch, clash, decides, row_bounds
from ..analysis.shared_axes import AxisOf, SharedAxes, is_many, moved_axis
from ..passes.inline import end_of_indices
from ..regions.affine import Extent, loop_index
from ..regions.regions import Region, View, c_strides, compose, contiguous, decompose
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt
from ..tape.tape import Apply, Load, Loop, Operation, Scatter, Store, Tape, Value
from .anchors import decide_anchors

WORTH = 1 << 18  # bytes that are not kept whole: below, they stay in a cache anyway
BLOCK_NBYTES = 1 << 14  # of what is kept of one block: half of a cache of the first level
MOST_NBYTES = 1 << 18  # of one block; a cache of the second level
SHORT = 32  # numbers in a row, at most, for rows to be side by side in vectors
LANES = 8  # rows, at least, for that
PAYS = 3  # operations on numbers, at least, for each that has to be moved for it
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
        last = self.is_last()
        index = end_of_indices(tape.operations)
        line = next(iter(self.at(Place.ROWS))).line
        body = BlockWriter(self, builder, count, loop_index(index) * count, totals, stored, small, last).block()
        builder.emit(Loop(index=index, start=0, step=1, trips=self.extent // count, body=body, line=line))
        rest = self.extent % count
        if rest:
            for op in BlockWriter(self, builder, rest, self.extent - rest, totals, stored, small, last).block():
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
            axes = [k for k, s in enumerate(buffer.view.strides) if s == step > 0 and buffer.view.shape[k] == self.extent]
            if len(axes) == 1 and all(is_row(touch, step, buffer.low) for touch in rows):
                found[id] = axes[0]
        return found

    def memory(self, builder: TapeBuilder, value: Value, label: str) -> int:
        builder.line = self.made[value.id][1].line
        return builder.new_buffer("local", label, value.dtype, contiguous(value.shape)).id

    def is_last(self) -> bool:
        """Whether rows are so short, and so much is done with them, that several side by side fill vectors better."""
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

    def base(self, value: Value) -> Value:
        """What a value is a view of."""
        _, op = self.made[value.id]
        while isinstance(op, Apply) and op.primitive == "view" and value.id not in self.kept:
            value = op.operands[0]
            _, op = self.made[value.id]
        return value

    def small(self, builder: TapeBuilder, id: int, axis: int, count: int) -> int:
        """The memory of one block of a buffer that only rows use."""
        buffer = self.tape.buffers[id]
        builder.line = buffer.line
        if self.is_last():  # all that lies between two rows, for `count` of them
            step = buffer.view.strides[axis]
            return builder.new_buffer("local", buffer.label, buffer.dtype, contiguous((abs(step), count))).id
        shape = (*buffer.view.shape[:axis], count, *buffer.view.shape[axis + 1 :])
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
    """Writes the operations on rows for `count` rows from row `first` on.

    `last`: rows are the last axis of what is made here, so that neighbours in memory are the same part of several rows.
    """

    blocks: RowBlocks
    builder: TapeBuilder
    count: int
    first: Extent
    totals: dict[int, int]
    stored: dict[int, int]
    small: dict[int, int]  # memory of one block, in place of buffers
    last: bool
    names: dict[int, Value] = field(default_factory=dict)
    shown: dict[tuple[int, int], Value] = field(default_factory=dict)  # rows of values from before
    turned: dict[Region, Value] = field(default_factory=dict)  # memory that was copied so that rows are the last axis
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
                self.keep_whole(op)
            case Store():
                axis = self.blocks.rowwise.store_axis(op)
                assert axis is not None
                region = self.rows_of_region(op.region, axis)
                self.emit(replace(op, region=region, value=self.names.get(op.value.id, op.value)))
            case Scatter():
                axis = next(axes[v.id] for v in (op.value, *op.indices) if v.id in axes)
                indices = tuple(self.turned_back(self.rows(v, axis), axis) for v in op.indices)
                self.emit(replace(op, indices=indices, value=self.turned_back(self.rows(op.value, axis), axis)))
            case Apply():
                self.apply(op)

    # Layouts.

    def order(self, rank: int, axis: int) -> list[int]:
        """The axes of what has its rows along `axis`, in the order that they have here."""
        return [*(k for k in range(rank) if k != axis), axis] if self.last else list(range(rank))

    def laid_out(self, items: Sequence[int], axis: int) -> tuple[int, ...]:
        """Something of each axis, in the order of here."""
        return tuple(items[k] for k in self.order(len(items), axis))

    def shape(self, shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
        return self.laid_out((*shape[:axis], self.count, *shape[axis + 1 :]), axis)

    def turned_back(self, value: Value, axis: int) -> Value:
        """A value of here in the order of the program."""
        order = self.order(len(value.shape), axis)
        if order == sorted(order):
            return value
        places = [order.index(k) for k in range(len(order))]
        strides = contiguous(value.shape).strides
        return self.view(value, View(0, tuple(value.shape[k] for k in places), tuple(strides[k] for k in places)))

    def view(self, value: Value, view: View, position: int | None = None) -> Value:
        out = self.builder.new_value(view.shape, value.dtype)
        parameters = (("view", view),)
        line = self.builder.line
        self.emit(Apply(out=out, primitive="view", operands=(value,), parameters=parameters, line=line), position)
        return out

    def new(self, value: Value) -> Value:
        """What a value on rows is called here."""
        shape = self.shape(value.shape, self.blocks.rowwise.axes[value.id])
        self.names[value.id] = self.builder.new_value(shape, value.dtype)
        return self.names[value.id]

    def rows_of_view(self, view: View, axis: int) -> View:
        offset = view.offset + self.first * view.strides[axis]
        return View(offset, self.shape(view.shape, axis), self.laid_out(view.strides, axis))

    def rows_of_region(self, region: Region, axis: int) -> Region:
        if region.buffer not in self.small:
            return Region(region.buffer, self.rows_of_view(region.view, axis))
        view, low = region.view, self.blocks.tape.buffers[region.buffer].low
        if not self.last:
            return Region(self.small[region.buffer], View(view.offset, self.shape(view.shape, axis), view.strides))
        assert isinstance(view.offset, int)
        strides = tuple(1 if k == axis else s * self.count for k, s in enumerate(view.strides))
        small = View((view.offset - low) * self.count, self.shape(view.shape, axis), self.laid_out(strides, axis))
        return Region(self.small[region.buffer], small)

    # Operations.

    def apply(self, op: Apply) -> None:
        operands, parameters = self.operands(op)
        total = op.out.id in self.totals
        if total:
            out = self.builder.new_value(op.out.shape, op.out.dtype)
            self.emit(replace(op, out=out, operands=operands, parameters=parameters))
            self.add(op, out)
            return
        axis = self.blocks.rowwise.axes[op.out.id]
        if RULES[op.primitive].kind == "gather" and self.last:  # whose rest comes last
            shape = (*op.out.shape[:axis], self.count, *op.out.shape[axis + 1 :])
            found = self.builder.new_value(shape, op.out.dtype)
            self.emit(replace(op, out=found, operands=operands))
            strides = contiguous(shape).strides
            self.names[op.out.id] = self.view(found, View(0, self.laid_out(shape, axis), self.laid_out(strides, axis)))
        else:
            self.emit(replace(op, out=self.new(op.out), operands=operands, parameters=parameters))
        self.keep_whole(op)

    def keep_whole(self, op: Load | Apply) -> None:
        """Rows of what comes after needs the whole of go there."""
        if op.out.id in self.stored:
            whole = Region(self.stored[op.out.id], contiguous(op.out.shape))
            region = self.rows_of_region(whole, self.blocks.rowwise.axes[op.out.id])
            self.emit(Store(region=region, value=self.names[op.out.id], line=op.line))

    def operands(self, op: Apply) -> tuple[tuple[Value, ...], tuple[tuple[str, object], ...]]:
        rowwise, kind = self.blocks.rowwise, RULES[op.primitive].kind
        if kind == "view":
            (operand,) = op.operands
            return (self.names[operand.id],), (("view", self.view_of(op, rowwise.axes[operand.id])),)
        if kind == "contract":
            return self.factors(op)
        if kind == "gather":
            source, *indices = op.operands
            axis = rowwise.axes[op.out.id]
            return (source, *(self.turned_back(self.rows(v, axis), axis) for v in indices)), op.parameters
        if kind == "reduce":
            (operand,) = op.operands
            axis = rowwise.axis_of(operand)
            assert axis is not None
            order = self.order(len(operand.shape), axis)
            axes = tuple(sorted(order.index(k) for k in op.params["axes"]))
            return (self.rows(operand, axis),), tuple((n, axes if n == "axes" else p) for n, p in op.parameters)
        axis = rowwise.axes[op.out.id]
        return tuple(self.rows(v, axis) if v.shape else v for v in op.operands), op.parameters

    def view_of(self, op: Apply, axis: int) -> View:
        """The view of an operand with rows along `axis`, as both are laid out here."""
        view, shape = op.params["view"], op.operands[0].shape
        moved, steps = moved_axis(view, shape, axis), decompose(view, shape)
        assert moved is not None and steps is not None
        order = self.order(len(shape), axis)
        here = c_strides(self.shape(shape, axis))
        strides = [here[order.index(k)] for k in range(len(shape))]
        offset = sum(start * s for start, s in zip(steps.start, strides))
        moves = [sum(move * s for move, s in zip(step, strides)) for step in steps.steps]
        return View(offset, self.shape(view.shape, moved), self.laid_out(moves, moved))

    def factors(self, op: Apply) -> tuple[tuple[Value, ...], tuple[tuple[str, object], ...]]:
        """Of a product, whose labels follow the axes."""
        label, labels = self.blocks.rowwise.label_of(op), op.params
        operands, names = [], {}
        for value, name in zip(op.operands, ("a_labels", "b_labels")):
            there = label in labels[name]
            operands.append(self.rows(value, labels[name].index(label)) if there else value)
            names[name] = self.laid_out(labels[name], labels[name].index(label)) if there else labels[name]
        out = labels["out_labels"]
        names["out_labels"] = self.laid_out(out, out.index(label)) if label in out else out
        return tuple(operands), tuple((n, names[n]) for n, _ in op.parameters)

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

    # What comes from before.

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
        if isinstance(op, Load) and base.id not in self.blocks.kept:
            seen = compose(op.region.view, view)
            if seen is not None:
                region = Region(op.region.buffer, seen)
                self.blocks.rowwise.read_again(Touch(region, position, False, False, axis))
                return self.loaded(self.rows_of_region(region, axis), position)
        return self.view(base, self.rows_of_view(view, axis))

    def loaded(self, region: Region, position: int) -> Value:
        """What memory holds at a position; where rows are the last axis and are not next to one another there, turned."""
        dtype, view = self.builder.buffers[region.buffer].dtype, region.view
        moving = [k for k, (n, s) in enumerate(zip(view.shape, view.strides)) if s and n > 1]
        if not self.last or view.strides[-1] in (0, 1) or len(moving) < 2:
            out = self.builder.new_value(view.shape, dtype)
            self.emit(Load(out=out, region=region, line=self.builder.line), position)
            return out
        part = View(view.offset, tuple(view.shape[k] for k in moving), tuple(view.strides[k] for k in moving))
        key = Region(region.buffer, part)
        if key not in self.turned:
            out, again = (self.builder.new_value(part.shape, dtype) for _ in range(2))
            copy = self.builder.new_buffer("local", "turned", dtype, contiguous(part.shape)).whole
            line = self.builder.line
            self.emit(Load(out=out, region=key, line=line), position)
            self.emit(Store(region=copy, value=out, line=line), position)
            self.emit(Load(out=again, region=copy, line=line), position)
            self.turned[key] = again
        strides = dict(zip(moving, contiguous(part.shape).strides))
        whole = View(0, view.shape, tuple(strides.get(k, 0) for k in range(len(view.shape))))
        return self.view(self.turned[key], whole, position)


def distinct(region: Region) -> int:
    """How many elements a region has, each counted once, where it has more than one for a row."""
    extents = [n for n, stride in zip(region.view.shape, region.view.strides) if stride and n > 1]
    return math.prod(extents) if len(extents) > 1 else 0


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
