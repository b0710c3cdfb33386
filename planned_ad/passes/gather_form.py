"""Write sums of shifted contributions in gather form: one pass over memory that reads its neighbours.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda u: u[1:] - u[:-1], (np.zeros(101),)).tape
>>> tape = simplify(reverse(tape, accumulate=True, loss=False))
>>> print(brief(tape))
# reverse sweep
v3: float64[100] = cotangent#2[...]
v4: float64[100] = negative(v3)
du#1[0:100] += v4
du#1[1:101] += v3
>>> print(brief(gather_form(tape)))
# reverse sweep
v3: float64[100] = cotangent#2[...]
v4: float64[100] = negative(v3)
v5: float64[1] = view(v4, view={+0 [1] by [1]})
du#1[0:1] += v5
v6: float64[99] = view(v4, view={+1 [99] by [1]})
v7: float64[99] = view(v3, view={+0 [99] by [1]})
v8: float64[99] = add(v6, v7)
du#1[1:100] += v8
v9: float64[1] = view(v3, view={+99 [1] by [1]})
du#1[100:101] += v9

Requires a simplified tape; ensures the same sums (reassociated), each element stored once per group.

The adjoint of `u[1:] - u[:-1]` adds to `du[1:]` and to `du[:-1]`: a pass over `du` for each, the later ones
reading what the earlier wrote. Here the regions of such a group are cut at one another's boundaries into
boxes, and each box is stored once, as the sum of what the group adds to it. Almost all elements lie in one
box; the others are thin. (Hückelheim et al., Reverse-mode algorithmic differentiation of stencil loops, 2019.) Where
there would be too many, copies with a rim of zeros serve as well (`halos.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ..regions.affine import Extent
from ..regions.regions import Region, View, contiguous
from ..tape.builder import TapeBuilder, rebuilt
from ..tape.tape import Constant, Operation, Store, Tape, Value, walk
from .boxes import Box, Window, cut_boxes, place_of, shown
from .halos import RimmedCopy, Rims, parted_stores, rimmed_copies

SMALLEST = 64  # elements of the main box: below, passes over memory cost less than more code
MOST_BOXES = 27


def gather_form(tape: Tape) -> Tape:
    """Requires a simplified tape; ensures the same sums (reassociated), each element stored once per group.

    In the reverse sweep; in all of a tape that has none (it may be a derivative that was traced). The same tape when
    there is no group worth it.
    """
    is_primal = tape.turn == len(tape.operations)
    start = 0 if is_primal else tape.turn
    rewriting = _Gathering(tape, rebuilt(tape))
    sweep = rewriting.block(tape.operations[start:])
    if not rewriting.changed:
        return tape
    operations = (*tape.operations[:start], *rewriting.builder.recorded(rewriting.rims.clear), *sweep)
    turn = len(operations) if is_primal else start
    return replace(tape, buffers=tuple(rewriting.builder.buffers), operations=operations, turn=turn)


class _Gathering:
    """One rewriting of a tape, block by block."""

    def __init__(self, tape: Tape, builder: TapeBuilder):
        self.tape = tape
        self.builder = builder
        self.changed = False
        self.rims = Rims(builder)
        self.zeros = {
            op.out.id for op in walk(tape.operations) if isinstance(op, Constant) and op.data.ndim == 0 and op.data == 0
        }

    def block(self, operations: Sequence[Operation]) -> tuple[Operation, ...]:
        """One block in gather form."""
        groups = self.find_groups(operations)
        ways = {group[-1]: way for group in groups if (way := self.way_of(operations, group)) is not None}
        groups = [group for group in groups if group[-1] in ways]
        members = {position for group in groups for position in group}
        self.changed |= bool(groups)

        def write() -> None:
            for position, op in enumerate(operations):
                if position in ways:
                    ways[position]()
                elif position not in members:
                    self.builder.emit(op.with_blocks(*map(self.block, op.blocks)))

        return self.builder.recorded(write)

    def way_of(self, operations: Sequence[Operation], group: Sequence[int]) -> Callable[[], None] | None:
        """How a group of stores is written; None where it stays."""
        stores = stores_of(operations, group)
        boxes = self.boxes_of(operations, group)
        distinct = set(boxes)
        if len(distinct) < 2 or not any(a != b and a.meets(b) for a in distinct for b in distinct):
            return None
        pieces = cut_boxes(boxes)
        if len(pieces) <= MOST_BOXES:
            return partial(self.write_boxes, stores) if has_main_box(pieces) else None
        here, shifted = parted_stores(stores, self.places_of(stores))
        found = rimmed_copies(shifted, self.places_of(shifted))
        if found is None:
            return None
        return partial(self.write_copies, here, shifted, found)

    def write_copies(self, here: Sequence[Store], shifted: Sequence[Store], found: Sequence[RimmedCopy]) -> None:
        if len({store.region for store in here}) == 1:
            self.write_boxes(here)
        else:
            for store in here:
                self.builder.emit(store)
        self.rims.write(self.tape.buffers[shifted[0].region.buffer], shifted, self.places_of(shifted), found)

    def find_groups(self, operations: Sequence[Operation]) -> list[list[int]]:
        """Runs of stores to boxes of one buffer of the reverse sweep, which nothing else touches in between.

        The stores move to the place of the last one: values do not change, and the memory that they go to is not
        looked at before.
        """
        groups: list[list[int]] = []
        open_runs: dict[int, tuple[tuple[tuple[int, ...], Extent], list[int]]] = {}

        def close(buffer: int) -> None:
            _, run = open_runs.pop(buffer, (None, []))
            groups.extend(group for group in together(run, self.boxes_of(operations, run)) if len(group) > 1)

        for position, op in enumerate(operations):
            for region in op.reads if not isinstance(op, Store) else ():
                close(region.buffer)
            for region in op.writes:
                place = self.place_of(region) if isinstance(op, Store) else None
                if place is None:
                    close(region.buffer)
                    continue
                kind = place.axes, place.moving
                if region.buffer in open_runs and open_runs[region.buffer][0] != kind:
                    close(region.buffer)
                open_runs.setdefault(region.buffer, (kind, []))[1].append(position)
        for buffer in list(open_runs):
            close(buffer)
        return groups

    def place_of(self, region: Region) -> Window | None:
        return place_of(self.tape.buffers[region.buffer].view, region.view)

    def boxes_of(self, operations: Sequence[Operation], group: Sequence[int]) -> list[Box]:
        return [place.box for place in self.places_of(stores_of(operations, group))]

    def places_of(self, stores: Sequence[Store]) -> list[Window]:
        return [place for store in stores if (place := self.place_of(store.region)) is not None]

    def write_boxes(self, group: Sequence[Store]) -> None:
        """Store each piece once: what the last plain store to it puts there, plus what is added afterwards."""
        places = self.places_of(group)
        buffer = group[0].region.buffer
        whole, axes = self.tape.buffers[buffer].view, places[0].axes
        self.builder.line = group[-1].line
        for piece in cut_boxes([place.box for place in places]):
            terms: list[Value] = []
            keeps = True  # what the memory held before
            for store, place in zip(group, places):
                if not place.box.contains(piece):
                    continue
                if not store.accumulate:
                    terms, keeps = [], False
                if store.value.id not in self.zeros:
                    terms.append(part(self.builder, store.value, place, piece))
            if keeps and not terms:
                continue
            total = terms[0] if terms else self.builder.constant(0, self.builder.buffers[buffer].dtype)
            for term in terms[1:]:
                total = self.builder.apply("add", total, term)
            self.builder.store(Region(buffer, shown(whole, piece, axes, places[0].moving)), total, accumulate=keeps)


def stores_of(operations: Sequence[Operation], group: Sequence[int]) -> list[Store]:
    return [store for k in group if isinstance(store := operations[k], Store)]


def together(run: Sequence[int], boxes: Sequence[Box]) -> list[list[int]]:
    """The members of a run in groups, such that boxes of different groups do not meet."""
    if not boxes:
        return []
    rank = range(len(boxes[0].starts))
    axis = max(rank, key=lambda k: len({box.starts[k] for box in boxes}))  # walked along, to leave boxes behind
    groups: list[list[int]] = []  # of indices into the run
    behind: list[list[int]] = []
    for k in sorted(range(len(run)), key=lambda k: boxes[k].starts[axis]):
        here = boxes[k].starts[axis]
        behind += [group for group in groups if all(boxes[j].stops[axis] <= here for j in group)]
        ahead = [group for group in groups if any(boxes[j].stops[axis] > here for j in group)]
        met = [group for group in ahead if any(boxes[k].meets(boxes[j]) for j in group)]
        groups = [group for group in ahead if group not in met] + [[*itertools.chain(*met), k]]
    return sorted([run[k] for k in sorted(group)] for group in behind + groups)


def has_main_box(pieces: Sequence[Box]) -> bool:
    """Whether one box of the cut holds most of the elements."""
    sizes = sorted(contiguous(piece.shape).size for piece in pieces)
    return sizes[-1] >= SMALLEST and sizes[-1] * 2 >= sum(sizes)


def part(builder: TapeBuilder, value: Value, place: Window, piece: Box) -> Value:
    """What `value`, stored at `place`, puts into `piece`."""
    if value.shape == ():
        return value
    own = contiguous(value.shape)
    first = sum((piece.starts[k] - place.box.starts[k]) * s for k, s in zip(place.axes, own.strides))
    return builder.view(value, View(first, tuple(piece.shape[k] for k in place.axes), own.strides))
