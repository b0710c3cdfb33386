"""Reading and writing `w[key]` for an array `w` of a run-time length, and assigning to and from such arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..record.promotion import INT
from ..record.recorder import Recorder
from ..values.advanced import fitting
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import plain_or_traced
from ..values.python_errors import is_caught
from ..values.scalar_tracer import ScalarTracer
from .elements import Position, RunTime, for_each
from .keys import WHOLE, expanded, takes_all
from .run_time_arrays import RunTimeArray, Sliced
from .run_time_elementwise import in_front, mapped, operand_of, result_of
from .run_time_slices import axis_of, has_run_time_part, is_integer, stretch, taken_apart
from .sources import Frozen, Memory, Other, Recipe
from .varying import refused


def get(array: RunTimeArray, key: Any) -> Any:
    """`array[key]`."""
    recorder = array.recorder
    parts, where = separated(array, key)
    part, others = parts[where], (*parts[:where], *parts[where + 1 :])
    if is_integer(recorder, part):
        row = Position(index_within(recorder, array.length, part), inside=False).of(array.source)
        return row if takes_all(others) else row[others]
    found = array
    if part != WHOLE:
        start, length, step = stretch(recorder, part, array.length)
        source: Any = array.source
        source = source.sliced(start, step) if type(source) is Memory else Sliced(array, start, step)
        found = RunTimeArray(recorder, source, length, array.axis, array.rest, array.dtype)
    if takes_all(others):
        return found
    source = found.in_memory()
    front = source.front[(WHOLE, *others)]
    shown = Memory(front, source.start, source.step)
    return RunTimeArray(recorder, shown, found.length, axis_of(parts, where), front.shape[1:], array.dtype)


def put(array: RunTimeArray, key: Any, value: Any) -> None:
    """`array[key] = value`."""
    recorder = array.recorder
    parts, where = separated(array, key)
    if not is_integer(recorder, parts[where]):
        assign(get(array, key), value)
        return
    row = Position(index_within(recorder, array.length, parts[where]), inside=False)
    element = array.in_memory().element(row)
    others = (*parts[:where], *parts[where + 1 :])
    element[others if others else ...] = value


def separated(array: RunTimeArray, key: Any) -> tuple[list[Any], int]:
    """The parts of a key, one for each axis (and new ones), and which of them is for the axis of run-time length."""
    recorder = array.recorder
    for part in key if type(key) is tuple else (key,):
        if not (part is None or part is Ellipsis or type(part) is slice or is_integer(recorder, part)):
            raise refused(recorder, "takes, with a mask or an index array, elements of")
    parts = expanded(array.ndim, key)
    where = [k for k, part in enumerate(parts) if part is not None][array.axis]
    if any(has_run_time_part(recorder, part) for k, part in enumerate(parts) if k != where):
        raise refused(recorder, "slices, along two axes,")
    return parts, where


def index_within(recorder: Recorder, length: RunTime, index: Any) -> Any:
    """An index of an axis of run-time length, counted from its start; a guard that it is in range."""
    apply, zero = recorder.apply, recorder.constant(0, INT)
    value = recorder.value_of(plain_or_traced(index), INT)
    wrapped = apply("where", apply("less", value, zero), apply("add", value, length.count), value)
    inside = apply("logical_and", apply("greater_equal", wrapped, zero), apply("less", wrapped, length.count))
    if is_caught(IndexError) and not bool(recorder.result(inside)):
        raise IndexError("index out of range")
    recorder.scopes.require_after(inside, "index")
    if not length.most:
        raise refused(recorder, "takes an element of")
    return ScalarTracer(recorder, wrapped, is_python=True)


def run_time_slice(array: ArrayTracer, key: Any) -> RunTimeArray:
    """`array[key]`, where the key has one slice with run-time bounds, or one index array of a run-time length."""
    recorder = array.recorder
    if type(key) is tuple and sum(type(part) is RunTimeArray for part in key) > 1:
        return pointwise(array, key)
    plain, axis, part = taken_apart(array, key)
    view = array[plain]
    if not recorder.is_array(view):
        raise refused(recorder, "takes, of rows of different lengths,")
    front = in_front(view, axis)
    rest = front.shape[1:]
    if type(part) is RunTimeArray:
        return gathered(front, part, axis, rest)
    start, length, step = stretch(recorder, part, front.shape[0])
    if 0 in rest or not front.shape[0]:
        length = RunTime(length.count, 0)
    return RunTimeArray(recorder, Memory(front, start, step), length, axis, rest, view.dtype)


def gathered(front: ArrayTracer, indices: RunTimeArray, axis: int, rest: tuple[int, ...]) -> RunTimeArray:
    """`front[indices]`."""
    recorder = front.recorder
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise refused(recorder, "takes with a mask, or with indices of several axes,")
    chosen = indices.frozen()
    known = Frozen(Memory(front, 0, 1))

    def element(position: Position) -> Any:
        return known.now.front[position.of(chosen)]

    return RunTimeArray(recorder, Recipe(element, (chosen, Other(known))), indices.length, axis, rest, front.dtype)


def pointwise(array: Any, key: tuple[Any, ...]) -> RunTimeArray:
    """`array[rows, columns]`: elements at the places that index arrays of one run-time length say together."""
    recorder, is_varying = array.recorder, type(array) is RunTimeArray
    arrays = [part for part in key if not is_integer(recorder, part)]
    are_indices = all(hasattr(part, "dtype") and part.ndim == 1 and part.dtype.kind in "iu" for part in arrays)
    if not are_indices or len(key) > array.ndim or (is_varying and array.axis):
        raise refused(recorder, "slices or indexes, along two axes,")
    operands, length, _ = operand_of(recorder, tuple(map(plain_or_traced, key)))
    indices = [source for source, _ in operands]
    held: Any = array.frozen() if is_varying else Frozen(Memory(array, 0, 1))

    def element(position: Position) -> Any:
        first, *others = [position.of(index) for index in indices]
        if not is_varying:
            return held.now.front[(first, *others)]
        return Position(index_within(recorder, array.length, first), inside=False).of(held)[tuple(others)]

    rest = (array.rest if is_varying else array.shape[1:])[len(key) - 1 :]
    return RunTimeArray(recorder, Recipe(element, (*indices, Other(held))), length, 0, rest, array.dtype)


def put_slice(array: ArrayTracer, key: Any, value: Any) -> None:
    """`array[key] = value` for a key as of `run_time_slice`."""
    target = run_time_slice(array, key)
    if any(type(part) is RunTimeArray for part in (key if type(key) is tuple else (key,))):  # `target` may be a copy
        scatter(array, key, target, value, array.__setitem__)
    else:
        assign(target, value)


def assign(target: RunTimeArray, value: Any) -> None:
    """Overwrite all elements of `target`."""
    recorder = target.recorder
    into = target.in_memory()
    if type(value) is RunTimeArray and type(value.source) is Memory and value.source.is_at(into):
        return  # what `x[a:b] += y` ends with
    into.front.storage.check_writeable(into.front.geometry, recorder.builder.line)
    into.front.storage.writable_buffer(recorder)
    length, source = offered(recorder, target, value, into)

    def store(position: Position) -> None:
        element = into.element(position)
        element.write(fitting(recorder, position.of(source), target.dtype, element.shape))

    for_each(recorder, length, store)


def scatter(
    array: ArrayTracer, key: Any, chosen: RunTimeArray, value: Any, write: Callable[[tuple[Any, ...], Any], Any]
) -> None:
    """`write(key, element)` for each element of `chosen`, which an index array in the key chooses, and of `value`."""
    recorder = array.recorder
    array.storage.check_writeable(array.geometry, recorder.builder.line)
    array.storage.writable_buffer(recorder)
    parts = list(key) if type(key) is tuple else [key]
    where = next(k for k, part in enumerate(parts) if type(part) is RunTimeArray)
    indices = parts[where].frozen()
    length, source = offered(recorder, chosen, value, None, array.storage.root)

    def one(position: Position) -> None:
        write((*parts[:where], position.of(indices), *parts[where + 1 :]), position.of(source))

    for_each(recorder, length, one)


def update_at(recorder: Recorder, ufunc: np.ufunc, array: Any, index: Any, value: Any) -> None:
    """`ufunc.at(array, index, value)`: an index that occurs twice counts twice."""
    if not recorder.is_array(array) or type(index) is not RunTimeArray:
        raise refused(recorder, f"calls numpy.{ufunc.__name__}.at with")
    recorder.mark()

    def join(key: Any, element: Any) -> None:
        array[key] = ufunc(array[key], element)

    write = functools.partial(ufunc.at, array) if ufunc in (np.add, np.subtract) else join
    scatter(array, index, run_time_slice(array, index), value, write)


def offered(recorder: Recorder, target: RunTimeArray, value: Any, into: Memory | None, storage: Any = None) -> Any:
    """The length that target and value have in common, and a source of the value's elements.

    What is read where the loop may have written by then is stored first.
    """
    value = trimmed(recorder, value, target.ndim)
    operands, length, _ = operand_of(recorder, (target, value), target.length)
    source, shape = operands[1]
    if any(n not in (1, m) for n, m in zip(shape[::-1], target.rest[::-1])):
        raise ValueError(
            f"could not broadcast input array from shape {str(shape).replace(' ', '')} "
            f"into shape {str(target.rest).replace(' ', '')}"
        )
    storage = into.front.storage.root if into is not None else storage
    if any(place is None or into is None or not place.is_at(into) for place in source.reads(storage)):
        dtype = result_of(recorder, np.positive, [(value, shape)], {})[0]
        source = RunTimeArray(recorder, source, length, 0, shape, dtype).stored()
    return length, source


def trimmed(recorder: Recorder, value: Any, ndim: int) -> Any:
    """A value to be assigned, without leading axes of length 1 that are too many."""
    value = plain_or_traced(value)
    if type(value) is RunTimeArray or not np.ndim(value):
        if type(value) is RunTimeArray and value.ndim > ndim:
            raise refused(recorder, "assigns, with more axes than the target,")
        return value
    value = recorder.array(recorder.value_of(value))
    while value.ndim > ndim and value.shape[0] == 1:
        value = value[0]
    return value


def put_whole(array: ArrayTracer, key: Any, value: RunTimeArray) -> None:
    """`array[key] = value` where the key has nothing of data in it, and the value is of a run-time length."""
    recorder = array.recorder
    view = array[key]
    if type(view) is RunTimeArray:
        assign(view, value)
        return
    if not recorder.is_array(view) or view.ndim < value.ndim:
        raise refused(recorder, "assigns, to another number of axes,")
    axis = view.ndim - (value.ndim - value.axis)
    front = in_front(view, axis)
    extent = front.shape[0]
    length = RunTime(recorder.constant(extent, INT), extent)
    assign(RunTimeArray(recorder, Memory(front, 0, 1), length, axis, front.shape[1:], view.dtype), value)
    if view.storage.root is not array.storage.root:  # an index array has made a copy
        array[key] = view


def elementwise(recorder: Recorder, ufunc: np.ufunc, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A ufunc on operands some of which are of a run-time length."""
    out, casting = options.get("out"), options.get("casting", "same_kind")
    known = {"dtype": options["dtype"]} if options.get("dtype") is not None else {}
    if ufunc.nout > 1 or options.get("where", True) is not True or ufunc.signature is not None:
        raise refused(recorder, f"calls numpy.{ufunc.__name__}, in this way, with")
    result = mapped(recorder, ufunc, operands, known)
    if out is None:
        return result
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast ufunc {ufunc.__name__!r} output from {result.dtype!r} to {out.dtype!r} with casting rule "
            f"{casting!r}"
        )
    if type(out) is RunTimeArray:
        if not out.become(result):
            assign(out, result)
    else:
        out[...] = result
    return out
