"""How the elements of lists whose length is data lie in memory, and for how many there is room."""

from __future__ import annotations

import collections
import types
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...python.shadows import ShadowClass, real_class
from ...regions.affine import Affine, Extent, exact
from ..lengths.elements import UNBOUNDED
from .columns import element_form, may_be_kept, stored
from .form import HandedOn
from .forms import Items, Unchanged, as_letters, as_optional, joined
from .held import ObjectKind, same
from .letters import is_text_or_member
from .list_growth import lists_in
from .object_copies import has_arrays_within
from .references import RecordKind, unite
from .settling import settles
from .stored_forms import Number
from .traced_list import NOTHING, Segment, TracedList
from .written_forms import common_number

if TYPE_CHECKING:
    from ..record.recorder import Recorder
    from ..record.scopes import Scope

Chain = tuple[tuple[types.CodeType, int], ...]  # the calls that are running, each at an instruction of its code
Spot = tuple[tuple[int, ...], Chain, int]  # the indices of the loops around a place, and which time it is
MOST_ROWS, MOST_TIMES = 1 << 24, 6
TOO_MANY = MOST_ROWS + 1
CHANGES = [0]  # how often something has been noted of what lists may hold, in any trace
MOST_LISTS = 64  # of which one holds what another one does, and so on


@dataclass(frozen=True)
class ListRoom:
    """What is decided of the lists that one instruction makes: how their elements lie in memory, and for how many."""

    form: HandedOn | None = None
    most: int = 1
    times: int = 0  # that it was too little, or too much at first
    each: tuple[int, ...] = ()  # for how many in the first list that it makes, the second, and so on
    is_guessed: bool = False  # whether something is read before anything is known to be there

    def of(self, number: int) -> int:
        """For how many there is room in this one of its lists."""
        return self.each[number] if number < len(self.each) else self.most

    def suits(self, needed: Sequence[int]) -> bool:
        """Whether it is enough, and no more than that if it was guessed."""
        if not self.times:
            return max(needed) == min(needed) == self.most
        return all(n <= self.of(number) for number, n in enumerate(needed))

    def fitted(self, needed: Sequence[int]) -> ListRoom:
        """With what these need, and more of it where it was too little before: a list may grow by what others hold."""
        known = [self.of(number) for number in range(len(needed))]
        each = [max(n, 2 * k if self.times and n > k else 0, k if self.times else 0) for n, k in zip(needed, known)]
        return replace(self, most=max(each), times=self.times + 1, each=tuple(each))


@dataclass(frozen=True)
class Supply:
    """What a list may hold since another one does: as it takes that so often, or as so much is added for each of it."""

    other: Appended
    times: int
    is_added: bool = False


@dataclass(eq=False)
class Appended:
    """How often the places where one list is appended to may run; what it has begun with, or comes to hold in turn."""

    times: dict[Spot, int] = field(default_factory=dict)
    before: dict[Spot, int] = field(default_factory=dict)  # those in front of a loop in which it holds others in turn
    sources: dict[Any, Supply] = field(default_factory=dict)
    # In these passes of the loops around, how often a place has run: of a short loop that is written out.
    counts: dict[tuple[tuple[int, ...], Chain], int] = field(default_factory=dict)
    number: int = 0  # which of the lists it is that its instruction makes in one pass of the loops around
    limit: int = TOO_MANY  # of a queue that drops others, or a slice

    def at(
        self,
        indices: tuple[int, ...],
        passes: tuple[int, ...],
        calls: Chain,
        times: int,
        each: Appended | None = None,
    ) -> None:
        """The list is appended to here, so often, in a pass over the bodies of the loops with these indices.

        Or so often for `each` element of a list that one of the loops runs over.
        """
        number = self.counts.get((passes, calls), 0)
        self.counts[passes, calls] = number + 1
        spot = indices, calls, number
        CHANGES[0] += 1
        if each is None:
            self.times[spot] = max(self.times.get(spot, 0), times)
        else:
            self.sources[id(each), spot] = Supply(each, times, is_added=True)

    def after(self, other: Appended, indices: tuple[int, ...], times: int) -> None:
        """The list comes to hold what the other one does, so often, in the loops with these indices."""
        self.hold(other, times)
        for place in [place for place in self.times if not indices or indices[-1] not in place[0]]:
            self.before[place] = self.times.pop(place)

    def hold(self, other: Appended, times: int) -> None:
        """It may come to hold what another list does, so often."""
        CHANGES[0] += 1
        self.sources[id(other)] = Supply(other, times)

    @property
    def most(self) -> int:
        return self.without((), (), {})[0]

    def without(
        self, around: tuple[Appended, ...], path: tuple[Appended, ...], known: dict[Any, tuple[int, int]]
    ) -> tuple[int, int]:
        """The most elements, what the lists `around` hold aside; and how often it may hold that as well.

        `path`: the lists of which it is asked; `known`: what has been found.
        """
        key = id(self), frozenset(map(id, around)), frozenset(map(id, path))
        if key not in known:
            if len(around) + len(path) > MOST_LISTS:
                return TOO_MANY, 0
            known[key] = self.counted(around, path, known)
        return known[key]

    def counted(
        self, around: tuple[Appended, ...], path: tuple[Appended, ...], known: dict[Any, tuple[int, int]]
    ) -> tuple[int, int]:
        begun, added, copies = sum(self.before.values()), 0, 0
        for source in self.sources.values():
            if source.other is self and source.is_added:
                most, held = TOO_MANY, 0
            elif source.other in around or source.other is self:
                most, held = 0, 1
            elif source.is_added and not around:  # all that it holds, whatever that is
                is_circle = source.other in path
                most, held = TOO_MANY if is_circle else source.other.without((), (*path, self), known)[0], 0
            else:
                most, held = source.other.without((*around, self), path, known)
            if source.is_added:
                added, copies = added + most * source.times, copies + held * source.times
            elif held:  # each time some more; or twice as many
                added, copies = added + (most * source.times if held == 1 else TOO_MANY), max(copies, held)
            else:
                begun = max(begun, most)
        if copies and self.limit < TOO_MANY:  # whatever those hold
            return self.limit, 0
        return min(sum(self.times.values()) + begun + added, self.limit), copies


class ListsOfSite(list[Appended]):
    """Those that one instruction makes."""

    def __init__(self) -> None:
        self.made: Counter[tuple[int, ...]] = Counter()  # in these passes of the loops around

    def add(self, found: Appended, passes: tuple[int, ...]) -> None:
        CHANGES[0] += 1
        found.number = self.made[passes]
        self.made[passes] += 1
        self.append(found)

    @property
    def needed(self) -> list[int]:
        """For how many elements the first one needs room in any of the passes, the second, and so on.

        A pass may go one way only where others have gone another one: what these have appended there counts too.
        """
        found = [1] * max((each.number + 1 for each in self), default=1)
        places: dict[int, dict[Spot, int]] = {}
        for each in self:
            known = places.setdefault(each.number, {})
            known |= {spot: max(times, known.get(spot, 0)) for spot, times in each.times.items()}
        for each in self:
            elsewhere = places[each.number].keys() - each.times.keys() - each.before.keys()
            most = each.most + sum(places[each.number][spot] for spot in elsewhere)
            found[each.number] = max(found[each.number], min(most, each.limit))
        return found


def passes_around(recorder: Recorder) -> tuple[int, ...]:
    """Which pass it is of each of the loops around."""
    return tuple([scope.loop.passes for scope in recorder.scopes.open if scope.loop is not None])


def calls_at(frame: types.FrameType | None) -> Chain:
    """The calls that are running."""
    found = []
    while frame is not None:
        found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def times_within(recorder: Recorder, depth: int, row: Extent | None = None, beside: Scope | None = None) -> int:
    """How often what is recorded now may run in the loops that are deeper, one of them aside; for one `row` of theirs.

    Of each loop that moves the row one iteration is that row's, where the others are the same: of the longest, once.
    """
    scopes = recorder.scopes
    moving = dict(row.terms) if isinstance(row, Affine) else {}
    times, longest = 1, 1
    for scope in scopes.open[depth:]:
        if scope.index is not None and scope is not beside:
            last: Any = scope.range[1]
            trips = scopes.capacity(exact(last) + 1)
            if trips >= UNBOUNDED and scope.loop is not None and scope.loop.count is not None:
                scope.loop.needs_limit, trips = True, recorder.max_steps
            times *= trips
            longest = max(longest, trips) if scope.index in moving else longest
    return times // longest


def list_around(recorder: Recorder, depth: int) -> tuple[Scope, Appended] | None:
    """The innermost of the loops that are deeper that runs over a list whose length is data, and what that may hold."""
    for scope in reversed(recorder.scopes.open[depth:]):
        if scope.loop is not None and scope.loop.count is not None and scope.loop.count.id in recorder.counted:
            return scope, recorder.counted[scope.loop.count.id]
    return None


def room_for(recorder: Recorder, parts: list[Any]) -> ListRoom:
    """Room for elements, and segments of them; of a form that is not known yet where these have none in common."""
    found: HandedOn | None = None
    for part in parts:
        form = form_in_rows(recorder, part)
        found = form if found is None or form is None else serving(found, form)
        if found is None:
            break
    return ListRoom(found if found is not None and may_be_kept(recorder, found) else None)


def follow_queues(recorder: Recorder, grown: Iterable[Any]) -> None:
    """Those of `collections.deque` that get longer or shorter have a length that is data, unless that was tried."""
    decisions, displays = recorder.scopes.decisions, recorder.displays
    found = [queue for queue in grown if type(queue) is collections.deque and id(queue) in displays]
    sites = {displays[id(queue)][1]: queue for queue in found}
    new = {site: queue for site, queue in sites.items() if site not in decisions.plain | decisions.growing}
    if new:
        decisions.growing |= new.keys()
        decisions.lengths |= {site: room_for(recorder, list(queue)) for site, queue in new.items()}
        raise recorder.scopes.restart()


def of_run_time_length(recorder: Recorder, items: TracedList) -> BaseException:
    """What to raise for a list that does not grow evenly: the trace starts again, with one whose length is data."""
    decisions = recorder.scopes.decisions
    if decisions.attempt is not None:
        return recorder.scopes.give_up(decisions.attempt, for_good=True)
    is_collected = any(consumer.value is items for consumer in recorder.consumers.values())
    if (
        not items.is_element
        and not is_collected
        and settles(recorder, recorder.scopes.open[items.depth :], [items.site])
    ):
        return recorder.scopes.restart()
    parts = [part for part in (*items.parts, items.latest, items.appended) if part is not NOTHING]
    room = room_for(recorder, parts)
    if not (items.latest is items.appended is NOTHING):  # it is appended to now, or was in this pass
        grown = [scope.loop.growth.lists.get(id(items)) for scope in recorder.scopes.open if scope.loop is not None]
        begun = next((list_.before for list_ in grown if list_ is not None), items.parts)
        held: Any = 0
        for part in begun:
            length: Any = part.length if type(part) is Segment else 1
            held += getattr(exact(length), "constant", length)
        room = replace(room, most=max(held + times_within(recorder, items.depth), 1))
    decisions.lengths[items.site] = room
    decisions.first.clear()  # perhaps it was this list that the first iterations found otherwise
    decisions.last.clear()
    return recorder.scopes.restart()


def form_in_rows(recorder: Recorder, element: Any) -> HandedOn | None:
    """The form of an element, or of a segment of them, in memory; None for what is, or has, a list."""
    if next(lists_in(element), None) is not None:
        return None
    form = element_form(recorder, element, -1)
    if form is not None and has_arrays_within(form):
        return None
    return None if form is None else form_in_memory(form)


def form_in_memory(form: HandedOn) -> HandedOn | None:
    """A form in memory; of what is the same text each time, or None, it is no more than that."""
    if isinstance(form, Unchanged) and is_of_one_kind(form.value):
        return form
    return form.of([form_in_memory(part) for part in form.items]) if isinstance(form, Items) else stored(form)


def is_of_one_kind(element: Any) -> bool:
    """Whether it is something of which another one is another thing: None, a text."""
    return element is None or is_text_or_member(element)


def of_this_trace(recorder: Recorder, form: HandedOn | None) -> HandedOn | None:
    """A form that an earlier trace has found: classes have another shadow in each. None for a class that f defines."""
    if not isinstance(form, Items):
        return form
    if isinstance(form.kind, RecordKind):
        records = recorder.records.made.get(recorder.scopes.decisions.by_reference.get(form.kind.site))
        return (
            None
            if records is None
            else replace(form, kind=replace(records.reference, may_be_none=form.kind.may_be_none))
        )
    kind, items = form.kind, [of_this_trace(recorder, part) for part in form.items]
    cls = kind.cls if type(kind) is ObjectKind else kind
    if isinstance(cls, ShadowClass):
        real = real_class(cls)
        if real is cls:
            return None
        seen = recorder.namespace.shadow(real)
        kind = ObjectKind(seen) if type(kind) is ObjectKind else seen
    return replace(form, kind=kind).of(items)


def serving(a: HandedOn, b: HandedOn) -> HandedOn | None:
    """The form that serves for elements of both."""
    if isinstance(a, Unchanged) and isinstance(b, Unchanged) and same(a.value, b.value):
        return a
    a, b = as_letters(*as_optional(a, b))
    if isinstance(a, Items) and isinstance(b, Items):
        unite(a.kind, b.kind)
        if (a.kind, a.keys) != (b.kind, b.keys):
            return None
        return a.of([serving(one, other) for one, other in zip(a.items, b.items)])
    if isinstance(a, Number) and isinstance(b, Number):
        return common_number([a, b])
    return stored(joined(a, b, exact=True))


def is_alike(a: HandedOn, b: HandedOn) -> bool:
    """Whether two forms are one, the classes that their numbers may have included."""
    kinds = [[getattr(leaf, "types", None) for leaf in form.leaves()] for form in (a, b)]
    return a == b and kinds[0] == kinds[1]


def make_room(recorder: Recorder) -> None:
    """The trace is over: it starts again where the memory of lists is not made for what it may append to them.

    The first guess is what the loops around the first place may append that makes it such a list.
    """
    if recorder.rooms_known == CHANGES[0]:
        return
    recorder.rooms_known = CHANGES[0]
    lengths = recorder.scopes.decisions.lengths
    needed = {site: found.needed for site, found in recorder.appended.items()}
    unfit = {site: most for site, most in needed.items() if not lengths[site].suits(most)}
    if unfit:
        for site, most in unfit.items():
            known = lengths[site]
            lengths[site] = known.fitted(most)
            if known.times == MOST_TIMES:  # how many there are depends on how many there may be
                recorder.scopes.decisions.plain.add(site)
        raise recorder.scopes.restart()
