"""What a loop that is recorded once runs over, where that is plain numbers: their table, read at its index."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

from ...python.source import current_line
from ..record.recorder import Recorder
from .form import HandedOn
from .letters import has_letters

MOST_LISTS = 3  # in one another, of which iterations have their own


class Table:
    """The items of `holder`, which are plain numbers or tuples of them.

    In a loop that is recorded once `item(k)` is read from arrays at its index `k`. What the holder holds by then must
    be what it held at first. Of a list of lists, each item is a list of its own, and these must stay as they are, too:
    the program would see in the one what it has done to the other.
    """

    is_table = True

    def __init__(self, recorder: Recorder, holder: Any, items: tuple[Any, ...], column: HandedOn):
        self.recorder, self.holder, self.items, self.column = recorder, holder, items, column
        self.line = current_line()  # on which it is made
        self.has_letters = has_letters(column)
        self.lists = [(found, tuple(found)) for found in lists_among(items)]  # with what they hold
        self.given: list[tuple[list, tuple[Any, ...]]] = []  # those of iterations

    def is_resized(self) -> bool:
        is_changed = self.is_changed() or any(differs(*known) for known in self.given)
        return len(self.holder) != len(self.items) or is_changed

    def is_changed(self) -> bool:
        """Whether the lists in it are not what they were."""
        return any(differs(*known) for known in self.lists)

    def refuse(self) -> BaseException:
        """What to raise where it is resized: the trace starts again, and what runs over it is Python's."""
        scopes = self.recorder.scopes
        scopes.decisions.resized.add(self.line)
        return scopes.restart()

    def __len__(self) -> int:
        return len(self.items)

    def item(self, k: Any) -> Any:
        if type(k) is int and type(self.holder) in (list, tuple, str):
            return self.holder[k]
        now = tuple(self.holder)
        if type(k) is int:
            return now[k]
        is_unchanged = len(now) == len(self.items) and (
            all(map(operator.is_, now, self.items)) or all(map(is_same, now, self.items))
        )
        if not is_unchanged:
            recorder = self.recorder
            raise recorder.scopes.unroll_innermost("changes what it runs over", recorder.builder.line)
        found = self.column.item(None, k)
        if self.lists:
            self.recorder.flow.lists_given[id(self)] = self
            self.given += [(made, tuple(made)) for made in lists_among((found,))]
        return found


def lists_among(items: tuple[Any, ...], within: int = MOST_LISTS) -> Iterator[list]:
    """The lists among some items, and in tuples and lists among them, `within` one another at most."""
    for item in items:
        if type(item) is list:
            yield item
        if type(item) in (tuple, list) and within:
            yield from lists_among(tuple(item), within - (type(item) is list))


def differs(found: Sequence[Any], held: Sequence[Any]) -> bool:
    return len(found) != len(held) or not all(map(operator.is_, found, held))


def is_same(a: Any, b: Any) -> bool:
    """Whether two items are the same objects; tuples, which dict views make anew, item by item."""
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(is_same, a, b))
    return a is b
