"""The order of the elements of lists whose length is data: `events.sort(key=lambda e: e[0])`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lengths.elements import Position, for_each
from ..lengths.sources import Memory
from ..values.elementwise import elementwise
from ..values.loop_index import plain_or_traced
from .columns import is_chosen_in
from .form import HandedOn
from .forms import Items
from .held import is_number
from .stored_forms import Number

if TYPE_CHECKING:
    from ..record.recorder import Recorder
    from .rows_of_list import RowsOfList

EXACT = 1 << 53  # integers up to which all are numbers in floating point
MOST_NUMBERS = 3  # by which a list is sorted
NO_NAN = "of numbers that are sorted one is nan, which has no place in Python's order"


def sort_rows(items: RowsOfList, rows: HandedOn, key: Callable[[Any], Any] | None, reverse: bool) -> None:
    """By all the numbers of its elements, or those that a key gives; what lies behind these comes last, as nan does."""
    recorder = items.recorder
    fronts: list[Any] = [getattr(leaf, "memory", None) for leaf in rows.leaves()]
    are_numbers = items.form is not None and None not in fronts and not is_chosen_in(items.form)
    if items.kind is tuple or not are_numbers or not (key is not None or goes_by_numbers(items.form)):
        raise items.refuse()
    keys = fronts if key is None else keys_in_memory(items, rows, key)
    beyond = elementwise(recorder, np.greater_equal, (np.arange(items.most), items.filled))
    for number in keys:
        if number.dtype.kind == "f":
            ordered = elementwise(recorder, np.logical_or, (beyond, number == number))
            recorder.scopes.require_after(recorder.value_of(ordered.all()), "bounds", NO_NAN)
    first, *others = [-n if n.dtype.kind == "f" else np.invert(n) for n in keys] if reverse else keys
    first = recorder.call(np.where, (beyond, sorted_last(first.dtype), first), {})
    order = recorder.call(np.lexsort, ((*others[::-1], first),), {})
    for front, sorted_rows in zip(fronts, [front[order] for front in fronts]):
        front[...] = sorted_rows


def keys_in_memory(items: RowsOfList, rows: HandedOn, key: Callable[[Any], Any]) -> list[Any]:
    """The numbers by which its elements are sorted, of which a key has several where it is a tuple."""
    recorder, count = items.recorder, 0
    columns = [zeros_in_memory(items, np.dtype(float), items.most) for _ in range(MOST_NUMBERS)]

    def put(position: Position) -> None:
        nonlocal count
        found = key(items._element(rows, position))
        numbers = found if type(found) is tuple else (found,)
        count = len(numbers)
        if count > MOST_NUMBERS or not all(map(is_number, numbers)):
            raise items.refuse()
        for column, number in zip(columns, numbers):
            refuse_large(recorder, number)
            value = recorder.value_of(plain_or_traced(number), np.dtype(float))
            Memory(column, 0, 1).element(position).write(value)

    for_each(recorder, items.length_, put)
    return columns[:count]


def goes_by_numbers(form: HandedOn | None) -> bool:
    """Whether elements are compared as their numbers are, the first one first."""
    is_made_of = type(form) is Items and form.kind in (tuple, list) and all(map(goes_by_numbers, form.items))
    return type(form) is Number or is_made_of


def sorted_last(dtype: np.dtype) -> Any:
    """What no other number is sorted behind."""
    return dtype.type(np.nan if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max)


def refuse_large(recorder: Recorder, number: Any) -> None:
    """Require that a number by which a list is sorted is, in floating point, no other one."""
    if not recorder.is_scalar(number) or number.dtype.kind not in "iu" or not number.dtype.itemsize > 4:
        return
    low, high = recorder.builder.limits.of(number.value)
    if max(-low, high) > EXACT:
        found = recorder.value_of(elementwise(recorder, np.abs, (number,)) <= EXACT)
        recorder.scopes.require_after(found, "integers", "a list is sorted by integers beyond 2 ** 53")


def zeros_in_memory(owner: RowsOfList, dtype: np.dtype, rows: int) -> Any:
    """An array of zeros, to which loops may write."""
    found = Number(dtype, is_python=True).in_rows(rows, owner, -1, owner.recorder.scopes.depth)  # type: ignore[arg-type]
    assert isinstance(found, Number) and found.memory is not None
    found.memory.storage.listed = None
    found.memory[...] = 0.0
    return found.memory
