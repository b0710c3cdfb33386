"""A traced array: a view of traced memory, with the operators, attributes and methods of `numpy.ndarray`."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedError
from ...regions.regions import View
from ..record.conversions import refuse_number
from . import indexing
from .advanced import nonzero
from .elementwise import elementwise
from .operators import BINARY, Operators
from .scalar_tracer import ScalarTracer

if TYPE_CHECKING:
    from ...tape.tape import Value
    from ..record.recorder import Recorder
    from ..record.storage import Storage


class ArrayTracer(Operators):
    """An array whose numbers are known only when the plan runs.

    `geometry` is a NumPy array that lies in the memory of `storage.base` as this array lies in the program's memory.
    All view operations are NumPy's own, done on it; its elements mean something only where `storage.is_concrete`.
    """

    is_tracer = True
    __slots__ = ("_view", "geometry", "recorder", "storage")

    def __init__(self, recorder: Recorder, storage: Storage, geometry: np.ndarray):
        self.recorder = recorder
        self.storage = storage
        self.geometry = geometry
        self._view: View | None = None

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray

    def __getattr__(self, name: str) -> Any:
        if not hasattr(np.ndarray, name) or name.startswith("__"):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        raise UnsupportedError(
            f"{self.recorder.here()}: .{name} of a traced array asks for its memory or bits, which there are none of "
            f"while tracing; use NumPy's functions, or do it outside of the traced function"
        )

    device = "cpu"  # as NumPy says

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    @property
    def layout(self) -> View:
        """Where this array lies in its memory, in elements."""
        view = self._view
        if view is None:
            self._view = view = self.storage.view_of(self.geometry)
        return view

    def read(self) -> Value:
        """What the array holds now."""
        return self.storage.read(self.recorder, self.layout, self.geometry)

    def write(self, value: Value) -> None:
        """Overwrite the array with a value of its shape, or a scalar, or one that broadcasts; cast to its dtype."""
        recorder, geometry = self.recorder, self.geometry
        self.storage.check_writeable(geometry, recorder.builder.line)
        value = recorder.builder.cast(value, geometry.dtype)
        if value.shape != geometry.shape and value.shape != ():
            value = recorder.builder.broadcast(value, geometry.shape)
        self.storage.write(recorder, self.layout, value)

    # Shape.

    @property
    def shape(self) -> tuple[int, ...]:
        return self.geometry.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.geometry = np.reshape(self.geometry, shape, copy=False)
        self._view = None

    @property
    def dtype(self) -> np.dtype:
        return self.geometry.dtype

    @property
    def ndim(self) -> int:
        return self.geometry.ndim

    @property
    def size(self) -> int:
        return self.geometry.size

    @property
    def strides(self) -> tuple[int, ...]:
        return self.geometry.strides

    @property
    def itemsize(self) -> int:
        return self.geometry.itemsize

    @property
    def nbytes(self) -> int:
        return self.geometry.nbytes

    @property
    def flags(self) -> Any:
        return self.geometry.flags

    # Views.

    def _seen(self, geometry: np.ndarray) -> ArrayTracer:
        return ArrayTracer(self.recorder, self.storage, geometry)

    @property
    def T(self) -> ArrayTracer:
        return self._seen(self.geometry.T)

    @property
    def mT(self) -> ArrayTracer:
        return self._seen(self.geometry.mT)

    @property
    def real(self) -> ArrayTracer:
        return self

    @real.setter
    def real(self, value: Any) -> None:
        self[...] = value

    @property
    def imag(self) -> ArrayTracer:
        return self.recorder.concrete(np.zeros(self.shape, self.dtype))

    @property
    def base(self) -> Any:
        return None if self.geometry is self.storage.base else self._seen(self.storage.base)

    @property
    def flat(self) -> ArrayTracer:
        if not self.geometry.flags.c_contiguous:
            raise UnsupportedError(
                f"{self.recorder.here()}: .flat of an array that is not contiguous; index it with tuples instead"
            )
        return self._seen(self.geometry.reshape(-1))

    @flat.setter
    def flat(self, value: Any) -> None:
        self[...] = self.recorder.array(self.recorder.value_of(value)).reshape(self.shape) if np.ndim(value) else value

    def transpose(self, *axes: Any) -> ArrayTracer:
        return self._seen(self.geometry.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> ArrayTracer:
        return self._seen(self.geometry.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> ArrayTracer:
        return self._seen(self.geometry.squeeze(axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ArrayTracer:
        return self._seen(self.geometry.diagonal(offset, axis1, axis2))

    def view(self, dtype: Any = None, type: Any = None) -> ArrayTracer:
        if dtype not in (None, np.ndarray) and np.dtype(dtype) != self.dtype:
            raise UnsupportedError(
                f"{self.recorder.here()}: .view({dtype}) would reinterpret the bits of a traced array; use .astype"
            )
        return self._seen(self.geometry.view())

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> ArrayTracer:
        wanted = shape[0] if len(shape) == 1 else shape
        if not copy:
            try:
                return self._seen(np.reshape(self.geometry, wanted, order=order, copy=False))
            except ValueError as error:
                if copy is False or "copy" not in str(error):
                    raise
        return self._copied(wanted, order)

    def _copied(self, shape: Any, order: Any) -> ArrayTracer:
        """A reshaped copy, its memory in `order`."""
        recorder = self.recorder
        recorder.mark()
        if self.storage.is_concrete:
            recorder.assume(self.storage)
            return recorder.concrete(np.array(np.reshape(self.geometry, shape, order=order), order="K"))
        if order == "A":
            flags = self.geometry.flags
            order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
        value = self.read()
        if order == "F":  # row-major order with all axes reversed
            base = np.reshape(np.empty(self.shape, self.dtype, order="F"), shape, order="F")
            value = recorder.builder.reshape(recorder.transposed(value), base.shape[::-1])
            return recorder.fresh(base, recorder.transposed(value))
        base = np.empty(self.size, self.dtype).reshape(shape)
        return recorder.fresh(base, recorder.builder.reshape(value, base.shape))

    def ravel(self, order: Any = "C") -> ArrayTracer:
        if order == "K":
            axes = sorted(range(self.ndim), key=lambda k: -abs(self.strides[k]))
            return self.transpose(axes).reshape(-1)
        return self.reshape(-1, order=order)

    def flatten(self, order: Any = "C") -> ArrayTracer:
        if order == "K":
            return self.ravel("K").copy()
        return self.reshape(-1, order=order, copy=True)

    # Copies.

    def copy(self, order: Any = "C") -> ArrayTracer:
        return self.astype(self.dtype, order)

    def __copy__(self) -> ArrayTracer:
        return self.copy("K")

    def __deepcopy__(self, memo: dict) -> ArrayTracer:
        return self.copy("K")

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> ArrayTracer:
        recorder = self.recorder
        dtype = np.dtype(dtype)
        if not copy and dtype == self.dtype and (order in "KA" or self.geometry.flags[order]):
            return self
        recorder.mark()
        if self.storage.is_concrete:
            recorder.assume(self.storage)
            return recorder.adopt(self.geometry.astype(dtype, order, casting))
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule {casting!r}"
            )
        base = np.empty_like(self.geometry, dtype, order)
        return recorder.fresh(base, recorder.value_of(self, dtype))

    def conj(self) -> ArrayTracer:
        return self.copy("K")

    conjugate = conj

    # Items.

    def __getitem__(self, key: Any) -> Any:
        return indexing.get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.put(self, key, value)

    def __len__(self) -> int:
        return len(self.geometry)

    def __iter__(self) -> Iterator[Any]:
        if not self.geometry.ndim:
            raise TypeError("iteration over a 0-d array")
        from ..loops.iteration import Sequence

        return iter(Sequence(self.recorder, len(self.geometry), self.__getitem__))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def item(self, *args: Any) -> Any:
        """The element as a Python number."""
        if not args and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        if len(args) == 1 and not isinstance(args[0], tuple):
            args = np.unravel_index(operator.index(args[0]), self.shape)
        position = args[0] if len(args) == 1 else args
        element = self[position if args else (0,) * self.ndim]
        return element.item()

    def tolist(self) -> Any:
        return [part.tolist() for part in self] if self.ndim else self.item()

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self[...] = self.recorder.call(np.sort, (self, axis, kind, order), {})

    def partition(self, kth: Any, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self.sort(axis, None, order)

    def nonzero(self) -> tuple[ArrayTracer, ...]:
        return nonzero(self)

    # Numbers asked for.

    def _number(self, what: str, convert: Any) -> Any:
        if not self.storage.is_concrete:
            if self.size != 1:
                raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
            raise refuse_number(self.recorder, what, self)
        self.recorder.assume(self.storage)
        return convert(self.geometry)

    def __bool__(self) -> bool:
        if self.storage.is_concrete or self.size != 1:
            self.recorder.assume(self.storage)
            return bool(np.zeros(self.shape) if not self.storage.is_concrete else self.geometry)
        return bool(self[(0,) * self.ndim])

    def __float__(self) -> float:
        return self._number("float()", float)

    def __int__(self) -> int:
        return self._number("int()", int)

    def __complex__(self) -> complex:
        return self._number("complex()", complex)

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        if self.storage.is_concrete:
            return self._number("range(), a slice bound or a count", operator.index)
        return operator.index(self[()])

    def __hash__(self) -> int:
        raise refuse_number(self.recorder, "hash()", self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if not self.storage.is_concrete:
            raise refuse_number(self.recorder, "numpy.asarray() in code that is not traced", self)
        self.recorder.assume(self.storage)
        return np.array(self.geometry, dtype)

    def __repr__(self) -> str:
        if self.storage.is_concrete:
            return repr(self.geometry)
        return f"<traced {self.dtype} array of shape {self.shape}>"

    def __format__(self, specification: str) -> str:
        return repr(self)


def _in_place(name: str, ufunc: np.ufunc) -> None:
    def method(self, other):
        if self.storage.holds_numbers(self.recorder) and self.recorder.is_concrete(other):
            return indexing.update_numbers(self, ufunc, other)
        return elementwise(self.recorder, ufunc, (self, other), out=self)

    setattr(ArrayTracer, f"__i{name}__", method)


for _name, _ufunc in (BINARY | {"pow": np.power}).items():
    if _name != "divmod":
        _in_place(_name, _ufunc)


def _imatmul(self, other):
    self[...] = self @ other
    return self


ArrayTracer.__imatmul__ = _imatmul  # type: ignore[attr-defined]


def _by_function(name: str, function: Any) -> None:
    def method(self, *args, **kwargs):
        return self.recorder.call(function, (self, *args), kwargs)

    method.__name__ = name
    setattr(ArrayTracer, name, method)


METHODS = [
    "sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "cumsum", "cumprod", "clip", "round", "repeat",
    "take", "dot", "trace", "argmax", "argmin", "argsort", "searchsorted", "compress", "choose", "put", "argpartition",
]  # fmt: skip
for _name in METHODS:
    _by_function(_name, getattr(np, _name))

assert issubclass(ScalarTracer, Operators)
