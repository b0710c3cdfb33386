"""Tests of an adjoint that only the primal's numbers decide are made by the primal: a truth is less to keep than those.

The adjoint of `maximum(a, b)` asks where `a > b`. As a value of the primal that is one byte to keep, where `a` and `b`
are sixteen; which of them is kept, `kept_values` decides.
"""

from __future__ import annotations

from collections.abc import Set

from ...analysis.mirrored_loops import children
from ...rules.table import RULES
from ...tape.tape import Apply, Operation

Block = tuple[Operation, ...]


def with_early_tests(
    primal: Operation, adjoint: Operation, known: Set[int] = frozenset()
) -> tuple[Operation, Operation]:
    """Both, with such tests at the ends of the primal's blocks; requires `adjoint` to mirror `primal`.

    `known`: values of the blocks around the primal, besides those that it reads.
    """
    known = known | {v.id for v in primal.inputs}
    pairs = zip(primal.blocks, adjoint.blocks, strict=True)
    blocks = [early(block, mirrored, known) for block, mirrored in pairs]
    if all(new is old for (new, _), old in zip(blocks, primal.blocks)):
        return primal, adjoint
    return primal.with_blocks(*(own for own, _ in blocks)), adjoint.with_blocks(*(own for _, own in blocks))


def early(block: Block, mirrored: Block, known: Set[int]) -> tuple[Block, Block]:
    """A block of the primal with tests of the one that mirrors it, and that without them."""
    made = {v.id for op in block for v in op.outputs}
    inner = {k: (id(o), *with_early_tests(op, o, known | made)) for k, op, o in children(block, mirrored)}
    changed = {old: new for old, _, new in inner.values()}
    tests: list[Operation] = []
    left: list[Operation] = []
    for op in mirrored:
        inputs = {v.id for v in op.inputs}
        if is_test(op) and inputs <= known | made and inputs & made:
            tests.append(op)
            made.update(v.id for v in op.outputs)
        else:
            left.append(changed.get(id(op), op))
    own = [inner[k][1] if k in inner else op for k, op in enumerate(block)]
    if not tests and all(new is old for new, old in zip(own, block)):
        return block, mirrored
    return (*own, *tests), tuple(left)


def is_test(op: Operation) -> bool:
    return isinstance(op, Apply) and op.out.dtype.kind == "b" and RULES[op.primitive].kind == "elementwise"
