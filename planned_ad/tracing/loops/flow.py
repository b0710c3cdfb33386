"""What the stage of loops does for a recorder: it runs over arrays, decides tests, and watches statements."""

from __future__ import annotations

import sys
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

from ...python.frames import user_frame, user_frames
from ...tape.tape import Value
from ..lengths.elements import Length
from ..record.decisions import Site
from ..record.recorder import Recorder
from ..values.identity import refuse_truths
from ..values.number_types import Types, pass_types_on, told_apart
from . import suspended_sides
from .filled_lists import assigned_last, could_be_filled, fill_item, is_unset
from .followed_dicts import OfSet, follow_dicts, follow_grown_dicts
from .generators import is_asked_for_more
from .index_tests import decided_by_indices
from .iteration import Holder, Sequence, once
from .leaving_tests import follow_exits
from .letters import refuse_letters
from .list_room import follow_queues, make_room, of_run_time_length
from .lists_in_rows import holds_lists, of_lists
from .none_or_value import refuse_nones
from .object_copies import refuse_changed
from .recorded_loop import RecordedLoop
from .records import begin_records, check_records, class_made, learn_class
from .references import KnownRecords
from .table_items import Table
from .traced_list import TracedList
from .unassigned import refuse_own_defaults
from .while_loops import test_while
from .whiles_on_integers import WhilesOnIntegers
from .written_lists import fits_in_rows, lay_down_list, refuse_identity

MOST_CALLS = 4  # of a function within itself, where data say how many there are


def calls_itself(frame: types.FrameType) -> bool:
    """Whether a function is called within itself, again and again."""
    return sum(other.f_code is frame.f_code for other in user_frames(frame)) > MOST_CALLS


class LoopFlow:
    """The loops and branches of one trace; see `record.recording.Flow`."""

    def __init__(self, recorder: Recorder):
        self.recorder, recorder.records = recorder, KnownRecords()
        self.dicts: dict[int, tuple[Any, Site]] = {}  # and sets, that were made, and where, by identity
        self.short_runs: dict[int, Site] = {}  # loops over short lists that are under way, by their iterators
        self.sets: dict[int, OfSet] = {}  # by the identity of their places
        self.lists_given: dict[int, Table] = {}  # tables of lists, of which iterations have been given some
        self.table_writes = 0  # to those of them that lie in memory
        self.keys_added: Counter[Site] = Counter()  # how often one of those of a site was given a key that may be new
        self.on_integers = WhilesOnIntegers(recorder)
        self.sites, self.notice = self.on_integers.sites, self.on_integers.notice
        self.compared, self.undecided = self.on_integers.compared, self.on_integers.undecided

    def begin(self, frame: types.FrameType) -> None:
        self.on_integers.begin(frame)
        begin_records(self.recorder)

    def class_made(self, body: types.CodeType, cls: type) -> None:
        class_made(self.recorder, body, cls)

    def learn_class(self, site: Site, obj: Any) -> bool:
        return learn_class(self.recorder, site, obj)

    def told_apart(self, types: Types) -> BaseException:
        return told_apart(self.recorder, types)

    def pass_types_on(self, function: Any, args: Any, kwargs: Any, found: Any) -> None:
        pass_types_on(function, args, kwargs, found)

    def iterate(self, length: Length, item: Callable[[Any], Any], holders: tuple[Holder, ...] = ()) -> Iterator[Any]:
        return iter(Sequence(self.recorder, length, item, holders))

    def once(self, length: Length, item: Callable[[Any], Any]) -> Iterator[Any]:
        return once(self.recorder, length, item)

    def lay_down(self, items: TracedList) -> None:
        lay_down_list(self.recorder, items)

    def could_be_filled(self, items: Any) -> bool:
        return could_be_filled(self.recorder, items)

    def fill(self, items: TracedList, key: Any, value: Any) -> bool:
        return fill_item(items, key, value)

    def is_unset(self, part: Any) -> bool:
        return is_unset(part)

    def is_filled(self, items: TracedList) -> bool:
        return any(map(is_unset, items.parts))

    def has_unset(self, items: TracedList) -> bool:
        return self.is_filled(items) or could_be_filled(self.recorder, items.parts, items.site)

    def assigned_last(self, items: TracedList, low: int, high: int) -> Any:
        return assigned_last(items, low, high)

    def fits_in_rows(self, items: TracedList) -> bool:
        return self.recorder.scopes.depth > items.depth and fits_in_rows(self.recorder, items)

    def sides_around(self) -> tuple[RecordedLoop | None, int]:
        loop = next((scope.loop for scope in reversed(self.recorder.scopes.open) if scope.loop is not None), None)
        return loop, 0 if loop is None else len(loop.branches.active)

    def next_item(self, frame: types.FrameType, begun: tuple[RecordedLoop | None, int]) -> None:
        loop, consumer = self.sides_around()[0], self.recorder.consumers.get(frame)
        if loop is not None and loop is begun[0] and consumer is not None and not consumer.may_end:
            self.recorder.watch.aside(lambda: suspended_sides.item_is_over(loop, frame, begun[1]))

    def follow_dicts(self, frame: types.FrameType, texts: Collection[Any] = (), key: Any = None) -> None:
        follow_dicts(self.recorder, frame, texts, key)

    def follow_grown(self, grown: list[Any]) -> None:
        follow_queues(self.recorder, grown)
        follow_grown_dicts(self.recorder, grown)

    def holds_lists(self, items: TracedList) -> bool:
        return holds_lists(self.recorder, items)

    def of_lists(self, items: TracedList) -> BaseException:
        return of_lists(self.recorder, items)

    def uneven(self, items: TracedList) -> BaseException:
        return of_run_time_length(self.recorder, items)

    def before_run(self) -> None:
        make_room(self.recorder)

    def refuse_stale(self) -> None:
        """The trace starts again where one of several copies of something has been written to."""
        for table in self.lists_given.values():
            if table.is_changed():
                raise table.refuse()
        refuse_changed(self.recorder)

    def finish(self) -> None:
        self.recorder.scopes.decisions.attempt = None
        self.before_run()
        check_records(self.recorder)
        refuse_identity(self.recorder)
        self.refuse_stale()
        refuse_truths(self.recorder)
        refuse_nones(self.recorder)
        refuse_letters(self.recorder)
        refuse_own_defaults(self.recorder)

    def test(self, predicate: Value) -> bool:
        """Of a `while`, of a branch in a loop that is recorded once, or of one that is followed as it comes out."""
        return self.recorder.watch.aside(self.outcome, predicate)

    def outcome(self, predicate: Value) -> bool:
        recorder = self.recorder
        attempt = recorder.scopes.decisions.attempt
        if attempt is not None and not recorder.scopes.depth:  # iterations one by one would be ways apart
            raise recorder.scopes.give_up(attempt, for_good=True)
        frame = user_frame(sys._getframe(1))
        known = None if frame is None else self.on_integers.tested(frame, predicate)
        if known is not None:
            return known
        going_on = None if frame is None else test_while(recorder, frame, predicate)
        if going_on is not None:
            return going_on
        asked = recorder.records.asked.get(predicate.id)
        if asked is not None and frame is not None and calls_itself(frame):  # for as many records as there may be
            raise asked.refuse()
        if recorder.scopes.depth:
            known = decided_by_indices(recorder, predicate)
            return recorder.scopes.loop.branches.test(predicate) if known is None else known
        if frame is not None:
            follow_exits(recorder, frame)
        self.on_integers.test_in_body()
        if asked is not None:  # a test for each record, of which Python knows what it is
            raise asked.refuse()
        return bool(recorder.outcome(predicate, "branch"))

    def event(self, frame: types.FrameType, event: str, argument: Any) -> None:
        for loop in [scope.loop for scope in reversed(self.recorder.scopes.open) if scope.loop is not None]:
            loop.branches.event(frame, event, argument)
            if loop in self.recorder.whiles:  # which is left before the side that it is on is
                loop.event(frame, event)
        self.on_integers.event(frame, event)

    def resumed(self, frame: types.FrameType) -> None:
        if not is_asked_for_more(frame):
            return
        for loop in [scope.loop for scope in reversed(self.recorder.scopes.open) if scope.loop is not None]:
            suspended_sides.resumed(loop, frame)

    @property
    def is_watching(self) -> bool:
        branches = any(scope.loop is not None and scope.loop.branches.active for scope in self.recorder.scopes.open)
        return branches or bool(self.recorder.whiles or self.on_integers.visits)

    def forget(self) -> None:
        self.on_integers.visits.clear()
