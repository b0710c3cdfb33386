"""What of a loop has to be run again to make its caches a second time, and on which memory.

Memory that still holds, when the reverse sweep begins, what the loop has read from it is read there again. All other
memory that the values of the caches come from is the loop's *state*: the iterations are run again on a private copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ...analysis.dependence import Access, Overwrites, places
from ...regions.regions import covers
from ...tape.tape import Buffer, Load, Loop, Operation, Store, walk

Block = tuple[Operation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recomputation:
    """What `body` has to be run on again.

    Attributes
    ----------
    values, buffers : what of the body is wanted: the results of operations, and the memory that it writes to.
    written : of these, memory that the body writes to.
    state : of `written`, what an iteration finds there is of importance to it.
    read : memory that the body only reads, but that something overwrites later.
    stays : addresses of the loads of the body whose memory stays as it is.
    """

    values: frozenset[int]
    buffers: frozenset[int]
    written: tuple[int, ...]
    state: tuple[int, ...]
    read: tuple[int, ...]
    stays: frozenset[int]

    def keeps(self, op: Operation) -> bool:
        """Whether `op` of the body takes part."""
        if op.blocks:
            return any(self.keeps(inner) for block in op.blocks for inner in block)
        return any(v.id in self.values for v in op.outputs) or any(r.buffer in self.buffers for r in op.writes)

    def is_possible(self, buffers: Sequence[Buffer]) -> bool:
        """Whether no decision would be made a second time."""
        return not any(buffers[id].kind == "cache" for id in self.written)

    def nbytes(self, buffers: Sequence[Buffer]) -> int:
        """Of one copy of the state."""
        return sum(buffers[id].view.size * buffers[id].dtype.itemsize for id in self.state)


@dataclass
class Needs:
    """Values and memory that are needed, found backwards from the caches."""

    stays: frozenset[int]  # addresses of the loads whose memory stays as it is
    values: set[int] = field(default_factory=set)
    buffers: set[int] = field(default_factory=set)

    def visit(self, block: Block) -> bool:
        """Add what is needed for what is needed so far; whether anything in the block is."""
        found = False
        for op in reversed(block):
            if op.blocks:
                if not any([self.visit(inner) for inner in op.blocks]):
                    continue
                self.values.update(v.id for v in op.steering)
            elif any(v.id in self.values for v in op.outputs) or any(r.buffer in self.buffers for r in op.writes):
                self.values.update(v.id for v in op.inputs)
                if not (isinstance(op, Load) and id(op) in self.stays):
                    self.buffers.update(r.buffer for r in op.reads)
            else:
                continue
            found = True
        return found


def recomputation_of(
    buffers: Sequence[Buffer], program: Sequence[Operation], loop: Loop, wanted: Iterable[int], prelude: Block
) -> Recomputation:
    """What makes the contents of the buffers `wanted` that `loop` stores to, and the `prelude` for its first iteration.

    `program` is all that runs until the reverse loop begins, `loop` and `prelude` within it.
    """
    overwrites, inside = Overwrites(buffers, program), {id(op) for op in (*prelude, *walk((loop,)))}
    stays = frozenset(
        id(op)
        for place, op in places(program)
        if isinstance(op, Load) and id(op) in inside and overwrites.after(Access(op.region, place, op)) is None
    )
    begins = {r.buffer for op in prelude if isinstance(op, Load) and id(op) not in stays for r in op.reads}
    return closed(buffers, loop.body, wanted, stays, begins)


def closed(
    buffers: Sequence[Buffer],
    body: Block,
    wanted: Iterable[int],
    stays: frozenset[int] = frozenset(),
    begins: Iterable[int] = (),
) -> Recomputation:
    """All that the contents of the buffers `wanted` come from; the loads `stays` read memory that stays as it is.

    `begins`: memory in which something is found before the first iteration.
    """
    roots, first = set(wanted), set(begins)
    needs = Needs(stays, buffers=roots | first)
    before = None
    while before != (before := (len(needs.values), len(needs.buffers))):
        needs.visit(body)
    written = {r.buffer for op in walk(body) if not op.blocks for r in op.writes}
    copied = needs.buffers - roots
    found = Recomputation(
        values=frozenset(needs.values),
        buffers=frozenset(needs.buffers),
        written=tuple(sorted(copied & written)),
        state=(),
        read=tuple(sorted(copied - written)),
        stays=stays,
    )
    kept = [op for op in body if found.keeps(op)]
    state = (id for id in found.written if id in first or not begins_afresh(kept, buffers[id]))
    return replace(found, state=tuple(state))


def begins_afresh(body: Sequence[Operation], buffer: Buffer) -> bool:
    """Whether each iteration overwrites all of `buffer` before it does anything else with it."""
    for op in body:
        if any(r.buffer == buffer.id for r in (*op.reads, *op.writes)):
            whole = isinstance(op, Store) and not op.accumulate and covers(op.region.view, buffer.span)
            return whole and buffer.low == 0
    return False
