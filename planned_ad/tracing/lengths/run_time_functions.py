"""NumPy's functions on arrays of a run-time length: elementwise ones as recipes, reductions as loops over elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tape.guards import STRETCHES
from ..record.promotion import INT, KINDS
from ..values.loop_index import LoopIndex, plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .elements import Length, Position, common_length, for_each, memory, refused, stretched_length
from .run_time_arrays import Memory, Other, Recipe, RunTimeArray, snapshot

if TYPE_CHECKING:
    from ..record.recorder import Recorder


class Fixed:
    """The same for all elements."""

    def __init__(self, item: Any):
        self.item = item

    def at(self, position: Position) -> Any:
        return self.item

    def reads(self, storage: Any) -> tuple[()]:
        return ()


def has_run_time(recorder: Recorder, items: Any) -> bool:
    """Whether an array of a run-time length is among arguments."""
    return any(
        recorder.is_run_time(item) or (type(item) in (list, tuple) and has_run_time(recorder, item)) for item in items
    )


def call(recorder: Recorder, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy on arrays of a run-time length."""
    name = getattr(function, "__name__", str(function))
    if function in ELEMENTWISE and not has_run_time(recorder, kwargs.values()):
        return mapped(recorder, function, args, kwargs)
    implementation = FUNCTIONS.get(function)
    if implementation is None or any(type(item) in (list, tuple) and has_run_time(recorder, item) for item in args):
        raise refused(recorder, f"calls numpy.{name} with")
    try:
        return implementation(recorder, *args, **kwargs)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise refused(recorder, f"calls numpy.{name} in another way than usual with") from None


# Elementwise.


def mapped(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunTimeArray:
    """`function(*args, **kwargs)` for a function of elements."""
    from ..values.elementwise import elementwise

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

    return RunTimeArray(recorder, Recipe(compute, sources), length, len(rest) + 1 - axis, rest, dtype)


class Stretched:
    """The only element of a source, or, unless `single`, the one at each position."""

    def __init__(self, recorder: Recorder, source: Any, length: Length):
        one = recorder.constant(1, INT)
        self.recorder, self.source = recorder, source
        self.single = recorder.apply("equal", length.count, one)

    def at(self, position: Position) -> Any:
        recorder, index = self.recorder, self.recorder.value_of(plain_or_traced(position.index), INT)
        index = recorder.apply("where", self.single, recorder.constant(0, INT), index)
        return Position(ScalarTracer(recorder, index, is_python=True), position.inside).of(self.source)

    def reads(self, storage: Any) -> Iterator[None]:
        return Other(self.source).reads(storage)


def operand_of(
    recorder: Recorder, args: tuple[Any, ...], into: Length | None = None
) -> tuple[list[tuple[Any, tuple[int, ...]]], Length, int]:
    """Of each operand a source and the shape of its elements; their length; its axis, counted from the end from 1.

    `into`: the length of the first one, which the others are assigned to. Lengths that differ are taken to be an error
    until a run of the program shows otherwise; where one is 1, the next trace is for any that go together.
    """
    found = {arg.ndim - arg.axis for arg in args if recorder.is_run_time(arg)}
    if len(found) > 1:
        raise refused(recorder, "broadcasts, along two axes,")
    (axis,) = found
    lengths: list[Length | int] = []
    parts: list[Any] = []
    for arg in args:
        if recorder.is_run_time(arg):
            lengths.append(arg.length)
            parts.append((arg.frozen(), arg.rest))
            continue
        if not np.ndim(arg) or type(arg) is LoopIndex:
            parts.append((Fixed(arg.traced() if type(arg) is LoopIndex else arg), ()))
            continue
        array = snapshot(arg) if recorder.is_array(arg) else recorder.array(recorder.value_of(arg))
        if array.ndim < axis:
            parts.append((Fixed(array), array.shape))
            continue
        where = array.ndim - axis
        front = array.transpose([where, *(k for k in range(array.ndim) if k != where)])
        if front.shape[0] == 1:
            item = front[0]
            parts.append((Fixed(item), front.shape[1:]))
        else:
            lengths.append(front.shape[0])
            parts.append((Memory(front, 0, 1), front.shape[1:]))
    if recorder.builder.line not in recorder.scopes.decisions.stretched:
        return parts, common_length(recorder, lengths, STRETCHES), axis
    for k, (arg, (source, shape)) in enumerate(zip(args, parts)):
        if recorder.is_run_time(arg) and arg.length is not into:
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


def itemwise(recorder: Recorder, array: RunTimeArray, function: Callable[[Any], Any], sample: Any) -> RunTimeArray:
    """`function` of each element; `sample` is what it gives, the axis stays the first."""
    source, dtype = array.frozen(), sample.dtype

    def compute(position: Position) -> Any:
        return recorder.result(recorder.value_of(function(position.of(source)), dtype))

    return RunTimeArray(recorder, Recipe(compute, (source,)), array.length, 0, sample.shape, dtype)


# Reductions.


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


def reduction(function: Any, primitive: str, initial: Callable[[np.dtype], Any]) -> Callable[..., Any]:
    def reduced(recorder: Recorder, a: Any, axis: Any = None) -> Any:
        along, inner = split_axes(recorder, a, axis)
        sample = function(np.ones((1, *a.rest), a.dtype), axis=0)
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

    return reduced


def require_any(recorder: Recorder, a: RunTimeArray) -> None:
    """A guard that there is an element, as NumPy demands."""
    recorder.scopes.require_after(recorder.apply("greater", a.length.count, recorder.constant(0, INT)), "length")


def extreme(function: Any, primitive: str, lowest: Callable[[np.dtype], Any]) -> Callable[..., Any]:
    """The largest or smallest element: found by its index, so that the gradient needs no more than that."""
    general = reduction(function, primitive, lowest)

    def reduced(recorder: Recorder, a: Any, axis: Any = None) -> Any:
        along, _ = split_axes(recorder, a, axis)
        if a.rest or not along or not a.length.most:
            return general(recorder, a, axis)
        source = a.frozen()
        index = position_of_extreme(recorder, a, np.greater if function is np.max else np.less)
        return Position(index, inside=False).of(source)

    return reduced


def position_of_extreme(recorder: Recorder, a: RunTimeArray, better: Any) -> Any:
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


def _index_of(better: Any) -> Callable[..., Any]:
    def found(recorder: Recorder, a: Any, axis: Any = None) -> Any:
        if a.rest:
            raise refused(recorder, "asks for the largest row of")
        split_axes(recorder, a, axis)
        return position_of_extreme(recorder, a, better)

    return found


def lowest_of(dtype: np.dtype) -> Any:
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def highest_of(dtype: np.dtype) -> Any:
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


_sum = reduction(np.sum, "add", lambda dtype: 0)


def _mean(recorder: Recorder, a: Any, axis: Any = None) -> Any:
    along, inner = split_axes(recorder, a, axis)
    if not along:
        return _sum(recorder, a, axis) / a.rest[inner]
    total = _sum(recorder, a, axis)
    count = ScalarTracer(recorder, a.length.count, is_python=True)
    for n in a.rest if axis is None else ():
        count = count * n
    return total / count


def _variance(recorder: Recorder, a: Any, axis: Any = None, ddof: Any = 0) -> Any:
    if a.rest:
        raise refused(recorder, "asks for the variance of the rows of")
    split_axes(recorder, a, axis)
    gap = a - _mean(recorder, a)
    return _sum(recorder, gap * gap) / (ScalarTracer(recorder, a.length.count, is_python=True) - ddof)


def _deviation(recorder: Recorder, a: Any, axis: Any = None, ddof: Any = 0) -> Any:
    variance = _variance(recorder, a, axis, ddof)
    if not ddof < 1:
        return np.sqrt(variance)
    single = ScalarTracer(recorder, a.length.count, is_python=True) == 1  # of which there is none, with derivative zero
    return np.where(single, _sum(recorder, a - _mean(recorder, a)), np.sqrt(np.where(single, 1.0, variance)))


def _cumulated(recorder: Recorder, a: Any, axis: Any = None) -> Any:
    if a.rest:
        raise refused(recorder, "sums up the rows of")
    split_axes(recorder, a, axis)
    dtype = np.cumsum(np.ones(1, a.dtype)).dtype
    builder, source = recorder.builder, a.source
    total = memory(recorder, "total", (), dtype, 0)

    def compute(position: Position) -> Any:
        item = recorder.value_of(position.of(source), dtype)
        builder.store(total.whole, recorder.apply("add", builder.load(total.whole), item))
        return recorder.result(builder.load(total.whole))

    stored = RunTimeArray(recorder, Recipe(compute, ()), a.length, 0, (), dtype)
    stored.in_memory()
    return stored


def _norm(recorder: Recorder, a: Any) -> Any:
    return np.sqrt(_sum(recorder, a * a))


# Products.


def _product(recorder: Recorder, a: Any, b: Any) -> Any:
    left, right = np.ndim(a), np.ndim(b)
    if not (1 <= left <= 2 and 1 <= right <= 2):
        raise refused(recorder, "multiplies, with this number of axes,")
    a_along = recorder.is_run_time(a) and a.axis == left - 1
    b_along = recorder.is_run_time(b) and b.axis == 0
    if a_along or b_along:
        return _contracted(recorder, factor(recorder, a, left - 1), factor(recorder, b, 0))
    if recorder.is_run_time(a) and recorder.is_run_time(b):
        raise refused(recorder, "makes a matrix of")
    if recorder.is_run_time(a):
        other = factor(recorder, b, 0)
        sample = np.matmul(np.ones(a.rest, a.dtype), np.ones(other.shape, other.dtype))
        return itemwise(recorder, a, lambda row: row @ other, np.asarray(sample))
    other = snapshot(a) if recorder.is_array(a) else recorder.array(recorder.value_of(a))
    sample = np.matmul(np.ones(other.shape, other.dtype), np.ones(b.rest, b.dtype))
    found = itemwise(recorder, b, lambda column: other @ column, np.asarray(sample))
    found.axis = len(found.rest)
    return found


def factor(recorder: Recorder, array: Any, axis: int) -> Any:
    """A factor of a product: as it is now, where it is not of a run-time length with this axis in front."""
    if recorder.is_run_time(array):
        if array.axis != axis:
            raise refused(recorder, "makes a matrix of")
        return array
    array = snapshot(array) if recorder.is_array(array) else recorder.array(recorder.value_of(array))
    return array.T if axis else array


def _contracted(recorder: Recorder, a: Any, b: Any) -> Any:
    """The sum over the first axis of both, of products of all else."""
    sources = tuple(part.frozen() if recorder.is_run_time(part) else Memory(part, 0, 1) for part in (a, b))
    shapes = [part.rest if recorder.is_run_time(part) else part.shape[1:] for part in (a, b)]
    length = common_length(recorder, [p.length if recorder.is_run_time(p) else p.shape[0] for p in (a, b)])
    dtype = np.result_type(a.dtype, b.dtype)

    def compute(position: Position) -> Any:
        x, y = (position.of(source) for source in sources)
        found = x[:, None] * y if all(shapes) else x * y
        return recorder.result(recorder.value_of(found, dtype))

    terms = RunTimeArray(recorder, Recipe(compute, sources), length, 0, (*shapes[0], *shapes[1]), dtype)
    return gathered_up(recorder, terms, "logical_or" if dtype.kind == "b" else "add", 0, dtype, "product")


def _inner(recorder: Recorder, a: Any, b: Any) -> Any:
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        raise refused(recorder, "multiplies, with this number of axes,")
    return _product(recorder, a, b)


def _outer(recorder: Recorder, a: Any, b: Any) -> Any:
    if np.ndim(a) != 1 or np.ndim(b) != 1 or (recorder.is_run_time(a) and recorder.is_run_time(b)):
        raise refused(recorder, "makes a matrix of")
    along, other = (a, b) if recorder.is_run_time(a) else (b, a)
    other = factor(recorder, other, 0)
    found = itemwise(
        recorder, along, lambda item: item * other, np.ones(1, along.dtype) * np.ones(other.shape, other.dtype)
    )
    found.axis = 0 if along is a else 1
    return found


def _difference(recorder: Recorder, a: Any) -> Any:
    if a.ndim != 1:
        raise refused(recorder, "takes differences of the rows of")
    return a[1:] - a[:-1]


def _like(number: float) -> Callable[..., Any]:
    def made(recorder: Recorder, a: Any, dtype: Any = None) -> Any:
        dtype = a.dtype if dtype is None else np.dtype(dtype)
        item = np.full(a.rest, number, dtype)[()]
        found = RunTimeArray(recorder, Recipe(lambda position: item, ()), a.length, a.axis, a.rest, dtype)
        found.in_memory()
        return found

    return made


ELEMENTWISE = (np.where, np.clip, np.round, np.nan_to_num, np.real, np.isclose)
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _sum,
    np.prod: reduction(np.prod, "multiply", lambda dtype: 1),
    np.any: reduction(np.any, "logical_or", lambda dtype: False),
    np.all: reduction(np.all, "logical_and", lambda dtype: True),
    np.max: extreme(np.max, "maximum", lowest_of), np.amax: extreme(np.max, "maximum", lowest_of),
    np.min: extreme(np.min, "minimum", highest_of), np.amin: extreme(np.min, "minimum", highest_of),
    np.argmax: _index_of(np.greater), np.argmin: _index_of(np.less),
    np.mean: _mean, np.var: _variance, np.std: _deviation, np.cumsum: _cumulated, np.linalg.norm: _norm,
    np.dot: _product, np.matmul: _product, np.inner: _inner, np.vdot: _inner, np.outer: _outer,
    np.diff: _difference, np.copy: lambda recorder, a: a.copy(), np.shape: lambda recorder, a: a.shape,
    np.size: lambda recorder, a: a.size, np.ndim: lambda recorder, a: a.ndim,
    np.flip: lambda recorder, a: a[::-1] if a.ndim == 1 else None,
    np.zeros_like: _like(0.0), np.ones_like: _like(1.0), np.empty_like: _like(0.0),
}  # fmt: skip
