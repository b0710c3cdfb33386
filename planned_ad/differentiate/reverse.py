"""Reverse mode: a tape that runs the primal and then propagates cotangents back through it.

>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda x: np.exp(x[0] * x[1]), (np.zeros(2),)).tape
>>> print(brief(tape))
v0 = x[0]
v1 = x[1]
v2 = multiply(v0, v1)
v3 = exp(v2)
return v3
>>> print(brief(reverse(tape)))
v0 = x[0]
v1 = x[1]
v2 = multiply(v0, v1)
v3 = exp(v2)
# reverse sweep
v4 = 0.0
dx#1[...] = v4
v5 = 1.0
v6 = multiply(v5, v3)
v7 = multiply(v6, v1)
v8 = multiply(v6, v0)
dx#1[1] += v8
dx#1[0] += v7

Requires a primal tape; ensures that the shadows of the active arguments, which are arguments too, hold the derivative.

The result is again a tape: the primal operations, followed (from `turn` on) by the reverse sweep,
which names the primal's values directly. Which of those are kept, reloaded or recomputed is the
planner's decision; for values inside loops and branches it is made here (see `kept_values`). Adjoints
of values are sums of contributions; adjoints of buffers live in shadow buffers of the same layout
(Griewank & Walther, Evaluating Derivatives, 2nd ed., chapters 3 and 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..analysis.dependence import Overwrites
from ..analysis.singularities import Singularities, singularities, strengthened
from ..errors import UnsupportedError
from ..passes.boundary import store_results
from ..passes.counted_exits import with_counts
from ..passes.inline import write_out_calls
from ..regions.affine import Ragged
from ..regions.coordinates import follow
from ..regions.regions import (
    Region,
    View,
    c_strides,
    compose,
    contiguous,
    inverse,
    is_fixed,
    is_injective,
    is_ragged,
    remap,
    show,
)
from ..rules.algebra import Symbol
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, continued
from ..tape.callees import cotangents_of_call, has_rule
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
    Tape,
    Value,
    walk,
)
from .keep.rooms import NO_ROOMS, NONE, Rooms, with_rooms
from .moving_views import inverse_in_loops, refuse_flattening


@dataclass(frozen=True, slots=True)
class Part:
    """A contribution to a cotangent that concerns only a part of it: what a view or a gather shows."""

    cotangent: Value
    view: View | None = None
    indices: tuple[Value, ...] = ()


@dataclass
class Sweep:
    """The state of one reverse sweep: cotangents so far, shadows, and the tape being written.

    A loop's body, or a side of a branch, has a sweep of its own inside that of the block around it, its `parent`.
    """

    builder: TapeBuilder
    active: frozenset[int]  # ids of values with a derivative
    shadows: dict[int, Buffer] = field(default_factory=dict)
    contributions: dict[int, list[Value | Part]] = field(default_factory=dict)
    overwrites: Overwrites | None = None  # what the primal writes; of the outermost sweep
    parent: Sweep | None = None
    loops: tuple[Loop, ...] = ()  # around what is being transposed
    defined: frozenset[int] = frozenset()  # values of the block that is being transposed; of inner sweeps
    totals: dict[int, tuple[Value, Region]] = field(default_factory=dict)
    counts: dict[int, Value] = field(default_factory=dict)  # by index, how often loops that stop have run
    rooms: Rooms = NO_ROOMS  # of the outermost sweep
    facts: Singularities = field(default_factory=Singularities)  # of the primal, and of what has been written

    def contribute(self, value: Value, cotangent: Value | Part) -> None:
        if value.id in self.active:
            self.contributions.setdefault(value.id, []).append(cotangent)

    def total(self, value: Value) -> Region:
        """Where the cotangents of a value from outside of this block are added up: in the block that defines it."""
        assert self.parent is not None
        if self.parent.parent is not None and value.id not in self.parent.defined:
            return self.parent.total(value)
        if value.id not in self.totals:
            self.totals[value.id] = (value, self.memory("cotangent", value.shape, value.dtype))
        return self.totals[value.id][1]

    def memory(self, label: str, shape: tuple[int, ...], dtype: np.dtype) -> Region:
        """New memory for an array of `shape`."""
        buffer = self.builder.new_buffer("local", label, dtype, contiguous(tuple(map(int, shape))))
        return Region(buffer.id, contiguous(shape))

    def shadow(self, region: Region) -> Region:
        """The region of the shadow buffer that belongs to a region of the primal."""
        buffer = self.builder.buffers[region.buffer]
        return shadow_region(self.builder, region, buffer, self.shadows[region.buffer], self.loops)

    def make_shadows(self, buffers: Iterable[int]) -> None:
        """Shadows, zero at first, for those of these buffers that have none."""
        for id in sorted(set(buffers) - set(self.shadows)):
            if is_floating(self.builder.buffers[id].dtype):
                shadow = self.shadows[id] = new_shadow(self.builder, self.builder.buffers[id], "local")
                self.builder.store(shadow.whole, self.zero(shadow.dtype))

    def zero(self, dtype: np.dtype) -> Value:
        return self.builder.constant(0, dtype)

    def collapse(self, value: Value) -> Value | None:
        """The cotangent of `value` as one value; None when it is zero."""
        parts = self.contributions.pop(value.id, None)
        if parts is None:
            return None
        whole = [p for p in parts if isinstance(p, Value)]
        total = None
        for cotangent in whole:
            total = cotangent if total is None else self.builder.apply("add", total, cotangent)
        if len(whole) == len(parts):
            return total
        memory = self.memory("cotangent", value.shape, value.dtype)
        self.builder.store(memory, self.zero(value.dtype) if total is None else total)
        for part in parts:
            if isinstance(part, Part):
                self.add_part(memory, part)
        return self.builder.load(memory)

    def add_part(self, region: Region, part: Part) -> None:
        """Add a contribution to the part of `region` that it concerns."""
        if part.view is None:
            self.builder.scatter(region, part.indices, part.cotangent, accumulate=True)
            return
        view = compose(region.view, part.view)
        if view is not None:
            self.add(Region(region.buffer, view), part.cotangent)
            return
        if not is_fixed(part.view):  # in packed memory every view is affine
            packed = self.memory("cotangent", region.shape, part.cotangent.dtype)
            self.builder.store(packed, self.zero(part.cotangent.dtype))
            self.add_part(packed, part)
            self.add(region, self.builder.load(packed))
            return
        # A view that is not affine here: its elements one by one.
        positions = show(np.arange(region.view.size), part.view).reshape(-1)
        indices = tuple(self.builder.constant(i.astype(np.int64)) for i in np.unravel_index(positions, region.shape))
        flat = self.builder.reshape(part.cotangent, (part.cotangent.size,))
        self.builder.scatter(region, indices, flat, accumulate=True)

    def add(self, region: Region, cotangent: Value) -> None:
        """Add `cotangent` to `region`, which may show an element several times."""
        cotangent, view = sum_repeated(self.builder, cotangent, region.view)
        if is_injective(view):
            self.builder.store(Region(region.buffer, view), cotangent, accumulate=True)
            return
        if is_ragged(view.shape):
            raise UnsupportedError(f"{self.builder.line}: windows that overlap, of an extent that a loop changes")
        # Windows that overlap: one element at a time, in order.
        low, high = view.bounds()
        size, offset = high - low + 1, view.offset - low
        assert isinstance(size, int) and isinstance(offset, int)
        positions = show(np.arange(size), View(offset, view.shape, view.strides)).reshape(-1)
        flat = self.builder.reshape(cotangent, (cotangent.size,))
        indices = (self.builder.constant(positions.astype(np.int64)),)
        span = Region(region.buffer, View(low, (size,), (1,)))
        self.builder.scatter(span, indices, flat, accumulate=True)


def shadow_region(
    builder: TapeBuilder, region: Region, buffer: Buffer, shadow: Buffer, loops: tuple[Loop, ...]
) -> Region:
    """The region of `shadow` that belongs to a region of `buffer`, inside of `loops`."""
    if buffer.view == shadow.view:
        return Region(shadow.id, region.view)
    if not is_fixed(region.view):
        view = follow(region.view, buffer.view, shadow.view, {loop.index: loop.range for loop in loops})
    else:
        view = remap(region.view, buffer.view, shadow.view)
    if view is None:
        raise UnsupportedError(
            f"{builder.line}: the strides of {buffer.label} cannot be followed; pass a contiguous array"
        )
    return Region(shadow.id, view)


def sum_repeated(builder: TapeBuilder, cotangent: Value, view: View) -> tuple[Value, View]:
    """Sum over the axes along which `view` repeats its elements; the cotangent and the view that are left."""
    repeated = tuple(
        k for k, (n, s) in enumerate(zip(view.shape, view.strides)) if s == 0 and (n > 1 or isinstance(n, Ragged))
    )
    if not repeated:
        return cotangent, view
    cotangent = builder.apply("reduce_sum", cotangent, axes=repeated)
    kept = [k for k in range(len(view.shape)) if k not in repeated]
    return cotangent, View(view.offset, tuple(view.shape[k] for k in kept), tuple(view.strides[k] for k in kept))


def is_floating(dtype: np.dtype) -> bool:
    return dtype.kind == "f"


def activity(tape: Tape) -> tuple[frozenset[int], frozenset[int]]:
    """Ids of the values, and of the buffers, that depend on an active argument (regardless of order for buffers)."""
    return dependent(tape.operations, (), tape.active)


def dependent(
    operations: tuple[Operation, ...], values: Iterable[int], buffers: Iterable[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """Ids of the values and buffers that depend on these values and buffers."""
    roots, buffers = frozenset(values), set(buffers)
    while True:
        values = set(roots)
        found = set(buffers)
        for op in walk(operations):
            if isinstance(op, Load):
                if op.region.buffer in found:
                    values.add(op.out.id)
            elif isinstance(op, Apply):
                if is_floating(op.out.dtype) and any(v.id in values for v in op.operands):
                    values.add(op.out.id)
            elif isinstance(op, Store | Scatter) and op.value.id in values:
                found.add(op.region.buffer)
        if found == buffers:
            return frozenset(values), frozenset(buffers)
        buffers = found


def reverse(
    tape: Tape,
    *,
    accumulate: bool = False,
    fresh: frozenset[int] = frozenset(),
    keep_results: bool = False,
    loss: bool = True,
    counted: bool = True,
    capacities: Mapping[int, int] = NONE,
) -> Tape:
    """The primal followed by its reverse sweep.

    Requires a primal tape. Arguments of the result: those of `tape`, then a shadow for each active argument, then
    (unless `loss`) a cotangent for each floating result.

    accumulate : shadows are in-out (the pullback), but for those of the buffers `fresh`; otherwise they are overwritten
        (the gradient).
    loss : the first result is a scalar, whose cotangent is one.
    keep_results : the primal's results are stored to buffers of kind 'result', the last arguments of the new tape.
    counted : the adjoint of a loop that stops early begins at the last iteration that ran.
    capacities : for how many iterations of such loops, in others, there is room; see `rooms`.
    """
    tape = write_out_calls(tape, keep=has_rule)
    tape, counts = with_counts(tape) if counted else (tape, {})
    tape, rooms = with_rooms(tape, counts, capacities)
    values, buffers = activity(tape)
    builder = continued(tape)
    overwrites, facts = Overwrites(tape.buffers, tape.operations), singularities(tape.operations)
    sweep = Sweep(builder, values, overwrites=overwrites, counts=counts, rooms=rooms, facts=facts)
    arguments = list(tape.arguments)
    returned = store_results(builder, tape.results) if keep_results else []
    turn = len(builder.operations)
    for id in tape.arguments:
        if id in tape.active:
            shadow = new_shadow(builder, tape.buffers[id], "shadow")
            sweep.shadows[id] = shadow
            arguments.append(shadow.id)
            if not accumulate or id in fresh:
                builder.store(shadow.whole, sweep.zero(shadow.dtype))
    sweep.make_shadows(buffers)
    for number, result in enumerate(tape.results):
        if loss and number == 0:
            sweep.contribute(result, builder.constant(1, result.dtype))
        elif not loss and is_floating(result.dtype):
            label = "cotangent" if len(tape.results) == 1 else f"cotangent[{number}]"
            dtype = result.dtype if result.shape else np.dtype(np.float64)  # scalars are passed as Python floats
            cotangent = builder.new_buffer("cotangent", label, dtype, contiguous(result.shape))
            arguments.append(cotangent.id)
            sweep.contribute(result, builder.cast(builder.load(cotangent.whole), result.dtype))
    primal = transpose(sweep, tape.operations)
    builder.operations[: len(tape.operations)] = primal
    return Tape(
        buffers=tuple(builder.buffers),
        arguments=(*arguments, *returned),
        operations=tuple(builder.operations),
        turn=turn + len(primal) - len(tape.operations),
        active=tape.active,
    )


def new_shadow(builder: TapeBuilder, buffer: Buffer, kind: str) -> Buffer:
    """A shadow for `buffer`: its layout when that is dense, else packed in the same order of axes."""
    view = buffer.view
    if buffer.span != view.size or buffer.low != 0:
        view = packed(view)
    return builder.new_buffer(kind, "d" + buffer.label, buffer.dtype, view, shadow_of=buffer.id)


def packed(view: View) -> View:
    """Dense strides with the axes nested in the same order as in `view`, as `np.empty_like` gives them."""
    order = sorted(range(len(view.shape)), key=lambda k: (-abs(view.strides[k]), k))
    dense = c_strides(tuple(view.shape[k] for k in order))
    strides = [0] * len(order)
    for position, axis in enumerate(order):
        strides[axis] = dense[position]
    return View(0, view.shape, tuple(strides))


def transpose(sweep: Sweep, operations: Sequence[Operation]) -> list[Operation]:
    """Write the adjoints of `operations`, the last first.

    Returns the operations with what they have to keep for it: loops and branches store what their adjoints need.
    """
    from .reverse_blocks import transpose_blocks

    primal: list[Operation] = []
    for position in reversed(range(len(operations))):
        op = operations[position]
        sweep.builder.line = op.line
        if op.blocks:
            primal += reversed(transpose_blocks(sweep, op, position))
        else:
            transpose_operation(sweep, op)
            primal.append(op)
    return primal[::-1]


def transpose_operation(sweep: Sweep, op: Operation) -> None:
    """Write the adjoint of one operation."""
    if isinstance(op, Apply):
        if op.out.id in sweep.contributions:
            transpose_apply(sweep, op)
    elif isinstance(op, Load):
        transpose_load(sweep, op)
    elif isinstance(op, Store):
        transpose_store(sweep, op)
    elif isinstance(op, Scatter):
        transpose_scatter(sweep, op)
    elif not isinstance(op, Constant | Guard | IndexValue):
        raise UnsupportedError(f"{op.line}: {type(op).__name__} has no adjoint yet")


def transpose_apply(sweep: Sweep, op: Apply) -> None:
    rule = RULES[op.primitive]
    cotangent = sweep.collapse(op.out)
    assert cotangent is not None
    builder = sweep.builder
    if op.primitive == "call":
        for operand, found in cotangents_of_call(builder, op, cotangent):
            sweep.contribute(operand, found)
        return
    if rule.kind == "view":
        for part in view_adjoint(builder, cotangent, op.params["view"], op.operands[0].shape):
            sweep.contribute(op.operands[0], part)
        return
    if rule.kind == "gather":
        sweep.contribute(op.operands[0], Part(cotangent, indices=op.operands[1:]))
        return
    symbols = [Symbol(builder, v) for v in op.operands]
    for operand, adjoint in zip(op.operands, rule.adjoints):
        if operand.id not in sweep.active:
            continue
        if adjoint is None:
            if rule.refused:
                raise UnsupportedError(f"{op.line}: {op.primitive} has no derivative here: {rule.refused}")
            continue
        before = len(builder.operations)
        result: Any = adjoint(Symbol(builder, cotangent), Symbol(builder, op.out), *symbols, **op.params)
        written, unbounded = builder.operations[before:], op.out.id in sweep.facts.unbounded
        refuse_flattening(op, written)
        builder.operations[before:] = strengthened(written, [cotangent.id], sweep.facts, unbounded)
        part = result.value
        if part.shape != operand.shape and rule.kind == "elementwise":
            if operand.shape == ():
                part = builder.apply("reduce_sum", part, axes=tuple(range(len(part.shape))))
            else:
                part = builder.broadcast(part, operand.shape)
        sweep.contribute(operand, part)


def view_adjoint(builder: TapeBuilder, cotangent: Value, view: View, shape: tuple[int, ...]) -> Iterable[Value | Part]:
    """The contribution of a view's cotangent to what it shows: repeated axes are summed, the rest put back."""
    if view.size == 0:
        return
    cotangent, view = sum_repeated(builder, cotangent, view)
    back = inverse_in_loops(view, shape) if not is_fixed(view) or is_ragged(shape) else inverse(view, shape)
    if back is not None:
        yield builder.view(cotangent, back)
    else:
        yield Part(cotangent, view=view)


def transpose_load(sweep: Sweep, op: Load) -> None:
    parts = sweep.contributions.pop(op.out.id, ())
    if not parts or op.region.buffer not in sweep.shadows:
        return
    region = sweep.shadow(op.region)
    total = None
    for part in parts:
        if isinstance(part, Part):
            sweep.add_part(region, part)
        else:
            total = part if total is None else sweep.builder.apply("add", total, part)
    if total is not None and total.size:
        sweep.add(region, total)


def transpose_store(sweep: Sweep, op: Store) -> None:
    if op.region.buffer not in sweep.shadows:
        return
    builder, region = sweep.builder, sweep.shadow(op.region)
    if op.value.id in sweep.active:
        cotangent = builder.load(region)
        if op.value.shape != cotangent.shape:
            cotangent = builder.apply("reduce_sum", cotangent, axes=tuple(range(len(cotangent.shape))))
        sweep.contribute(op.value, cotangent)
    if not op.accumulate:
        builder.store(region, sweep.zero(op.value.dtype))


def transpose_scatter(sweep: Sweep, op: Scatter) -> None:
    if op.region.buffer not in sweep.shadows:
        return
    builder, region = sweep.builder, sweep.shadow(op.region)
    if op.value.id in sweep.active:
        cotangent = builder.apply("gather", builder.load(region), *op.indices)
        if not op.accumulate:
            cotangent = keep_last(sweep, cotangent, op.indices, op.region.shape)
        if op.value.shape != cotangent.shape:
            cotangent = builder.apply("reduce_sum", cotangent, axes=tuple(range(len(cotangent.shape))))
        sweep.contribute(op.value, cotangent)
    if not op.accumulate:
        zeros = builder.broadcast(sweep.zero(op.value.dtype), op.indices[0].shape + op.region.shape[len(op.indices) :])
        builder.scatter(region, op.indices, zeros)


def keep_last(sweep: Sweep, cotangent: Value, indices: tuple[Value, ...], shape: tuple[int, ...]) -> Value:
    """Zero the cotangents of values that a later equal index overwrote: the last writer of an element is its owner."""
    builder, extents, count = sweep.builder, shape[: len(indices)], indices[0].size
    if count <= 1:
        return cotangent
    order = builder.reshape(builder.constant(np.arange(count)), indices[0].shape)
    owner = sweep.memory("last writer", extents, np.dtype(np.int64))
    builder.scatter(owner, indices, order)
    last = builder.apply("equal", builder.apply("gather", builder.load(owner), *indices), order)
    rest = cotangent.shape[len(last.shape) :]
    mask = builder.broadcast(builder.reshape(last, last.shape + (1,) * len(rest)), cotangent.shape)
    return builder.apply("where", mask, cotangent, builder.constant(0, cotangent.dtype))
