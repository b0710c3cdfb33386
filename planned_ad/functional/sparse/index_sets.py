"""Sets of indices, each known by a number, so that an array of sets is an array of integers.

Views, gathers and stores of sets are then those of the integers; only unions make new sets. A union that is one of its
members keeps that member's number, so that nothing grows where nothing is added.
"""

from __future__ import annotations

import math

import numpy as np

from ...errors import UnsupportedError

MOST_ITEMS = 1 << 27  # indices in all sets together
CHUNK = 1 << 22  # indices that are merged at a time
EMPTY = 0


class IndexSets:
    """Subsets of `range(size)`. Number 0 is the empty set, number `1 + k` the set of `k` alone.

    `starts`, `lengths`: where in `items` each set lies, in increasing order.
    """

    def __init__(self, size: int):
        self.size = size
        self.count = size + 1
        self.starts = np.maximum(np.arange(self.count) - 1, 0)
        self.lengths = np.minimum(np.arange(self.count), 1)
        self.items = np.arange(size, dtype=np.int32)
        self.used = size
        self._pairs: dict[tuple[int, int], int] = {}

    @property
    def singletons(self) -> np.ndarray:
        """The numbers of the sets of one index each."""
        return np.arange(1, self.size + 1)

    def expanded(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many indices each of these sets has, and all of them one after the other."""
        lengths = self.lengths[sets]
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.starts[sets] - ends + lengths, lengths)
        return lengths, self.items[places]

    def union(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Element by element, with broadcasting."""
        if a.size == b.size == 1 and a.shape == b.shape:
            return np.full(a.shape, self._union_of_two(a.item(), b.item()))
        a, b = np.broadcast_arrays(a, b)
        found = np.where(a == EMPTY, b, a)
        rest = np.flatnonzero((a != b) & (a != EMPTY) & (b != EMPTY))
        if rest.size:
            a, b = a.reshape(-1)[rest], b.reshape(-1)[rest]
            low, high = np.minimum(a, b), np.maximum(a, b)
            pairs, place = np.unique(low * self.count + high, return_inverse=True)
            members = np.concatenate(divmod(pairs, self.count))
            rows = np.tile(np.arange(len(pairs)), 2)
            found = np.ascontiguousarray(found)
            found.reshape(-1)[rest] = self._merged(rows, members, len(pairs))[place]
        return found

    def _union_of_two(self, a: int, b: int) -> int:
        if a == b or b == EMPTY:
            return a
        if a == EMPTY:
            return b
        pair = (a, b) if a < b else (b, a)
        found = self._pairs.get(pair)
        if found is None:
            one, other = (self.items[self.starts[k] : self.starts[k] + self.lengths[k]] for k in pair)
            merged = np.unique(np.concatenate([one, other]))
            if len(merged) == max(len(one), len(other)):
                found = pair[len(one) < len(merged)]  # the older one, if both are the union
            else:
                found = int(self._add(np.array([len(merged)]), merged)[0])
            self._pairs[pair] = found
        return found

    def unions(self, rows: np.ndarray, sets: np.ndarray, count: int) -> np.ndarray:
        """For each row from 0 to `count` the union of the `sets` that stand in it."""
        keys = np.unique(rows[sets != EMPTY] * self.count + sets[sets != EMPTY])
        rows, sets = divmod(keys, self.count)
        found = np.zeros(count, np.int64)
        members = np.bincount(rows, minlength=count)
        single = members[rows] == 1
        found[rows[single]] = sets[single]
        rows, sets = rows[~single], sets[~single]
        if rows.size:
            several, place = np.unique(rows, return_inverse=True)
            found[several] = self._merged(place, sets, len(several))
        return found

    def union_over(self, sets: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        """The unions along some axes, which go."""
        kept = [k for k in range(sets.ndim) if k not in axes]
        shape = tuple(sets.shape[k] for k in kept)
        lines = np.transpose(sets, [*kept, *axes]).reshape(-1)
        count = math.prod(shape)
        rows = np.repeat(np.arange(count), len(lines) // max(count, 1))
        return self.unions(rows, lines, count).reshape(shape)

    def _merged(self, rows: np.ndarray, sets: np.ndarray, count: int) -> np.ndarray:
        """The union of each row's sets; every row has some."""
        order = np.lexsort((-sets, self.lengths[sets], rows))
        rows, sets = rows[order], sets[order]
        last = np.flatnonzero(np.diff(rows, append=count))
        largest = sets[last]  # of each row; the oldest of several
        found = largest.copy()
        lacking = self.lengths[largest] < self.size  # in a row with the set of all indices, that is the union
        chosen = lacking[rows]
        rows, sets = rows[chosen], sets[chosen]
        last = np.flatnonzero(np.diff(rows, append=count))
        ends, row = np.cumsum(self.lengths[sets])[last], 0
        while row < len(last):  # whole rows at a time
            stop = int(np.searchsorted(ends, (ends[row - 1] if row else 0) + CHUNK, side="right"))
            stop = max(stop, row + 1)
            part = slice(last[row - 1] + 1 if row else 0, last[stop - 1] + 1)
            self._merge_chunk(rows[part], sets[part], largest, found)
            row = stop
        return found

    def _merge_chunk(self, rows: np.ndarray, sets: np.ndarray, largest: np.ndarray, found: np.ndarray) -> None:
        lengths, items = self.expanded(sets)
        keys = np.repeat(rows, lengths) * self.size + items
        keys.sort()
        keys = keys[np.flatnonzero(np.diff(keys, prepend=-1))]
        merged = keys // self.size
        distinct, lengths = np.unique(merged, return_counts=True)
        grown = lengths > self.lengths[largest[distinct]]
        keep = np.repeat(grown, lengths)
        found[distinct[grown]] = self._add(lengths[grown], (keys - merged * self.size)[keep])

    def _add(self, lengths: np.ndarray, items: np.ndarray) -> np.ndarray:
        """New sets; their numbers."""
        used, count = self.used + len(items), self.count + len(lengths)
        if used > MOST_ITEMS:
            raise UnsupportedError(
                f"this derivative depends on its arguments in more than {MOST_ITEMS:,} places, so that it is not "
                f"sparse; use the dense one, or products with vectors (jvp, vjp, hvp)"
            )
        self.items = grown(self.items, used)
        self.starts, self.lengths = grown(self.starts, count), grown(self.lengths, count)
        self.items[self.used : used] = items
        self.lengths[self.count : count] = lengths
        self.starts[self.count : count] = self.used + np.cumsum(lengths) - lengths
        numbers = np.arange(self.count, count)
        self.used, self.count = used, count
        return numbers


def grown(array: np.ndarray, size: int) -> np.ndarray:
    """`array` with room for `size` elements."""
    if size <= len(array):
        return array
    larger = np.zeros(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger
