"""Write sums of shifted contributions in gather form: one pass over memory that reads its neighbours.

The adjoint of `u[1:] - u[:-1]` adds to `du[1:]` and to `du[:-1]`: a pass over `du` for each, the later ones
reading what the earlier wrote. Here the regions of such a group are cut at one another's boundaries into
boxes, and each box is stored once, as the sum of what the group adds to it. Almost all elements lie in one
box; the others are thin. (Hückelheim et al., Reverse-mode algorithmic differentiation of stencil loops, 2019.)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .builder import TapeBuilder, rebuilt
from .regions import Region, View, contiguous
from .tape import Constant, Store, Tape, Value, walk

SMALLEST = 64  # elements of the main box: below, passes over memory cost less than more code
MOST_BOXES = 27


@dataclass(frozen=True, slots=True)
class Box:
    """A range of indices along each axis of a buffer."""

    starts: tuple[int, ...]
    stops: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(b - a for a, b in zip(self.starts, self.stops))

    def contains(self, other: Box) -> bool:
        return all(a <= c and d <= b for a, b, c, d in zip(self.starts, self.stops, other.starts, other.stops))

    def meets(self, other: Box) -> bool:
        return all(a < d and c < b for a, b, c, d in zip(self.starts, self.stops, other.starts, other.stops))


def gather_form(tape: Tape) -> Tape:
    """Requires a simplified tape; ensures the same sums (reassociated), each element stored once per group.

    The same tape when there is no group worth it.
    """
    groups = [group for group in find_groups(tape) if worth_it(tape, group)]
    if not groups:
        return tape
    builder = rebuilt(tape)
    members = {position for group in groups for position in group}
    last = {group[-1]: group for group in groups}
    turn = 0
    for position, op in enumerate(tape.operations):
        if position == tape.turn:
            turn = len(builder.operations)
        if position in last:
            write_boxes(tape, builder, [tape.operations[k] for k in last[position]])  # type: ignore[misc]
        elif position not in members:
            builder.emit(op)
    if tape.turn == len(tape.operations):
        turn = len(builder.operations)
    return replace(tape, buffers=tuple(builder.buffers), operations=tuple(builder.operations), turn=turn)


def find_groups(tape: Tape) -> list[list[int]]:
    """Runs of stores to boxes of one buffer of the reverse sweep, which nothing else touches in between.

    Moving the stores to the place of the last one must not move them past a write to memory that their values may
    be reloaded from: any write to a buffer that is no shadow ends all runs.
    """
    groups: list[list[int]] = []
    open_runs: dict[int, list[int]] = {}

    def close(buffer: int) -> None:
        run = open_runs.pop(buffer, None)
        if run and len(run) > 1:
            groups.append(run)

    for position in range(tape.turn, len(tape.operations)):
        op = tape.operations[position]
        for region in op.reads if not isinstance(op, Store) else ():
            close(region.buffer)
        for region in op.writes:
            if isinstance(op, Store) and box_of(tape, region) is not None:
                open_runs.setdefault(region.buffer, []).append(position)
            else:
                close(region.buffer)
    for buffer in list(open_runs):
        close(buffer)
    return groups


def box_of(tape: Tape, region: Region) -> Box | None:
    """The box of the buffer's indices that `region` shows, one to one; None where it is none."""
    whole, view = tape.buffers[region.buffer].view, region.view
    if not isinstance(view.offset, int) or len(view.shape) != len(whole.shape) or not view.size or not whole.shape:
        return None
    if any(n > 1 and s != t for n, s, t in zip(view.shape, view.strides, whole.strides)):
        return None
    assert isinstance(whole.offset, int)
    rest, starts = view.offset - whole.offset, [0] * len(whole.shape)
    for k in sorted(range(len(whole.shape)), key=lambda k: -whole.strides[k]):
        if whole.strides[k] <= 0:
            return None
        if whole.shape[k] > 1:
            starts[k], rest = divmod(rest, whole.strides[k])
    if rest or any(a + n > m for a, n, m in zip(starts, view.shape, whole.shape)):
        return None
    return Box(tuple(starts), tuple(a + n for a, n in zip(starts, view.shape)))


def boxes_of(tape: Tape, group: Sequence[int]) -> list[Box]:
    found = [box_of(tape, tape.operations[k].writes[0]) for k in group]
    return [box for box in found if box is not None]


def worth_it(tape: Tape, group: Sequence[int]) -> bool:
    """Whether several different boxes meet, and one box of the cut holds most of the elements."""
    boxes = boxes_of(tape, group)
    distinct = set(boxes)
    if len(distinct) < 2 or not any(a != b and a.meets(b) for a in distinct for b in distinct):
        return False
    pieces = cut_boxes(boxes)
    sizes = sorted(contiguous(piece.shape).size for piece in pieces)
    return len(pieces) <= MOST_BOXES and sizes[-1] >= SMALLEST and sizes[-1] * 2 >= sum(sizes)


def cut_boxes(boxes: Sequence[Box]) -> list[Box]:
    """All pieces into which the boxes cut one another, in order."""
    rank = len(boxes[0].starts)
    cuts = [sorted({c for box in boxes for c in (box.starts[k], box.stops[k])}) for k in range(rank)]
    ranges = [list(itertools.pairwise(c)) for c in cuts]
    pieces = [Box(tuple(a for a, _ in piece), tuple(b for _, b in piece)) for piece in itertools.product(*ranges)]
    return [piece for piece in pieces if any(box.contains(piece) for box in boxes)]


def write_boxes(tape: Tape, builder: TapeBuilder, group: Sequence[Store]) -> None:
    """Store each piece once: what the last plain store to it puts there, plus what is added afterwards."""
    zeros = {
        op.out.id for op in walk(tape.operations) if isinstance(op, Constant) and op.data.ndim == 0 and op.data == 0
    }
    boxes = [box_of(tape, store.region) for store in group]
    whole = tape.buffers[group[0].region.buffer].view
    builder.line = group[-1].line
    for piece in cut_boxes([box for box in boxes if box is not None]):
        terms: list[Value] = []
        keeps = True  # what the memory held before
        for store, box in zip(group, boxes):
            assert box is not None
            if not box.contains(piece):
                continue
            if not store.accumulate:
                terms, keeps = [], False
            if store.value.id not in zeros:
                terms.append(part(builder, store.value, box, piece))
        region = Region(group[0].region.buffer, place(whole, piece))
        if keeps and not terms:
            continue
        total = terms[0] if terms else builder.constant(0, builder.buffers[region.buffer].dtype)
        for term in terms[1:]:
            total = builder.apply("add", total, term)
        builder.store(region, total, accumulate=keeps)


def part(builder: TapeBuilder, value: Value, box: Box, piece: Box) -> Value:
    """What `value`, stored to `box`, puts into `piece`."""
    if value.shape == ():
        return value
    own = contiguous(value.shape)
    offset = sum((p - b) * s for p, b, s in zip(piece.starts, box.starts, own.strides))
    return builder.view(value, View(offset, piece.shape, own.strides))


def place(whole: View, piece: Box) -> View:
    """The region of the buffer that `piece` covers."""
    offset = whole.offset
    for start, stride in zip(piece.starts, whole.strides):
        offset += start * stride
    return View(offset, piece.shape, whole.strides)
