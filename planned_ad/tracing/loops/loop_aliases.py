"""The copies that a loop makes: of what an iteration hands on, and the rows of lists that it fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...python.statements import IDENTITY, asks_identity
from ..record.aliases import Behind, leads_to_one_of, settled
from ..record.lost_variables import BEHIND
from .carries import in_memory
from .forms import Nothing
from .held import same
from .places import Key, Place
from .state import State

if TYPE_CHECKING:
    from ..values.array_tracer import ArrayTracer
    from .recorded_loop import RecordedLoop

LEFT = "leaves a view of what its last iteration was handed"


class LoopCopies:
    """Those of one loop, over the passes over its body."""

    def __init__(self, loop: RecordedLoop):
        self.loop, self.copies = loop, loop.recorder.copies
        self.mark = self.copies.mark()
        self.unfit: set[Key] = set()  # the places whose copies are behind at the end of an iteration
        self.grew = False  # whether this pass found another of them

    def restore(self) -> None:
        """A pass is over, and the loop is recorded once more, or by itself."""
        self.copies.restore(self.mark)
        self.grew = False

    def is_unfit(self, key: Key, place: Place, old: Any, now: State) -> bool:
        """Whether a place is not handed on, since what it would hold then is not known; it must not be read first."""
        lost = key in now.lost
        behind = key in now.values and not same(old, now.values[key][1])
        behind = behind and (self.copies.is_behind(now.values[key][1]) or leads_to_one_of(old, self.mark[1]))
        if key not in self.unfit and (lost or behind):
            self.unfit.add(key)
            self.grew = True
            self.loop.carries[key] = Nothing(now.lost[key]._reason if lost else BEHIND)
        return key in self.unfit

    def settled(self) -> bool:
        """Whether the pass that ends has found nothing new about the copies."""
        loop = self.loop
        standings = [found.standing for found in loop.growth.lists.values()]
        standings += [carry.standing for carry in in_memory(loop.carries.values())]
        if standings and asks_identity(loop.frame):
            raise loop.unrolled(IDENTITY)
        return settled(standings, loop.index, loop.recorder.scopes.indices) and not self.grew

    def refuse_what_was_read(self) -> None:
        """What the body reads, and leaves behind what it should hold, would be read so by the next iteration."""
        for name, behind in self.copies.behind.items():
            if name in self.loop.scope.reads and self.loop.index not in name[0]:
                raise behind.refused()

    def refused(self, reason: str, first: bool) -> BaseException:
        """What to raise where a copy that the loop made cannot stand for what it was made of."""
        return self.loop.peeled(reason) if first else self.loop.unrolled(reason)

    def is_replaced(self, array: ArrayTracer) -> bool:
        """Whether an array shows what an iteration was handed, in memory that its end overwrites."""
        if self.copies.is_behind(array):
            return False
        memory = array.storage.root
        return any(carry.storage is memory and carry.is_replaced for carry in in_memory(self.loop.carries.values()))

    def close(self) -> None:
        """The loop is over: views of what an iteration was handed show memory that has changed at its end."""
        for carry in in_memory(self.loop.carries.values()):
            if carry.is_replaced:
                name = carry.storage.name
                self.copies.behind[name] = Behind(self.copies.known[name], LEFT, False)
