"""Plain numbers that a loop runs over, as tables: what differs from iteration to iteration is read from an array.

`zip(x, [0.5, 1.5, ...])` in a loop that is recorded once has `weights[k]` for its second item, as `np.array` would
give it. Lists, tuples and dict views of numbers are tables, and those of tuples of numbers, item by item. What is read
from them by keys that loops or data say is in `chosen_items`.
"""

from __future__ import annotations

import collections
import collections.abc
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.frames import user_frame
from ...python.rows_read import only_reads_rows
from ...python.source import current_line
from ..record.aliases import NONE, Copy
from ..record.recorder import Recorder
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.identity import is_asked
from ..values.loop_index import LoopIndex, plain_or_traced
from ..values.number_types import ALWAYS_ONE, types_in
from ..values.scalar_tracer import ScalarTracer
from .form import HandedOn
from .forms import Items, Unchanged, joined
from .held import is_number, number_type
from .letters import CODE, is_text_or_member, letters_of
from .stored_forms import Array, Number, OneOfArrays
from .table_items import MOST_LISTS, Table, lists_among
from .traced_list import TracedList

if TYPE_CHECKING:
    pass

VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
HOLDERS = (list, tuple, str, collections.deque, *VIEWS)
NUMBERS = {float: np.float64, int: np.int64, bool: np.bool_}
MOST_CHOSEN = 16  # numbers of which data choose one by comparisons
MOST = 1 << 62  # of an integer in a table


def table_of(recorder: Recorder, holder: Any, least: int | None = None) -> Table | None:
    """The table of what is in a list, a tuple or the like; None where that is no numbers, or none at all.

    Of a list that is longer than `least`, the limit of unrolling, traced numbers, and arrays to which nobody may write,
    are laid down in memory.
    """
    if type(holder) not in HOLDERS or not holder:
        return None
    is_resized = current_line() in recorder.scopes.decisions.resized
    if type(holder) not in (tuple, str) and is_resized:
        return None
    items = tuple(holder)
    is_long = len(items) > (recorder.unroll if least is None else least)
    with_lists = is_long and not is_resized and next(lists_among(items), None) is not None
    if with_lists:
        frame = user_frame(sys._getframe(1))
        with_lists = frame is not None and only_reads_rows(frame.f_code, frame.f_lineno)
    column = column_of(recorder, items, laid_down=is_long, with_lists=MOST_LISTS if with_lists else 0)
    return None if column is None else Table(recorder, holder, items, column)


def column_of(
    recorder: Recorder, items: collections.abc.Sequence[Any], laid_down: bool = False, with_lists: int = 0
) -> HandedOn | None:
    """The items as the rows of a list, read at an index that is known at run time; None where that is not possible.

    `with_lists`: how many lists may be in one another, of which each row has its own.
    """
    kinds = {type(item) for item in items}
    if kinds == {tuple} or (with_lists and kinds == {list}):
        if len({len(item) for item in items}) != 1:
            return None
        inside = with_lists - (list in kinds)
        parts = [column_of(recorder, part, laid_down, inside) for part in zip(*items)]
        return Items(kinds.pop(), tuple(range(len(parts))), ()).of(parts)
    if all(item is items[0] for item in items):
        return Unchanged(items[0])
    if all(map(is_text_or_member, items)):
        letters = letters_of(recorder, items)
        return None if letters is None else Items(letters[0], CODE, ()).of([column_of(recorder, letters[1])])  # type: ignore[arg-type]
    if laid_down and any(kind is ScalarTracer or issubclass(kind, np.generic) for kind in kinds):
        return numbers_laid_down(recorder, items)
    if laid_down and kinds == {ArrayTracer}:
        return arrays_laid_down(recorder, items)
    if not kinds <= set(NUMBERS) or (bool in kinds and (len(kinds) > 1 or is_asked(recorder))):
        return None
    if int in kinds and any(type(item) is int and abs(item) > MOST for item in items):
        return None
    types = frozenset((np.dtype(NUMBERS[kind]), True) for kind in kinds)
    data: np.ndarray = np.array(items, NUMBERS[float if float in kinds else kinds.pop()])
    array = ArrayTracer(recorder, Storage(data, recorder.builder.line), data)
    return Plain(data.dtype, True, memory=array, types=types if len(types) > 1 else ALWAYS_ONE)


def numbers_laid_down(recorder: Recorder, items: collections.abc.Sequence[Any]) -> HandedOn | None:
    """Numbers of one kind of which some are traced, in an array."""
    form = number_form(recorder, items, exact=True)
    if form is None or not may_be_rows(recorder):
        return None
    memory = recorder.call(np.array, (list(items),), {})
    return replace(form, memory=memory) if memory.dtype == form.dtype else None


def number_form(recorder: Recorder, items: collections.abc.Sequence[Any], exact: bool) -> Number | None:
    """The form of any of these items, if they are numbers; `exact`: of one dtype."""
    form: HandedOn | None = None
    for item in items:
        if not is_number(item) or type(item) is LoopIndex:
            return None
        one = Number(*number_type(item), types=types_in(item), is_data=recorder.is_scalar(item))
        form = one if form is None else joined(form, one, exact=exact)
        if form is None:
            return None
    return form if isinstance(form, Number) else None


def chosen_number(recorder: Recorder, items: collections.abc.Sequence[Any], place: Any) -> Any:
    """Which one of some numbers data choose, `[a, b, c][k]`; None where they are something else, or too many."""
    form = number_form(recorder, items, exact=False) if len(items) <= MOST_CHOSEN else None
    if form is None or not any(map(recorder.is_scalar, items)) or not may_be_rows(recorder):
        return None
    if form.types and not recorder.scopes.depth:  # where a trace for each of them does what depends on its type
        return None
    *values, chosen = (recorder.value_of(item, form.dtype) for item in items)
    which = recorder.value_of(plain_or_traced(place), np.dtype(np.int64))
    for number, value in reversed(list(enumerate(values))):
        is_it = recorder.apply("equal", which, recorder.constant(number, np.dtype(np.int64)))
        chosen = recorder.apply("where", is_it, value, chosen)
    return ScalarTracer(recorder, chosen, form.is_python, form.types)


def may_be_rows(recorder: Recorder) -> bool:
    """Whether what is read here may be another object each time: unless code was met that asks which one it has."""
    frame = user_frame(sys._getframe(1))
    site = None if frame is None else (frame.f_code, frame.f_lasti)
    if site is None or site in recorder.scopes.decisions.plain:
        return False
    recorder.rows_given.add(site)
    return True


def arrays_laid_down(recorder: Recorder, items: collections.abc.Sequence[Any]) -> HandedOn | None:
    """Arrays of one shape in one array; to one that is taken from there nobody may write, nor to those in it."""
    shape, dtype = items[0].shape, items[0].dtype
    are_alike = shape and all((item.shape, item.dtype) == (shape, dtype) for item in items)
    if not are_alike or not may_be_rows(recorder):
        return None
    memory = recorder.call(np.array, (list(items),), {})
    if all(item.storage.captured for item in items):
        memory.storage.chosen = True
        return Array(dtype, shape, memory=memory)
    frame = user_frame(sys._getframe(1))
    if frame is None or len(items) > recorder.unroll:
        return None
    decisions, site = recorder.scopes.decisions, (frame.f_code, frame.f_lasti)

    def refuse(reason: str, is_first: bool) -> BaseException:
        decisions.plain.add(site)
        recorder.watch.off()
        return recorder.scopes.restart()

    names = NONE.union(*(recorder.copies.names(item.storage) for item in items))
    return OneOfArrays(dtype, shape, memory=memory, copy=Copy(names, NONE, refuse))


@dataclass
class Plain(Number):
    """Plain numbers: it is known between which ones they are."""

    def item(self, owner: TracedList | None, row: Any) -> Any:
        found = super().item(owner, row)
        if type(found) is ScalarTracer and self.memory is not None and self.dtype == np.int64:
            data = self.memory.storage.base
            found.recorder.builder.limits.note(found.value, int(data.min()), int(data.max()))
        return found
