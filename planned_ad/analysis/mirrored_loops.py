"""Loops and branches of a reverse sweep beside those of the primal that they mirror, and the caches between the two.

Requires of an adjoint that each loop or branch in a block of the primal that may run has one in the mirrored block,
in reverse order, even where there is nothing to do in it. Loops of other indices belong to the adjoint alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..regions.affine import Ragged, coefficient
from ..regions.regions import Region
from ..tape.tape import Buffer, Load, Loop, Operation, Scatter, Store, walk
from .enclosing import never_runs

Block = tuple[Operation, ...]


def children(block: Block, mirrored: Block) -> Iterator[tuple[int, Operation, Operation]]:
    """The loops and branches of `block`, last first: the position, the operation, and its adjoint in `mirrored`."""
    own = [(position, op) for position, op in enumerate(block) if op.blocks and not never_runs(op)]
    indices = {op.index for _, op in own if isinstance(op, Loop)}
    adjoints = (o for o in mirrored if o.blocks and not (isinstance(o, Loop) and o.index not in indices))
    yield from ((k, op, adjoint) for (k, op), adjoint in zip(own[::-1], adjoints, strict=True))


def is_idle(op: Operation) -> bool:
    """Whether nothing is written in the blocks of `op`."""
    return not any(inner.writes for inner in walk(tuple(o for block in op.blocks for o in block)) if not inner.blocks)


def without_dead(op: Operation) -> Operation:
    """`op` with no operation left that nothing depends on, but for loops and branches, which may be empty."""
    return op.with_blocks(*map(live, op.blocks))


def live(block: Sequence[Operation]) -> Block:
    """A block without values that nothing uses."""
    kept: list[Operation] = []
    wanted: set[int] = set()
    for op in reversed(block):
        op = without_dead(op)
        if op.blocks:
            used = op.inputs if any(op.blocks) else ()
        elif not op.outputs or any(v.id in wanted for v in op.outputs):
            used = op.inputs
        else:
            continue
        wanted.update(v.id for v in used)
        kept.append(op)
    return tuple(reversed(kept))


# Loops that can be run segment by segment.


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCache:
    """A cache with places for each iteration of a loop along one of its axes; those before it are of loops around.

    `extra`: places more than iterations.
    """

    buffer: Buffer
    axis: int
    extra: int

    @property
    def nbytes(self) -> int:
        """Of the places of one iteration."""
        return self.buffer.view.strides[self.axis] * self.buffer.dtype.itemsize

    def shape(self, places: int) -> tuple[int, ...]:
        """The shape with places for another number of iterations."""
        shape = self.buffer.shape
        return (*shape[: self.axis], places + self.extra, *shape[self.axis + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPair:
    """`primal` stores to `caches`, `adjoint` runs through the same iterations backwards and loads from them.

    `prelude` stands before `primal` in its block: it stores what the first iteration finds in memory.
    """

    primal: Loop
    adjoint: Loop
    caches: tuple[PairCache, ...]
    prelude: Block = ()

    @property
    def nbytes(self) -> int:
        """Of what is kept of one iteration."""
        return sum(cache.nbytes for cache in self.caches)


def pairs_in(
    buffers: Sequence[Buffer], primal: Sequence[Operation], adjoint: Sequence[Operation], depth: int = 0
) -> list[LoopPair]:
    """The loops of a block that can be run segment by segment.

    `primal` and `adjoint` are the operations of one block, or of mirrored blocks, inside of `depth` loops. A loop is
    left out where its number of iterations is known at run time only, and where other operations have to do with its
    caches.
    """
    mirrored = {op.index: op for op in adjoint if isinstance(op, Loop)}
    found = []
    for op in primal:
        if isinstance(op, Loop) and op.index in mirrored:
            pair = pair_of(buffers, primal, adjoint, op, mirrored[op.index], depth)
            if pair is not None:
                found.append(pair)
    return found


def pair_of(
    buffers: Sequence[Buffer],
    primal: Sequence[Operation],
    adjoint: Sequence[Operation],
    loop: Loop,
    mirror: Loop,
    depth: int,
) -> LoopPair | None:
    if loop.count is not None or isinstance(loop.trips, Ragged) or loop.trips < 2 or loop.step != 1:
        return None
    if (mirror.start, mirror.step, mirror.trips, mirror.count) != (loop.last, -1, loop.trips, None):
        return None
    inside = list(walk((loop,)))
    loaded = {op.region.buffer for op in inside if isinstance(op, Load)}  # of caches, what the loop itself decides by
    stored = {r.buffer for op in inside for r in op.writes if buffers[r.buffer].kind == "cache"} - loaded
    caches = []
    for id in sorted(stored):
        accesses = [op.region for op in cache_accesses((loop, mirror), {id})]
        cache = cache_of(buffers[id], loop, accesses, depth)
        if cache is None:
            return None
        caches.append(cache)
    if not caches:
        return None
    others = [op for op in (*primal, *adjoint) if op is not loop and op is not mirror]
    outside = list(cache_accesses(others, stored))
    prelude = prelude_of(primal, loop, stored)
    if prelude is None or len(outside) != sum(isinstance(op, Store) for op in prelude):
        return None
    return LoopPair(primal=loop, adjoint=mirror, caches=tuple(caches), prelude=prelude)


def cache_accesses(operations: Sequence[Operation], caches: set[int]) -> Iterator[Load | Store | Scatter]:
    for op in walk(tuple(operations)):
        if isinstance(op, Load | Store | Scatter) and op.region.buffer in caches:
            yield op


def cache_of(buffer: Buffer, loop: Loop, accesses: Sequence[Region], axis: int) -> PairCache | None:
    """`buffer` as a cache with places for each iteration of `loop` along `axis`; None where it is not that."""
    moves = {coefficient(r.view.offset, loop.index) for r in accesses}
    if axis >= len(buffer.shape) or moves != {buffer.view.strides[axis]}:
        return None
    extra = buffer.shape[axis] - loop.trips
    return PairCache(buffer=buffer, axis=axis, extra=extra) if extra in (0, 1) else None


def prelude_of(primal: Sequence[Operation], loop: Loop, stored: set[int]) -> Block | None:
    """What of the block stores to the caches before the loop: loads and stores of memory; None for anything else."""
    loads: dict[int, Load] = {}
    found: list[Operation] = []
    for op in primal:
        if op is loop:
            return tuple(found)
        if isinstance(op, Load):
            loads[op.out.id] = op
        elif isinstance(op, Store) and op.region.buffer in stored:
            if op.value.id not in loads:
                return None
            found += [loads[op.value.id], op]
    return None
