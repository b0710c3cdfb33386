"""The operators that array and scalar tracers share."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...python.frames import is_formatting, user_frame
from ...python.shadows import is_user_frame
from ...python.shown_text import is_only_shown
from ..record.conversions import UNTRACED, refuse_number
from ..record.texts import text_of
from ..record.traced import LibraryObject, Traced, with_plain_tuples
from .elementwise import array_ufunc, elementwise, operate

BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "divmod": np.divmod,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
COMPARISONS = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
NO_INTEGER = np.iinfo(np.int64).min  # what NumPy makes of nan


def _forward(ufunc: np.ufunc) -> Callable[..., Any]:
    def method(self, other):
        return operate(self.recorder, ufunc, self, other)

    return method


def _reflected(ufunc: np.ufunc) -> Callable[..., Any]:
    def method(self, other):
        return operate(self.recorder, ufunc, other, self)

    return method


def _unary(ufunc: np.ufunc) -> Callable[..., Any]:
    def method(self):
        return operate(self.recorder, ufunc, self)

    return method


class Arithmetic(Traced):
    """Arithmetic, comparison and logic, by way of the ufuncs that NumPy uses for them."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def __pow__(self, other, modulo=None):
        if modulo is not None:
            return NotImplemented
        return operate(self.recorder, np.power, self, other)

    def __rpow__(self, other, modulo=None):
        return operate(self.recorder, np.power, other, self)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return array_ufunc(self.recorder, ufunc, method, inputs, kwargs)


class Operators(Arithmetic):
    """All that NumPy does with arrays and scalars of its own."""

    __slots__ = ()
    dtype: Any
    shape: Any
    ndim: Any
    size: Any
    item: Any

    def __matmul__(self, other):
        if issubclass(type(other), LibraryObject):
            return NotImplemented
        return self.recorder.call(np.matmul, (self, with_plain_tuples(other)), {})

    def __rmatmul__(self, other):
        return self.recorder.call(np.matmul, (with_plain_tuples(other), self), {})

    def __array_function__(self, function, types, args, kwargs):
        if not all(issubclass(kind, Traced | np.ndarray) for kind in types):
            return NotImplemented  # another one is asked, as NumPy's arrays have it
        return self.recorder.call(function, args, kwargs)

    # Numbers asked for.

    def _number(self, what: str, convert: Callable[[Any], Any]) -> Any:
        if not self.is_known:
            raise refuse_number(self.recorder, what, self)
        return convert(self.plain())

    def number_for(self, what: str) -> Any:
        """The number that is known, or the integer or truth for which alone the tape then holds."""
        recorder = self.recorder
        if self.is_known or self.dtype.kind not in "iub" or self.size != 1 or recorder.scopes.depth:
            return self._number(what, lambda number: number)
        recorder.mark()
        return recorder.outcome(recorder.value_of(self.item()), "number")

    def __float__(self) -> float:
        return self._shown(sys._getframe(1), "float()", float, math.nan)

    def __int__(self) -> int:
        return self._shown(sys._getframe(1), "int()", int, NO_INTEGER)

    def _shown(self, frame: types.FrameType, what: str, convert: Callable[[Any], Any], instead: Any) -> Any:
        """The number; where it is not known and only shown in a text ("%.3f" % x, also in a log line) another one."""
        if self.is_known or not is_formatting(frame):
            return self._number(what, convert)
        return instead if is_only_shown(frame) else convert(self.number_for("its text"))

    def __complex__(self) -> complex:
        return self._number("complex()", complex)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        frame = sys._getframe(1)
        if not self.is_known and is_user_frame(frame) and "__array__" in frame.f_code.co_names:
            return self.recorder.call(np.asarray, (self, dtype), {})  # `x.__array__()`, written in traced code
        return self._number(UNTRACED, lambda known: np.array(known, dtype))

    def __hash__(self) -> int:
        if self.ndim:
            raise TypeError(f"unhashable type: '{self.__class__.__name__}'")
        if self.recorder.scopes.depth and not self.is_known:
            self.recorder.flow.follow_dicts(sys._getframe(1), key=self)
        self.recorder.scopes.see_what_reads(user_frame(sys._getframe(1)))
        return hash(self.number_for("hash()"))

    def __format__(self, specification: str) -> str:
        return text_of(self, self._named(), specification)

    def __str__(self) -> str:
        return text_of(self, self._named(), text=str)

    def __repr__(self) -> str:
        return text_of(self, self._named(), text=repr)

    def _named(self) -> str:
        """What is shown of it."""
        shape = f"array of shape {self.shape}" if self.shape else "scalar"
        return f"<traced {self.dtype} {shape}>"


for _name, _ufunc in BINARY.items():
    setattr(Arithmetic, f"__{_name}__", _forward(_ufunc))
    setattr(Arithmetic, f"__r{_name}__", _reflected(_ufunc))
for _name, _ufunc in COMPARISONS.items():
    setattr(Arithmetic, f"__{_name}__", _forward(_ufunc))
for _name, _ufunc in UNARY.items():
    setattr(Arithmetic, f"__{_name}__", _unary(_ufunc))


def by_functions(kind: type, *names: str) -> None:
    """Give a class these methods, each of which is the function of NumPy with its name."""

    def method_of(function: Any) -> Callable[..., Any]:
        return lambda self, *args, **kwargs: self.recorder.call(function, (self, *args), kwargs)

    for name in names:
        method = method_of(getattr(np, name))
        method.__name__ = name
        setattr(kind, name, method)


def clipped(self: Any, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
    """`array.clip`, which may do without either bound."""
    return self.recorder.call(np.clip, (self, min, max), options if out is None else {"out": out, **options})


def chosen_by(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """`array.compress`, of which NumPy's function takes the condition first."""
    return self.recorder.call(np.compress, (condition, self), {"axis": axis, "out": out})


def in_place(kind: type, update: Callable[..., Any] | None = None) -> None:
    """Give a class the operators that write to their left side, by `update(self, ufunc, other)`."""

    def method_of(ufunc: np.ufunc) -> Callable[..., Any]:
        if update is not None:
            return lambda self, other: update(self, ufunc, other)
        return lambda self, other: elementwise(self.recorder, ufunc, (self, other), out=self)

    for name, ufunc in (BINARY | {"pow": np.power}).items():
        if name != "divmod":
            setattr(kind, f"__i{name}__", method_of(ufunc))
