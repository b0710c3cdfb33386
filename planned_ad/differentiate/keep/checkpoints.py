"""Run time-stepping loops segment by segment, so that the reverse sweep needs the caches of one segment at a time.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     for i in range(9):
...         x = np.sin(x)
...     return x
>>> tape = simplify(reverse(trace(f, (2.0,), unroll=1).tape))
>>> print(brief(tape))  # a cache for nine numbers
v0 = x[...]
x#1[...] = v0
for i0 in range(0, 9, 1):
    v1 = x#1[...]
    cache#4[i0] = v1
    v2 = sin(v1)
    x#1[...] = v2
# reverse sweep
v6 = 1.0
dx#3[...] = v6
for i0 in range(8, -1, -1):
    v11 = cache#4[i0]
    v7 = dx#3[...]
    v9 = cos(v11)
    v10 = multiply(v7, v9)
    dx#3[...] = v10
v12 = dx#3[...]
dx#2[...] = v12
>>> print(brief(run_in_segments(tape, {0: Lengths(9, (3,))})))  # two caches for three
v0 = x[...]
x#1[...] = v0
for i1 in range(0, 3, 1):
    v13 = x#1[...]
    cache#7[i1] = v13
    for i0 in range(3*i1, 3*i1 + 3, 1):
        v15 = x#1[...]
        v16 = sin(v15)
        x#1[...] = v16
# reverse sweep
v6 = 1.0
dx#3[...] = v6
for i1 in range(2, -1, -1):
    v14 = cache#7[i1]
    x#6[...] = v14
    for i0 in range(3*i1, 3*i1 + 3, 1):
        v17 = x#6[...]
        cache#5[i0 - 3*i1] = v17
        v18 = sin(v17)
        x#6[...] = v18
    for i0 in range(3*i1 + 2, 3*i1 - 1, -1):
        v19 = cache#5[i0 - 3*i1]
        v20 = dx#3[...]
        v21 = cos(v19)
        v22 = multiply(v20, v21)
        dx#3[...] = v22
v12 = dx#3[...]
dx#2[...] = v12

Requires what `reverse` returns, and lengths for loops that `pairs_in` finds; ensures the same numbers.

The primal keeps the state of the loop at the start of each segment (a checkpoint). In the reverse sweep, for each
segment from the last: take the state from its checkpoint, run the segment again, with its caches, then its reverse
loop. Segments can be cut in the same way again. See Griewank & Walther (Algorithm 799: revolve, 2000) for schedules
with still fewer checkpoints for as many runs: those have segments of unequal lengths, and give every checkpoint free
for use as soon as its segment is done. Here all segments of a level are equally long, since then they are loops with
fixed bounds: the code does not grow with the number of iterations, and every address stays affine in loop indices.
With r levels the memory is of order n ** (1 / (r + 1)) for r additional runs, as it is with `revolve`, whose constants
are better (for r = 1, sqrt(2 n) in place of 2 sqrt(n) states).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...analysis.mirrored_loops import LoopPair, PairCache, pairs_in
from ...passes.inline import end_of_indices
from ...regions.affine import Extent, loop_index, substitute
from ...regions.regions import Region, View, c_strides, contiguous
from ...tape.builder import TapeBuilder, rebuilt
from ...tape.renaming import Copier
from ...tape.tape import Load, Loop, Operation, Store, Tape
from .recomputation import Recomputation, closed, recomputation_of
from .segment_lengths import Lengths

Block = tuple[Operation, ...]
Cuts = Mapping[int, Lengths]  # by the index of a loop
Memory = Mapping[int, int] | None  # the private buffers in place of those of the primal; None for those of the primal


def run_in_segments(tape: Tape, cuts: Cuts) -> Tape:
    """`tape` with loops of the primal cut into segments that the reverse sweep runs again.

    Requires what `reverse` returns, and lengths for loops that `pairs_in` finds; for a loop inside of another one,
    that the segments of that one have one iteration in the end. Ensures the same numbers, in the caller's memory too.
    """
    builder = rebuilt(tape)
    cutter = Cutter(builder, cuts, end_of_indices(tape.operations))
    primal, adjoint = cutter.cut(tape.operations[: tape.turn], tape.operations[tape.turn :], (), 0)
    return replace(tape, buffers=tuple(builder.buffers), operations=(*primal, *adjoint), turn=len(primal))


@dataclass
class Cutter:
    """Cuts the loops of a block. Loops that are made for this have indices from `next_index` on."""

    builder: TapeBuilder
    cuts: Cuts
    next_index: int

    def cut(self, primal: Block, adjoint: Block, around: tuple[Loop, ...], depth: int) -> tuple[Block, Block]:
        """The two parts of a block inside the loops `around`, of which `depth` are the program's own."""
        for pair in pairs_in(self.builder.buffers, primal, adjoint, depth):
            if pair.primal.index not in self.cuts:
                continue
            program = primal
            for loop in reversed(around):
                program = (replace(loop, body=program),)
            caches = (c.buffer.id for c in pair.caches)
            again = recomputation_of(self.builder.buffers, program, pair.primal, caches, pair.prelude)
            if again.is_possible(self.builder.buffers):
                advance, back = SegmentWriter(self, pair, again, depth).write(around)
                primal = tuple(op for op in primal if not any(op is p for p in pair.prelude if isinstance(p, Store)))
                primal = in_place_of(primal, pair.primal, advance)
                adjoint = in_place_of(adjoint, pair.adjoint, back)
        return primal, adjoint

    def new_index(self) -> int:
        self.next_index += 1
        return self.next_index - 1


def in_place_of(block: Block, old: Operation, new: Block) -> Block:
    return tuple(op for one in block for op in (new if one is old else (one,)))


class SegmentWriter:
    """Writes one pair of loops anew, from copies of their bodies.

    A copy runs either on the memory of the primal or on `private` memory, and stores to the caches or does not.
    """

    def __init__(self, cutter: Cutter, pair: LoopPair, again: Recomputation, depth: int):
        self.cutter, self.builder, self.pair, self.depth = cutter, cutter.builder, pair, depth
        self.lengths = cutter.cuts[pair.primal.index]
        self.index = pair.primal.index
        self.line = self.builder.line = pair.primal.line
        buffers, body = self.builder.buffers, pair.primal.body
        self.again = again
        self.advancing = closed(buffers, body, self.again.state, self.again.stays)
        self.caches = {cache.buffer.id: self.new_cache(cache) for cache in pair.caches}
        self.saved = {
            id: self.copy_of(id, "cache", f"{buffers[id].label} is read again, and overwritten before")
            for id in self.again.read
        }
        self.private = {id: self.copy_of(id, "local", buffers[id].label) for id in self.again.written} | self.saved

    def new_cache(self, cache: PairCache) -> int:
        """A cache with as many places as there are iterations kept at a time."""
        buffer, places = cache.buffer, self.lengths.places
        label = f"{buffer.label}; {places} iteration{'s' * (places > 1)} at a time"
        return self.builder.new_buffer("cache", label, buffer.dtype, contiguous(cache.shape(places))).id

    def copy_of(self, id: int, kind: str, label: str) -> int:
        buffer = self.builder.buffers[id]
        return self.builder.new_buffer(kind, label, buffer.dtype, buffer.view).id

    def write(self, around: tuple[Loop, ...]) -> tuple[Block, Block]:
        """What takes the place of the two loops, inside the loops `around`."""
        loop = self.pair.primal
        keep = [op for id, copy in self.saved.items() for op in self.transfer(self.whole(id), self.whole(copy))]
        advance, back = self.segments(loop.start, loop.trips, self.lengths.lengths, None, around)
        return (*keep, *advance), back

    def segments(
        self, start: Extent, trips: int, lengths: tuple[int, ...], memory: Memory, around: tuple[Loop, ...]
    ) -> tuple[Block, Block]:
        """So many iterations from `start` on, which run on `memory`, and their reverse loops."""
        if not lengths:
            return self.forward(start, trips, memory, caches=True), self.backward(start, trips)
        length = lengths[0]
        count, left = divmod(trips, length)
        index = self.index if length == 1 else self.cutter.new_index()
        first = start if length == 1 else 0
        number = loop_index(index) - first
        segment = start + number * length if length > 1 else loop_index(index)
        save, restore = self.checkpoint(number, count, length, memory)
        ahead = Loop(
            index=index,
            start=first,
            step=1,
            trips=count,
            body=(*save, *self.forward(segment, length, memory, caches=False)),
            line=self.line,
        )
        back = Loop(index=index, start=ahead.last, step=-1, trips=count, body=(), line=self.line)
        around = (*around, back)
        inner, inner_back = self.segments(segment, length, lengths[1:], self.private, around)
        if length == 1:
            inner, inner_back = self.cutter.cut(inner, inner_back, around, self.depth + 1)
            self.builder.line = self.line
        back = replace(back, body=(*restore, *inner, *inner_back))
        rest = start + count * length
        return (
            (ahead, *self.forward(rest, left, memory, caches=True)),
            (*self.backward(rest, left), back),
        )

    def checkpoint(self, number: Extent, count: int, length: int, memory: Memory) -> tuple[Block, Block]:
        """Save the state to the checkpoint of that number, of `count`; and take it from there to private memory."""
        save: list[Operation] = []
        restore: list[Operation] = []
        for id in self.again.state:
            buffer = self.builder.buffers[id]
            what = f"{count} segments of {length} iterations" if length > 1 else f"{count} iterations"
            label = f"{buffer.label} at the start of each of {what}, which the reverse sweep runs again"
            shape = (count, *buffer.shape)
            place = self.builder.new_buffer("cache", label, buffer.dtype, contiguous(shape))
            region = Region(place.id, View(number * buffer.view.size, buffer.shape, c_strides(buffer.shape)))
            save += self.transfer(self.whole(id if memory is None else memory[id]), region)
            restore += self.transfer(region, self.whole(self.private[id]))
        return tuple(save), tuple(restore)

    def whole(self, id: int) -> Region:
        return self.builder.buffers[id].whole

    def transfer(self, source: Region, target: Region) -> Block:
        out = self.builder.new_value(source.shape, self.builder.buffers[source.buffer].dtype)
        return Load(out=out, region=source, line=self.line), Store(region=target, value=out, line=self.line)

    def forward(self, start: Extent, trips: int, memory: Memory, caches: bool) -> Block:
        """So many iterations from `start` on, which run on `memory`."""
        if not trips:
            return ()
        moved = dict(memory or {}) | (self.caches if caches else {})
        new = self.builder.new_value
        body = Copy(new, chosen=self.chosen(memory, caches), placed=lambda region: self.placed(region, start, moved))
        before: Block = ()
        if caches:
            prelude = Copy(new, placed=lambda region: self.placed(region, start, moved))
            before = prelude.block(self.pair.prelude)
        return (*before, *self.looped(start, 1, trips, body.block(self.pair.primal.body)))

    def chosen(self, memory: Memory, caches: bool) -> Callable[[Operation], bool]:
        """Which operations of the primal's body take part."""
        if memory is not None:
            return self.again.keeps if caches else self.advancing.keeps
        if caches:
            return lambda op: True
        return lambda op: not any(r.buffer in self.caches for r in op.writes) or bool(op.blocks)

    def backward(self, start: Extent, trips: int) -> Block:
        """The reverse of so many iterations from `start` on."""
        if not trips:
            return ()
        body = Copy(self.builder.new_value, placed=lambda region: self.placed(region, start, self.caches))
        return self.looped(start + (trips - 1), -1, trips, body.block(self.pair.adjoint.body))

    def looped(self, start: Extent, step: int, trips: int, body: Block) -> Block:
        """`body` in a loop; as it is, where a loop around it has its index."""
        if start == loop_index(self.index):
            return body
        return (Loop(index=self.index, start=start, step=step, trips=trips, body=body, line=self.line),)

    def placed(self, region: Region, start: Extent, moved: Mapping[int, int]) -> Region:
        """`region` in a copy of the body: on other buffers, and in caches at places counted from iteration `start`."""
        view = region.view
        if region.buffer in self.caches:
            number = loop_index(self.index) - start + self.pair.primal.start
            view = replace(view, offset=substitute(view.offset, self.index, number))
        return Region(moved.get(region.buffer, region.buffer), view)


@dataclass(kw_only=True)
class Copy(Copier):
    """Copies those operations that are `chosen`, with their regions `placed`."""

    chosen: Callable[[Operation], bool] = lambda op: True
    placed: Callable[[Region], Region]

    def block(self, block: Iterable[Operation]) -> Block:
        return tuple(self.copy(op) for op in block if self.chosen(op))

    def renamed(self, item: Any) -> Any:
        match item:
            case Region():
                return self.placed(item)
            case tuple() if item and isinstance(item[0], Operation):
                return self.block(item)
        return super().renamed(item)
