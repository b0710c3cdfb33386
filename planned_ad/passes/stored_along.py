"""Memory of the program's own lies as loops go through it: columns that they read and write become rows.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     path = np.zeros((len(x), 40))
...     path[:, 0] = x
...     for k in range(39):
...         path[:, k + 1] = np.sin(path[:, k])
...     return path[:, -1]
>>> tape = simplify(primal(trace(f, (np.zeros(30),)).tape))
>>> print(brief(tape))
v0: float64[30] = x[...]
v1 = 0.0
path#1[...] = v1
path#1[:, 0] = v0
for i0 in range(0, 39, 1):
    v2: float64[30] = path#1[:, i0]
    v3: float64[30] = sin(v2)
    path#1[:, i0 + 1] = v3
v4: float64[30] = path#1[:, 39]
result#2[...] = v4
>>> print(brief(stored_along(tape)))
v0: float64[30] = x[...]
v1 = 0.0
path#1{+0 [30, 40] by [1, 30]} = v1
path#1[0, :] = v0
for i0 in range(0, 39, 1):
    v2: float64[30] = path#1[i0, :]
    v3: float64[30] = sin(v2)
    path#1[i0 + 1, :] = v3
v4: float64[30] = path#1[39, :]
result#2[...] = v4

Requires a tape; ensures the same numbers. Each access is written in coordinates, which have to stay inside of the array
in all iterations; memory that is seen in any other way stays as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..regions.affine import Ranges, coefficient
from ..regions.coordinates import AXIS, axes_of, coordinates, elements, follow
from ..regions.regions import Region, View, c_strides, contiguous
from ..tape.builder import rebuilt, written_anew
from ..tape.tape import Buffer, Load, Loop, Operation, Scatter, Store, Tape

LEAST_ROW = 4  # numbers next to each other that are worth it


@dataclass(frozen=True, slots=True)
class Reached:
    """What an operation touches, how often, and the ranges of the loops around."""

    view: View
    times: int
    ranges: Ranges


def stored_along(tape: Tape) -> Tape:
    """Requires a tape; ensures the same numbers. The same tape where all memory lies as it is gone through."""
    accesses: dict[int, list[Reached]] = defaultdict(list)
    for id, access in accesses_of(tape.operations, 1, {}):
        accesses[id].append(access)
    orders = {id: order for id, found in accesses.items() if (order := order_for(tape.buffers[id], found))}
    if not orders:
        return tape
    builder = rebuilt(tape)
    lies = {}
    for id, order in orders.items():
        shape = tape.buffers[id].shape
        turned = tuple(shape[axis] for axis in order)
        lies[id] = View(0, shape, tuple(c_strides(turned)[order.index(axis)] for axis in range(len(shape))))
        builder.buffers[id] = replace(tape.buffers[id], view=contiguous(turned))
    around: list[Ranges] = [{}]

    def write(op: Operation) -> None:
        if op.blocks:
            around.append({**around[-1], op.index: op.range} if isinstance(op, Loop) else around[-1])
            builder.emit(builder.with_written_blocks(op, write))
            around.pop()
        elif isinstance(op, Load | Store | Scatter) and op.region.buffer in orders:
            id = op.region.buffer
            view = follow(op.region.view, tape.buffers[id].view, lies[id], around[-1])
            assert view is not None
            builder.emit(replace(op, region=Region(id, view)))
        else:
            builder.emit(op)

    return written_anew(tape, builder, write)


def accesses_of(operations: Sequence[Operation], times: int, ranges: Ranges) -> Iterator[tuple[int, Reached]]:
    """All accesses of memory, by buffers."""
    for op in operations:
        if isinstance(op, Loop):
            yield from accesses_of(op.body, times * max(int(op.trips), 1), {**ranges, op.index: op.range})
        elif op.blocks:
            for block in op.blocks:
                yield from accesses_of(block, times, ranges)
        else:
            is_filled = isinstance(op, Store) and not op.value.shape  # with one number, in any order
            for region in dict.fromkeys((*op.reads, *op.writes)):
                yield region.buffer, Reached(region.view, 0 if is_filled else times, ranges)


def order_for(buffer: Buffer, accesses: Sequence[Reached]) -> tuple[int, ...] | None:
    """The axes of an array, the one last along which most numbers are gone through; None where it is that already."""
    shape = buffer.shape
    if buffer.visible or buffer.array is not None or buffer.view != contiguous(shape):
        return None
    if sum(n > 1 for n in shape) < 2 or not any(a.ranges and is_apart(a.view) for a in accesses):
        return None
    along: dict[int, float] = defaultdict(float)
    for access in accesses:
        moved = axes_moved(buffer, access)
        if moved is None:
            return None
        if len(moved) == 1 and access.view.size >= LEAST_ROW:
            along[moved[0]] += access.times * access.view.size
        elif moved and access.view.size >= LEAST_ROW:  # it may go either way, but stays beside what else lies so
            along[len(shape) - 1] += access.times * access.view.size / 2
    last = max(along, key=lambda axis: along[axis], default=None)
    if last is None or along[last] <= along[len(shape) - 1]:
        return None
    return (*(axis for axis in range(len(shape)) if axis != last), last)


def axes_moved(buffer: Buffer, access: Reached) -> list[int] | None:
    """The axes of an array along which a view of it goes; None where it does not stay inside of each of them."""
    axes = axes_of(buffer.view)
    address, names = elements(access.view, access.ranges)
    found = None if axes is None else coordinates(address, axes, names)
    if axes is None or found is None:
        return None
    own = [AXIS - k for k in range(len(access.view.shape))]
    return [axis for (axis, _, _), at in zip(axes.axes, found) if any(coefficient(at, name) for name in own)]


def is_apart(view: View) -> bool:
    """Whether no two of its numbers are next to each other, and there are several."""
    strides = [abs(stride) for n, stride in zip(view.shape, view.strides) if n > 1]
    return bool(strides) and min(strides) > 1
