"""Private numbers, or small arrays, of one name lie side by side: variables of statements that are written many times.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> class Particle:
...     def __init__(self, place):
...         self.place = place
>>> def f(x):
...     particles = [Particle(x[0]), Particle(x[1])]
...     for _ in range(100):
...         for p in particles:
...             p.place = 0.9 * p.place
...     return particles[0].place
>>> tape = trace(f, (np.zeros(2),), unroll=1).tape
>>> print(brief(tape))
v0 = x[0]
v1 = x[1]
v2 = 0.9
Particle.place#1[...] = v1
Particle.place#2[...] = v0
for i0 in range(0, 100, 1):
    v3 = Particle.place#1[...]
    v4 = Particle.place#2[...]
    v5 = multiply(v2, v4)
    v6 = multiply(v2, v3)
    Particle.place#1[...] = v6
    Particle.place#2[...] = v5
v7 = Particle.place#1[...]
v8 = Particle.place#2[...]
return v8
>>> loop = next(op for op in tape.operations if op.blocks)
>>> print(brief(cells_side_by_side(tape, loop.blocks, fewest=2)))
v0 = x[0]
v1 = x[1]
v2 = 0.9
Particle.place#3[0] = v1
Particle.place#3[1] = v0
for i0 in range(0, 100, 1):
    v3 = Particle.place#3[0]
    v4 = Particle.place#3[1]
    v5 = multiply(v2, v4)
    v6 = multiply(v2, v3)
    Particle.place#3[0] = v6
    Particle.place#3[1] = v5
v7 = Particle.place#3[0]
v8 = Particle.place#3[1]
return v8

Requires a primal tape; ensures the same numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import replace

from ...regions.regions import Region, contiguous
from ...tape.builder import rebuilt, written_anew
from ...tape.tape import Buffer, Load, Operation, Store, Tape, walk

FEWEST = 16  # of one name
LARGEST = 16  # numbers of each


def cells_side_by_side(tape: Tape, blocks: Iterable[tuple[Operation, ...]], fewest: int = FEWEST) -> Tape:
    """Requires a primal tape; ensures the same numbers. Of what `blocks` look at, in that order."""
    cells: dict[int, tuple[int, int]] = {}  # array, and where in it
    builder = rebuilt(tape)
    for block in blocks:
        accessed = {r.buffer: None for op in block if isinstance(op, Load | Store) for r in (*op.reads, *op.writes)}
        numbers = [tape.buffers[id] for id in accessed if id not in cells]
        of_kind: defaultdict[Hashable, list[Buffer]] = defaultdict(list)
        for buffer in numbers:
            if buffer.kind == "local" and buffer.view == contiguous(buffer.shape) and 0 < buffer.view.size <= LARGEST:
                of_kind[buffer.label, buffer.dtype, buffer.shape].append(buffer)
        for some in of_kind.values():
            if len(some) < fewest:
                continue
            first = some[0]
            builder.line = first.line
            array = builder.new_buffer("local", first.label, first.dtype, contiguous((len(some), *first.shape)))
            for k, buffer in enumerate(some):
                cells[buffer.id] = array.id, k * first.view.size
    touching = (op for op in walk(tape.operations) if not isinstance(op, Load | Store) and not op.blocks)
    others = {r.buffer for op in touching for r in (*op.reads, *op.writes)}
    cells = {id: place for id, place in cells.items() if id not in others}
    if not cells:
        return tape

    def write(op: Operation) -> None:
        if isinstance(op, Load | Store) and op.region.buffer in cells:
            array, first = cells[op.region.buffer]
            view = replace(op.region.view, offset=op.region.view.offset + first)
            builder.emit(replace(op, region=Region(array, view)))
        else:
            builder.emit(builder.with_written_blocks(op, write))

    return written_anew(tape, builder, write)
