"""Large memory from outside that loop nests fetch again, when no cache of a core holds it any more.

`X @ w` and `r @ X`, or the sums of rows and those of columns, go through `X` twice: a nest each. In blocks of rows
(`planning.row_blocks`) it is fetched once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container
from typing import TypeGuard

from ..tape.tape import Load, Operation, Tape
from .schedule import MemoryPlan, Nest, Read, walk_steps

FAR = 1 << 21  # bytes, at least, of such memory


def fetched_again(plan: MemoryPlan) -> Counter[int]:
    """Bytes of each buffer from outside that loop nests fetch after others of the same block of steps."""
    found: Counter[int] = Counter()
    for block in (plan.steps, *(block for step in walk_steps(plan.steps) for block in getattr(step, "blocks", ()))):
        seen: set[int] = set()
        for step in block:
            items = step.items if isinstance(step, Nest) else ()
            fetched = {item.memory.id: far_nbytes(plan.tape, item) for item in items if isinstance(item, Read)}
            fetched = {id: nbytes for id, nbytes in fetched.items() if nbytes}
            found.update({id: nbytes for id, nbytes in fetched.items() if id in seen})
            seen.update(fetched)
    return found


def far_nbytes(tape: Tape, read: Read) -> int:
    """How much of large memory from outside is read; 0 where that is little."""
    if read.memory.kind != "buffer" or not tape.buffers[read.memory.id].visible:
        return 0
    nbytes = math.prod(n for n, stride in zip(read.view.shape, read.view.strides) if stride) * read.dtype.itemsize
    return nbytes if nbytes >= FAR else 0


def is_far(op: Operation, again: Container[int]) -> TypeGuard[Load]:
    """Whether an operation loads much of memory that is fetched again."""
    return isinstance(op, Load) and op.region.buffer in again and op.out.nbytes >= FAR
