"""Whether a key is there, `i in holes`, and what there is for one or a default, `costs.get((i, j), 0.0)`, as tables.

What the index of a loop that is recorded once may be, or what data may be, is asked for all at once; what comes out is
read from an array. So it is with sets, dicts, lists and tuples of plain numbers and texts, and of tuples of such. A
list of few items is left to comparisons: iterations at the ends of a loop that they tell apart need no test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import control
from ...python.sets_in_order import FrozenInOrder, SetInOrder
from ...python.written_calls import is_in, item_of, item_or_default
from ..record.recorder import Recorder
from ..values.loop_index import LoopIndex
from ..values.scalar_tracer import ScalarTracer
from .chosen_items import MOST_ITEMS, MOST_KEYS, Choices, ChosenRow, any_of, as_chosen_row, integer_bounds, tuples
from .held import is_number
from .letters import PLAIN, Letter, Letters, is_text_or_member, may_be_chosen
from .none_or_value import optional_item
from .tables import MOST, column_of

SETS = (set, frozenset, SetInOrder, FrozenInOrder)
KEYS: type = type({}.keys())
FEW = 4  # items of a list that are compared one by one
BESIDE = object()  # equal to no key


def membership_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, what asks whether items are there; see `comprehensions`."""

    def has(key: Any, holder: Any) -> Any:
        row = as_chosen_row(holder)
        if may_differ(row, key) and all(is_plain(item, key) for item in row.items):
            found = read(row, key, lambda item, k: k in item)
            if found is not None:
                return found.item
        return key in item_of(row.holder, *row.keys)

    def get(holder: Any, *args: Any) -> Any:
        row = as_chosen_row(holder)
        if may_differ(row, args[0]) and all(type(item) is dict for item in row.items):
            found = read(row, args[0], lambda item, k: item.get(k, *args[1:]))
            if found is not None:
                return found.item
            found = item_or_traced(row, *args) if len(args) == 2 and not is_plain_key(args[1]) else None
            if found is not None:
                return found.item
        return item_of(row.holder, *row.keys).get(*args)

    def item_or_traced(row: ChosenRow, key: Any, default: Any) -> Found | None:
        """What is there, or something that is computed: as a test chooses."""
        known = next((value for item in row.items for value in item.values()), None)
        there = read(row, key, lambda item, k: int(k in item))
        held = None if there is None else read(row, key, lambda item, k: item.get(k, known))
        if there is None or held is None:
            return None
        return Found(recorder.namespace.function(control._either)(there.item != 0, held.item, default))

    def read(row: ChosenRow, key: Any, item_at: Callable[[Any, Any], Any]) -> Found | None:
        choices = among([k for item in row.items for k in item], key)
        if choices is None or len(row.items) * len(choices.keys) > MOST_ITEMS:
            return None
        place = row.place * len(choices.keys) + choices.place
        if type(place) is int:
            return None
        found = [item_at(item, k) for item in row.items for k in choices.keys]
        if None in found and any(item is not None for item in found):
            return item_or_none(recorder, found, place)
        table = column_of(recorder, found)
        return None if table is None else Found(table.item(None, place))

    def among(keys: list[Any], key: Any) -> Choices | None:
        """What a key may be, or that it is beside all `keys`."""
        if type(key) is tuple:
            alike = [k for k in keys if type(k) is tuple and len(k) == len(key)]
            return tuples([among([k[place] for k in alike], part) for place, part in enumerate(key)])
        found = any_of(recorder, key)
        return between(keys, key) if found is None and type(key) is ScalarTracer else found

    def between(keys: list[Any], key: ScalarTracer) -> Choices | None:
        """Of an integer that may be any: those from the least key to the largest, or one beside them."""
        if integer_bounds(recorder, key) is None or not keys or any(type(k) is not int for k in keys):
            return None
        first, last = min(keys), max(keys)
        if last - first >= MOST_KEYS or max(-first, last) > MOST:
            return None
        apply, wanted = recorder.apply, recorder.value_of(key, np.int64)
        low, high = (recorder.constant(bound, np.int64) for bound in (first - 1, last + 1))
        place = apply("subtract", apply("minimum", apply("maximum", wanted, low), high), low)
        recorder.builder.limits.note(place, 0, last - first + 2)
        found = (BESIDE, *range(first, last + 1), BESIDE)
        return Choices(found, ScalarTracer(recorder, place, is_python=True))

    return {id(is_in): has, id(item_or_default): get}


class Found(NamedTuple):
    """What was read, which may be None."""

    item: Any


def item_or_none(recorder: Recorder, items: list[Any], place: Any) -> Found | None:
    """One of several numbers or texts, or None: `doses.get(day)`."""
    known = [item for item in items if item is not None]
    if all(map(is_text_or_member, known)):
        texts = (*dict.fromkeys(known), None)
        codes = column_of(recorder, list(map(texts.index, items)))
        if codes is None or not may_be_chosen(recorder, texts):
            return None
        return Found(Letter(Letters(texts, is_chosen=True), codes.item(None, place)))
    there = column_of(recorder, [int(item is not None) for item in items])
    held = column_of(recorder, [known[0] if item is None else item for item in items])
    if there is None or held is None or not all(map(is_number, known)):
        return None
    return Found(optional_item(recorder, (there.item(None, place) != 0), held.item(None, place)))


def may_differ(row: ChosenRow, key: Any) -> bool:
    """Whether loops or data may say what is asked for, and of what."""
    return type(row.place) is not int or not is_plain_key(key)


def is_plain(holder: Any, key: Any) -> bool:
    """Whether its members are told by what they are: what Python compares, and how, is known."""
    if type(key) is LoopIndex and type(holder) in (list, tuple, range) and len(holder) <= FEW:
        return False
    if type(holder) not in (*SETS, list, tuple, range, dict, str, KEYS):
        return False
    if type(holder) is str:
        return type(key) is Letter and None not in key.letters.texts
    if len(holder) > MOST_KEYS:
        return False
    return type(holder) is range or all(map(is_plain_key, holder))


def is_plain_key(key: Any) -> bool:
    return type(key) in PLAIN or (type(key) is tuple and all(map(is_plain_key, key)))
