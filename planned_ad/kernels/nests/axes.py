"""The loops of a nest: which axes there are, in which order, and which items belong between them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ...planning.schedule import Compute, Counted, GatherRead, Immediate, Memory, Nest, Position, Read, Reduce, Write
from ...regions.affine import Ragged, exact, ragged
from ...regions.regions import Region, View, overlap

ACCESSES = Read | Counted | GatherRead | Write | Reduce


@dataclass
class Axis:
    """One loop: its extent and, per item, how far the item's access moves with it."""

    extent: int
    strides: dict[int, int]
    reduced_by: frozenset[int]  # items that reduce over this axis


def accesses(nest: Nest) -> dict[int, View]:
    """The view of each item that addresses memory, or counts places; spills under the key `-1 - register`."""
    found = {k: item.view for k, item in enumerate(nest.items) if isinstance(item, ACCESSES)}
    found.update({-1 - register: write.view for register, write in nest.spills.items()})
    return found


def loop_axes(nest: Nest) -> list[Axis]:
    """The loops: axes of extent 1 dropped, ordered for unit strides inside, and merged where all accesses allow."""
    views = accesses(nest)
    axes = []
    for k, extent in enumerate(nest.domain):
        if extent != 1:
            strides = {number: view.strides[k] for number, view in views.items()}
            reduced = frozenset(n for n, i in enumerate(nest.items) if isinstance(i, Reduce) and k in i.axes)
            axes.append(Axis(extent, strides, reduced))
    if not nest.ordered and len(axes) > 1:
        inner = max(range(len(axes)), key=lambda k: (innermost_score(axes[k]), k))
        rest = sorted((k for k in range(len(axes)) if k != inner), key=lambda k: (-reach(axes[k]), k))
        axes = [axes[k] for k in [*rest, inner]]
    merged: list[Axis] = []
    for axis in axes:
        if merged and joins(merged[-1], axis):
            outer = merged.pop()
            extent = ragged(outer.extent * axis.extent, exact(outer.extent) * axis.extent)
            axis = Axis(extent, axis.strides, axis.reduced_by)
        merged.append(axis)
    return merged


def innermost_score(axis: Axis) -> tuple[float, int]:
    """How well an axis serves as the innermost: unit strides are good, other strides are bad; long ones better."""
    strides = [abs(s) for s in axis.strides.values()]
    score = sum(1.0 if s == 1 else 0.5 if s == 0 else -1.0 for s in strides)
    if axis.extent < 4:
        score -= len(strides)
    return (score, axis.extent)


def reach(axis: Axis) -> int:
    return sum(abs(s) for s in axis.strides.values())


def joins(outer: Axis, inner: Axis) -> bool:
    """Whether two loops are one. (Rows of a ragged inner axis do not fill memory.)"""
    return (
        not isinstance(inner.extent, Ragged)
        and outer.reduced_by == inner.reduced_by
        and all(outer.strides[n] == inner.strides[n] * inner.extent for n in outer.strides)
    )


def item_levels(nest: Nest, axes: list[Axis]) -> list[int]:
    """The number of loops around each item: reads of memory that the nest writes, and writes, stay inside all."""
    depth = len(axes)
    written: dict[Memory, list[View]] = {}
    for write in itertools.chain(nest.items, nest.spills.values()):
        if isinstance(write, Write | Reduce):
            written.setdefault(write.memory, []).append(write.view)
    levels: list[int] = []
    for number, item in enumerate(nest.items):
        if isinstance(item, Immediate | Position):
            level = 0
        elif isinstance(item, Compute):
            level = max((levels[k] for k in item.operands), default=0)
        elif isinstance(item, Counted) or (isinstance(item, Read | GatherRead) and not is_written(item, written, nest)):
            moves = [k + 1 for k, axis in enumerate(axes) if axis.strides[number]]
            level = max([0, *moves, *(levels[k] for k in getattr(item, "indices", ()))])
        else:
            level = depth
        if number in nest.spills:
            level = depth
        levels.append(level)
    return levels


def is_written(item: Read | GatherRead, written: dict[Memory, list[View]], nest: Nest) -> bool:
    """Whether the nest may write what `item` reads."""
    writes = written.get(item.memory, [])
    if not writes or isinstance(item, GatherRead) or nest.ordered or 0 not in item.view.strides:
        return bool(writes)
    read = Region(item.memory.id, item.view)
    return any(overlap(Region(item.memory.id, view), read) for view in writes)
