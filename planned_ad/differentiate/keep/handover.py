"""Hand values from the blocks of the primal to the blocks of its adjoint, in the ways that `kept_values` chooses."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...analysis.dependence import Access, Overwrites, Place
from ...analysis.equal_values import EqualValues, Made
from ...analysis.mirrored_loops import children, is_idle, mirrored_blocks, with_mirrored_blocks, without_dead
from ...errors import UnsupportedError
from ...regions.affine import Extent, loop_index, substitute
from ...regions.regions import Region, View, c_strides, contiguous
from ...tape.builder import TapeBuilder
from ...tape.tape import Branch, Buffer, Load, Loop, Operation, Scatter, Store, Value, renamed, walk
from .kept_values import Decisions, Snapshot

BlockKey = tuple[tuple[int, int], ...]

MOST_PLACES = 1 << 36  # elements of one cache: more is no plan


def hand_over(
    builder: TapeBuilder, overwrites: Overwrites, place: Place, primal: Operation, adjoint: Operation
) -> tuple[tuple[Operation, ...], Operation | None]:
    """The two with all that the adjoint reads of blocks of the primal: stored in one, loaded or computed in the other.

    Requires `adjoint` to mirror `primal`, which stands at `place` among the operations of the tape, and to name the
    primal's values. Returns the primal (and what comes before it), and None for an adjoint that writes nothing.
    """
    adjoint = without_dead(adjoint)
    if is_idle(adjoint):
        return (primal,), None
    values = EqualValues(primal, place)
    needs = {values.first[v.id] for op in walk((adjoint,)) for v in read_by(op) if v.id in values.first}
    exact = {values.first[v.id] for op in walk((adjoint,)) for v in read_exactly(op) if v.id in values.first}
    decisions = Decisions(overwrites, values, exact)
    transfer = Transfer(builder, values, decisions, sources=decisions.sources(needs))
    transfer.provide(primal, place)
    adjoint = transfer.with_prologues(primal, adjoint, place)
    return (*transfer.starts.get((), ()), *transfer.with_stores(primal, place)), renamed(adjoint, transfer.names)


def read_by(op: Operation) -> tuple[Value, ...]:
    """The values that `op` itself reads, apart from what is inside its blocks."""
    if isinstance(op, Branch):
        return (op.predicate,) if any(op.blocks) else ()
    if isinstance(op, Loop):
        return () if op.count is None else (op.count,)
    return op.inputs


def read_exactly(op: Operation) -> tuple[Value, ...]:
    """Of these, the ones of which another rounding would be another program: what is branched and indexed by."""
    if isinstance(op, Branch):
        return read_by(op)
    if isinstance(op, Scatter):
        return op.indices
    return tuple(v for v in read_by(op) if v.dtype.kind in "iu")


class Transfer:
    """Write what was decided: stores into the primal's blocks, loads and repeated operations into the adjoint's."""

    def __init__(
        self,
        builder: TapeBuilder,
        values: EqualValues,
        decisions: Decisions,
        sources: dict[int, Access | Snapshot | str],
    ):
        self.builder = builder
        self.values = values
        self.decisions = decisions
        self.sources = sources
        self.names: dict[int, Value] = {}  # what the adjoint calls each of the primal's values
        self.stores: dict[BlockKey, Store] = {}  # by the place of the operation that they follow
        self.preludes: dict[BlockKey, list[Operation]] = defaultdict(list)  # by the place of the loop after them
        kept = {id for id, source in sources.items() if source == "keep"}
        self.before = decisions.pairs(kept)
        self.after = {before: after for after, before in self.before.items()}
        self.shared: dict[int, Region] = {}  # of the values of these pairs: their memory
        self.copies: dict[Snapshot, Region] = {}
        self.starts: dict[BlockKey, list[Operation]] = defaultdict(list)  # of blocks; () is before everything
        self.prologues: dict[BlockKey, list[Operation]] = defaultdict(list)

    def provide(self, op: Operation, place: Place) -> None:
        """Decide on names for all values in blocks of `op`, in order, so that operands come first."""
        for number, block in enumerate(op.blocks):
            start = place.inside(op, number)
            for position, inner in enumerate(block):
                for value in inner.outputs:
                    first = self.values.first[value.id]
                    if first == value.id and first in self.sources:
                        self.prologues[start.steps[:-1]].append(self._prepared(value))
                    elif self.decisions.is_outside(first):
                        self.names[value.id] = self.values.values[first]
                    elif first in self.names:
                        self.names[value.id] = self.names[first]
                self.provide(inner, start.at(position))

    def _prepared(self, value: Value) -> Operation:
        """The operation by which the adjoint gets `value`."""
        made, source = self.values.made[value.id], self.sources[value.id]
        out = self.names[value.id] = self.builder.new_value(value.shape, value.dtype)
        if isinstance(source, Access):
            return Load(out=out, region=source.region, line=source.operation.line)
        if isinstance(source, Snapshot):
            assert isinstance(made.operation, Load)
            view, copy = made.operation.region.view, self._copied(source, value)
            region = Region(copy.buffer, View(copy.view.offset + view.offset, view.shape, view.strides))
            return Load(out=out, region=region, line=made.operation.line)
        if source == "keep":
            region = self._place_for(value)
            if value.id not in self.after:
                self.stores[made.place.steps] = Store(region=region, value=value, line=made.operation.line)
            return Load(out=out, region=region, line=made.operation.line)
        return replace(renamed(made.operation, self.names), out=out)  # type: ignore[call-arg]

    def _place_for(self, value: Value) -> Region:
        """A place for `value` in each iteration of the loops around it."""
        if value.id in self.before and value.id not in self.shared:
            self._place_for(self.values.values[self.before[value.id]])
        if value.id in self.shared:
            return self.shared[value.id]
        made, later = self.values.made[value.id], self.after.get(value.id)
        loops = made.place.loops
        trips = [int(loop.trips) for loop in loops]
        if later is not None:
            trips[-1] += 1
        shape = (*trips, *map(int, value.shape))
        strides = c_strides(shape)
        self.builder.line = made.operation.line
        cache = self._cache(value, value.dtype, shape)
        offset = iteration(loops, strides)
        inner = strides[len(loops) :]
        if later is not None:
            step = strides[len(loops) - 1]
            self.shared[later] = Region(cache.id, View(offset + step, value.shape, inner))
            first = substitute(offset, loops[-1].index, loops[-1].start)
            self._store_first(made, Region(cache.id, View(first, value.shape, inner)))
            self.shared[value.id] = Region(cache.id, View(offset, value.shape, inner))
        return Region(cache.id, View(offset, value.shape, inner))

    def _cache(self, value: Value, dtype: np.dtype, shape: tuple[int, ...]) -> Buffer:
        """Memory to keep `value` in, for all iterations of the loops around."""
        line = self.builder.line
        if math.prod(shape) > MOST_PLACES:
            raise UnsupportedError(
                f"{line}: `{line.text}` is needed by the derivative in each iteration of a loop whose length is known "
                f"only at run time, without a bound, so there is no telling how much to keep. Give the loop a bound "
                f"that is known when tracing, or write it so that its derivative needs only what stays in memory."
            )
        return self.builder.new_buffer("cache", self.decisions.reason(value.id), dtype, contiguous(shape))

    def _copied(self, copy: Snapshot, value: Value) -> Region:
        """Where the copy of a buffer is, in each iteration of the loops around; `value` is one that is found there."""
        if copy not in self.copies:
            buffer, loops = self.builder.buffers[copy.buffer], copy.loops
            shape = (*(int(loop.trips) for loop in loops), buffer.span)
            line = self.builder.line = self.values.made[value.id].operation.line
            cache = self._cache(value, buffer.dtype, shape)
            region = Region(cache.id, View(iteration(loops, c_strides(shape)), (buffer.span,), (1,)))
            out = self.builder.new_value((buffer.span,), buffer.dtype)
            whole = Region(buffer.id, View(buffer.low, (buffer.span,), (1,)))
            self.starts[copy.steps] += (
                Load(out=out, region=whole, line=line),
                Store(region=region, value=out, line=line),
            )
            self.copies[copy] = Region(cache.id, View(region.view.offset - buffer.low, (buffer.span,), (1,)))
        return self.copies[copy]

    def _store_first(self, made: Made, region: Region) -> None:
        """Before the loop, keep what its first iteration loads."""
        assert isinstance(made.operation, Load)
        out = self.builder.new_value(made.operation.out.shape, made.operation.out.dtype)
        line = made.operation.line
        self.preludes[(*made.place.steps[:-2], (made.place.steps[-2][0], 0))] += (
            replace(made.operation, out=out),
            Store(region=region, value=out, line=line),
        )

    def with_stores(self, op: Operation, place: Place) -> tuple[Operation, ...]:
        """`op` with what has to be kept stored as soon as it is made, and the operations around it for that."""
        blocks = []
        for number, block in enumerate(op.blocks):
            start = place.inside(op, number)
            rest = (o for k, inner in enumerate(block) for o in self.with_stores(inner, start.at(k)))
            blocks.append((*self.starts.get(start.steps[:-1], ()), *rest))
        store = self.stores.get(place.steps)
        return (*self.preludes.get(place.steps, ()), op.with_blocks(*blocks), *([store] if store else []))

    def with_prologues(self, op: Operation, adjoint: Operation, place: Place) -> Operation:
        """`adjoint`, a block of which begins by getting the values of the block of `op` that it mirrors."""
        blocks = []
        for number, (block, mirrored) in enumerate(zip(op.blocks, mirrored_blocks(op, adjoint), strict=True)):
            start = place.inside(op, number)
            inner = {id(a): self.with_prologues(o, a, start.at(k)) for k, o, a in children(block, mirrored)}
            body = [inner.get(id(o), o) for o in mirrored if not (o.blocks and is_idle(o))]
            blocks.append((*self.prologues[start.steps[:-1]], *body))
        return with_mirrored_blocks(op, adjoint, tuple(blocks))


def iteration(loops: Sequence[Loop], strides: Sequence[int]) -> Extent:
    """Where the places of this iteration begin; each loop counts from its first iteration."""
    offset: Extent = 0
    for loop, stride in zip(loops, strides):
        offset += (loop_index(loop.index) - loop.start) * (stride * loop.step)
    return offset
