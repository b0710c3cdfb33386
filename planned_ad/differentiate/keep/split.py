"""Split a differentiated tape where it turns: into the primal, and a reverse sweep that can run later.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda x: np.sum(np.exp(x)), (np.zeros(4),)).tape
>>> tape = simplify(reverse(tape, accumulate=True, keep_results=True))
>>> print(brief(tape))
v0: float64[4] = x[...]
v1: float64[4] = exp(v0)
v2 = reduce_sum(v1, axes=(0,))
result#1[...] = v2
# reverse sweep
dx#2[...] += v1
>>> halves = split(tape)
>>> print(brief(halves.forward))
v0: float64[4] = x[...]
v1: float64[4] = exp(v0)
v2 = reduce_sum(v1, axes=(0,))
result#1[...] = v2
kept#3[...] = v1
>>> print(brief(halves.reverse))
# reverse sweep
v1: float64[4] = kept#3[...]
dx#2[...] += v1

Requires a simplified tape with a reverse sweep that accumulates; ensures that the second half, run any number of times
later on what the first has left, has the effects of the sweep.

What the sweep needs of the primal crosses in buffers of kind 'tape': memory of the caller's, which the first half fills
and the second only reads. What lies in memory of the primal's own (caches, large local arrays) is written to the tape
at once. Arguments are copied, since the caller may overwrite them between the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ...analysis.dependence import WriteHistory
from ...passes.boundary import move, privatise
from ...passes.pipeline import simplify
from ...python.source import UNKNOWN, Line
from ...regions.regions import Region, View, contiguous
from ...tape.builder import TapeBuilder, rebuilt
from ...tape.tape import Apply, Buffer, Constant, Guard, Load, Operation, Tape, walk
from .crossing import SMALL, Crossing, is_copied, is_of_sweep
from .sources import Again, Kept, Loaded, Source, read_again

ALIGNMENT = 64  # of memory from SMALL on


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTape:
    """What crosses on the tape: `buffer` of both halves, and why."""

    buffer: int
    nbytes: int
    reason: str
    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """The two tapes, which share their buffers; where each buffer lies on the tape; what is kept and computed again."""

    forward: Tape
    reverse: Tape
    offsets: dict[int, int]
    nbytes: int
    kept: tuple[OnTape, ...]
    again: tuple[Apply, ...]


def split(tape: Tape) -> Halves:
    """Requires a simplified tape with a reverse sweep that accumulates; its results are stored to memory.

    Ensures that the first tape has the effects of the primal, and that the second, run any number of times later on
    what the first has left in the buffers of kind 'tape', has those of the sweep. Neither reads what the other half's
    caller brings.
    """
    primal, sweep = divided(tape)
    crossing = Crossing(tape, primal, sweep)
    sources = crossing.chosen()
    writer = Writer(crossing, rebuilt(tape))
    for id in sorted(crossing.whole):
        writer.keep_buffer(id)
    loads = writer.keep_values(sorted(id for id, source in sources.items() if isinstance(source, Kept)))
    again = writer.had_again(sources)
    return writer.halves([*loads, *again], tuple(op for op in again if isinstance(op, Apply)))


def divided(tape: Tape) -> tuple[list[Operation], list[Operation]]:
    """The operations of both halves: what the sweep loads of the primal's memory belongs to the first."""
    primal = list(tape.operations[: tape.turn])
    sweep: list[Operation] = []
    history = WriteHistory(replace(tape, operations=tape.operations[tape.turn :], turn=0))
    for k, op in enumerate(tape.operations[tape.turn :]):
        assert not any(isinstance(o, Guard) for o in walk((op,))), "the reverse sweep leaves in the middle"
        is_early = isinstance(op, Constant) or (
            isinstance(op, Load)
            and not is_of_sweep(tape.buffers[op.region.buffer])
            and history.first_write(op.region, -1, k) is None
        )
        (primal if is_early else sweep).append(op)
    return primal, sweep


@dataclass
class Writer:
    """Writes the halves: what crosses is stored by the one and loaded by the other."""

    crossing: Crossing
    builder: TapeBuilder
    moved: dict[int, int] = field(default_factory=dict)  # from buffers of the primal to their copies on the tape
    kept: list[OnTape] = field(default_factory=list)

    def keep_buffer(self, id: int) -> None:
        """Memory on the tape in the place of a buffer, or for a copy of it."""
        old = self.crossing.tape.buffers[id]
        self.builder.line = old.line
        label = "cache" if old.kind == "cache" else old.label
        copy = self.builder.new_buffer("tape", label, old.dtype, old.view)
        self.moved[id] = copy.id
        if old.kind in ("argument", "captured"):
            reason = f"{old.label} is read by the reverse sweep, and the caller may overwrite it before"
        elif old.kind == "cache":
            reason = old.label
        else:
            reason = read_again(old.line)
        line = old.line if old.line.number else self.first_read(id)
        self.kept.append(OnTape(buffer=copy.id, nbytes=old.nbytes, reason=reason, line=line))
        if is_copied(old):
            self.builder.line = line
            self.builder.store(copy.whole, self.builder.load(old.whole))

    def first_read(self, buffer: int) -> Line:
        """Where the sweep first needs a buffer; or where the primal first uses it."""
        operations = (*walk(tuple(self.crossing.sweep)), *walk(tuple(self.crossing.primal)))
        plain = (op for op in operations if not op.blocks)
        return next((op.line for op in plain if any(r.buffer == buffer for r in (*op.reads, *op.writes))), UNKNOWN)

    def keep_values(self, ids: list[int]) -> list[Operation]:
        """Store values to the tape; the loads by which the sweep gets them. Scalars of one type share a buffer."""
        loads: list[Operation] = []
        scalars: dict[np.dtype, list[int]] = {}
        values = self.crossing.values
        for id in ids:
            if not values[id].shape:
                scalars.setdefault(values[id].dtype, []).append(id)
        shared: dict[int, Region] = {}
        for dtype, some in scalars.items():
            buffer = self.builder.new_buffer("tape", "numbers", dtype, contiguous((len(some),)))
            shared |= {id: Region(buffer.id, View(k, (), ())) for k, id in enumerate(some)}
        for id in ids:
            value, line = values[id], self.crossing.made[id].line
            self.builder.line = line
            region = shared.get(id)
            if region is None:
                region = self.builder.new_buffer("tape", "kept", value.dtype, contiguous(value.shape)).whole
            self.builder.store(region, value)
            loads.append(Load(out=value, region=region, line=line))
            reason = self.crossing.reason(id)
            self.kept.append(OnTape(buffer=region.buffer, nbytes=value.nbytes, reason=reason, line=line))
        return loads

    def had_again(self, sources: dict[int, Source]) -> list[Operation]:
        """The operations by which the sweep gets what is not kept, in order."""
        found: list[Operation] = []
        for id in sorted(sources, key=self.crossing.position.__getitem__):
            match sources[id]:
                case Again(operation):
                    found.append(operation)
                case Loaded(region, line):
                    there = Region(self.moved[region.buffer], region.view)
                    found.append(Load(out=self.crossing.values[id], region=there, line=line))
        return found

    def halves(self, prologue: list[Operation], again: tuple[Apply, ...]) -> Halves:
        tape, builder = self.crossing.tape, self.builder
        at_once = {id: copy for id, copy in self.moved.items() if not is_copied(tape.buffers[id])}
        first = (*(move(op, at_once) for op in self.crossing.primal), *builder.operations)
        second = (*prologue, *(move(op, self.moved) for op in self.crossing.sweep))
        buffers = tuple(builder.buffers)
        kept = [b for b in buffers if b.kind == "tape"]
        ids = tuple(b.id for b in kept)
        own = tuple(id for id in tape.arguments if not is_of_sweep(tape.buffers[id]))
        forward = replace(tape, buffers=buffers, arguments=(*own, *ids), operations=first, turn=len(first))
        shadows = tuple(id for id in tape.arguments if is_of_sweep(tape.buffers[id]))
        reverse = Tape(buffers=buffers, arguments=(*shadows, *ids), operations=second)
        written = {r.buffer for op in second for r in op.writes}
        reverse = privatise(reverse, sorted(written & set(ids)), write_back=False)
        forward, reverse = simplify(forward), replace(simplify(replace(reverse, turn=0)), turn=0)
        offsets, nbytes = laid_out(kept)
        return Halves(
            forward=forward, reverse=reverse, offsets=offsets, nbytes=nbytes, kept=tuple(self.kept), again=again
        )


def laid_out(buffers: Iterable[Buffer]) -> tuple[dict[int, int], int]:
    """Places one after the other, the larger ones at multiples of 64 bytes, and the bytes of all."""
    offsets: dict[int, int] = {}
    end = 0
    for buffer in sorted(buffers, key=lambda b: (-b.nbytes, b.id)):
        unit = ALIGNMENT if buffer.nbytes >= SMALL else 8
        end = -(-end // unit) * unit
        offsets[buffer.id] = end
        end += buffer.nbytes
    return offsets, end
