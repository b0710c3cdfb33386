"""The operators that array and scalar tracers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .elementwise import operate

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


class Operators:
    """Arithmetic, comparison and logic, by way of the ufuncs that NumPy uses for them."""

    __slots__ = ()
    __array_priority__ = 1000.0
    recorder: Any

    def __pow__(self, other, modulo=None):
        if modulo is not None:
            return NotImplemented
        return operate(self.recorder, np.power, self, other)

    def __rpow__(self, other, modulo=None):
        return operate(self.recorder, np.power, other, self)

    def __matmul__(self, other):
        return self.recorder.call(np.matmul, (self, other), {})

    def __rmatmul__(self, other):
        return self.recorder.call(np.matmul, (other, self), {})

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        from .elementwise import array_ufunc

        return array_ufunc(self.recorder, ufunc, method, inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return self.recorder.call(function, args, kwargs)


for _name, _ufunc in BINARY.items():
    setattr(Operators, f"__{_name}__", _forward(_ufunc))
    setattr(Operators, f"__r{_name}__", _reflected(_ufunc))
for _name, _ufunc in COMPARISONS.items():
    setattr(Operators, f"__{_name}__", _forward(_ufunc))
for _name, _ufunc in UNARY.items():
    setattr(Operators, f"__{_name}__", _unary(_ufunc))
