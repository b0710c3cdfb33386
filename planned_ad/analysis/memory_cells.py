"""Memory as few cells: what a pass knows of each element of a buffer, at a cost that does not depend on its size.

The regions of a tape cut each axis of a buffer at a few places. Between two cuts nothing tells two elements apart,
so that one Boolean for each cell says what one for each element would.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..regions.coordinates import Axes, axes_of
from ..regions.regions import Region, View, is_fixed, show
from ..tape.tape import Buffer, Loop, Operation, Tape
from .enclosing import estimate

Box = tuple[tuple[int, int], ...]  # along each axis of a buffer, longest stride first: from, to
Place = tuple[slice, ...] | View | None  # among the states of a buffer's cells; None: nowhere


@dataclass(frozen=True, slots=True)
class Cells:
    """How a buffer is cut: along each axis the sorted places from 0 to its extent. None: each element is a cell."""

    buffer: Buffer
    axes: Axes | None
    cuts: tuple[tuple[int, ...], ...] | None

    def filled(self, state: bool) -> np.ndarray:
        if self.cuts is None:
            return np.full(self.buffer.span, state)
        return np.full([len(cut) - 1 for cut in self.cuts] or 1, state)

    def place(self, view: View) -> Place:
        """Where the states of the cells lie that `view` shows, all of it one of the regions that cut."""
        if not view.size:
            return None
        if self.cuts is None:
            return View(view.offset - self.buffer.low, view.shape, view.strides)
        box = box_of(view, self.axes)
        assert box is not None
        return tuple(slice(bisect_left(cut, a), bisect_left(cut, b)) for cut, (a, b) in zip(self.cuts, box))

    def part(self, states: np.ndarray, view: View) -> np.ndarray:
        """The states of the cells that `view` shows (writable, no copy)."""
        return part_at(states, self.place(view))

    def reach(self, states: np.ndarray, view: View) -> tuple[int, int] | None:
        """For a view of neighbours: the first and one past the last that is in a true cell, of those it shows."""
        part = self.part(states, view)
        if self.cuts is None:
            flat, edges = part, range(len(part) + 1)
        else:
            box = box_of(view, self.axes)
            assert box is not None
            moving = [k for k, (a, b) in enumerate(box) if b - a > 1]
            if len(moving) != 1 or part.size != part.shape[moving[0]]:
                return None
            (axis,) = moving
            start, stop = box[axis]
            flat = part.ravel()
            places = self.cuts[axis]
            within = places[bisect_left(places, start) : bisect_left(places, stop) + 1]
            edges = [place - start for place in within]  # type: ignore[assignment]
        true = np.flatnonzero(flat)
        return (edges[true[0]], edges[true[-1] + 1]) if true.size else None


def part_at(states: np.ndarray, place: Place) -> np.ndarray:
    """The states at a place (writable, no copy)."""
    if place is None:
        return np.empty(0, bool)
    return show(states, place) if isinstance(place, View) else states[place]


def cells_of(tape: Tape) -> dict[int, Cells]:
    """How the regions of a tape cut its buffers; those that loops move count as all that they may touch."""
    views: dict[int, set[View]] = defaultdict(set)
    for op, loops in leaves(tape.operations, ()):
        for region in (*op.reads, *op.writes):
            views[region.buffer].add(fixed(region, loops, tape.buffers[region.buffer]).view)
    return {id: cut(tape.buffers[id], found) for id, found in views.items()}


def fixed(region: Region, loops: Sequence[Loop], buffer: Buffer) -> Region:
    """All that a region touches in any iteration of the loops around it."""
    return region if is_fixed(region.view) else estimate(region, loops, buffer)


def leaves(operations: Iterable[Operation], loops: tuple[Loop, ...]) -> Iterator[tuple[Operation, tuple[Loop, ...]]]:
    """The operations without blocks, with the loops around each."""
    for op in operations:
        if not op.blocks:
            yield op, loops
        for block in op.blocks:
            yield from leaves(block, (*loops, op) if isinstance(op, Loop) else loops)


def cut(buffer: Buffer, views: Iterable[View]) -> Cells:
    axes = axes_of(buffer.view)
    boxes = [box_of(view, axes) for view in views if view.size]
    known = [box for box in boxes if box is not None]
    if axes is None or len(known) < len(boxes) or (not axes.axes and buffer.span != 1):
        return Cells(buffer, None, None)
    cuts = tuple(
        tuple(sorted({0, extent, *(place for box in known for place in box[k])}))
        for k, (_, extent, _) in enumerate(axes.axes)
    )
    return Cells(buffer, axes, cuts)


def box_of(view: View, axes: Axes | None) -> Box | None:
    """What `view` shows as an interval along each axis; None where that is no such box."""
    if axes is None or not isinstance(view.offset, int):
        return None
    moves: Counter[int] = Counter()  # steps along each stride; two axes of one stride add up
    rest = view.offset - axes.low
    for n, stride in zip(view.shape, view.strides):
        moves[abs(stride)] += n - 1
        rest += min(0, stride) * (n - 1)
    if is_whole(axes, rest, moves):
        return tuple((0, extent) for _, extent, _ in axes.axes)
    box = []
    for _, extent, stride in axes.axes:
        start, rest = divmod(rest, abs(stride))
        stop = start + 1 + moves.pop(abs(stride), 0)
        if start < 0 or stop > extent:
            return None
        box.append((start, stop))
    return None if rest or any(n for stride, n in moves.items() if stride) else tuple(box)


def is_whole(axes: Axes, start: int, moves: Mapping[int, int]) -> bool:
    """Whether neighbours in memory, from the first to the last element, are meant."""
    size = math.prod(extent for _, extent, _ in axes.axes)
    return (
        start == 0
        and moves.get(1, 0) == size - 1
        and sum(n for s, n in moves.items() if s) == size - 1
        and (1 + sum((extent - 1) * abs(stride) for _, extent, stride in axes.axes) == size)
    )
