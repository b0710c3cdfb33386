"""Records that the program has by reference: what variables, lists and objects hold of one is the number of its row."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...python.shadows import is_user_frame, real_class
from ..record.traced import Traced

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder

ROW = ("row",)
RECORDS = 1 << 41  # from the site of a record to that of the memory of all that are made there


@dataclass(frozen=True)
class Reference:
    """The kind of thing as which one of the records is handed on that an instruction makes."""

    site: Site
    records: Any = field(compare=False)  # of the present trace

    def made(self, row: Any) -> Any:
        return self.records.at(row)


class Record(Traced):
    """One of `records`, in the row of that number."""

    __slots__ = ("records", "row")

    def __init__(self, records: Any, row: Any):
        self.records, self.row = records, row

    @property
    def recorder(self) -> Recorder:  # type: ignore[override]
        return self.records.recorder  # type: ignore[no-any-return]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.records.record_kind if is_user_frame(sys._getframe(1)) else type(self)  # type: ignore[no-any-return]


def shown_at(recorder: Recorder, obj: Any) -> Site | None:
    """Where a list or dict was made that may become such a record."""
    for known in (recorder.shown_records, recorder.displays):
        if id(obj) in known:
            return known[id(obj)][1]
    if getattr(type(obj), "is_traced_list", False):
        return obj.site if obj.kind is list else None
    cls, real = type(obj), real_class(type(obj))
    site: Any = recorder.classes.get(cls) if real is cls else (real, 0)
    if site is not None:
        recorder.record_examples[site] = obj
    return site  # type: ignore[no-any-return]


def refer(recorder: Recorder, sites: set[Site], *lists: Site) -> bool:
    """Have the program hold what is made at `sites` by reference, in the `lists`, unless that was tried.

    They lie in one memory. Of all these it is forgotten what they were found to be.
    """
    decisions = recorder.scopes.decisions
    if not sites or not sites.isdisjoint(decisions.plain) or sites <= decisions.by_reference.keys():
        return False
    known = recorder.record_examples
    if not all(recorder.flow.learn_class(site, known[site]) for site in sites if site in known):
        return False
    join_sites(decisions.by_reference, sites)
    for site in (*lists, *sites):
        for found in (decisions.written, decisions.filled_first, decisions.lengths):
            found.pop(site, None)
        decisions.filled.discard(site)
    for site, room in decisions.lengths.items():
        is_of_items = site[1] < RECORDS and room.form is not None and list(room.form.parts())
        if is_of_items and site not in lists:
            decisions.lengths[site] = replace(room, form=None)  # which may have such records in it
    decisions.forget_ways()
    return True


def join_sites(by_reference: dict[Site, Site], sites: Iterable[Site]) -> None:
    """Have what is made at these lie in one memory, with what lies in one with any of them already."""
    firsts = [by_reference.setdefault(site, site) for site in sites]
    for site, first in by_reference.items():
        if first in firsts:
            by_reference[site] = firsts[0]


def unite(a: Any, b: Any) -> None:
    """Of two kinds of which one serves for the other; records that lie in two memories lie in one from now on."""
    if isinstance(a, Reference) and isinstance(b, Reference) and a != b:
        scopes = b.records.recorder.scopes
        join_sites(scopes.decisions.by_reference, (a.site, b.site))
        raise scopes.restart()
