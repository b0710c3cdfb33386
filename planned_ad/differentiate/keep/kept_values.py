"""What the adjoint of a loop or branch needs of the primal's values, and where each of them comes from.

A value of a block is gone when the mirrored block of the adjoint runs. There it is

- loaded from where the primal loaded it or stored it, if nothing overwrites that memory until the primal ends;
- computed again, by operations that cost less than memory does, from values that are there;
- or kept: stored by the primal at a place of its own for each iteration of all loops around, and loaded from there.

Which values are kept is the smallest choice, in bytes, that makes all needed values available: a minimum cut between
the values that cannot be had otherwise and those that are needed. (Jain et al., Checkmate, 2020, treat the general
question; here nothing is computed again that is expensive, which makes it a cut.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...analysis.dependence import Access, Overwrites
from ...analysis.equal_values import EqualValues
from ...analysis.minimum_cut import minimum_node_cut
from ...regions.regions import covers
from ...rules.table import RULES
from ...tape.tape import Apply, Branch, Constant, IndexValue, Load, Loop, Operation, Value
from .rooms import NO_ROOMS, Rooms

DEAR = 10.0  # a primitive of this cost is never evaluated again: memory is cheaper
WASTE = 1 << 20  # bytes for iterations that need not run: beyond them a value is computed again, whatever it costs
FEW = 8  # elements: their sum costs no more than keeping it
# What gives the very same bits again: arithmetic may be contracted otherwise in other surroundings.
SELECTIONS = ("negative", "absolute", "minimum", "maximum", "where", "sign", "floor", "ceil", "trunc", "rint", "cast")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a buffer as it is when a block begins: inside `around`, at the place of which the first steps are."""

    buffer: int
    steps: tuple[tuple[int, int], ...]
    around: tuple[Operation, ...] = field(compare=False)


class Decisions:
    """How the adjoint gets at each of the values that it needs."""

    def __init__(self, overwrites: Overwrites, values: EqualValues, exact: Iterable[int], rooms: Rooms = NO_ROOMS):
        self.overwrites = overwrites
        self.values = values
        self.rooms = rooms
        self._intact: dict[int, Access | None] = {}
        self.exact = frozenset(exact)
        self.same_bits: dict[int, bool] = {}

    # What can be had without keeping anything.

    def is_outside(self, id: int) -> bool:
        return id not in self.values.made

    def intact(self, id: int) -> Access | None:
        """Memory that still holds the value when the primal has ended."""
        if id not in self._intact:
            homes = self.values.homes.get(id, ())
            self._intact[id] = next((home for home in homes if self.overwrites.after(home) is None), None)
        return self._intact[id]

    def is_free(self, id: int) -> bool:
        if self.is_outside(id) or isinstance(self.values.made[id].operation, Constant | IndexValue):
            return True
        return self.intact(id) is not None

    def can_repeat(self, id: int) -> bool:
        """Whether the operation that made the value may be done again."""
        op = self.values.made[id].operation
        if not isinstance(op, Apply):
            return False
        rule = RULES[op.primitive]
        cheap = (
            rule.kind in ("elementwise", "view")
            or (rule.kind == "gather" and self.is_in_memory(op.operands[0]))
            or (rule.kind == "reduce" and op.operands[0].size <= FEW)
        )
        cheap = cheap and (rule.cost < DEAR or self.is_wasteful(id))
        return cheap and (id not in self.exact or self.repeats_exactly(id))

    def is_wasteful(self, id: int) -> bool:
        """Whether places for the value would mostly stay empty: a loop may run less often than there is memory for."""
        counted = any(loop.count is not None for loop in self.values.made[id].place.loops)
        return counted and self.cost(id) > WASTE

    def is_in_memory(self, value: Value) -> bool:
        first = self.values.first.get(value.id, value.id)
        return self.is_outside(first) or isinstance(self.values.made[first].operation, Load)

    def repeats_exactly(self, id: int) -> bool:
        """Whether the value comes from memory and constants by operations that round nothing."""
        if id not in self.same_bits:
            made = self.values.made.get(id)
            result = made is None or not isinstance(made.operation, Apply)
            if made is not None and isinstance(made.operation, Apply):
                op = made.operation
                kind = RULES[op.primitive].kind
                chosen = op.out.dtype.kind != "f" or op.primitive in SELECTIONS
                plain = kind in ("view", "gather") or (kind == "elementwise" and chosen)
                result = plain and all(map(self.repeats_exactly, self.values.operands(op)))
            self.same_bits[id] = result
        return self.same_bits[id]

    # What is kept.

    def cost_of(self, copy: Snapshot) -> int:
        buffer = self.overwrites.buffers[copy.buffer]
        return buffer.span * buffer.dtype.itemsize * self.rooms.places(copy.around)

    def cost(self, id: int) -> int:
        """Bytes of one place for each iteration."""
        return self.values.values[id].nbytes * self.rooms.places(self.values.made[id].place.around)

    def kept(self, needs: Iterable[int]) -> tuple[set[int], set[Snapshot]]:
        """The least, in bytes, from which all of `needs` can be had: values, and copies of buffers."""
        numbers: dict[Snapshot, int] = {}  # which take the place of ids
        costs: dict[int, int] = {}
        arcs: list[tuple[int, int]] = []
        lost: list[int] = []
        wanted = [id for id in needs if not self.is_free(id)]
        waiting = list(wanted)
        while waiting:
            id = waiting.pop()
            if id in costs:
                continue
            costs[id] = self.cost(id)
            if not self.can_repeat(id):
                copy = self.snapshot(id)
                if copy is None:
                    lost.append(id)
                    continue
                number = numbers.setdefault(copy, -1 - len(numbers))
                costs[number] = self.cost_of(copy)
                lost.append(number)
                arcs.append((number, id))
                continue
            for operand in set(self.values.operands(self.values.made[id].operation)):
                if not self.is_free(operand):
                    arcs.append((operand, id))
                    waiting.append(operand)
        if not lost:
            return set(), set()
        once = self.pairs(set(lost))
        chosen = minimum_node_cut(
            {id: cost for id, cost in costs.items() if id not in once},
            sorted({(once.get(a, a), b) for a, b in arcs}),
            sorted({once.get(id, id) for id in lost}),
            sorted({once.get(id, id) for id in wanted}),
        )
        chosen |= {after for after, before in once.items() if before in chosen}
        return {id for id in chosen if id >= 0}, {copy for copy, number in numbers.items() if number in chosen}

    def snapshot(self, id: int) -> Snapshot | None:
        """What of memory could be kept as a whole, so that the loaded value is found in the copy.

        Of the blocks around the load, the outermost that begins with the region as it is loaded: there it is copied
        least often. Not for what one iteration hands to the next, which is kept as a pair.
        """
        op, place = self.values.made[id].operation, self.values.made[id].place
        after = self.values.carried.get(id)
        if not isinstance(op, Load) or (after is not None and not self.is_free(after) and not self.can_repeat(after)):
            return None
        view = self.overwrites.buffers[op.region.buffer].view
        if not covers(view, view.size):
            return None
        access = Access(op.region, place, op)
        for level in range(len(place.around) + 1):
            if not self.overwrites.before(access, level):
                level += stops_before(place.around, level)
                return Snapshot(op.region.buffer, place.steps[:level], place.around[:level])
        return None

    def pairs(self, candidates: set[int]) -> dict[int, int]:
        """What one iteration stores and the next one loads is kept once for both: of the stored value, the loaded one.

        Only among `candidates`, and each value in one pair.
        """
        found: dict[int, int] = {}
        used: set[int] = set()
        for before, after in sorted(self.values.carried.items()):
            if {before, after} <= candidates - used:
                found[after] = before
                used |= {before, after}
        return found

    def sources(self, needs: Iterable[int]) -> dict[int, Access | Snapshot | str]:
        """For each value that the adjoint has to have: memory to load it from, or a copy of it; 'keep' or 'again'."""
        kept, copies = self.kept(needs)
        found: dict[int, Access | Snapshot | str] = {}
        waiting = sorted(needs)
        while waiting:
            id = waiting.pop()
            if id in found or self.is_outside(id):
                continue
            home = self.intact(id)
            if home is not None:
                found[id] = home
            elif id in kept:
                found[id] = "keep"
            elif isinstance(self.values.made[id].operation, Load):
                copy = self.snapshot(id)
                assert copy in copies
                found[id] = copy
            else:
                found[id] = "again"
                waiting += self.values.operands(self.values.made[id].operation)
        return found

    def around(self, id: int, source: Access | Snapshot | str) -> tuple[Operation, ...]:
        """The loops and branches in which the value, or a copy of its memory, is kept; none where nothing is."""
        if isinstance(source, Snapshot):
            return source.around
        return self.values.made[id].place.around if source == "keep" else ()

    def reason(self, id: int) -> str:
        """Why the value is kept, for `explain`."""
        op = self.values.made[id].operation
        if id in self.exact and isinstance(op, Apply) and not self.repeats_exactly(id):
            return "the derivative goes the way that this decided, to the last bit"
        waiting, seen = [id], set()
        while waiting:
            source = waiting.pop(0)
            if source in seen or self.is_free(source):
                continue
            seen.add(source)
            made = self.values.made[source].operation
            if isinstance(made, Apply) and not self.can_repeat(source):
                return f"needed by the derivative, and computing {made.title} again costs more than keeping it"
            if isinstance(made, Load):
                what = "its memory is" if source == id else "what it is computed from is"
                line = self._overwriter(source).line
                return f"needed by the derivative, and {what} overwritten at {line}: {line.text}"
            waiting += self.values.operands(made)
        return "needed by the derivative"

    def _overwriter(self, id: int) -> Operation:
        """The operation that overwrites the memory that the value was loaded from."""
        writers = (self.overwrites.after(home) for home in self.values.homes[id])
        return next(op for op in writers if op is not None)


def stops_before(around: tuple[Operation, ...], level: int) -> bool:
    """Whether what begins there is an iteration of a loop that stops: only those that do something are of interest."""
    loop = around[level - 1] if level else None
    return isinstance(loop, Loop) and loop.stops and level < len(around) and isinstance(around[level], Branch)
