"""Histograms, statistics without nan, and sums by subscripts, of arrays whose length is known when the plan runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..numpy_functions.order import edges_of
from ..record.recorder import Recorder
from .elements import Position, RunTime, common_length
from .run_time_arrays import RunTimeArray
from .run_time_curves import is_line
from .run_time_elementwise import frozen_array, in_front
from .run_time_fits import is_so
from .run_time_keys import update_at
from .run_time_reductions import gathered_up
from .sources import Fixed, Memory, Origin, Recipe
from .varying import refused


def of_numbers_alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """`numpy.nanmean` and the like: `function` of the elements that are numbers."""

    def called(recorder: Recorder, a: Any, axis: Any = None, **options: Any) -> Any:
        if not is_line(a) or axis not in (None, 0, -1):
            raise refused(recorder, "leaves nan out, along other axes, of")
        kept = a[~np.isnan(a)] if a.dtype.kind == "f" else a
        if function in (np.max, np.min) and not is_so(recorder, kept.shape[0] > 0, "the largest of no numbers"):
            raise refused(recorder, "takes, of no numbers, the largest of")
        return recorder.call(function, (kept,), options)

    return called


def run_time_histogram(
    recorder: Recorder, a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """`numpy.histogram`. An element on the last edge belongs to the last bin; the last of the sums is of no bin."""
    if not is_line(a) or type(bins) is RunTimeArray:
        raise refused(recorder, "counts, in this way, elements of")
    edges = edges_of(recorder, a, bins, range)
    count, last = edges.shape[0] - 1, edges[-1]
    is_inside = (a >= edges[0]) & (a <= last)
    place = np.where(a == last, count - 1, recorder.call(np.searchsorted, (edges, a), {"side": "right"}) - 1)
    dtype = np.dtype(np.int64) if weights is None else weights.dtype
    sums = recorder.call(np.zeros, (count + 1,), {"dtype": dtype})
    update_at(recorder, np.add, sums, np.where(is_inside, place, count), np.int64(1) if weights is None else weights)
    sums = sums[:count]
    return (sums / (edges[1:] - edges[:-1]).astype(float) / sums.sum() if density else sums), edges


def run_time_tile(recorder: Recorder, a: Any, reps: Any) -> Any:
    """`numpy.tile` of one axis, a known number of times."""
    if np.ndim(a) != 1 or type(reps) is not int or reps < 1:
        raise refused(recorder, "repeats, in this way,")
    return recorder.call(np.concatenate, ((a,) * reps,), {})


def by_columns(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one axis, along the run-time one of two: of each column, what it gives side by side."""

    def called(a: RunTimeArray, *args: Any, axis: Any = None, **options: Any) -> Any:
        if type(a) is not RunTimeArray or a.ndim != 2 or axis is None or int(axis) % 2 != a.axis:
            return function(a, *args, **({} if axis is None else {"axis": axis}), **options)
        columns = a if a.axis == 0 else a.T
        parts = [function(columns[:, k], *args, **options) for k in range(a.rest[0])]
        joining = np.stack if type(parts[0]) is not RunTimeArray else np.column_stack if a.axis == 0 else np.vstack
        return a.recorder.call(joining, (parts,), {})

    return called


def run_time_einsum(recorder: Recorder, subscripts: Any, *operands: Any, **options: Any) -> Any:
    """`numpy.einsum`: over the elements of one run-time axis, of products without it."""
    if type(subscripts) is not str or "." in subscripts or set(options) - {"optimize"}:
        raise refused(recorder, "sums, by such subscripts,")
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = given.split(",")
    if not arrow:
        result = "".join(sorted(letter for letter in set(given) - {","} if given.count(letter) == 1))
    own = {term[a.axis] for term, a in zip(terms, operands) if type(a) is RunTimeArray}
    (letter,) = own if len(own) == 1 else "?"
    if len(terms) != len(operands) or any(term.count(letter) > 1 for term in terms) or letter == "?":
        raise refused(recorder, "sums, over several such axes,")
    lengths: list[RunTime | int] = []
    sources: list[Origin] = []
    samples: list[np.ndarray] = []
    for term, a in zip(terms, operands):
        if type(a) is RunTimeArray:
            lengths.append(a.length)
            sources.append(a.frozen())
            samples.append(np.ones(a.rest, a.dtype))
            continue
        array = frozen_array(recorder, a)
        if letter in term:
            array = in_front(array, term.index(letter))
            lengths.append(array.shape[0])
            sources.append(Memory(array, 0, 1))
            samples.append(np.ones(array.shape[1:], array.dtype))
        else:
            sources.append(Fixed(array))
            samples.append(np.ones(array.shape, array.dtype))
    length = common_length(recorder, lengths)
    rest = f"{','.join(term.replace(letter, '') for term in terms)}->{result.replace(letter, '')}"
    sample = np.asarray(np.einsum(rest, *samples))

    def product(position: Position) -> Any:
        parts = [position.of(source) for source in sources]
        return recorder.result(recorder.value_of(recorder.call(np.einsum, (rest, *parts), {}), sample.dtype))

    recipe = Recipe(product, tuple(sources))
    found = RunTimeArray(recorder, recipe, length, 0, sample.shape, sample.dtype)
    if letter not in result:
        return gathered_up(recorder, found, "add", 0, sample.dtype, "einsum")
    found.axis = result.index(letter)
    return found
