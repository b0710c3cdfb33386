"""Place loops and branches: each is one step, around blocks that are placed by themselves.

>>> import numpy as np
>>> from planned_ad.planner import plan_memory
>>> from planned_ad.planning.schedule_listing import brief_plan
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     for i in range(1, 4):
...         x[i] = np.sin(x[i - 1])
>>> tape = trace(f, (np.zeros((4, 9)),), unroll=1).tape
>>> print(brief(tape))
for i0 in range(0, 3, 1):
    v0: float64[9] = x[i0, :]
    v1: float64[9] = sin(v0)
    x[i0 + 1, :] = v1
>>> print(brief_plan(plan_memory(tape)))
# workspace: 0 bytes (lower bound 0)
# step 0, primal
for i0 in range(0, 3, 1):
    # step 1, primal
    for i1 in [9]:
        r0 = x[i0, :]
        r1 = sin(r0)
        x[i0 + 1, :] = r1

Requires anchors for the blocks; ensures that, seen from outside, all that they use is used in the one step.
"""

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
        outer.touch(region, step, write=False, aligned=False)
        if outer.position >= outer.tape.turn and outer.tape.buffers[region.buffer].kind == "local":
            outer.reread_if_primal(region.buffer)
    for region in op.writes:
        outer.touch(region, step, write=True, aligned=False)
