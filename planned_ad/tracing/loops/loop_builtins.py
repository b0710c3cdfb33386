"""Products, combinations and slices of what loops run over; and all the built-ins of which loops run over ours."""

from __future__ import annotations

import builtins
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import control
from ...python.written_calls import items_between
from ..lengths.ragged import RaggedArray
from ..lengths.run_time_arrays import RunTimeArray
from ..lengths.sources import snapshot
from ..record.recorder import Recorder
from ..record.traced import TracedArray
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex, plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .dict_tables import ordered_view
from .expressions import CHOSEN, filter_expression, generator_over
from .generators import generator_of
from .iteration import NestedIterator, Once, Sequence, once
from .nditer import nditer
from .run_time_lists import RunTimeList
from .sequences import Range, enumerate_, ndindex, range_, reversed_, sequence_of, starmap, zip_
from .tables import table_of
from .traced_list import TracedList

MOVED = {LoopIndex, ScalarTracer}
MOST_ROWS = 4096  # of combinations that are written out, instead of a nest of loops


def pool_of(recorder: Recorder, obj: Any) -> Sequence | None:
    """As `sequence_of`, of the items that there are now: `itertools.product` and its like begin with `tuple(items)`."""
    if (view := ordered_view(obj)) is not None:
        raise view.table.refuse()
    if type(obj) is ArrayTracer and obj.ndim == 1 and not obj.storage.is_concrete:
        obj = snapshot(obj)
    elif type(obj) in (TracedList, RunTimeList, RaggedArray) or (type(obj) is RunTimeArray and obj.ndim == 1):
        obj = obj.copy()
    return sequence_of(recorder, tuple(obj) if type(obj) is list else obj)


def product(recorder: Recorder, *items: Any, repeat: int = 1) -> Any:
    """`itertools.product`."""
    sequences = [pool_of(recorder, item) for item in items] * repeat
    if not sequences or any(s is None for s in sequences):
        return itertools.product(*items, repeat=repeat)
    rows = rows_of_product(items, repeat) if len(sequences) > 2 else None
    table = None if rows is None else sequence_of(recorder, rows)
    if table is not None:
        return once(recorder, table.length, table.item, table.holders, table.is_plain)
    return NestedIterator(tuple(s for s in sequences if s is not None), lambda *found: found)


def rows_of_product(items: tuple[Any, ...], repeat: int) -> tuple[tuple[Any, ...], ...] | None:
    """The combinations of known items as they are; None where there are too many, or some are not known.

    Each loop of a nest would be recorded anew in each pass over the body of the one around.
    """
    known: list[Any] = [item.known if type(item) is Range else item for item in items]
    if any(type(item) not in (list, tuple, builtins.range) for item in known):
        return None
    if math.prod(map(len, known)) ** repeat > MOST_ROWS:
        return None
    return tuple(itertools.product(*known, repeat=repeat))


def ndenumerate(recorder: Recorder, array: Any) -> Any:
    """`numpy.ndenumerate`."""
    if not recorder.is_array(array):
        return np.ndenumerate(array)
    axes = tuple(Sequence(recorder, n, lambda k: k) for n in array.shape)
    return NestedIterator(axes, lambda *indices: (indices, array[indices])) if axes else iter([((), array[()])])


def pairwise(recorder: Recorder, items: Any, /) -> Any:
    """`itertools.pairwise`."""
    sequence = sequence_of(recorder, items)
    if sequence is None or type(sequence.length) is not int:
        return itertools.pairwise(items)
    return once(recorder, max(sequence.length - 1, 0), Pairs(recorder, sequence, items).item, sequence.holders)


class Pairs:
    """The items of `itertools.pairwise`, of which the first was read when it was the second of the pair before."""

    def __init__(self, recorder: Recorder, sequence: Sequence, items: Any):
        self.recorder, self.sequence = recorder, sequence
        self.memory = items.storage.root if issubclass(type(items), TracedArray) and items.ndim == 1 else None
        self.version = self.written
        self.second: tuple[int, Any] = (-2, None)  # the pair that was fetched last, and its second item

    @property
    def written(self) -> int:
        """How often the memory of the items has been written to; of items that are no copies, it does not matter."""
        return 0 if self.memory is None else self.memory.version

    def item(self, k: Any) -> tuple[Any, Any]:
        if type(k) is not int and self.written != self.version:
            raise self.recorder.scopes.unroll_innermost(
                "writes to what pairwise() runs over", self.recorder.builder.line
            )
        before, self.version = self.second, self.written
        first = before[1] if type(k) is int and before[0] == k - 1 else self.sequence.item(k)
        second = self.sequence.item(k + 1)
        self.second = (k, second) if type(k) is int else (-2, None)
        return first, second


def accumulate_(recorder: Recorder, items: Any, func: Any = None, *, initial: Any = None) -> Any:
    """`itertools.accumulate`: sums and products of the elements of an array are scans."""
    scan = SCANS.get(func)
    is_axis = issubclass(type(items), TracedArray) and not items.is_known and items.ndim == 1
    if scan is None or initial is not None or not is_axis or items.dtype.kind != "f":
        generator = generator_of(items)
        if generator is None and (type(items) is not Once or items.iterator is not None) and not is_axis:
            return itertools.accumulate(items, func, initial=initial)
        made = control._accumulated if initial is None else control._accumulated_from
        join = operator.add if func is None else func
        return recorder.namespace.function(made)(join, iter(items) if generator is None else generator, initial)
    return once(recorder, len(items), Totals(recorder, items, *scan).item)


class Totals:
    """The items of `itertools.accumulate`: those of a scan, or item by item, each with what there is in memory then."""

    def __init__(self, recorder: Recorder, items: Any, scan: Any, join: Callable[[Any, Any], Any]):
        self.recorder, self.items, self.join = recorder, items, join
        self.found, self.version = recorder.call(scan, (items,), {}), items.storage.root.version
        self.last: tuple[int, Any] = (-1, None)  # the item that was fetched last

    def item(self, k: Any) -> Any:
        if type(k) is int and k == self.last[0] + 1:
            element = self.items[k]
            self.last = k, self.join(self.last[1], element) if k else element
            return self.last[1]
        if self.items.storage.root.version != self.version:
            raise self.recorder.scopes.unroll_innermost(
                "writes to what accumulate() runs over", self.recorder.builder.line
            )
        return self.found[k]


SUMS, PRODUCTS = (np.cumsum, operator.add), (np.cumprod, operator.mul)
SCANS: dict[Any, tuple[Any, Callable[[Any, Any], Any]]] = {
    None: SUMS, operator.add: SUMS, np.add: SUMS, operator.mul: PRODUCTS, np.multiply: PRODUCTS,
}  # fmt: skip


def islice(recorder: Recorder, items: Any, /, *bounds: Any) -> Any:
    """`itertools.islice`."""
    sequence = None if getattr(type(items), "is_iterator", False) else sequence_of(recorder, items)  # it goes on behind
    if sequence is None or type(sequence.length) is not int or not all(b is None or type(b) is int for b in bounds):
        return itertools.islice(items, *bounds)
    itertools.islice((), *bounds)  # raises what it raises
    rows = builtins.range(sequence.length)[slice(*bounds)]
    return once(recorder, len(rows), lambda k: sequence.item(k * rows.step + rows.start), sequence.holders)


def map_(recorder: Recorder, function: Callable[..., Any], /, *items: Any) -> Any:
    generator = generator_of(items[0]) if len(items) == 1 else None
    if generator is not None:
        return recorder.namespace.function(control._mapped)(function, generator)
    sequences = [sequence_of(recorder, item) for item in items]
    known = [s for s in sequences if s is None or s.is_plain]
    is_short = any(s is not None and s.length <= recorder.unroll for s in known)  # type: ignore[operator]
    if len(known) == len(sequences) and (is_short or isinstance(function, type)):
        return builtins.map(function, *items)
    rows = zip_(recorder, *items)
    if type(rows) is not Once:
        return builtins.map(function, *items)
    return once(recorder, rows.length, lambda k: function(*rows.item(k)), rows.holders)


def filter_(recorder: Recorder, function: Callable[..., Any] | None, items: Any, /) -> Any:
    generator = generator_of(items)
    if generator is not None:
        return generator_over(CHOSEN, generator, keeps=bool if function is None else function)
    sequence = sequence_of(recorder, items)
    if sequence is None or sequence.is_plain:
        return builtins.filter(function, items)
    rows = once(recorder, sequence.length, sequence.item, sequence.holders)
    found = filter_expression(recorder, function, rows)
    return builtins.filter(function, rows) if found is None else found


def arranged(arrange: Callable[..., Any]) -> Callable[..., Any]:
    """`itertools.combinations` and its like: which items an iteration takes stands in a table."""

    def ours(recorder: Recorder, items: Any, /, r: Any = None) -> Any:
        sequence = pool_of(recorder, items)
        if sequence is None or type(sequence.length) is not int or type(r) is not int or not r:
            return arrange(items) if r is None else arrange(items, r)
        table = table_of(recorder, tuple(arrange(builtins.range(sequence.length), r)))
        if table is None:
            return iter(())
        return once(
            recorder, len(table), lambda k: tuple(map(sequence.item, table.item(k))), (table, *sequence.holders)
        )

    return ours


def slice_of_list(recorder: Recorder, items: Any, start: Any, stop: Any) -> Any:
    """What a loop runs over that runs over `items[start:stop]`, of a list: other loops or data move the bounds."""
    if type(items) not in (list, tuple, TracedList) or not MOVED & {type(start), type(stop)}:
        return items[start:stop]
    length = items.extent() if type(items) is TracedList else len(items)
    if type(length) is not int:
        return items[start:stop]
    ends = (0 if start is None else start, length if stop is None else stop)
    if all(may_be_moved(end) for end in ends) and any(type(end) is ScalarTracer for end in ends):
        ends = (clamped_end(recorder, ends[0], length), clamped_end(recorder, ends[1], length))
    elif not all(lies_within(recorder, end, length) for end in ends):
        return items[start:stop]
    pool = pool_of(recorder, items)
    if pool is None or pool.length != length:
        return items[start:stop]
    places = range_(recorder, *ends).sequence()
    return once(recorder, places.length, lambda k: pool.item(places.item(k)), (*places.holders, *pool.holders))


def may_be_moved(end: Any) -> bool:
    return type(end) in (int, LoopIndex) or (type(end) is ScalarTracer and end.dtype.kind in "iu")


def clamped_end(recorder: Recorder, end: Any, length: int) -> Any:
    """Where a bound of a slice is that may be counted from the end, or lie beyond one."""
    apply, at = recorder.apply, recorder.value_of(plain_or_traced(end), np.int64)
    zero, last = recorder.constant(0, np.int64), recorder.constant(length, np.int64)
    at = apply("where", apply("less", at, zero), apply("add", at, last), at)
    return ScalarTracer(recorder, apply("minimum", apply("maximum", at, zero), last), is_python=True)


def lies_within(recorder: Recorder, end: Any, length: int) -> bool:
    """Whether a bound of a slice is where it says, neither counted from the end nor beyond it."""
    if type(end) is not LoopIndex:
        return type(end) is int and 0 <= end <= length
    least, most = recorder.scopes.bounds(end.expression)
    return least >= 0 and most <= length


# The built-ins that loops run over, and what makes ours: ``make(recorder, *arguments)``.
SEQUENCES: dict[Any, Callable[..., Any]] = {
    items_between: slice_of_list,
    builtins.range: range_,
    builtins.enumerate: enumerate_,
    builtins.zip: zip_,
    builtins.reversed: reversed_,
    builtins.map: map_,
    builtins.filter: filter_,
    np.ndindex: ndindex,
    np.ndenumerate: ndenumerate,
    np.nditer: nditer,
    itertools.accumulate: accumulate_,
    itertools.islice: islice,
    itertools.pairwise: pairwise,
    itertools.product: product,
    itertools.starmap: starmap,
    itertools.combinations: arranged(itertools.combinations),
    itertools.combinations_with_replacement: arranged(itertools.combinations_with_replacement),
    itertools.permutations: arranged(itertools.permutations),
}
