"""Copies of lists, dicts and objects, of which data say which one the program has: `max(rows, key=...)`.

They are made anew from the rows of memory in which the numbers of all lie. So the program may only read them, and what
they are copies of: where it has written to one of either, the trace starts again without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .form import HandedOn
from .forms import Items
from .held import ObjectKind, taken_apart
from .object_copies import may_be_copied, note_copy
from .tables import column_of

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder

COPIES = 5  # beside the offset of an instruction, which is even
MOST_WITHIN = 3  # of lists, dicts and objects in one another


class ReadCopies:
    """Items of a sequence by places that are data; `site`: where they are asked for.

    That the program writes to one of these, or asks which one it has, is noticed as for the rows of lists.
    """

    def __init__(self, recorder: Recorder, site: Site, items: Sequence[Any], column: HandedOn):
        self.recorder, self.site, self.column = recorder, site, column
        recorder.rows_given.add(site)
        for item in items:
            note_copy(recorder, site, item)

    def item(self, place: Any) -> Any:
        found = self.column.item(None, place)
        note_copy(self.recorder, self.site, found)
        return found


def site_of_copies(site: Site) -> Site:
    """Of what is copied there, which the program may not write to, or ask which one it is."""
    return site[0], site[1] + COPIES


def copies_of(recorder: Recorder, site: Site, items: Sequence[Any]) -> ReadCopies | None:
    """Copies of items of one make; None where they are of several, or where the program could tell them apart."""
    column = column_of_copies(recorder, items, MOST_WITHIN)
    return None if column is None else ReadCopies(recorder, site, items, column)


def column_of_copies(recorder: Recorder, items: Sequence[Any], within: int) -> HandedOn | None:
    parts = [taken_apart(item) if is_held_in_parts(item) else None for item in items]
    if parts[0] is None:
        return column_of(recorder, items, laid_down=True)
    kind, keys, _ = parts[0]
    is_made = within > 0 and (kind in (tuple, list, dict) or may_be_copied(kind))
    if not is_made or any(part is None or part[:2] != (kind, keys) for part in parts):
        return None
    columns = zip(*(part[2] for part in parts if part is not None))
    return Items(kind, keys, ()).of([column_of_copies(recorder, column, within - 1) for column in columns])


def is_held_in_parts(item: Any) -> bool:
    if type(item) in (tuple, list, dict):
        return True
    parts = None if isinstance(item, tuple) else taken_apart(item)
    return parts is not None and isinstance(parts[0], ObjectKind)
