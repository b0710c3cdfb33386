"""The planner: from a tape to a schedule over one fixed workspace, with a reason for every byte kept.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.planning.schedule_listing import brief_plan
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = simplify(reverse(trace(lambda x: np.sum(np.exp(x) * x), (np.zeros(4),)).tape))
>>> print(brief(tape))
v0: float64[4] = x[...]
v1: float64[4] = exp(v0)
# reverse sweep
v10: float64[4] = multiply(v0, v1)
v11: float64[4] = add(v1, v10)
dx#1[...] = v11
>>> print(brief_plan(plan_memory(tape)))
# workspace: 0 bytes (lower bound 0)
# step 0, primal
for i0 in [4]:
    r0 = x[...]
    r1 = exp(r0)
    r2 = multiply(r0, r1)
    r3 = add(r1, r2)
    dx#1[...] = r3

Primal and reverse sweep have become one loop over registers, `r0` to `r3`, and nothing is kept.

Requires a simplified tape; ensures that each access finds the number that the tape means. In order:

0. `reciprocals`, `early_uses`: divisions as products; computing from what is about to be overwritten before it is.
   `row_blocks`: work on large arrays in blocks of rows, so that what is only used there is never whole, and what
   several loop nests would fetch (`fetches`) is fetched once.
1. `anchors`: for each value, reload, recompute or keep (alias and overwrite analysis on regions).
2. `placement`: fuse operations into loop nests, in an order that keeps every dependence.
3. `layout`: pack slots and local buffers by lifetime.
4. here: collect the reasons.
"""

from __future__ import annotations

from .differentiate.keep.sources import overwritten, read_again
from .passes.early_uses import use_early
from .passes.reciprocals import multiply_by_reciprocals
from .planning.anchors import Anchors, decide_anchors
from .planning.fetches import fetched_again
from .planning.last_bits import mark_exact
from .planning.layout import lay_out, lifetimes_in
from .planning.placement import Placement
from .planning.placing import place
from .planning.row_blocks import WORTH, in_row_blocks
from .planning.schedule import BlockedRows, Cached, Memory, MemoryPlan, Source, walk_steps
from .python.source import Line
from .tape.tape import Apply, Constant, Tape, Value, walk


def plan_memory(tape: Tape) -> MemoryPlan:
    """Plan `tape`, in blocks of rows where that takes much less memory, or fetches much less.

    Requires a simplified tape whose results are stored to buffers of kind 'result'. Ensures: each access finds
    the number that the tape means; every slot lies in the workspace and overlaps no other that is alive.
    Cost: near linear in the operations for unrolled scalar code.
    """
    plan = plan_as_it_is(tape)
    again = fetched_again(plan)
    if plan.workspace_nbytes < WORTH and not again:
        return plan
    changed, blocked = in_row_blocks(multiply_by_reciprocals(tape), frozenset(again))
    if not blocked:
        return plan
    smaller = plan_as_it_is(changed, blocked)
    more, left = smaller.workspace_nbytes - plan.workspace_nbytes, fetched_again(smaller).total()
    is_fetched_once = again and 2 * left <= again.total() and more <= again.total() - left
    return smaller if is_fetched_once or 2 * smaller.workspace_nbytes <= plan.workspace_nbytes else plan


def plan_as_it_is(tape: Tape, blocked: tuple[BlockedRows, ...] = ()) -> MemoryPlan:
    """The plan of a tape as it is; `blocked`: what is said of its loops over blocks of rows."""
    tape = use_early(multiply_by_reciprocals(tape))
    anchors = decide_anchors(tape)
    placement = place(tape, anchors)
    mark_exact(placement.steps)
    used, _ = lifetimes_in(placement.steps)
    sizes = {}
    for memory in used:
        nbytes = memory_nbytes(tape, placement, memory)
        if nbytes is not None:
            sizes[memory] = nbytes
    lifetimes = {memory: used[memory] for memory in sizes}
    offsets, workspace, bound = lay_out(sizes, lifetimes, list(walk_steps(placement.steps)))
    return MemoryPlan(
        tape=tape,
        steps=tuple(placement.steps),
        offsets=offsets,
        sizes=sizes,
        lifetimes=lifetimes,
        constants={op.out.id: op.data for op in walk(tape.operations) if isinstance(op, Constant)},
        cached=cached_values(tape, anchors, placement, set(used)),
        recomputed=sources(anchors, placement.recomputed),
        reloaded=sources(anchors, placement.reloaded),
        workspace_nbytes=workspace,
        lower_bound_nbytes=bound,
        blocked=blocked,
    )


def memory_nbytes(tape: Tape, placement: Placement, memory: Memory) -> int | None:
    """Bytes that a memory takes in the workspace; None for constants and what the caller brings."""
    if memory.kind == "constant":
        return None
    if memory.kind == "slot":
        value = placement.slots.get(memory.id) or placement.inner_slots[memory.id]
        return value.nbytes
    buffer = tape.buffers[memory.id]
    return None if buffer.visible else buffer.nbytes


def cached_values(tape: Tape, anchors: Anchors, placement: Placement, used: set[Memory]) -> tuple[Cached, ...]:
    """What lives from the primal to the reverse sweep, each with its reason."""
    found = [cached(anchors, placement.slots[id]) for id in placement.read_back]
    caches = {b.id for b in tape.buffers if b.kind == "cache" and Memory("buffer", b.id) in used}
    for id in sorted(placement.reread | caches):
        buffer = tape.buffers[id]
        reason = buffer.label if buffer.kind == "cache" else read_again(buffer.line)  # (who made a cache says why)
        value = Value(id=-1 - id, shape=buffer.shape, dtype=buffer.dtype)
        found.append(Cached.at(buffer.line, value, buffer.nbytes, reason))
    return tuple(sorted(found, key=lambda c: (c.file, c.line, c.value.id)))


def cached(anchors: Anchors, value: Value) -> Cached:
    _, op = anchors.made[value.id]
    reason, line = anchors.reasons[value.id], op.line
    writer = anchors.overwrites.get(value.id)
    if writer is not None:
        reason, line = overwritten(writer), writer.line
    return Cached.at(line, value, value.nbytes, reason)


def sources(anchors: Anchors, lines: dict[int, Line]) -> tuple[Source, ...]:
    operations = {id: anchors.made[id][1] for id in lines}
    return tuple(
        Source.at(lines[id], op.primitive if isinstance(op, Apply) else "load", op.outputs[0].nbytes)
        for id, op in operations.items()
    )
