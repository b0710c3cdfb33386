"""Arrays whose extents differ between the iterations of a loop: `A[i, :i]`, and what is computed from them.

They are a short list of what such arrays are used for: elementwise arithmetic, sums and products over them, slices of
them, and assignment. Whatever else is asked of them unrolls the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.source import Line
from ...regions.affine import Extent, Ragged, exact
from ...regions.regions import Region, View, contiguous
from ...tape.tape import Buffer, Value
from ..record.conversions import NoNumbers
from ..record.storage import ShiftedStorage, Storage
from ..values.advanced import fitting
from ..values.loop_index import index_of, is_loop_index
from ..values.operators import Operators
from .moving_keys import place, split

if TYPE_CHECKING:
    from ..record.recorder import Recorder


class RaggedStorage(Storage):
    """Fresh memory for a value with ragged axes; laid out by their capacities."""

    __slots__ = ("own",)

    def __init__(self, line: Line, value: Value, depth: int):
        capacity = tuple(int(n) for n in value.shape)
        super().__init__(np.empty(capacity, value.dtype), line, value=value, depth=depth)
        self.own = contiguous(value.shape)

    def _read(self, recorder: Recorder, view: View, geometry: Any) -> Value:
        if self.buffer is not None:
            return recorder.builder.load(Region(self.buffer.id, view))
        assert self.value is not None
        return self.value if view == self.own else recorder.builder.view(self.value, view)

    def writable_buffer(self, recorder: Recorder) -> Buffer:
        if self.buffer is None:
            builder = recorder.builder
            assert self.value is not None
            recorder.scopes.promote(self.depth)
            with recorder.scopes.before(self.depth):
                self.buffer = builder.new_buffer("local", self.label(), self.base.dtype, contiguous(self.base.shape))
                builder.store(Region(self.buffer.id, self.own), self.value)
            self.value = None
        return self.buffer


class RaggedArray(NoNumbers, Operators):
    """The array that `view`, some of whose extents are `Ragged`, shows of memory."""

    __slots__ = ("recorder", "storage", "view")

    def __init__(self, recorder: Recorder, storage: Storage, view: View):
        self.recorder = recorder
        self.storage = storage.memory if isinstance(storage, ShiftedStorage) else storage
        self.view = view

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray

    @property
    def layout(self) -> View:
        return self.view

    @property
    def dtype(self) -> np.dtype:
        return self.storage.base.dtype

    @property
    def ndim(self) -> int:
        return len(self.view.shape)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(index_of(self.recorder, exact(n)) for n in self.view.shape)

    @property
    def size(self) -> Any:
        total: Any = 1
        for n in self.shape:
            total = n * total
        return total

    @property
    def T(self) -> RaggedArray:
        return RaggedArray(self.recorder, self.storage, transposed(self.view))

    def read(self) -> Value:
        """What the array holds now."""
        return self.storage.read(self.recorder, self.view, None)  # type: ignore[arg-type]

    def write(self, value: Value) -> None:
        recorder = self.recorder
        self.storage.check_writeable(self.storage.base, recorder.builder.line)
        value = recorder.builder.cast(value, self.dtype)
        if value.shape not in ((), self.view.shape):
            value = recorder.builder.broadcast(value, self.view.shape)
        self.storage.writable_buffer(recorder)
        self.storage.write(recorder, self.view, value)

    def copy(self, order: Any = "C") -> RaggedArray:
        self.recorder.mark()
        return self.recorder.ragged(self.read())

    __copy__ = copy

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> RaggedArray:
        self.recorder.mark()
        return self.recorder.ragged(self.recorder.builder.cast(self.read(), np.dtype(dtype)))

    def fill(self, value: Any) -> None:
        self[...] = value

    def __getitem__(self, key: Any) -> Any:
        recorder = self.recorder
        recorder.mark()
        offset = place(self, key)
        if offset is not None:
            return recorder.result(self.storage.read(recorder, offset, None))  # type: ignore[arg-type]
        view, rest = split(self, key)
        if rest is not None:
            raise refused(recorder, "indexes with traced values in")
        return view

    def __setitem__(self, key: Any, value: Any) -> None:
        recorder = self.recorder
        recorder.mark()
        offset = place(self, key)
        if offset is not None:
            self.storage.check_writeable(self.storage.base, recorder.builder.line)
            self.storage.writable_buffer(recorder)
            self.storage.write(recorder, offset, fitting(recorder, value, self.dtype, ()))
            return
        target, rest = split(self, key)
        if rest is not None:
            raise refused(recorder, "indexes with traced values in")
        if type(value) is type(target) and value.layout == target.layout and target.storage.is_same(value.storage):
            return
        shape = target.view.shape if type(target) is RaggedArray else target.shape
        target.write(fitting(recorder, value, self.dtype, shape))

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        from ..loops.iteration import Sequence

        return iter(Sequence(self.recorder, self.view.shape[0], self.__getitem__))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.recorder.call(function, args, kwargs)

    def _refused(self, what: str) -> BaseException:
        return refused(self.recorder, what)

    def __repr__(self) -> str:
        return f"<traced {self.dtype} array of a length that differs>"


def refused(recorder: Recorder, what: str) -> BaseException:
    """What to raise for a use of a ragged array that there is no way for."""
    recorder.mark()
    return recorder.scopes.unroll_innermost(
        f"{what} an array whose length differs from one iteration to the next", recorder.builder.line
    )


def transposed(view: View) -> View:
    return View(view.offset, view.shape[::-1], view.strides[::-1])


def flipped(view: View, axes: tuple[int, ...]) -> View:
    """The view with these axes reversed."""
    offset: Extent = view.offset
    strides = list(view.strides)
    for axis in axes:
        offset = offset + (exact(view.shape[axis]) - 1) * strides[axis]
        strides[axis] = -strides[axis]
    return View(offset, view.shape, tuple(strides))


def has_ragged(items: Any) -> bool:
    """Whether a ragged array is among arguments."""
    return any(type(item) is RaggedArray or (type(item) in (list, tuple) and has_ragged(item)) for item in items)


def call(recorder: Recorder, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy on ragged arrays."""
    implementation = FUNCTIONS.get(function)
    if implementation is None:
        raise refused(recorder, f"calls {getattr(function, '__name__', function)} with")
    try:
        return implementation(recorder, *args, **kwargs)
    except TypeError:
        raise refused(
            recorder, f"calls {getattr(function, '__name__', function)} in another way than usual with"
        ) from None


def _reduction(primitive: str) -> Callable[..., Any]:
    def reduced(recorder: Recorder, a: Any, axis: Any = None) -> Any:
        value = recorder.value_of(a)
        if value.dtype.kind == "b" and primitive == "reduce_sum":
            value = recorder.builder.cast(value, np.dtype(np.int64))
        axes = tuple(range(len(value.shape))) if axis is None else (int(axis) % len(value.shape),)
        return recorder.result(recorder.apply(primitive, value, axes=axes))

    return reduced


def _mean(recorder: Recorder, a: Any, axis: Any = None) -> Any:
    total = _reduction("reduce_sum")(recorder, a, axis)
    shape = a.shape
    count: Any = 1
    for k in range(len(shape)) if axis is None else (int(axis) % len(shape),):
        count = shape[k] * count
    return total / count


def _product(recorder: Recorder, a: Any, b: Any) -> Any:
    from ..numpy_functions.contraction import pair

    dtype = recorder.result_type(a, b)
    x, y = recorder.value_of(a, dtype), recorder.value_of(b, dtype)
    left, right = len(x.shape), len(y.shape)
    if not 1 <= left <= 2 or not 1 <= right <= 2:
        raise TypeError
    x_labels = ("k",) if left == 1 else ("i", "k")
    y_labels = ("k",) if right == 1 else ("k", "j")
    if x.shape[-1] != y.shape[0]:
        raise refused(recorder, "multiplies by another length than its own")
    out = tuple(label for label in (*x_labels, *y_labels) if label != "k")
    return recorder.result(pair(recorder, x, x_labels, y, y_labels, out))


def _outer(recorder: Recorder, a: Any, b: Any) -> Any:
    from ..numpy_functions.contraction import pair

    dtype = recorder.result_type(a, b)
    x, y = recorder.value_of(a, dtype), recorder.value_of(b, dtype)
    return recorder.result(pair(recorder, x, ("i",), y, ("j",), ("i", "j")))


def _flip(recorder: Recorder, a: RaggedArray, axis: Any = None) -> Any:
    axes = tuple(range(a.ndim)) if axis is None else (int(axis) % a.ndim,)
    return RaggedArray(recorder, a.storage, flipped(a.view, axes))


def _norm(recorder: Recorder, a: Any) -> Any:
    return np.sqrt(_reduction("reduce_sum")(recorder, a * a))


def _where(recorder: Recorder, condition: Any, a: Any, b: Any) -> Any:
    dtype = recorder.result_type(a, b)
    values = [recorder.value_of(condition, np.bool_), recorder.value_of(a, dtype), recorder.value_of(b, dtype)]
    shape = common_shape(recorder, [v.shape for v in values])
    return recorder.result(
        recorder.apply("where", *(v if not v.shape else recorder.builder.broadcast(v, shape) for v in values))
    )


def _like(number: float) -> Callable[..., Any]:
    def made(recorder: Recorder, a: Any) -> Any:
        return filled(recorder, a.view.shape, number, a.dtype)

    return made


def filled(recorder: Recorder, shape: tuple[int, ...], number: float, dtype: Any) -> Any:
    """A fresh ragged array of one number."""
    return recorder.ragged(recorder.builder.broadcast(recorder.constant(number, np.dtype(dtype)), shape))


def makes_array(number: float) -> Callable[..., Any]:
    """`numpy.zeros` and the like, for a shape with loop indices in it."""

    def made(recorder: Recorder, shape: Any, dtype: Any = float) -> Any:
        extents = shape if isinstance(shape, tuple | list) else (shape,)
        found: list[int] = []
        for n in extents:
            if is_loop_index(n):
                expression = n.expression
                found.append(Ragged(recorder.scopes.capacity(expression), expression))
            else:
                found.append(int(n))
        return filled(recorder, tuple(found), number, dtype)

    return made


MAKERS: dict[Any, Callable[..., Any]] = {
    np.zeros: makes_array(0.0),
    np.ones: makes_array(1.0),
    np.empty: makes_array(0.0),
}

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _reduction("reduce_sum"), np.max: _reduction("reduce_max"),
    np.min: _reduction("reduce_min"), np.amax: _reduction("reduce_max"), np.amin: _reduction("reduce_min"),
    np.any: _reduction("reduce_any"), np.all: _reduction("reduce_all"), np.mean: _mean, np.dot: _product,
    np.matmul: _product, np.inner: _product, np.vdot: _product, np.outer: _outer, np.flip: _flip, np.linalg.norm: _norm,
    np.where: _where, np.copy: lambda recorder, a: a.copy(), np.transpose: lambda recorder, a: a.T,
    np.zeros_like: _like(0.0), np.ones_like: _like(1.0), np.empty_like: _like(0.0),
}  # fmt: skip


def common_shape(recorder: Recorder, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """What shapes with ragged extents broadcast to."""
    rank = max(map(len, shapes))
    found: list[int] = []
    for k in range(rank):
        extents = {s[k - rank + len(s)] for s in shapes if k - rank + len(s) >= 0} - {1}
        if len(extents) > 1:
            raise refused(recorder, "combines with another length")
        found.append(extents.pop() if extents else 1)
    return tuple(found)


def _method(name: str, function: Any) -> None:
    def method(self, *args, **kwargs):
        return self.recorder.call(function, (self, *args), kwargs)

    setattr(RaggedArray, name, method)


for _name in ("sum", "prod", "max", "min", "any", "all", "mean", "dot"):
    _method(_name, getattr(np, _name))


def _in_place(name: str, ufunc: np.ufunc) -> None:
    def method(self, other):
        from ..values.elementwise import elementwise

        return elementwise(self.recorder, ufunc, (self, other), out=self)

    setattr(RaggedArray, f"__i{name}__", method)


for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "pow": np.power,
}.items():  # fmt: skip
    _in_place(_name, _ufunc)
