"""Axes that grow or shrink from one iteration to the next, and what is multiplied along them.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.trace import trace
>>> def lower_half(a, c):
...     for i in range(64):
...         c[i, :i] = a[:i] @ a[i]
>>> tape = simplify(primal(trace(lower_half, (np.zeros((64, 80)), np.zeros((64, 64)))).tape))
>>> (loop,) = tape.operations
>>> (cut,) = cuts_of(tape.buffers, loop, ())
>>> str(cut.growth.extent), cut.growth.rows, cut.growth.least, cut.growth.most
('i0', 64, 0, 63)

A product can be computed before the loop if nothing in the loop writes what it reads before it does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...analysis.dependence import Access, Overwrites, Place
from ...analysis.independence import Touch, touches
from ...regions.affine import Affine, Extent, Ragged, coefficient, exact, substitute
from ...regions.regions import Region, View, is_injective
from ...rules.table import RULES
from ...tape.tape import Apply, Buffer, Constant, IndexValue, Load, Loop, Operation, Store, Value

LEAST_ROWS = 32  # of a triangle that is cut
LEAST_DEPTH = 8  # multiplications for each number of the triangle
LEAST_WORK = 1 << 18  # multiplications in all: with fewer, nobody would wait for the code of all pieces


@dataclass(frozen=True, slots=True)
class GrowingAxis:
    """An axis that has one number more from row to row: `least`, and in the last of the rows `least + rows - 1`.

    Rows are iterations: those of a loop over which the axis shrinks count from its end. `extent` is the axis' length in
    terms of the loop's index. What a row has and the one before it has not comes first (`in_front`) or last. An axis
    that begins with one number has none in a row before the first, which is not there.
    """

    loop: Loop
    extent: Affine
    least: int
    in_front: bool = False

    @property
    def missing(self) -> int:
        """Rows that are not there."""
        least, greatest = (substitute(self.extent, self.loop.index, at) for at in self.loop.range)
        return (greatest if self.falls else least) - self.least  # type: ignore[operator, return-value]

    @property
    def rows(self) -> int:
        return int(self.loop.trips) + self.missing

    @property
    def most(self) -> int:
        return self.least + self.rows - 1

    @property
    def row(self) -> Extent:
        """The row of an iteration, in terms of the loop's index."""
        return self.extent - self.least

    @property
    def falls(self) -> bool:
        """Whether the axis shrinks where the loop's index rises."""
        return coefficient(self.extent, self.loop.index) < 0

    def index_of(self, row: Extent) -> Extent:
        """The loop's index in a row."""
        least, greatest = self.loop.range
        step = abs(self.loop.step)
        row = row - self.missing
        return greatest - row * step if self.falls else least + row * step

    def upwards(self, number: Extent, count: int) -> Extent:
        """The one of `count` rows that has this number where rows are counted with the loop's index."""
        return count - 1 - number if self.falls else number

    def sums(self, op: Operation) -> bool:
        """Whether an operation makes one number of those along the axis."""
        return any(self.axes(v.shape) for v in op.inputs) and not all(self.axes(v.shape) for v in op.outputs)

    def is_along(self, extent: int) -> bool:
        return exact(extent) == self.extent

    def place_of(self, value: Value) -> tuple[int, ...]:
        """The shape of an array that has a value in all rows."""
        return (self.rows, *(self.most if self.is_along(n) else n for n in value.shape))

    def axes(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(k for k, n in enumerate(shape) if self.is_along(n))


@dataclass(frozen=True, slots=True)
class Cut:
    """What of a loop is computed in pieces: a value, or what is added to memory; and the operations it is made by."""

    position: int
    value: Value
    made_by: tuple[Operation, ...]
    growth: GrowingAxis
    target: Region | None = None
    replaced: tuple[int, ...] = ()  # positions of the operations that go with it


def cuts_of(buffers: Sequence[Buffer], loop: Loop, around: tuple[Loop, ...]) -> Iterator[Cut]:
    """The products of a loop that grow, and that nothing in the loop has to come before."""
    if isinstance(loop.trips, Ragged) or loop.trips < LEAST_ROWS or loop.count is not None or loop.stops:
        return
    if any(op.blocks for op in loop.body):
        return
    body = Body(buffers, loop, around)
    taken: set[int] = set()
    for position in reversed(range(len(loop.body))):
        op = loop.body[position]
        cut = None
        if isinstance(op, Store):
            cut = body.addition(position, op)
        elif isinstance(op, Apply) and op.primitive in ("contract", "reduce_sum") and op.out.id not in taken:
            cut = body.product(position, op)
        if cut is not None:
            taken.update(v.id for made in cut.made_by for v in made.outputs)
            yield cut


class Body:
    """The operations of an iteration, asked for what may run before the loop."""

    def __init__(self, buffers: Sequence[Buffer], loop: Loop, around: tuple[Loop, ...]) -> None:
        self.loop = loop
        self.around = around
        self.made = {v.id: k for k, op in enumerate(loop.body) for v in op.outputs}
        self.uses = Counter(v.id for op in loop.body for v in op.inputs)
        self.touches = tuple(touches(loop.body))
        self.overwrites = Overwrites(buffers, ())
        self.room = sum(buffers[id].view.size for id in {t.region.buffer for t in self.touches})

    def product(self, position: int, op: Apply) -> Cut | None:
        """A sum of products along or beside an axis that grows."""
        if op.out.dtype.kind not in "fc":
            return None
        return self.cut(position, op.out, (), None)

    def addition(self, position: int, store: Store) -> Cut | None:
        """What is added to memory that the loop only adds to, in a shape that grows."""
        made = self.made.get(store.value.id)
        if store.accumulate or made is None or store.value.dtype.kind not in "fc":
            return None
        addition = self.loop.body[made]
        if not isinstance(addition, Apply) or addition.primitive != "add" or self.uses[addition.out.id] != 1:
            return None
        for old, term in (addition.operands, addition.operands[::-1]):
            at = self.made.get(old.id)
            load = None if at is None else self.loop.body[at]
            if (
                isinstance(load, Load)
                and load.region == store.region
                and self.uses[old.id] == 1
                and term.shape == store.region.shape
                and is_injective(store.region.view)
                and self.is_only_added_to(store.region.buffer)
            ):
                assert at is not None
                return self.cut(position, term, (at, made, position), store.region)
        return None

    def is_only_added_to(self, buffer: int) -> bool:
        """Whether each iteration reads this memory only to add to it what it has read."""
        stores = [t.operation for t in self.touches if t.region.buffer == buffer and t.kind != "read"]
        loads = [t for t in self.touches if t.region.buffer == buffer and t.kind == "read"]
        if len(loads) != len(stores):
            return False
        for store in stores:
            if not isinstance(store, Store) or store.accumulate or store.value.id not in self.made:
                return False
            addition = self.loop.body[self.made[store.value.id]]
            if not isinstance(addition, Apply) or addition.primitive not in ("add", "subtract"):
                return False
            old = addition.operands[:1] if addition.primitive == "subtract" else addition.operands
            if self.uses[addition.out.id] != 1 or not any(self.is_load_of(v, store.region) for v in old):
                return False
        return True

    def is_load_of(self, value: Value, region: Region) -> bool:
        op = self.loop.body[self.made[value.id]] if value.id in self.made else None
        return isinstance(op, Load) and op.region == region and self.uses[value.id] == 1

    def cut(self, position: int, value: Value, replaced: tuple[int, ...], target: Region | None) -> Cut | None:
        made_by = self.made_before(value)
        if made_by is None:
            return None
        shapes = [v.shape for k in made_by for v in (*self.loop.body[k].inputs, *self.loop.body[k].outputs)]
        extents = {exact(n) for shape in shapes for n in shape if coefficient(exact(n), self.loop.index)}
        if len(extents) != 1:
            return None
        (extent,) = extents
        growth = self.growth(extent, [self.loop.body[k] for k in made_by], target)
        if growth is None or any(len(growth.axes(shape)) > 1 for shape in shapes):
            return None
        *inner, last = (self.loop.body[k] for k in made_by)
        if any(growth.sums(op) for op in inner) or not (growth.axes(value.shape) or growth.sums(last)):
            return None  # its pieces are not parts of it, or not terms
        if any(isinstance(n, Ragged) and not growth.is_along(n) for shape in shapes for n in shape):
            return None
        size = max(math.prod(n for n in shape if not growth.is_along(n)) for shape in shapes)
        for k in made_by:
            op = self.loop.body[k]
            if isinstance(op, Apply) and op.primitive == "contract":
                size = max(size, products_per_number(op, growth))
        if size < LEAST_DEPTH or size * growth.rows * growth.most < LEAST_WORK:
            return None
        if target is None and math.prod(growth.place_of(value)) > self.room:
            return None  # more memory than the loop has
        return Cut(position, value, tuple(self.loop.body[k] for k in made_by), growth, target, replaced)

    def made_before(self, value: Value) -> tuple[int, ...] | None:
        """The positions of what makes a value, if it can all run before the loop; None where it cannot."""
        found: set[int] = set()
        waiting = [value.id]
        while waiting:
            position = self.made.get(waiting.pop())
            if position is None or position in found:
                continue
            op = self.loop.body[position]
            if not isinstance(op, Load | Apply | Constant | IndexValue) or not self.is_there(position, op):
                return None
            if isinstance(op, Apply) and RULES[op.primitive].kind not in ("elementwise", "view", "contract", "reduce"):
                return None
            if isinstance(op, Apply) and RULES[op.primitive].kind == "view" and self.is_moving(op.operands[0].shape):
                return None
            found.add(position)
            waiting += [v.id for v in op.inputs]
        return tuple(sorted(found))

    def is_moving(self, shape: Sequence[int]) -> bool:
        return any(coefficient(exact(n), self.loop.index) for n in shape)

    def is_there(self, position: int, op: Operation) -> bool:
        """Whether what an operation reads is in memory before the loop: nothing in the loop writes it before."""
        for region in op.reads:
            read = self.access(Touch(position, "read", region, op))
            for touch in self.touches:
                if touch.kind == "read" or touch.region.buffer != region.buffer:
                    continue
                write, inside = self.access(touch), (*self.around, self.loop)
                if touch.position < position and self.overwrites.may_meet(read, write, inside, None):
                    return False
                if self.overwrites.may_meet(read, write, self.around, self.loop, -1):
                    return False
        return True

    def access(self, touch: Touch) -> Access:
        inside = (*self.around, self.loop)
        return Access(touch.region, Place(((touch.position, 0),) * (len(inside) + 1), inside), touch.operation)

    def growth(self, extent: Extent, made_by: Sequence[Operation], target: Region | None) -> GrowingAxis | None:
        """How the axis grows, so that some memory does not move from row to row."""
        loop = self.loop
        if not isinstance(extent, Affine) or len(extent.terms) != 1 or not isinstance(loop.start, int):
            return None
        if abs(coefficient(extent, loop.index) * loop.step) != 1:
            return None
        ends = [substitute(extent, loop.index, at) for at in (loop.start, loop.last)]
        least = min(n for n in ends if isinstance(n, int))
        if least < 0:
            return None
        views = [op.region.view for op in made_by if isinstance(op, Load)]
        views += [p for op in made_by if isinstance(op, Apply) for _, p in op.parameters if isinstance(p, View)]
        views += [target.view] if target is not None else []
        still = Counter[bool]()
        for view in views:
            for stride in (s for n, s in zip(view.shape, view.strides) if exact(n) == extent and s):
                for in_front in (False, True):
                    moved = view.offset + extent * stride if in_front else view.offset
                    still[in_front] += not coefficient(moved, loop.index)
        if not still.total():
            return None
        return GrowingAxis(loop, extent, 0 if least == 1 else least, still[True] > still[False])


def products_per_number(op: Apply, growth: GrowingAxis) -> int:
    """The multiplications of a contraction for each number of the axis that grows."""
    params = op.params
    extents = dict(zip(params["a_labels"], op.operands[0].shape))
    extents |= dict(zip(params["b_labels"], op.operands[1].shape))
    return math.prod(n for n in extents.values() if not growth.is_along(n))
