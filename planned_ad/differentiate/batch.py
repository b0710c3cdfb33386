"""Several shadows in one sweep: everything that depends on shadows, cotangents or tangents is computed `width` times.

>>> import numpy as np
>>> from planned_ad.differentiate.forward import forward
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = simplify(forward(trace(lambda t: np.sin(t), (2.0,)).tape))
>>> print(brief(tape))
v0 = t[...]
v2 = dt#1[...]
v1 = sin(v0)
v3 = cos(v0)
v4 = multiply(v2, v3)
result#2[...] = v1
result#3[...] = v4
>>> print(brief(batched(tape, 2)))
v0 = t[...]
v2 = dt[0]#1[...]
v5 = dt[1]#4[...]
v1 = sin(v0)
v3 = cos(v0)
v4 = multiply(v2, v3)
v6 = multiply(v5, v3)
result#2[...] = v1
result[0]#3[...] = v4
result[1]#5[...] = v6

Requires a tape that was differentiated and simplified; ensures what `width` runs of it give, on one primal.

The primal, what is kept of it, and every factor that depends on it alone stay single. The copies of an operation stand
side by side, in the loops and branches that they have in common, so that they fuse and share what they read of the
primal. A reverse sweep too large for that runs in a loop over the batch instead: its code is that of one, and each
iteration has registers and caches to itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..passes.inline import end_of_indices
from ..passes.invariants import hoist_invariants
from ..regions.affine import Extent, loop_index
from ..regions.regions import Region, View
from ..tape.builder import TapeBuilder, rebuilt
from ..tape.renaming import Copier
from ..tape.tape import Buffer, Loop, Operation, Store, Tape, walk

SEEDS = frozenset({"shadow", "cotangent", "tangent"})
MOST_OPERATIONS = 400  # of a sweep whose copies stand side by side; their code grows with it
MOST_NBYTES = 2**18  # that the copies write in each iteration of a loop: they stay in a cache close to the processor


def batched(tape: Tape, width: int, kinds: frozenset[str] = SEEDS, outputs: frozenset[int] = frozenset()) -> Tape:
    """`tape` for `width` of each of its shadows, cotangents and tangents at once; for 1 the tape itself.

    Requires a tape that was differentiated and simplified, whose results are stored to memory. Ensures what `width`
    runs of it give, on one primal. In the arguments, each buffer of these `kinds`, and each that receives what depends
    on them, is followed at once by its copies: `x, dx[0], dx[1], cotangent[0], cotangent[1]`.

    kinds : of the arguments to have several of. Those that a tape has two generations of (tangents of a gradient) may
        be told apart: with `{'tangent'}` the shadows stay single.
    outputs : buffers among the arguments to have several of even if nothing in them depends on those.
    """
    if width == 1:
        return tape
    roots = {id for id in tape.arguments if id in outputs or tape.buffers[id].kind in kinds}
    dependents = dependents_of(tape, roots)
    assert not any(v.id in dependents.values for v in tape.results), "results are stored to memory"
    assert not any(tape.buffers[id].kind == "argument" for id in dependents.buffers), "the primal has no shadows"
    builder = rebuilt(tape)
    copies = {id: [id] for id in tape.arguments}
    for id in sorted(dependents.buffers & set(tape.arguments)):
        copies[id] = add_copies(builder.buffers, id, copies, width)
    first = start_of_sweep(tape, dependents)
    if first is not None and not fits_side_by_side(tape.operations[first:], dependents, width):
        swept = loop_over_batch(tape, builder, copies, first)
    else:
        swept = side_by_side(tape, builder, copies, dependents, width)
    arguments = tuple(copy for id in tape.arguments for copy in copies[id])
    return replace(swept, buffers=tuple(builder.buffers), arguments=arguments)


@dataclass
class Dependents:
    """Ids of the values and buffers that there are several of, and the operations that are copied as a whole."""

    buffers: set[int]
    values: set[int] = field(default_factory=set)

    def has(self, op: Operation) -> bool:
        """Whether `op` itself is copied: a loop or branch where it runs at all depends on a copy."""
        if op.blocks:
            return any(v.id in self.values for v in op.steering)
        regions = (*op.reads, *op.writes)
        return any(v.id in self.values for v in op.inputs) or any(r.buffer in self.buffers for r in regions)

    def extend(self, operations: Sequence[Operation], inside: bool = False) -> None:
        """Add what `operations` make of what is known; all that they make where they are `inside` of a copy."""
        for op in operations:
            is_copied = inside or self.has(op)
            if is_copied and not op.blocks:
                self.values.update(v.id for v in op.outputs)
                self.buffers.update(r.buffer for r in op.writes)
            for block in op.blocks:
                self.extend(block, is_copied)


def dependents_of(tape: Tape, roots: Iterable[int]) -> Dependents:
    """What depends on the buffers `roots`, regardless of order for buffers."""
    found = Dependents(set(roots))
    known = -1
    while known != len(found.buffers):
        known = len(found.buffers)
        found.extend(tape.operations)
    return found


def add_copies(buffers: list[Buffer], id: int, copies: dict[int, list[int]], width: int) -> list[int]:
    """Append the copies of a buffer, and number all of them in their labels; their ids, its own first."""
    buffer, found = buffers[id], []
    for number in range(width):
        shadow_of = buffer.shadow_of
        if shadow_of in copies:  # the shadow of a shadow belongs to the copy of that
            shadow_of = copies[shadow_of][number % len(copies[shadow_of])]
        found.append(id if number == 0 else len(buffers))
        copy = replace(buffer, id=found[-1], label=f"{buffer.label}[{number}]", shadow_of=shadow_of)
        buffers[found[-1] :] = [copy, *buffers[found[-1] + 1 :]]
    return found


# Side by side.


def side_by_side(
    tape: Tape, builder: TapeBuilder, copies: dict[int, list[int]], dependents: Dependents, width: int
) -> Tape:
    """`tape` with the copies of each operation after it."""
    for id in sorted(dependents.buffers - copies.keys()):
        copies[id] = add_copies(builder.buffers, id, copies, width)
    indices = itertools.count(end_of_indices(tape.operations))
    copiers = [
        Copier(
            builder.new_value,
            lambda: next(indices),
            buffers={id: found[number] for id, found in copies.items() if len(found) > 1},
        )
        for number in range(1, width)
    ]
    before = copied_block(tape.operations[: tape.turn], dependents, copiers)
    after = copied_block(tape.operations[tape.turn :], dependents, copiers)
    return replace(tape, operations=before + after, turn=len(before))


def copied_block(
    block: Sequence[Operation], dependents: Dependents, copiers: Sequence[Copier]
) -> tuple[Operation, ...]:
    """`block` with its copies: of stretches that are copied as a whole one after the other, to keep registers few."""
    found: list[Operation] = []
    for is_copied, stretch in itertools.groupby(block, dependents.has):
        operations = list(stretch)
        if is_copied:
            found += operations
            found += [op for copier in copiers for op in copied(operations, copier)]
            continue
        for op in operations:
            blocks = (copied_block(inner, dependents, copiers) for inner in op.blocks)
            found.append(op.with_blocks(*blocks))
    return tuple(found)


def copied(operations: Sequence[Operation], copier: Copier) -> list[Operation]:
    """One copy."""
    found = []
    for op in operations:
        found.append(copier.copy(op))
        copier.indices.clear()  # another loop may have the same index
    return found


# In a loop over the batch.


def start_of_sweep(tape: Tape, dependents: Dependents) -> int | None:
    """The first position from which on all may run several times; None where that would change the primal's memory."""
    first = next((k for k, op in enumerate(tape.operations) if touches(op, dependents)), None)
    if first is None or first < tape.turn:
        return None
    before, after = tape.operations[:first], tape.operations[first:]
    known = {r.buffer for op in before for r in (*op.reads, *op.writes)} | set(tape.arguments)
    written = {r.buffer for op in after for r in op.writes}
    # Local memory that only the sweep knows is filled by the sweep.
    return None if written & known - dependents.buffers else first


def touches(op: Operation, dependents: Dependents) -> bool:
    return any(dependents.has(inner) for inner in walk((op,)))


def fits_side_by_side(operations: Sequence[Operation], dependents: Dependents, width: int) -> bool:
    """Whether `width` copies of a sweep share more than they take of registers, caches and code."""
    own = [op for op in walk(tuple(operations)) if not op.blocks and dependents.has(op)]
    if len(own) * width > MOST_OPERATIONS:
        return False
    loops = (op for op in operations if isinstance(op, Loop))
    return all(written_again(loop, dependents) * width <= MOST_NBYTES for loop in loops)


def written_again(loop: Loop, dependents: Dependents) -> int:
    """Bytes that an iteration of `loop`, or of one inside, writes to memory that there are several of."""
    stores = (op for op in loop.body if isinstance(op, Store) and dependents.has(op))
    inner = (written_again(op, dependents) for op in walk(loop.body) if isinstance(op, Loop))
    return sum(op.region.view.size * op.value.dtype.itemsize for op in stores) + max(inner, default=0)


def loop_over_batch(tape: Tape, builder: TapeBuilder, copies: dict[int, list[int]], first: int) -> Tape:
    """`tape` with all from position `first` on in a loop, on memory that has the arguments there are several of."""
    index = end_of_indices(tape.operations)
    builder.line = tape.operations[first].line
    places: dict[int, tuple[int, Extent]] = {}
    written = {r.buffer for op in tape.operations[first:] for r in op.writes}
    for id, found in copies.items():
        if len(found) == 1:
            continue
        buffer = tape.buffers[id]
        view = View(0, (len(found), *buffer.shape), (buffer.span, *buffer.view.strides))
        memory = builder.new_buffer("local", buffer.label, buffer.dtype, view)
        places[id] = memory.id, loop_index(index) * buffer.span
        if buffer.kind != "result":
            for number, copy in enumerate(found):
                here = Region(memory.id, shifted(buffer.view, number * buffer.span))
                builder.store(here, builder.load(builder.buffers[copy].whole))
    body = tuple(moved(op, places) for op in tape.operations[first:])
    width = max(map(len, copies.values()))
    builder.emit(Loop(index=index, start=0, step=1, trips=width, body=body, line=builder.line))
    for id in sorted(places.keys() & written):
        for number, copy in enumerate(copies[id]):
            here = Region(places[id][0], shifted(tape.buffers[id].view, number * tape.buffers[id].span))
            builder.store(builder.buffers[copy].whole, builder.load(here))
    operations = (*tape.operations[:first], *builder.operations)
    return hoist_invariants(replace(tape, buffers=tuple(builder.buffers), operations=operations), loads=True)


def shifted(view: View, distance: Extent) -> View:
    return View(view.offset + distance, view.shape, view.strides)


def moved(op: Operation, places: dict[int, tuple[int, Extent]]) -> Operation:
    """`op` on other buffers, there at a distance."""
    if op.blocks:
        return op.with_blocks(*(tuple(moved(inner, places) for inner in block) for block in op.blocks))
    region = getattr(op, "region", None)
    if region is None or region.buffer not in places:
        return op
    id, distance = places[region.buffer]
    return replace(op, region=Region(id, shifted(region.view, distance)))  # type: ignore[call-arg]
