"""Lay out slots and local buffers in one workspace by lifetime.

>>> a, b, c = (Memory("slot", id) for id in range(3))
>>> sizes = {a: 64, b: 64, c: 128}
>>> lifetimes = {a: (0, 1), b: (1, 2), c: (3, 4)}  # first and last step
>>> offsets, nbytes, bound = lay_out(sizes, lifetimes, [])
>>> offsets[a], offsets[b], offsets[c], nbytes, bound
(0, 64, 0, 128, 128)

Requires for each memory its size and the steps that use it; ensures that no two that are alive in one step overlap.

Steps are swept in order: what dies before a step frees its place, what is born at it takes the best
fitting free place. A slot born in the nest where another dies may take that one's place at once when each
index reads the old number before it writes the new one (in-place reuse).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..regions.regions import contiguous
from .schedule import BranchStep, LoopStep, Memory, Nest, Read, Step, memories_of

ALIGNMENT = 64
PAGE = 4096  # addresses that differ by a multiple of it share the same few places of a cache of the first level
APART = 5 * ALIGNMENT  # by which arrays of whole pages are moved apart


@dataclass
class Arena:
    """Free places of the workspace, coalesced; the end is free for ever."""

    free: dict[int, int] = field(default_factory=dict)  # offset -> size
    stops: dict[int, int] = field(default_factory=dict)  # where a free place stops -> its offset
    end: int = 0

    def take(self, nbytes: int) -> int:
        """The smallest free place that fits, or a new one at the end."""
        fitting = [(size, offset) for offset, size in self.free.items() if size >= nbytes]
        if fitting:
            size, offset = min(fitting)
            self.remove(offset)
            if size > nbytes:
                self.add(offset + nbytes, size - nbytes)
            return offset
        offset = self.end
        self.end += nbytes
        return offset

    def give(self, offset: int, nbytes: int) -> None:
        """Free a place; it joins the free places on both sides."""
        before = self.stops.get(offset)
        if before is not None:
            nbytes += self.remove(before)
            offset = before
        if offset + nbytes in self.free:
            nbytes += self.remove(offset + nbytes)
        self.add(offset, nbytes)

    def add(self, offset: int, nbytes: int) -> None:
        self.free[offset] = nbytes
        self.stops[offset + nbytes] = offset

    def remove(self, offset: int) -> int:
        nbytes = self.free.pop(offset)
        del self.stops[offset + nbytes]
        return nbytes


def rounded(nbytes: int) -> int:
    """Places are multiples of 8 bytes; from a cache line on, of whole lines (so offsets stay aligned).

    Arrays of whole pages, as of 32 by 32 numbers, would lie one after the other so that equal indices of more than
    eight of them drive one another from the cache.
    """
    unit = ALIGNMENT if nbytes >= ALIGNMENT else 8
    whole = -(-nbytes // unit) * unit
    return whole + APART if whole >= PAGE and whole % PAGE < APART else whole


def lifetimes_in(steps: Sequence[Step], first: int = 0) -> tuple[dict[Memory, tuple[int, int]], int]:
    """Of each memory the first and last step that use it, numbered from `first` as `walk_steps` goes; the next number.

    Values do not cross iterations: a slot that only one block uses is free again within it. What others use too, and
    every buffer, is taken throughout the loop or branch.
    """
    used: dict[Memory, list[tuple[tuple[int, int], tuple[int, int]]]] = defaultdict(list)  # steps here, steps inside
    number = first
    for step in steps:
        start, inside = number, []
        number += 1
        for block in step.blocks if isinstance(step, LoopStep | BranchStep) else ():
            found, number = lifetimes_in(block, number)
            inside.append(found)
        whole, own = (start, number - 1), dict.fromkeys(memories_of(step))
        for memory in {**own, **{m: None for found in inside for m in found}}:
            users = [found[memory] for found in inside if memory in found]
            alone = len(users) == 1 and memory not in own and memory.kind == "slot"
            used[memory].append((whole, users[0] if alone else whole))
    return {
        memory: uses[0][1] if len(uses) == 1 else (uses[0][0][0], uses[-1][0][1]) for memory, uses in used.items()
    }, number


def lay_out(
    sizes: dict[Memory, int], lifetimes: dict[Memory, tuple[int, int]], steps: list[Step]
) -> tuple[dict[Memory, int], int, int]:
    """Offsets of all memories, bytes of the workspace, and the lower bound (most bytes alive at any step).

    Requires for each memory its first and last step; ensures that memories alive at one step do not overlap,
    except where in-place reuse is legal.
    """
    small, large = Arena(), Arena()  # apart, so that small places do not split the aligned ones
    offsets: dict[Memory, tuple[Arena, int]] = {}
    births: dict[int, list[Memory]] = defaultdict(list)
    deaths: dict[int, list[Memory]] = defaultdict(list)
    for memory, (first, last) in lifetimes.items():
        births[first].append(memory)
        deaths[last].append(memory)
    given: set[Memory] = set()  # dead slots whose place was taken over ...
    reused: set[Memory] = set()  # ... by these
    for number in sorted(set(births) | set(deaths)):
        uses = Uses(steps[number]) if births[number] and deaths[number] and number < len(steps) else None
        donors = donors_of(number, deaths[number], sizes, lifetimes) if uses is not None else {}
        for memory in sorted(births[number], key=lambda m: (-sizes[m], m.kind, m.id)):
            arena = large if sizes[memory] >= ALIGNMENT else small
            found = donors.get(sizes[memory], []) if memory.kind == "slot" else []
            donor = next((d for d in found if may_reuse(uses, d, memory)), None)
            if donor is not None:
                given.add(donor)
                found.remove(donor)
                reused.add(memory)
                offsets[memory] = offsets[donor]
            else:
                offsets[memory] = (arena, arena.take(rounded(sizes[memory])) if sizes[memory] else 0)
        for memory in deaths[number]:
            if memory not in given and sizes[memory]:  # empty arrays have no place
                arena, offset = offsets[memory]
                arena.give(offset, rounded(sizes[memory]))
    placed = {m: offset + (large.end if arena is small else 0) for m, (arena, offset) in offsets.items()}
    return placed, large.end + -(-small.end // ALIGNMENT) * ALIGNMENT, lower_bound(sizes, lifetimes, reused)


def donors_of(
    number: int, dying: list[Memory], sizes: dict[Memory, int], lifetimes: dict[Memory, tuple[int, int]]
) -> dict[int, list[Memory]]:
    """By their size, the slots of whole cache lines that die in a step, and were there before it."""
    found: dict[int, list[Memory]] = defaultdict(list)
    for memory in dying:
        if memory.kind == "slot" and sizes[memory] >= ALIGNMENT and lifetimes[memory][0] < number:
            found[sizes[memory]].append(memory)
    return found


class Uses:
    """Which memories a nest writes from which items, and which items refer to which memories."""

    def __init__(self, step: Step):
        self.nest = step if isinstance(step, Nest) else None
        self.writers: dict[Memory, list[int]] = defaultdict(list)
        self.items: dict[Memory, list[int]] = defaultdict(list)
        if self.nest is not None:
            for number, write in self.nest.spills.items():
                self.writers[write.memory].append(number)
            for number, item in enumerate(self.nest.items):
                memory = getattr(item, "memory", None)
                if memory is not None:
                    self.items[memory].append(number)


def may_reuse(uses: Uses | None, old: Memory, new: Memory) -> bool:
    """Whether slot `new` may take the place of slot `old`, of its size, which dies in the nest where `new` is born."""
    nest = None if uses is None else uses.nest
    if uses is None or nest is None or nest.ordered:
        return False
    born = uses.writers.get(new, ())
    if len(born) != 1:
        return False
    identity, dtype = contiguous(nest.domain), nest.items[born[0]].dtype  # type: ignore[union-attr]
    for position in uses.items.get(old, ()):
        item = nest.items[position]
        if not (isinstance(item, Read) and item.view == identity and position < born[0] and item.dtype == dtype):
            return False
    return True


def lower_bound(sizes: dict[Memory, int], lifetimes: dict[Memory, tuple[int, int]], reused: set[Memory]) -> int:
    """The most bytes alive at one step: no layout of these steps needs fewer (no rounding, no gaps).

    A slot that takes over the place of one that dies counts from the step after.
    """
    change: dict[int, int] = defaultdict(int)
    for memory, (first, last) in lifetimes.items():
        change[first + (memory in reused)] += sizes[memory]
        change[last + 1] -= sizes[memory]
    alive = peak = 0
    for step in sorted(change):
        alive += change[step]
        peak = max(peak, alive)
    return peak
