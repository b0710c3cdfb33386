"""Which dicts of a program come to lie in memory: see `dict_tables`."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...python.frames import user_frames
from ...python.subscripts import is_written_in
from ...python.written_calls import dict_made
from .consumers import Consumer, ended
from .dict_keys import are_texts, texts_in
from .dict_of_items import (
    DefaultDictOfItems,
    DictOfItems,
    DictOfLists,
    ValuesView,
    given_up,
    is_key,
    is_read_last,
    item_read,
)
from .dict_room import TableRoom, table_room
from .dict_tables import DICTS, DictTable, is_item
from .list_in_trace import is_traced_list
from .made_lists import followed

if TYPE_CHECKING:
    import types

    from ..record.decisions import Site
    from ..record.recorder import Recorder


def dict_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, what makes dicts; see `comprehensions`."""

    def show(items: Any) -> Any:
        frame = sys._getframe(1)
        given = items if type(items) is dict else {}
        found = followed_dict(recorder, given, (frame.f_code, frame.f_lasti), is_filled=items is not given)
        return found if items is given else filled_table(recorder, found, items)

    def give_up(items: Any) -> Any:
        of = items.of if issubclass(type(items), ValuesView) else items
        recorder.scopes.decisions.plain.add(recorder.flow.placed[id(of)][1])
        raise recorder.scopes.restart()

    def has_key(key: Any, places: Any) -> Any:
        return places.has(key) if type(places) is DictTable else key in places

    def remember(items: Any, key: Any, item: Any) -> Any:
        last[id(items)] = items, key, item
        return item

    def is_last(items: Any, key: Any, item: Any) -> bool:
        _, known, found = last.pop(id(items), (None, None, None))
        return found is item and known is key and is_traced_list(item)

    last: dict[int, tuple[Any, Any, Any]] = {}
    of_items = {given_up: give_up, is_key: has_key, item_read: remember, is_read_last: is_last}
    return {id(dict_made): show, **{id(real): seen for real, seen in of_items.items()}}


def followed_dict(recorder: Recorder, given: dict[Any, Any], site: Site, is_filled: bool = False) -> Any:
    """A dict that the program has made there: a table, or one that may become one."""
    decisions = recorder.scopes.decisions
    if site in decisions.plain:
        return given
    if site in decisions.placed:
        return dict_of_items(recorder, given, site)
    if site in decisions.tables:
        recorder.mark()
        return DictTable(recorder, site, given, is_filled)
    recorder.flow.dicts[id(given)] = (given, site)
    return given


def dict_of_items(recorder: Recorder, given: dict[Any, Any], site: Site) -> Any:
    """A dict of a dict of places, and a list."""
    code, offset = site  # instructions are at even ones
    if not recorder.scopes.decisions.plain.isdisjoint({(code, offset + 1), (code, offset + 3)}):
        return given
    places = followed_dict(recorder, {key: k for k, key in enumerate(given)}, (code, offset + 1))
    held = followed(recorder, [*given.values()], (code, offset + 3))
    makes = getattr(given, "default_factory", None)
    cls = DictOfItems if makes is None else DictOfLists if makes is list else DefaultDictOfItems
    made = recorder.namespace.shadow(cls)
    found = made(type(given), places, held, *([makes] if cls is DefaultDictOfItems else []))
    recorder.flow.placed[id(found)] = (found, site)
    return found


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


def follow_dicts(recorder: Recorder, frame: types.FrameType, texts: Collection[Any] = ()) -> None:
    """An integer or a text that is not known is a key: the dicts that may have it are tables, unless that was tried."""
    decisions, found = recorder.scopes.decisions, False
    for items, site in recorder.flow.dicts.values():
        if site in decisions.tables or site in decisions.plain or not may_have(items, texts):
            continue
        is_filled = any(consumer.value is items for consumer in recorder.consumers.values())
        is_traced = not texts and any(recorder.is_array(value) or recorder.is_scalar(value) for value in items.values())
        if not (
            is_filled or is_traced or are_filled(items) or any(is_written_in(f, items) for f in user_frames(frame))
        ):
            continue
        room = table_room(recorder, items)
        if has_items(items):
            decisions.placed.add(site)
            found = True
        elif room is None:
            decisions.plain.add(site)
        else:
            decisions.tables[site], found = room, True
    if found:
        raise recorder.scopes.restart()


def follow_grown_dicts(recorder: Recorder, grown: Iterable[Any]) -> None:
    """Dicts that get longer in a loop, by texts, are tables, unless that was tried."""
    decisions, dicts = recorder.scopes.decisions, recorder.flow.dicts
    found = {dicts[id(items)][1]: items for items in grown if type(items) in DICTS and id(items) in dicts}
    for site, items in found.items():
        room = table_room(recorder, items) if all(map(texts_in, items)) else None
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
