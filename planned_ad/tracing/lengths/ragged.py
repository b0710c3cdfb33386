"""Arrays whose extents differ between the iterations of a loop: `A[i, :i]`, and what is computed from them.

They are values with ragged axes on the tape, laid out by the most that an extent may be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ...python.source import Line
from ...regions.affine import Affine, Extent, Ragged, affine, exact, ragged
from ...regions.regions import Region, View, contiguous
from ...tape.tape import Buffer, Value
from ..numpy_functions.contraction import pair
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..record.recording import Recording
from ..record.storage import ShiftedStorage, Storage
from ..record.traced import TRACERS
from ..values.elementwise import record_ufunc
from ..values.loop_index import expression_of, index_of, is_loop_index
from ..values.scalar_tracer import ScalarTracer
from .varying import MOVED, VaryingArray, refused


class RaggedStorage(Storage):
    """Fresh memory for a value with ragged axes; laid out by their capacities."""

    __slots__ = ("own",)

    def __init__(self, line: Line, value: Value, depth: int):
        capacity = tuple(int(n) for n in value.shape)
        super().__init__(np.empty(capacity, value.dtype), line, value=value, depth=depth)
        self.own = contiguous(value.shape)

    def _read(self, recorder: Recording, view: View, geometry: Any) -> Value:
        if self.buffer is not None:
            return recorder.builder.load(Region(self.buffer.id, view))
        assert self.value is not None
        return self.value if view == self.own else recorder.builder.view(self.value, view)

    def writable_buffer(self, recorder: Recording) -> Buffer:
        if self.buffer is None:
            builder = recorder.builder
            assert self.value is not None
            recorder.scopes.promote(self.depth)
            with recorder.scopes.before(self.depth):
                self.buffer = builder.new_buffer("local", self.label(), self.base.dtype, contiguous(self.base.shape))
                builder.store(Region(self.buffer.id, self.own), self.value)
            self.value = None
        return self.buffer


class RaggedArray(VaryingArray):
    """The array that `view`, some of whose extents are `Ragged`, shows of memory."""

    __slots__ = ("recorder", "storage", "view")

    def __init__(self, recorder: Recorder, storage: Storage, view: View):
        self.recorder = recorder
        self.storage = storage.memory if isinstance(storage, ShiftedStorage) else storage
        self.view = view

    @property
    def layout(self) -> View:
        return self.view

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.storage.base.dtype

    @property
    def ndim(self) -> int:  # type: ignore[override]
        return len(self.view.shape)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(length_of_axis(self.recorder, exact(n)) for n in self.view.shape)

    @property
    def T(self) -> RaggedArray:
        return RaggedArray(
            self.recorder, self.storage, View(self.view.offset, self.view.shape[::-1], self.view.strides[::-1])
        )

    def operand(self) -> tuple[Any, tuple[int, ...], bool]:
        return self.dtype, self.view.shape, False

    def storages(self) -> Iterator[Storage]:
        yield self.storage

    def read(self) -> Value:
        return self.storage.read(self.recorder, self.view, None)  # type: ignore[arg-type]

    def write(self, value: Value) -> None:
        recorder = self.recorder
        self.storage.check_writeable(self.storage.base, recorder.builder.line)
        value = recorder.builder.cast(value, self.dtype)
        if value.shape not in ((), self.view.shape):
            value = recorder.builder.broadcast(value, self.view.shape)
        self.storage.write(recorder, self.view, value)

    def copy(self, order: Any = "C") -> RaggedArray:
        self.recorder.mark()
        return fresh(self.recorder, self.read())

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> RaggedArray:
        self.recorder.mark()
        return fresh(self.recorder, self.recorder.builder.cast(self.read(), np.dtype(dtype)))

    def __iter__(self) -> Iterator[Any]:
        return self.recorder.flow.iterate(self.view.shape[0], self.__getitem__)


def length_of_axis(recorder: Recorder, expression: Extent) -> Any:
    """How many elements an axis has: 0 in iterations where the expression is less."""
    length, (low, high) = index_of(recorder, expression), recorder.scopes.bounds(expression)
    if low >= 0:
        return length
    zero = recorder.constant(0, INT)
    value = recorder.apply("maximum", recorder.value_of(length, INT), zero)
    recorder.builder.limits.note(value, 0, max(high, 0))
    return ScalarTracer(recorder, value, is_python=True)


def fresh(recorder: Recorder, value: Value) -> RaggedArray:
    """A fresh array, some of whose extents differ between the iterations of the loops around."""
    storage = RaggedStorage(recorder.builder.line, value, recorder.scopes.depth)
    storage.born(recorder)
    return RaggedArray(recorder, storage, storage.own)


TRACERS.in_parts = fresh


def seen(array: Any, view: View) -> Any:
    """The array that `view`, whose place and extents loops may move, shows of the memory of `array`."""
    recorder, storage = array.recorder, array.storage
    if any(isinstance(n, Ragged) for n in view.shape):
        return RaggedArray(recorder, storage, view)
    memory = storage.memory if type(storage) is ShiftedStorage else storage
    if isinstance(view.offset, int):
        return recorder.array_at(memory, memory.geometry_of(view))
    lowest = recorder.scopes.bounds(view.offset)[0]  # some place where such a view lies
    shift = view.offset - lowest
    assert isinstance(shift, Affine)
    geometry = memory.geometry_of(View(lowest, view.shape, view.strides))
    return recorder.array_at(ShiftedStorage(memory, recorder.builder.line, shift), geometry)


def flipped(view: View, axes: tuple[int, ...]) -> View:
    """The view with these axes reversed."""
    offset: Extent = view.offset
    strides = list(view.strides)
    for axis in axes:
        offset = offset + (exact(view.shape[axis]) - 1) * strides[axis]
        strides[axis] = -strides[axis]
    return View(offset, view.shape, tuple(strides))


# What the table of functions is made of.


def reduced(a: RaggedArray, function: Any, axis: Any) -> Any:
    recorder, value = a.recorder, a.read()
    primitive = {np.sum: "reduce_sum", np.max: "reduce_max", np.min: "reduce_min"}.get(function)
    primitive = {np.any: "reduce_any", np.all: "reduce_all"}.get(function, primitive)
    if primitive is None:
        raise a.refused(f"calls {function.__name__} with")
    if value.dtype.kind == "b" and function is np.sum:
        value = recorder.builder.cast(value, np.dtype(np.int64))
    axes = tuple(range(a.ndim)) if axis is None else (int(axis) % a.ndim,)
    return recorder.result(recorder.apply(primitive, value, axes=axes))


def ragged_product(recorder: Recorder, a: Any, b: Any) -> Any:
    x, y = _of_one_type(recorder, a, b)
    left, right = len(x.shape), len(y.shape)
    if not 1 <= left <= 2 or not 1 <= right <= 2:
        raise refused(recorder, "multiplies, with this number of axes,", MOVED)
    x_labels = ("k",) if left == 1 else ("i", "k")
    y_labels = ("k",) if right == 1 else ("k", "j")
    if x.shape[-1] != y.shape[0]:
        raise refused(recorder, "multiplies by another length than its own", MOVED)
    out = tuple(label for label in (*x_labels, *y_labels) if label != "k")
    return recorder.result(pair(recorder, x, x_labels, y, y_labels, out))


def ragged_outer(recorder: Recorder, a: Any, b: Any) -> Any:
    x, y = _of_one_type(recorder, a, b)
    return recorder.result(pair(recorder, x, ("i",), y, ("j",), ("i", "j")))


def _of_one_type(recorder: Recorder, a: Any, b: Any) -> tuple[Value, Value]:
    dtype = recorder.result_type(a, b)
    return recorder.value_of(a, dtype), recorder.value_of(b, dtype)


def flip(a: RaggedArray, axis: Any = None) -> RaggedArray:
    axes = tuple(range(a.ndim)) if axis is None else (int(axis) % a.ndim,)
    return RaggedArray(a.recorder, a.storage, flipped(a.view, axes))


def where(recorder: Recorder, condition: Any, a: Any, b: Any) -> Any:
    condition, a, b = operands = with_first_lengths(recorder, (condition, a, b))
    if not any(type(item) is RaggedArray for item in operands):
        return recorder.call(np.where, operands, {})
    values = [recorder.value_of(condition, np.bool_), *_of_one_type(recorder, a, b)]
    shape = common_shape([v.shape for v in values], recorder)
    return recorder.result(
        recorder.apply("where", *(v if not v.shape else recorder.builder.broadcast(v, shape) for v in values))
    )


def filled(recorder: Recorder, shape: tuple[int, ...], number: float, dtype: Any) -> Any:
    """A fresh ragged array of one number."""
    return fresh(recorder, recorder.builder.broadcast(recorder.constant(number, np.dtype(dtype)), shape))


def ragged_like(a: RaggedArray, number: float, dtype: Any) -> Any:
    return filled(a.recorder, a.view.shape, number, dtype)


def with_first_lengths(recorder: Recorder, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Beside a known length, in the first pass over a loop's body: what has that length in the first iteration.

    The other one may turn out to move as well, when it is handed on. There is another pass in which it has to.
    """
    shapes = [item.view.shape if type(item) is RaggedArray else getattr(item, "shape", ()) for item in operands]
    rank = max(map(len, shapes))
    columns = [{s[k - rank + len(s)] for s in shapes if k - rank + len(s) >= 0} - {1} for k in range(rank)]
    if all(len(extents) < 2 for extents in columns):
        return operands
    moving = {index for extents in columns for n in extents if isinstance(n, Ragged) for index, _ in n.expression.terms}
    loops = [scope.loop for scope in recorder.scopes.open if scope.index in moving and scope.loop is not None]
    if len(loops) < len(moving) or any(loop.passes > 1 for loop in loops):
        return operands
    first = {n: n.expression.constant if isinstance(n, Ragged) else n for extents in columns for n in extents}
    if any(len({first[n] for n in extents}) > 1 for extents in columns):
        return operands
    for loop in loops:
        loop.branches.restate()
    return tuple(
        recorder.empty(tuple(first.get(n, n) for n in item.view.shape), item.dtype)
        if type(item) is RaggedArray
        else item
        for item in operands
    )


def elementwise(recorder: Recorder, ufunc: np.ufunc, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A ufunc of arrays with ragged extents."""
    out = options.pop("out", None)
    if out is not None and options.get("where", True) is not True:
        raise refused(recorder, f"calls {ufunc.__name__}, in this way, with", MOVED)
    operands = with_first_lengths(recorder, operands) if out is None else operands
    if out is None and not any(type(item) is RaggedArray for item in operands):
        return record_ufunc(recorder, ufunc, operands, **options)
    result = record_ufunc(recorder, ufunc, operands, common=lambda shapes: common_shape(shapes, recorder), **options)
    if out is None:
        return result
    if type(out) is not RaggedArray or not np.can_cast(result.dtype, out.dtype, options.get("casting", "same_kind")):
        raise recorder.unsupported(ufunc)
    out.write(recorder.value_of(result))
    return out


def common_shape(shapes: list[tuple[int, ...]], recorder: Recorder) -> tuple[int, ...]:
    """What shapes with ragged extents broadcast to."""
    rank = max(map(len, shapes))
    found: list[int] = []
    for k in range(rank):
        extents = {s[k - rank + len(s)] for s in shapes if k - rank + len(s) >= 0} - {1}
        if len(extents) > 1:
            raise refused(recorder, "combines with another length", MOVED)
        found.append(extents.pop() if extents else 1)
    return tuple(found)


def maker(number: float) -> Any:
    """`numpy.zeros` and the like, for a shape with loop indices in it."""

    def made(recorder: Recorder, shape: Any, dtype: Any = float) -> Any:
        extents = shape if isinstance(shape, tuple | list) else (shape,)
        found: list[int] = []
        for n in extents:
            if is_loop_index(n):
                found.append(Ragged(recorder.scopes.capacity(n.expression), n.expression))
            else:
                found.append(int(n))
        return filled(recorder, tuple(found), number, dtype)

    return made


def places_below(recorder: Recorder, extent: int) -> Any:
    """The integers below an extent, in order."""
    return seen(recorder.concrete(np.arange(int(extent))), View(0, (extent,), (1,)))


def ranged(recorder: Recorder, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """`numpy.arange` for bounds that are loop indices, where all of these change the length by whole numbers."""
    start, stop = (0, start) if stop is None else (start, stop)
    first, end = expression_of(start), expression_of(stop)
    length = None
    if first is not None and end is not None and isinstance(step, int | float) and step == step and step:
        length = steps_within(end - first, step)
    if length is None or recorder.scopes.bounds(length)[0] < 0 or dtype not in (None, int, np.int64, float):
        raise refused(recorder, "makes, with such a step or type,", MOVED)
    places = places_below(recorder, ragged(recorder.scopes.capacity(length), length))
    found = places * step + start if step == int(step) else places * ((start + step) - start) + start
    return found if dtype is None else found.astype(dtype)


def steps_within(span: Extent, step: float) -> Extent | None:
    """How many steps there are below a span; None where that is no expression of the indices, to the last bit."""
    if isinstance(span, int):
        return math.ceil(span / step)
    exact_step = Fraction(step)
    each = [(index, coefficient / exact_step) for index, coefficient in span.terms]
    if exact_step.denominator > FINEST or any(number.denominator > 1 for _, number in each):
        return None
    return affine(math.ceil(span.constant / exact_step), {index: int(number) for index, number in each})


FINEST = 1 << 20  # parts of one of which a step may be
MAKERS: dict[Any, Any] = {np.arange: ranged, np.zeros: maker(0.0), np.ones: maker(1.0), np.empty: maker(0.0)}
