"""Elementwise functions of arrays of a run-time length: recipes for the elements of their results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tape.guards import STRETCHES
from ..record.promotion import KINDS
from ..record.recorder import Recorder
from ..record.traced import Traced
from ..values.elementwise import elementwise
from ..values.loop_index import LoopIndex
from .elements import Position, RunTime, common_length, stretched_length
from .run_time_arrays import RunTimeArray
from .sources import Fixed, Memory, Recipe, Stretched, snapshot
from .unmasked import unmasked_result
from .varying import refused


def mapped(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunTimeArray:
    """`function(*args, **kwargs)` for a function of elements."""
    operands, length, axis = operand_of(recorder, args)
    dtype, rest = result_of(recorder, function, [(arg, shape) for arg, (_, shape) in zip(args, operands)], kwargs)
    sources = tuple(source for source, _ in operands)

    def compute(position: Position) -> Any:
        items = tuple(position.of(source) for source in sources)
        if isinstance(function, np.ufunc):
            found = elementwise(recorder, function, items, **kwargs)
        else:
            found = recorder.call(function, items, kwargs)
        return recorder.result(recorder.value_of(found, dtype))

    made = RunTimeArray(recorder, Recipe(compute, sources), length, len(rest) + 1 - axis, rest, dtype)
    made.whole = unmasked_result(recorder, function, args, kwargs)
    return made


def operand_of(
    recorder: Recorder, args: tuple[Any, ...], into: RunTime | None = None
) -> tuple[list[tuple[Any, tuple[int, ...]]], RunTime, int]:
    """Of each operand a source and the shape of its elements; their length; its axis, counted from the end from 1.

    `into`: the length of the first one, which the others are assigned to. Lengths that differ are taken to be an error
    until a run of the program shows otherwise; where one is 1, the next trace is for any that go together.
    """
    found = {arg.ndim - arg.axis for arg in args if type(arg) is RunTimeArray}
    if len(found) > 1:
        raise refused(recorder, "broadcasts, along two axes,")
    (axis,) = found
    lengths: list[RunTime | int] = []
    parts: list[Any] = []
    for arg in args:
        if type(arg) is RunTimeArray:
            lengths.append(arg.length)
            parts.append((arg.frozen(), arg.rest))
            continue
        if type(arg) is LoopIndex or not np.ndim(arg):
            parts.append((Fixed(arg.traced() if issubclass(type(arg), Traced) else arg), ()))
            continue
        array = frozen_array(recorder, arg)
        if array.ndim < axis:
            parts.append((Fixed(array), array.shape))
            continue
        where = array.ndim - axis
        front = in_front(array, where)
        if front.shape[0] == 1:
            parts.append((Fixed(front[0]), front.shape[1:]))
        else:
            lengths.append(front.shape[0])
            parts.append((Memory(front, 0, 1), front.shape[1:]))
    are_one = len({n.count.id if type(n) is RunTime else None for n in lengths}) == 1
    if are_one or recorder.builder.line not in recorder.scopes.decisions.stretched:
        return parts, common_length(recorder, lengths, STRETCHES), axis
    for k, (arg, (source, shape)) in enumerate(zip(args, parts)):
        if type(arg) is RunTimeArray and arg.length is not into:
            parts[k] = (Stretched(recorder, source, arg.length), shape)
    return parts, stretched_length(recorder, lengths, into), axis


def result_of(
    recorder: Recorder, function: Any, operands: list[tuple[Any, tuple[int, ...]]], kwargs: dict[str, Any]
) -> tuple[np.dtype, tuple[int, ...]]:
    """The dtype and shape of an element of the result: NumPy says it."""
    samples: list[Any] = []
    for obj, shape in operands:
        if recorder.is_scalar(obj) and obj.is_python:
            samples.append({"f": 1.0, "b": True}.get(obj.dtype.kind, 1))
        elif hasattr(obj, "dtype"):
            samples.append(np.ones(shape, obj.dtype)[()])
        elif shape or isinstance(obj, list | tuple):
            samples.append(np.ones(shape, recorder.value_of(obj).dtype)[()])
        else:
            samples.append(1 if type(obj) is LoopIndex else obj)
    with np.errstate(all="ignore"):
        found = np.asarray(function(*samples, **kwargs))
    if found.dtype not in KINDS:
        raise recorder.unsupported_dtype(found.dtype)
    return found.dtype, found.shape


def frozen_array(recorder: Recorder, obj: Any) -> Any:
    """An operand of integer extents as an array that nobody writes to."""
    return snapshot(obj) if recorder.is_array(obj) else recorder.array(recorder.value_of(obj))


def in_front(array: Any, axis: int) -> Any:
    """The view with this axis first."""
    return array.transpose([axis, *(k for k in range(array.ndim) if k != axis)])
