"""What the adjoint of a loop or branch needs of the primal's values, and where each of them comes from.

A value of a block is gone when the mirrored block of the adjoint runs. Memory that it was loaded from, or stored to,
may still hold it then; what is kept has a place of its own for each iteration of all loops around.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ...analysis.cost import WASTE, is_dear, is_local
from ...analysis.dependence import Access, Overwrites
from ...analysis.enclosing import certainly_runs, inside, stays_inside
from ...analysis.equal_values import EqualValues
from ...regions.affine import substitute
from ...regions.bounds import Iterations
from ...regions.regions import covers
from ...tape.tape import Apply, Branch, Load, Loop, Operation, Value
from .rooms import NO_ROOMS, Rooms
from .sources import Choice, Kept, Loaded, Node, Snapshot, Source, overwritten


class KeptValues(Choice):
    """How the adjoint of a block gets at each of the values that it needs."""

    def __init__(self, overwrites: Overwrites, values: EqualValues, exact: Iterable[int], rooms: Rooms = NO_ROOMS):
        super().__init__(exact)
        self.rooms = rooms
        self.overwrites = overwrites
        self.values = values
        self._homes: dict[int, Loaded | None] = {}

    def operation(self, id: int) -> Operation | None:
        made = self.values.made.get(id)
        return None if made is None else made.operation

    def operands(self, id: int) -> Iterable[int]:
        return self.values.operands(self.values.made[id].operation)

    def home(self, id: int) -> Loaded | None:
        if id not in self._homes:
            homes = (home for home in self.values.homes.get(id, ()) if self.overwrites.after(home) is None)
            home = next(homes, None)
            self._homes[id] = None if home is None else Loaded(home.region, home.operation.line)
        return self._homes[id]

    def can_repeat(self, id: int) -> bool:
        op = self.values.made[id].operation
        return (
            isinstance(op, Apply)
            and is_local(op, self.is_in_memory)
            and (not is_dear(op) or self.is_wasteful(id))
            and (id not in self.exact or self.repeats_exactly(id))
        )

    def is_wasteful(self, id: int) -> bool:
        """Whether places for the value would mostly stay empty: a loop may run much less often than it could."""
        loops = self.values.made[id].place.loops
        counted = any(loop.count is not None for loop in loops)
        return counted and self.values.values[id].nbytes * math.prod(int(loop.trips) for loop in loops) > WASTE

    def is_in_memory(self, value: Value) -> bool:
        op = self.operation(self.values.first.get(value.id, value.id))
        return op is None or isinstance(op, Load)

    def cost(self, node: Node) -> int:
        """Bytes of one place for each iteration."""
        if isinstance(node, Snapshot):
            return self.overwrites.buffers[node.buffer].nbytes * self.rooms.places(node.around)
        return self.values.values[node].nbytes * self.rooms.places(self.values.made[node].place.around)

    def around(self, id: int, source: Source) -> tuple[Operation, ...]:
        """The loops and branches in which the value, or a copy of its memory, is kept; none where nothing is."""
        if isinstance(source, Snapshot):
            return source.around
        return self.values.made[id].place.around if isinstance(source, Kept) else ()

    def copy(self, id: int) -> Snapshot | None:
        """Of the blocks around the load, the outermost that begins with the region as it is loaded: there it is copied
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

    def together(self, candidates: Iterable[Node]) -> dict[Any, int]:
        """What one iteration stores and the next one loads is kept once for both: of the stored value, the loaded one.

        Each value is in one pair.
        """
        found: dict[int, int] = {}
        left = set(candidates)
        for before, after in sorted(self.values.carried.items()):
            if {before, after} <= left and self.has_places(before) and self.begins_in_memory(before):
                found[after] = before
                left -= {before, after}
        return found

    def has_places(self, id: int) -> bool:
        """Whether there is one for each iteration of the innermost loop around a value, also for one more."""
        _, loops = self.rooms.around(self.values.made[id].place.around)
        return bool(loops)

    def begins_in_memory(self, id: int) -> bool:
        """Whether what the first iteration loads can be loaded before the loop, which may have none."""
        *outer, loop = self.values.made[id].place.loops
        if certainly_runs(loop):
            return True
        if loop.count is not None and loop.step < 0:  # which iteration is the first, data say
            return False
        around = Iterations()
        for enclosing in outer:
            around = inside(around, enclosing)
        (region,) = self.values.made[id].operation.reads
        first = replace(region.view, offset=substitute(region.view.offset, loop.index, loop.start))
        return stays_inside(self.overwrites.buffers[region.buffer], first, around)

    def why_lost(self, id: int, what: str) -> str:
        writers = (self.overwrites.after(home) for home in self.values.homes[id])
        return overwritten(next(op for op in writers if op is not None), what)


def stops_before(around: tuple[Operation, ...], level: int) -> bool:
    """Whether what begins there is an iteration of a loop that stops: only those that do something are of interest."""
    loop = around[level - 1] if level else None
    return isinstance(loop, Loop) and loop.stops and level < len(around) and isinstance(around[level], Branch)
