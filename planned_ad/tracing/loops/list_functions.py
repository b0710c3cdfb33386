"""What traced code sees where it makes lists, and NumPy's functions on lists that loops have filled."""

from __future__ import annotations

import collections
import copy
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import control
from ...python.written_calls import (
    all_items,
    collected,
    copied,
    display,
    index,
    made_container,
    record,
    remove_value,
    tested_items,
)
from ...tape.guards import RAISES
from ..values.loop_index import plain_or_traced
from ..values.number_types import types_in
from ..values.python_errors import is_caught
from .consumers import Consumer, is_generator_expression
from .dict_tables import DICTS, DictTable
from .expressions import as_expression
from .followed_dicts import followed_dict
from .forms import Unchanged
from .held import is_number, number_type
from .list_in_trace import is_traced_list
from .made_lists import followed, made_at
from .records import followed_record
from .run_time_lists import NOT_THERE, RunTimeList
from .stored_forms import Number
from .traced_list import Segment, TracedList
from .written_forms import Written

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder

SEQUENCES = frozenset({  # of arrays, which are more than rows of one array
    np.block, np.broadcast_arrays, np.choose, np.dstack, np.linalg.multi_dot, np.lexsort, np.meshgrid, np.piecewise,
    np.select, np.unstack, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.ix_,
})  # fmt: skip
INNER = 9  # beside the offset of an instruction, which is even: lists in one that is copied with them


class ItemByItem:
    """What a generator expression with a condition runs over: with each item, the sides for the last one are over."""

    def __init__(self, recorder: Recorder, items: Any):
        self.recorder, self.left, self.begun = recorder, iter(items), recorder.flow.sides_around()

    def __iter__(self) -> ItemByItem:
        return self

    def __next__(self) -> Any:
        self.recorder.flow.next_item(sys._getframe(1), self.begun)
        return next(self.left)


def list_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, what makes lists; see `comprehensions`."""

    def collect(items: Any, kind: Any = list) -> Any:
        frame = sys._getframe(1)
        return made_of((frame.f_code, frame.f_lasti), items, kind)

    def take_all(items: Any) -> Any:
        frame = sys._getframe(1)
        return made_of((frame.f_code, frame.f_lasti), items, list) if type(items) is list else items[:]

    def take_copy(items: Any) -> Any:
        frame = sys._getframe(1)
        if type(items) is dict and items:
            return followed_record(recorder, items.copy(), (frame.f_code, frame.f_lasti))
        return made_of((frame.f_code, frame.f_lasti), items, list) if type(items) is list else items.copy()

    def take_deep_copy(x: Any, memo: Any = None) -> Any:
        if type(x) is not list or memo is not None or not x:
            return copy.deepcopy(x, memo)
        frame = sys._getframe(1)
        code, offset = frame.f_code, frame.f_lasti
        kinds = {*map(type, x)}
        if kinds == {list} and len({*map(id, x)}) == len(x) and all(is_number(item) for row in x for item in row):
            x = [made_of((code, offset + INNER), row, list) for row in x]
        elif not all(map(is_number, x)):
            return copy.deepcopy(x)
        return made_of((code, offset), x, list)

    def made_of(site: Site, items: Any, kind: Any) -> Any:
        if kind is not list and kind is not tuple:
            return kind(items)
        if are_rows_of_data(items) and kind is list:
            return recorder.namespace.function(control._elements)(items)
        if type(items) is RunTimeList:
            found = items.copy()
            found.kind = kind
            return found
        if type(items) is TracedList:
            items.settle()
            return TracedList(recorder, items.site, items.given(), kind)
        decisions = recorder.scopes.decisions
        if site in decisions.plain:
            return kind(items)
        items = as_expression(recorder, items)
        if site in decisions.lengths and not is_generator_expression(items):
            return RunTimeList(recorder, site, list(items), kind)
        if recorder.is_array(items) and items.ndim == 1 and len(items) > recorder.unroll:
            return listed_numbers(recorder, items, site, kind)
        if not is_generator_expression(items):
            made = kind(items)
            if kind is list:
                recorder.copied_lists.add(id(made))
            return followed(recorder, made, site)
        return collected_items(recorder, items, site, kind)

    def show(items: Any) -> Any:
        frame = sys._getframe(1)
        return followed(recorder, items, (frame.f_code, frame.f_lasti))

    def show_record(items: Any) -> Any:
        frame = sys._getframe(1)
        site = frame.f_code, frame.f_lasti
        if type(items) is list and site in recorder.scopes.decisions.growing:
            return followed(recorder, items, site)
        found = items if type(items) is set else followed_record(recorder, items, site)
        return followed_dict(recorder, items, site) if found is items and type(items) in (dict, set) else found

    def make_container(kind: Any, *args: Any, **options: Any) -> Any:
        frame = sys._getframe(1)
        site, decisions = (frame.f_code, frame.f_lasti), recorder.scopes.decisions
        if kind is collections.Counter and len(args) == 1 and not options and are_traced(recorder, args[0]):
            counts = followed_dict(recorder, collections.Counter(), site)
            recorder.namespace.function(control._counted)(counts, args[0])
            return counts
        if kind is dict and len(args) == 1 and type(args[0]) is DictTable and not options:
            return args[0].copy(dict)
        if kind is collections.deque:  # how long it may be is known by a guard
            args = (*args[:1], *map(recorder.known_integer, args[1:]))
            options = {name: recorder.known_integer(value) for name, value in options.items()}
        made = kind(*args, **options)
        if kind is list:
            return followed(recorder, made, site)
        if kind == dict.fromkeys or type(made) is set:
            return followed_dict(recorder, made, site)
        if type(made) in DICTS:  # what it begins with is known: so may be all that it comes to hold
            if type(made) is dict and made:
                return followed_record(recorder, made, site)
            return made if made else followed_dict(recorder, made, site)
        if type(made) is not collections.deque or site in decisions.plain or made.maxlen == 0:
            return made
        if site in decisions.lengths:
            recorder.mark()
            return RunTimeList(recorder, site, list(made), collections.deque, made.maxlen)
        recorder.displays[id(made)] = (made, site)
        return made

    def followed_items(items: Any) -> Any:
        is_short = type(items) is TracedList and items.is_plain and len(items.parts) <= recorder.unroll
        given = items.parts if is_short else items
        return ItemByItem(recorder, given) if type(given) in (list, tuple) and recorder.scopes.depth else items

    def find(items: Any, value: Any) -> Any:
        """Where a number is first, as an integer that is data, for a list of numbers of which one is traced."""
        numbers = numbers_to_search(items, value)
        return items.index(value) if numbers is None else first_place(numbers, value)

    def remove_first(items: Any, value: Any) -> Any:
        """The numbers behind it move up, by what data say, in a list of one less."""
        held = items.parts if type(items) is TracedList and items.is_as_made else items
        numbers = numbers_to_search(held, value) if type(held) is list else None
        kinds = {number_type(number) for number in numbers or ()}
        if len(kinds) != 1 or not any(map(recorder.is_scalar, held)) or any(map(types_in, held)):
            return items.remove(value)
        array, place = recorder.call(np.array, (numbers,), {}), first_place(numbers, value)
        left = np.where(np.arange(len(held) - 1) < place, array[:-1], array[1:])
        ((_, is_python),) = kinds
        held[:] = [left[k].item() if is_python else left[k] for k in range(len(held) - 1)]
        return None

    def numbers_to_search(items: Any, value: Any) -> Any:
        """The numbers of a list, as a list or an array, where Python's own comparisons would be traced tests."""
        if type(items) is TracedList:
            items.settle()
        given = items.parts if type(items) is TracedList else items
        is_known = type(given) is not list or not all(map(are_numbers, given)) or not is_number(value)
        if is_known or not given or is_caught(ValueError):
            return None
        if type(items) is TracedList and not items.is_plain:
            return items.traced() if isinstance(items.extent(), int) else None
        return given if any(map(recorder.is_scalar, (*given, value))) else None

    def first_place(numbers: Any, value: Any) -> Any:
        recorder.mark()
        equal = recorder.call(np.array, (numbers,), {}) == plain_or_traced(value)
        recorder.scopes.require_after(recorder.value_of(equal.any()), RAISES, NOT_THERE)
        return np.argmax(equal).item()

    def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
        frame = sys._getframe(1)
        site = (frame.f_code, frame.f_lasti)
        iter = as_expression(recorder, iter)
        if count != -1 or not is_generator_expression(iter) or site in recorder.scopes.decisions.plain:
            items: Any = list(iter)[: None if count == -1 else count]
        else:
            items = collected_items(recorder, iter, site, list)
        if type(items) is TracedList:
            return recorder.call(np.array, (items, dtype), {})
        if not items:
            return recorder.concrete(np.fromiter(items, dtype))
        return recorder.call(np.array, (items, dtype), {})

    return {
        id(collected): collect, id(display): show, id(record): show_record, id(made_container): make_container,
        id(index): find, id(remove_value): remove_first, id(tested_items): followed_items, id(all_items): take_all,
        id(copied): take_copy, id(copy.deepcopy): take_deep_copy, id(np.fromiter): fromiter,
    }  # fmt: skip


def are_numbers(part: Any) -> bool:
    """Whether a part of a list is a number, or only has numbers in it."""
    if type(part) is not Segment:
        return is_number(part)
    column = part.column
    if isinstance(column, Written):
        return type(column) is Written and column.memory.ndim == 1 and column.reference is None
    return isinstance(column, Number) or (isinstance(column, Unchanged) and is_number(column.value))


def are_traced(recorder: Recorder, items: Any) -> bool:
    """Whether these are items of which not all are known, in an array or a list that loops have filled."""
    if is_traced_list(items) and not items.is_plain:
        return True
    return recorder.is_array(items) and items.ndim == 1 and not items.is_known


def collected_items(recorder: Recorder, items: Any, site: Site, kind: Any) -> Any:
    """The list of the items of a generator expression, whose loops may be recorded as loops."""
    recorder.mark()
    found = made_at(recorder, site, [])
    consumer, frame = Consumer(found), items.gi_frame
    recorder.consumers[frame] = consumer
    try:
        for item in items:
            found.append(item)
    finally:
        item = None  # whoever holds this frame holds no item
        del recorder.consumers[frame]
    if type(found) is TracedList:
        found.settle()
    found.kind = kind
    if type(found) is RunTimeList:
        return found
    decisions = recorder.scopes.decisions
    if site in decisions.by_reference and site not in decisions.no_records and kind is list:
        return followed_record(recorder, found, site)
    decisions = recorder.scopes.decisions
    is_followed = site in decisions.written or site in decisions.growing
    if not found.is_plain or (is_followed and site not in decisions.plain):
        return found
    items = kind(found.parts)
    recorder.displays[id(items)] = (items, site)
    return items


def are_rows_of_data(items: Any) -> bool:
    """Whether it is an array of a run-time number of elements, or rows."""
    return getattr(items, "has_rows_of_data", False) is True


def listed_numbers(recorder: Recorder, array: Any, site: Site, kind: Any) -> TracedList:
    """The elements of an array as a list."""
    recorder.mark()
    found = TracedList(recorder, site, [], kind)
    memory = array.copy()
    memory.storage.listed = found
    found.parts.append(Segment(Number(memory.dtype, False, memory=memory), len(array)))
    return found


def has_list(items: Any) -> bool:
    return any([is_traced_list(item) or (type(item) in (list, tuple) and has_list(item)) for item in items])


def as_arrays(items: Any) -> Any:
    """Arguments with the lists that loops have filled as arrays."""
    kind = type(items)
    if is_traced_list(items):
        return items.traced()
    if kind is list or kind is tuple:
        return kind(as_arrays(item) for item in items)
    return {key: as_arrays(item) for key, item in items.items()} if kind is dict else items


def call_on_lists(recorder: Recorder, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict) -> Any:
    """`function(*args, **kwargs)` where some arguments are lists that loops have filled."""
    first: Any = args[0] if args else None
    if is_traced_list(first) and not first.is_plain:
        if function in JOINING and set(kwargs) <= {"axis"}:
            return JOINING[function](recorder, first.traced(), *as_arrays(args[1:]), **kwargs)
        if function in JOINING or function in SEQUENCES:
            args = (first.elements(), *args[1:])
    elif type(first) is TracedList:
        args = (first.elements(), *args[1:])
    return recorder.call(function, as_arrays(args), as_arrays(kwargs))


# Functions of a sequence of arrays, on the array whose rows they are.


def stack(recorder: Recorder, rows: Any, axis: int = 0) -> Any:
    return rows if axis == 0 else np_call(recorder, np.moveaxis, rows, 0, axis).copy()


def concatenate(recorder: Recorder, rows: Any, axis: int | None = 0) -> Any:
    if rows.ndim == 1:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    if axis is None:
        return rows.reshape(-1)
    ndim = rows.ndim - 1
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    axis %= ndim
    shape = list(rows.shape[1:])
    shape[axis] *= rows.shape[0]
    return np_call(recorder, np.moveaxis, rows, 0, axis).reshape(shape)


def vstack(recorder: Recorder, rows: Any) -> Any:
    return rows[:, None] if rows.ndim == 1 else rows if rows.ndim == 2 else concatenate(recorder, rows)


def hstack(recorder: Recorder, rows: Any) -> Any:
    return rows if rows.ndim == 1 else concatenate(recorder, rows, 0 if rows.ndim == 2 else 1)


def column_stack(recorder: Recorder, rows: Any) -> Any:
    return rows[None, :] if rows.ndim == 1 else rows.T.copy() if rows.ndim == 2 else concatenate(recorder, rows, 1)


def np_call(recorder: Recorder, function: Callable[..., Any], *args: Any) -> Any:
    return recorder.call(function, args, {})


JOINING: dict[Any, Callable[..., Any]] = {
    np.stack: stack,
    np.concatenate: concatenate,
    np.vstack: vstack,
    np.hstack: hstack,
    np.column_stack: column_stack,
}
