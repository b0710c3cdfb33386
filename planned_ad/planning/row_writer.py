"""Write the operations on rows of a parted tape, for one block of rows after the other.

`planning.row_blocks` says which operations, and in which blocks. Where rows are short, a block has them as its last
axis: what is `[16, 3]` in the program is `[3, 16]` here, and vectors are filled with the same part of several rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from ..analysis.row_steps import in_fewer_rows
from ..analysis.rowwise import TOTALS, Place, RowAccess, Rowwise
from ..analysis.shared_axes import moved_axis
from ..regions.affine import Extent
from ..regions.regions import Region, View, c_strides, compose, contiguous, decompose
from ..rules.table import RULES
from ..tape.builder import TapeBuilder
from ..tape.tape import Apply, Constant, IndexValue, Load, Loop, Operation, Scatter, Store, Tape, Value, renamed


@dataclass(frozen=True, slots=True)
class Parted:
    """A tape and its parts; `made`: where each value is; `kept`: those that have a home."""

    tape: Tape
    rowwise: Rowwise
    made: dict[int, tuple[int, Operation]]
    kept: frozenset[int]


@dataclass
class RowWriter:
    """Writes the operations on rows for `count` rows from row `first` on.

    `last`: rows are the last axis of what is made here, so that neighbours in memory are the same part of several rows.
    """

    parted: Parted
    builder: TapeBuilder
    count: int
    first: Extent
    totals: dict[int, int]
    stored: dict[int, int]
    small: dict[int, int]  # memory of one block, in place of buffers
    last: bool
    names: dict[int, Value] = field(default_factory=dict)
    shown: dict[tuple[int, int], Value] = field(default_factory=dict)  # rows of values from before
    # Copies of memory with rows as the last axis, and from which position on they are there.
    turned: dict[Region, tuple[Value, int]] = field(default_factory=dict)
    found: list[tuple[int, Operation]] = field(default_factory=list)  # with the position that they come from
    position: int = 0
    loops: tuple[Loop, ...] = ()  # on rows, that are open
    around: RowWriter | None = None  # that of the operations around the innermost of them

    def block(self) -> tuple[Operation, ...]:
        rowwise = self.parted.rowwise
        for position, (op, place) in enumerate(zip(rowwise.operations, rowwise.places)):
            if place is Place.ROWS:
                self.position, self.builder.line = position, op.line
                self.write(op)
        return self.in_order()

    def in_order(self) -> tuple[Operation, ...]:
        return tuple(op for _, op in sorted(self.found, key=lambda item: item[0]))

    def emit(self, op: Operation, position: int | None = None) -> None:
        self.found.append((self.position if position is None else position, op))

    def write(self, op: Operation) -> None:
        axes, rowwise = self.parted.rowwise.axes, self.parted.rowwise
        match op:
            case Loop():
                self.loop(op)
            case Store() if op.value.id in rowwise.partial:
                self.emit(replace(op, value=self.names[op.value.id]))
            case Load() | Constant() | IndexValue() | Apply() if op.out.id in rowwise.alike or rowwise.is_sum_of_parts(
                op
            ):
                new = self.builder.new_value(op.out.shape, op.out.dtype)
                self.emit(replace(renamed(op, self.names), out=new))  # type: ignore[call-arg]
                self.names[op.out.id] = new
            case Load():
                self.emit(replace(op, out=self.new(op.out), region=self.rows_of_region(op.region, axes[op.out.id])))
                self.keep_whole(op)
            case Store():
                axis = self.parted.rowwise.store_axis(op)
                assert axis is not None
                region = self.rows_of_region(op.region, axis)
                value = self.rows(op.value, axis) if op.value.shape else self.names.get(op.value.id, op.value)
                self.emit(replace(op, region=region, value=value))
            case Scatter():
                axis = next(axes[v.id] for v in (op.value, *op.indices) if v.id in axes)
                indices = tuple(self.turned_back(self.rows(v, axis), axis) for v in op.indices)
                self.emit(replace(op, indices=indices, value=self.turned_back(self.rows(op.value, axis), axis)))
            case Apply():
                self.apply(op)

    def loop(self, op: Loop) -> None:
        """A loop on rows, for these rows."""
        made = {v.id: (k, inner) for k, inner in enumerate(op.body) for v in inner.outputs}
        fresh: dict[str, Any] = {"shown": {}, "turned": {}, "found": []}
        parted = replace(self.parted, made=made)
        inside = replace(self, parted=parted, loops=(*self.loops, op), around=self, **fresh)
        for inside.position, inner in enumerate(op.body):
            self.builder.line = inner.line
            inside.write(inner)
        self.emit(replace(op, body=inside.in_order()))

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
        shape = self.shape(value.shape, self.parted.rowwise.axes[value.id])
        self.names[value.id] = self.builder.new_value(shape, value.dtype)
        return self.names[value.id]

    def rows_of_view(self, view: View, axis: int) -> View:
        offset = view.offset + self.first * view.strides[axis]
        return View(offset, self.shape(view.shape, axis), self.laid_out(view.strides, axis))

    def rows_of_region(self, region: Region, axis: int) -> Region:
        if region.buffer not in self.small:
            return Region(region.buffer, self.rows_of_view(region.view, axis))
        view, low = region.view, self.parted.tape.buffers[region.buffer].low
        if not self.last:
            ranges = {loop.index: loop.range for loop in self.loops}
            extent = self.parted.rowwise.extent
            return Region(self.small[region.buffer], in_fewer_rows(view, axis, extent, self.count, low, ranges))
        assert isinstance(view.offset, int)
        strides = tuple(1 if k == axis else s * self.count for k, s in enumerate(view.strides))
        small = View((view.offset - low) * self.count, self.shape(view.shape, axis), self.laid_out(strides, axis))
        return Region(self.small[region.buffer], small)

    # Operations.

    def apply(self, op: Apply) -> None:
        operands, parameters = self.operands(op)
        if op.out.id in self.totals or op.out.id in self.parted.rowwise.partial:
            out = self.names[op.out.id] = self.builder.new_value(op.out.shape, op.out.dtype)
            self.emit(replace(op, out=out, operands=operands, parameters=parameters))
            if op.out.id in self.totals:
                self.add(op, out)
            return
        axis = self.parted.rowwise.axes[op.out.id]
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
            region = self.rows_of_region(whole, self.parted.rowwise.axes[op.out.id])
            self.emit(Store(region=region, value=self.names[op.out.id], line=op.line))

    def operands(self, op: Apply) -> tuple[tuple[Value, ...], tuple[tuple[str, object], ...]]:
        rowwise, kind = self.parted.rowwise, RULES[op.primitive].kind
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
            along = rowwise.axis_of(operand)
            assert along is not None
            order = self.order(len(operand.shape), along)
            axes = tuple(sorted(order.index(k) for k in op.params["axes"]))
            return (self.rows(operand, along),), tuple((n, axes if n == "axes" else p) for n, p in op.parameters)
        axis = rowwise.axes[op.out.id]
        return tuple(self.rows(v, axis) if v.shape else self.names.get(v.id, v) for v in op.operands), op.parameters

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
        label, labels = self.parted.rowwise.label_of(op), op.params
        operands, names = [], {}
        for value, name in zip(op.operands, ("a_labels", "b_labels")):
            there = label in labels[name]
            operands.append(self.rows(value, labels[name].index(label)) if there else self.names.get(value.id, value))
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
        if value.id in self.parted.rowwise.axes:
            return self.names[value.id]
        if self.around is not None and value.id not in self.parted.made:
            return self.around.rows(value, axis)
        if (value.id, axis) not in self.shown:
            self.shown[value.id, axis] = self.show(value, axis)
        return self.shown[value.id, axis]

    def show(self, value: Value, axis: int) -> Value:
        """Rows of a value from before: loaded or computed again, or of what is kept."""
        base, view, made = value, contiguous(value.shape), self.parted.made
        while base.id in made and base.id not in self.parted.kept:
            position, op = made[base.id]
            if isinstance(op, Load) and (seen := compose(op.region.view, view)) is not None:
                region = Region(op.region.buffer, seen)
                self.parted.rowwise.read_again(RowAccess(region, position, False, False, axis))
                return self.loaded(self.rows_of_region(region, axis), position)
            if is_elementwise(op) and base is value:
                return self.computed_again(op, axis)
            inner = compose(op.params["view"], view) if isinstance(op, Apply) and op.primitive == "view" else None
            if inner is None:
                break
            assert isinstance(op, Apply)
            base, view = op.operands[0], inner
        return self.view(self.names.get(base.id, base), self.rows_of_view(view, axis))

    def computed_again(self, op: Apply, axis: int) -> Value:
        """Rows of what nobody keeps."""
        operands = tuple(self.rows(v, axis) if v.shape else self.names.get(v.id, v) for v in op.operands)
        out = self.builder.new_value(self.shape(op.out.shape, axis), op.out.dtype)
        self.emit(replace(op, out=out, operands=operands))
        return out

    def loaded(self, region: Region, position: int) -> Value:
        """What memory holds at a position, turned where rows are the last axis here and not there."""
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
            self.turned[key] = again, position
        strides = dict(zip(moving, contiguous(part.shape).strides))
        whole = View(0, view.shape, tuple(strides.get(k, 0) for k in range(len(view.shape))))
        again, since = self.turned[key]
        return self.view(again, whole, max(position, since))


def is_elementwise(op: Operation) -> TypeGuard[Apply]:
    return isinstance(op, Apply) and RULES[op.primitive].kind == "elementwise"
