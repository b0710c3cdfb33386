"""Boxes of an array's indices: where a region lies, and how boxes cut one another.

>>> boxes = [Box((0,), (8,)), Box((2,), (10,))]
>>> [(box.starts, box.stops) for box in cut_boxes(boxes)]
[((0,), (2,)), ((2,), (8,)), ((8,), (10,))]
>>> merged_boxes(cut_boxes(boxes))
[Box(starts=(0,), stops=(10,))]
>>> from planned_ad.regions.regions import contiguous
>>> place_of(contiguous((5, 10)), View(12, (3, 8), (10, 1)))
Window(box=Box(starts=(1, 2), stops=(4, 10)), axes=(0, 1), moving=0)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ..regions.affine import Affine, Extent
from ..regions.regions import View, is_injective, is_ragged


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


@dataclass(frozen=True, slots=True)
class Window:
    """Which box of a buffer's indices a region shows, one to one.

    `axes`: of each axis of the region, the buffer's axis; along the others the box has one element. `moving`: the
    part of the offset that depends on loop indices; places with the same one keep their distance in every iteration.
    """

    box: Box
    axes: tuple[int, ...]
    moving: Extent


def place_of(whole: View, view: View) -> Window | None:
    """Where `view` lies in the array `whole`; None where it shows no box of it, or one that changes its extents.

    Addresses are divided by the strides of `whole`, the largest first. What moves is left aside; then the largest
    may be counted from anywhere, as long as all other indices stay inside their axes.
    """
    if is_ragged(view.shape) or not view.size or not whole.shape or not is_injective(whole):
        return None
    axes = matching_axes(whole, view)
    if axes is None or any(s <= 0 for s in whole.strides):
        return None
    still = view.offset.constant if isinstance(view.offset, Affine) else view.offset
    moving = view.offset - still
    assert isinstance(whole.offset, int)
    rest, starts, extents = still - whole.offset, [0] * len(whole.shape), [1] * len(whole.shape)
    for axis, n in zip(axes, view.shape):
        extents[axis] = n
    order = sorted((k for k, n in enumerate(whole.shape) if n > 1), key=lambda k: -whole.strides[k])
    for k in order:
        starts[k], rest = divmod(rest, whole.strides[k])
    free = order[:1] if moving else []
    inside = all(k in free or (a >= 0 and a + n <= m) for k, (a, n, m) in enumerate(zip(starts, extents, whole.shape)))
    if rest or not inside:
        return None
    return Window(Box(tuple(starts), tuple(a + n for a, n in zip(starts, extents))), axes, moving)


def matching_axes(whole: View, view: View) -> tuple[int, ...] | None:
    """Of each axis of `view` the axis of `whole` along which it runs."""
    if len(view.shape) == len(whole.shape):
        same = all(n == 1 or s == t for n, s, t in zip(view.shape, view.strides, whole.strides))
        return tuple(range(len(view.shape))) if same else None
    axes = {stride: k for k, (n, stride) in enumerate(zip(whole.shape, whole.strides)) if n > 1}
    found = tuple(axes.get(stride, -1) for stride in view.strides)
    return None if -1 in found or len(set(found)) < len(found) else found


def cut_boxes(boxes: Sequence[Box]) -> list[Box]:
    """All pieces into which the boxes cut one another, in order."""
    rank = len(boxes[0].starts)
    cuts = [sorted({c for box in boxes for c in (box.starts[k], box.stops[k])}) for k in range(rank)]
    ranges = [list(itertools.pairwise(c)) for c in cuts]
    pieces = [Box(tuple(a for a, _ in piece), tuple(b for _, b in piece)) for piece in itertools.product(*ranges)]
    return [piece for piece in pieces if any(box.contains(piece) for box in boxes)]


def merged_boxes(boxes: Sequence[Box]) -> list[Box]:
    """The same elements in fewer boxes: neighbours along one axis that are alike along the others are one."""
    found = sorted(boxes, key=lambda box: box.starts)
    for axis in reversed(range(len(found[0].starts))):
        rows: dict[tuple, Box] = {}  # by what a box is like along the other axes, and where it stops
        for box in found:
            others = tuple(pair for k, pair in enumerate(zip(box.starts, box.stops)) if k != axis)
            before = rows.pop((others, box.starts[axis]), None)
            joined = box if before is None else Box(before.starts, box.stops)
            rows[others, box.stops[axis]] = joined
        found = sorted(rows.values(), key=lambda box: box.starts)
    return found


def shown(whole: View, piece: Box, axes: tuple[int, ...], moving: Extent) -> View:
    """The part of the buffer that `piece` covers, with an axis for each of `axes`."""
    offset = whole.offset + moving
    for start, stride in zip(piece.starts, whole.strides):
        offset += start * stride
    return View(offset, tuple(piece.shape[k] for k in axes), tuple(whole.strides[k] for k in axes))
