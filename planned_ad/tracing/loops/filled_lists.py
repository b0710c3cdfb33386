"""Lists made with their length and filled item by item: `gains = [None] * n`, then `gains[t] = ...` in a loop.

What has been assigned is a list that grows; what has not been yet lies behind it, or before it where the loop runs
backwards. Only assignments to the next item do that: any other makes the trace start again with the list as Python
makes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Affine, Extent
from ..record.aliases import storages_in
from ..record.recorder import Recorder
from ..record.storage import Storage
from ..values.loop_index import expression_of, index_of
from .form import HandedOn
from .forms import Unchanged
from .held import is_number
from .traced_list import NOTHING, Segment, TracedList

if TYPE_CHECKING:
    from ..record.decisions import Site

Parts = list[Any]


@dataclass(eq=False)
class Unset(HandedOn):
    """Items to which nothing has been assigned since the list was made: all are this one."""

    value: Any

    def stored(self) -> HandedOn | None:
        return None

    def item(self, owner: TracedList | None, row: Any) -> Any:
        return self.value

    def array(self, owner: TracedList, length: int) -> Any:
        raise owner.refuse()

    def storages(self) -> Iterator[Storage]:
        yield from storages_in(self.value)


@dataclass(eq=False)
class LastRows(HandedOn):
    """The rows of a column from a place on, which moves while a loop fills it backwards."""

    column: HandedOn
    first: Extent

    def stored(self) -> HandedOn | None:
        return None

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert owner is not None
        return self.column.item(owner, row + index_of(owner.recorder, self.first))

    def part(self, owner: TracedList, rows: slice) -> HandedOn:
        raise owner.refuse()

    def array(self, owner: TracedList, length: int) -> Any:
        raise owner.refuse()

    def storages(self) -> Iterator[Storage]:
        return self.column.storages()

    def own_storages(self) -> Iterator[Storage]:
        return self.column.own_storages()


def is_unset(part: Any) -> bool:
    return type(part) is Segment and type(part.column) is Unset


def by_assignment(parts: Parts, backwards: bool) -> tuple[Parts, Parts]:
    """What has been assigned, in that order, and the rest of the list, which begins with what is `Unset`."""
    if not any(map(is_unset, parts)):
        return list(parts), []
    ordered = parts[::-1] if backwards else parts
    k = next(k for k, part in enumerate(ordered) if is_unset(part))
    return ordered[:k], ordered[k:]


def parts_of_list(assigned: Parts, rest: Parts, backwards: bool) -> Parts:
    parts = [*assigned, *rest]
    return parts[::-1] if backwards else parts


def left_after(rest: Parts, count: Extent) -> Parts:
    """The rest of a list after so many more assignments."""
    if not rest:
        return []
    length = rest[0].length - count
    return [*([] if isinstance(length, int) and length == 0 else [Segment(rest[0].column, length)]), *rest[1:]]


def could_be_filled(recorder: Recorder, items: Any, site: Site | None = None) -> bool:
    """Whether a list has the same thing in several places, for which others may be put: None, or an array.

    Numbers are such things where other things are beside them, or were found to take their place.
    """
    if type(items) is not list:
        return False
    return any(a is b and stands_for_others(recorder, a, items, site) for a, b in itertools.pairwise(items))


def stands_for_others(recorder: Recorder, item: Any, items: Parts, site: Site | None) -> bool:
    if is_number(item):
        return site in recorder.scopes.decisions.filled or not all(map(is_number, items))
    return item is None or isinstance(item, np.ndarray) or recorder.is_array(item)


def fill_item(items: TracedList, key: Any, value: Any) -> bool:
    """Assign to the next item; False where this is not such a list."""
    recorder = items.recorder
    scopes, expression = recorder.scopes, expression_of(key)
    if items.kind is not list or items.is_element or expression is None or not _begin(items, expression):
        return False
    items.note()
    assigned, rest = by_assignment(items.parts, items.backwards)
    loops = [scope.loop for scope in scopes.open[items.depth :] if scope.loop is not None]
    if not any(loop.growth.may_give(items) for loop in loops):  # the last passes, over each side of branches too
        ahead = sum_of_lengths(assigned)
        following = items.extent() - 1 - ahead if items.backwards else ahead
        if expression - following != 0:
            raise items.refuse()
    if scopes.depth > items.depth and scopes.open[-1].loop is None:
        is_other = items.pending_at is not None and items.pending_at - expression != 0
        if is_other or items.has_pending or (items.pending_at is None) is not (items.latest is NOTHING):
            raise items.refuse()
        items.pending = items.latest = value
        items.pending_at, items.pending_depth = expression, scopes.depth
        return True
    items.parts = parts_of_list([*assigned, value], left_after(rest, 1), items.backwards)
    return True


def _begin(items: TracedList, expression: Extent) -> bool:
    """See to it that there is a part of the list that is `Unset`."""
    if any(map(is_unset, items.parts)):
        return True
    scopes = items.recorder.scopes
    if len(items.parts) == 1 and type(part := items.parts[0]) is Segment and type(part.column) is Unchanged:
        items.parts = [part.column.value] * part.length if isinstance(part.length, int) else items.parts
    if not items.is_plain or not isinstance(expression, Affine):
        return False
    steps = dict(expression.terms)
    inner = [scope.loop for scope in scopes.open[items.depth :] if scope.loop is not None]
    step = next((steps[loop.index] for loop in reversed(inner) if loop.index in steps), 0)
    low, high = scopes.bounds(expression)
    run = items.parts[low : high + 1] if low >= 0 else []
    if abs(step) != 1 or high - low + 1 != len(run) or any(item is not run[0] for item in run):
        return False
    if not stands_for_others(items.recorder, run[0], items.parts, items.site):
        return False
    items.backwards = step < 0
    items.parts[low : high + 1] = [Segment(Unset(run[0]), len(run))]
    return True


def sum_of_lengths(parts: Sequence[Any]) -> Extent:
    total: Extent = 0
    for part in parts:
        total = total + (part.length if type(part) is Segment else 1)
    return total


def assigned_last(items: TracedList, low: int, high: int) -> Any:
    """What stands for an item, of these, that may turn out to be assigned in an earlier iteration.

    Where there is none yet, the first iteration is recorded by itself, and assigns one.
    """
    items.note()
    assigned, rest = by_assignment(items.parts, items.backwards)
    if not rest:
        near = items.parts[low : high + 1]
        assigned = [part for part in near if sum(part is other for other in near) == 1]
    if not assigned:
        scopes = items.recorder.scopes
        filling = next((s for s in scopes.open[items.depth :] if s.loop is not None and s.site is not None), None)
        if filling is None or scopes.decisions.first.get(filling.site):
            raise items.refuse()
        raise scopes.peel(filling, first=1)
    part = assigned[-1] if rest else assigned[0]
    if type(part) is not Segment:
        return part
    return part.column.item(items, 0 if items.backwards else index_of(items.recorder, part.length - 1))
