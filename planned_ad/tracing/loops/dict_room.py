"""For which keys, and what values, there is room in a dict that lies in memory: see `dict_tables`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..values.number_types import NumberType
from .dict_keys import MOST_PLACES, Range, are_texts, is_all_known, number_of_part, texts_in
from .forms import Unchanged
from .held import is_number
from .letters import Text
from .stored_forms import Array, Number
from .written_forms import common_number

if TYPE_CHECKING:
    from ..record.recorder import Recorder

Kind = NumberType | None  # None for a text
MOST_APART = 64  # times as many places as a dict has keys when it is made


@dataclass(frozen=True)
class TableRoom:
    """What is decided of the dicts that one instruction makes: between which integers their keys are, and the values.

    Keys are integers or texts, or tuples of them, `of_tuples`, in which each has its range. Of the `texts` that there
    are each is an integer; `are_texts`: which parts of a key are. The keys in `order`, where there are never others.
    Where there are, memory says in which order they came, if the program asks for it, `is_ordered`; then integers in
    keys have these `kinds`. Of keys that may be any integers the ranges are guessed: `is_open`. Calls keep to them.
    """

    ranges: tuple[Range, ...] | None = None
    of_tuples: bool = False
    form: Number | Array | None = None
    texts: tuple[Text, ...] = ()
    are_texts: tuple[bool, ...] = ()
    order: tuple[Any, ...] | None = None
    is_ordered: bool = False
    is_open: bool = False
    kinds: tuple[Kind, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(last - first + 1 for first, last in self.ranges or ())

    @property
    def order_of(self) -> dict[Any, None]:
        return dict.fromkeys(self.order or ())

    def is_as(self, other: TableRoom) -> bool:
        types = [getattr(room.form, "types", None) for room in (self, other)]
        return self == other and types[0] == types[1]

    def with_texts(self, texts: Iterable[Text]) -> TableRoom:
        """With these among the texts that there are."""
        found = tuple(dict.fromkeys((*self.texts, *texts)))
        return self if found == self.texts else replace(self, texts=found)

    def with_key(self, ranges: tuple[Range, ...], of_tuples: bool, are_texts: tuple[bool, ...]) -> TableRoom | None:
        """With keys in these ranges, too; None where they are of another kind, or would be too many."""
        if self.ranges is None:
            found = ranges
        elif (len(ranges), of_tuples, are_texts) != (len(self.ranges), self.of_tuples, self.are_texts):
            return None
        else:
            found = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(self.ranges, ranges))
        room = replace(self, ranges=found, of_tuples=of_tuples, are_texts=are_texts)
        return room if math.prod(room.shape) <= MOST_PLACES else None

    def twice(self, before: TableRoom) -> TableRoom:
        """With as much room again where integers of keys are beyond those of `before`: more of them are to come."""
        if before.ranges is None or self.ranges is None:
            return self
        ranges = []
        for (a, b), (c, d), is_text in zip(before.ranges, self.ranges, self.are_texts):
            more = 0 if is_text else d - c
            ranges.append((c - more * (c < a), d + more * (d > b)))
        return self.with_key(tuple(ranges), self.of_tuples, self.are_texts) or self

    def opened(self, of_tuples: bool, texts: tuple[bool, ...], max_steps: int) -> TableRoom | None:
        """With room for keys of any integers: for so many on either side of zero, all parts of a key together."""
        integers = texts.count(False)
        half = max(int((2 * max_steps) ** (1 / integers)) // 2, 1)
        every = 0, max(len(self.texts) - 1, 0)
        ranges = tuple(every if is_text else (-half, half - 1) for is_text in texts)
        room = self.with_key(ranges, of_tuples, texts)
        return None if room is None else replace(room, is_open=True)

    def joined(self, other: TableRoom) -> TableRoom | None:
        """For dicts of which one takes the place of another."""
        room: TableRoom | None = self.with_texts(other.texts)
        assert room is not None
        if self.order != other.order:
            room = replace(room, order=None)
        if other.ranges is not None:
            every = 0, len(room.texts) - 1
            ranges = [every if is_text else found for found, is_text in zip(other.ranges, other.are_texts)]
            room = room.with_key(tuple(ranges), other.of_tuples, other.are_texts)
        if room is None or other.form is None:
            return room
        if room.form is None:
            return replace(room, form=other.form)
        if isinstance(room.form, Array):
            return room if room.form == other.form else None
        number = common_number([room.form, other.form])
        return None if number is None else replace(room, form=number)

    def with_value(self, recorder: Recorder, value: Any) -> TableRoom | None:
        """With such a value, too; None where that is something else than the others."""
        if is_number(value):
            forms = [Unchanged(value)] if self.form is None else [self.form, Unchanged(value)]
            number = common_number(forms)
            is_known = number is not None and number == self.form and number.types == self.form.types  # type: ignore[union-attr]
            return None if number is None else self if is_known else replace(self, form=number)
        if not recorder.is_array(value) or value.dtype.kind not in "fiub":
            return None
        form = Array(value.dtype, value.shape)
        if self.form is not None:
            return self if self.form == form else None
        return replace(self, form=form)


def table_room(recorder: Recorder, items: dict[Any, Any]) -> TableRoom | None:
    """For what is in a dict; None where that is no such one."""
    room: TableRoom | None = TableRoom(order=tuple(items) if items else None)
    for key, value in items.items():
        parts = key if type(key) is tuple else (key,)
        if room is None or not parts or not is_all_known(key):
            return None
        room = room.with_texts(texts_in(key))
        numbers = [number_of_part(recorder, part, room.texts) for part in parts]
        room = room.with_key(tuple((number, number) for number in numbers), type(key) is tuple, are_texts(key))
        room = None if room is None else room.with_value(recorder, value)
    if room is None or math.prod(room.shape) > MOST_APART * max(len(items), 1):
        return None
    return room
