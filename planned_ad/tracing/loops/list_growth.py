"""Lists that grow in a loop by the same number of like elements each time: these become rows of memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.attributes_held import attributes_held
from ...python.complex_parts import ComplexArray, kind_of_parts
from ...regions.affine import Extent, affine, exact
from ..record.aliases import Standing, copy_of
from ..record.decisions import EMPTY_LISTS
from ..record.lost_variables import Lost
from ..record.traced import TracedArray
from ..values.array_tracer import ArrayTracer
from .columns import MOST_NESTED, element_form, in_one_column, may_be_kept, merged, row_count, stored, types_of_leaves
from .counts import Count
from .filled_lists import LastRows, by_assignment, is_unset, left_after, parts_of_list
from .form import HandedOn
from .forms import Items, Unchanged, elements_of, joined, put_parts
from .held import has_places, is_made_of_attributes, number_type, taken_apart
from .list_in_trace import is_traced_list
from .object_copies import has_arrays_in_objects, is_whole, note_copy, note_owner, refuse_truths_in
from .places import Key, Place
from .references import refer_items, site_of_record
from .stored_forms import Number
from .traced_list import Segment, TracedList

if TYPE_CHECKING:
    from ..record.decisions import Site
    from .recorded_loop import RecordedLoop

MOST_MERGED = 64  # elements from before the loop that are put in front of its rows


@dataclass
class Grown:
    """One such list."""

    target: TracedList
    before: list[Any]  # its parts before the loop, as far as they have been assigned, in that order
    rest: list[Any]  # and the others, in the same direction
    standing: Standing  # of the arrays in it
    form: HandedOn | None = None
    each: int = 0  # elements per iteration
    kept: list[Any] = field(default_factory=list)  # of the parts before, those that stay in front of the column
    first: int = 0  # rows of the column from before the loop
    column: HandedOn | None = None
    rows: int = 0  # of the column
    begun: list[Any] | None = None  # its parts at the beginning of the pass, where it has grown since

    def begin(self, iterations: Extent) -> None:
        self.begun = None
        assigned, rest = self.before, self.rest
        if self.column is not None:
            rows, column = self.first + iterations * self.each, self.column
            if self.backwards and rows != self.rows:
                column = LastRows(column, self.rows - rows)
            assigned, rest = [*self.kept, Segment(column, rows)], left_after(rest, iterations * self.each)
        self.target.parts = parts_of_list(assigned, rest, self.backwards)

    @property
    def backwards(self) -> bool:
        return bool(self.rest) and self.target.backwards

    @property
    def assigned(self) -> list[Any]:
        return by_assignment(self.target.parts, self.backwards)[0]

    @property
    def begun_with(self) -> list[Any]:
        """What had been assigned at the beginning of the pass."""
        return self.assigned if self.begun is None else by_assignment(self.begun, self.backwards)[0]

    def put(self, row: Extent, parts: list[Any]) -> None:
        """Fill rows in the order of assignments."""
        assert self.column is not None
        if not self.backwards:
            put_parts(self.column, row, parts)
            return
        for k, part in enumerate(parts):
            self.column.put(self.rows - 1 - k - row, part)


@dataclass
class Growth:
    """The lists that grow in one loop."""

    loop: RecordedLoop
    lists: dict[int, Grown] = field(default_factory=dict)

    def note(self, grown: TracedList) -> None:
        """Called before a list grows that was made outside of the loop."""
        found = self.lists.get(id(grown))
        is_begun = found is not None and not found.rest and any(map(is_unset, grown.parts))
        if found is None or is_begun:
            standing = Standing(("list", len(self.lists)))  # the same in all passes over the loops around
            found = self.lists[id(grown)] = Grown(grown, *by_assignment(grown.parts, grown.backwards), standing)
        if found.begun is None:
            found.begun = list(grown.parts)

    def begin(self) -> None:
        """A pass begins."""
        for grown in self.lists.values():
            grown.begin(affine(0, {self.loop.index: 1}))
            self._stand(grown)

    def restore(self) -> None:
        """A pass is over, and the loop is recorded once more, or by itself."""
        for grown in self.lists.values():
            grown.target.parts = parts_of_list(grown.before, grown.rest, grown.backwards)
            grown.target.drop_pending()

    def settle(self) -> None:
        """The body is over, and the sides of its branches are."""
        for grown in self.lists.values():
            grown.target.settle()

    def leave(self) -> bool:
        """At the end of a pass: whether all lists have grown as they did before; if so, that is recorded."""
        return all([self._leave(grown) for grown in self.lists.values()])

    def _leave(self, grown: Grown) -> bool:
        loop = self.loop
        new = self.new(grown)
        if not new and grown.column is None and self.grows_around(grown):
            return True  # it was read, and gets longer in a loop around this one
        each = row_count(new)
        if not self.is_even or each is None or (grown.backwards and any(type(part) is Segment for part in new)):
            raise grown.target.uneven()
        if any(is_traced_list(part) and type(part) is not TracedList for part in new):
            raise grown.target.uneven()  # its elements are lists whose length is data
        self._know_lists(grown, new)
        sites = {site for part in new if (site := site_of_record(loop.recorder, part)) is not None}
        loop.recorder.records.within.setdefault(grown.target.site, set()).update(sites)
        form = merged([element_form(loop.recorder, part, loop.depth) for part in new])
        if form is not None:
            refuse_truths_in(grown.target, form)
            if has_arrays_in_objects(form):
                raise grown.target.refuse()
        if each != 1:
            form = stored(form)
        grown.standing.left = loop.recorder.copies.names_in(opened(new))
        for part in new:
            self._lend(grown.target, part)
        if grown.column is not None:
            common = in_one_column(grown.form, form) if each == grown.each else None
            is_same = common == grown.form and types_of_leaves(common) == types_of_leaves(grown.form)
            if common is not None and is_same and self._has_room(grown, each):
                self._put(grown, new)
                return True
            if each != grown.each:
                raise grown.target.uneven()
            form = common
        if form is None and new and all(type(part) is list and not part for part in new):
            raise loop.unrolled(EMPTY_LISTS)  # of which data may say which one is filled
        if form is None or form.is_known or not may_be_kept(loop.recorder, form):
            raise refer_items(grown.target, new)
        loop.recorder.filled.add(grown.target.site)
        grown.form, grown.each, grown.column = form, each, None
        return False

    def grows_around(self, grown: Grown) -> bool:
        """Whether a loop around this one, which is to be recorded once more, may turn out to fill a list."""
        around = [scope.loop for scope in self.loop.recorder.scopes.open if scope.loop not in (None, self.loop)]
        found = [loop.growth.lists.get(id(grown.target)) for loop in around]
        return any(outer is not None and outer.column is None for outer in found)

    @property
    def is_even(self) -> bool:
        """Whether it is known how many iterations there are, which the loops around may move."""
        loop = self.loop
        is_known = loop.count is None and loop.counts_iterations
        return is_known and loop.recorder.scopes.bounds_around(exact(loop.whole_trips), loop.index)[0] >= 0

    def _know_lists(self, grown: Grown, new: list[Any]) -> None:
        """What is in lists is copied: where that could be seen, or it is written to, they stay the lists they are."""
        objects = [part for part in new if type(part) is dict or is_made_of_attributes(type(part))]
        inner = [found for part in new for found in lists_in(part)]
        is_written = bool(inner) and grown.target.site in self.loop.recorder.scopes.decisions.written
        if is_written and not self._has_rows_alone(grown, inner):
            raise self.loop.unrolled("fills a list of lists to whose items are written")
        before = {id(value) for _, value in self.loop.origin.values.values()}
        inner += objects
        is_new = all(id(found) not in before and not getattr(found, "is_element", False) for found in inner)
        if not is_new or len(set(map(id, inner))) < len(inner):
            raise refer_items(grown.target, new)

    def _has_rows_alone(self, grown: Grown, inner: list[Any]) -> bool:
        """Whether these lists are in no other list, and there are none in it from before the loop."""
        others = (found for other in self.lists.values() if other is not grown for found in self.new(other))
        shared = {id(found) for part in others for found in lists_in(part)}
        first = [found for part in grown.before for found in lists_in(part) if type(part) is not Segment]
        return not first and not grown.target.is_shared and not any(id(found) in shared for found in inner)

    def _is_made_here(self, part: Any) -> bool:
        """Whether it is an array of its own, made in this iteration."""
        is_array = type(part) is ArrayTracer and is_whole(part)
        return is_array and part.storage.depth > self.loop.depth  # type: ignore[no-any-return]

    def _is_written_row(self, value: Any) -> bool:
        """Whether a variable holds an array of a list to whose arrays loops write."""
        owner = value.storage.root.listed if issubclass(type(value), TracedArray) else None
        in_place = self.loop.recorder.scopes.decisions.in_place
        return any(owner is grown.target and in_place.get(owner.site) for grown in self.lists.values())

    def _has_room(self, grown: Grown, each: int) -> bool:
        """Whether its rows are as many as are put there: a `while` learns how often it runs."""
        return grown.rows == grown.first + each * self.loop.whole_trips

    def new(self, grown: Grown) -> list[Any]:
        """What this pass has appended to a list."""
        return grown.assigned[len(grown.begun_with) :]

    def may_give(self, read: TracedList) -> bool:
        """Whether a list that is read past its end may turn out to grow in this pass, which is then not the last."""
        found = self.lists.get(id(read))
        return found is None or found.column is None

    def noted_in(self, form: HandedOn, value: Any) -> HandedOn:
        """The form of a variable's value, which says in which lists this pass has put what it leads to."""
        mine = set(map(id, held_within(value)))
        sites = {
            grown.target.site
            for grown in self.lists.values()
            if mine and any(id(found) in mine for part in self.new(grown) for found in held_within(part))
        }
        return listed_in(form, frozenset(sites)) if sites else form

    def holds(self, value: Any) -> bool:
        """Whether a variable's `value` is a list that this pass has put into another."""
        return self.holder(value) is not None

    def holder(self, value: Any) -> Grown | None:
        """The list into which this pass has put a variable's `value`."""
        held = (grown for grown in self.lists.values() if any(_holds(value, part) for part in self.new(grown)))
        return next(held, None)

    def _lend(self, owner: TracedList, element: Any, always: bool = False) -> None:
        """A row does not change when the array is written to that was put into the list: such a write is refused."""
        recorder, depth = self.loop.recorder, self.loop.depth
        if type(element) is Segment:
            for leaf in element.column.leaves():
                if isinstance(leaf, Unchanged):
                    self._lend(owner, leaf.value)
        elif kind_of_parts(element) is ComplexArray:
            self._lend(owner, element.pairs, always)
        elif recorder.is_array(element):
            if not always and isinstance(element_form(recorder, element, depth), Unchanged):
                return
            memory = element.storage
            memory = getattr(memory, "memory", memory)
            if memory.carried and memory.lent:
                raise self.loop.peeled("puts an array into a list that is another one in the first iteration")
            note_owner(memory, owner)
            memory.chosen = memory.chosen or memory.depth > depth
        elif type(element) is list or type(element) is TracedList or isinstance(element, tuple):
            for item in element.parts if type(element) is TracedList else element:
                self._lend(owner, item, always)
        elif type(element) is dict or is_made_of_attributes(type(element)):
            for item in elements_of(element):
                self._lend(owner, item, always)

    def _put(self, grown: Grown, new: list[Any]) -> None:
        """Record that an iteration's elements go into its rows."""
        assert grown.column is not None
        self._note_copies(grown, new)
        grown.target.is_of_own = not grown.before and len(new) == 1 and self._is_made_here(new[0])
        grown.put(grown.first + affine(0, {self.loop.index: grown.each}), new)

    def _note_copies(self, grown: Grown, parts: list[Any]) -> None:
        for part in parts:
            if type(part) is not Segment:
                note_copy(self.loop.recorder, grown.target.site, part)

    def prepare(self) -> None:
        """Make memory for the lists that are new, or hold something else than it seemed."""
        loop, recorder = self.loop, self.loop.recorder
        for grown in self.lists.values():
            if grown.column is not None or grown.form is None:
                continue
            grown.kept, first = self._mergeable(grown)
            grown.first = len(first)
            if first:
                grown.form = stored(grown.form)
                assert grown.form is not None
            with recorder.scopes.beside(loop.apart):
                grown.rows = grown.first + grown.each * loop.whole_trips
                grown.column = grown.form.in_rows(grown.rows, grown.target, loop.index, loop.depth)
            grown.standing.initial = recorder.copies.names_in(opened(first))
            grown.standing.names |= grown.standing.initial
            self._note_copies(grown, first)
            for part in first:
                self._lend(grown.target, part, always=True)
            grown.put(0, first)

    def _mergeable(self, grown: Grown) -> tuple[list[Any], list[Any]]:
        """The parts from before the loop that stay what they are, and the last ones, which become rows."""
        form = stored(grown.form)
        around = [scope.loop for scope in self.loop.recorder.scopes.open if scope.loop not in (None, self.loop)]
        outer = [loop.growth.lists.get(id(grown.target)) for loop in around]
        floor = max((len(o.begun_with) for o in outer if o is not None and o.begun is not None), default=0)
        k = len(grown.before)
        while form is not None and k > floor and self._fits(form, grown.before[k - 1]):
            k -= 1
        if len(grown.before) - k > MOST_MERGED:
            k = len(grown.before)
        return grown.before[:k], grown.before[k:]

    def _fits(self, form: HandedOn, element: Any) -> bool:
        if type(element) is Segment:
            return False
        found = element_form(self.loop.recorder, element, -1)
        if isinstance(form, Number) and isinstance(found, Number | Count):
            return np.result_type(number_type(element)[0], form.dtype) == form.dtype
        return joined(form, stored(found), exact=True) == form

    # The end.

    def close(self, after: dict[Key, tuple[Place, Any]]) -> None:
        """The loop is over."""
        loop = self.loop
        for key, (place, value) in after.items():
            if self.holds(value) or self._is_written_row(value):  # what is done to it would have to be seen in the list
                after[key] = (place, Lost(loop.recorder, place.name))
        for grown in self.lists.values():
            grown.begin(exact(loop.whole_trips))
            self._stand(grown, over=True)

    def _stand(self, grown: Grown, *, over: bool = False) -> None:
        """Its rows stand for the arrays that were put into the list."""
        if grown.column is not None:
            copies = self.loop.recorder.copies
            copy = copy_of(grown.standing, lambda reason, first: grown.target.refuse(), over=over)
            for storage in grown.column.own_storages():
                copies.known[storage.name] = copy  # rows of earlier iterations are not made anew


def held_within(value: Any, depth: int = MOST_NESTED) -> Iterator[Any]:
    """The lists, dicts and objects that a value is, or that are in it."""
    if type(value) is Segment or not depth:
        return
    parts = taken_apart(value)
    if parts is None:
        return
    if has_places(parts[0]):
        yield value
    for item in parts[2]:
        yield from held_within(item, depth - 1)


def listed_in(form: HandedOn, sites: frozenset[Site]) -> HandedOn:
    """With these lists for all dicts and objects in it: copies of what is in lists."""
    if not isinstance(form, Items):
        return form
    items = tuple(listed_in(item, sites) for item in form.items)
    listed = form.listed | sites if has_places(form.kind) else form.listed
    return replace(form, items=items, listed=listed)


def opened(value: Any, depth: int = MOST_NESTED) -> Any:
    """A value with dicts of their attributes in place of the objects in it."""
    kind = type(value)
    if not depth:
        return value
    if kind is list or isinstance(value, tuple):
        return [opened(item, depth) for item in value]
    if kind is dict or is_made_of_attributes(kind):
        items = value.items() if kind is dict else attributes_held(value)
        return {key: opened(item, depth - 1) for key, item in items}
    return value


def lists_in(value: Any) -> Iterator[Any]:
    """The lists that an element is, or that are in it."""
    if type(value) is list or is_traced_list(value):
        yield value
    inner: Iterable[Any] = value if isinstance(value, list | tuple) and not is_traced_list(value) else ()
    if type(value) is TracedList or type(value) is dict:
        inner = value.parts if type(value) is TracedList else value.values()
    for item in inner:
        yield from lists_in(item)


def _holds(value: Any, part: Any) -> bool:
    if issubclass(type(value), tuple):
        return any(_holds(item, part) for item in value)
    return value is part and (type(value) in (list, TracedList) or is_made_of_attributes(type(value)))
