"""Plain numbers that a loop runs over, as tables: what differs from iteration to iteration is read from an array.

`zip(x, [0.5, 1.5, ...])` in a loop that is recorded once has `weights[k]` for its second item, as `np.array` would
give it. Lists, tuples and dict views of numbers are tables, and those of tuples of numbers, item by item.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...python.comprehensions import item_of
from ...python.source import current_line
from ..record.recorder import Recorder
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.identity import is_asked
from ..values.loop_index import LoopIndex
from ..values.number_types import ALWAYS_ONE
from .form import HandedOn
from .forms import Items, Unchanged
from .stored_forms import Number

VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
HOLDERS = (list, tuple, collections.deque, *VIEWS)
NUMBERS = {float: np.float64, int: np.int64, bool: np.bool_}
MOST = 1 << 62  # of an integer in a table


class Table:
    """The items of `holder`, which are plain numbers or tuples of them.

    In a loop that is recorded once `item(k)` is read from arrays at its index `k`. What the holder holds by then must
    be what it held at first.
    """

    is_table = True

    def __init__(self, recorder: Recorder, holder: Any, items: tuple[Any, ...], column: HandedOn):
        self.recorder, self.holder, self.items, self.column = recorder, holder, items, column
        self.line = current_line()  # on which it is made

    def is_resized(self) -> bool:
        return len(self.holder) != len(self.items)

    def refuse(self) -> BaseException:
        """What to raise where it is resized: the trace starts again, and what runs over it is Python's."""
        scopes = self.recorder.scopes
        scopes.decisions.resized.add(self.line)
        return scopes.restart()

    def __len__(self) -> int:
        return len(self.items)

    def item(self, k: Any) -> Any:
        now = tuple(self.holder)
        if type(k) is int:
            return now[k]
        is_unchanged = len(now) == len(self.items) and (
            all(map(operator.is_, now, self.items)) or all(map(is_same, now, self.items))
        )
        if not is_unchanged:
            recorder = self.recorder
            raise recorder.scopes.unroll_innermost("changes what it runs over", recorder.builder.line)
        return self.column.item(None, k)


def table_of(recorder: Recorder, holder: Any) -> Table | None:
    """The table of what is in a list, a tuple or the like; None where that is no plain numbers, or none at all."""
    if type(holder) not in HOLDERS or not holder:
        return None
    if type(holder) is not tuple and current_line() in recorder.scopes.decisions.resized:
        return None
    items = tuple(holder)
    column = column_of(recorder, items)
    return None if column is None else Table(recorder, holder, items, column)


def item_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, what reads items; see `comprehensions`."""
    columns: dict[tuple[int, int], tuple[Any, tuple[Any, ...], HandedOn | None]] = {}

    def column(holder: Any, items: tuple[Any, ...], depth: int) -> HandedOn | None:
        known = columns.get((id(holder), depth))
        if known is None or len(known[1]) != len(items) or not all(map(is_same, items, known[1])):
            known = columns[id(holder), depth] = (holder, items, column_of(recorder, items))
        return known[2]

    def bounds(key: Any) -> tuple[int, int]:
        return recorder.scopes.bounds(key.expression) if type(key) is LoopIndex else (key, key)

    def within(key: Any, count: int) -> bool:
        first, last = bounds(key)
        return first >= 0 and last < count

    def read(holder: Any, *keys: Any) -> Any:
        """Of plain numbers, at the index of a loop that is recorded once: from a table of them."""
        key, others = keys[0], list(keys[1:])
        is_index, kind, found = type(key) is LoopIndex, type(holder), None
        if is_index and kind in (list, tuple) and bounds(key)[1] < 0:  # from the end
            key = key + len(holder)
        if is_index and kind is dict:
            first, last = bounds(key)
            if all(k in holder for k in range(first, last + 1)):
                found = column(holder, tuple(holder[k] for k in range(first, last + 1)), 1)
                key = key - first
        elif is_index and kind in (list, tuple) and within(key, len(holder)):
            items, depth, width = tuple(holder), 1, length_of_rows(holder)
            if others and type(others[0]) in (LoopIndex, int) and width is not None and within(others[0], width):
                items, depth = tuple(number for row in holder for number in row), 2
                key = key * width + others.pop(0)
            found = column(holder, items, depth)
        item, others = (holder[keys[0]], list(keys[1:])) if found is None else (found.item(None, key), others)
        return read(item, *others) if others else item

    return {id(item_of): read}


def length_of_rows(rows: Sequence[Any]) -> int | None:
    """How long each of these is, which are lists or tuples of one length; None for anything else."""
    if {type(row) for row in rows} not in ({list}, {tuple}):
        return None
    widths = {len(row) for row in rows}
    return widths.pop() if len(widths) == 1 else None


def column_of(recorder: Recorder, items: Sequence[Any]) -> HandedOn | None:
    """The items as the rows of a list, read at an index that is known at run time; None where that is not possible."""
    kinds = {type(item) for item in items}
    if kinds == {tuple}:
        if len({len(item) for item in items}) != 1:
            return None
        parts = [column_of(recorder, part) for part in zip(*items)]
        return Items(tuple, tuple(range(len(parts))), ()).of(parts)
    if all(item is items[0] for item in items):
        return Unchanged(items[0])
    if not kinds <= set(NUMBERS) or (bool in kinds and (len(kinds) > 1 or is_asked(recorder))):
        return None
    if int in kinds and any(type(item) is int and abs(item) > MOST for item in items):
        return None
    types = frozenset((np.dtype(NUMBERS[kind]), True) for kind in kinds)
    data: np.ndarray = np.array(items, NUMBERS[float if float in kinds else kinds.pop()])
    array = ArrayTracer(recorder, Storage(data, recorder.builder.line), data)
    return Number(data.dtype, True, memory=array, types=types if len(types) > 1 else ALWAYS_ONE)


def is_same(a: Any, b: Any) -> bool:
    """Whether two items are the same objects; tuples, which dict views make anew, item by item."""
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(is_same, a, b))
    return a is b
