"""Records that the program has by reference: what variables, lists and objects hold of one is the number of its row."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...python.shadows import is_user_frame, real_class
from ...tape.guards import RAISES
from ..record.promotion import INT
from ..record.traced import Traced

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder

ROW_NUMBER, NO_ROW = ("row",), -1
NO_RECORD = "None is used as an object"
RECORDS = 1 << 41  # from the site of a record to that of the memory of all that are made there


@dataclass(frozen=True)
class RecordKind:
    """The kind of thing as which one of the records is handed on that an instruction makes; or None, as row -1."""

    site: Site
    records: Any = field(compare=False)  # of the present trace
    may_be_none: bool = False

    def made(self, row: Any) -> Any:
        return None if type(row) is int and row == NO_ROW else self.records.at(row, self)

    def row_of(self, value: Any) -> Any:
        """As which something is handed on; None for what is no such thing."""
        if value is None:
            return NO_ROW if self.may_be_none else None
        if not issubclass(type(value), RecordInRow):
            return None
        is_fit = value.record_reference == self or (self.may_be_none and value.record_reference.site == self.site)
        return value.record_row if is_fit else None

    @property
    def or_none(self) -> RecordKind:
        """One of these, or None: functions have to ask for that."""
        recorder = self.records.recorder
        decisions = recorder.scopes.decisions
        if decisions.nones is None:
            decisions.nones = True
            recorder.watch.off()
            raise recorder.scopes.restart()
        if not decisions.nones:
            raise self.records.refuse()
        recorder.gives_nones = True
        return replace(self, may_be_none=True)


class KnownRecords:
    """Of one trace."""

    def __init__(self) -> None:
        self.made: dict[Site, Any] = {}  # those that are by reference, by where the first ones are made
        self.shown: dict[int, tuple[Any, Site]] = {}  # lists and dicts that may be, with that, by identity
        self.classes: dict[type, Site] = {}  # that the program has defined
        self.examples: dict[Site, Any] = {}  # an object of each class of which something is asked
        self.asked: dict[int, Any] = {}  # by the numbers of tests, those of which one may be None
        self.within: dict[Site, set[Site]] = {}  # of lists whose items lie in memory, where those were made


class RecordInRow(Traced):
    """One of the records that an instruction makes, in the row of that number; objects have attributes of their own."""

    __slots__ = ("record_reference", "record_row")

    def __init__(self, reference: RecordKind, row: Any):
        self.record_reference, self.record_row = reference, row

    @property
    def record_memory(self) -> Any:
        return self.record_reference.records

    @property
    def recorder(self) -> Recorder:  # type: ignore[override]
        return self.record_memory.recorder  # type: ignore[no-any-return]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.record_memory.record_kind if is_user_frame(sys._getframe(1)) else type(self)  # type: ignore[no-any-return]

    def is_none(self) -> Any:
        """Whether it is None: a test of data, where it may be."""
        if not self.record_reference.may_be_none:
            return False
        found = self.record_row < 0
        if self.recorder.is_scalar(found):
            self.recorder.records.asked[found.value.id] = self.record_memory
        return found

    @property
    def record_place(self) -> Any:
        """Its row, where there has to be one."""
        if not self.record_reference.may_be_none:
            return self.record_row
        recorder = self.recorder
        recorder.scopes.require_after(recorder.value_of(self.record_row >= 0), RAISES, NO_RECORD)
        row = recorder.apply("maximum", recorder.value_of(self.record_row), recorder.constant(0, INT))
        return (
            type(self.record_row)(recorder, row, is_python=True)
            if recorder.is_scalar(self.record_row)
            else self.record_row
        )


def site_of_record(recorder: Recorder, obj: Any) -> Site | None:
    """Where a list, dict or object was made that is such a record, or may become one."""
    if issubclass(type(obj), RecordInRow):
        return obj.record_reference.site  # type: ignore[no-any-return]
    for known in (recorder.records.shown, recorder.displays):
        if id(obj) in known and len(obj):
            return known[id(obj)][1]
    if getattr(type(obj), "is_traced_list", False):
        has_items = getattr(obj, "parts", False) or getattr(obj, "is_begun", False)  # else it is filled later
        return obj.site if obj.kind is list and has_items else None
    cls, real = type(obj), real_class(type(obj))
    site: Any = recorder.records.classes.get(cls) if real is cls else (real, 0)
    if site is not None:
        recorder.records.examples[site] = obj
    return site  # type: ignore[no-any-return]


def refer(recorder: Recorder, sites: set[Site], *lists: Site) -> bool:
    """Have the program hold what is made at `sites` by reference, in the `lists`, unless that was tried.

    They lie in one memory. Of all these it is forgotten what they were found to be.
    """
    decisions = recorder.scopes.decisions
    if not sites or not sites.isdisjoint(decisions.no_records) or sites <= decisions.by_reference.keys():
        return False
    known = recorder.records.examples
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


def refer_items(owner: Any, items: Iterable[Any] = ()) -> BaseException:
    """What to raise where data say which item of a list is meant: they are records, from now on, if they can be.

    `items` come to be in it.
    """
    recorder = owner.recorder
    sites = set().union(*(sites_of_item(recorder, part) for part in (*items, *owner.parts)))
    sites |= recorder.records.within.get(owner.site, set())
    found = {site for site in sites if site is not None}
    if refer(recorder, found, owner.site):
        return recorder.scopes.restart()  # type: ignore[no-any-return]
    decisions = recorder.scopes.decisions
    are_records = None not in sites and sites and sites <= decisions.by_reference.keys() - decisions.no_records
    return owner.uneven() if are_records and owner.site in decisions.growing else owner.refuse()  # type: ignore[no-any-return]


def sites_of_item(recorder: Recorder, item: Any) -> set[Site | None]:
    """Where an item was made; of one that a list has in its rows, where those were that it was filled with."""
    within = recorder.records.within.get(item.site) if getattr(item, "is_element", False) else None
    return set(within) if within else {site_of_record(recorder, item)}


def join_sites(by_reference: dict[Site, Site], sites: Iterable[Site]) -> None:
    """Have what is made at these lie in one memory, with what lies in one with any of them already."""
    firsts = [by_reference.setdefault(site, site) for site in sites]
    for site, first in by_reference.items():
        if first in firsts:
            by_reference[site] = firsts[0]


def unite(a: Any, b: Any) -> None:
    """Of two kinds of which one serves for the other; records that lie in two memories lie in one from now on."""
    if isinstance(a, RecordKind) and isinstance(b, RecordKind) and a.site != b.site:
        scopes = b.records.recorder.scopes
        join_sites(scopes.decisions.by_reference, (a.site, b.site))
        raise scopes.restart()


def sites_to_refer(recorder: Recorder, *values: Any) -> frozenset[Site]:
    """Where things were made that could be records, of which a variable holds one or another."""
    decisions = recorder.scopes.decisions
    sites = {site_of_record(recorder, value) for value in values if value is not None}
    is_tried = None in sites or not sites.isdisjoint(decisions.no_records) or sites <= decisions.by_reference.keys()
    return frozenset() if is_tried else frozenset(sites)  # type: ignore[arg-type]


def common_reference_of(a: Any, b: Any) -> RecordKind | None:
    """As what two things are handed on of which one at least is a record, and the other one too, or None."""
    records = [value for value in (a, b) if issubclass(type(value), RecordInRow)]
    if len(records) + (a is None) + (b is None) < 2 or not records:
        return None
    unite(records[0].record_reference, records[-1].record_reference)
    is_mixed = len(records) < 2 or any(value.record_reference.may_be_none for value in records)
    return records[0].record_reference.or_none if is_mixed else records[0].record_reference


def refer_beside(recorder: Recorder, reference: Any, value: Any) -> None:
    """Something is put beside records, or None: the trace starts again where it can be a record too."""
    if isinstance(reference, RecordKind) and value is not None and not issubclass(type(value), RecordInRow):
        shown = site_of_record(recorder, value)
        if shown is not None and refer(recorder, {reference.site, shown}):
            raise recorder.scopes.restart()


def refuse_in_list(recorder: Recorder, items: Any) -> BaseException:
    """What to raise for a list that cannot be in another one as it is: it is a record from now on, if it can be."""
    shown = site_of_record(recorder, items)
    is_new = shown is not None and refer(recorder, {shown})
    return recorder.scopes.restart() if is_new else items.refuse()  # type: ignore[no-any-return]
