"""Arrays of a run-time length in order: sorting, medians and quantiles.

What memory has beyond the elements is filled with nan, which comes last in NumPy's order, as nan among the elements
does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tape.tape import Value
from ..numpy_functions.order import has_few_bins
from ..numpy_functions.support import raise_where
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..values.elementwise import elementwise
from ..values.loop_index import plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .elements import Position
from .run_time_arrays import RunTimeArray
from .run_time_curves import filled_behind
from .run_time_keys import update_at
from .sources import Memory, Recipe
from .varying import VaryingArray, refused


def run_time_sort(a: VaryingArray, axis: Any = -1, kind: Any = None) -> RunTimeArray:
    """`numpy.sort`."""
    if type(a) is not RunTimeArray or a.ndim != 1 or a.dtype.kind != "f":
        raise a.refused("sorts")
    recorder, ordered = a.recorder, a.recorder.call(np.sort, (filled_behind(a, np.nan),), {})
    return RunTimeArray(recorder, Memory(ordered, 0, 1), a.length, 0, (), a.dtype)


def run_time_argsort(recorder: Recorder, a: VaryingArray, axis: Any = -1, kind: Any = None) -> RunTimeArray:
    """`numpy.argsort`; what is equal keeps its order, whatever `kind`."""
    if type(a) is not RunTimeArray or a.ndim != 1:
        raise a.refused("sorts")
    last = np.nan if a.dtype.kind == "f" else np.iinfo(a.dtype).max if a.dtype.kind in "iu" else True
    order = recorder.call(np.argsort, (filled_behind(a, last),), {"kind": "stable"})
    return RunTimeArray(recorder, Memory(order, 0, 1), a.length, 0, (), order.dtype)


def run_time_unique(
    recorder: Recorder, a: VaryingArray, return_index: Any = False, return_inverse: Any = False,
    return_counts: Any = False, axis: Any = None, *, equal_nan: Any = True, sorted: Any = True,
) -> Any:  # fmt: skip
    """`numpy.unique`: of the elements in order those that differ from the one before."""
    if type(a) is not RunTimeArray or a.ndim != 1 or return_inverse or not equal_nan:
        raise a.refused("asks in another way than usual what is different in")
    order = recorder.call(np.argsort, (a,), {})
    line = a[order]
    memory, one = line.in_memory(), recorder.constant(1, INT)

    def is_first(position: Position) -> Any:
        index = recorder.value_of(plain_or_traced(position.index), INT)
        before = ScalarTracer(recorder, recorder.apply("subtract", index, one), is_python=True)
        found, last = position.of(memory), Position(before, inside=False).of(memory)
        differs = np.logical_or(index_is_zero(recorder, index), found != last)
        return np.logical_and(differs, np.logical_or(index_is_zero(recorder, index), (found == found) | (last == last)))

    first = RunTimeArray(recorder, Recipe(is_first, (memory,)), line.length, 0, (), np.dtype(bool))
    places = recorder.call(np.flatnonzero, (first,), {})
    results = [line[places]]
    if return_index:
        results.append(order[places])
    if return_counts:
        ends = recorder.call(np.concatenate, ((places, recorder.call(np.array, ([a.shape[0]],), {})),), {})
        results.append(ends[1:] - ends[:-1])
    return results[0] if len(results) == 1 else tuple(results)


def run_time_bincount(recorder: Recorder, x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """`numpy.bincount`, with as many bins as `minlength` says; more are another trace's."""
    if type(x) is not RunTimeArray or x.ndim != 1 or x.dtype.kind not in "iub":
        raise refused(recorder, "counts the elements of")
    is_negative: Any = x < 0  # type: ignore[operator]
    raise_where(recorder, is_negative.any(), ValueError("'list' argument must have no negative elements"))
    if not has_few_bins(recorder, x, int(minlength)):
        raise refused(recorder, "counts, in bins of which there may be more, the elements of")
    dtype = np.dtype(np.int64 if weights is None else np.float64)
    counts = recorder.call(np.zeros, (int(minlength),), {"dtype": dtype})
    update_at(recorder, np.add, counts, x, np.int64(1) if weights is None else weights)
    return counts


def index_is_zero(recorder: Recorder, index: Value) -> Any:
    return recorder.result(recorder.apply("equal", index, recorder.constant(0, INT)))


def run_time_median(a: VaryingArray, axis: Any = None) -> Any:
    """`numpy.median`; nan where there is one among the elements, or none at all."""
    recorder, ordered = a.recorder, run_time_sort(a)
    n = ordered.shape[0]
    middle = (element_in_order(ordered, (n - 1) // 2) + element_in_order(ordered, n // 2)) / 2
    return nan_where_there_is_one(recorder, ordered, middle)


def run_time_quantile(a: VaryingArray, q: Any, axis: Any = None) -> Any:
    """`numpy.quantile` at one number or at several, by NumPy's linear interpolation."""
    recorder = a.recorder
    if recorder.is_scalar(q) or np.ndim(q) > 1 or not recorder.is_concrete(q):
        raise a.refused("takes computed quantiles of")
    ordered = run_time_sort(a)
    if not np.ndim(q):
        return quantile_in_order(ordered, q)
    return recorder.call(
        np.stack, ([quantile_in_order(ordered, at) for at in np.asarray(recorder.plain(q)).tolist()],), {}
    )


def quantile_in_order(ordered: RunTimeArray, q: Any) -> Any:
    recorder = ordered.recorder
    place = q * (ordered.shape[0] - 1)
    below = elementwise(recorder, np.floor, (place,))
    share = place - below
    k = recorder.integer(below)
    following = elementwise(recorder, np.minimum, (k + 1, ordered.shape[0] - 1))
    low, high = element_in_order(ordered, k), element_in_order(ordered, following)
    gap = high - low
    between = recorder.call(np.where, (share >= 0.5, high - gap * (1 - share), low + gap * share), {})
    return nan_where_there_is_one(recorder, ordered, between)


def run_time_percentile(a: VaryingArray, q: Any, axis: Any = None) -> Any:
    """`numpy.percentile`."""
    return run_time_quantile(a, np.true_divide(q, 100) if a.recorder.is_concrete(q) else q, axis)


def element_in_order(ordered: RunTimeArray, index: Any) -> Any:
    """The element at an index; of no elements nan, with which the memory is filled."""
    return Position(plain_or_traced(index), inside=False).of(ordered.source)


def nan_where_there_is_one(recorder: Recorder, ordered: RunTimeArray, found: Any) -> Any:
    last = element_in_order(ordered, ordered.shape[0] - 1)
    return recorder.call(np.where, (last == last, found, last), {})
