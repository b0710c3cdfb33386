"""The order of the elements of lists whose length is data: `events.sort(key=lambda e: e[0])`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tape.tape import Value
from ..lengths.elements import Position, for_each
from ..lengths.sources import Memory
from ..record.promotion import INT
from ..values.elementwise import elementwise
from ..values.loop_index import plain_or_traced
from .columns import is_chosen_in
from .form import HandedOn
from .forms import Items
from .held import ObjectKind, is_number
from .letters import Letters
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
    own = None if items.form is None or None in fronts else numbers_in_order(recorder, rows)
    is_moved = own is not None or (items.form is not None and None not in fronts and not is_chosen_in(items.form))
    keys = own if key is None else keys_in_memory(items, rows, key) if is_moved else None
    if items.kind is tuple or keys is None or any(len(front) != items.most for front in fronts):  # of lists, flat
        raise items.refuse()
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


def numbers_in_order(recorder: Recorder, form: HandedOn) -> list[Any] | None:
    """The numbers in memory by which elements are compared, the first ones first; None where it is something else."""
    if isinstance(form, Number):
        return [form.memory]
    if not isinstance(form, Items):
        return None
    if isinstance(form.kind, Letters) and {*map(type, form.kind.texts)} == {str}:
        (codes,) = form.items
        return [recorder.result(ranks_of(recorder, form.kind.texts, recorder.value_of(codes.memory)))]  # type: ignore[attr-defined]
    is_ordered = form.kind in (tuple, list) or (
        isinstance(form.kind, ObjectKind) and form.keys == fields_in_order(form.kind.cls)
    )
    parts = [numbers_in_order(recorder, part) if is_ordered else None for part in form.items]
    return None if None in parts else [number for part in parts for number in part]  # type: ignore[union-attr]


def ranks_of(recorder: Recorder, texts: Sequence[Any], codes: Value) -> Value:
    """The places in their order of the texts that these integers in memory tell; there may be anything behind them."""
    low, high = recorder.constant(0, INT), recorder.constant(len(texts) - 1, INT)
    known = recorder.apply("minimum", recorder.apply("maximum", codes, low), high)
    recorder.builder.limits.note(known, 0, len(texts) - 1)
    ranks = recorder.concrete(np.array([*map(sorted(texts).index, texts)]))
    return recorder.value_of(ranks[recorder.result(known)], INT)


def fields_in_order(cls: Any) -> tuple[str, ...] | None:
    """By what objects of a `dataclass(order=True)` are compared, if that is all that they have."""
    params = vars(cls).get("__dataclass_params__")  # of its own: a subclass may compare otherwise
    if params is None or not params.order:
        return None
    fields = dataclasses.fields(cls)
    return tuple(f.name for f in fields) if all(f.compare for f in fields) else None


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
