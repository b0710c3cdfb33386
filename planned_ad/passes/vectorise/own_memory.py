"""Memory that each iteration fills anew gets a place for each iteration.

>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     s = 0.0
...     for i in range(4):
...         z = np.zeros(3)
...         z[1:] = x[i]
...         s += np.sum(z * z)
...     return s
>>> tape = trace(f, (np.zeros((4, 2)),), unroll=1).tape
>>> print(brief(tape))
v0 = 0.0
s#2[...] = v0
for i0 in range(0, 4, 1):
    v1 = s#2[...]
    v2: float64[2] = x[i0, :]
    z#1[...] = v0
    z#1[1:3] = v2
    v3: float64[3] = z#1[...]
    v4: float64[3] = multiply(v3, v3)
    v5 = reduce_sum(v4, axes=(0,))
    v6 = add(v1, v5)
    s#2[...] = v6
v7 = s#2[...]
return v7
>>> print(brief(vectorise(tape)))
v0 = 0.0
v8: float64[4, 2] = x[...]
z#3[:, 0:1] = v0
z#3[:, 1:3] = v8
v9: float64[4, 3] = z#3[...]
v10: float64[4, 3] = multiply(v9, v9)
v13 = reduce_sum(v10, axes=(0, 1))
v14 = add(v0, v13)
return v14

Requires the body of a loop without branches; ensures the same numbers. Iterations that hand nothing on through such
memory may run side by side, and what is in it may turn out to be no memory at all (`passes/held_once.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...analysis.enclosing import certainly_runs
from ...regions.affine import Ragged, loop_index
from ...regions.regions import Region, View, c_strides, contiguous, is_fixed, show
from ...tape.builder import TapeBuilder
from ...tape.tape import Buffer, Load, Loop, Operation, Scatter, Store, walk
from .lifting import MOST_ELEMENTS, MOST_NEAR, SHORT


@dataclass(frozen=True, slots=True)
class FilledAnew:
    """The loop on memory with a place for each iteration, and what puts the last one's back where it is read later."""

    loop: Loop
    back: tuple[tuple[Region, Region], ...]  # from, to

    def put_back(self, builder: TapeBuilder) -> None:
        for source, target in self.back:
            builder.store(target, builder.load(source))


def with_own_memory(builder: TapeBuilder, loop: Loop, accesses: Mapping[int, int]) -> FilledAnew:
    """`accesses`: how many there are of each buffer in the whole program."""
    if isinstance(loop.trips, Ragged) or abs(loop.step) != 1 or loop.stops or not certainly_runs(loop):
        return FilledAnew(loop, ())
    is_nest = any(isinstance(op, Loop) for op in loop.body)
    moved: dict[int, Buffer] = {}
    back = []
    touching: defaultdict[int, list[Operation]] = defaultdict(list)
    for op in loop.body:
        for id in {region.buffer for region in (*op.reads, *op.writes)}:
            touching[id].append(op)
    for id, inside in accesses_in(op for op in walk(loop.body) if not op.blocks).items():
        buffer = builder.buffers[id]
        size = buffer.view.size
        most = MOST_ELEMENTS if size <= SHORT or is_nest else MOST_NEAR
        is_worth_it = not buffer.visible and inside > 1 and 0 < size * loop.trips <= most
        if not is_worth_it or not is_filled_anew(touching[id], buffer):
            continue
        builder.line = buffer.line
        moved[id] = own = own_buffer(builder, loop, buffer.label, buffer.dtype, buffer.shape)
        if inside != accesses[id]:
            last = View((loop.trips - 1) * size, buffer.shape, c_strides(buffer.shape))
            back.append((Region(own.id, last), Region(id, buffer.view)))
    if not moved:
        return FilledAnew(loop, ())
    return FilledAnew(replace(loop, body=tuple(in_own(op, loop, moved) for op in loop.body)), tuple(back))


def own_buffer(builder: TapeBuilder, loop: Loop, label: str, dtype: np.dtype, shape: tuple[int, ...]) -> Buffer:
    """Memory with a place for each iteration."""
    return builder.new_buffer("local", label, dtype, contiguous((loop.trips, *shape)))


def place_in_own(own: Buffer, loop: Loop, view: View) -> Region:
    """`view` of the place of an iteration."""
    place = (loop_index(loop.index) - loop.start) * (loop.step * (own.view.size // own.shape[0]))
    return Region(own.id, replace(view, offset=view.offset + place))


def accesses_in(body: Iterable[Operation]) -> dict[int, int]:
    """How often each memory is touched."""
    found: dict[int, int] = {}
    for op in body:
        for region in (*op.reads, *op.writes):
            found[region.buffer] = found.get(region.buffer, 0) + 1
    return found


def is_filled_anew(body: Sequence[Operation], buffer: Buffer) -> bool:
    """Whether an iteration stores to each element before it looks at it or adds to it; `body`: what touches it."""
    if buffer.view != contiguous(buffer.shape):
        return False
    filled = np.zeros(buffer.view.size, bool)
    return fills(body, buffer.id, filled) and bool(filled.all())


def fills(body: Sequence[Operation], buffer: int, filled: np.ndarray) -> bool:
    """Note which elements a body stores to; False if it looks at one that is not `filled` by then."""
    for op in body:
        regions = [region for region in (*op.reads, *op.writes) if region.buffer == buffer]
        if isinstance(op, Loop) and regions:
            if not fills(op.body, buffer, filled if certainly_runs(op) else filled.copy()):
                return False
        elif isinstance(op, Store) and regions and not op.accumulate:
            if is_fixed(op.region.view):
                show(filled, op.region.view)[...] = True
        elif regions:
            if not isinstance(op, Load | Store | Scatter):
                return False
            view = op.region.view
            if not filled.all() and not (is_fixed(view) and show(filled, view).all()):
                return False
    return True


def in_own(op: Operation, loop: Loop, moved: Mapping[int, Buffer]) -> Operation:
    """`op`, on the place of its iteration."""
    if op.blocks:
        return op.with_blocks(*(tuple(in_own(inner, loop, moved) for inner in block) for block in op.blocks))
    if not isinstance(op, Load | Store | Scatter) or op.region.buffer not in moved:
        return op
    return replace(op, region=place_in_own(moved[op.region.buffer], loop, op.region.view))
