"""What a run of another trace has shown: the guards that it came past, and the one at which it left.

The next trace goes the same way, also where the last bit of a sum decides, which a kernel adds up in another order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...python.source import Line
from ...tape.tape import Guard

BRANCH = "branch"


class KnownGuards:
    """These guards, one after the other."""

    def __init__(self, guards: Iterable[Guard]):
        self.left = [*guards][::-1]

    def outcome(self, what: str, line: Line) -> Any:
        """That of the guard that is next, where it is this one; None where nothing is known of it.

        Where the other trace has asked for the truth of something else next, it was recorded in another way (a loop as
        one, where its iterations are recorded one by one now), and is no help from there on.
        """
        while self.left:
            guard = self.left[-1]
            if (guard.what, guard.line) == (what, line):
                return self.left.pop().outcome
            if guard.what == BRANCH:
                if what == BRANCH:
                    self.left.clear()
                return None
            self.left.pop()
        return None
