"""Sums, extremes and products along an axis of run-time length: loops over its elements."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..record.promotion import INT
from ..record.recorder import Recorder
from ..values.scalar_tracer import ScalarTracer
from .elements import Position, common_length, for_each, memory
from .run_time_arrays import RunTimeArray
from .run_time_elementwise import frozen_array, mapped
from .sources import Memory, Recipe
from .unmasked import masked_reduction
from .varying import refused


def itemwise(recorder: Recorder, array: RunTimeArray, function: Callable[[Any], Any], sample: Any) -> RunTimeArray:
    """`function` of each element; `sample` is what it gives, the axis stays the first."""
    source, dtype = array.frozen(), sample.dtype

    def compute(position: Position) -> Any:
        return recorder.result(recorder.value_of(function(position.of(source)), dtype))

    return RunTimeArray(recorder, Recipe(compute, (source,)), array.length, 0, sample.shape, dtype)


def gathered_up(recorder: Recorder, array: RunTimeArray, primitive: str, initial: Any, dtype: Any, label: str) -> Any:
    """The elements joined by a primitive, one after the other."""
    builder, source = recorder.builder, array.source
    total = memory(recorder, label, array.rest, dtype, initial)

    def step(position: Position) -> None:
        item = recorder.value_of(position.of(source), total.dtype)
        builder.store(total.whole, recorder.apply(primitive, builder.load(total.whole), item))

    for_each(recorder, array.length, step)
    return recorder.result(builder.load(total.whole))


def split_axes(recorder: Recorder, array: RunTimeArray, axis: Any) -> tuple[bool, Any]:
    """Whether a reduction is (also) over the axis of run-time length; the axis of the elements that it is over."""
    if axis is None:
        return True, None
    if not isinstance(axis, int | np.integer):
        raise refused(recorder, "reduces along several axes")
    where = axis + array.ndim if axis < 0 else int(axis)
    if not 0 <= where < array.ndim:
        raise np.exceptions.AxisError(int(axis), array.ndim)
    return where == array.axis, where - (where > array.axis)


def reduced(a: RunTimeArray, function: Any, axis: Any) -> Any:
    """A reduction by one of the functions in `REDUCTIONS`."""
    recorder = a.recorder
    along, inner = split_axes(recorder, a, axis)
    sample = function(np.ones((1, *a.rest), a.dtype), axis=0)
    primitive, initial = REDUCTIONS[function]
    if along and not a.rest and function in IN_VECTORS:
        found = masked_reduction(recorder, a, IN_VECTORS[function], initial(sample.dtype), sample.dtype)
        if found is not None:
            if function in (np.max, np.min):
                require_any(recorder, a)
            return found
    if function in (np.max, np.min) and along and not a.rest and a.length.most:
        source = a.frozen()  # by its index, so that the gradient needs no more than that
        return Position(extreme_at(a, better=np.greater if function is np.max else np.less), inside=False).of(source)
    if not along or (axis is None and a.rest):
        given = function(np.ones(a.rest, a.dtype), axis=inner)
        result = itemwise(recorder, a, lambda item: recorder.call(function, (item,), {"axis": inner}), given)
        if not along:
            result.axis = a.axis - (inner < a.axis)
            return result
        a, sample = result, given
    if function in (np.max, np.min):
        require_any(recorder, a)
    return gathered_up(recorder, a, primitive, initial(sample.dtype), sample.dtype, function.__name__)


def require_any(recorder: Recorder, a: RunTimeArray) -> None:
    """A guard that there is an element, as NumPy demands."""
    recorder.scopes.require_after(recorder.apply("greater", a.length.count, recorder.constant(0, INT)), "length")


def extreme_at(a: RunTimeArray, axis: Any = None, *, better: np.ufunc) -> Any:
    """The index of the largest or smallest element, the first that is better than those before."""
    recorder = a.recorder
    if a.rest:
        raise a.refused("asks for the largest row of")
    split_axes(recorder, a, axis)
    require_any(recorder, a)
    builder, source, worst = recorder.builder, a.source, lowest_of if better is np.greater else highest_of
    best = memory(recorder, "best", (), a.dtype, worst(a.dtype))
    where = memory(recorder, "index", (), INT, 0)
    name = "greater" if better is np.greater else "less"

    def step(position: Position) -> None:
        item, old = recorder.value_of(position.of(source)), builder.load(best.whole)
        takes = recorder.apply(name, item, old)
        if a.dtype.kind == "f":  # nan wins, the first one
            nan = recorder.apply("not_equal", item, item)
            takes = recorder.apply(
                "logical_or", takes, recorder.apply("logical_and", nan, recorder.apply("equal", old, old))
            )
        here = recorder.value_of(position.index, INT)
        builder.store(where.whole, recorder.apply("where", takes, here, builder.load(where.whole)))
        builder.store(best.whole, recorder.apply("where", takes, item, old))

    for_each(recorder, a.length, step)
    return ScalarTracer(recorder, builder.load(where.whole))


argmax = functools.partial(extreme_at, better=np.greater)
argmin = functools.partial(extreme_at, better=np.less)


def lowest_of(dtype: np.dtype) -> Any:
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def highest_of(dtype: np.dtype) -> Any:
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


def cumulated_product(a: RunTimeArray, axis: Any = None) -> Any:
    """`numpy.cumprod`."""
    return cumulated(a, axis, "multiply", 1)


def largest_so_far(recorder: Recorder, a: RunTimeArray, axis: Any = 0) -> Any:
    """`numpy.maximum.accumulate`."""
    return cumulated(a, axis, "maximum", lowest_of(a.dtype), a.dtype)


def smallest_so_far(recorder: Recorder, a: RunTimeArray, axis: Any = 0) -> Any:
    """`numpy.minimum.accumulate`."""
    return cumulated(a, axis, "minimum", highest_of(a.dtype), a.dtype)


def cumulated(
    a: RunTimeArray, axis: Any = None, primitive: str = "add", first: Any = 0, dtype: np.dtype | None = None
) -> Any:
    """`numpy.cumsum`, or with another operation what that makes of all up to each element."""
    recorder = a.recorder
    if a.rest:
        raise a.refused("sums up the rows of")
    split_axes(recorder, a, axis)
    dtype = dtype or np.cumsum(np.ones(1, a.dtype)).dtype
    builder, source = recorder.builder, a.source
    total = memory(recorder, "total", (), dtype, first)

    def compute(position: Position) -> Any:
        item = recorder.value_of(position.of(source), dtype)
        builder.store(total.whole, recorder.apply(primitive, builder.load(total.whole), item))
        return recorder.result(builder.load(total.whole))

    stored = RunTimeArray(recorder, Recipe(compute, ()), a.length, 0, (), dtype)
    stored.in_memory()
    return stored


def run_time_product(recorder: Recorder, a: Any, b: Any) -> Any:
    left, right = np.ndim(a), np.ndim(b)
    if not (1 <= left <= 2 and 1 <= right <= 2):
        raise refused(recorder, "multiplies, with this number of axes,")
    a_along = type(a) is RunTimeArray and a.axis == left - 1
    b_along = type(b) is RunTimeArray and b.axis == 0
    if a_along or b_along:
        return _contracted(recorder, factor(recorder, a, left - 1), factor(recorder, b, 0))
    if type(a) is RunTimeArray and type(b) is RunTimeArray:
        raise refused(recorder, "makes a matrix of")
    if type(a) is RunTimeArray:
        other = factor(recorder, b, 0)
        sample = np.matmul(np.ones(a.rest, a.dtype), np.ones(other.shape, other.dtype))
        return itemwise(recorder, a, lambda row: row @ other, np.asarray(sample))
    other = frozen_array(recorder, a)
    sample = np.matmul(np.ones(other.shape, other.dtype), np.ones(b.rest, b.dtype))
    found = itemwise(recorder, b, lambda column: other @ column, np.asarray(sample))
    found.axis = len(found.rest)
    return found


def factor(recorder: Recorder, array: Any, axis: int) -> Any:
    """A factor of a product: as it is now, where it is not of a run-time length with this axis in front."""
    if type(array) is RunTimeArray:
        if array.axis != axis:
            raise refused(recorder, "makes a matrix of")
        return array
    array = frozen_array(recorder, array)
    return array.T if axis else array


def _contracted(recorder: Recorder, a: Any, b: Any) -> Any:
    """The sum over the first axis of both, of products of all else."""
    if type(a) is type(b) is RunTimeArray and not (a.rest or b.rest) and np.result_type(a.dtype, b.dtype).kind == "f":
        terms = mapped(recorder, np.multiply, (a, b), {})
        if terms.unmasked is not None:
            return recorder.call(np.sum, (terms,), {})
    sources = tuple(part.frozen() if type(part) is RunTimeArray else Memory(part, 0, 1) for part in (a, b))
    shapes = [part.rest if type(part) is RunTimeArray else part.shape[1:] for part in (a, b)]
    length = common_length(recorder, [p.length if type(p) is RunTimeArray else p.shape[0] for p in (a, b)])
    dtype = np.result_type(a.dtype, b.dtype)

    def compute(position: Position) -> Any:
        x, y = (position.of(source) for source in sources)
        found = x[:, None] * y if all(shapes) else x * y
        return recorder.result(recorder.value_of(found, dtype))

    terms = RunTimeArray(recorder, Recipe(compute, sources), length, 0, (*shapes[0], *shapes[1]), dtype)
    return gathered_up(recorder, terms, "logical_or" if dtype.kind == "b" else "add", 0, dtype, "product")


def run_time_outer(recorder: Recorder, a: Any, b: Any) -> Any:
    if np.ndim(a) != 1 or np.ndim(b) != 1 or (type(a) is RunTimeArray and type(b) is RunTimeArray):
        raise refused(recorder, "makes a matrix of")
    along, other = (a, b) if type(a) is RunTimeArray else (b, a)
    other = factor(recorder, other, 0)
    found = itemwise(
        recorder, along, lambda item: item * other, np.ones(1, along.dtype) * np.ones(other.shape, other.dtype)
    )
    found.axis = 0 if along is a else 1
    return found


def run_time_like(a: RunTimeArray, number: float, dtype: Any) -> Any:
    item = np.full(a.rest, number, dtype)[()]
    found = RunTimeArray(a.recorder, Recipe(lambda position: item, ()), a.length, a.axis, a.rest, dtype)
    found.in_memory()
    return found


# The primitive that joins elements, and what it begins with.
REDUCTIONS: dict[Any, tuple[str, Callable[[np.dtype], Any]]] = {
    np.sum: ("add", lambda dtype: 0),
    np.prod: ("multiply", lambda dtype: 1),
    np.any: ("logical_or", lambda dtype: False),
    np.all: ("logical_and", lambda dtype: True),
    np.max: ("maximum", lowest_of),
    np.min: ("minimum", highest_of),
}
# Those of what a mask has chosen, which are reductions of all elements.
IN_VECTORS = {
    np.sum: "reduce_sum", np.max: "reduce_max", np.min: "reduce_min", np.any: "reduce_any", np.all: "reduce_all",
}  # fmt: skip
