"""Dicts whose keys are integers or texts that loops or data say: `D[i, j] = c + min(D[i - 1, j], D[i, j - 1])`.

Such a dict lies in memory, as an array with an element for each key that there may be; another array says which are
there. Where an index of a loop, or an integer or text that data choose, is a key, the trace starts again with the dicts
that the program has made with such keys, or with none; and whenever they get one beyond what there was room for. What
else is done with such a dict (it has another kind of key or value, is run over and gets keys after it was made) makes
the trace start again with the dict as Python makes it. Measured, up to the first gradient: dynamic time warping of 40
by 50 numbers in a dict 0.2 s, key by key 8.5 s.
"""

from __future__ import annotations

import collections
import functools
import math
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import control
from ...tape.guards import KEYS, RAISES
from ..record.storage import Storage
from ..values.loop_index import LoopIndex, plain_or_traced
from ..values.python_errors import is_caught
from ..values.scalar_tracer import ScalarTracer
from .dict_keys import (
    UNKNOWN,
    are_texts,
    as_python,
    clamped,
    is_all_known,
    key_of_place,
    kinds_of,
    lies_between,
    may_be,
    number_of_part,
    range_of,
    texts_in,
)
from .dict_order import KeyOrder, OrderedView
from .dict_room import TableRoom
from .dict_views import DictView, read_if_unchanged
from .held import Whole, is_number
from .index_tests import written_out_for_key
from .list_in_trace import ListInTrace
from .none_or_value import key_with_numbers, optional
from .object_contents import has_attributes
from .object_copies import refuse_truths_in
from .short_runs import place_asked_for
from .stored_forms import Array, Number
from .written_forms import Written, WrittenArrays

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder

MOST_TEXTS = 16  # times that a key is a text which it has no room for
MOST_TIMES = 4  # that room is made for the next key alone
DICTS = (dict, collections.defaultdict, collections.Counter, collections.OrderedDict)
OF_COUNTERS = {"most_common": control._most_common, "total": control._total}
NOT_A_KEY = "a key is looked up in a dict in which it is not"
FLOAT = Number(np.dtype(float), is_python=True)


@dataclass(frozen=True)
class TableKind(Whole):
    """Such dicts, with the same room. What changes hands is the memory."""

    room: TableRoom
    like: DictTable = field(compare=False)

    def made(self, arrays: list[Any]) -> Any:
        found = DictTable(self.like.recorder, self.like.site, None)
        found.kind, found.default_factory = self.like.kind, self.like.default_factory
        memory, found.present, *order = arrays
        found.order = KeyOrder(*order) if order else None
        found.column = self.like.column.handed_on(memory)
        return found


class DictTable(ListInTrace):
    """Such a dict. Of one that is to lie in memory that is there already, the `items` are None."""

    is_plain = False
    is_written = True
    column: Written
    present: Any
    order: KeyOrder | None = None  # of the keys, where data say which it is
    filling: dict[Any, None] | None = None  # the keys so far, of one that a comprehension makes
    _read: tuple[Any, Any] = (None, 0)  # the key that was read last, and its place
    _given: tuple[Any, Any] = (None, 0)  # that which a loop over it was given last

    def __init__(self, recorder: Recorder, site: Site, items: dict[Any, Any] | None, is_filled: bool = False):
        super().__init__(recorder, site, type(items))
        self.default_factory = getattr(items, "default_factory", None)
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
        self.order = KeyOrder.of_none(recorder, places) if self.room.is_ordered else None
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
        order = self.order
        names = ("memory", "present") if order is None else ("memory", "present", "places", "count")
        held = [self.memory, self.present] if order is None else [self.memory, self.present, order.places, order.count]
        return TableKind(self.room, self), names, held

    def held(self) -> Iterator[tuple[str | None, Any]]:
        for storage in self.storages():
            yield None, storage

    def storages(self) -> Iterator[Storage]:
        yield self.column.memory.storage
        yield self.present.storage
        if self.order is not None:
            yield from (self.order.places.storage, self.order.count.storage)

    # Keys.

    def _decide(self, room: TableRoom | None) -> BaseException:
        """What to raise where there is no room for a key, or for such a value."""
        if room is None:
            return self.refuse()
        self.recorder.scopes.decisions.tables[self.site] = room
        return self.recorder.scopes.restart()

    def _refuse_value(self, key: Any, value: Any) -> BaseException:
        """It has values of several kinds, or is one of lists or objects, as far as it is known."""
        if not is_item(value) or self.room.form is not None:
            return self.refuse()
        decisions, error = self.recorder.scopes.decisions, written_out_for_key(self.recorder, key)
        if error is not None:
            del decisions.tables[self.site]
            return error
        decisions.place(self.site)
        return self.recorder.scopes.restart()

    def _place(self, key: Any) -> tuple[Any, Any]:
        """Where the value of a key lies, and what says that it is within the room, where that is not known."""
        key = key_with_numbers(key)
        recorder, texts = self.recorder, self.room.with_texts(texts_in(key)).texts
        recorder.mark()
        place_asked_for(recorder, *(key if type(key) is tuple else (key,)))
        numbers = [number_of_part(recorder, part, texts) for part in (key if type(key) is tuple else (key,))]
        ranges = [range_of(recorder, number) for number in numbers]
        if not numbers or None in ranges:
            raise self.refuse()
        known = self.room.ranges or ((0, 0),) * len(ranges)
        if self.room.is_open:
            ranges = [found if lies_between(found, k) else UNKNOWN for found, k in zip(ranges, known)]  # type: ignore[arg-type]
        wanted = tuple(k if found == UNKNOWN else found for found, k in zip(ranges, known))
        room = self.room.with_texts(texts).with_key(wanted, type(key) is tuple, are_texts(key))  # type: ignore[arg-type]
        if room != self.room:
            widened = recorder.scopes.decisions.widened
            widened[self.site] = widened.get(self.site, 0) + 1
            is_often = widened[self.site] > MOST_TIMES and room is not None
            if is_often and widened[self.site] > MOST_TEXTS and room.texts != self.room.texts:  # type: ignore[union-attr]
                raise self.refuse()  # a loop gives it one text after the other, iteration by iteration
            raise self._decide(room.twice(self.room) if is_often else room)  # type: ignore[union-attr]
        place: Any = 0
        inside: Any = None
        for number, found, (first, last) in zip([as_python(recorder, n) for n in numbers], ranges, known):
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
        if self._has_always(key) or self._is_known(self._given, key):
            return True
        found = self.present[place]
        if inside is None:
            return found
        there = self.recorder.apply("logical_and", inside, self.recorder.value_of(found))
        return ScalarTracer(self.recorder, there, is_python=True)

    def _is_known(self, known: tuple[Any, Any], key: Any) -> bool:
        """Whether it is the key that was read last, or given last, on the way here."""
        return known[0] is key and self.recorder.scopes.sees(self.recorder.value_of(known[1]))

    def _opened(self, key: Any, place: Any, inside: Any) -> Any:
        """The place of a key that may be any integer: for which there is room is guessed."""
        texts = are_texts(key)
        room = self.room.opened(type(key) is tuple, texts, self.recorder.max_steps)
        if room != self.room:
            raise self._decide(room)
        self.recorder.scopes.require_after(inside, "max_steps", KEYS)
        return place

    def _note(self, key: Any, place: Any) -> None:
        """A key is put there, which comes last if it is new."""
        if not self.room.is_ordered:
            return
        kinds = kinds_of(key_with_numbers(key))
        if kinds != self.room.kinds:
            raise self._decide(replace(self.room, kinds=kinds) if not self.room.kinds else None)
        if not self._is_known(self._given, key):
            assert self.order is not None
            self.order.note(self.recorder, place, self.present[place])
            self.recorder.flow.keys_added[self.site] += 1

    def _value(self, place: Any) -> Any:
        return self.column.item(self, place)  # type: ignore[arg-type]

    # What a dict does.

    def __getitem__(self, key: Any) -> Any:
        place, inside = self._place(key)
        found = self._is_there(key, place, inside)
        if type(found) is not ScalarTracer and found:
            return self._value(place)
        if self.default_factory is not None:
            return self.setdefault(key, self.default_factory())
        if self.kind is collections.Counter:
            return self.get(key, 0)
        if type(found) is not ScalarTracer:
            raise KeyError(key)
        if self.room.form is None and self.kind is dict and self.recorder.scopes.depth:
            self._record_other_side_first()
            raise KeyError(key)  # as far as the trace is, nothing was put there
        if not is_caught(KeyError):
            self.recorder.scopes.require_after(self.recorder.value_of(found), RAISES, NOT_A_KEY)
        elif not found:
            raise KeyError(key)
        self._read = (key, place)
        return self._value(place)

    def _record_other_side_first(self) -> None:
        """Something is read before anything was put there: perhaps what the other side of a test does."""
        scopes = self.recorder.scopes
        loop = next((scope.loop for scope in reversed(scopes.open) if scope.loop is not None), None)
        site = None if loop is None else loop.branches.half_known()
        if site is not None:
            scopes.decisions.other_first.add(site)
            raise scopes.restart()

    def __setitem__(self, key: Any, value: Any) -> None:
        place, inside = self._place(key)
        if inside is not None:
            read = next((read for read in (self._read, self._given) if self._is_known(read, key)), None)
            place = self._opened(key, place, inside) if read is None else read[1]
        if self.room.order is not None and not self._has_always(key):
            raise self._decide(replace(self.room, order=None))
        self._note(key, place)
        if self.filling is not None and not is_all_known(key):
            self._check_order([*self.filling, key])
        elif self.filling is not None:
            self.filling[key] = None
        room = self.room.with_value(self.recorder, value)
        if room is None:
            raise self._refuse_value(key, value)
        if room is not self.room:
            raise self._decide(room)
        self.recorder.flow.table_writes += 1
        self.column.write(self, place, value)  # type: ignore[arg-type]
        self.present[place] = True

    def has(self, key: Any) -> Any:
        return self._is_there(key, *self._place(key))

    def __contains__(self, key: Any) -> bool:
        return bool(self.has(key))

    def get(self, key: Any, default: Any = None) -> Any:
        place, inside = self._place(key)
        found = self._is_there(key, place, inside)
        if type(found) is not ScalarTracer:
            return self._value(place) if found else default
        if default is None and not isinstance(self.room.form, Array):
            return optional(self.recorder, f"{self.label}.get", found, self._value(place))
        room = self.room.with_value(self.recorder, default) if is_number(default) else None
        if room is None:
            raise self._refuse_value(key, default)
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
        there = self.recorder.value_of(self.present[place])
        if inside is None:
            self.present[place] = False
        else:
            outside = self.recorder.apply("logical_not", inside)
            left = self.recorder.apply("logical_and", there, outside)
            self.present[place] = ScalarTracer(self.recorder, left, is_python=True)
            there = self.recorder.apply("logical_and", there, inside)
        if self.order is not None:
            self.order.drop(self.recorder, place, there)
            self.recorder.flow.keys_added[self.site] += 1
        return found

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def update(self, *others: Any, **items: Any) -> None:
        """By a dict; of a `Counter` by what it counts."""
        is_counter = self.kind is collections.Counter
        if items or len(others) != 1 or (issubclass(others[0].__class__, Mapping) and is_counter):
            raise self.refuse()
        if not (is_counter or issubclass(others[0].__class__, dict)):
            raise self.refuse()
        self._by_itself(control._counted if is_counter else control._updated, others[0])

    def copy(self, kind: Any = None) -> Any:
        if isinstance(self.room.form, Array):  # which both would have
            raise self.refuse()
        self.recorder.mark()
        table, _, arrays = self.in_memory()
        found = table.made([array.copy() for array in arrays])
        found.kind = kind or self.kind
        return found

    __copy__ = copy

    def _by_itself(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.recorder.namespace.function(function)(self, *args)

    def __getattr__(self, name: str) -> Any:
        if self.kind is collections.Counter and name in OF_COUNTERS:
            return functools.partial(self._by_itself, OF_COUNTERS[name])
        return super().__getattr__(name)

    def length(self) -> Any:
        found = self.recorder.call(np.sum, (self.present,), {})
        return found.item()

    def __len__(self) -> int:
        return len(self._keys()) if self.room.order is not None else self.length().__index__()

    def __bool__(self) -> bool:
        return bool(self.length() > 0)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def _keys(self) -> tuple[Any, ...]:
        """In their order, where there are never others."""
        if self.room.order is None:
            raise self.refuse()
        return self.room.order

    def keys_in_order(self) -> KeyOrder:
        """Their order, where data say which it is."""
        if self.order is None:
            raise self._decide(replace(self.room, is_ordered=True))
        return self.order

    def _key_at(self, row: Any) -> tuple[Any, Any]:
        """The key in a row of the order, and its place."""
        self.recorder.mark()
        if None in self.room.kinds and self.recorder.scopes.decisions.letters is False:
            raise self.refuse()
        place = self.keys_in_order().place_at(self.recorder, row)
        key = key_of_place(self.recorder, place, self.room.ranges or (), self.room.texts, self.room.kinds)
        found = tuple(key) if self.room.of_tuples else key[0]
        self._given = (found, place)
        return found, place

    def _item_at(self, row: Any) -> tuple[Any, Any]:
        key, place = self._key_at(row)
        return key, self._value(place)

    def _view(self, item: Callable[[Any], Any], are_keys: bool = False) -> Any:
        """In the order that data say; of a dict that has been given no key so far, nothing."""
        is_empty = self.room.is_ordered and not self.room.kinds
        return {}.keys() if is_empty else OrderedView(self, item, are_keys)

    def keys(self) -> Any:
        if self.room.order is None:
            return self._view(lambda row: self._key_at(row)[0], are_keys=True)
        return dict.fromkeys(self._keys()).keys()

    def values(self) -> Any:
        if self.room.order is None:
            return self._view(lambda row: self._item_at(row)[1])
        return DictView(self._keys(), read_if_unchanged(self), with_keys=False)

    def items(self) -> Any:
        if self.room.order is None:
            return self._view(self._item_at)
        return DictView(self._keys(), read_if_unchanged(self), with_keys=True)

    def traced(self) -> Any:
        raise self.refuse()

    elements = given = traced


def is_item(value: Any) -> bool:
    """Whether this is a list, a tuple, a dict or an object, of which a list may have several."""
    return type(value) in (list, tuple, dict) or issubclass(type(value), ListInTrace) or has_attributes(type(value))


def item_by_key(key: Any) -> Any:
    """`counts.get`, by which keys of the dict are compared, as what requires that they are there."""
    is_bound = type(key) is types.MethodType and type(key.__self__) is DictTable
    return key.__self__.__getitem__ if is_bound and key.__func__ is DictTable.get else key


def ordered_view(items: Any) -> OrderedView | None:
    """What runs over a dict whose order is data, or already does."""
    if type(items) is DictTable and items.room.order is None:
        items = items.keys()
    return items if type(items) is OrderedView else None


def _refusing(name: str) -> None:
    def method(self: DictTable, *args: Any) -> Any:
        raise self.refuse()

    method.__name__ = name
    setattr(DictTable, name, method)


for _name in ("or", "and", "add", "sub"):
    for _form in ("__{}__", "__r{}__", "__i{}__"):
        _refusing(_form.format(_name))
for _name in ("__pos__", "__neg__"):
    _refusing(_name)
Mapping.register(DictTable)  # for `match`
