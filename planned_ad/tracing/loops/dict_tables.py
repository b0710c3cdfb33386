"""Dicts whose keys are integers or texts that loops or data say: `D[i, j] = c + min(D[i - 1, j], D[i, j - 1])`.

Such a dict lies in memory, as an array with an element for each key that there may be; another array says which are
there. Where an index of a loop, or an integer or text that data choose, is a key, the trace starts again with the dicts
that the program has made with such keys, or with none; and whenever they get one beyond what there was room for. What
else is done with such a dict (it has another kind of key or value, is run over and gets keys after it was made) makes
the trace start again with the dict as Python makes it. Measured, up to the first gradient: dynamic time warping of 40
by 50 numbers in a dict 0.2 s, key by key 8.5 s.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.frames import user_frames
from ...python.subscripts import is_written_in
from ...python.written_calls import dict_made
from ...tape.guards import RAISES
from ..record.storage import Storage
from ..values.loop_index import LoopIndex, plain_or_traced
from ..values.python_errors import is_caught
from ..values.scalar_tracer import ScalarTracer
from .consumers import Consumer, ended
from .dict_keys import (
    UNKNOWN,
    are_texts,
    clamped,
    is_all_known,
    may_be,
    number_of_part,
    range_of,
    texts_in,
)
from .dict_room import TableRoom, table_room
from .dict_views import DictView, read_if_unchanged
from .held import Whole, is_number
from .list_in_trace import ListInTrace
from .object_copies import refuse_truths_in
from .stored_forms import Array, Number
from .written_forms import Written, WrittenArrays

if TYPE_CHECKING:
    import types

    from ..record.decisions import Site
    from ..record.recorder import Recorder

NOT_A_KEY = "a key is looked up in a dict in which it is not"
FLOAT = Number(np.dtype(float), is_python=True)


@dataclass(frozen=True)
class TableKind(Whole):
    """Such dicts, with the same room. What changes hands is the memory."""

    room: TableRoom
    like: DictTable = field(compare=False)

    def made(self, arrays: list[Any]) -> Any:
        found = DictTable(self.like.recorder, self.like.site, None)
        memory, found.present = arrays
        found.column = self.like.column.handed_on(memory)
        return found


class DictTable(ListInTrace):
    """Such a dict. Of one that is to lie in memory that is there already, the `items` are None."""

    is_plain = False
    is_written = True
    column: Written
    present: Any
    filling: dict[Any, None] | None = None  # the keys so far, of one that a comprehension makes
    _read: tuple[Any, Any] = (None, 0)  # the key that was read last, and its place

    def __init__(self, recorder: Recorder, site: Site, items: dict[Any, Any] | None, is_filled: bool = False):
        super().__init__(recorder, site, dict)
        self.room: TableRoom = recorder.scopes.decisions.tables[site]
        if self.room.form is not None:
            refuse_truths_in(self, self.room.form)
        if items is None:
            return
        if is_filled:
            self.filling = {}
        else:
            self._check_order(items)
        places, form = math.prod(self.room.shape), self.room.form
        self.present = recorder.call(np.zeros, (places,), {"dtype": bool})
        if isinstance(form, Array):
            memory = recorder.call(np.zeros, ((places, *form.shape),), {"dtype": form.dtype})
            self.column = WrittenArrays(form, memory)
        else:
            memory = recorder.call(np.zeros, (places,), {"dtype": FLOAT.dtype if form is None else form.dtype})
            self.column = Written(FLOAT if form is None else form, memory)
        for storage in self.storages():
            storage.line = self.line
        for key, value in items.items():
            self[key] = value

    def _check_order(self, keys: Iterable[Any]) -> None:
        """All that it is made with has to be all that it ever has, and to be in that order."""
        if self.room.order not in (None, tuple(keys)):
            raise self._decide(replace(self.room, order=None))

    def is_complete(self) -> None:
        """All that a comprehension gives is in it."""
        filling, self.filling = self.filling, None
        self._check_order(filling or ())

    def before_write(self, storage: Storage) -> None:
        if not self.column.is_put_back(self, storage):  # type: ignore[arg-type]
            raise self.refuse()

    @property
    def memory(self) -> Any:
        return self.column.memory

    def in_memory(self) -> tuple[Any, tuple[str, ...], list[Any]]:
        return TableKind(self.room, self), ("memory", "present"), [self.memory, self.present]

    def held(self) -> Iterator[tuple[str | None, Any]]:
        for storage in self.storages():
            yield None, storage

    def storages(self) -> Iterator[Storage]:
        yield self.column.memory.storage
        yield self.present.storage

    # Keys.

    def _decide(self, room: TableRoom | None) -> BaseException:
        """What to raise where there is no room for a key, or for such a value."""
        if room is None:
            return self.refuse()
        self.recorder.scopes.decisions.tables[self.site] = room
        return self.recorder.scopes.restart()

    def _place(self, key: Any) -> tuple[Any, Any]:
        """Where the value of a key lies, and what says that it is within the room, where that is not known."""
        recorder, texts = self.recorder, self.room.with_texts(texts_in(key)).texts
        recorder.mark()
        numbers = [number_of_part(recorder, part, texts) for part in (key if type(key) is tuple else (key,))]
        ranges = [range_of(recorder, number) for number in numbers]
        if not numbers or None in ranges:
            raise self.refuse()
        known = self.room.ranges or ((0, 0),) * len(ranges)
        wanted = tuple(k if found == UNKNOWN else found for found, k in zip(ranges, known))
        room = self.room.with_texts(texts).with_key(wanted, type(key) is tuple, are_texts(key))  # type: ignore[arg-type]
        if room != self.room:
            raise self._decide(room)
        place: Any = 0
        inside: Any = None
        for number, found, (first, last) in zip(numbers, ranges, known):
            if found == UNKNOWN:
                number, is_in = clamped(recorder, number, first, last)
                inside = is_in if inside is None else recorder.apply("logical_and", inside, is_in)
            place = place * (last - first + 1) + (number - first)
        return plain_or_traced(place) if type(place) is not LoopIndex else place, inside

    def _has_always(self, key: Any) -> bool:
        """Whether it is one of the keys that there are from the first to the last."""
        if self.room.order is None:
            return False
        found = may_be(self.recorder, key)
        return found is not None and self.room.order_of.keys() >= set(found)

    def _is_there(self, key: Any, place: Any, inside: Any) -> Any:
        if self._has_always(key):
            return True
        found = self.present[place]
        if inside is None:
            return found
        there = self.recorder.apply("logical_and", inside, self.recorder.value_of(found))
        return ScalarTracer(self.recorder, there, is_python=True)

    def _place_read(self, key: Any) -> Any:
        """Where the value of a key lies that was read on the way here, and so was there: `counts[key] += 1`."""
        known, place = self._read
        if known is not key or not self.recorder.scopes.sees(self.recorder.value_of(place)):
            raise self.refuse()
        return place

    def _value(self, place: Any) -> Any:
        return self.column.item(self, place)  # type: ignore[arg-type]

    # What a dict does.

    def __getitem__(self, key: Any) -> Any:
        place, inside = self._place(key)
        found = self._is_there(key, place, inside)
        if type(found) is not ScalarTracer:
            if not found:
                raise KeyError(key)
        elif is_caught(KeyError):
            raise self.refuse()
        else:
            self.recorder.scopes.require_after(self.recorder.value_of(found), RAISES, NOT_A_KEY)
            self._read = (key, place)
        return self._value(place)

    def __setitem__(self, key: Any, value: Any) -> None:
        place, inside = self._place(key)
        if inside is not None:
            place = self._place_read(key)
        elif self.room.order is not None and not self._has_always(key):
            raise self._decide(replace(self.room, order=None))
        if self.filling is not None and not is_all_known(key):
            self._check_order([*self.filling, key])
        elif self.filling is not None:
            self.filling[key] = None
        room = self.room.with_value(self.recorder, value)
        if room is not self.room:
            raise self._decide(room)
        self.recorder.flow.table_writes += 1
        self.column.write(self, place, value)  # type: ignore[arg-type]
        self.present[place] = True

    def __contains__(self, key: Any) -> bool:
        return bool(self._is_there(key, *self._place(key)))

    def get(self, key: Any, default: Any = None) -> Any:
        place, inside = self._place(key)
        found = self._is_there(key, place, inside)
        if type(found) is not ScalarTracer:
            return self._value(place) if found else default
        room = self.room.with_value(self.recorder, default) if is_number(default) else None
        if room is not self.room or not isinstance(self.room.form, Number):
            raise self._decide(room)
        recorder, form = self.recorder, self.room.form
        numbers = [recorder.value_of(plain_or_traced(number), form.dtype) for number in (self._value(place), default)]
        value = recorder.apply("where", recorder.value_of(found), *numbers)
        return ScalarTracer(recorder, value, form.is_python, form.types)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        self[key] = found = self.get(key, default)
        return found

    def pop(self, key: Any, *default: Any) -> Any:
        if self.room.order is not None:
            raise self._decide(replace(self.room, order=None))
        found = self.get(key, *default) if default else self[key]
        place, inside = self._place(key)
        if inside is None:
            self.present[place] = False
        else:
            outside = self.recorder.apply("logical_not", inside)
            left = self.recorder.apply("logical_and", self.recorder.value_of(self.present[place]), outside)
            self.present[place] = ScalarTracer(self.recorder, left, is_python=True)
        return found

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def length(self) -> Any:
        found = self.recorder.call(np.sum, (self.present,), {})
        return found.item()

    def __len__(self) -> int:
        return len(self._keys())

    def __bool__(self) -> bool:
        return bool(self.length() > 0)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys())

    def _keys(self) -> tuple[Any, ...]:
        """In their order, where there are never others."""
        if self.room.order is None:
            raise self.refuse()
        return self.room.order

    def keys(self) -> Any:
        return dict.fromkeys(self._keys()).keys()

    def values(self) -> Any:
        return DictView(self._keys(), read_if_unchanged(self), with_keys=False)

    def items(self) -> Any:
        return DictView(self._keys(), read_if_unchanged(self), with_keys=True)

    def traced(self) -> Any:
        raise self.refuse()

    elements = given = traced


def _refusing(name: str) -> None:
    def method(self: DictTable, *args: Any) -> Any:
        raise self.refuse()

    method.__name__ = name
    setattr(DictTable, name, method)


for _name in ("__or__", "__ror__", "__ior__"):
    _refusing(_name)
Mapping.register(DictTable)  # for `match`


def dict_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, what makes dicts; see `comprehensions`."""

    def show(items: Any) -> Any:
        frame = sys._getframe(1)
        given = items if type(items) is dict else {}
        found = followed_dict(recorder, given, (frame.f_code, frame.f_lasti), is_filled=items is not given)
        return found if items is given else filled_table(recorder, found, items)

    return {id(dict_made): show}


def followed_dict(recorder: Recorder, given: dict[Any, Any], site: Site, is_filled: bool = False) -> Any:
    """A dict that the program has made there: a table, or one that may become one."""
    decisions = recorder.scopes.decisions
    if site in decisions.plain:
        return given
    if site in decisions.tables:
        recorder.mark()
        return DictTable(recorder, site, given, is_filled)
    recorder.flow.dicts[id(given)] = (given, site)
    return given


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
        if not (is_filled or is_traced or any(is_written_in(f, items) for f in user_frames(frame))):
            continue
        room = table_room(recorder, items)
        if room is None:
            decisions.plain.add(site)
        else:
            decisions.tables[site], found = room, True
    if found:
        raise recorder.scopes.restart()


def follow_grown_dicts(recorder: Recorder, grown: Iterable[Any]) -> None:
    """Dicts that get longer in a loop, by texts, are tables, unless that was tried."""
    decisions, dicts = recorder.scopes.decisions, recorder.flow.dicts
    found = {dicts[id(items)][1]: items for items in grown if type(items) is dict and id(items) in dicts}
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
