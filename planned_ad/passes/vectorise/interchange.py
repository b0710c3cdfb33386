"""A loop over items around loops over time becomes loops over time around operations on all items.

>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     s = 0.0
...     for i in range(30):
...         v = x[0, i]
...         for t in range(1, 50):
...             v = np.sin(v) * x[t, i]
...         s += v
...     return s
>>> tape = trace(f, (np.zeros((50, 30)),), unroll=1).tape
>>> print(brief(tape))
v0 = 0.0
s#2[...] = v0
for i0 in range(0, 30, 1):
    v1 = s#2[...]
    v2 = x[0, i0]
    v#1[...] = v2
    for i1 in range(0, 49, 1):
        v3 = v#1[...]
        v4 = sin(v3)
        v5 = x[i1 + 1, i0]
        v6 = multiply(v4, v5)
        v#1[...] = v6
    v7 = v#1[...]
    v8 = add(v1, v7)
    s#2[...] = v8
    after#3[...] = v7
v9 = s#2[...]
v10 = after#3[...]
return v9
>>> print(brief(vectorise(tape)))
v0 = 0.0
v10: float64[30] = x[0, :]
v#4[...] = v10
for i1 in range(0, 49, 1):
    v11: float64[30] = v#4[...]
    v12: float64[30] = sin(v11)
    v13: float64[30] = x[i1 + 1, :]
    v14: float64[30] = multiply(v12, v13)
    v#4[...] = v14
v15: float64[30] = v#4[...]
v17 = reduce_sum(v15, axes=(0,))
v18 = add(v0, v17)
return v18

Requires a loop whose iterations may run in any order, around loops that stay loops, whose iterations may not; ensures
the same numbers, up to the order of sums. The body is cut at the loops inside (loop distribution), what one part makes
for another gets a place for each item (scalar expansion), and the loops change places (loop interchange; Allen and
Kennedy, Optimizing Compilers for Modern Architectures, 2001, ch. 5). The planner then runs items in blocks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from ...analysis.enclosing import certainly_runs, indices_of, inside
from ...analysis.independence import EXTREMA, NotIndependent, check_nest
from ...analysis.mirrored_loops import live
from ...regions.affine import Ragged
from ...regions.bounds import Iterations
from ...regions.regions import Region, contiguous
from ...tape.builder import TapeBuilder
from ...tape.tape import Apply, Constant, IndexValue, Load, Loop, Operation, Store, Value, walk
from .coalescing import coalesced, touches_memory
from .lifting import SHORT
from .own_memory import accesses_in, own_buffer, place_in_own, with_own_memory
from .selection import without_branches

LEAST_ITEMS = 8  # items: with fewer, vectors stay empty

Lift = Callable[[Loop, tuple[Loop, ...]], "tuple[Operation, ...] | None"]


@dataclass(slots=True)
class Straight:
    """Operations of a block between two loops, or between a loop and an end."""

    operations: list[Operation]
    copied: list[Operation] = field(default_factory=list)  # to go in front of them
    kept: list[Operation] = field(default_factory=list)  # to go behind them


@dataclass(slots=True)
class InnerLoop:
    """A loop inside, in parts."""

    loop: Loop
    parts: Block


Block = list[Straight | InnerLoop]


def interchanged(
    builder: TapeBuilder,
    loop: Loop,
    around: tuple[Loop, ...],
    iterations: Iterations,
    accesses: Mapping[int, int],
    constants: Mapping[int, np.ndarray],
    private: Mapping[int, int],
    lift: Lift,
) -> tuple[Operation, ...]:
    """The loop with its loops outside; raises `NotIndependent` or `NotSelectable` where it stays as it is.

    `lift` writes a loop, inside of others, as array operations, or returns None.
    """
    check_form(loop)
    parts = cut_at_loops(coalesced(builder.buffers, loop, accesses).body)
    expand_scalars(builder, loop, parts)
    for part in straight_parts(parts):
        operations = live(part.operations)
        if any(op.blocks for op in operations):
            operations = without_branches(builder, operations, constants, private, inside(iterations, loop))
        part.operations = list(operations)
    cut = replace(loop, body=joined_parts(parts))
    own = with_own_memory(builder, cut, also_in(cut, accesses, loop))
    check_nest(builder.buffers, own.loop, around)
    return with_loops_outside(own.loop, own.loop.body, around, lift) + builder.recorded(lambda: own.put_back(builder))


def check_form(loop: Loop) -> None:
    """Refuses loops that may stop, or differ between items, and what fills vectors by itself."""
    if loop.stops or isinstance(loop.trips, Ragged) or abs(loop.step) != 1 or not certainly_runs(loop):
        raise NotIndependent("its iterations are counted at run time")
    if loop.trips < LEAST_ITEMS:
        raise NotIndependent("there are few items")
    made = {v.id for op in walk(loop.body) for v in op.outputs}
    for op in walk(loop.body):
        if isinstance(op, Loop):
            counted_here = op.count is not None and op.count.id in made
            if op.stops or counted_here or loop.index in indices_of(op):
                raise NotIndependent("a loop inside differs between iterations")
        elif op.blocks and any(isinstance(inner, Loop) for inner in walk((op,))):
            raise NotIndependent("a loop inside is run on one side of a branch")
        elif not op.blocks:
            shapes = (*(v.shape for v in op.outputs), *(r.shape for r in (*op.reads, *op.writes)))
            if any(math.prod(shape) > SHORT for shape in shapes):
                raise NotIndependent("its arrays are large enough as they are")


def cut_at_loops(block: tuple[Operation, ...]) -> Block:
    """A block in parts, and so are the loops in it."""
    found: Block = []
    for is_loop, operations in itertools.groupby(block, key=lambda op: isinstance(op, Loop)):
        if is_loop:
            found += [InnerLoop(op, cut_at_loops(op.body)) for op in operations if isinstance(op, Loop)]
        else:
            found.append(Straight(list(operations)))
    return found


def straight_parts(parts: Sequence[Straight | InnerLoop]) -> Iterator[Straight]:
    """All of them, in order."""
    for part in parts:
        if isinstance(part, InnerLoop):
            yield from straight_parts(part.parts)
        else:
            yield part


def joined_parts(parts: Block) -> tuple[Operation, ...]:
    """The block of these parts."""
    found: list[Operation] = []
    for part in parts:
        if isinstance(part, InnerLoop):
            found.append(replace(part.loop, body=joined_parts(part.parts)))
        else:
            found += part.operations
    return tuple(found)


def expand_scalars(
    builder: TapeBuilder, loop: Loop, parts: Sequence[Straight | InnerLoop], again: Set[int] = frozenset()
) -> None:
    """Each part gets what it uses of others: it makes it again, or finds it where each item has a place for it.

    `again`: values that operations are done again for, and that need no memory which is written to.
    """
    expansion = Expansion(builder, loop, parts, again)
    for part in straight_parts(parts):
        for op in part.operations:
            for value in op.inputs:
                expansion.provide(part, value)
    for part in straight_parts(parts):
        part.operations = [*part.copied, *part.operations, *part.kept]


class Expansion:
    """What parts use of one another.

    Loads that a sum begins with go to the part that stores the sum, as do the additions in between.
    """

    def __init__(self, builder: TapeBuilder, loop: Loop, parts: Sequence[Straight | InnerLoop], again: Set[int]):
        self.builder, self.loop, self.again = builder, loop, again
        everything = list(straight_parts(parts))
        self.makers = {v.id: (part, op) for part in everything for op in part.operations for v in op.outputs}
        self.written = {region.buffer for part in everything for op in part.operations for region in op.writes}
        self.sums = dict(begun_sums(parts))
        self.places: dict[int, Region] = {}

    def provide(self, part: Straight, value: Value) -> None:
        """A value is there where the operations of `part` begin, or is made by them."""
        maker, op = self.makers.get(value.id, (part, None))
        if maker is part or op is None or any(value.id == v.id for copied in part.copied for v in copied.outputs):
            return
        if isinstance(op, Apply) and (value.id in self.again or self.begins_a_sum(op, part)):
            for operand in op.operands:
                self.provide(part, operand)
            part.copied.append(op)
        elif self.is_there(op, part):
            part.copied.append(op)
        else:
            part.copied.append(Load(out=value, region=self.kept(maker, op, value), line=op.line))

    def is_there(self, op: Operation, part: Straight) -> bool:
        """Whether `op` finds in `part` what it found before."""
        if isinstance(op, Load):
            return op.region.buffer not in self.written or self.sums.get(op.out.id) is part
        return isinstance(op, Constant | IndexValue)

    def begins_a_sum(self, op: Apply, part: Straight) -> bool:
        if op.primitive not in ("add", "subtract", *EXTREMA):
            return False
        makers = (self.makers[v.id][1] for v in op.operands if v.id in self.makers)
        return any(self.begins_a_sum(made, part) for made in makers if isinstance(made, Apply)) or any(
            self.sums.get(v.id) is part for v in op.operands
        )

    def kept(self, maker: Straight, op: Operation, value: Value) -> Region:
        """Where a value is kept for other parts."""
        if value.id not in self.places:
            self.builder.line = op.line
            own = own_buffer(self.builder, self.loop, expanded_label(op), value.dtype, value.shape)
            self.places[value.id] = region = place_in_own(own, self.loop, contiguous(value.shape))
            maker.kept.append(Store(region=region, value=value, line=op.line))
        return self.places[value.id]


def begun_sums(parts: Sequence[Straight | InnerLoop]) -> Iterator[tuple[int, Straight]]:
    """Of loads (what they define): the later part that stores to that memory, which nothing else in between touches."""
    for first, part in enumerate(parts):
        if isinstance(part, InnerLoop):
            yield from begun_sums(part.parts)
            continue
        for load in part.operations:
            if isinstance(load, Load):
                target = where_stored(load, parts[first:])
                if target is not None:
                    yield load.out.id, target


def where_stored(load: Load, parts: Sequence[Straight | InnerLoop]) -> Straight | None:
    """The part that stores to what `load`, of the first part, has loaded; None where another access comes between."""
    found: list[Operation] = []
    for part in parts:
        found += [op for op in all_operations(part) if touches_memory(op, load.region.buffer)]
        if len(found) > 1:
            store = found[1]
            is_back = isinstance(store, Store) and not store.accumulate and store.region == load.region
            is_later = len(found) == 2 and part is not parts[0]
            return part if is_back and is_later and isinstance(part, Straight) else None
    return None


def all_operations(part: Straight | InnerLoop) -> Iterator[Operation]:
    """Of a part, or of all in a loop."""
    for straight in straight_parts([part]):
        yield from straight.operations


def expanded_label(op: Operation) -> str:
    """What the memory is called that its value is put into."""
    return op.title if isinstance(op, Apply) else "expanded"


def also_in(cut: Loop, accesses: Mapping[int, int], loop: Loop) -> dict[int, int]:
    """How often each memory is touched in the whole program, with `cut` in the place of `loop`."""
    before, after = (accesses_in(op for op in walk(own.body) if not op.blocks) for own in (loop, cut))
    return {id: count - before.get(id, 0) + after.get(id, 0) for id, count in accesses.items()}


def with_loops_outside(
    loop: Loop, body: tuple[Operation, ...], around: tuple[Loop, ...], lift: Lift
) -> tuple[Operation, ...]:
    """A block of the body, of all items: its parts by `lift`, its loops around their parts."""
    found: list[Operation] = []
    for is_loop, operations in itertools.groupby(body, key=lambda op: isinstance(op, Loop)):
        if is_loop:
            for op in operations:
                assert isinstance(op, Loop)
                found.append(replace(op, body=with_loops_outside(loop, op.body, (*around, op), lift)))
            continue
        lifted = lift(replace(loop, body=tuple(operations)), around)
        if lifted is None:
            raise NotIndependent("a part of it is no array operation")
        found += lifted
    return tuple(found)
