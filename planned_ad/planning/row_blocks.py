"""Work on large arrays that share an axis goes in blocks of rows along it: what is only used there is never whole.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def normalised(x):
...     e = np.exp(x)
...     return e / e.sum(axis=1, keepdims=True)
>>> tape = simplify(primal(trace(normalised, (np.zeros((4096, 64)),)).tape))
>>> print(brief(tape))
v0: float64[4096, 64] = x[...]
v1: float64[4096, 64] = exp(v0)
v2: float64[4096] = reduce_sum(v1, axes=(1,))
v4: float64[4096, 64] = view(v2, view={+0 [4096, 64] by [1, 0]})
v5: float64[4096, 64] = divide(v1, v4)
result#1[...] = v5
>>> blocked, (note,) = in_row_blocks(tape)
>>> print(note)
16 of 4096 rows at a time; 2121600 bytes are never whole
>>> print(brief(blocked))
for i0 in range(0, 256, 1):
    v6: float64[16, 64] = x[16*i0:16*i0 + 16, :]
    v7: float64[16, 64] = exp(v6)
    v8: float64[16] = reduce_sum(v7, axes=(1,))
    v9: float64[16, 64] = view(v8, view={+0 [16, 64] by [1, 0]})
    v10: float64[16, 64] = divide(v7, v9)
    result#1[16*i0:16*i0 + 16, :] = v10

Requires a simplified tape; ensures the same numbers, but that sums along the axis are made of those of the blocks.

`e` takes 2 MB in the first tape, and in the second the 16 KB of one block. `analysis.rowwise` says what can run row by
row. (Polyhedral compilers do the same: fusion, the outer loop tiled, arrays contracted to a tile.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from ..analysis.rowwise import (
    OutOfOrder,
    Place,
    decides,
)
from ..analysis.shared_axes import AxisOf, SharedAxes, is_many
from ..passes.dead_code import drop_dead
from ..passes.inline import end_of_indices
from ..passes.sums_in_loops import adding
from ..regions.regions import is_fixed
from ..tape.builder import rebuilt
from ..tape.tape import Apply, Load, Loop, Operation, Tape, free_values, renamed, walk
from .anchors import decide_anchors
from .fetches import is_far
from .parted_rows import RowBlocks
from .schedule import BlockedRows
from .stored_products import stored_products

WORTH = 1 << 18  # bytes that are not kept whole: below, they stay in a cache anyway
CLASSES = 4  # of axes that are tried, those with most bytes first
PHASES = 3  # of rows between totals, of which one may be worth it where the first is not
MOST_OPERATIONS = 1000  # of a block: longer ones are mostly scalar code, and trying costs time
AGAIN = 6  # times that a tape is parted

Path = tuple[tuple[int, int], ...]


def in_row_blocks(tape: Tape, again: frozenset[int] = frozenset()) -> tuple[Tape, tuple[BlockedRows, ...]]:
    """The tape with loops over blocks of rows, and what these are; the same tape if nothing is large.

    `again`: large memory from outside that is gone through several times, and could be once.
    Requires a simplified tape; ensures the same numbers (sums reassociated).
    """
    notes: list[BlockedRows] = []
    kept = kept_values(tape)
    for _ in range(AGAIN):
        large = [path for path, block in blocks_of(tape.operations) if is_large(block, again)]
        forms = ((form, path) for path in large for form in (*with_loads_inside(tape, path), tape))
        ways = (with_rows_in_a_loop(f, kept if f is tape else kept_values(f), path, again) for f, path in forms)
        found = next(filter(None, ways), None)
        if found is None:
            break
        tape, kept, note = found
        notes.append(note)
    return tape, tuple(notes)


def blocks_of(operations: Sequence[Operation], around: Path = ()) -> Iterator[tuple[Path, Sequence[Operation]]]:
    """All blocks of a tape, and how they are reached: positions of operations, and numbers of their blocks."""
    yield around, operations
    for position, op in enumerate(operations):
        for number, block in enumerate(op.blocks):
            yield from blocks_of(block, (*around, (position, number)))


def is_large(block: Sequence[Operation], again: frozenset[int]) -> bool:
    """Whether there is much to keep: of what loops compute, the derivative may keep the values of all iterations."""
    if sum(1 for _ in walk(tuple(block))) > MOST_OPERATIONS:
        return False
    return made_nbytes(block) >= WORTH or any(is_far(op, again) for op in block)


def made_nbytes(block: Sequence[Operation]) -> int:
    """Bytes of arrays that a block computes."""
    made = sum(op.out.nbytes for op in block if isinstance(op, Apply) and op.out.shape)
    for op in block:
        times = int(op.trips) if isinstance(op, Loop) else 1
        made += times * sum(map(made_nbytes, op.blocks))
    return made


def block_at(operations: tuple[Operation, ...], path: Path) -> tuple[Operation, ...]:
    for position, number in path:
        operations = operations[position].blocks[number]
    return operations


def with_block_at(operations: tuple[Operation, ...], path: Path, block: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Operations with another block in place of one."""
    if not path:
        return block
    (position, number), *rest = path
    op = operations[position]
    blocks = list(op.blocks)
    blocks[number] = with_block_at(blocks[number], tuple(rest), block)
    return (*operations[:position], op.with_blocks(*blocks), *operations[position + 1 :])


def with_rows_in_a_loop(
    tape: Tape, kept: frozenset[int], path: Path, again: frozenset[int]
) -> tuple[Tape, frozenset[int], BlockedRows] | None:
    """The tape with the rows of one class of axes of a block in a loop, and what it keeps; None where none is worth it.

    `kept`: the values that have memory of their own before.
    """
    inner = tape
    if path:
        operations = block_at(tape.operations, path)
        inner = replace(tape, operations=operations, turn=len(operations), results=())
    if whole_nbytes(inner, kept) < WORTH and not any(is_far(op, again) for op in inner.operations):
        return None
    before = whole_nbytes(tape, kept)
    inner = replace(inner, operations=tuple(adding(op) if isinstance(op, Loop) else op for op in inner.operations))
    written = frozenset(region.buffer for op in inner.operations for region in op.writes)
    local = frozenset(id for id in written if not tape.buffers[id].visible)
    found: list[RowBlocks] = []
    tried: set[tuple[frozenset[AxisOf], int]] = set()
    usual = (written, local, frozenset[int]())
    for through in dict.fromkeys((*(again | known for known in usual), *usual)):
        found += ways_to_part(inner, SharedAxes(walk(inner.operations), through), kept, bool(path), tried, again)
    for blocks in sorted(found, key=lambda blocks: -blocks.saved):
        if blocks.saved >= WORTH:
            try:
                parted = blocks.written(rebuilt(tape), end_of_indices(tape.operations))
            except OutOfOrder:
                continue
            operations = with_block_at(tape.operations, path, parted.operations)
            turn = tape.turn if path else parted.turn
            changed = drop_dead(replace(tape, buffers=parted.buffers, operations=operations, turn=turn))
            keeps = kept_values(changed)
            less, once = before - whole_nbytes(changed, keeps), blocks.fetched()[0]
            if less + once >= WORTH:
                rows, together, line = blocks.extent, blocks.count(), blocks.at(Place.ROWS)[0].line
                return changed, keeps, BlockedRows(rows=rows, together=together, nbytes=less, once=once, line=line)
    return None


def with_loads_inside(tape: Tape, path: Path) -> tuple[Tape, ...]:
    """The tape with what a block reads of values that are loaded around it, from memory that nothing writes to, loaded
    in it: parts of these that are no regular parts of that memory would be kept whole. None where there are none."""
    written = {region.buffer for op in walk(tape.operations) for region in op.writes}
    loads = {op.out.id: op for op in walk(tape.operations) if isinstance(op, Load) and op.region.buffer not in written}
    block, builder = block_at(tape.operations, path), rebuilt(tape)
    found = [loads[v.id] for v in free_values((block,), ()) if v.id in loads and is_fixed(loads[v.id].region.view)]
    new = {op.out.id: builder.new_value(op.out.shape, op.out.dtype) for op in found if op.out.shape}
    inside = [replace(op, out=new[op.out.id]) for op in found if op.out.shape]
    block = (*inside, *(renamed(op, new) for op in block))
    return (replace(tape, operations=with_block_at(tape.operations, path, block)),) if inside else ()


def kept_values(tape: Tape) -> frozenset[int]:
    """The values that have memory of their own."""
    found = set(decide_anchors(tape).reasons)
    for _, block in blocks_of(tape.operations):
        operations = tuple(block)
        turn = tape.turn if operations == tape.operations else len(operations)
        inside = replace(tape, operations=operations, turn=turn, results=())
        found -= {v.id for k in stored_products(inside).values() for v in operations[k].outputs}
    return frozenset(found)


def whole_nbytes(tape: Tape, kept: Container[int]) -> int:
    """Of all values and memory of a tape that have a place of their own."""
    values = sum(v.nbytes for op in walk(tape.operations) for v in op.outputs if v.id in kept)
    used = {region.buffer for op in walk(tape.operations) for region in (*op.reads, *op.writes)}
    return values + sum(tape.buffers[id].nbytes for id in used if not tape.buffers[id].visible)


def ways_to_part(
    tape: Tape,
    shared: SharedAxes,
    kept: frozenset[int],
    is_inner: bool,
    tried: set[tuple[frozenset[AxisOf], int]],
    again: frozenset[int],
) -> Iterator[RowBlocks]:
    """The tape parted along the axes that have most bytes, but those that have been `tried` before."""
    weights: Counter[tuple[AxisOf, int]] = Counter()
    for op in walk(tape.operations):
        if (isinstance(op, Apply) and op.out.id in kept) or is_far(op, again):
            for k, n in enumerate(op.out.shape):
                if is_many(n):
                    weights[shared.root(op.out, k), n] += op.out.nbytes
    for buffer in tape.buffers:
        for n, stride in zip(buffer.view.shape, buffer.view.strides) if not buffer.visible else ():
            if is_many(n):
                weights[shared.root_of_memory(buffer.id, stride), n] += buffer.nbytes
    enclosed = ((k, op) for k, whole in enumerate(tape.operations) for op in walk((whole,)))
    made = {v.id: (k, op) for k, op in enclosed for v in op.outputs}
    needed = needed_before(tape.operations)
    for (root, extent), nbytes in weights.most_common(CLASSES):
        key = shared.axes_in(root), extent
        if key in tried:
            continue
        tried.add(key)
        before = needed
        for _ in range(PHASES if nbytes >= WORTH else 0):
            blocks = RowBlocks(tape, shared, root, extent, kept, made, before, is_inner, again)
            yield blocks
            found = blocks.rowwise.axes.keys() | blocks.rowwise.totals.keys()
            if found <= before:
                break
            before |= found


def needed_before(operations: Sequence[Operation]) -> frozenset[int]:
    """Values that decide something: guards look at them, or loops, before anything is written."""
    needed: set[int] = set()
    for op in reversed(operations):
        if decides(op) or op.steering or any(v.id in needed for v in op.outputs):
            needed.update(v.id for v in op.inputs)
    return frozenset(needed)
