"""What `for` loops run over: ranges, arrays, and `enumerate`, `zip` and `reversed` of them.

Each is a `Sequence` with a length and an item for each position, also where the position is a loop's index. The
iterator of one hands out plain integers, or lets a `LoopTrace` record the body once.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ... import control
from ...python.source import current_line
from ...python.statements import has_while
from ...regions.affine import Affine, exact, ragged
from ...tape.tape import Value
from ..lengths.elements import UNBOUNDED, Length, RunTime
from ..lengths.ragged import RaggedArray
from ..lengths.run_time_arrays import RunTimeArray
from ..record.recorder import Recorder
from ..record.traced import TracedArray
from ..values.elementwise import elementwise
from ..values.flat import FlatView
from ..values.loop_index import LoopIndex, expression_of, has_index, index_of, plain_or_traced
from .dict_keys import as_python
from .dict_tables import ordered_view
from .generators import generator_of
from .iteration import Holder, NestedIterator, Once, Sequence, once
from .run_time_lists import RunOver, RunTimeList
from .tables import table_of
from .traced_list import TracedList


class Range:
    """`range(start, stop, step)` in traced code, whose bounds may be expressions or traced integers."""

    def __init__(self, recorder: Recorder, start: Any, stop: Any, step: int):
        self.recorder, self.first, self.end, self.step_ = recorder, start, stop, step
        self.is_traced = recorder.is_scalar(start) or recorder.is_scalar(stop)
        is_known = not self.is_traced and isinstance(start, int) and isinstance(stop, int)
        self.known = builtins.range(start, stop, step) if is_known else None

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return builtins.range

    def concrete(self) -> range:
        """The range itself: of traced bounds the one for which alone the tape then holds."""
        if self.known is None:
            self.known = builtins.range(operator.index(self.start), operator.index(self.stop), self.step_)
        return self.known

    @property
    def start(self) -> Any:
        return index_of(self.recorder, self.first)

    @property
    def stop(self) -> Any:
        return index_of(self.recorder, self.end)

    @property
    def step(self) -> int:
        return self.step_

    def sequence(self) -> Sequence:
        recorder = self.recorder
        if self.known is not None:
            length: int = len(self.known)
        elif self.is_traced:
            return run_time_range(recorder, self.first, self.end, self.step_)
        else:
            distance = self.end - self.first if self.step_ > 0 else self.first - self.end
            step = abs(self.step_)
            if isinstance(distance, Affine) and step > 1:
                if any(c % step for _, c in distance.terms):
                    return run_time_range(recorder, self.first, self.end, self.step_)
                distance = Affine(-(-distance.constant // step), tuple((i, c // step) for i, c in distance.terms))
                length = ragged(recorder.scopes.capacity(distance), distance)
            elif isinstance(distance, int):
                length = max(-(-distance // step), 0)
            else:
                length = ragged(recorder.scopes.capacity(distance), distance)
        return Sequence(recorder, length, lambda k: k * self.step_ + self.start)

    def length(self) -> Any:
        """As the built-in `len` tells it."""
        length = self.sequence().length
        if isinstance(length, RunTime):
            return length.scalar(self.recorder)
        found = index_of(self.recorder, exact(length))
        is_empty = self.recorder.scopes.bounds(exact(length))[0] < 0  # at times
        return elementwise(self.recorder, np.maximum, (found, 0)).item() if is_empty else found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sequence())

    def __len__(self) -> int:
        return len(self.concrete())

    def __getitem__(self, key: Any) -> Any:
        part = self.part(key) if type(key) is slice and self.known is None else None
        if part is not None:
            return part
        found = self.concrete()[key]
        if type(found) is builtins.range:
            return Range(self.recorder, found.start, found.stop, found.step)
        return found

    def part(self, key: slice) -> Range | None:
        """Of a range of neighbours between expressions: it backwards, or without its first or its last ones."""
        ahead, bounds = self.step_, (key.start, key.stop, key.step)
        if self.is_traced or abs(ahead) != 1 or any(type(bound) is not int for bound in bounds if bound is not None):
            return None
        match bounds:
            case None, None, -1:
                return Range(self.recorder, self.end - ahead, self.first - ahead, -ahead)
            case int(start), None, None | 1 if start >= 0:
                return Range(self.recorder, self.first + start * ahead, self.end, ahead)
            case None, int(stop), None | 1 if stop < 0:
                return Range(self.recorder, self.first, self.end + stop * ahead, ahead)
        return None

    def __contains__(self, value: Any) -> bool:
        return has_index(self, value) if type(value) is LoopIndex and not self.is_traced else value in self.concrete()

    def __reversed__(self) -> Iterator[Any]:
        return iter(reversed_(self.recorder, self))

    def __eq__(self, other: Any) -> bool:
        return self.concrete() == (other.concrete() if type(other) is Range else other)

    def __hash__(self) -> int:
        return hash(self.concrete())

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return repr(self.concrete())

    def index(self, value: Any) -> int:
        return self.concrete().index(value)

    def count(self, value: Any) -> int:
        return self.concrete().count(value)


class ListRunOver:
    """A traced list that is run over."""

    is_table = has_letters = False

    def __init__(self, items: TracedList):
        self.items, self.extent = items, items.extent()

    def is_resized(self) -> bool:
        return self.items.extent() != self.extent

    def refuse(self) -> BaseException:
        return self.items.refuse()


# What traced code sees in place of the built-ins.


def sequence_of(recorder: Recorder, obj: Any) -> Sequence | None:
    """`obj` as a sequence with an item for each position, symbolic ones included; None for anything else."""
    if type(obj) is Once and obj.iterator is None:
        return obj.taken()
    if type(obj) is Sequence:
        return obj
    if type(obj) is Range:
        return obj.sequence()
    if type(obj) is FlatView:
        return sequence_of(recorder, obj.sequence())
    if type(obj) is TracedList and not obj.is_plain:
        return Sequence(recorder, obj.items_now(), obj.__getitem__, (ListRunOver(obj),))
    if type(obj) is RunTimeList:
        return Sequence(recorder, obj.length_, obj.item_at, (RunOver(obj),))
    if (view := ordered_view(obj)) is not None:
        return Sequence(recorder, view.length_, view.item, view.holders)
    if issubclass(type(obj), TracedArray) and obj.ndim:
        return Sequence(recorder, len(obj), obj.__getitem__)
    if type(obj) is RaggedArray and obj.ndim:
        return Sequence(recorder, obj.view.shape[0], obj.__getitem__)
    if type(obj) is RunTimeArray and not obj.axis:
        return Sequence(recorder, obj.length, obj.item_at)
    if type(obj) is builtins.range:
        return Sequence(recorder, len(obj), lambda k: k * obj.step + obj.start, is_plain=True)
    table = table_of(recorder, obj)
    return None if table is None else Sequence(recorder, len(table), table.item, (table,), True)


def sequence_of_plain(recorder: Recorder, obj: Any) -> Sequence | None:
    """A list that loops may fill, where all its elements are there one by one."""
    is_plain = type(obj) is TracedList and obj.is_plain
    return Sequence(recorder, obj.items_now(), obj.__getitem__, (ListRunOver(obj),)) if is_plain else None


def holders_of(sequences: Iterable[Sequence | None]) -> tuple[Holder, ...]:
    return tuple(holder for sequence in sequences if sequence is not None for holder in sequence.holders)


def range_(recorder: Recorder, *bounds: Any) -> Any:
    is_traced = [recorder.is_scalar(bound) and bound.dtype.kind in "iu" for bound in bounds]
    expressions = [bound if traced else expression_of(bound) for bound, traced in zip(bounds, is_traced)]
    if any(e is None for e in expressions) or not 1 <= len(bounds) <= 3:
        return builtins.range(*bounds)
    start, stop, step = (0, expressions[0], 1) if len(bounds) == 1 else (*expressions, 1)[:3]
    if type(step) is not int or step == 0:
        return builtins.range(*bounds)
    return Range(recorder, start, stop, step)


def run_time_range(recorder: Recorder, start: Any, stop: Any, step: int) -> Sequence:
    """What a range runs over whose bounds are traced integers, or leave another rest of a step each time."""
    recorder.mark()
    start, stop = (as_python(recorder, plain_or_traced(index_of(recorder, bound))) for bound in (start, stop))
    distance = stop - start if step > 0 else start - stop
    if abs(step) > 1:
        distance = (distance + (abs(step) - 1)) // abs(step)
    value = recorder.value_of(distance, np.int64)
    count = recorder.apply("maximum", value, recorder.constant(0, np.int64))
    most = min(recorder.builder.limits.of(count)[1], UNBOUNDED)
    return Sequence(recorder, RunTime(count, most), lambda k: plain_or_traced(k) * step + start)


def enumerate_(recorder: Recorder, items: Any, start: Any = 0) -> Any:
    generator = generator_of(items)
    if generator is not None:
        return recorder.namespace.function(control._enumerated)(generator, start)
    sequence = sequence_of(recorder, items)
    if sequence is None:
        return builtins.enumerate(items, start)
    return once(recorder, sequence.length, lambda k: (start + k, sequence.item(k)), sequence.holders, sequence.is_plain)


def zip_(recorder: Recorder, *items: Any, strict: bool = False) -> Any:
    generator = generator_of(items[0]) if items and not strict and not recorder.scopes.depth else None
    if generator is not None and is_zipped_first(recorder):
        zipped = zip_with_generator(recorder, generator, items[1:])
        if zipped is not None:
            return zipped
    sequences = [sequence_of(recorder, item) for item in items]
    if any(s is not None and type(s.length) is RunTime for s in sequences):
        sequences = [sequence_of_plain(recorder, item) if s is None else s for s, item in zip(sequences, items)]
    lengths = [s.length for s in sequences if s is not None]
    length = shortest(recorder, lengths) if len(lengths) == len(items) else None
    if length is None or (strict and any(type(n) is RunTime or exact(n) != exact(length) for n in lengths)):  # type: ignore[arg-type]
        return builtins.zip(*items, strict=strict)
    found = [s for s in sequences if s is not None]
    is_plain = all(s.is_plain for s in found)
    return once(recorder, length, lambda k: tuple(s.item(k) for s in found), holders_of(found), is_plain)


def is_zipped_first(recorder: Recorder) -> bool:
    """Whether a line has not been met before: in loops that are written out, each time would be a loop of its own."""
    met, line = vars(recorder).setdefault("zipped", set()), current_line()
    is_first = line not in met
    met.add(line)
    return is_first


def zip_with_generator(recorder: Recorder, generator: types.GeneratorType, others: tuple[Any, ...]) -> Any:
    """The items of a generator beside those of arrays, each read once the generator has given its own.

    None where the others are something else: lists may get longer meanwhile. And of generators with a `while`, which
    are no loops; where `zip` is Python's, it is noticed that the arrays' loops are none, either.
    """
    if has_while(generator.gi_code):
        return None
    sequences = [sequence_of(recorder, item) if recorder.is_array(item) else None for item in others]
    found = [s for s in sequences if s is not None]
    lengths = [n for n in map(known_length, found) if n is not None]
    if not others or len(lengths) < len(others):
        return None

    def joined(k: Any, item: Any) -> tuple[Any, ...]:
        return (item, *(s.item(k) for s in found))

    return recorder.namespace.function(control._zipped)(generator, min(lengths), joined)


def known_length(sequence: Sequence | None) -> int | None:
    """How many items there are, where that is the same in all iterations of the loops around."""
    if sequence is None or isinstance(sequence.length, RunTime):
        return None
    length = exact(sequence.length)
    return None if isinstance(length, Affine) else length


def shortest(recorder: Recorder, lengths: list[Length]) -> Length | None:
    """The least of lengths, some of which the loops around may move; None where it is another one at times."""
    known = [length for length in lengths if not isinstance(length, RunTime)]
    if len(known) < len(lengths):
        least = functools.reduce(
            lambda a, b: recorder.apply("minimum", a, b), [length_value(recorder, n) for n in lengths]
        )
        return RunTime(least, min(n.most if isinstance(n, RunTime) else int(n) for n in lengths))
    for length in known:
        if all(recorder.scopes.bounds(exact(other) - exact(length))[0] >= 0 for other in known):
            return length
    return None


def length_value(recorder: Recorder, length: Length) -> Value:
    """A length as a number that is traced."""
    if isinstance(length, RunTime):
        return length.count
    return recorder.value_of(plain_or_traced(index_of(recorder, exact(length))), np.int64)


def reversed_(recorder: Recorder, items: Any) -> Any:
    sequence = sequence_of(recorder, items)
    if sequence is None:
        return builtins.reversed(items.given() if type(items) is TracedList else items)
    length = sequence.length
    last = length.scalar(recorder) - 1 if isinstance(length, RunTime) else index_of(recorder, exact(length) - 1)
    return once(recorder, length, lambda k: sequence.item(last - k), sequence.holders)


def ndindex(recorder: Recorder, *shape: Any) -> Any:
    """`numpy.ndindex`."""
    extents = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    axes = tuple(range_(recorder, n) for n in extents)
    if not axes or any(type(axis) is not Range for axis in axes):
        return np.ndindex(*shape)
    return NestedIterator(tuple(axis.sequence() for axis in axes), lambda *indices: indices)


def starmap(recorder: Recorder, function: Callable[..., Any], items: Any, /) -> Any:
    """`itertools.starmap`."""
    sequence = sequence_of(recorder, items)
    if sequence is None or type(sequence.length) is not int or sequence.is_plain:
        return itertools.starmap(function, items)
    return once(recorder, sequence.length, lambda k: function(*sequence.item(k)), sequence.holders)
