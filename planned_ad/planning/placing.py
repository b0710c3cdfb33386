"""Place the operations of a tape, one after the other, each as its kind wants it.

A loop or a branch is one step, around blocks that are placed by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..differentiate.keep.sources import Kept, Loaded
from ..errors import UnsupportedError
from ..regions.affine import Ragged
from ..regions.regions import View, c_strides, contiguous
from ..rules.table import RULES
from ..tape.tape import (
    Apply,
    Branch,
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
)
from .anchors import Anchors, operand_view
from .placement import Placement, axes_along
from .schedule import BranchStep, GatherRead, GuardStep, LibraryStep, LoopStep, Memory, Reduce, Step, Write


def place(tape: Tape, anchors: Anchors) -> Placement:
    """Requires decided anchors; ensures steps in which every access finds what the program means."""
    placement = Placement(tape, anchors)
    place_operations(placement)
    return placement


def place_operations(out: Placement) -> None:
    for position, op in enumerate(out.tape.operations):
        out.position = position
        match op:
            case Load() | Constant() | IndexValue() | Apply():
                if op.out.id in out.anchors.reasons and op.out.id not in out.stored:
                    place_value(out, op)
            case Store():
                place_product(out, op) if op.value.id in out.stored else place_store(out, op)
            case Scatter():
                place_scatter(out, op)
            case Guard():
                place_guard(out, op)
            case Loop():
                place_loop(out, op)
            case Branch():
                place_branch(out, op)
    out.write_slots()


# What defines a value.


def place_value(out: Placement, op: Load | Constant | IndexValue | Apply) -> None:
    kind = RULES[op.primitive].kind if isinstance(op, Apply) else "plain"
    if kind in ("plain", "elementwise", "view"):
        place_plain(out, op)
        return
    assert isinstance(op, Apply)
    if kind == "reduce":
        place_reduce(out, op)
    elif kind == "gather":
        place_gather(out, op)
    else:
        place_library(out, op)


def place_plain(out: Placement, op: Load | Constant | IndexValue | Apply) -> None:
    """In a nest over its shape. (A load that is kept is read once, here: its memory is overwritten later.)"""
    domain, view = op.out.shape, contiguous(op.out.shape)
    first = 0
    if isinstance(op, Load):
        first = out.order.after(op.region, domain, write=False)
    elif isinstance(op, Apply) and op.primitive == "view":
        first = out.first_step(((op.operands[0], op.params["view"]),), domain)
    elif isinstance(op, Apply):
        first = out.first_step(tuple((v, operand_view(v, op.out, view)) for v in op.operands), domain)
    step = out.nest_for(domain, first)
    out.evaluate(step, op.out, view, op.line)
    out.home[op.out.id] = step


def place_reduce(out: Placement, op: Apply) -> None:
    operand = op.operands[0]
    domain, view = operand.shape, contiguous(operand.shape)
    axes: tuple[int, ...] = op.params["axes"]
    step = out.nest_for(domain, out.first_step(((operand, view),), domain))
    kept = iter(c_strides(op.out.shape))
    strides = tuple(0 if k in axes else next(kept) for k in range(len(domain)))
    item = Reduce(
        memory=out.slot_of_result(op.out),
        view=View(0, domain, strides),
        axes=axes,
        source=out.evaluate(step, operand, view, op.line),
        operation=op.primitive,
        dtype=op.out.dtype,
    )
    out.home[op.out.id] = step
    out.nest(step).add(item, op.line)


def place_gather(out: Placement, op: Apply) -> None:
    (source, *indices), domain = op.operands, op.out.shape
    index_view = over_rows(indices[0], domain)
    operands = tuple((i, index_view) for i in indices)
    first = max(out.first_step(operands, domain), out.barrier)  # a guard may check the indices
    leaf = out.memory_leaf(source, contiguous(source.shape))
    match leaf.source:
        case Kept():
            first = max(first, out.home[leaf.value.id] + 1)
        case Loaded(region):
            first = max(first, out.order.after(region, in_order(domain), write=False))
    step = out.nest_for(domain, first)
    registers = tuple(out.evaluate(step, i, index_view, op.line) for i in indices)
    memory, view = out.address(leaf, step)
    item = GatherRead(
        memory=memory,
        view=starts_of_rows(view, indices, domain),
        indices=registers,
        strides=view.strides[: len(indices)],
        dtype=op.out.dtype,
    )
    out.settle(op.out, step, out.nest(step).add(item, op.line))


def place_library(out: Placement, op: Apply) -> None:
    refuse_ragged(op)
    leaves = [out.memory_leaf(v, contiguous(v.shape)) for v in op.operands]
    library = LibraryStep(operation=op, operands=(), result=out.slot_of_result(op.out), sweep=out.sweep)
    step = out.new_step(library)
    library.operands = tuple((*out.address(leaf, step), v.dtype) for leaf, v in zip(leaves, op.operands))
    out.home[op.out.id] = step


# Effects.


def place_store(out: Placement, op: Store) -> None:
    domain, view = op.region.shape, over(op.value, op.region.shape)
    first = max(out.first_step(((op.value, view),), domain), out.order.after(op.region, domain, write=True))
    out.along |= axes_along(op.region.view)
    if out.tape.buffers[op.region.buffer].visible:
        first = max(first, out.barrier)
    step = out.nest_for(domain, first)
    register = out.evaluate(step, op.value, view, op.line)
    out.order.touch(op.region, step, write=True)
    memory = Memory("buffer", op.region.buffer)
    item = Write(memory=memory, view=op.region.view, source=register, accumulate=op.accumulate)
    out.nest(step).add(item, op.line)
    out.store_steps[out.position] = step


def place_product(out: Placement, op: Store) -> None:
    """A product that is computed where it is stored; into memory of its own where it may read from there."""
    product = out.stored[op.value.id]
    leaves = [out.memory_leaf(v, contiguous(v.shape)) for v in product.operands]
    if any(isinstance(leaf.source, Loaded) and leaf.source.region.buffer == op.region.buffer for leaf in leaves):
        place_library(out, product)
        place_store(out, op)
        return
    memory = Memory("buffer", op.region.buffer)
    library = LibraryStep(
        operation=product, operands=(), result=memory, place=op.region.view, accumulate=op.accumulate, sweep=out.sweep
    )
    step = out.new_step(library)
    library.operands = tuple((*out.address(leaf, step), v.dtype) for leaf, v in zip(leaves, product.operands))
    out.order.touch(op.region, step, write=True, aligned=False)
    out.store_steps[out.position] = step


def place_scatter(out: Placement, op: Scatter) -> None:
    domain = op.indices[0].shape + op.region.shape[len(op.indices) :]
    index_view, value_view = over_rows(op.indices[0], domain), over(op.value, domain)
    operands = (*((i, index_view) for i in op.indices), (op.value, value_view))
    after = out.order.after(op.region, in_order(domain), write=True)
    first = max(out.first_step(operands, domain), after, out.barrier)
    step = out.nest_for(domain, first)
    *indices, register = (out.evaluate(step, v, w, op.line) for v, w in operands)
    nest = out.nest(step)
    nest.ordered = True
    out.order.touch(op.region, step, write=True, aligned=False)
    item = Write(
        memory=Memory("buffer", op.region.buffer),
        view=starts_of_rows(op.region.view, op.indices, domain),
        source=register,
        accumulate=op.accumulate,
        indices=tuple(indices),
        strides=op.region.view.strides[: len(indices)],
    )
    nest.add(item, op.line)


def place_guard(out: Placement, op: Guard) -> None:
    leaf = out.memory_leaf(op.predicate, contiguous(()))
    guard = GuardStep(operation=op, memory=Memory("slot", 0), view=contiguous(()), dtype=op.predicate.dtype)
    step = out.new_step(guard)
    guard.memory, guard.view = out.address(leaf, step)
    out.barrier = step + 1


def refuse_ragged(op: Apply) -> None:
    """Routines on whole arrays know extents when they are compiled."""
    if any(isinstance(n, Ragged) for value in (*op.operands, op.out) for n in value.shape):
        raise UnsupportedError(
            f"{op.line}: {op.primitive} of arrays whose extent changes from iteration to iteration of a loop. Work on "
            f"whole arrays, or write a loop over their elements"
        )


def over(value: Value, domain: tuple[int, ...]) -> View:
    """How a value, or a scalar for each element, is read over a domain."""
    return contiguous(domain) if value.shape == domain else View(0, domain, (0,) * len(domain))


def over_rows(index: Value, domain: tuple[int, ...]) -> View:
    """How an array of indices is read over a domain, whose first axes are its own."""
    return View(0, domain, contiguous(index.shape).strides + (0,) * (len(domain) - len(index.shape)))


def starts_of_rows(view: View, indices: Sequence[Value], domain: tuple[int, ...]) -> View:
    """Where the row begins that `indices` of its leading axes are added to, over a domain."""
    return View(view.offset, domain, (0,) * len(indices[0].shape) + view.strides[len(indices) :])


def in_order(domain: tuple[int, ...]) -> tuple[int, ...]:
    """The domain as the order of steps knows it where an access goes to computed places: none but a scalar's."""
    return domain if domain == () else (-1,)


# Loops and branches.


def place_loop(out: Placement, op: Loop) -> None:
    loop = LoopStep(operation=op, sweep=out.sweep)
    step = out.new_step(loop)
    if op.count is not None:
        loop.count = out.address(out.memory_leaf(op.count, contiguous(())), step)
    (loop.steps,) = (place_block(out, step, inside) for inside in out.anchors.inside[out.position])
    touch_memory(out, step, op)


def place_branch(out: Placement, op: Branch) -> None:
    branch = BranchStep(operation=op, memory=Memory("slot", op.predicate.id), view=contiguous(()), sweep=out.sweep)
    step = out.new_step(branch)
    branch.memory, branch.view = out.address(out.memory_leaf(op.predicate, contiguous(())), step)
    inside = out.anchors.inside[out.position]
    branch.then, branch.otherwise = (place_block(out, step, anchors) for anchors in inside)
    touch_memory(out, step, op)


def place_block(out: Placement, step: int, anchors: Anchors) -> list[Step]:
    """The steps of a body or a side; what they use is used, from outside, in the one step `step`."""
    inner = out.nested(anchors)
    place_operations(inner)
    for value in inner.slots.values():
        if value.id in out.home:
            out.slot(value, step)
        else:
            out.inner_slots[value.id] = value
    out.inner_slots.update(inner.inner_slots)
    return inner.steps


def touch_memory(out: Placement, step: int, op: Operation) -> None:
    """Note what the blocks of `op` read and write, and what they load in place of what is around."""
    made = (out.anchors.made[value.id][1] for value in op.inputs if value.id not in out.anchors.reasons)
    loaded = [load.region for load in made if isinstance(load, Load)]
    for region in (*op.reads, *loaded):
        out.order.touch(region, step, write=False, aligned=False)
        if out.position >= out.tape.turn and out.tape.buffers[region.buffer].kind == "local":
            out.reread_if_primal(region.buffer)
    for region in op.writes:
        out.order.touch(region, step, write=True, aligned=False)
