"""Lists whose length is data: `if v > 0: found.append(v)`, `while len(hull) > 1 and ...: hull.pop()`.

Such a list is rows of memory, and an integer that says how many of them there are: what a loop hands on of it, and a
branch chooses, is that integer. The memory has room for all that may be appended, which is known when the trace is
over; where it is too small, or what is appended has another form, the trace starts again. What only a list with all its
elements can do makes it start again with the list as Python makes it; or, outside of loops, with its length a number
(a guard), as for slices of such lengths.
"""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import control
from ...tape.guards import RAISES
from ...tape.tape import Value
from ..lengths.elements import Position, RunTime, for_each
from ..lengths.run_time_slices import stretch
from ..lengths.varying import refused
from ..record.promotion import INT
from ..values.indexing import KEYS, Keys
from ..values.loop_index import plain_or_traced
from ..values.python_errors import is_caught
from ..values.scalar_tracer import ScalarTracer
from .held import is_number, same
from .list_in_trace import ListInTrace, adds_in_place
from .list_order import sort_rows
from .list_room import TOO_MANY, Appended, is_alike, serving, times_within
from .lists_in_rows import Lists
from .object_copies import lend_to_list, note_copy
from .rows_of_list import NO_ROOM, RowsOfList
from .stored_forms import InMemory, Number

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder

NOT_THERE = "a number is looked for in a list, in which it is not"


class RunTimeList(RowsOfList):
    """What the program does with such a list."""

    has_run_time_length = True
    kept: int | None = None  # elements that a queue has at most
    is_begun = False  # with something in it

    def __init__(self, recorder: Recorder, site: Site, items: list[Any], kind: type = list, maxlen: int | None = None):
        super().__init__(recorder, site, kind)
        self.kept = maxlen
        if maxlen is not None:
            self.appended.limit = maxlen + 1
        self.extend(items)
        self.is_begun, self.is_heap = bool(items), len(items) < 2 or is_in_heap_order(items)

    def __getattr__(self, name: str) -> Any:
        if self.kind is collections.deque and name in OF_QUEUES:
            return OF_QUEUES[name](self)
        return super().__getattr__(name)

    # Growing and shrinking.

    def append(self, value: Any) -> None:
        self._add(value)
        if self.kept is not None:
            self._drop_first(self.kept)

    def _append_first(self, value: Any) -> None:
        self._add(value, 0)
        if self.kept is not None:
            count = self.recorder.apply("minimum", self.length_.count, self.recorder.constant(self.kept, INT))
            self.filled = ScalarTracer(self.recorder, count, is_python=True)

    def insert(self, where: Any, value: Any) -> None:
        if self.kept is not None:
            raise self.refuse()  # an error, in one that is full
        self._add(value, where)

    def _add(self, value: Any, where: Any = None) -> None:
        """Put an element at the end, or before that of an index."""
        if self.kind is tuple:
            raise AttributeError("'tuple' object has no attribute 'append'")
        if where is not None and isinstance(self.form, Lists):
            raise self.refer()
        recorder = self.recorder
        recorder.mark()
        self.is_heap = False
        value = self._known(value)
        note_copy(recorder, self.site, value)
        self._make_room()
        assert self.column is not None
        lend_to_list(self, value)
        most, last = (recorder.constant(number, INT) for number in (self.most, self.most - 1))
        count = recorder.value_of(self.filled, INT)
        recorder.scopes.require_after(recorder.apply("less", count, most), "bounds", NO_ROOM)
        end = recorder.apply("minimum", count, last)
        place = end if where is None else self._make_way(where, end)
        self._put(self.column, Position(ScalarTracer(recorder, place, is_python=True)), value)
        grown = recorder.apply("minimum", recorder.apply("add", count, recorder.constant(1, INT)), most)
        self.filled = ScalarTracer(recorder, grown, is_python=True)  # no more than that, until the guard is tested

    def _make_way(self, where: Any, count: Value) -> Value:
        """The place of an element that is inserted before an index: those behind it move up, the last one first."""
        recorder, apply = self.recorder, self.recorder.apply
        zero, one = recorder.constant(0, INT), recorder.constant(1, INT)
        index = recorder.value_of(plain_or_traced(where), INT)
        from_end = apply("maximum", apply("add", index, count), zero)
        place = apply("where", apply("less", index, zero), from_end, apply("minimum", index, count))
        forms = [form for form in self._rows().leaves() if isinstance(form, InMemory)]

        def move(position: Position) -> None:
            to = apply("subtract", count, recorder.value_of(plain_or_traced(position.index), INT))
            target, source = (
                Position(ScalarTracer(recorder, k, is_python=True)) for k in (to, apply("subtract", to, one))
            )
            for form in forms:
                self.memory(form).element(target).write(self.memory(form).element(source).read())

        for_each(recorder, RunTime(apply("subtract", count, place), self.most - 1), move)
        return place

    def _drop_first(self, most: int) -> None:
        """Of one more than there may be, the first."""
        if self.most <= most:
            return
        recorder, apply = self.recorder, self.recorder.apply
        count, limit = self.length_.count, recorder.constant(most, INT)
        moving = apply("where", apply("greater", count, limit), limit, recorder.constant(0, INT))
        self._copy(self, 1, RunTime(moving, most), 1)
        self.filled = ScalarTracer(recorder, apply("minimum", count, limit), is_python=True)

    def extend(self, values: Any) -> None:
        if type(values) is RunTimeList and values is not self and self.kept is None:
            self._extend(values)
            return
        if issubclass(type(values), ListInTrace) or self.kind is tuple:
            raise self.refuse()
        if isinstance(values, list | tuple):
            for value in list(values):
                self.append(value)
        else:  # an array, whose length may be data too, or a generator
            self.recorder.namespace.function(control._added)(self, values)

    def _extend(self, other: RunTimeList) -> None:
        """By the elements of another one."""
        if self.kind is tuple or isinstance(self.form or other.form, Lists):
            raise self.refer()
        recorder, apply, self.is_heap = self.recorder, self.recorder.apply, False
        recorder.mark()
        if other.form is not None and (self.form is None or not is_alike(self.form, other.form)):
            common = other.form if self.form is None else serving(self.form, other.form)
            if common is None:
                raise self.refuse()
            for found in (self, other):
                if found.form is None or not is_alike(common, found.form):
                    found._decide(form=common, is_guessed=False)
        added, count = other.length_, recorder.value_of(self.filled, INT)
        self._make_room(other.appended)
        room = apply("subtract", recorder.constant(self.most, INT), count)
        recorder.scopes.require_after(apply("less_equal", added.count, room), "bounds", NO_ROOM)
        length = RunTime(apply("minimum", added.count, room), min(self.most, added.most))
        self._copy(other, 0, length, 1, count)
        self.filled = ScalarTracer(recorder, apply("add", count, length.count), is_python=True)

    def __iadd__(self, values: Any) -> Any:
        if self.kind is tuple or (hasattr(type(values), "__array_ufunc__") and not isinstance(values, list)):
            raise self.refuse()  # of arrays Python asks theirs first, which adds numbers
        self.extend(values)
        return self

    def pop(self, where: Any = -1) -> Any:
        if self.kind is tuple or isinstance(self.form, Lists):
            raise self.refer()
        recorder, row, self.is_heap = self.recorder, self._row(where), False
        found = self._element(self._rows(), row)
        left = recorder.apply("subtract", self.length_.count, recorder.constant(1, INT))
        left = recorder.apply("maximum", left, recorder.constant(0, INT))  # until the guard of the index is tested
        self.filled = ScalarTracer(recorder, left, is_python=True)
        if type(where) is int and where == 0:
            self._copy(self, 1, RunTime(left, self.most - 1), 1)
        elif type(where) is not int or where != -1:  # those behind it move up
            place = recorder.value_of(plain_or_traced(row.index), INT)
            behind = recorder.apply("maximum", recorder.apply("subtract", left, place), recorder.constant(0, INT))
            following = recorder.apply("add", place, recorder.constant(1, INT))
            self._copy(self, following, RunTime(behind, self.most - 1), 1, place)
        return found

    def index(self, value: Any, *bounds: Any) -> Any:
        """Where a number is first; that it is there is required."""
        recorder = self.recorder
        if bounds or not is_number(value) or not isinstance(self.form, Number) or is_caught(ValueError):
            raise self.refuse()
        recorder.mark()
        found = self.array() == plain_or_traced(value)
        recorder.scopes.require_after(recorder.value_of(found.any()), RAISES, NOT_THERE)
        return np.argmax(found).item()

    def remove(self, value: Any) -> None:
        self.pop(self.index(value))

    def clear(self) -> None:
        if self.kind is tuple or isinstance(self.form, Lists):
            raise self.refer()
        self.filled = self._number(0)

    def __delitem__(self, key: Any) -> None:
        if type(key) is slice:
            raise self.refuse()
        self.pop(key)

    def take(self, other: RunTimeList) -> None:
        """Come to hold what another list does, which nobody has any more."""
        if other.kind is not self.kind or self.row or other.row or isinstance(self.form or other.form, Lists):
            raise self.refuse()
        common = serving(self.form, other.form) if self.form is not None and other.form is not None else None
        for found in (self, other):
            if common is not None and not is_alike(common, found.form):  # type: ignore[arg-type]
                found._decide(form=common)
            if found.form is None and (other.form or self.form) is not None:
                found._decide(form=other.form or self.form)
        if common is None:
            raise self.refuse()
        recorder, self.is_heap, self.is_copied = self.recorder, False, False
        self.appended.after(other.appended, recorder.scopes.indices, times_within(self.recorder, self.depth))
        length = self._with_room(other.length_)
        self._copy(other, 0, length, 1)
        self.filled = length.scalar(recorder)

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """By all the numbers of its elements; what lies behind these comes last, as nan does."""
        if self.kind is collections.deque:
            raise AttributeError("'collections.deque' object has no attribute 'sort'")
        if self.row is not None:
            own = self.copy()
            own.sort(key=key, reverse=reverse)
            return self._copy(own, 0, own.length_, 1)
        self.is_heap = False
        sort_rows(self, self._rows(), key, reverse)

    # Reading.

    def length(self) -> Any:
        found = self.known_length
        return self.length_.scalar(self.recorder) if found is None else found

    def __len__(self) -> int:
        return self.filled.__index__()

    def __bool__(self) -> bool:
        return bool(self.filled > 0)

    def __iter__(self) -> Iterator[Any]:
        return self.recorder.flow.iterate(self.length_, self.item_at, (RunOver(self),))

    def item_at(self, row: Any) -> Any:
        """The element in a row that is known to be there."""
        self.recorder.mark()
        return self._element(self._rows(), Position(plain_or_traced(row)))

    def __getitem__(self, key: Any) -> Any:
        self.recorder.mark()
        if type(key) is slice and self.kind is collections.deque:
            raise TypeError("sequence index must be integer, not 'slice'")
        if type(key) is slice:
            return self._slice(key)
        row = self._row(key)
        found = self._element(self._rows(), row)
        if type(found) is self.made_as and found.row is not None:
            found.row.read_by = key, self.version()
        return found

    def _is_put_back(self, key: Any, value: Any) -> bool:
        """Whether a list that was read by this index is put there again: `lists[k] += [x]`."""
        row = value.row if type(value) is self.made_as else None
        if row is None or row.owner is not self or row.is_gone:
            return False
        return row.read_by[0] is key and row.read_by[1] is self.version()

    def __contains__(self, value: Any) -> bool:
        value = plain_or_traced(value)
        is_integer = type(value) is int or (self.recorder.is_scalar(value) and value.dtype.kind in "iu")
        if not (is_integer and isinstance(self.form, Number) and self.form.dtype.kind in "iu"):
            raise self.refuse()
        return bool((self.array() == value).any())

    def __eq__(self, other: Any) -> Any:
        if type(other) is not self.kind or other:
            raise self.refuse()
        return self.filled == 0

    __hash__ = ListInTrace.__hash__

    def first(self, function: Callable[[Any], Any]) -> Any:
        """Its first element, for a `function` that raises an error of its own where there is none."""
        recorder = self.recorder
        if is_caught(ValueError) and not self:
            function(())
        recorder.scopes.require_after(recorder.value_of(self.filled > 0), RAISES)
        return self[0]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.recorder.mark()
        if self.kind is tuple or type(key) is slice:
            raise self.refuse()
        if self._is_put_back(key, value):
            return
        row, self.is_heap = self._row(key), False
        value = self._known(value)
        for given in self.lists_given:
            other = given()
            if other is not None and other.row is not None:
                other.row.end()
        note_copy(self.recorder, self.site, value)
        lend_to_list(self, value)
        self._put(self._rows(), row, value)

    def _slice(self, key: slice) -> Any:
        """Another list, of some of its elements."""
        if isinstance(self.form, Lists):
            raise self.refer()
        start, length, step = stretch(self.recorder, key, self.length_)
        found = RunTimeList(self.recorder, self.site, [], self.kind)
        part = Appended(limit=longest(key))
        part.after(self.appended, (), 1)
        found.appended.after(part, (), 1)
        found.is_heap = False
        length = found._with_room(length)
        found._copy(self, start, length, step)
        found.filled = length.scalar(self.recorder)
        return found

    def traced(self) -> Any:
        """As the array that `numpy.array` makes of it."""
        length = self.known_length
        if isinstance(self.form, Lists):
            raise self.refuse()
        if length is None or self.column is None or self.row is not None:
            return self.array()
        return self.column.part(self, slice(0, length)).array(self, length)  # type: ignore[arg-type]

    def elements(self) -> Any:
        """As an ordinary list or tuple, outside of loops."""
        length = self.known_length
        if length is None:
            raise refused(self.recorder, "asks for all elements, one by one, of")
        return self.kind([self.item_at(row) for row in range(length)])

    def copy(self) -> Any:
        found = self._slice(slice(None))
        if self.kept is not None:
            found.kept, found.appended.limit = self.kept, self.kept + 1
        return found

    __copy__ = copy

    def __add__(self, other: Any) -> Any:
        if type(other) not in (list, RunTimeList) or not self.kind is other.__class__ is list:
            raise self.refuse()
        found = self.copy()
        found.extend(other)
        return found

    def __radd__(self, other: Any) -> Any:
        if adds_in_place():  # Python asks ours first: the list that is extended is to be followed, too
            self.recorder.follow_lists([other])
        if type(other) is not list or self.kind is not list or adds_in_place():
            raise self.refuse()
        found = self.copy()
        for value in reversed(other):
            found.insert(0, value)
        return found

    def __mul__(self, other: Any) -> Any:
        raise self.refuse()

    __rmul__ = __mul__


RowsOfList.made_as = RunTimeList
OF_QUEUES: dict[str, Callable[[RunTimeList], Any]] = {
    "popleft": lambda queue: functools.partial(queue.pop, 0),
    "appendleft": lambda queue: queue._append_first,
    "maxlen": lambda queue: queue.kept,
}
"""What a `deque` has that a list has not."""


def longest(key: slice) -> int:
    """The most elements that a slice may have, of any list."""
    if type(key.stop) is int and key.stop >= 0 and (key.step is None or key.step == 1):
        return key.stop
    if type(key.start) is int and key.start < 0 and key.stop is None and (key.step is None or key.step == 1):
        return -key.start
    return TOO_MANY


def is_in_heap_order(items: list[Any]) -> bool:
    """Whether they are known numbers, each no more than those below it, as `heapq` wants them."""
    is_known = all(type(item) in (int, float) for item in items)
    return is_known and all(items[(k - 1) // 2] <= items[k] for k in range(1, len(items)))


class RunOver:
    """Such a list, where a loop runs over it."""

    is_table = has_letters = False

    def __init__(self, items: RunTimeList):
        self.items, self.version = items, items.version()

    def is_resized(self) -> bool:
        now = self.items.version()
        return now != self.version if type(now) is tuple else not same(now, self.version)

    def refuse(self) -> BaseException:
        return self.items.refuse()


# As an index array.


def has_run_time_list(recorder: Recorder, key: Any, value: Any) -> bool:
    return any(type(part) is RunTimeList for part in (key if type(key) is tuple else (key,)))


def with_arrays(key: Any) -> Any:
    """A key with the lists in it as arrays."""
    if type(key) is tuple:
        return tuple(map(with_arrays, key))
    return key.traced() if type(key) is RunTimeList else key


KEYS.insert(
    0,
    Keys(
        takes=has_run_time_list,
        get=lambda array, key: array[with_arrays(key)],
        put=lambda array, key, value: operator.setitem(array, with_arrays(key), value),
    ),
)
