"""Arrays of as many elements as data say: `numpy.zeros(n[i])`, `numpy.arange(k)`, `numpy.linspace(a, b, k)`.

In loops, and where calls have had several numbers, they are recipes for their elements. There is memory for as many as
is known of the number, or for `max_steps`: a call that has more is traced again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...tape.guards import ELEMENTS
from ..numpy_functions import sequences
from ..numpy_functions.support import raise_where, refuse
from ..record.dispatch import implements
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..values.advanced import of_any_count
from ..values.creation import full as full_of_shape
from ..values.loop_index import plain_or_traced
from ..values.number_types import types_in
from .elements import Position, RunTime
from .run_time_arrays import RunTimeArray
from .sources import Recipe
from .varying import refused

NEGATIVE = "negative dimensions are not allowed"


def is_of_data(recorder: Recorder, item: Any) -> bool:
    """Whether it is an integer that is known at run time only."""
    return recorder.is_scalar(item) and not item.is_known and item.dtype.kind in "iu"


def is_any_length(recorder: Recorder, *numbers: Any) -> bool:
    """Whether a trace is for any number: in loops, where calls have had several, or where it is known how many at most.

    A number with a limit comes from the length of something else that data decide, `np.zeros(len(found) + 1)`.
    """
    if of_any_count(recorder):
        return True
    counts = [recorder.value_of(number, INT) for number in numbers if is_of_data(recorder, number)]
    limits = [recorder.builder.limits.of(count) for count in counts]
    are_known = all(-recorder.max_steps <= low and high <= recorder.max_steps for low, high in limits)
    return bool(counts) and are_known and not recorder.scopes.decisions.fixed_lengths


def known_count(recorder: Recorder, item: Any) -> Any:
    """The number for which alone the tape holds, until another call has another one."""
    if not is_of_data(recorder, item):
        return item
    number = recorder.outcome(recorder.value_of(item), "count")
    return number if item.is_python else item.dtype.type(number)


def as_length(recorder: Recorder, number: Any) -> RunTime:
    """As many elements as a number says, none where it is negative."""
    count = recorder.value_of(number, INT)
    low, high = recorder.builder.limits.of(count)
    most = max(min(high, recorder.max_steps), 0)
    if high > most:
        enough = recorder.apply("less_equal", count, recorder.constant(most, INT))
        recorder.scopes.require_after(enough, "max_steps", ELEMENTS)
        count = recorder.apply("minimum", count, recorder.constant(most, INT))  # the guard may be tested later
    if low < 0:
        count = recorder.apply("maximum", count, recorder.constant(0, INT))
    return RunTime(count, most)


def filled_with(function: Callable[..., Any], number: float) -> Callable[..., Any]:
    """`numpy.zeros` and the like: a function that makes arrays filled with a number."""

    def made(recorder: Recorder, shape: Any, dtype: Any = float, order: Any = "C", **options: Any) -> Any:
        refuse(function.__name__, **options)
        return of_one_number(recorder, function, shape, number, np.dtype(dtype), order)

    return made


def of_one_number(
    recorder: Recorder, function: Callable[..., Any], shape: Any, item: Any, dtype: np.dtype, order: Any
) -> Any:
    extents = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    if not is_any_length(recorder, *extents):
        known = tuple(known_count(recorder, n) for n in extents)
        result = recorder.concrete(np.zeros(known, dtype, order))
        result[...] = item
        return result
    places = [k for k, n in enumerate(extents) if is_of_data(recorder, n)]
    if len(places) != 1:
        raise refused(recorder, f"gives several lengths to numpy.{function.__name__}, or")
    (axis,) = places
    rest = extents[:axis] + extents[axis + 1 :]
    raise_where(recorder, extents[axis] < 0, ValueError(NEGATIVE))
    given = recorder.array(recorder.builder.broadcast(recorder.value_of(item, dtype), rest))
    each = given if rest else given[()]
    source = Recipe(lambda position: each, ())
    return RunTimeArray(recorder, source, as_length(recorder, extents[axis]), axis, rest, dtype)


implements(np.zeros)(filled_with(np.zeros, 0))
implements(np.empty)(filled_with(np.empty, 0))  # a trace must not depend on what the memory held
implements(np.ones)(filled_with(np.ones, 1))


@implements(np.full)
def full(recorder, shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    extents = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    if not any(is_of_data(recorder, n) for n in extents):
        return full_of_shape(recorder, shape, fill_value, dtype, order)
    if dtype is None:
        if types_in(fill_value):
            raise refused(recorder, "fills, with a number of several types,")
        dtype = recorder.value_of(fill_value).dtype
    return of_one_number(recorder, np.full, extents, fill_value, np.dtype(dtype), order)


@implements(np.arange)
def arange(recorder, start, stop=None, step=1, dtype=None, *, device=None, like=None):
    refuse("arange", device=None if device == "cpu" else device, like=like)
    start, stop = (0, start) if stop is None else (start, stop)
    is_any = is_any_length(recorder, start, stop, step)
    if not is_any:
        start, stop, step = (known_count(recorder, end) for end in (start, stop, step))
        if recorder.is_concrete((start, stop, step)):
            start, stop, step = recorder.plain((start, stop, step))
            return recorder.concrete(np.arange(start, stop, step, dtype=dtype))
    start, stop = as_ends(recorder, start, stop)
    kind = recorder.result_type(start, stop, step)
    if dtype is not None and np.dtype(dtype) not in (kind, np.dtype(np.float64)):
        refuse("arange", dtype=dtype)
    number = number_of_steps(recorder, start, stop, step, kind)
    if not (is_any or of_any_count(recorder)):
        start = recorder.array(recorder.value_of(start, kind))
        return start + np.arange(max(known_count(recorder, number), 0), dtype=kind) * ((start + step) - start)
    length = as_length(recorder, number)
    gap = step if kind.kind in "iu" else (start + step) - start

    def element(position: Position) -> Any:
        return recorder.result(recorder.value_of(start + plain_or_traced(position.index) * gap, kind))

    found = RunTimeArray(recorder, Recipe(element, ()), length, 0, (), kind)
    return found if dtype is None else found.astype(dtype)


def as_ends(recorder: Recorder, start: Any, stop: Any) -> tuple[Any, Any]:
    """The ends of a range in 64 bits, as its elements are.

    NumPy takes their difference in the type that they have: of narrow or unsigned ones that may wrap around.
    """
    given = [end for end in (start, stop) if is_of_data(recorder, end)]
    begins_with_zero = type(start) is int and start == 0
    if not begins_with_zero and any(end.dtype.kind == "u" or end.dtype.itemsize < 4 for end in given):
        raise refused(recorder, "counts between narrow or unsigned integers for")
    first, last = (recorder.integer(end) if is_of_data(recorder, end) else end for end in (start, stop))
    return first, last


def number_of_steps(recorder: Recorder, start: Any, stop: Any, step: Any, kind: np.dtype) -> Any:
    """How many elements `numpy.arange` gives, below zero where there are none."""
    if kind.kind not in "iu":
        return recorder.integer(np.ceil((stop - start) / step))
    if type(step) is not int or not step:
        raise refused(recorder, "counts in steps that are data for")
    return (stop - start + (step - 1 if step > 0 else step + 1)) // step


@implements(np.linspace)
def linspace(recorder, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    if not (is_of_data(recorder, num) and is_any_length(recorder, num)):
        num = known_count(recorder, num)
        return sequences.linspace(recorder, start, stop, num, endpoint, retstep, dtype, axis, device=device)
    refuse("linspace", device=None if device == "cpu" else device, dtype=dtype)
    if retstep or axis or any(np.ndim(end) for end in (start, stop)):
        raise refused(recorder, "asks for steps of numpy.linspace, or for lines of")
    raise_where(recorder, num < 0, ValueError("Number of samples must be non-negative."))
    kind = recorder.result_type(start, stop, 1.0)
    gaps = num - 1 if endpoint else num
    step = (stop - start) / np.where(gaps > 0, gaps, 1)

    def element(position: Position) -> Any:
        index = plain_or_traced(position.index)
        found = index * step + start
        if endpoint:
            found = np.where((index == gaps) & (gaps > 0), stop, found)
        return recorder.result(recorder.value_of(found, kind))

    return RunTimeArray(recorder, Recipe(element, ()), as_length(recorder, num), 0, (), kind)
