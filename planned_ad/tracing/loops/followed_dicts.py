"""Which dicts of a program come to lie in memory: see `dict_tables`."""

from __future__ import annotations

import collections
import itertools
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...python.frames import user_frames
from ...python.subscripts import is_written_in
from ...python.written_calls import dict_made
from .consumers import Consumer, ended
from .dict_keys import are_texts, is_all_known, texts_in
from .dict_of_items import (
    DefaultDictOfItems,
    DictOfItems,
    DictOfLists,
    InPlaces,
    OrderedDictOfItems,
    SetOfKeys,
    first_elements,
    gets_more,
    given_up,
    is_key,
    is_read_last,
    item_read,
    times_replaced,
)
from .dict_room import TableRoom, table_room
from .dict_tables import DictTable, is_item
from .index_tests import written_out_for_key
from .list_in_trace import is_traced_list
from .made_lists import followed

if TYPE_CHECKING:
    import types

    from ..record.decisions import Site
    from ..record.recorder import Recorder

FEW = 16  # elements of a set, each order of which costs less than a loop over it
PLACES, HELD = 1, 3  # beside the offset of an instruction, which is even: what is made for the program's dict


OF_KINDS: dict[type, type[DictOfItems]] = {dict: DictOfItems, collections.OrderedDict: OrderedDictOfItems}


@dataclass
class OfSet:
    """What is known of the order of a set's elements, whose `places` have them as keys."""

    places: Any
    elements: list[Any]  # the first ones
    is_grown: bool = False
    is_run_over: bool = False


def dict_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, what makes dicts; see `comprehensions`. And what `dict_of_items` asks the tracer."""
    last: dict[int, tuple[Any, Any, Any]] = {}  # item that was read of a dict, with it and the key, by its identity
    replaced = collections.Counter[int]()  # how often items of one were

    def show(items: Any) -> Any:
        frame = sys._getframe(1)
        given = items if type(items) is dict else {}
        found = followed_dict(recorder, given, (frame.f_code, frame.f_lasti), is_filled=items is not given)
        return found if items is given else filled_table(recorder, found, items)

    def give_up(items: Any) -> Any:
        raise as_python_makes_it(recorder, items)

    def has_key(key: Any, places: Any) -> Any:
        return places.has(key) if type(places) is DictTable else key in places

    def remember(items: Any, key: Any, item: Any) -> Any:
        last[id(items)] = items, key, item
        return item

    def is_last(items: Any, key: Any, item: Any) -> bool:
        _, known, found = last.pop(id(items), (None, None, None))
        is_same = found is item and known is key and is_traced_list(item)
        replaced[id(items)] += not is_same
        return is_same

    def grow(items: SetOfKeys) -> None:
        of_set = recorder.flow.sets.get(id(items.places))
        if of_set is None or of_set.is_run_over:
            give_up(items)
        else:
            of_set.is_grown = True

    def first(items: SetOfKeys) -> list[Any]:
        of_set = recorder.flow.sets.get(id(items.places))
        is_at_last = recorder.scopes.decisions.whole is not None and recorder.outside.has_others
        few = 0 if is_at_last else max(recorder.unroll, FEW)
        is_known = of_set is not None and not of_set.is_grown and len(of_set.elements) > few
        if of_set is None or not is_known or not all(type(element) is int for element in of_set.elements):
            return give_up(items)
        of_set.is_run_over = True
        return of_set.elements

    of_items = {
        given_up: give_up, is_key: has_key, item_read: remember, is_read_last: is_last, gets_more: grow,
        first_elements: first,
        times_replaced: lambda items: replaced[id(items)],
    }  # fmt: skip
    return {id(dict_made): show, **{id(real): seen for real, seen in of_items.items()}}


def as_python_makes_it(recorder: Recorder, items: InPlaces) -> BaseException:
    """What to raise for what such a dict or set cannot do, or be: the trace starts again."""
    places, decisions = getattr(items, "of", items).places, recorder.scopes.decisions
    known = recorder.flow.dicts.get(id(places), (None, None))[1]
    site = places.site if type(places) is DictTable else known
    decisions.plain |= decisions.placed if site is None else {(site[0], site[1] - PLACES)}
    return recorder.scopes.restart()


def followed_dict(recorder: Recorder, given: Any, site: Site, is_filled: bool = False) -> Any:
    """A dict or set that the program has made there: a table, or one that may become one."""
    decisions = recorder.scopes.decisions
    if site in decisions.plain:
        return given
    if site in decisions.placed:
        return (set_of_keys if type(given) is set else dict_of_items)(recorder, given, site)  # type: ignore[operator]
    if site in decisions.tables:
        recorder.mark()
        return DictTable(recorder, site, given, is_filled)
    recorder.flow.dicts[id(given)] = (given, site)
    return given


def dict_of_items(recorder: Recorder, given: dict[Any, Any], site: Site) -> Any:
    """A dict of a dict of places, and a list."""
    (code, offset), makes = site, getattr(given, "default_factory", None)
    beside = {(code, offset + PLACES), (code, offset + HELD)}
    if not beside.isdisjoint(recorder.scopes.decisions.plain) or (makes is None and type(given) not in OF_KINDS):
        return given
    places = followed_dict(recorder, {key: k for k, key in enumerate(given)}, (code, offset + PLACES))
    held = followed(recorder, [*given.values()], (code, offset + HELD))
    cls = OF_KINDS[type(given)] if makes is None else DictOfLists if makes is list else DefaultDictOfItems
    made = recorder.namespace.shadow(cls)
    return made(places, held, makes) if cls is DefaultDictOfItems else made(places, held)


def set_of_keys(recorder: Recorder, given: set[Any], site: Site) -> Any:
    """A set of a dict that has its elements as keys."""
    code, offset = site
    if (code, offset + PLACES) in recorder.scopes.decisions.plain:
        return given
    places = followed_dict(recorder, dict.fromkeys(given, 1), (code, offset + PLACES))
    recorder.flow.sets[id(places)] = OfSet(places, [*given])
    return recorder.namespace.shadow(SetOfKeys)(places)


def is_of_places(site: Site) -> bool:
    """Whether a dict is one of places, which the program does not see."""
    return site[1] % 2 == PLACES  # type: ignore[no-any-return]


def has_items(given: dict[Any, Any]) -> bool:
    """Whether all that such a dict has, or makes, are lists, tuples or objects."""
    makes = getattr(given, "default_factory", None)
    return makes in (None, list) and (bool(given) or makes is list) and all(map(is_item, given.values()))


def are_filled(given: dict[Any, Any]) -> bool:
    """Whether there are lists in it that are empty so far."""
    is_grouping = getattr(given, "default_factory", None) is not None
    return is_grouping or any(type(item) is list and not item for item in given.values())


def filled_table(recorder: Recorder, items: Any, pairs: Any) -> Any:
    """A dict with these pairs of a generator expression, whose loops may be recorded as loops."""
    consumer, frame = Consumer(items), pairs.gi_frame
    recorder.consumers[frame] = consumer
    try:
        for key, value in pairs:
            items[key] = value
        if type(items) is DictTable:
            items.is_complete()
    except RuntimeError as error:
        raise ended(error) from None
    finally:
        del recorder.consumers[frame]
    return items


def may_have(items: dict[Any, Any], texts: Collection[str]) -> bool:
    """Whether a key that is one of these texts, or else has an integer that is not known, may be one of such a dict."""
    known = set(itertools.chain(*map(texts_in, items)))
    return not items or (not known.isdisjoint(texts) if texts else not all(all(are_texts(key)) for key in items))


def follow_dicts(recorder: Recorder, frame: types.FrameType, texts: Collection[Any] = (), key: Any = None) -> None:
    """An integer or a text that is not known is a key: the dicts that may have it are tables, unless that was tried.

    Dicts of lists and sets stay Python's where loops tell the `key`, and are short enough to be written out.
    """
    decisions, found = recorder.scopes.decisions, False
    inside = {id(item) for items, _ in recorder.flow.dicts.values() if type(items) is dict for item in items.values()}
    for items, site in recorder.flow.dicts.values():
        if site in decisions.tables or site in decisions.plain or not may_have(items, texts):
            continue
        if (type(items) is set or has_items(items)) and key is not None:
            error = written_out_for_key(recorder, key)
            if error is not None:
                raise error
        if type(items) is set:
            is_placed = all(map(is_all_known, items))
            (decisions.place if is_placed else decisions.plain.add)(site)
            found |= is_placed
            continue
        is_filled = any(consumer.value is items for consumer in recorder.consumers.values())
        is_alone = not texts and id(items) not in inside
        is_traced = is_alone and any(recorder.is_array(value) or recorder.is_scalar(value) for value in items.values())
        is_filled |= is_traced or are_filled(items) or is_of_places(site)
        if not is_filled and not any(is_written_in(f, items) for f in user_frames(frame)):
            continue
        room = table_room(recorder, items)
        if has_items(items):
            decisions.place(site)
            found = True
        elif room is None:
            decisions.plain.add(site)
        else:
            decisions.tables[site], found = room, True
    if found:
        raise recorder.scopes.restart()


def follow_grown_dicts(recorder: Recorder, grown: Iterable[Any]) -> None:
    """Dicts that get longer in a loop, by keys that are known, are tables, unless that was tried.

    Dicts of lists and sets, too, whose keys are known, where data say which are there.
    """
    decisions, dicts = recorder.scopes.decisions, recorder.flow.dicts
    found = {dicts[id(items)][1]: items for items in grown if id(items) in dicts}
    for site, items in found.items():
        is_of_places = type(items) is set or has_items(items)
        if is_of_places and site not in decisions.plain | decisions.placed and all(map(is_all_known, items)):
            decisions.place(site)  # data say which of the keys that are known are there
            raise recorder.scopes.restart()
        if type(items) is set:
            continue
        room = table_room(recorder, items)
        if room is not None and site not in decisions.plain and site not in decisions.tables:
            decisions.tables[site] = replace(room, order=None)
            raise recorder.scopes.restart()


def follow_both(recorder: Recorder, *taking_turns: Any) -> None:
    """Dicts of which one takes the place of another are tables with the same room, or neither is."""
    decisions = recorder.scopes.decisions
    rooms: dict[Site, TableRoom | None] = {}
    for found in taking_turns:
        items, site = recorder.flow.dicts.get(id(found), (found, None))
        if type(found) is DictTable:
            rooms[found.site] = found.room
        elif site is not None and site not in decisions.plain:
            rooms[site] = table_room(recorder, items)
        else:  # which cannot be one
            decisions.plain |= {other.site for other in taking_turns if type(other) is DictTable}
            raise recorder.scopes.restart()
    room, *others = rooms.values()
    for other in others:
        room = None if room is None or other is None else room.joined(other)
    is_decided = room is not None and all(known is not None and known.is_as(room) for known in rooms.values())
    if not is_decided or not rooms.keys() <= decisions.tables.keys():
        for site in rooms:
            if room is None:
                decisions.plain.add(site)
            else:
                decisions.tables[site] = room
        raise recorder.scopes.restart()
