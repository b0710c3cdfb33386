"""`sorted` of traced numbers: which item comes where is data, and one trace serves for every order.

Items are told apart by numbers, those of their keys. They are stacked, ordered by NumPy's stable sort, and taken from
the stack in that order. Python compares two by two, which would be a trace for each order.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ... import control
from ...python.written_calls import sort
from ..loops.columns import is_chosen_in
from ..loops.consumers import is_generator_expression
from ..loops.dict_of_items import ItemsView, SetOfKeys
from ..loops.dict_tables import item_by_key
from ..loops.expressions import as_expression
from ..loops.form import HandedOn
from ..loops.forms import Items, Unchanged
from ..loops.held import is_number
from ..loops.laying_down import MOST_TAKEN
from ..loops.list_functions import are_rows_of_data, collected_items
from ..loops.list_order import NO_NAN, fields_in_order
from ..loops.list_room import form_in_rows, serving
from ..loops.made_lists import followed
from ..loops.object_copies import objects_in
from ..loops.read_copies import copies_of, site_of_copies
from ..loops.run_time_lists import RunTimeList
from ..loops.stored_forms import Array, Number
from ..loops.tables import column_of
from ..loops.traced_list import Segment, TracedList
from ..record.decisions import Site
from ..record.recorder import Recorder
from ..values.elementwise import elementwise

RESULT = 1  # beside the offset of an instruction, which is even: the list that `sorted` makes


def sorting_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, `sorted`, and what `items.sort()` is written as."""

    @functools.wraps(sorted, ("__name__", "__doc__"), ())
    def in_order(items: Any, /, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> Any:
        frame = sys._getframe(1)
        site = (frame.f_code, frame.f_lasti)
        if issubclass(type(items), (ItemsView, SetOfKeys)):
            return items.in_order(key, reverse)  # type: ignore[union-attr]
        found, own = ordered_items(site, items, key, reverse), (frame.f_code, frame.f_lasti + RESULT)
        if type(found) is TracedList and found.site == site:
            found.site = own
            found = RunTimeList(recorder, own, found.elements()) if own in recorder.scopes.decisions.lengths else found
        return followed(recorder, found, own)

    def put_in_order(items: Any, **options: Any) -> None:
        if type(items) is TracedList and options.keys() <= {"key", "reverse"} and not is_taken_apart(items):
            sort_memory(recorder, items, options.get("key"), bool(options.get("reverse", False)))
            return
        is_known = type(items) not in (list, TracedList) or (type(items) is list and recorder.is_concrete(items))
        if is_known or not options.keys() <= {"key", "reverse"}:
            items.sort(**options)
            return
        frame = sys._getframe(1)
        site = (frame.f_code, frame.f_lasti)
        found = ordered_items(site, list(items), options.get("key"), bool(options.get("reverse", False)))
        if type(items) is TracedList:
            items.parts = found.parts if type(found) is TracedList else found
        else:
            items[:] = found.elements() if type(found) is TracedList else found

    def ordered_items(site: Site, items: Any, key: Callable[[Any], Any] | None, reverse: bool) -> Any:
        is_plain, key = site in recorder.scopes.decisions.plain, item_by_key(key)
        items = items if is_plain else as_expression(recorder, items)
        if is_generator_expression(items) and not is_plain:
            items = collected_items(recorder, items, site, list)
        if are_rows_of_data(items) and not is_plain:
            items = recorder.namespace.function(control._elements)(items)
        if type(items) is RunTimeList:
            items = items.copy()
            items.kind = list
            items.sort(key=key, reverse=reverse)
            return items
        column = None if is_plain or key is not None else numbers_in_memory(recorder, items)
        memory: Any = None if column is None else column.memory
        if column is not None and len(memory) > recorder.unroll:
            recorder.mark()
            memory = memory[positions_in_order(recorder, [memory], reverse)]
            return TracedList(recorder, site, [Segment(replace(column, memory=memory), len(memory))])
        is_long = type(items) is TracedList and type(items.extent()) is int and len(items) > recorder.unroll
        copies = site_of_copies(site)
        if is_long and key is not None and recorder.scopes.may_try(copies):
            return by_positions(recorder, site, items, recorder.namespace.function(control._keys)(items, key), reverse)
        items = list(items)
        keys = items if key is None else [key(item) for item in items]
        form = None if is_plain else common_form(recorder, items)
        columns = None if is_plain else numbers_of(recorder, keys)
        is_data = columns is not None and not recorder.is_concrete(columns)
        if is_data and form is None and recorder.scopes.may_try(copies):
            return by_positions(recorder, site, items, keys, reverse)
        if form is None or columns is None or recorder.is_concrete(columns):
            order = builtins.sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
            return [items[k] for k in order]
        recorder.mark()
        rows = taken_in_order(recorder, form, items, positions_in_order(recorder, columns, reverse))
        recorder.rows_given.add(site)
        return items_in_rows(recorder, site, rows, len(items))

    return {id(sorted): in_order, id(sort): put_in_order}


def by_positions(recorder: Recorder, site: Site, items: Any, keys: Any, reverse: bool) -> Any:
    """The items themselves, each by the position it has among them, which is data; or copies of them."""
    numbers = numbers_of(recorder, keys) if type(keys) is list else None
    is_short = numbers is not None and len(items) <= recorder.unroll
    copies = copies_of(recorder, site_of_copies(site), items) if is_short else None
    if numbers is not None and copies is not None:
        recorder.mark()
        order = positions_in_order(recorder, numbers, reverse)
        return [copies.item(order[k].item()) for k in range(len(items))]
    column = column_of(recorder, items, laid_down=True) if numbers is not None else None
    if numbers is not None and column is not None:
        recorder.mark()
        recorder.rows_given.add(site_of_copies(site))
        return items_in_rows(
            recorder, site, rows_in_order(column, positions_in_order(recorder, numbers, reverse)), len(items)
        )
    positions = recorder.namespace.function(control._positions)(len(items), keys, reverse)
    return recorder.namespace.function(control._at)(items, positions)


def is_taken_apart(items: TracedList) -> bool:
    """Whether a list is sorted by what `sorted` makes of its elements: they are tuples of numbers and texts."""
    is_own = items.scope is items.recorder.scopes.innermost and not (items.is_element or items.is_written)
    length = items.extent()
    if not is_own or items.has_pending or not isinstance(length, int) or not 0 < length <= MOST_TAKEN:
        return False
    part = items.parts[0]
    return part.column.kind is tuple if type(part) is Segment and type(part.column) is Items else type(part) is tuple


def sort_memory(recorder: Recorder, items: TracedList, key: Callable[[Any], Any] | None, reverse: bool) -> None:
    """`items.sort(...)` of a list that lies in memory, or comes to lie there."""
    items.settle()
    items.lay_down_where_filled()
    if not items.is_written or items.memory.ndim > 1 or items.is_element:
        is_of_numbers = is_number(*items.parts[:1])
        raise items.lay_down() if is_of_numbers or recorder.scopes.depth <= items.depth else items.uneven()
    column = items.parts[0].column
    columns: list[Any] | None = [items.memory]
    if key is not None or column.reference is not None:
        keys = recorder.namespace.function(control._keys)(items, key or _itself)
        if len(items.memory) <= recorder.unroll:
            columns = numbers_of(recorder, [keys[k] for k in range(len(items.memory))])
        else:
            columns = [keys.traced()]
    if columns is None or (type(columns[0]) is not list and columns[0].ndim != 1):
        raise items.refuse()
    recorder.mark()
    items.memory[...] = items.memory[positions_in_order(recorder, columns, reverse)]


def _itself(item: Any) -> Any:
    return item


def numbers_in_memory(recorder: Recorder, items: Any) -> Number | None:
    """Numbers that lie in memory already: those of an array, or of a list that a loop has filled."""
    if recorder.is_array(items) and items.ndim == 1 and items.dtype.kind in "fi":
        return Number(items.dtype, False, memory=items)
    if type(items) is not TracedList or len(items.parts) != 1 or type(items.parts[0]) is not Segment:
        return None
    column: Any = items.parts[0].column
    is_number = type(column) is Number and not column.types
    return column if is_number and items.parts[0].length == column.memory.shape[0] else None


def common_form(recorder: Recorder, items: Sequence[Any]) -> HandedOn | None:
    """The form of items that are numbers, or tuples of them; None where they have none in common."""
    found: HandedOn | None = None
    for item in items:
        form = form_in_rows(recorder, item)
        found = form if found is None or form is None else serving(found, form)
        if (
            found is None
            or any(objects_in(found))
            or is_chosen_in(found)
            or not all(isinstance(leaf, Number | Unchanged) for leaf in found.leaves())
        ):
            return None
    return found


def numbers_of(recorder: Recorder, keys: Sequence[Any]) -> list[list[Any]] | None:
    """The numbers by which items are compared, the first ones first; None where they are compared by something else."""
    names = {type(key): fields_in_order(type(key)) for key in keys}
    rows = [compared_by(key, names[type(key)]) for key in keys]
    kinds = {(type(key) if type(key) is tuple or names[type(key)] else None, len(row)) for key, row in zip(keys, rows)}
    if len(kinds) != 1:
        return None
    columns = [ranks(column) if type(column[0]) is str else list(column) for column in zip(*rows)]
    if not all(recorder.is_scalar(number) or type(number) in (int, float) for column in columns for number in column):
        return None
    return columns


def compared_by(key: Any, fields: tuple[str, ...] | None) -> tuple[Any, ...]:
    """The items of a tuple, the fields of an object that has an order; of anything else, itself."""
    if type(key) is tuple:
        return key
    return (key,) if fields is None else tuple(getattr(key, name) for name in fields)


def ranks(texts: Sequence[Any]) -> list[Any]:
    """The places of texts in their order."""
    if {*map(type, texts)} != {str}:
        return [*texts]
    return [*map(sorted({*texts}).index, texts)]


def positions_in_order(recorder: Recorder, columns: Sequence[Any], reverse: bool) -> Any:
    """The positions of items in order, by lists or arrays; equal ones stay as they were, also in reverse."""
    arrays = arrays_of_numbers(recorder, columns)
    arrays = [-array if array.dtype.kind == "f" else ~array for array in arrays] if reverse else arrays
    if len(arrays) == 1:
        return recorder.call(np.argsort, (arrays[0],), {"kind": "stable"})
    return recorder.call(np.lexsort, (tuple(arrays[::-1]),), {})


def arrays_of_numbers(recorder: Recorder, columns: Sequence[Any]) -> list[Any]:
    """Lists or arrays of numbers as arrays, of which none may be nan."""
    arrays = [recorder.call(np.array, (column,), {}) if type(column) is list else column for column in columns]
    for array in arrays:
        holds = elementwise(recorder, np.equal, (array, array)).all()
        recorder.scopes.require_after(recorder.value_of(holds), "bounds", NO_NAN)
    return arrays


def taken_in_order(recorder: Recorder, form: HandedOn, items: Sequence[Any], order: Any) -> HandedOn:
    """The form with items in its rows, in an order."""
    if isinstance(form, Items):
        columns = zip(*map(form.elements_of, items))
        inner = [taken_in_order(recorder, part, column, order) for part, column in zip(form.items, columns)]
        return replace(form, items=tuple(inner))
    if isinstance(form, Number):
        memory = recorder.call(np.array, (list(items),), {"dtype": form.dtype})
        return replace(form, memory=memory[order])
    return form


def rows_in_order(rows: HandedOn, order: Any) -> HandedOn:
    if isinstance(rows, Items):
        return replace(rows, items=tuple(rows_in_order(part, order) for part in rows.items))
    if isinstance(rows, Number) and rows.memory is not None:
        return Number(rows.dtype, rows.is_python, memory=rows.memory[order], types=rows.types)
    if isinstance(rows, Array) and rows.memory is not None:
        memory = rows.memory[order]
        memory.storage.chosen = rows.memory.storage.chosen
        return replace(rows, memory=memory)
    return rows


def items_in_rows(recorder: Recorder, site: Site, column: HandedOn, count: int) -> Any:
    """A list of the rows: one by one, or as loops fill one."""
    if count <= recorder.unroll:
        return [column.item(None, k) for k in range(count)]
    return TracedList(recorder, site, [Segment(column, count)])
