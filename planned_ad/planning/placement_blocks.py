"""Place loops and branches: each is one step, around blocks that are placed by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..regions.regions import contiguous
from ..tape.tape import Branch, Load, Loop, Operation
from .schedule import BranchStep, LoopStep, Memory, Step

if TYPE_CHECKING:
    from .anchors import Anchors
    from .placement import Placement


def place_loop(outer: Placement, op: Loop) -> None:
    loop = LoopStep(operation=op, sweep=outer.sweep)
    step = outer.new_step(loop)
    if op.count is not None:
        loop.count = outer.address(outer.memory_leaf(op.count, contiguous(())), step)
    (loop.steps,) = (place_block(outer, step, inside) for inside in outer.anchors.inside[outer.position])
    touch_memory(outer, step, op)


def place_branch(outer: Placement, op: Branch) -> None:
    branch = BranchStep(operation=op, memory=Memory("slot", op.predicate.id), view=contiguous(()), sweep=outer.sweep)
    step = outer.new_step(branch)
    branch.memory, branch.view = outer.address(outer.memory_leaf(op.predicate, contiguous(())), step)
    inside = outer.anchors.inside[outer.position]
    branch.then, branch.otherwise = (place_block(outer, step, anchors) for anchors in inside)
    touch_memory(outer, step, op)


def place_block(outer: Placement, step: int, anchors: Anchors) -> list[Step]:
    """The steps of a body or a side; what they use is used, from outside, in the one step `step`."""
    inner = outer.nested(anchors)
    inner.run()
    for value in inner.slots.values():
        if value.id in outer.home:
            outer.slot(value, step)
        else:
            outer.inner_slots[value.id] = value
    outer.inner_slots.update(inner.inner_slots)
    return inner.steps


def touch_memory(outer: Placement, step: int, op: Operation) -> None:
    """Note what the blocks of `op` read and write, and what they load in place of `outer`."""
    made = (outer.anchors.made[value.id][1] for value in op.inputs if value.id not in outer.anchors.reasons)
    loaded = [load.region for load in made if isinstance(load, Load)]
    for region in (*op.reads, *loaded):
        outer.order.touch(region, step, write=False, aligned=False)
        if outer.position >= outer.tape.turn and outer.tape.buffers[region.buffer].kind == "local":
            outer.reread_if_primal(region.buffer)
    for region in op.writes:
        outer.order.touch(region, step, write=True, aligned=False)
