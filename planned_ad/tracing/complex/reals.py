"""The real and imaginary parts of a formula, as values on the tape with the operators of mathematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...tape.tape import Value
from ..record.recorder import Recorder


class Real:
    """A real value, in formulas of values of one shape, or shape (), and one dtype."""

    __slots__ = ("recorder", "value")

    def __init__(self, recorder: Recorder, value: Value):
        self.recorder, self.value = recorder, value

    def apply(self, primitive: str, *others: Any) -> Real:
        """`primitive(self, *others)`."""
        return Real(self.recorder, self.recorder.apply(primitive, self.value, *(self.of(o).value for o in others)))

    def of(self, number: Any) -> Real:
        """A number as a real of this dtype."""
        if isinstance(number, Real):
            return number
        return Real(self.recorder, self.recorder.constant(number, self.value.dtype))

    def __add__(self, other: Any) -> Real:
        return self.apply("add", other)

    def __radd__(self, other: Any) -> Real:
        return self.of(other) + self

    def __sub__(self, other: Any) -> Real:
        return self.apply("subtract", other)

    def __rsub__(self, other: Any) -> Real:
        return self.of(other) - self

    def __mul__(self, other: Any) -> Real:
        return self.apply("multiply", other)

    def __rmul__(self, other: Any) -> Real:
        return self.of(other) * self

    def __truediv__(self, other: Any) -> Real:
        return self.apply("divide", other)

    def __rtruediv__(self, other: Any) -> Real:
        return self.of(other) / self

    def __neg__(self) -> Real:
        return self.apply("negative")

    def __abs__(self) -> Real:
        return self.apply("absolute")

    def __lt__(self, other: Any) -> Real:
        return self.apply("less", other)

    def __ge__(self, other: Any) -> Real:
        return self.apply("greater_equal", other)

    def equals(self, other: Any) -> Real:
        return self.apply("equal", other)

    def both(self, other: Real) -> Real:
        """Of truths."""
        return self.apply("logical_and", other)

    def either(self, other: Real) -> Real:
        return self.apply("logical_or", other)

    def zero(self) -> Real:
        """A zero of its sign, which decides on which side of a branch cut a sum with a zero lies."""
        return self.of(0.0).apply("copysign", self)


def where(condition: Real, a: Any, b: Any) -> Real:
    """`a` where the condition holds, else `b`; one of them is a `Real`."""
    like = a if isinstance(a, Real) else b
    return Real(like.recorder, like.recorder.apply("where", condition.value, like.of(a).value, like.of(b).value))


def real_function(primitive: str) -> Callable[..., Real]:
    def of(a: Real, *others: Any) -> Real:
        return a.apply(primitive, *others)

    of.__name__ = primitive
    return of


exp, expm1, log, log1p, sqrt = map(real_function, ["exp", "expm1", "log", "log1p", "sqrt"])
sin, cos, tan, sinh, cosh, tanh = map(real_function, ["sin", "cos", "tan", "sinh", "cosh", "tanh"])
arcsinh, arctan2, hypot, copysign = map(real_function, ["arcsinh", "arctan2", "hypot", "copysign"])


class ComplexValue:
    """A complex value: its parts, of which one that is None is 0.0 everywhere.

    What would be multiplied by such a part is left out. So numbers that are real, or imaginary, cost what they cost
    as such; infinities among them give what C's arithmetic does, where NumPy's makes nans.
    """

    __slots__ = ("_imag", "_real")

    def __init__(self, real: Real | None, imag: Real | None):
        self._real, self._imag = real, imag

    @property
    def some(self) -> Real:
        """A part that is there."""
        found = self._imag if self._real is None else self._real
        assert found is not None
        return found

    @property
    def is_real(self) -> bool:
        return self._imag is None

    @property
    def is_imaginary(self) -> bool:
        return self._real is None

    @property
    def real(self) -> Real:
        return self.some.of(0.0) if self._real is None else self._real

    @property
    def imag(self) -> Real:
        return self.some.of(0.0) if self._imag is None else self._imag

    @property
    def parts(self) -> tuple[Real | None, Real | None]:
        return self._real, self._imag

    def each(self, function: Callable[[Real], Real]) -> ComplexValue:
        """Both parts changed alike."""
        return ComplexValue(*(None if part is None else function(part) for part in self.parts))


def number_pair(number: complex, like: Real) -> ComplexValue:
    return ComplexValue(like.of(number.real), like.of(number.imag) if number.imag or np.signbit(number.imag) else None)
