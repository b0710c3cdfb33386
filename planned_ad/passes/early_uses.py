"""Compute from what is about to be overwritten before it is, where that makes the only use of it.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x, u):
...     v, u = x.copy(), np.exp(u)
...     x[:] = 0.0
...     return v + u
>>> tape = trace(f, (np.zeros(4), np.zeros(4))).tape
>>> print(brief(tape))
v0: float64[4] = x[...]
v1: float64[4] = u[...]
v2: float64[4] = exp(v1)
v3 = 0.0
x[...] = v3
v4: float64[4] = add(v0, v2)
return v4
>>> print(brief(use_early(tape)))
v0: float64[4] = x[...]
v1: float64[4] = u[...]
v2: float64[4] = exp(v1)
v3 = 0.0
v4: float64[4] = add(v0, v2)
x[...] = v3
return v4

Requires a verified tape; ensures the same operations, elementwise ones on arrays perhaps earlier.

`v = a[...]; a[...] = 0; w = v + u` has to keep `v`, and computes `w` again wherever it is needed. With `w` computed
before the store it is `w` that is kept, in no more memory. (The adjoint of each plain store reads like that.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..analysis.dependence import WriteHistory
from ..rules.table import RULES
from ..tape.tape import Apply, Load, Operation, Tape, Value

Key = tuple[int, int, int]  # where an operation goes: before (0) or at (1) a position, in the order of old positions


def use_early(tape: Tape) -> Tape:
    """Requires a verified tape; ensures the same operations, elementwise ones on arrays perhaps earlier.

    None moves from one sweep to the other.
    """
    return replace(tape, operations=ordered(tape, tape.operations, tape.turn))


def ordered(tape: Tape, operations: Sequence[Operation], turn: int) -> tuple[Operation, ...]:
    inside = (
        op.with_blocks(*(ordered(tape, block, 0) for block in op.blocks)) if op.blocks else op for op in operations
    )
    block = tuple(inside)
    uses = Counter(v.id for op in block for v in op.inputs)
    if not any(isinstance(op, Load) and op.out.shape and uses[op.out.id] == 1 for op in block):
        return block
    moves = Moves(replace(tape, operations=block, turn=turn), uses)
    return tuple(block[position] for position in sorted(range(len(block)), key=moves.keys().__getitem__))


class Moves:
    """Where the operations of one block go."""

    def __init__(self, tape: Tape, uses: Counter[int]) -> None:
        self.tape, self.uses = tape, uses
        self.history = WriteHistory(tape)
        self.position_of = {id(op): position for position, op in enumerate(tape.operations)}
        self.made: dict[int, tuple[Key, Operation]] = {}

    def keys(self) -> list[Key]:
        found = []
        for position, op in enumerate(self.tape.operations):
            key = self.earlier(op, position) or (position, 1, position)
            for value in op.outputs:
                self.made[value.id] = (key, op)
            found.append(key)
        return found

    def earlier(self, op: Operation, position: int) -> Key | None:
        """Before the first store that overwrites what only `op` uses, if all it needs is there by then."""
        if not isinstance(op, Apply) or not op.out.shape or RULES[op.primitive].kind != "elementwise":
            return None
        stores = [s for v in op.operands if (s := self.overwritten(v, op, position)) is not None]
        if not stores:
            return None
        store = min(stores)
        key = (store, 0, position)
        is_early = all(self.made[v.id][0] < key for v in op.operands if v.id in self.made)
        return key if is_early and (store < self.tape.turn) == (position < self.tape.turn) else None

    def overwritten(self, value: Value, user: Apply, position: int) -> int | None:
        """The position of the store before which `user` had better use `value`."""
        if value.id not in self.made or self.uses[value.id] != 1 or user.out.nbytes > value.nbytes:
            return None
        (at, moved, since), op = self.made[value.id]
        if not moved:
            return at
        if not isinstance(op, Load):
            return None
        writer = self.history.first_write(op.region, since, position)
        return None if writer is None else self.position_of[id(writer)]
