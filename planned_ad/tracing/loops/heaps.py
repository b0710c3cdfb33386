"""Heaps: lists of numbers, or tuples of them, of which `heapq`'s functions show the least, in whatever order they lie.

Which item goes where in a heap is data. As long as the program asks for the first one only, and how many there are,
nobody can tell: an item is put behind the others, the least is looked for, and the last takes its place. Where the
program asks for more, the list is as Python makes it.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from ...tape.tape import Value
from ..lengths.elements import Position, for_each, memory
from ..lengths.sources import Memory
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..values.loop_index import plain_or_traced
from ..values.python_errors import is_caught
from ..values.scalar_tracer import ScalarTracer
from .form import HandedOn
from .forms import Items, Unchanged
from .held import ObjectKind
from .letters import Letters
from .list_order import NO_NAN, fields_in_order, ranks_of
from .run_time_lists import RunTimeList
from .stored_forms import Number
from .traced_list import TracedList


class Heap(RunTimeList):
    """Such a list, from the first time on that one of these functions is called with it."""

    def numbers(self) -> list[Column | Ranks]:
        """Its items are compared by these, one after the other."""
        return numbers_to_compare(self, self._rows())

    def push(self, item: Any) -> None:
        super().append(item)
        recorder = self.recorder
        last = Position(self.filled - 1, inside=False)
        for column in self.numbers():
            number = column.element(last).read()
            if number.dtype.kind == "f":
                recorder.scopes.require_after(recorder.apply("equal", number, number), "bounds", NO_NAN)

    def least(self) -> Position:
        """Where the least item is; that there is one is required."""
        recorder, count = self.recorder, self.length_.count
        apply, builder = recorder.apply, recorder.builder
        if is_caught(IndexError):
            raise self.refuse()
        recorder.scopes.require_after(apply("greater", count, recorder.constant(0, INT)), "index")
        columns, place = self.numbers(), memory(recorder, "least", (), INT, 0)
        best = [memory(recorder, "least", (), column.dtype, 0) for column in columns]
        for buffer, column in zip(best, columns):
            builder.store(buffer.whole, column.element(Position(0)).read())

        def compare(position: Position) -> None:
            numbers = [column.element(position).read() for column in columns]
            known = [builder.load(buffer.whole) for buffer in best]
            is_less = recorder.constant(False)
            for number, other in zip(reversed(numbers), reversed(known)):
                is_same = apply("logical_and", apply("equal", number, other), is_less)
                is_less = apply("logical_or", apply("less", number, other), is_same)
            for buffer, number, other in zip(best, numbers, known):
                builder.store(buffer.whole, apply("where", is_less, number, other))
            index = recorder.value_of(plain_or_traced(position.index), INT)
            builder.store(place.whole, apply("where", is_less, index, builder.load(place.whole)))

        for_each(recorder, self.length_, compare)
        return Position(ScalarTracer(recorder, builder.load(place.whole), is_python=True))

    def pop_least(self) -> Any:
        recorder = self.recorder
        recorder.mark()
        place = self.least()
        found = self._element(self._rows(), place)
        left = recorder.apply("subtract", self.length_.count, recorder.constant(1, INT))
        left = recorder.apply("maximum", left, recorder.constant(0, INT))  # until the guard is tested
        self.filled = ScalarTracer(recorder, left, is_python=True)
        for leaf in self._rows().leaves():
            if isinstance(leaf, Number) and leaf.memory is not None:
                column = Memory(leaf.memory, 0, 1)
                column.element(place).write(column.element(Position(self.filled)).read())
        return found

    def push_and_pop(self, item: Any) -> Any:
        self.push(item)
        return self.pop_least()

    def pop_and_push(self, item: Any) -> Any:
        found = self.pop_least()
        self.push(item)
        return found

    def put_in_order(self) -> None:
        """It is, in one that nobody sees."""

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not int or key:
            raise self.refuse()
        self.recorder.mark()
        return self._element(self._rows(), self.least())

    def asks_for_more(self, *args: Any, **kwargs: Any) -> Any:
        """What only a list in its order can do."""
        raise self.refuse()

    append = extend = pop = index = remove = take = sort = item_at = first = segment = array = traced = asks_for_more
    elements = copy = __copy__ = __iter__ = __setitem__ = __delitem__ = __contains__ = asks_for_more
    __add__ = __iadd__ = _slice = asks_for_more

    def in_any_order(self) -> RunTimeList:
        """The same numbers, for what does not depend on their order."""
        if not isinstance(self.form, Number):
            raise self.refuse()
        found = RunTimeList.__new__(RunTimeList)
        vars(found).update(vars(self))
        return found


class Column(Memory):
    @property
    def dtype(self) -> np.dtype:
        return self.front.dtype


class Ranks:
    """Texts in memory, as the numbers by which they are compared: the place of each in the order of all that may be."""

    dtype = INT

    def __init__(self, recorder: Recorder, codes: Any, texts: tuple[Any, ...]):
        self.recorder, self.codes, self.texts = recorder, codes, texts

    def element(self, position: Position) -> Ranks:
        return Ranks(self.recorder, self.codes.element(position), self.texts)

    def read(self) -> Value:
        return ranks_of(self.recorder, self.texts, self.codes.read())


def numbers_to_compare(items: RunTimeList, form: HandedOn) -> list[Column | Ranks]:
    """The numbers by which items are compared; others are compared by Python alone."""
    if isinstance(form, Number) and form.memory is not None:
        return [Column(form.memory, 0, 1)]
    if isinstance(form, Items) and isinstance(form.kind, type) and issubclass(form.kind, tuple):
        return [number for part in form.items for number in numbers_to_compare(items, part)]
    if isinstance(form, Items) and isinstance(form.kind, ObjectKind) and form.keys == fields_in_order(form.kind.cls):
        return [number for part in form.items for number in numbers_to_compare(items, part)]
    if isinstance(form, Items) and isinstance(form.kind, Letters) and {*map(type, form.kind.texts)} == {str}:
        (codes,) = form.items
        return [Ranks(items.recorder, Memory(codes.memory, 0, 1), form.kind.texts)]  # type: ignore[attr-defined]
    if isinstance(form, Unchanged) and type(form.value) is str:
        return []
    raise items.refuse()


def heap_of(recorder: Recorder, items: Any, added: tuple[Any, ...], is_made: bool) -> Heap | None:
    """A list as a heap, which it is, or `is_made`, to be `added` to; None where it is as Python makes it."""
    if type(items) is RunTimeList:
        if items.kind is not list or items.row or not (items.is_heap or is_made):
            raise items.refuse()
        if items.column is not None:
            numbers_to_compare(items, items.column)
        vars(object)["__class__"].__set__(items, Heap)
    elif type(items) is TracedList:
        for item in added:
            items.append(item)  # so that it is known what is in it
        raise items.uneven()
    elif recorder.scopes.depth and type(items) is list:
        recorder.follow_lists([items])
    return items if type(items) is Heap else None


HEAPS: dict[Any, Callable[..., Any]] = {
    heapq.heappush: Heap.push,
    heapq.heappop: Heap.pop_least,
    heapq.heappushpop: Heap.push_and_pop,
    heapq.heapreplace: Heap.pop_and_push,
    heapq.heapify: Heap.put_in_order,
}


def heap_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, the functions of `heapq` on lists."""

    def following(real: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real, ("__name__", "__doc__"), ())
        def function(heap: Any, /, *args: Any) -> Any:
            found = heap_of(recorder, heap, args, real is heapq.heapify)
            return real(heap, *args) if found is None else ours(found, *args)

        return function

    return {id(real): following(real, ours) for real, ours in HEAPS.items()}
