"""Private memory of which each load shows a part of what one store has put there is not needed.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     y = np.zeros(5)
...     y[:1], y[1:] = x[:1], x[:4]
...     return y
>>> tape = simplify(reverse(trace(f, (np.zeros(5),)).tape, loss=False))
>>> print(brief(tape))
v1 = 0.0
# reverse sweep
dx#2[4:5] = v1
v6: float64[5] = cotangent#4[...]
dy#3[...] = v6
v7: float64[4] = dy#3[1:5]
dx#2[0:4] = v7
v9: float64[1] = dy#3[0:1]
dx#2[0:1] += v9
>>> print(brief(simplify(without_held_once(tape))))
v1 = 0.0
# reverse sweep
dx#2[4:5] = v1
v10: float64[4] = cotangent#4[1:5]
dx#2[0:4] = v10
v11: float64[1] = cotangent#4[0:1]
dx#2[0:1] += v11

Requires a simplified tape; ensures the same numbers. So is the shadow of an array that was joined from parts, and an
array with margins that nothing looks at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..regions.regions import View, contiguous, is_fixed, overlap, remap
from ..tape.tape import Apply, Load, Operation, Store, Tape, all_blocks, walk

MOST_STORES = 16  # to one memory


def without_held_once(tape: Tape) -> Tape:
    """Requires a simplified tape; ensures that loads that show a part of one stored value are views of that.

    Of all loads of a memory, or none: the stores then have no use.
    """
    accesses = Counter(r.buffer for op in walk(tape.operations) if not op.blocks for r in (*op.reads, *op.writes))
    views: dict[int, Apply] = {}
    for block in all_blocks(tape.operations):
        for id, memory in held_in(tape, block).items():
            if memory.views and memory.accesses == accesses[id]:
                views |= memory.views
    return replace(tape, operations=with_views(tape.operations, views)) if views else tape


@dataclass
class Held:
    """What a block stores to a private memory, and the views that its loads are, by the ids of what they load."""

    stores: list[Store] = field(default_factory=list)
    views: dict[int, Apply] = field(default_factory=dict)
    accesses: int = 0  # those of which all is known


def held_in(tape: Tape, block: Sequence[Operation]) -> dict[int, Held]:
    """The private memories of one block."""
    found: dict[int, Held] = {}
    for op in block:
        if not isinstance(op, Load | Store) or tape.buffers[op.region.buffer].visible:
            continue
        memory = found.setdefault(op.region.buffer, Held())
        if isinstance(op, Store):
            is_plain = not op.accumulate and op.value.dtype == tape.buffers[op.region.buffer].dtype
            memory.accesses += is_plain and is_fixed(op.region.view) and len(memory.stores) < MOST_STORES
            memory.stores.append(op)
        elif (view := shown_by(op, memory.stores)) is not None:
            memory.accesses += 1
            memory.views[op.out.id] = view
    return found


def shown_by(load: Load, stores: Sequence[Store]) -> Apply | None:
    """What is loaded, as a view of the one value of the last store that it meets."""
    if not load.out.shape or not is_fixed(load.region.view):
        return None
    met = next((store for store in reversed(stores) if overlap(store.region, load.region)), None)
    if met is None or not is_fixed(met.region.view):
        return None
    view = remap(load.region.view, met.region.view, contiguous(met.region.shape))
    if view is not None and not met.value.shape:
        view = View(0, view.shape, (0,) * len(view.shape))
    if view is None:
        return None
    return Apply(out=load.out, primitive="view", operands=(met.value,), parameters=(("view", view),), line=load.line)


def with_views(operations: Sequence[Operation], views: dict[int, Apply]) -> tuple[Operation, ...]:
    return tuple(
        op.with_blocks(*(with_views(block, views) for block in op.blocks))
        if op.blocks
        else views.get(op.out.id, op)
        if isinstance(op, Load)
        else op
        for op in operations
    )
