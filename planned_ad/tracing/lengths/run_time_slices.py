"""Slices whose bounds are integers known at run time: `x[p[i]:p[i + 1]]`, `y[:n] += v[:n]`.

Bounds are counted from the start and cut off as NumPy does it, by arithmetic on the tape.
"""

from __future__ import annotations

import operator
from typing import Any

from ..record.promotion import INT
from ..record.recorder import Recorder
from ..values.loop_index import LoopIndex, plain_or_traced
from .elements import RunTime
from .keys import WHOLE, expanded
from .sources import Bound, value_of
from .varying import DATA, VaryingArray, refused


def has_run_time_part(recorder: Recorder, key: Any) -> bool:
    """Whether a key has slices with run-time bounds in it, or index arrays of a run-time length."""
    if type(key) is tuple:
        return any(has_run_time_part(recorder, part) for part in key)
    if type(key) is slice:
        return any(is_run_time(recorder, bound) for bound in (key.start, key.stop, key.step))
    return is_run_time_array(key)


def is_run_time_array(obj: object) -> bool:
    """Whether `obj` is an array whose length is known at run time only."""
    return issubclass(type(obj), VaryingArray) and obj.of is DATA  # type: ignore[attr-defined]


def is_run_time(recorder: Recorder, bound: Any) -> bool:
    """Whether a bound is an integer known at run time only (and no loop index)."""
    if recorder.scopes.decisions.fixed_lengths and not recorder.scopes.depth:
        return False
    if recorder.is_scalar(bound):
        return bound.dtype.kind in "iu"
    return recorder.is_array(bound) and not bound.ndim and bound.dtype.kind in "iu" and not bound.storage.is_concrete


def stretch(recorder: Recorder, part: slice, extent: int | RunTime) -> tuple[Bound, RunTime, int]:
    """Start, length and step of a slice of an axis; the elements of the slice are elements of the axis."""
    step = 1 if part.step is None else part.step
    if type(step) is not int:
        raise refused(recorder, "takes, with a run-time step,")
    if not step:
        raise ValueError("slice step cannot be zero")
    key = (_name(recorder, part.start), _name(recorder, part.stop), step, _name(recorder, extent))
    known = recorder.stretches.get(key)
    if known is None or not all(recorder.scopes.sees(v) for v in (known[0][0], known[0][1].count)):
        known = recorder.stretches[key] = (_stretch(recorder, part, extent, step), part, extent)
    return known[0]


def _name(recorder: Recorder, bound: Any) -> object:
    """What a bound is known by in one straight piece of code. (Whoever keeps it keeps the bound.)"""
    if type(bound) is RunTime:
        return "length", id(bound.count), bound.most
    if recorder.is_scalar(bound):
        return "scalar", id(bound.value)
    if type(bound) is LoopIndex:
        return bound.expression
    return object() if recorder.is_array(bound) else bound  # an array may be written to


def _stretch(recorder: Recorder, part: slice, extent: int | RunTime, step: int) -> tuple[Bound, RunTime, int]:
    apply, most = recorder.apply, extent if isinstance(extent, int) else extent.most
    total: Bound = extent if isinstance(extent, int) else extent.count
    if step > 0:
        start = 0 if part.start is None else _counted(recorder, part.start, total, 0)
        stop = total if part.stop is None else _counted(recorder, part.stop, total, 0)
        low, high = start, stop
    else:
        start = _sum(recorder, total, -1) if part.start is None else _counted(recorder, part.start, total, -1)
        stop = -1 if part.stop is None else _counted(recorder, part.stop, total, -1)
        low, high = stop, start
    if isinstance(start, int):  # the elements that there may be from there on
        most = max(most - start if step > 0 else start + 1, 0)
    if isinstance(high, int):
        most = min(most, high if step > 0 else high + 1)
    distance = apply("subtract", value_of(recorder, high), value_of(recorder, low))
    if abs(step) > 1:
        rounded = apply("add", distance, recorder.constant(abs(step) - 1, INT))
        distance = apply("floor_divide", rounded, recorder.constant(abs(step), INT))
        most = -(-most // abs(step))
    count = apply("maximum", distance, recorder.constant(0, INT))
    if isinstance(start, int) and start >= (extent if isinstance(extent, int) else extent.most) > 0:
        start = 0
    return start, RunTime(count, most), step


def _counted(recorder: Recorder, bound: Any, total: Bound, low: int) -> Bound:
    """A bound counted from the start of the axis, between `low` and `total + low`."""
    apply = recorder.apply
    if isinstance(total, int) and type(bound) is LoopIndex:
        least, greatest = recorder.scopes.bounds(bound.expression)
        if low <= 0 <= least and greatest <= total + low:
            return recorder.value_of(bound, INT)
    if not is_run_time(recorder, bound) and type(bound) is not LoopIndex:
        bound = operator.index(bound)
        if isinstance(total, int):
            return max(low, min(bound + total if bound < 0 else bound, total + low))
        if low == 0 == bound:
            return 0
    value, end = recorder.value_of(plain_or_traced(bound), INT), value_of(recorder, total)
    zero = recorder.constant(0, INT)
    wrapped = apply("where", apply("less", value, zero), apply("add", value, end), value)
    highest = value_of(recorder, _sum(recorder, total, low))
    return apply("minimum", apply("maximum", wrapped, recorder.constant(low, INT)), highest)


def _sum(recorder: Recorder, bound: Bound, number: int) -> Bound:
    if isinstance(bound, int):
        return bound + number
    return recorder.apply("add", bound, recorder.constant(number, INT)) if number else bound


def taken_apart(array: Any, key: Any) -> tuple[tuple[Any, ...], int, Any]:
    """The key without its run-time part, the axis of what it shows that this part applies to, and the part."""
    recorder = array.recorder
    parts = expanded(array.ndim, key)
    found = [k for k, part in enumerate(parts) if has_run_time_part(recorder, part)]
    if len(found) > 1:
        raise refused(recorder, "slices or indexes, along two axes,")
    (where,) = found
    part, parts[where] = parts[where], WHOLE
    if not all(p is None or type(p) is slice or is_integer(recorder, p) for p in parts):
        raise refused(recorder, "combines with index arrays")
    return tuple(parts), axis_of(parts, where), part


def axis_of(parts: list[Any], where: int) -> int:
    """Which axis of the result one of the parts of a key is for."""
    return sum(part is None or type(part) is slice for part in parts[:where])


def is_integer(recorder: Recorder, part: Any) -> bool:
    """Whether a part of a key is an integer, traced or not: it takes an axis away, and shows a view."""
    if type(part) is LoopIndex or is_run_time(recorder, part):
        return True
    return hasattr(part, "__index__") and not isinstance(part, bool) and not getattr(part, "ndim", 0)
