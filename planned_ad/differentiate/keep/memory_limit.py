"""Keep what the primal leaves for the reverse sweep within a limit: cut loops into segments, as few times as will do.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.planner import plan_memory
>>> from planned_ad.trace import trace
>>> def f(x):
...     for i in range(100):
...         x = np.sin(x)
...     return x
>>> tape = reverse(trace(f, (2.0,), unroll=1).tape)
>>> def kept(tape):
...     return plan_memory(tape).cached_nbytes
>>> kept(simplify(tape))
800
>>> limited, reruns = within_limit(200, "f", tape, lambda: tape, simplify, kept)
>>> kept(limited), str(reruns[0])
(160, '100 iterations, once, in segments of 8')

Requires what `reverse` makes; ensures the same numbers, with at most so many bytes kept. `checkpoints` shows the tape
of a loop that is cut.

Candidates are tried in an order that does not depend on the limit, from the least work on, and each is planned, so
that the bytes compared are those that `explain` tells. If none is within the limit, the least of them is the minimum
that the error names, and a limit of so many bytes is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...analysis.mirrored_loops import LoopPair, pairs_in
from ...errors import MemoryLimitError
from ...python.source import Line
from ...tape.tape import Tape
from .checkpoints import run_in_segments
from .recomputation import recomputation_of
from .segment_lengths import Lengths, Need, best_lengths

MOST_LEVELS = 5  # segments of segments: each makes every iteration run once more

Levels = Mapping[int, int]  # by the index of a loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """A loop whose iterations the reverse sweep runs again, to make their caches a second time.

    `segments`: iterations of a segment of each level. `times`: how often an iteration is run again, at most.
    """

    iterations: int
    segments: tuple[int, ...]
    times: int
    line: Line

    def __str__(self) -> str:
        often = "once" if self.times == 1 else f"{self.times} times"
        lengths = " and of ".join(map(str, self.segments))
        return f"{self.iterations} iterations, {often}, in segments of {lengths}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopNeed:
    """A loop that can be cut, what it keeps, and such loops in its body."""

    pair: LoopPair
    state: int
    inside: tuple[LoopNeed, ...]

    @property
    def index(self) -> int:
        return self.pair.primal.index

    @property
    def trips(self) -> int:
        return int(self.pair.primal.trips)

    @property
    def cached(self) -> int:
        """Bytes of all caches, in one run of the loop."""
        return self.trips * self.pair.nbytes

    def cuts(self, levels: Levels) -> tuple[dict[int, Lengths], int]:
        """The best lengths for so many levels, here and inside, and the bytes that are kept then."""
        if not levels.get(self.index):
            return {}, self.cached
        found: dict[int, Lengths] = {}
        cached, single = self.pair.nbytes, False
        for inner in self.inside:
            if levels.get(inner.index):
                cuts, nbytes = inner.cuts(levels)
                found |= cuts
                cached, single = cached - inner.cached + nbytes, True
        need = Need(self.state, cached, single)
        found[self.index] = best_lengths(self.trips, levels[self.index], need)
        return found, found[self.index].nbytes(need)


def within_limit(
    limit: int,
    name: str,
    tape: Tape,
    repeatable: Callable[[], Tape],
    finished: Callable[[Tape], Tape],
    cached_bytes: Callable[[Tape], int],
) -> tuple[Tape, tuple[Rerun, ...]]:
    """`tape` finished so that it keeps at most `limit` bytes for the reverse sweep.

    Parameters
    ----------
    name : of the user's function, for the error.
    tape : what `reverse` made.
    repeatable : makes the same of a primal with its decisions recorded, of which loops can be run again.
    finished : the passes that follow.
    cached_bytes : what the planner makes of a finished tape.
    """
    found = finished(tape)
    least = cached_bytes(found)
    if least <= limit:
        return found, ()
    tape = repeatable()
    loops = needs_of(tape)
    for cuts in escalation(loops):
        found = finished(run_in_segments(tape, cuts))
        nbytes = cached_bytes(found)
        if nbytes <= limit:
            return found, told(loops, cuts)
        least = min(least, nbytes)
    raise MemoryLimitError(
        f"{name}: the reverse sweep needs at least {least} bytes of what the program computes, more than "
        f"memory_limit={limit}. The least that running loops again can do is memory_limit={least}"
    )


def escalation(loops: Sequence[LoopNeed]) -> Iterator[dict[int, Lengths]]:
    """Ways to cut loops, from the least work on.

    One level more each time, in the loops where that saves most; inside of another loop only where that is cut.
    """
    levels: dict[int, int] = {}
    least = kept_bytes(loops, levels)
    while True:
        saved = {index: least - kept_bytes(loops, raised(levels, [index])) for index in eligible(loops, levels)}
        most = max(saved.values(), default=0)
        if most <= 0:
            return
        several = raised(levels, [index for index, nbytes in saved.items() if 2 * nbytes >= most])
        one = raised(levels, [max(saved, key=lambda index: saved[index])])
        levels = min(several, one, key=lambda chosen: kept_bytes(loops, chosen))
        least = kept_bytes(loops, levels)
        yield {index: lengths for loop in loops for index, lengths in loop.cuts(levels)[0].items() if lengths.lengths}


def kept_bytes(loops: Sequence[LoopNeed], levels: Levels) -> int:
    return sum(loop.cuts(levels)[1] for loop in loops)


def raised(levels: Levels, indices: Iterable[int]) -> dict[int, int]:
    """One level more for each of some loops."""
    return {**levels, **{index: levels.get(index, 0) + 1 for index in indices}}


def eligible(loops: Sequence[LoopNeed], levels: Levels) -> Iterator[int]:
    """Loops that may get a level more."""
    for loop in loops:
        if levels.get(loop.index, 0) < MOST_LEVELS:
            yield loop.index
        if levels.get(loop.index):
            yield from eligible(loop.inside, levels)


def needs_of(tape: Tape) -> tuple[LoopNeed, ...]:
    """What the loops of `tape` keep for their reverse loops."""
    program = tape.operations[: tape.turn]

    def found(pairs: Sequence[LoopPair], depth: int) -> tuple[LoopNeed, ...]:
        needs = []
        for pair in pairs:
            caches = (c.buffer.id for c in pair.caches)
            again = recomputation_of(tape.buffers, program, pair.primal, caches, pair.prelude)
            if not again.is_possible(tape.buffers):
                continue
            inside = pairs_in(tape.buffers, pair.primal.body, pair.adjoint.body, depth)
            needs.append(LoopNeed(pair=pair, state=again.nbytes(tape.buffers), inside=found(inside, depth + 1)))
        return tuple(needs)

    return found(pairs_in(tape.buffers, program, tape.operations[tape.turn :]), 1)


def told(loops: Sequence[LoopNeed], cuts: Mapping[int, Lengths]) -> tuple[Rerun, ...]:
    """What `cuts` make the reverse sweep run again, in the order of the program."""
    found = []

    def visit(loops: Sequence[LoopNeed], times: int) -> None:
        for loop in loops:
            if loop.index in cuts:
                lengths = cuts[loop.index].lengths
                own = times + len(lengths)
                line = loop.pair.primal.line
                found.append(Rerun(iterations=loop.trips, segments=lengths, times=own, line=line))
                visit(loop.inside, own)

    visit(loops, 0)
    return tuple(found)
