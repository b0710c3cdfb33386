"""What is known of the tests in a loop's body: the sides that were recorded, and those that are running."""

from __future__ import annotations

import dis
import types
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from ...python.source import Line
from ...python.statements import Extent
from ...tape.tape import Operation, Value
from ..record.aliases import Copy, Left, Names
from ..record.blocks import Made
from ..record.decisions import Calls, Site, Ways
from ..record.scopes import Scope
from ..record.storage import Name
from .form import HandedOn
from .held import is_gone
from .place_names import PlaceNames
from .places import Key, Place
from .state import State

JUMPS_BACK = frozenset(code for name, code in dis.opmap.items() if name.startswith("JUMP_BACKWARD"))


@dataclass
class Side:
    """One side, as it was recorded last."""

    operations: tuple[Operation, ...]
    changed: dict[Key, Place]
    prefix: tuple[object, ...]
    handed_on: frozenset[Key] = frozenset()  # the places that it left in memory
    generation: int = 0  # of the forms in which variables come out of branches
    complete: bool = False  # whether both sides of the branches in it are known
    made: tuple[tuple[int, int], ...] = ()  # buffers, and how deep they were made
    times: int = 0  # how often it has been recorded again, from the same state and to the same end
    when: int = 0  # in which pass
    ends: bool = False  # whether the generator that tested has returned on it
    reads: set[Any] = field(default_factory=set)  # as of a scope
    writes: dict[Any, None] = field(default_factory=dict)
    direct: frozenset[Key] = frozenset()  # the arrays that it left where the loop hands them on
    left: Left = field(default_factory=Left)


@dataclass
class Node:
    """A test at one point of the body, reached on one way through it."""

    first_value: dict[bool, int]
    site: Site | None = None  # of the test
    calls: Calls = ()  # that were running
    sides: dict[bool, Side] = field(default_factory=dict)
    parts: dict[bool, Made] = field(default_factory=lambda: {True: Made(), False: Made()})
    chosen: dict[Key, HandedOn] = field(default_factory=dict)  # of each changed place the form in which it is handed on

    names: dict[tuple[Key, bool], Names] = field(default_factory=dict)  # the memories to which each side led
    shared: set[Key] = field(default_factory=set)  # arrays that something else leads to as well
    indirect: set[Key] = field(default_factory=set)  # arrays that the sides do not leave where the loop hands them on
    gone: dict[bool, set[Key]] = field(default_factory=lambda: {True: set(), False: set()})  # see `is_gone`

    def places(self, direct: Container[Key] = ()) -> dict[Key, Place]:
        changed = {key: place for side in self.sides.values() for key, place in side.changed.items()}
        left_out = self.gone[True] | self.gone[False]
        return {key: place for key, place in changed.items() if key not in direct and key not in left_out}

    def leaves_behind(self, outcome: bool, now: State) -> bool:
        """Note what a side that is over does not lead to any more; whether that is something else than before."""
        changed = [item for side in self.sides.values() for item in side.changed.items()]
        reached = now.owners() | now.led_to
        gone = {key for key, place in changed if key not in now.values and is_gone(place, reached, now)}
        is_new, self.gone[outcome] = gone != self.gone[outcome], gone
        return is_new

    def recorded(self, outcome: bool) -> int:
        """In which pass a side was recorded last; 0 before that."""
        return self.sides[outcome].when if outcome in self.sides else 0

    def is_known(self, outcome: bool, prefix: tuple[object, ...], generation: int) -> bool:
        side = self.sides.get(outcome)
        if side is None or not side.complete or side.generation != generation:
            return False
        return side.prefix == prefix and side.handed_on == frozenset(self.places(side.direct))


@dataclass
class Active:
    """A side that is running."""

    node: Node
    outcome: bool
    predicate: Value
    frame: types.FrameType
    site: Site  # of the test, or of the call of the function that it was in
    line: Line  # of the test
    calls: Calls  # which are running, from the test outwards
    extent: Extent
    scope: Scope
    entry: State
    names: PlaceNames
    frames: list[types.FrameType]
    prefix: tuple[object, ...]
    next_value: int
    number: int  # among the branches of the block around
    made: int  # how many buffers were made before
    copies: dict[Name, Copy]  # that were made before
    ordinal: int = 0  # of the next branch inside
    complete: bool = True
    called_at: int = -1  # the instruction of its frame at which another function was called, that has made the test
    of_none: bool | None = None  # whether its function has returned None; None before it has returned

    def is_over(self, frame: types.FrameType) -> bool:
        """Whether another statement of its frame begins, or the same one again: `for p in points: p.step()`."""
        extent, line = self.extent, frame.f_lineno
        is_in_one_line = extent.first == extent.last == line and not (extent.loop or extent.leaves)
        is_again = frame.f_lasti <= self.called_at or frame.f_code.co_code[frame.f_lasti] in JUMPS_BACK
        return not extent.has(line) or (is_in_one_line and self.called_at >= 0 and is_again)


def ways_of(sides: Iterable[Active]) -> Ways:
    """The tests on whose sides something is."""
    return tuple((active.calls, active.outcome) for active in sides)
