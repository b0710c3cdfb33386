"""Place operations into steps: fuse what may run in one loop nest, in an order that keeps every dependence.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.planner import plan_memory
>>> from planned_ad.planning.schedule_listing import brief_plan
>>> from planned_ad.trace import trace
>>> tape = primal(trace(lambda x: (np.sum(x), 2.0 * x), (np.zeros(4),)).tape)
>>> print(brief_plan(plan_memory(tape)))
# workspace: 64 bytes (lower bound 8)
#   s0: 8 bytes at 0, steps 0 to 1
# step 0, primal
for i0 in [4]:
    r0 = x[...]
    s0 = reduce_sum(r0)
    r3 = multiply(2.0, r0)
    result#2[...] = r3
# step 1, primal
r0 = s0
result#1 = r0

Requires decided anchors; ensures steps in which every access finds what the program means.

Operations are placed in program order. For each, the first step that it may be in follows from what it reads
and writes; it joins the earliest later nest over the same domain (where arrays are large, one that runs along the
axis along which its own lie). So elementwise chains fuse, and reverse
work that needs only intact inputs joins the nest of its primal. Scalar code forms one block per sweep.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from ..analysis.counting import counting
from ..differentiate.keep.sources import Again, Kept, Loaded
from ..python.source import Line
from ..regions.regions import Region, View, compose, contiguous
from ..tape.tape import Apply, Constant, IndexValue, Load, Tape, Value
from .anchors import Anchors, Leaf, operand_view
from .order import AccessOrder
from .schedule import (
    Compute,
    Counted,
    Immediate,
    Memory,
    Nest,
    Position,
    Read,
    Step,
    Write,
)
from .stored_products import stored_products

OUTSIDE = -1  # the home, within a loop body, of values from outside the loop
LARGE = 1 << 14  # numbers of a nest that a processor keeps near
NEST_LIMIT = 400  # items: beyond it registers spill and fusion stops paying


def axes_along(view: View) -> frozenset[int]:
    """The axis along which a whole array lies in memory; none where it repeats itself, or lies across."""
    if 0 in view.strides:
        return frozenset()
    return frozenset(k for k, stride in enumerate(view.strides) if abs(stride) == 1)


@dataclass
class Placement:
    """The schedule under construction."""

    tape: Tape
    anchors: Anchors
    steps: list[Step] = field(default_factory=list)
    by_domain: dict[tuple[int, ...], list[int]] = field(default_factory=lambda: defaultdict(list))  # nests, in order
    home: dict[int, int] = field(default_factory=dict)  # anchored value -> step
    registers: list[dict[tuple[int, View], int]] = field(default_factory=list)  # per step: evaluated values
    slots: dict[int, Value] = field(default_factory=dict)  # anchored values that are read from memory
    inner_slots: dict[int, Value] = field(default_factory=dict)  # those of loop bodies
    read_back: dict[int, int] = field(
        default_factory=dict
    )  # value made in the primal -> first step reading its slot for the reverse
    reloaded: dict[int, Line] = field(default_factory=dict)
    recomputed: dict[int, Line] = field(default_factory=dict)
    reread: set[int] = field(default_factory=set)  # local buffers that the reverse sweep reads
    barrier: int = 0  # first step after all guards: the caller may see a write, an index is in range
    position: int = 0
    along: frozenset[int] = frozenset()  # the axes along which large operands of the operation lie
    store_steps: dict[int, int] = field(default_factory=dict)  # position of a store -> its step
    stored: dict[int, Apply] = field(default_factory=dict)  # products that are computed where they are stored

    def __post_init__(self) -> None:
        self.order = AccessOrder(self.steps)
        at = (self.tape.operations[k] for k in stored_products(self.tape).values())
        self.stored = {op.out.id: op for op in at if isinstance(op, Apply)}

    def nested(self, anchors: Anchors) -> Placement:
        """An empty placement for a block inside the step that is being placed."""
        return Placement(anchors.tape, anchors, home=dict.fromkeys(self.home, OUTSIDE))

    @property
    def sweep(self) -> str:
        return "primal" if self.position < self.tape.turn else "reverse"

    # What an operation must come after.

    def after_leaf(self, leaf: Leaf, domain: tuple[int, ...]) -> int:
        match leaf.source:
            case Kept():
                home = self.home[leaf.value.id]
                return home if self.in_register(leaf.value, leaf.view, home, domain) else home + 1
            case Loaded(region):
                return self.order.after(region, domain, write=False)
        return 0

    def in_register(self, value: Value, view: View, step: int, domain: tuple[int, ...]) -> bool:
        if step < 0:
            return False
        nest = self.steps[step]
        return (
            isinstance(nest, Nest)
            and nest.domain == domain
            and (value.id, view) in self.registers[step]
            and (domain != () or nest.sweep == self.sweep)
        )

    # Choosing a step.

    def nest_for(self, domain: tuple[int, ...], first: int) -> int:
        """The step that an operation over `domain`, allowed from step `first` on, joins.

        Large arrays that lie along different axes are gone through one after the other: a matrix and its transpose,
        which have one domain where it is square.
        """
        if domain == ():
            last = len(self.steps) - 1
            for step in range(last, max(first, 0) - 1, -1):
                nest = self.steps[step]
                if isinstance(nest, Nest) and nest.domain == () and nest.sweep == self.sweep:
                    return step
        else:
            over_domain = self.by_domain[domain]
            for k in range(bisect_left(over_domain, first), len(over_domain)):
                nest = self.steps[over_domain[k]]
                assert isinstance(nest, Nest)
                if len(nest.items) < NEST_LIMIT and self.goes_along(nest):
                    return over_domain[k]
        return self.new_step(Nest(domain=domain, sweep=self.sweep))

    def goes_along(self, nest: Nest) -> bool:
        """Whether a nest runs along an axis that suits what the next operation reads, or writes."""
        if len(nest.domain) < 2 or math.prod(nest.domain) < LARGE or not self.along:
            return True
        views = (item.view for item in nest.items if isinstance(item, Read | Write))
        axes = frozenset().union(*map(axes_along, views))
        return not axes or not axes.isdisjoint(self.along)

    def nest(self, step: int) -> Nest:
        nest = self.steps[step]
        assert isinstance(nest, Nest)
        return nest

    def new_step(self, step: Step) -> int:
        if isinstance(step, Nest):
            self.by_domain[step.domain].append(len(self.steps))
        self.steps.append(step)
        self.registers.append({})
        return len(self.steps) - 1

    def first_step(self, operands: tuple[tuple[Value, View], ...], domain: tuple[int, ...]) -> int:
        """The first step that an operation may be in whose operands are these; and notes how large ones of them lie."""
        first, along = 0, set[int]()
        for value, view in operands:
            for leaf in self.anchors.leaves(value, view, self.position):
                first = max(first, self.after_leaf(leaf, domain))
                shown = leaf.source.region.view if isinstance(leaf.source, Loaded) else leaf.view
                along |= axes_along(shown) if len(domain) > 1 else frozenset()
        self.along = frozenset(along)
        return first

    # Evaluating a value in a nest.

    def evaluate(self, step: int, value: Value, view: View, line: Line) -> int:
        """The register of nest `step` that holds `value` at `view` (a view of its row-major memory over the domain)."""
        known = self.registers[step]
        register = known.get((value.id, view))
        if register is None:
            register = known[value.id, view] = self.evaluate_anew(step, value, view, line)
        return register

    def evaluate_anew(self, step: int, value: Value, view: View, line: Line) -> int:
        nest = self.nest(step)
        if value.id in self.anchors.reasons and value.id in self.home:
            return self.read_anchor(nest, step, value, view, line)
        made_at, op = self.anchors.made[value.id]
        if isinstance(op, Constant):
            if value.shape == ():
                return nest.add(Immediate(number=op.data[()].item(), dtype=value.dtype), line)
            counted = counting(op.data)
            if counted is not None:
                first, each = counted
                return nest.add(Counted(first=first, step=each, view=view, dtype=value.dtype), line)
            return nest.add(Read(memory=Memory("constant", value.id), view=view, dtype=value.dtype), line)
        if isinstance(op, IndexValue):
            return nest.add(Position(expression=op.expression, dtype=value.dtype), line)
        if isinstance(op, Load):
            region, _ = self.anchors.home_of_load(op, made_at, self.position)
            return self.read_region(nest, step, Region(region.buffer, _composed(region.view, view)), value, line)
        assert isinstance(op, Apply)
        if op.primitive == "view":
            inner = _composed(op.params["view"], view)
            return self.evaluate(step, op.operands[0], inner, line)
        copy = self.anchors.copy_to_read(value, view, self.position)
        if copy is not None:
            return self.read_region(nest, step, copy[0], value, line)
        if made_at < self.tape.turn <= self.position and nest.sweep == "reverse":
            self.recomputed.setdefault(value.id, op.line)
        operands = tuple(self.evaluate(step, v, operand_view(v, op.out, view), line) for v in op.operands)
        return nest.add(
            Compute(
                primitive=op.primitive, operands=operands, parameters=op.parameters, dtype=value.dtype, line=op.line
            ),
            op.line,
        )

    def read_region(self, nest: Nest, step: int, region: Region, value: Value, line: Line) -> int:
        made_at, op = self.anchors.made[value.id]
        self.note_read(region, step, value, made_at, op.line)
        return nest.add(Read(memory=Memory("buffer", region.buffer), view=region.view, dtype=value.dtype), line)

    def note_read(self, region: Region, step: int, value: Value, since: int, line: Line, aligned: bool = True) -> None:
        """Step `step` reads `value` from memory that has held it since the operation at that position."""
        self.order.touch(region, step, write=False, aligned=aligned)
        if since < self.tape.turn <= self.position:
            self.reloaded.setdefault(value.id, line)
            if self.tape.buffers[region.buffer].kind == "local":
                self.reread.add(region.buffer)

    def read_anchor(self, nest: Nest, step: int, value: Value, view: View, line: Line) -> int:
        """An anchored value from another step: from where the program stored it, else from its slot."""
        copy = self.anchors.stored_copy(value, self.position)
        if copy is not None and self.store_steps.get(copy[1], step) < step:
            seen = compose(copy[0].view, view)
            region = None if seen is None else Region(copy[0].buffer, seen)
            if region is not None and not self.anchors.clashes(self.tape.operations[self.position], region):
                return self.read_region(nest, step, region, value, line)
        return nest.add(Read(memory=self.slot(value, step), view=view, dtype=value.dtype), line)

    def slot(self, value: Value, step: int) -> Memory:
        self.slots[value.id] = value
        made_at, _ = self.anchors.made[value.id]
        if made_at < self.tape.turn <= self.position:
            self.read_back.setdefault(value.id, step)
        return Memory("slot", value.id)

    def settle(self, value: Value, step: int, register: int) -> None:
        self.home[value.id] = step
        self.registers[step][value.id, contiguous(value.shape)] = register

    def slot_of_result(self, value: Value) -> Memory:
        self.slots[value.id] = value
        return Memory("slot", value.id)

    def memory_leaf(self, value: Value, view: View) -> Leaf:
        (leaf,) = self.anchors.leaves(value, view, self.position)
        return leaf

    def address(self, leaf: Leaf, step: int) -> tuple[Memory, View]:
        """Memory and view of a leaf that a library routine or a gather addresses in step `step`."""
        match leaf.source:
            case Loaded(region, line):
                self.note_read(region, step, leaf.value, leaf.since, line, aligned=False)
                return Memory("buffer", region.buffer), region.view
            case Again():
                return Memory("constant", leaf.value.id), leaf.view
        return self.slot(leaf.value, step), leaf.view

    def reread_if_primal(self, buffer: int) -> None:
        """Note a local buffer that the primal filled and the reverse sweep reads."""
        if buffer in self.filled_by_primal:
            self.reread.add(buffer)

    @cached_property
    def filled_by_primal(self) -> set[int]:
        """The buffers to which the primal writes."""
        return {region.buffer for op in self.tape.operations[: self.tape.turn] for region in op.writes}

    def write_slots(self) -> None:
        """Give each register that is read elsewhere its slot: a write right after it is computed."""
        for value in self.slots.values():
            step = self.home[value.id]
            if step == OUTSIDE:
                continue
            nest = self.steps[step]
            if not isinstance(nest, Nest):
                continue
            view = contiguous(value.shape)
            register = self.registers[step].get((value.id, view))
            if register is not None:  # (a reduction writes its slot itself)
                nest.spills[register] = Write(memory=Memory("slot", value.id), view=view, source=register)


def _composed(outer: View, inner: View) -> View:
    view = compose(outer, inner)
    assert view is not None, "anchors left a view that is not affine"
    return view
