"""Turn over what is written backwards: elementwise work runs upwards in memory where that is what most of it wants.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     y = x[::-1]
...     y *= np.sin(y)
...     return y.sum()
>>> tape = trace(f, (np.zeros(8),)).tape
>>> print(brief(tape))
v0: float64[8] = x[7::-1]
v1: float64[8] = sin(v0)
v2: float64[8] = multiply(v0, v1)
x[7::-1] = v2
v3: float64[8] = x[7::-1]
v4 = reduce_sum(v3, axes=(0,))
return v4
>>> print(brief(run_upwards(tape)))
v0: float64[8] = x[...]
v1: float64[8] = sin(v0)
v2: float64[8] = multiply(v0, v1)
x[...] = v2
v3: float64[8] = x[...]
v4 = reduce_sum(v3, axes=(0,))
return v4

Requires a verified tape; ensures the same numbers, up to the order of sums.

What is elementwise on the same places is turned over as a whole: loads, constants, arithmetic, stores, and sums along
the axis. Then it shares loop nests with what the rest of the program, and the reverse sweep, do on that memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..regions.regions import Region, View, is_injective, is_ragged
from ..rules.table import RULES
from ..tape.tape import Apply, Constant, Load, Operation, Store, Tape, Value


def run_upwards(tape: Tape) -> Tape:
    """Requires a verified tape; ensures the same numbers, up to the order of sums. The same tape if nothing turns."""
    kept = {value.id for value in tape.results}
    operations = turned_block(tape.operations, kept)
    return tape if operations is tape.operations else replace(tape, operations=operations)


def turned_block(operations: tuple[Operation, ...], kept: set[int]) -> tuple[Operation, ...]:
    """One block, and those inside; `kept` are values that leave it."""
    blocks = {k: tuple(turned_block(b, kept) for b in op.blocks) for k, op in enumerate(operations) if op.blocks}
    changed = {k: new for k, new in blocks.items() if any(a is not b for a, b in zip(new, operations[k].blocks))}
    found = tuple(op.with_blocks(*changed[k]) if k in changed else op for k, op in enumerate(operations))
    if not any(runs_down(region.view) for op in found if not op.blocks for region in (*op.reads, *op.writes)):
        return found if changed else operations
    axes: dict[int, tuple[int, ...]] = {}
    for group in groups_of(found, kept):
        axes |= dict.fromkeys(group.members, group.turning())
    if not any(axes.values()):
        return found if changed else operations
    return tuple(turned_over(op, k, axes) for k, op in enumerate(found))


def runs_down(view: View) -> bool:
    return any(n > 1 and s < 0 for n, s in zip(view.shape, view.strides))


@dataclass
class Group:
    """Operations on the same places, by position: elementwise ones, and what brings and takes their numbers."""

    rank: int
    members: dict[int, Operation] = field(default_factory=dict)
    values: list[int] = field(default_factory=list)
    is_bound: bool = False  # something else looks at single places

    def turning(self) -> tuple[int, ...]:
        """The axes along which more of its accesses run down than up."""
        return () if self.is_bound else tuple(axis for axis in range(self.rank) if self.turns(axis))

    def turns(self, axis: int) -> bool:
        falling = 0
        for op in self.members.values():
            if isinstance(op, Apply) and op.primitive != "view" and RULES[op.primitive].kind == "reduce":
                if axis not in op.params["axes"]:
                    return False
            elif isinstance(op, Load | Store) and op.region.shape[axis] > 1:
                falling -= int(np.sign(op.region.view.strides[axis]))
        return falling > 0


def groups_of(operations: Sequence[Operation], kept: set[int]) -> list[Group]:
    """The groups of a block; a value belongs to one."""
    of: dict[int, Group] = {}  # by values
    made = {value.id for op in operations for value in op.outputs}

    def join(values: Sequence[Value]) -> Group:
        arrays = [v for v in values if v.shape]
        known = [of[v.id] for v in arrays if v.id in of]
        group = max(known, key=lambda found: len(found.values), default=None) or Group(len(arrays[0].shape))
        for value in arrays:
            other = of.get(value.id)
            if other is None:
                group.values.append(value.id)
                of[value.id] = group
            elif other is not group:
                group.members |= other.members
                group.values += other.values
                group.is_bound |= other.is_bound
                of.update(dict.fromkeys(other.values, group))
            group.is_bound |= value.id in kept or value.id not in made or is_ragged(value.shape)
        return group

    for position, op in enumerate(operations):
        kind = RULES[op.primitive].kind if isinstance(op, Apply) else ""
        arrays = [v for v in (*op.inputs, *op.outputs) if v.shape]
        if not arrays:
            continue
        belongs = False
        if isinstance(op, Load | Constant) or (isinstance(op, Apply) and is_repeated(op)):
            belongs = True
        elif isinstance(op, Store):
            belongs = op.value.shape == op.region.shape and is_injective(op.region.view)
        elif kind == "elementwise":
            belongs = all(v.shape == op.outputs[0].shape for v in arrays)
        if belongs:
            join(arrays).members[position] = op
        elif kind == "reduce":
            join(op.inputs).members[position] = op
            for value in op.outputs:
                if value.shape:
                    join([value]).is_bound = True
        else:
            for value in arrays:
                join([value]).is_bound = True
    return list({id(group): group for group in of.values()}.values())


def is_repeated(op: Apply) -> bool:
    """Whether a view shows one number everywhere."""
    return op.primitive == "view" and not op.operands[0].shape and not any(op.params["view"].strides)


def turned_over(op: Operation, position: int, axes: dict[int, tuple[int, ...]]) -> Operation:
    along = axes.get(position, ())
    if along and isinstance(op, Load | Store):
        return replace(op, region=Region(op.region.buffer, turned_view(op.region.view, along)))
    if along and isinstance(op, Constant):
        return replace(op, data=np.ascontiguousarray(np.flip(op.data, along)))
    return op


def turned_view(view: View, along: tuple[int, ...]) -> View:
    offset, strides = view.offset, list(view.strides)
    for axis in along:
        offset += (view.shape[axis] - 1) * strides[axis]
        strides[axis] = -strides[axis]
    return View(offset, view.shape, tuple(strides))
