"""Whether what a trace has found outside is still there: checked at each call, and told in messages.

Traced code sees copies of its globals, closures and objects (`namespace`), and what it reads of them becomes part of
the program: numbers and flags, the functions that names are bound to, the contents of arrays whose numbers had to be
known. Here the real objects are walked along the same ways (`sightings`), but only along names that occur in code that
may have run. The walk gives the rows of a table that each call checks (`kernels.watchtable`), and what there was in a
form that can be compared by value: where the table finds another object, the objects are walked again, and an equal
number or an equal function in another object is no change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...kernels.entry import watchtable
from ...kernels.entry.watchtable import WatchTable
from ...python.used_names import UsedNames, lines_of
from ...tape.found_outside import Outside
from .portraits import NotPortable, Portrait, portrait_of, require_complete
from .sightings import Look, Walk
from .told import Sighting
from .visitors import found_in_cache

ASK_FOR_ERRORS = frozenset({"FloatingPointError", "geterr", "geterrcall"})


def see_errors(walk: Walk) -> None:
    walk.see("numpy.geterr()", ("errors", *np.geterr().values()), "another setting", False)


@dataclass(eq=False)
class Watch:
    """The watch over what one trace has found. To be made when the trace is."""

    outside: Outside
    _table: WatchTable = field(default_factory=WatchTable)
    _lasting: WatchTable = field(default_factory=WatchTable)  # of what calls take for granted
    _pointers: WatchTable = field(default_factory=WatchTable)  # the rows of the first one that can be compared there
    _looks: list[tuple[Look, list[Any]]] = field(default_factory=list)  # at other things, and what they saw
    _names: UsedNames = field(default_factory=UsedNames)
    _seen: list[Sighting] = field(default_factory=list)
    _notes: tuple[str, ...] = ()
    _in_python: tuple[str, ...] = ()
    _passed: dict[tuple[int, str], str] = field(default_factory=dict)  # items that have changed without a difference
    _complete: tuple[int, bool] | None = None  # of that version
    _walked: int = 0  # the version that was walked

    def __post_init__(self) -> None:
        self._look()

    def _walk(self, names: UsedNames) -> Walk:
        walk = Walk(names, self.outside, self._passed)
        for names_of, keys in self.outside.read.values():
            walk.globals(names_of, keys)
        for root, name in self.outside.roots:
            walk.root(root, name)
        with walk.raw():
            for function, name in self.outside.plain:
                walk.visit(function, name)
        for cached, key, name in self.outside.kept:
            found_in_cache(walk, cached, key, name)
        if not ASK_FOR_ERRORS.isdisjoint(names.names):
            walk.compare_in_python(see_errors, "what NumPy does about errors (numpy.geterr())")
            see_errors(walk)
        if not {"environ", "getenv"}.isdisjoint(names.names):
            walk.visit(os.environ, "os.environ")
        return walk

    def _first_walk(self) -> Walk:
        """A walk along the names that occur in the code that it meets."""
        while True:
            walk = self._walk(self._names)
            known = self._names
            if walk.codes <= known.codes and walk.texts <= known.texts and walk.asked <= known.asked:
                return walk
            self._names = UsedNames(known.codes | walk.codes, known.texts | walk.texts, known.asked | walk.asked)

    def _look(self) -> None:
        """Walk for the first time, or since more was found: where the first is still there, else it stays to differ."""
        if self._walked != self.outside.version:
            if self._walked and not (watchtable.supported() and self._table.holds()):
                self._walked = self.outside.version
                return
            walk = self._first_walk()
            self._fill(walk)
            self._seen, self._walked, self._notes = walk.seen, self.outside.version, tuple(dict.fromkeys(walk.notes))
            self._in_python = tuple(dict.fromkeys(walk.in_python))

    def _fill(self, walk: Walk) -> None:
        self._table.fill(walk.rows)
        self._lasting.fill(walk.lasting)
        pointers = [row for row in walk.rows if row is not watchtable.NEVER]
        are_all_seen = len(pointers) + len(walk.looks) == len(walk.rows)
        self._pointers.fill(pointers if are_all_seen else ())
        self._looks = [(look, self._glance(look)) for look in walk.looks] if are_all_seen else []

    def _glance(self, look: Look) -> list[Any]:
        """What there is now at one thing, and behind it, that is compared in Python."""
        walk = Walk(self._names, self.outside, self._passed)
        walk.is_raw, visit = look
        visit(walk)
        return [sighting.key for sighting in walk.seen]

    def _looks_same(self) -> bool | None:
        """Whether each of the things that are compared in Python is the same; None where others are not."""
        if not self._looks or not watchtable.supported() or not self._pointers.holds():
            return None
        return all(self._glance(look) == seen for look, seen in self._looks)

    @property
    def table(self) -> WatchTable | None:
        """What each call checks; None where there is nothing to check."""
        self._look()
        return self._table if self._table.alive else None

    def is_same(self) -> bool:
        """Whether the very objects are there: a quick look, which may take an equal object for another."""
        self._look()
        if not self._table.alive or (watchtable.supported() and self._table.holds()):
            return True
        return bool(self._looks_same())

    def holds(self) -> bool:
        """Whether everything has the value that it had; if so, the table knows the objects of now."""
        if not self._lasting.alive or (watchtable.supported() and self._lasting.holds()):
            if self.is_same():
                return True
            if self._looks_same() is False:
                return False
        walk = self._walk(self._names)
        if [s.key for s in walk.seen] != [s.key for s in self._seen]:
            return False
        self._fill(walk)
        self._seen = walk.seen
        return True

    def passes_over(self) -> bool:
        """Whether all that has changed are items of dicts whose keys do not occur in code: they are not compared then.

        To be asked where a trace with what they are now is the same as the one with what they were.
        """
        walk = self._walk(self._names)
        if [s.key for s in self._seen if s.place is None] != [s.key for s in walk.seen if s.place is None]:
            return False
        old, new = ({s.place: s for s in seen if s.place is not None} for seen in (self._seen, walk.seen))
        self._passed |= {place: s.path for place, s in new.items() if place in old and old[place].key != s.key}
        self._seen = [s for s in self._seen if s.place not in self._passed]
        return self.holds()

    def follows(self, other: Watch) -> bool:
        """Watch over what the other one does, which is for now, where a table has room for it: of the same program."""
        walk = other._walk(other._names)
        if not self._table.has_form_of(walk.rows):
            return False
        self.outside, self._names, self._passed = other.outside, other._names, other._passed
        self._fill(walk)
        self._seen, self._walked, self._complete = walk.seen, other._walked, None
        self._notes, self._in_python = tuple(dict.fromkeys(walk.notes)), tuple(dict.fromkeys(walk.in_python))
        return True

    def changes(self) -> Iterator[str]:
        """What is another value now, for messages: the name, its line, what it was and is."""
        old = {s.path: s for s in self._seen}
        new = {s.path: s for s in self._walk(self._names).seen}
        for path, now in new.items():
            before = old.get(path)
            if before is None or before.key != now.key:
                was = "not there" if before is None else before.shown
                if was == now.shown:
                    yield f"`{path}` is another object now, {was}{self._where(path)}"
                    continue
                yield f"`{path}` is {now.shown} now, and was {was} when it was traced{self._where(path)}"
        for path, before in old.items():
            if path not in new:
                yield f"`{path}` is gone, and was {before.shown} when it was traced{self._where(path)}"

    def _where(self, path: str) -> str:
        """The line that uses a name, by the last part of its path, else the first."""
        parts = re.findall(r"\w+", path)
        lines = lines_of(self._names.codes, (*parts[::-1],))
        return f" ({lines[0]}: `{lines[0].text}`)" if lines else ""

    def is_complete(self) -> bool:
        """Whether everything is compared that the trace depends on: see `portraits`."""
        self._look()
        if self._complete is None or self._complete[0] != self._walked:
            try:
                require_complete(self._walk(self._names), self.outside)
                self._complete = self._walked, True
            except NotPortable:
                self._complete = self._walked, False
        return self._complete[1]

    def portrait(self, with_contents: bool = False) -> Portrait:
        """What there is now, as another process can compare it; `with_contents`: of arrays that each call reads, too.

        Raises
        ------
        NotPortable
            It cannot all be compared.
        """
        self._look()
        return portrait_of(self._walk(self._names), self.outside, with_contents)

    @property
    def watched(self) -> tuple[str, ...]:
        """The names that are checked, those of one container as one."""
        self._look()
        return tuple(dict.fromkeys(s.path for s in self._seen if s.is_checked))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not checked, and why."""
        self._look()
        frozen = [f"{name} is taken for constant (frozen=)" for name in self.outside.frozen]
        passed = [
            f"`{path}` has changed, and that made no difference: it is not compared" for path in self._passed.values()
        ]
        return (*frozen, *passed, *self._notes)

    @property
    def compared_in_python(self) -> tuple[str, ...]:
        """What sends each call through Python."""
        self._look()
        return self._in_python
