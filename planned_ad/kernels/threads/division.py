"""Which steps of a plan are done in parts that several threads can do, in any order: nests, and loops.

A nest is cut along one of its loops, where no part writes what another one reads or writes. A loop is cut where its
iterations do not depend on one another: memory that each of them fills anew is there once for each thread, memory that
they only add to once for each part.

Sums over what is cut are made for each part, and the parts are added in order. So numbers depend on how many parts
there are, which the plan alone decides, and not on how many threads there are: with one, what has such sums is done in
the same parts. What has none is then done at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...planning.schedule import (
    BranchStep,
    GatherRead,
    LibraryStep,
    LoopStep,
    MemoryPlan,
    Nest,
    Read,
    Reduce,
    Step,
    Write,
    walk_steps,
)
from ...regions.affine import Ragged
from ...regions.regions import Region, View, is_injective, overlap
from ..library.blas import product_of, tiled_form
from ..library.tiles import tile_rows
from ..nests.axes import Axis, loop_axes
from . import parts as limits
from .loops import LoopDivision
from .parts import LINE, MOST_SUMS_NBYTES, PARTS, NestParts, Parts, ProductParts, work_of

BESIDE = 40  # times smaller nests are cut where they are beside others that are


def cut_steps(plan: MemoryPlan) -> dict[int, Parts]:
    """The steps that are done in parts, by their identity."""
    found: dict[int, Parts] = {}
    numbers = {id(step): number for number, step in enumerate(walk_steps(plan.steps))}

    def look(steps: Sequence[Step]) -> None:
        for position, step in enumerate(steps):
            parts: Parts | None = None
            if isinstance(step, Nest):
                parts = nest_parts(step)
            elif isinstance(step, LoopStep):
                parts = LoopDivision(plan, step, numbers[id(step)], steps[:position]).parts()
            elif isinstance(step, LibraryStep) and step.operation.primitive == "contract":
                parts = product_parts(step)
            if parts is not None:
                found[id(step)] = parts
            elif isinstance(step, LoopStep | BranchStep):
                for block in step.blocks:
                    look(block)
                    found.update(beside_parts(block, found))

    look(plan.steps)
    return found


def beside_parts(steps: Sequence[Step], found: dict[int, Parts]) -> dict[int, Parts]:
    """How small nests are cut that stand in a loop with ones that are: those that go down the rows of arrays.

    What they touch is in the caches of the threads that have these rows, and to fetch it takes longer than to start.
    """
    if not any(id(step) in found and isinstance(step, Nest) for step in steps):
        return {}
    others = [step for step in steps if isinstance(step, Nest) and id(step) not in found]
    ways = {id(nest): nest_parts(nest, limits.WORTH / BESIDE) for nest in others if is_down_rows(nest)}
    return {key: parts for key, parts in ways.items() if parts is not None and not parts.sums}


def is_down_rows(nest: Nest) -> bool:
    """Whether each index of a nest over one axis is in another line of memory."""
    axes = loop_axes(nest) if nest.domain else []
    return len(axes) == 1 and all(abs(stride) >= LINE // 4 for stride in axes[0].strides.values() if stride)


# Nests.


def nest_parts(nest: Nest, least: float | None = None) -> NestParts | None:
    """How a nest is cut; None where it is not worth it, or where its order matters."""
    if nest.ordered or not nest.domain or 0 in nest.domain:
        return None
    if work_of(nest) < (limits.WORTH if least is None else least):
        return None
    if any(isinstance(item, Write) and item.indices for item in nest.items):
        return None
    axes = loop_axes(nest)
    if any(isinstance(axis.extent, Ragged) for axis in axes) or not writes_apart(nest):
        return None
    work = work_of(nest)
    ways = [parts for depth in range(len(axes)) if (parts := cut_at(nest, axes, depth, work)) is not None]
    return min(ways, key=lambda parts: (bool(parts.sums), parts.depth), default=None)


def writes_apart(nest: Nest) -> bool:
    """Whether what an index writes is at no other index read or written; sums aside."""
    accesses = [
        item for item in (*nest.items, *nest.spills.values()) if isinstance(item, Read | GatherRead | Write | Reduce)
    ]
    written = [item for item in accesses if isinstance(item, Write | Reduce)]
    for item in written:
        for other in accesses:
            if other is item or other.memory != item.memory:
                continue
            if isinstance(other, GatherRead) or isinstance(item, Reduce) or isinstance(other, Reduce):
                return False
            if other.view != item.view and overlap(Region(0, item.view), Region(0, other.view)):
                return False
    return True


def cut_at(nest: Nest, axes: Sequence[Axis], depth: int, work: float) -> NestParts | None:
    """The nest cut along its loop at a depth; None where parts would meet, or be too few or too small."""
    axis = axes[depth]
    innermost = depth == len(axes) - 1
    extent = axis.extent // limits.INNERMOST if innermost else axis.extent
    count = min(PARTS, extent)
    if count < limits.LEAST:
        return None
    sums, nbytes = {}, 0
    for number, item in enumerate(nest.items):
        if isinstance(item, Write) and not moves_apart(axes, number, depth):
            return None
        if not isinstance(item, Reduce):
            continue
        if number in axis.reduced_by:
            kept = math.prod(n for k, n in enumerate(item.view.shape) if k not in item.axes)
            if item.view.bounds() != (0, kept - 1):
                return None
            sums[number] = (nbytes, kept)
            nbytes += -(-kept * item.dtype.itemsize // LINE) * LINE
        elif not moves_apart(axes, number, depth):
            return None
    if any(not moves_apart(axes, -1 - register, depth) for register in nest.spills):
        return None
    if count * nbytes > MOST_SUMS_NBYTES or count * nbytes > work:
        return None
    return NestParts(depth=depth, count=count, sums=sums, nbytes=nbytes)


def moves_apart(axes: Sequence[Axis], number: int, depth: int) -> bool:
    """Whether what an item writes at different indices of a loop are different places."""
    if not axes[depth].strides[number]:
        return False
    moving = [axis for axis in axes if axis.strides[number]]
    view = View(0, tuple(axis.extent for axis in moving), tuple(axis.strides[number] for axis in moving))
    return is_injective(view)


# Products.


def product_parts(step: LibraryStep) -> ProductParts | None:
    """How a product that we do ourselves is cut; BLAS has threads of its own."""
    if work_of(step) < limits.WORTH or step.operation.out.dtype.kind != "f":
        return None
    product, form = product_of(step), tiled_form(product_of(step))
    if form is None and product.blas:
        return None
    extent, number = max(((d.extent, -k) for k, d in enumerate(product.loops)), default=(0, 0))
    if extent >= limits.LEAST:
        return ProductParts(count=min(PARTS, extent), extent=extent, unit=1, loop=-number)
    if form is None:
        return None
    rows, unit = form[1].rows, tile_rows(form[1].rows)
    count = min(PARTS, rows // unit)
    return ProductParts(count=count, extent=rows, unit=unit, loop=None) if count >= limits.LEAST else None
