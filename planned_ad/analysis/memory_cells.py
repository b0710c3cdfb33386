"""Memory as few cells: what a pass knows of each element of a buffer, at a cost that does not depend on its size.

The regions of a tape cut each axis of a buffer at a few places. Between two cuts nothing tells two elements apart,
so that one Boolean for each cell says what one for each element would.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
        box = self.box(view)
        return tuple(slice(bisect_left(cut, a), bisect_left(cut, b)) for cut, (a, b) in zip(self.cuts, box))

    def box(self, view: View) -> Box:
        found = None if self.axes is None else box_of(view, self.axes)
        assert found is not None, "no region that has cut this buffer"
        return found

    def part(self, states: np.ndarray, view: View) -> np.ndarray:
        """The states of the cells that `view` shows (writable, no copy)."""
        return part_at(states, self.place(view))

    def reach(self, states: np.ndarray, view: View) -> tuple[int, int] | None:
        """For a view of neighbours: the first and one past the last that is in a true cell, of those it shows."""
        part = self.part(states, view)
        if not self.cuts:
            flat, edges = part, range(len(part) + 1)
        else:
            box = self.box(view)
            axis, *inner = [k for k, (a, b) in enumerate(box) if b - a > 1] or [len(box) - 1]
            if part.size != part.shape[axis]:
                return None
            start, stop = box[axis]
            flat = part.ravel()
            places = self.cuts[axis]
            within = places[bisect_left(places, start) : bisect_left(places, stop) + 1]
            unit = math.prod(box[k][1] - box[k][0] for k in inner)
            edges = [(place - start) * unit for place in within]  # type: ignore[assignment]
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
    views = [view for view in views if view.size]
    axes = axes_of(buffer.view)
    if axes is None or (not axes.axes and buffer.span != 1):
        return Cells(buffer, None, None)
    others = [view for view in views if box_of(view, axes) is None]
    axes = finer(axes, {abs(stride) for view in others for stride in view.strides}) if others else axes
    boxes = [box for box in (box_of(view, axes) for view in views) if box is not None]
    if len(boxes) < len(views):
        return Cells(buffer, None, None)
    cuts = tuple(
        tuple(sorted({0, extent, *(place for box in boxes for place in box[k])}))
        for k, (_, extent, _) in enumerate(axes.axes)
    )
    return Cells(buffer, axes, cuts)


def finer(axes: Axes, strides: Iterable[int]) -> Axes:
    """The axes of a buffer, cut in two wherever one of these strides goes along an axis in whole steps.

    >>> finer(Axes(0, ((0, 10, 144), (1, 144, 1))), {12, 1})
    Axes(low=0, axes=((0, 10, 144), (1, 12, 12), (1, 12, 1)))
    """
    found: list[tuple[int, int, int]] = []
    for k, extent, stride in axes.axes:
        steps, end = [abs(stride)], extent * abs(stride)
        for step in sorted(strides):
            if steps[-1] < step < end and step % steps[-1] == 0 and end % step == 0:
                steps.append(step)
        found += reversed([(k, above // step, step) for step, above in zip(steps, (*steps[1:], end))])
    return Axes(axes.low, tuple(found))


@functools.lru_cache(maxsize=1 << 14)
def box_of(view: View, axes: Axes) -> Box | None:
    """What `view` shows as an interval along each axis; None where that is no such box.

    >>> box_of(View(20, (3, 2, 5), (10, 5, 1)), Axes(0, ((0, 8, 10), (1, 10, 1))))
    ((2, 5), (0, 10))
    """
    if not isinstance(view.offset, int):
        return None
    rest = view.offset - axes.low + sum(min(0, s) * (n - 1) for n, s in zip(view.shape, view.strides))
    runs = joined((abs(s), n) for n, s in zip(view.shape, view.strides) if s and n > 1)
    starts = []
    for _, _, stride in axes.axes:
        start, rest = divmod(rest, abs(stride))
        starts.append(start)
    if rest:
        return None
    box: list[tuple[int, int]] = []
    for k in reversed(range(len(starts))):
        extent, stride = axes.axes[k][1], abs(axes.axes[k][2])
        outer = abs(axes.axes[k - 1][2]) if k else math.inf
        length, along = 1, [run for run in runs if run[0] < outer]
        runs = [run for run in runs if run[0] >= outer]
        for step, count in along:
            if step % stride or step // stride > length:
                return None
            whole, left = divmod(step * count, extent * stride)
            if whole > 1 or (whole and left):  # it goes on along the axis around this one
                if left or outer != extent * stride or (extent * stride) % step:
                    return None
                runs.append((int(outer), whole))
                count = extent * stride // step
            length += step // stride * (count - 1)
        box.append((starts[k], starts[k] + length))
        runs.sort()
        if starts[k] < 0 or box[-1][1] > extent:
            return None
    return tuple(reversed(box)) if not runs else None


def joined(runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs of elements, (step, count), shortest steps first; runs of runs that leave nothing out are one."""
    found: list[tuple[int, int]] = []
    for step, count in sorted(runs):
        if found and step == math.prod(found[-1]):
            found[-1] = found[-1][0], found[-1][1] * count
        else:
            found.append((step, count))
    return found
