"""A traced array: a view of traced memory, with the operators, attributes and methods of `numpy.ndarray`."""

from __future__ import annotations

import inspect
import operator
import sys
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.frames import as_written
from ..record.refusals import subclass_instead
from ..record.traced import TRACERS, owning
from . import indexing
from .advanced import nonzero
from .array_methods import ArrayMethods
from .elementwise import elementwise
from .flat import FlatView
from .operators import by_functions, chosen_by, clipped, in_place


class ArrayTracer(ArrayMethods):
    """An array whose numbers are known only when the plan runs."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return as_written(np.ndarray, sys._getframe(1))

    device = "cpu"  # as NumPy says

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    def whole_of_pairs(self) -> Any:
        """The complex array in its memory, which is one of pairs."""
        return TRACERS.complex_of_pairs(self)

    def whole_number(self, real: Any, imag: Any) -> Any:
        """A complex array, of whose parts it is one."""
        return TRACERS.complex_number(self.recorder, real, imag)

    # Views.

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
    def flat(self) -> FlatView:
        return FlatView(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        if type(value) is FlatView or np.ndim(value):
            value = self.recorder.array(self.recorder.value_of(value))
            if value.size != self.size:
                FlatView(self)[:] = value
                return
            value = value.reshape(self.shape)
        self[...] = value

    def view(self, dtype: Any = None, type: Any = None) -> ArrayTracer:
        if any(inspect.isclass(kind) and issubclass(kind, TRACERS.of_class) for kind in (dtype, type)):
            return TRACERS.viewed(self, dtype, type)
        kind = dtype if inspect.isclass(dtype) and issubclass(dtype, np.ndarray) else type
        if kind not in (None, np.ndarray):
            raise UnsupportedError(f"{self.recorder.here()}: .view makes a {subclass_instead(kind)}")
        if dtype not in (None, np.ndarray) and np.dtype(dtype) != self.dtype:
            raise UnsupportedError(
                f"{self.recorder.here()}: .view({dtype}) would reinterpret the bits of a traced array; use .astype"
            )
        return self._seen(self.geometry.view())

    def _copied(self, shape: Any, order: Any) -> ArrayTracer:
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

    # Copies.

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> ArrayTracer:
        recorder = self.recorder
        dtype, order = np.dtype(dtype), order.upper()
        if not copy and dtype == self.dtype and (order in "KA" or self.geometry.flags[order]):
            return self
        recorder.mark()
        if dtype.kind == "c" and not self.storage.is_concrete:
            return TRACERS.complex_of(self).astype(dtype, order)
        if self.storage.is_concrete:
            recorder.assume(self.storage)
            return recorder.adopt(self.geometry.astype(dtype, order, casting))
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule {casting!r}"
            )
        base = np.empty_like(self.geometry, dtype, order)
        return owning(recorder.fresh(base, recorder.value_of(self, dtype)))

    def copy(self, order: Any = "C") -> ArrayTracer:
        made = super().copy(order)
        if self.storage.types:
            made.types = self.storage.types
        return made

    def conj(self) -> ArrayTracer:
        return self

    conjugate = conj

    # Items.

    def __getitem__(self, key: Any) -> Any:
        found = indexing.get(self, key)
        if self.storage.types:
            found.types = self.storage.types
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.put(self, key, value)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def item(self, *args: Any) -> Any:
        """The element as a Python number."""
        if not args and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        if len(args) == 1 and not isinstance(args[0], tuple):
            index = operator.index(args[0])
            args = np.unravel_index(index + self.size if index < 0 else index, self.shape)
        position = args[0] if len(args) == 1 else args
        element = self[position if args else (0,) * self.ndim]
        return element.item()

    def nonzero(self) -> tuple[ArrayTracer, ...]:
        return nonzero(self)

    # Numbers asked for.

    def _number(self, what: str, convert: Any) -> Any:
        if not self.is_known and self.size != 1 and convert in (float, int, complex):
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return super()._number(what, convert)

    def __bool__(self) -> bool:
        if self.storage.is_concrete or self.size != 1:
            self.recorder.assume(self.storage)
            return bool(np.zeros(self.shape) if not self.storage.is_concrete else self.geometry)
        return bool(self[(0,) * self.ndim])

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        if self.storage.is_concrete:
            return self._number("range(), a slice bound or a count", operator.index)
        return operator.index(self[()])


def _update(array: ArrayTracer, ufunc: np.ufunc, other: Any) -> Any:
    if array.storage.holds_numbers(array.recorder) and array.recorder.is_concrete(other):
        return indexing.update_numbers(array, ufunc, other)
    return elementwise(array.recorder, ufunc, (array, other), out=array)


in_place(ArrayTracer, _update)


by_functions(
    ArrayTracer,
    "sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "cumsum", "cumprod", "round", "repeat",
    "take", "dot", "trace", "argmax", "argmin", "argsort", "searchsorted", "choose", "put", "argpartition",
)  # fmt: skip
ArrayTracer.clip = clipped  # type: ignore[attr-defined]
ArrayTracer.compress = chosen_by  # type: ignore[attr-defined]
TRACERS.array = ArrayTracer
