"""Copies of one array that are shifted, with its ends where they are joined, are windows of one copy with margins.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = simplify(primal(trace(lambda u: np.roll(u, 1) + np.roll(u, -1), (np.zeros(9999),)).tape))
>>> print(brief(tape))
v9: float64[9998] = u[0:9998]
tape#1[1:9999] = v9
v10: float64[1] = u[9998:9999]
tape#1[0:1] = v10
v4: float64[9999] = tape#1[...]
v11: float64[1] = u[0:1]
tape#2[9998:9999] = v11
v12: float64[9998] = u[1:9999]
tape#2[0:9998] = v12
v7: float64[9999] = tape#2[...]
v8: float64[9999] = add(v4, v7)
result#3[...] = v8
>>> print(brief(simplify(in_margins(tape))))
v10: float64[1] = u[9998:9999]
margins#4[0:1] = v10
v14: float64[9999] = u[...]
margins#4[1:10000] = v14
v15: float64[1] = u[0:1]
margins#4[10000:10001] = v15
v4: float64[9999] = margins#4[0:9999]
v7: float64[9999] = margins#4[2:10001]
v8: float64[9999] = add(v4, v7)
result#3[...] = v8

Periodic neighbours by `numpy.roll`, `numpy.concatenate` or index arrays are such. Requires a verified tape; ensures the
same numbers: where two of the copies have the same place in the one with margins, they have the same number of the same
array there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..regions.regions import Region, View, contiguous, is_fixed
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.tape import Apply, Load, Operation, Store, Tape, Value, all_blocks, walk
from .boxes import Box, cut_boxes, merged_boxes, place_of, shown
from .joined_parts import JoinedPart, joined_memories

LEAST = 1 << 10  # elements: what is stored is not found at another place right after, before it has reached a cache
MOST = 2  # times as many elements with margins
MOST_PIECES = 16

Distance = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CopiedArray:
    """An array that parts are copied from: memory after so many writes of a block to it, or a value."""

    memory: int | None
    version: int
    value: Value | None
    view: View  # of the whole array

    def part(self, builder: TapeBuilder, box: Box) -> Value:
        view = shown(self.view, box, tuple(range(len(box.starts))), 0)
        if self.memory is not None:
            return builder.load(Region(self.memory, view))
        assert self.value is not None
        return builder.view(self.value, view)


@dataclass(frozen=True, slots=True)
class CopiedPiece:
    """Where a part of a copy lies in it, and how far on it lies in the array that it is copied from."""

    box: Box
    source: CopiedArray
    shift: Distance


@dataclass(frozen=True, slots=True)
class ShiftedCopy:
    """A memory that pieces of an array fill: what its loads give, and the position of its last store."""

    loads: tuple[Value, ...]
    pieces: tuple[CopiedPiece, ...]
    last: int

    @property
    def main(self) -> CopiedPiece:
        return max(self.pieces, key=lambda piece: contiguous(piece.box.shape).size)


@dataclass(frozen=True, slots=True)
class WithMargins:
    """One copy with margins: what is copied where, and which window of it each load shows. `low`: its first index."""

    pieces: tuple[CopiedPiece, ...]
    windows: Mapping[int, Box]
    low: Distance
    shape: tuple[int, ...]
    dtype: object

    def write(self, builder: TapeBuilder) -> dict[int, Region]:
        buffer = builder.new_buffer("local", "margins", self.dtype, contiguous(self.shape))  # type: ignore[arg-type]
        axes = tuple(range(len(self.shape)))

        def region(box: Box) -> Region:
            return Region(buffer.id, shown(buffer.view, box_moved(box, tuple(-n for n in self.low)), axes, 0))

        for piece in self.pieces:
            builder.store(region(piece.box), piece.source.part(builder, box_moved(piece.box, piece.shift)))
        return {id: region(box) for id, box in self.windows.items()}


def in_margins(tape: Tape) -> Tape:
    """Requires a verified tape; ensures the same numbers."""
    accesses = Counter(r.buffer for op in walk(tape.operations) if not op.blocks for r in (*op.reads, *op.writes))
    behind: dict[int, WithMargins] = {}  # by the operation that it follows
    for block in all_blocks(tape.operations):
        for group in groups_of_copies(tape, block, accesses):
            found = joint_copy(tape, group)
            if found is not None:
                behind[id(block[min(copy.last for copy in group)])] = found
    if not behind:
        return tape
    builder, regions = rebuilt(tape), dict[int, Region]()

    def write(op: Operation) -> None:
        builder.line = op.line
        if op.blocks:
            builder.emit(builder.with_written_blocks(op, write))
        elif isinstance(op, Load) and op.out.id in regions:
            builder.emit(replace(op, region=regions[op.out.id]))
        else:
            builder.emit(op)
        if id(op) in behind:
            regions.update(behind[id(op)].write(builder))

    return written_anew(tape, builder, write)


def box_moved(box: Box, by: Distance) -> Box:
    return Box(*(tuple(a + n for a, n in zip(ends, by)) for ends in (box.starts, box.stops)))


def groups_of_copies(
    tape: Tape, block: Sequence[Operation], accesses: Mapping[int, int]
) -> Iterator[list[ShiftedCopy]]:
    """Copies of one shape and mostly of one array, of which all is there when the first of them is filled."""
    memories = dict(joined_memories(tape, block, accesses))
    if len(memories) < 2:
        return
    last: dict[int, int] = {}
    for k, op in enumerate(block):
        if isinstance(op, Store) and op.region.buffer in memories:
            last[op.region.buffer] = k
    writes = write_positions(block)
    made = {op.out.id: (k, op) for k, op in enumerate(block) if isinstance(op, Load | Apply)}
    groups: defaultdict[tuple[CopiedArray, tuple[int, ...]], list[ShiftedCopy]] = defaultdict(list)
    for id_, (loads, parts) in memories.items():
        pieces = copied_pieces(tape, made, parts, writes)
        if pieces is not None:
            copy = ShiftedCopy(tuple(loads), pieces, last[id_])
            groups[copy.main.source, tape.buffers[id_].shape].append(copy)
    for copies in groups.values():
        first = min(copy.last for copy in copies)
        sources = {piece.source for copy in copies for piece in copy.pieces}
        if len(copies) > 1 and all(is_unchanged(source, made, writes, first) for source in sources):
            yield copies


def write_positions(block: Sequence[Operation]) -> dict[int, list[int]]:
    """Of each memory the positions at which it is written to."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for k, op in enumerate(block):
        for buffer in {region.buffer for region in op.writes}:
            found[buffer].append(k)
    return found


def is_unchanged(
    source: CopiedArray, made: Mapping[int, tuple[int, Operation]], writes: Mapping[int, Sequence[int]], position: int
) -> bool:
    """Whether an array is at a position what is copied of it."""
    if source.value is not None:
        return source.value.id not in made or made[source.value.id][0] <= position
    assert source.memory is not None
    return sum(k <= position for k in writes.get(source.memory, ())) == source.version


def copied_pieces(
    tape: Tape,
    made: Mapping[int, tuple[int, Operation]],
    parts: Sequence[JoinedPart],
    writes: Mapping[int, Sequence[int]],
) -> tuple[CopiedPiece, ...] | None:
    """The parts of a copy as pieces of arrays; None where one is no such piece, or overwrites another."""
    found: list[CopiedPiece] = []
    for part in parts:
        if part.axes != tuple(range(len(part.box.starts))) or part.value.id not in made:
            return None
        k, op = made[part.value.id]
        if isinstance(op, Load) and is_fixed(op.region.view):
            buffer = tape.buffers[op.region.buffer]
            version = sum(j < k for j in writes.get(buffer.id, ()))
            source, view = CopiedArray(buffer.id, version, None, buffer.view), op.region.view
        elif isinstance(op, Apply) and op.primitive == "view":
            (base,) = op.operands
            source, view = CopiedArray(None, 0, base, contiguous(base.shape)), op.params["view"]
        else:
            return None
        place = place_of(source.view, view)
        if place is None or place.axes != part.axes or any(part.box.meets(piece.box) for piece in found):
            return None
        found.append(CopiedPiece(part.box, source, tuple(a - b for a, b in zip(place.box.starts, part.box.starts))))
    return tuple(found)


def joint_copy(tape: Tape, copies: Sequence[ShiftedCopy]) -> WithMargins | None:
    """The copy that all are windows of; None where there is none, or it would be too large."""
    at: defaultdict[Box, set[tuple[CopiedArray, Distance]]] = defaultdict(set)
    windows: dict[int, Box] = {}
    pieces: list[CopiedPiece] = []
    for copy in copies:
        here = copy.main.shift
        shape = tuple(max(piece.box.stops[k] for piece in copy.pieces) for k in range(len(here)))
        windows |= {value.id: Box(here, tuple(a + n for a, n in zip(here, shape))) for value in copy.loads}
        for piece in copy.pieces:
            shift = tuple(a - b for a, b in zip(piece.shift, here))
            pieces.append(CopiedPiece(box_moved(piece.box, here), piece.source, shift))
    for box in cut_boxes([piece.box for piece in pieces]):
        for piece in pieces:
            if piece.box.contains(box):
                at[box].add((piece.source, piece.shift))
    if any(len(found) > 1 for found in at.values()):
        return None
    boxes: defaultdict[tuple[CopiedArray, Distance], list[Box]] = defaultdict(list)
    for box, ((source, shift),) in at.items():
        boxes[source, shift].append(box)
    joined = [CopiedPiece(box, *key) for key, found in boxes.items() for box in merged_boxes(found)]
    low = tuple(map(min, zip(*(box.starts for box in windows.values()))))
    high = tuple(map(max, zip(*(box.stops for box in windows.values()))))
    extents = tuple(b - a for a, b in zip(low, high))
    size = contiguous(copies[0].loads[0].shape).size
    if size < LEAST or contiguous(extents).size > MOST * size or len(joined) > MOST_PIECES:
        return None
    return WithMargins(tuple(joined), windows, low, extents, copies[0].loads[0].dtype)
