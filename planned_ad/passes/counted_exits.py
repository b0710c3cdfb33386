"""How often loops that are left early have run, in memory, so that their reverse sweeps begin at the last iteration.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     for i in range(9):
...         if x[i] < 0.0:
...             break
...         x[i] = 2.0
>>> tape = trace(f, (np.zeros(9),), unroll=1).tape
>>> print(brief(tape))
v0: bool = True
v1 = 0.0
v2: bool = False
v3 = 2.0
goes on#1[...] = v0
break#2[...] = v2
for i0 in range(0, 9, 1):
    v4: bool = goes on#1[...]
    if v4:
        v5 = x[i0]
        v6: bool = less(v5, v1)
        if v6:
            break#2[...] = v0
            goes on#1[...] = v2
        else:
            x[i0] = v3
        v7: int64 = i0
        after#3[...] = v7
v8: int64 = after#3[...]
>>> counted, _ = with_counts(tape)
>>> for line in brief(counted).splitlines():
...     if line not in brief(tape):
...         print(line)
v9: int64 = 0
iterations#4[...] = v9
        v10: int64 = i0 + 1
        iterations#4[...] = v10
v11: int64 = iterations#4[...]

Requires a primal tape. A loop that `stops` is a branch on a flag: once that is false, the iterations after do nothing.
Ensures that each such loop leaves in memory the number of iterations that did something, and is followed by the load of
that number.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..regions.affine import Affine, affine
from ..regions.regions import contiguous
from ..tape.builder import TapeBuilder, continued
from ..tape.tape import Branch, Constant, IndexValue, Load, Loop, Operation, Store, Tape, Value, walk

Block = tuple[Operation, ...]


def with_counts(tape: Tape) -> tuple[Tape, dict[int, Value]]:
    """The tape, and for each of its loops that stop, by index, how often it has run."""
    stopping = [op.index for op in walk(tape.operations) if isinstance(op, Loop) and side_of(op) is not None]
    once = {index for index in stopping if stopping.count(index) == 1}
    if not once:
        return tape, {}
    builder, counts = continued(tape), {}

    def counted(block: Block) -> Block:
        found: list[Operation] = []
        for op in block:
            op = op.with_blocks(*map(counted, op.blocks)) if op.blocks else op
            if isinstance(op, Loop) and op.index in once:
                before, op, after = count_iterations(builder, op)
                counts[op.index] = after.out
                found += [*before, op, after]
            else:
                found.append(op)
        return tuple(found)

    operations = counted(tape.operations)
    return replace(tape, buffers=tuple(builder.buffers), operations=operations, turn=len(operations)), counts


def fills_sparsely(operations: Block) -> bool:
    """Whether a loop that stops is in another one: there is memory for as many iterations as that may have, each time.

    What is kept of those that do not run is never touched, which costs addresses and no memory.
    """
    outer = (op for op in walk(operations) if isinstance(op, Loop))
    return any(isinstance(op, Loop) and op.stops for loop in outer for op in walk(loop.body))


def side_of(loop: Loop) -> Branch | None:
    """The branch that is all that a loop does, where it stops once that is not taken."""
    if not loop.stops or loop.step != 1 or len(loop.body) != 2:
        return None
    first, branch = loop.body
    if not isinstance(first, Load) or not isinstance(branch, Branch) or branch.otherwise:
        return None
    return branch if branch.predicate is first.out else None


def count_iterations(builder: TapeBuilder, loop: Loop) -> tuple[list[Operation], Loop, Load]:
    """What comes before the loop, the loop, and the load after it."""
    integer, line = np.dtype(np.int64), loop.line
    builder.line = line
    memory = builder.new_buffer("local", "iterations", integer, contiguous(())).whole
    none, number, total = (builder.new_value((), integer) for _ in range(3))
    before = [
        Constant(out=none, data=np.array(0), line=line),
        Store(region=memory, value=none, line=line),
    ]
    expression = affine(1, {loop.index: 1}) - loop.start
    assert isinstance(expression, Affine)
    goes_on, branch = loop.body[0], side_of(loop)
    assert branch is not None
    end = (
        IndexValue(out=number, expression=expression, line=line),
        Store(region=memory, value=number, line=line),
    )
    body = (goes_on, replace(branch, then=(*branch.then, *end)))
    return before, replace(loop, body=body), Load(out=total, region=memory, line=line)
