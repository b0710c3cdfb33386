"""The operations that can run row by row along a shared axis, and those that go before and after.

An operation is on rows if row `i` of what it makes takes only row `i` of others on rows, and whatever of those before;
what it combines along the axis is a total, known when all rows are done. What needs a total, or rows in another way,
goes after. No access to memory may overtake another that it has to come after: of rows that are written, only the same
row is read or written.

A loop is on rows if all of its iterations are: what they have that is alike in all blocks of rows is made in each, and
totals may only be added to memory. Then each block of rows runs through the loop by itself (loop interchange).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ..regions.affine import Ranges
from ..regions.regions import Region, View, is_injective, is_ragged, overlap, same_layout
from ..rules.table import RULES
from ..tape.tape import (
    Apply,
    Buffer,
    Constant,
    Guard,
    IndexValue,
    Load,
    Loop,
    Operation,
    Scatter,
    Store,
    Value,
    over,
    walk,
)
from .enclosing import certainly_runs
from .row_steps import row_step
from .shared_axes import AxisOf, SharedAxes, moved_axis

MOST_WHOLE = 1 << 18  # bytes of what a product takes or gives whole, for each block anew: they stay in a cache
FREE_WHOLE = 1 << 15  # bytes of that which are nearby in any case
PRODUCT_ROWS = 8  # of a block, at least, for products in loops
ALIKE = 512  # bytes, at most, of what a loop on rows makes in each block anew
LINEAR = ("add", "subtract", "negative")  # of parts of totals: a part of such a total
TOTALS = {"reduce_sum": "add", "reduce_max": "maximum", "reduce_min": "minimum"}


class Place(Enum):
    BEFORE = "before"
    ROWS = "rows"
    AFTER = "after"


class RowAccess(NamedTuple):
    """An access; `axis`: along which axis of its region its rows are, None where it is no rows.

    `step`: how far apart they are in memory, whose rows in their order they are wherever loops move them; 0 where that
    is not known. In loops on rows, `region` is what all iterations touch together.
    """

    region: Region
    position: int
    is_write: bool
    adds: bool = False
    axis: int | None = None
    step: int = 0


@dataclass
class Rowwise:
    """A block of a tape, parted for one class of axes.

    `places`: of each operation; `axes`: of each value on rows, the axis along which its rows are; `totals`: values that
    are known when all rows are done.
    """

    operations: Sequence[Operation]
    buffers: Sequence[Buffer]
    shared: SharedAxes
    root: AxisOf
    extent: int
    kept_before: frozenset[int]  # values that guards and loops need
    places: list[Place] = field(default_factory=list)
    axes: dict[int, int] = field(default_factory=dict)
    totals: dict[int, Value] = field(default_factory=dict)
    after: set[int] = field(default_factory=set)  # values that are known after the rows
    touches: dict[Place, dict[int, list[RowAccess]]] = field(default_factory=lambda: {place: {} for place in Place})
    labels: dict[int, object] = field(default_factory=dict)  # of products: what they call the axis
    least: int = 1  # rows of a block: with fewer, products would wait for what they take whole
    guarded: bool = False  # a guard goes after
    loops: dict[int, list[RowAccess]] = field(default_factory=dict)  # on rows, by position: what they touch
    alike: set[int] = field(default_factory=set)  # values in these that are alike in all blocks
    partial: set[int] = field(default_factory=set)  # and parts of totals
    in_loops: set[int] = field(default_factory=set)  # memory of the tape's own that loops touch

    def part(self) -> None:
        loops = [op for op in self.operations if isinstance(op, Loop)]
        touched = {region.buffer for op in loops for region in (*op.reads, *op.writes)}
        self.in_loops = {id for id in touched if not self.buffers[id].visible}
        for position, op in enumerate(self.operations):
            place = self.place_of(position, op)
            self.places.append(place)
            if place is Place.AFTER:
                self.after.update(v.id for v in op.outputs)
                self.guarded |= decides(op)
            if isinstance(op, Apply):
                continue
            for touch in self.touches_of(position, op, place):
                self.touches[place].setdefault(touch.region.buffer, []).append(touch)

    def place_of(self, position: int, op: Operation) -> Place:
        if isinstance(op, Constant | IndexValue):
            return Place.BEFORE
        if any(v.id in self.after or v.id in self.totals for v in op.inputs):
            return Place.AFTER
        if self.guarded and self.waits_for_guards(op):
            return Place.AFTER
        if isinstance(op, Loop) and self.loop(position, op):
            return Place.ROWS
        is_free = not any(v.id in self.axes for v in op.inputs) and self.may_go_before(position, op)
        if is_free and not self.starts_rows(op):
            return Place.BEFORE
        return Place.ROWS if self.is_on_rows(position, op) else Place.AFTER

    def starts_rows(self, op: Operation) -> bool:
        """Whether an operation that could go before makes rows, or totals of rows."""
        if isinstance(op, Store):
            return self.store_axis(op) is not None
        if not isinstance(op, Apply) or op.out.id in self.kept_before:
            return False
        kind = RULES[op.primitive].kind
        if kind == "reduce":
            return self.axis_in(op.operands[0]) is not None
        return kind in ("elementwise", "gather", "contract") and self.axis_in(op.out) is not None

    def waits_for_guards(self, op: Operation) -> bool:
        if isinstance(op, Scatter) or (isinstance(op, Apply) and RULES[op.primitive].kind == "gather") or op.blocks:
            return True
        return any(self.buffers[region.buffer].visible for region in op.writes)

    def axis_in(self, value: Value) -> int | None:
        axis = self.shared.axis_in(value, self.root)
        return axis if axis is not None and value.shape[axis] == self.extent else None

    # Memory.

    def touches_of(self, position: int, op: Operation, place: Place) -> Iterator[RowAccess]:
        if place is Place.ROWS and position in self.loops:
            yield from self.loops[position]
            return
        axis = None
        if place is Place.ROWS and isinstance(op, Load):
            axis = self.axes[op.out.id]
        if place is Place.ROWS and isinstance(op, Store):
            axis = self.store_axis(op)
        adds = isinstance(op, Store | Scatter) and op.accumulate
        for region in op.reads if not adds else ():
            yield self.access(region, position, False, False, axis)
        for region in op.writes:
            yield self.access(region, position, True, adds, axis)

    def access(
        self, region: Region, position: int, is_write: bool, adds: bool, axis: int | None, loops: tuple[Loop, ...] = ()
    ) -> RowAccess:
        """One in the loops on rows that are given, outermost first."""
        step, touched = 0, region
        if axis is not None:
            ranges: Ranges = {loop.index: loop.range for loop in loops}
            step = row_step(region.view, axis, self.extent, self.buffers[region.buffer].low, ranges)
        for loop in reversed(loops):
            touched = over(touched, loop)
        return RowAccess(touched, position, is_write, adds, axis if touched == region else None, step)

    def may_go_before(self, position: int, op: Operation) -> bool:
        """Whether it may overtake all on rows and after that came before it."""
        if isinstance(op, Apply):
            return True
        new = list(self.touches_of(position, op, Place.BEFORE))
        return not any(clash(one, other) for place in (Place.ROWS, Place.AFTER) for one, other in self.met(new, place))

    def met(self, new: Iterable[RowAccess], place: Place) -> Iterator[tuple[RowAccess, RowAccess]]:
        for touch in new:
            for other in self.touches[place].get(touch.region.buffer, ()):
                yield touch, other

    def fits(self, new: list[RowAccess]) -> bool:
        """Whether accesses on rows may overtake those after, and go along with the others on rows."""
        if any(clash(one, other) for one, other in self.met(new, Place.AFTER)):
            return False
        return all(
            not clash(one, other) or same_rows(one, other, self.extent) for one, other in self.met(new, Place.ROWS)
        )

    # Operations on rows.

    def is_on_rows(self, position: int, op: Operation) -> bool:
        """Whether an operation can run row by row; then it is noted how."""
        match op:
            case Load():
                return self.load(position, op)
            case Store():
                return self.store(position, op)
            case Scatter():
                return self.scatter(position, op)
            case Apply():
                return not is_ragged(op.out.shape) and self.apply(op)
        return False

    # Loops on rows.

    def loop(self, position: int, op: Loop) -> bool:
        """Whether all iterations of a loop are on rows, of which there are some, and what they touch fits."""
        known = self.axes.copy(), self.labels.copy(), self.alike.copy(), self.partial.copy(), self.least
        touches: list[RowAccess] = []
        if self.body(position, op, (), touches) and len(self.axes) > len(known[0]) and self.goes_along(touches):
            self.loops[position] = touches
            return True
        self.axes, self.labels, self.alike, self.partial, self.least = known
        return False

    def goes_along(self, touches: list[RowAccess]) -> bool:
        pairs = itertools.combinations_with_replacement(touches, 2)
        return self.fits(touches) and all(not clash(*pair) or same_rows(*pair, self.extent) for pair in pairs)

    def body(self, position: int, loop: Loop, around: tuple[Loop, ...], touches: list[RowAccess]) -> bool:
        if not certainly_runs(loop) or loop.stops or not isinstance(loop.start, int):
            return False
        loops = (*around, loop)
        for op in loop.body:
            inside = self.body(position, op, loops, touches) if isinstance(op, Loop) else self.is_inside(op)
            if not inside:
                return False
            axis = None
            if isinstance(op, Load):
                axis = self.axes.get(op.out.id)
            elif isinstance(op, Store) and op.value.id not in self.partial:
                axis = self.store_axis(op)
            adds = isinstance(op, Store) and op.accumulate
            reads, writes = ((), ()) if op.blocks else (() if adds else op.reads, op.writes)
            touches += [self.access(region, position, False, False, axis, loops) for region in reads]
            touches += [self.access(region, position, True, adds, axis, loops) for region in writes]
        return True

    def is_inside(self, op: Operation) -> bool:
        """Whether an operation may be in a loop on rows: it is on rows itself, alike in all of them, or adds a part."""
        match op:
            case Store():
                if op.value.id in self.partial:
                    return op.accumulate
                return self.store_axis(op) is not None
            case Load():
                axis = self.axis_in(op.out)
                if axis is not None:
                    self.axes[op.out.id] = axis
                    return True
            case Apply() if any(v.id in self.partial for v in op.operands):
                self.partial.add(op.out.id)
                return self.is_sum_of_parts(op)
            case Apply() if is_ragged(op.out.shape):
                return False
            case Apply() if any(v.id in self.axes for v in op.operands):
                return self.apply_inside(op)
            case Apply() if op.out.nbytes > ALIKE and RULES[op.primitive].kind != "view":
                return False
            case Constant() | IndexValue() | Apply():
                pass
            case _:
                return False
        self.alike.update(v.id for v in op.outputs)
        return True

    def is_sum_of_parts(self, op: Operation) -> bool:
        """Whether an operation makes a part of a total from parts of others."""
        return isinstance(op, Apply) and op.primitive in LINEAR and all(v.id in self.partial for v in op.operands)

    def apply_inside(self, op: Apply) -> bool:
        kind = RULES[op.primitive].kind
        if kind == "gather" or not self.apply(op):
            return False
        if kind == "contract":
            self.least = max(self.least, PRODUCT_ROWS)
        if op.out.id in self.totals:
            del self.totals[op.out.id]
            self.partial.add(op.out.id)
            return TOTALS.get(op.primitive, "add") == "add"
        return True

    def load(self, position: int, op: Load) -> bool:
        axis = self.axis_in(op.out)
        if axis is None or not self.fits([self.access(op.region, position, False, False, axis)]):
            return False
        self.axes[op.out.id] = axis
        return True

    def store(self, position: int, op: Store) -> bool:
        axis = self.store_axis(op)
        return axis is not None and self.fits([self.access(op.region, position, True, op.accumulate, axis)])

    def store_axis(self, op: Store) -> int | None:
        """The axis of the region along which its rows are: of rows that are stored, or of a number for each element."""
        if op.value.shape or op.value.id in self.axes:
            known = self.axes.get(op.value.id)
            if known is None and op.region.buffer in self.in_loops:  # what they begin with
                known = self.axis_in(op.value)
            return known if op.region.view.shape == op.value.shape else None
        view = op.region.view
        found = [
            k
            for k, (n, stride) in enumerate(zip(view.shape, view.strides))
            if n == self.extent and self.shared.root_of_memory(op.region.buffer, stride) == self.root
        ]
        return found[0] if len(found) == 1 else None

    def scatter(self, position: int, op: Scatter) -> bool:
        """Adding to places that rows say; nothing else on rows may look at them."""
        axes = {self.axis_of(value) for value in (*op.indices, op.value)}
        axis = axes.pop()
        if not op.accumulate or axes or axis is None or axis >= len(op.indices[0].shape):
            return False
        return self.fits([RowAccess(op.region, position, True, True)])

    def axis_of(self, value: Value) -> int | None:
        """Along which its rows are, of a value on rows or, by its shape, of one from before."""
        return self.axes[value.id] if value.id in self.axes else self.axis_in(value)

    def apply(self, op: Apply) -> bool:
        kind = RULES[op.primitive].kind
        if kind == "view":
            (operand,) = op.operands
            axis = moved_axis(op.params["view"], operand.shape, self.axes[operand.id])
        elif kind == "elementwise":
            axis = self.common_axis(op)
        elif kind == "reduce":
            return self.reduce(op)
        elif kind == "gather":
            axis = self.gather(op)
        elif kind == "contract":
            return self.contract(op)
        else:
            return False
        if axis is None or op.out.shape[axis] != self.extent:
            return False
        self.axes[op.out.id] = axis
        return True

    def common_axis(self, op: Apply) -> int | None:
        found = {self.axes[v.id] for v in op.operands if v.id in self.axes}
        return self.axis_in(op.out) if not found else found.pop() if len(found) == 1 else None

    def reduce(self, op: Apply) -> bool:
        (operand,) = op.operands
        axis, summed = self.axis_of(operand), op.params["axes"]
        if axis is None:
            return False
        if axis in summed:
            if op.primitive not in TOTALS or op.out.dtype.kind != "f":
                return False
            self.totals[op.out.id] = op.out
        else:
            self.axes[op.out.id] = axis - sum(k < axis for k in summed)
        return True

    def gather(self, op: Apply) -> int | None:
        source, *indices = op.operands
        axes = {self.axis_of(index) for index in indices}
        return axes.pop() if len(axes) == 1 and source.id not in self.axes else None

    def contract(self, op: Apply) -> bool:
        """A product: of rows and what is from before, or, where the axis is summed over, of rows and the same rows."""
        labels, out = (op.params["a_labels"], op.params["b_labels"]), op.params["out_labels"]
        found = {names[self.axes[v.id]] for names, v in zip(labels, op.operands) if v.id in self.axes}
        if not found:
            axis = self.axis_in(op.out)
            found = set() if axis is None else {out[axis]}
        if len(found) != 1:
            return False
        (label,) = found
        whole = [v.nbytes for v, names in zip((*op.operands, op.out), (*labels, out)) if label not in names]
        if any(names.count(label) > 1 for names in labels) or any(nbytes > MOST_WHOLE for nbytes in whole):
            return False
        if any(nbytes > FREE_WHOLE for nbytes in whole):
            self.least = max(self.least, math.ceil(sum(whole) / (multiplications(op) / self.extent)))
        self.labels[op.out.id] = label
        if label in out:
            self.axes[op.out.id] = out.index(label)
        elif op.out.dtype.kind == "f":
            self.totals[op.out.id] = op.out
            if op.out.size > 1:  # which each block adds to
                self.least = max(self.least, PRODUCT_ROWS)
        return label in out or op.out.dtype.kind == "f"

    def label_of(self, op: Apply) -> object:
        """What a product on rows calls the axis."""
        return self.labels[op.out.id]

    def read_again(self, touch: RowAccess) -> None:
        """Rows read again what was read whole before: raises `OutOfOrder` where that is no longer there."""
        for place in (Place.BEFORE, Place.ROWS):
            for _, other in self.met([touch], place):
                if clash(touch, other) and (
                    other.position > touch.position
                    if place is Place.BEFORE
                    else not same_rows(touch, other, self.extent)
                ):
                    raise OutOfOrder


def multiplications(op: Apply) -> int:
    """Of a product."""
    labels = (*op.params["a_labels"], *op.params["b_labels"])
    return math.prod(dict(zip(labels, (*op.operands[0].shape, *op.operands[1].shape))).values())


class OutOfOrder(Exception):
    """An access of the rows would overtake one that it has to come after."""


def decides(op: Operation) -> bool:
    return isinstance(op, Guard) or any(isinstance(inner, Guard) for block in op.blocks for inner in walk(block))


def clash(one: RowAccess, other: RowAccess) -> bool:
    """Whether the order of two accesses matters. (Sums may be added in any order.)"""
    if not (one.is_write or other.is_write) or (one.adds and other.adds):
        return False
    return overlap(one.region, other.region)


def same_rows(one: RowAccess, other: RowAccess, extent: int) -> bool:
    """Whether two accesses on rows touch nothing in common but in the same row (sufficient tests)."""
    if one.step and one.step == other.step:
        return True
    if one.axis is None or other.axis is None:
        return False
    a, b = one.region.view, other.region.view
    if same_layout(a, b) and is_injective(a):
        return one.axis == other.axis
    step = a.strides[one.axis]
    if step == 0 or step != b.strides[other.axis]:
        return False
    (a_low, a_high), (b_low, b_high) = row_bounds(a, one.axis), row_bounds(b, other.axis)
    gaps = (a_high - b_low, b_high - a_low)
    return all(isinstance(gap, int) and gap < abs(step) for gap in gaps)


def row_bounds(view: View, axis: int):
    """The first and the last element of its first row."""
    return View(view.offset, (*view.shape[:axis], 1, *view.shape[axis + 1 :]), view.strides).bounds()
