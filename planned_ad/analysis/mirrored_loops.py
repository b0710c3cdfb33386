"""Loops and branches of a reverse sweep beside those of the primal that they mirror.

Requires of an adjoint that each loop or branch in a block of the primal that may run has one in the mirrored block,
in reverse order, even where there is nothing to do in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..tape.tape import Operation, walk
from .enclosing import never_runs

Block = tuple[Operation, ...]


def mirrored_blocks(op: Operation, adjoint: Operation) -> tuple[Block, ...]:
    """The blocks of `adjoint` that are adjoints of the blocks of `op`, in their order."""
    return adjoint.blocks


def with_mirrored_blocks(op: Operation, adjoint: Operation, blocks: tuple[Block, ...]) -> Operation:
    """`adjoint` around other blocks."""
    return adjoint.with_blocks(*blocks)


def children(block: Block, mirrored: Block) -> Iterator[tuple[int, Operation, Operation]]:
    """The loops and branches of `block`, last first: the position, the operation, and its adjoint in `mirrored`."""
    own = [(position, op) for position, op in enumerate(block) if op.blocks and not never_runs(op)]
    yield from ((k, op, adjoint) for (k, op), adjoint in zip(own[::-1], (o for o in mirrored if o.blocks), strict=True))


def is_idle(op: Operation) -> bool:
    """Whether nothing is written in the blocks of `op`."""
    return not any(inner.writes for inner in walk(tuple(o for block in op.blocks for o in block)) if not inner.blocks)


def without_dead(op: Operation) -> Operation:
    """`op` with no operation left that nothing depends on, but for loops and branches, which may be empty."""
    return op.with_blocks(*map(live, op.blocks))


def live(block: Block) -> Block:
    kept: list[Operation] = []
    wanted: set[int] = set()
    for op in reversed(block):
        op = without_dead(op)
        if op.blocks:
            used = op.inputs if any(op.blocks) else ()
        elif op.writes or any(v.id in wanted for v in op.outputs):
            used = op.inputs
        else:
            continue
        wanted.update(v.id for v in used)
        kept.append(op)
    return tuple(reversed(kept))
