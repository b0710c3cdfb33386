"""Symbols: values of a tape under construction, with the operators of mathematics.

Adjoints are written with them, so that a row of the rule table reads as its formula.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..regions.regions import Region, View, contiguous

Value = Any  # a value of the tape, which is the builder's: it has a shape and a dtype


class Builder(Protocol):
    """What writes the tape that rules are recorded in."""

    def apply(self, primitive: str, *operands: Value, **parameters: object) -> Value: ...

    def constant(self, data: object, dtype: np.dtype | None = None) -> Value: ...

    def cast(self, value: Value, dtype: np.dtype) -> Value: ...

    def broadcast(self, value: Value, shape: tuple[int, ...]) -> Value: ...

    def reshape(self, value: Value, shape: tuple[int, ...]) -> Value: ...

    def view(self, value: Value, view: View) -> Value: ...

    # Memory, to write what a result is made of straight to where it belongs.

    def new_buffer(self, kind: str, label: str, dtype: np.dtype, view: View) -> Any: ...

    def store(self, region: Region, value: Value, accumulate: bool = False) -> None: ...

    def load(self, region: Region) -> Value: ...


class Symbol:
    """A value together with the builder that its expressions are recorded in."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Builder, value: Value):
        self.builder = builder
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> np.dtype:
        return self.value.dtype

    def apply(self, primitive: str, *others: object, **parameters: object) -> Symbol:
        """`primitive(self, *others)`; numbers become constants of this symbol's dtype."""
        operands = [self.value, *(self._value(other) for other in others)]
        return Symbol(self.builder, self.builder.apply(primitive, *operands, **parameters))

    def constant(self, number: object, dtype: np.dtype | None = None) -> Symbol:
        return Symbol(self.builder, self.builder.constant(number, dtype or self.dtype))

    def _value(self, other: object) -> Value:
        return other.value if isinstance(other, Symbol) else self.builder.constant(other, self.dtype)

    def _reflected(self, primitive: str, other: object) -> Symbol:
        return self.constant(other).apply(primitive, self)

    def __add__(self, other):
        return self.apply("add", other)

    def __radd__(self, other):
        return self._reflected("add", other)

    def __sub__(self, other):
        return self.apply("subtract", other)

    def __rsub__(self, other):
        return self._reflected("subtract", other)

    def __mul__(self, other):
        return self.apply("multiply", other)

    def __rmul__(self, other):
        return self._reflected("multiply", other)

    def __truediv__(self, other):
        return self.apply("divide", other)

    def __rtruediv__(self, other):
        return self._reflected("divide", other)

    def __neg__(self):
        return self.apply("negative")

    def __lt__(self, other):
        return self.apply("less", other)

    def __gt__(self, other):
        return self.apply("greater", other)

    def __le__(self, other):
        return self.apply("less_equal", other)

    def __ge__(self, other):
        return self.apply("greater_equal", other)

    def __and__(self, other):
        return self.apply("logical_and", other)

    def __or__(self, other):
        return self.apply("logical_or", other)

    def equals(self, other) -> Symbol:
        return self.apply("equal", other)

    def differs(self, other) -> Symbol:
        return self.apply("not_equal", other)

    def cast(self, dtype) -> Symbol:
        return Symbol(self.builder, self.builder.cast(self.value, np.dtype(dtype)))

    def broadcast(self, shape: tuple[int, ...]) -> Symbol:
        return Symbol(self.builder, self.builder.broadcast(self.value, shape))

    def reshape(self, shape: tuple[int, ...]) -> Symbol:
        return Symbol(self.builder, self.builder.reshape(self.value, shape))

    def transpose(self, order: tuple[int, ...]) -> Symbol:
        """The axes in another order: axis `k` of the result is axis `order[k]` of this symbol."""
        own = contiguous(self.shape)
        view = View(0, tuple(self.shape[k] for k in order), tuple(own.strides[k] for k in order))
        return Symbol(self.builder, self.builder.view(self.value, view))

    def zeros_like(self) -> Symbol:
        return self.constant(0).broadcast(self.shape)


def _function(primitive: str):
    def function(a: Symbol, *others: object) -> Symbol:
        return a.apply(primitive, *others)

    function.__name__ = primitive
    return function


exp = _function("exp")
log = _function("log")
sqrt = _function("sqrt")
sin = _function("sin")
cos = _function("cos")
sinh = _function("sinh")
cosh = _function("cosh")
power = _function("power")
sign = _function("sign")
copysign = _function("copysign")
floor_divide = _function("floor_divide")
digamma = _function("digamma")


def where(condition: Symbol, a: object, b: object) -> Symbol:
    """`a` where `condition` holds, else `b`; at least one of them a symbol."""
    typed = a if isinstance(a, Symbol) else b
    assert isinstance(typed, Symbol)
    a, b = (s if isinstance(s, Symbol) else typed.constant(s) for s in (a, b))
    return condition.apply("where", a, b)


def power_series(coefficients: Sequence[float], t: Any) -> Any:
    """`coefficients[0] + coefficients[1] t + ...`, by Horner's rule."""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * t + coefficient
    return total


def sinc_coefficients(sign: int) -> list[float]:
    """Of `sin(a) / a` in powers of `a**2`, with sign 1 of `sinh(a) / a`: enough for `abs(a) < 1`, derivatives too."""
    return [sign**k / math.factorial(2 * k + 1) for k in range(13)]
