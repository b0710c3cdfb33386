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
and writes; it joins the earliest later nest over the same domain. So elementwise chains fuse, and reverse
work that needs only intact inputs joins the nest of its primal. Scalar code forms one block per sweep.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from ..errors import UnsupportedError
from ..python.source import Line
from ..regions.affine import Ragged
from ..regions.regions import Region, View, c_strides, compose, contiguous
from ..rules.table import RULES
from ..tape.tape import Apply, Branch, Constant, Guard, IndexValue, Load, Loop, Scatter, Store, Tape, Value
from .anchors import Anchors, Leaf, operand_view
from .order import AccessOrder
from .placement_blocks import place_branch, place_loop
from .schedule import (
    Compute,
    GatherRead,
    GuardStep,
    Immediate,
    LibraryStep,
    Memory,
    Nest,
    Position,
    Read,
    Reduce,
    Step,
    Write,
)

OUTSIDE = -1  # the home, within a loop body, of values from outside the loop
NEST_LIMIT = 400  # items: beyond it registers spill and fusion stops paying


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
    store_steps: dict[int, int] = field(default_factory=dict)  # position of a store -> its step

    def __post_init__(self) -> None:
        self.order = AccessOrder(self.steps)

    def run(self) -> None:
        for position, op in enumerate(self.tape.operations):
            self.position = position
            if isinstance(op, Load | Constant | IndexValue):
                if op.out.id in self.anchors.reasons:
                    self.place_copy(op)
            elif isinstance(op, Apply):
                if op.out.id in self.anchors.reasons:
                    self.place_apply(op)
            elif isinstance(op, Store):
                self.place_store(op)
            elif isinstance(op, Scatter):
                self.place_scatter(op)
            elif isinstance(op, Guard):
                self.place_guard(op)
            elif isinstance(op, Loop):
                place_loop(self, op)
            else:
                assert isinstance(op, Branch)
                place_branch(self, op)
        self.write_slots()

    def nested(self, anchors: Anchors) -> Placement:
        """An empty placement for a block inside the step that is being placed."""
        return Placement(anchors.tape, anchors, home=dict.fromkeys(self.home, OUTSIDE))

    @property
    def sweep(self) -> str:
        return "primal" if self.position < self.tape.turn else "reverse"

    # What an operation must come after.

    def after_leaf(self, leaf: Leaf, domain: tuple[int, ...]) -> int:
        if leaf.kind == "anchor":
            home = self.home[leaf.value.id]
            return home if self.in_register(leaf.value, leaf.view, home, domain) else home + 1
        if leaf.kind == "load":
            assert leaf.region is not None
            return self.after_access(leaf.region, domain, write=False)
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

    def after_access(self, region: Region, domain: tuple[int, ...], write: bool) -> int:
        """The first step that may touch `region` without overtaking an earlier access."""
        return self.order.after(region, domain, write)

    def touch(self, region: Region, step: int, write: bool, aligned: bool = True) -> None:
        self.order.touch(region, step, write, aligned)

    # Choosing a step.

    def nest_for(self, domain: tuple[int, ...], first: int) -> int:
        """The step that an operation over `domain`, allowed from step `first` on, joins."""
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
                if len(nest.items) < NEST_LIMIT:
                    return over_domain[k]
        return self.new_step(Nest(domain=domain, sweep=self.sweep))

    def new_step(self, step: Step) -> int:
        if isinstance(step, Nest):
            self.by_domain[step.domain].append(len(self.steps))
        self.steps.append(step)
        self.registers.append({})
        return len(self.steps) - 1

    def first_step(self, operands: tuple[tuple[Value, View], ...], domain: tuple[int, ...]) -> int:
        first = 0
        for value, view in operands:
            for leaf in self.anchors.leaves(value, view, self.position):
                first = max(first, self.after_leaf(leaf, domain))
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
        nest = self.steps[step]
        assert isinstance(nest, Nest)
        if value.id in self.anchors.reasons and value.id in self.home:
            return self.read_anchor(nest, step, value, view, line)
        made_at, op = self.anchors.made[value.id]
        if isinstance(op, Constant):
            if value.shape == ():
                return nest.add(Immediate(number=op.data[()].item(), dtype=value.dtype), line)
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
        if made_at < self.tape.turn <= self.position and self.sweep_of(nest) == "reverse":
            self.recomputed.setdefault(value.id, op.line)
        operands = tuple(self.evaluate(step, v, operand_view(v, op.out, view), line) for v in op.operands)
        return nest.add(
            Compute(
                primitive=op.primitive, operands=operands, parameters=op.parameters, dtype=value.dtype, line=op.line
            ),
            op.line,
        )

    def sweep_of(self, nest: Nest) -> str:
        return nest.sweep

    def read_region(self, nest: Nest, step: int, region: Region, value: Value, line: Line) -> int:
        self.touch(region, step, write=False)
        made_at, op = self.anchors.made[value.id]
        if self.position >= self.tape.turn:
            buffer = self.tape.buffers[region.buffer]
            if made_at < self.tape.turn:
                self.reloaded.setdefault(value.id, op.line)
                if buffer.kind == "local":
                    self.reread.add(buffer.id)
        return nest.add(Read(memory=Memory("buffer", region.buffer), view=region.view, dtype=value.dtype), line)

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

    # Placing each kind of operation.

    def place_copy(self, op: Load | Constant | IndexValue) -> None:
        """A load whose memory is overwritten later is read once, here; likewise what others want in memory."""
        domain, view, dtype = op.out.shape, contiguous(op.out.shape), op.out.dtype
        first = self.after_access(op.region, domain, write=False) if isinstance(op, Load) else 0
        step = self.nest_for(domain, first)
        nest = self.steps[step]
        assert isinstance(nest, Nest)
        item: Read | Immediate | Position
        if isinstance(op, Load):
            self.touch(op.region, step, write=False)
            item = Read(memory=Memory("buffer", op.region.buffer), view=op.region.view, dtype=dtype)
        elif isinstance(op, IndexValue):
            item = Position(expression=op.expression, dtype=dtype)
        elif domain == ():
            item = Immediate(number=op.data[()].item(), dtype=dtype)
        else:
            item = Read(memory=Memory("constant", op.out.id), view=view, dtype=dtype)
        self.settle(op.out, step, nest.add(item, op.line))

    def settle(self, value: Value, step: int, register: int) -> None:
        self.home[value.id] = step
        self.registers[step][value.id, contiguous(value.shape)] = register

    def place_apply(self, op: Apply) -> None:
        kind = RULES[op.primitive].kind
        if kind in ("elementwise", "view"):
            self.place_elementwise(op)
        elif kind == "reduce":
            self.place_reduce(op)
        elif kind == "gather":
            self.place_gather(op)
        else:
            self.place_library(op)

    def place_elementwise(self, op: Apply) -> None:
        domain = op.out.shape
        view = contiguous(domain)
        if op.primitive == "view":
            shown: Any = op.params["view"]
            operands: tuple[tuple[Value, View], ...] = ((op.operands[0], shown),)
        else:
            operands = tuple((v, operand_view(v, op.out, view)) for v in op.operands)
        step = self.nest_for(domain, self.first_step(operands, domain))
        registers = tuple(self.evaluate(step, v, w, op.line) for v, w in operands)
        nest = self.steps[step]
        assert isinstance(nest, Nest)
        if op.primitive == "view":
            self.settle(op.out, step, registers[0])
            return
        item = Compute(
            primitive=op.primitive, operands=registers, parameters=op.parameters, dtype=op.out.dtype, line=op.line
        )
        self.settle(op.out, step, nest.add(item, op.line))

    def place_reduce(self, op: Apply) -> None:
        operand = op.operands[0]
        domain, view = operand.shape, contiguous(operand.shape)
        axes: tuple[int, ...] = op.params["axes"]
        step = self.nest_for(domain, self.first_step(((operand, view),), domain))
        register = self.evaluate(step, operand, view, op.line)
        nest = self.steps[step]
        assert isinstance(nest, Nest)
        kept = iter(c_strides(op.out.shape))
        strides = tuple(0 if k in axes else next(kept) for k in range(len(domain)))
        self.home[op.out.id] = step
        memory = self.slot_of_result(op.out)
        nest.add(
            Reduce(
                memory=memory,
                view=View(0, domain, strides),
                axes=axes,
                source=register,
                operation=op.primitive,
                dtype=op.out.dtype,
            ),
            op.line,
        )

    def slot_of_result(self, value: Value) -> Memory:
        self.slots[value.id] = value
        return Memory("slot", value.id)

    def memory_leaf(self, value: Value, view: View) -> Leaf:
        (leaf,) = self.anchors.leaves(value, view, self.position)
        return leaf

    def address(self, leaf: Leaf, step: int) -> tuple[Memory, View]:
        """Memory and view of a leaf that a library routine or a gather addresses in step `step`."""
        if leaf.kind == "load":
            assert leaf.region is not None
            self.touch(leaf.region, step, write=False, aligned=False)
            if leaf.position < self.tape.turn <= self.position:
                self.reloaded.setdefault(leaf.value.id, self.anchors.made[leaf.value.id][1].line)
                if self.tape.buffers[leaf.region.buffer].kind == "local":
                    self.reread.add(leaf.region.buffer)
            return Memory("buffer", leaf.region.buffer), leaf.region.view
        if leaf.kind == "constant":
            return Memory("constant", leaf.value.id), leaf.view
        return self.slot(leaf.value, step), leaf.view

    def place_gather(self, op: Apply) -> None:
        source, indices = op.operands[0], op.operands[1:]
        domain = op.out.shape
        leading = len(indices[0].shape)
        rows = contiguous(indices[0].shape)
        index_view = View(0, domain, rows.strides + (0,) * (len(domain) - leading))
        operands = tuple((i, index_view) for i in indices)
        first = max(self.first_step(operands, domain), self.barrier)  # a guard may check the indices
        leaf = self.memory_leaf(source, contiguous(source.shape))
        if leaf.kind == "anchor":
            first = max(first, self.home[leaf.value.id] + 1)
        elif leaf.kind == "load":
            assert leaf.region is not None
            first = max(first, self.after_access(leaf.region, in_order(domain), write=False))
        step = self.nest_for(domain, first)
        nest = self.steps[step]
        assert isinstance(nest, Nest)
        registers = tuple(self.evaluate(step, i, index_view, op.line) for i in indices)
        memory, view = self.address(leaf, step)
        k = len(indices)
        item = GatherRead(
            memory=memory,
            view=View(view.offset, domain, (0,) * leading + view.strides[k:]),
            indices=registers,
            strides=view.strides[:k],
            dtype=op.out.dtype,
        )
        self.settle(op.out, step, nest.add(item, op.line))

    def place_library(self, op: Apply) -> None:
        refuse_ragged(op)
        leaves = [self.memory_leaf(v, contiguous(v.shape)) for v in op.operands]
        step = self.new_step(LibraryStep(operation=op, operands=(), result=Memory("slot", op.out.id), sweep=self.sweep))
        library = self.steps[step]
        assert isinstance(library, LibraryStep)
        library.operands = tuple((*self.address(leaf, step), v.dtype) for leaf, v in zip(leaves, op.operands))
        self.home[op.out.id] = step
        self.slot_of_result(op.out)

    def place_store(self, op: Store) -> None:
        domain = op.region.shape
        view = contiguous(domain) if op.value.shape == domain else View(0, domain, (0,) * len(domain))
        first = max(self.first_step(((op.value, view),), domain), self.after_access(op.region, domain, write=True))
        if self.tape.buffers[op.region.buffer].visible:
            first = max(first, self.barrier)
        step = self.nest_for(domain, first)
        register = self.evaluate(step, op.value, view, op.line)
        nest = self.steps[step]
        assert isinstance(nest, Nest)
        self.touch(op.region, step, write=True)
        memory = Memory("buffer", op.region.buffer)
        nest.add(Write(memory=memory, view=op.region.view, source=register, accumulate=op.accumulate), op.line)
        self.store_steps[self.position] = step

    def place_scatter(self, op: Scatter) -> None:
        leading = len(op.indices[0].shape)
        domain = op.indices[0].shape + op.region.shape[len(op.indices) :]
        rows = contiguous(op.indices[0].shape)
        index_view = View(0, domain, rows.strides + (0,) * (len(domain) - leading))
        value_view = contiguous(domain) if op.value.shape == domain else View(0, domain, (0,) * len(domain))
        operands = (*((i, index_view) for i in op.indices), (op.value, value_view))
        after = self.after_access(op.region, in_order(domain), write=True)
        first = max(self.first_step(operands, domain), after, self.barrier)
        step = self.nest_for(domain, first)
        *indices, register = (self.evaluate(step, v, w, op.line) for v, w in operands)
        nest = self.steps[step]
        assert isinstance(nest, Nest)
        nest.ordered = True
        self.touch(op.region, step, write=True, aligned=False)
        k, view = len(op.indices), op.region.view
        nest.add(
            Write(
                memory=Memory("buffer", op.region.buffer),
                view=View(view.offset, domain, (0,) * leading + view.strides[k:]),
                source=register,
                accumulate=op.accumulate,
                indices=tuple(indices),
                strides=view.strides[:k],
            ),
            op.line,
        )

    def place_guard(self, op: Guard) -> None:
        leaf = self.memory_leaf(op.predicate, contiguous(()))
        step = self.new_step(
            GuardStep(operation=op, memory=Memory("slot", 0), view=contiguous(()), dtype=op.predicate.dtype)
        )
        guard = self.steps[step]
        assert isinstance(guard, GuardStep)
        guard.memory, guard.view = self.address(leaf, step)
        self.barrier = step + 1

    def reread_if_primal(self, buffer: int) -> None:
        """Note a local buffer that the primal filled and the reverse sweep reads."""
        primal = self.tape.operations[: self.tape.turn]
        if any(region.buffer == buffer for op in primal for region in op.writes):
            self.reread.add(buffer)

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


def refuse_ragged(op: Apply) -> None:
    """Routines on whole arrays know extents when they are compiled."""
    if any(isinstance(n, Ragged) for value in (*op.operands, op.out) for n in value.shape):
        raise UnsupportedError(
            f"{op.line}: {op.primitive} of arrays whose extent changes from iteration to iteration of a loop. Work on "
            f"whole arrays, or write a loop over their elements"
        )


def in_order(domain: tuple[int, ...]) -> tuple[int, ...]:
    """The domain as the order of steps knows it where an access goes to computed places: none but a scalar's."""
    return domain if domain == () else (-1,)


def _composed(outer: View, inner: View) -> View:
    view = compose(outer, inner)
    assert view is not None, "anchors left a view that is not affine"
    return view


def place(tape: Tape, anchors: Anchors) -> Placement:
    """Requires decided anchors; ensures steps in which every access finds what the program means."""
    placement = Placement(tape, anchors)
    placement.run()
    return placement
