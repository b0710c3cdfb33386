"""How to cut a loop into segments so that checkpoints and one segment's cache together take the least memory.

A loop of n iterations keeps `cached` bytes in each of them for its reverse loop. Cut into segments of L iterations it
keeps its state, `state` bytes, at the start of each segment, and the caches of one segment only: about
`n / L * state + L * cached`, which is least at L = sqrt(n * state / cached). Segments are cut again in the same way:
with r levels memory goes down to the order of n ** (1 / (r + 1)), and every iteration is run again r times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

TRIED = 48  # lengths around the one that is best where nothing has to be rounded


@dataclass(frozen=True, slots=True)
class Need:
    """What a loop keeps, in bytes: `state` once for each segment, `cached` for each iteration of the last level.

    `single`: the segments of the last level have one iteration.
    """

    state: int
    cached: int
    single: bool = False


@dataclass(frozen=True, slots=True)
class Lengths:
    """Iterations of a segment of each level, the outermost first; what does not fill a segment is left at the end."""

    trips: int
    lengths: tuple[int, ...] = ()

    @property
    def checkpoints(self) -> int:
        """States kept at a time, over all levels."""
        found, trips = 0, self.trips
        for length in self.lengths:
            found, trips = found + trips // length, length
        return found

    @property
    def places(self) -> int:
        """Iterations of which caches exist at a time: of a segment of the last level, or of what is left at some."""
        left, trips = 0, self.trips
        for length in self.lengths:
            left, trips = max(left, trips % length), length
        return max(left, trips)

    def nbytes(self, need: Need) -> int:
        return self.checkpoints * need.state + self.places * need.cached


def best_lengths(trips: int, levels: int, need: Need) -> Lengths:
    """The lengths of that many levels that take the least memory (of those tried); fewer levels where that is less."""
    return min(
        (_best(trips, n, need) for n in range(int(need.single), levels + 1)), key=lambda found: found.nbytes(need)
    )


@lru_cache(maxsize=100_000)
def _best(trips: int, levels: int, need: Need) -> Lengths:
    if levels == 0:
        return Lengths(trips)
    found = []
    for length in candidates(trips, levels, need):
        inner = _best(length, levels - 1, need)
        found.append(Lengths(trips, (length, *inner.lengths)))
    return min(found, key=lambda lengths: (lengths.nbytes(need), lengths.lengths), default=Lengths(trips))


def candidates(trips: int, levels: int, need: Need) -> Iterable[int]:
    """Lengths of the segments of the outermost level that are worth trying, and below `trips`."""
    if trips < 2:
        return ()
    if need.single and levels == 1:
        return (1,)
    state, last = max(need.state, 1), state_of(need) if need.single else need.cached
    levels -= need.single
    count = (trips * max(last, 1) / state) ** (1 / (levels + 1))  # of segments, at the least memory
    middle = min(max(trips / max(count, 1.0), 1.0), trips / 2)
    if middle < TRIED:
        return range(1, min(2 * math.ceil(middle), trips // 2) + 1)
    counts = range(max(2, int(count / 2)), max(3, math.ceil(2 * count)))
    return sorted({trips // n for n in counts[:: max(1, len(counts) // TRIED)] if trips // n > 0} | {int(middle)})


def state_of(need: Need) -> int:
    return max(need.state, 1)
