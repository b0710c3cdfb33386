"""The adjoint of a loop is a loop that runs backwards.

Values of an iteration live only in it. What the reverse iteration needs of them it reloads, when their memory is not
written to from the loop on, or recomputes; everything else the primal loop stores, one place for each iteration, and
the reverse loop reads back (Griewank & Walther, Evaluating Derivatives, 2nd ed., section 4.3).
"""

from __future__ import annotations

from dataclasses import replace

from .affine import Extent, loop_index
from .builder import TapeBuilder
from .regions import Region, View, c_strides, contiguous
from .reverse import Part, Sweep, transpose
from .rules.table import RULES
from .tape import Apply, Buffer, Constant, Load, Loop, Operation, Store, Value, defined_by, renamed

RECOMPUTE_LIMIT = 8.0  # additions per element: about what storing and loading a number costs


def transpose_loop(sweep: Sweep, op: Loop) -> Loop:
    """Write the reverse loop of `op`; returns `op` with the stores of what that loop reads back.

    Requires steps of one: other strides are part of the regions.
    """
    assert op.step in (1, -1), "loops count in steps of one"
    builder = sweep.builder
    body = TapeBuilder(buffers=builder.buffers, next_value=builder.next_value)
    inner = Sweep(body, sweep.active, sweep.active_buffers, sweep.shadows, enclosing=(*sweep.enclosing, op))
    inner.overwritten = sweep.overwritten | {region.buffer for region in op.writes}
    primal = transpose(inner, op.body)
    builder.next_value = body.next_value
    totals = invariant_cotangents(sweep, inner, op)
    prologue, stores = sources_of_needed(inner, primal, body.operations)
    builder.next_value = body.next_value
    builder.emit(
        Loop(
            index=op.index,
            start=op.start + (op.trips - 1) * op.step,
            step=-op.step,
            trips=op.trips,
            body=(*prologue.operations, *(renamed(o, prologue.names) for o in body.operations)),
            line=op.line,
        )
    )
    for value, memory in totals:
        sweep.contribute(value, builder.load(memory.whole))
    return replace(op, body=(*primal, *stores))


def invariant_cotangents(sweep: Sweep, inner: Sweep, op: Loop) -> list[tuple[Value, Buffer]]:
    """Values from outside that the body reads: their cotangents are added up over the iterations in a buffer each."""
    outside = {v.id: v for v in op.inputs}
    totals = []
    for id in sorted(set(inner.contributions) & set(outside)):
        value = outside[id]
        memory = sweep.builder.new_buffer("local", "cotangent", value.dtype, contiguous(value.shape))
        sweep.builder.next_value = inner.builder.next_value
        sweep.builder.store(memory.whole, sweep.zero(value.dtype))
        inner.builder.next_value = sweep.builder.next_value
        for part in inner.contributions.pop(id):
            if isinstance(part, Part):
                inner.add_part(memory.whole, part)
            else:
                inner.builder.store(memory.whole, part, accumulate=True)
        totals.append((value, memory))
    return totals


class Prologue:
    """What a reverse iteration begins with: the primal's values under new names."""

    def __init__(self, sweep: Sweep, primal: list[Operation]):
        self.sweep = sweep
        self.made = defined_by(tuple(primal))
        self.operations: list[Operation] = []
        self.stores: list[Operation] = []
        self.names: dict[int, Value] = {}

    def provide(self, value: Value) -> Value:
        """A name for `value` in the reverse iteration."""
        if value.id not in self.made:
            return value  # from outside the loop
        if value.id not in self.names:
            if self.cost(value) <= RECOMPUTE_LIMIT:
                self.names[value.id] = self.again(value)
            else:
                self.names[value.id] = self.read_back(value)
        return self.names[value.id]

    def cost(self, value: Value) -> float:
        """Additions per element to have `value` again from memory that nothing has changed since."""
        op = self.made.get(value.id)
        if op is None or isinstance(op, Constant):
            return 0.0
        if isinstance(op, Load):
            return 1.0 if op.region.buffer not in self.sweep.overwritten else float("inf")
        assert isinstance(op, Apply)
        rule = RULES[op.primitive]
        if rule.kind not in ("elementwise", "view"):
            return float("inf")
        return (rule.cost if rule.kind == "elementwise" else 0.0) + sum(self.cost(v) for v in op.operands)

    def fresh(self, value: Value) -> Value:
        return self.sweep.builder.new_value(value.shape, value.dtype)

    def again(self, value: Value) -> Value:
        op, out = self.made[value.id], self.fresh(value)
        if isinstance(op, Apply):
            operands = tuple(self.provide(v) for v in op.operands)
            self.operations.append(replace(op, out=out, operands=operands))
        else:
            self.operations.append(replace(op, out=out))  # type: ignore[call-arg]
        return out

    def read_back(self, value: Value) -> Value:
        """Keep `value` in the primal loop, at a place of its own for each iteration."""
        op, loops = self.made[value.id], self.sweep.enclosing
        shape = (*(loop.trips for loop in loops), *value.shape)
        builder = self.sweep.builder
        builder.line = op.line
        cache = builder.new_buffer("cache", "cache", value.dtype, contiguous(shape))
        strides = c_strides(shape)
        offset: Extent = 0
        for loop, stride in zip(loops, strides):
            offset += (loop_index(loop.index) - loop.start) * (stride * loop.step)
        region = Region(cache.id, View(offset, value.shape, strides[len(loops) :]))
        self.stores.append(Store(region=region, value=value, line=op.line))
        out = self.fresh(value)
        self.operations.append(Load(out=out, region=region, line=op.line))
        return out


def sources_of_needed(
    inner: Sweep, primal: list[Operation], reverse: list[Operation]
) -> tuple[Prologue, list[Operation]]:
    """For each value of the primal iteration that the reverse iteration reads: how it gets there."""
    prologue = Prologue(inner, primal)
    for op in reverse:
        for value in op.inputs:
            if value.id in prologue.made:
                prologue.provide(value)
    return prologue, prologue.stores
