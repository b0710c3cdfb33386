"""A traced complex number: behaves as a NumPy scalar, or as a Python complex where the program has one."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ...errors import UnsupportedError
from ...python.complex_parts import WHOLE
from ...tape.tape import Value
from ..record.promotion import FLOAT, dtype_of
from ..record.recorder import Recorder
from ..record.traced import TRACERS
from ..values.operators import by_functions
from ..values.scalar_tracer import ScalarMethods, ScalarTracer


class ComplexScalar(ScalarMethods):
    """A complex number that is known only when the plan runs. Immutable.

    Parameters
    ----------
    real, imag : traced or known numbers
        None stands for 0.0.
    is_python : bool
        Whether the program holds a Python complex here, whose dtype gives way to its partner's.
    """

    __slots__ = ("_is_zero", "_parts", "dtype", "is_python", "recorder")

    def __init__(self, recorder: Recorder, real: Any, imag: Any, is_python: bool = False):
        self.recorder, self.is_python = recorder, is_python
        given = [v.dtype if hasattr(v, "dtype") else dtype_of(v) for v in (real, imag) if v is not None]
        dtype = FLOAT if is_python else np.result_type(*given, np.float32)
        self.dtype = WHOLE[dtype]
        self._parts = [self._as_part(v, dtype) for v in (real, imag)]
        self._is_zero = [v is None for v in (real, imag)]

    def _as_part(self, number: Any, dtype: np.dtype) -> Any:
        """A part as a scalar of the right type: a traced one, or a number where it is known."""
        if type(number) is ScalarTracer:
            if number.dtype == dtype and number.is_python == self.is_python:
                return number
            return ScalarTracer(self.recorder, self.recorder.value_of(number, dtype), self.is_python)
        return (float if self.is_python else dtype.type)(0.0 if number is None else number)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """So that `isinstance(s, complex)` holds where it does of the scalar this stands for."""
        return complex if self.is_python else self.dtype.type

    # As reals.

    kind_of_parts = complex

    def complex_parts(self) -> list[tuple[str, Any]]:
        return [("real", self.real), ("imag", self.imag)]

    @property
    def real(self) -> Any:
        return self._parts[0]

    @property
    def imag(self) -> Any:
        return self._parts[1]

    def parts(self) -> tuple[Value | None, Value | None]:
        """Its real and imaginary part; None where that is 0.0."""
        real, imag = (
            None if zero else self.recorder.value_of(v, self.dtype.type().real.dtype)
            for zero, v in zip(self._is_zero, self._parts)
        )
        return real, imag

    def read(self) -> NoReturn:
        raise UnsupportedError(
            f"{self.recorder.here()}: a complex number stands where a real one is expected, or there is no rule for "
            f"complex numbers here; take its real and imaginary part, z.real and z.imag"
        )

    def operand(self) -> tuple[Any, tuple[int, ...], bool]:
        return complex if self.is_python else self.dtype, (), False

    def sources(self) -> Any:
        return (v.value for v in self._parts if type(v) is ScalarTracer)

    # As a scalar.

    def item(self) -> ComplexScalar:
        """As a Python number."""
        real, imag = (
            None if zero else v.item() if hasattr(v, "item") else v for zero, v in zip(self._is_zero, self._parts)
        )
        return ComplexScalar(self.recorder, real, imag, is_python=True)

    tolist = item

    def conjugate(self) -> Any:
        return ComplexScalar(self.recorder, self._parts[0], -self.imag, self.is_python)

    conj = conjugate

    def __complex__(self) -> Any:
        return self._number("complex()", complex)

    def __float__(self) -> NoReturn:
        raise TypeError("float() argument must be a string or a real number, not 'complex'")

    def __int__(self) -> NoReturn:
        raise TypeError("int() argument must be a string, a bytes-like object or a real number, not 'complex'")

    def __bool__(self) -> bool:
        return bool(self != 0)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        found = TRACERS.complex_of(self).astype(dtype, *args, **kwargs)
        return found[()]

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        return TRACERS.complex_of(self).reshape(*shape, **kwargs)

    def ravel(self, order: str = "C") -> Any:
        return self.reshape(-1)

    flatten = ravel

    def __getitem__(self, key: Any) -> Any:
        if self.is_python:
            raise TypeError("'complex' object is not subscriptable")
        return self if key == () else TRACERS.complex_of(self)[key]

    def __iter__(self) -> NoReturn:
        raise TypeError(f"'{'complex' if self.is_python else self.dtype}' object is not iterable")


def complex_number(recorder: Recorder, real: Any, imag: Any) -> ComplexScalar:
    """A complex number with these parts: one of Python's where both are Python's."""
    is_python = all(type(v) in (float, int, bool) or getattr(v, "is_python", False) for v in (real, imag))
    return ComplexScalar(recorder, real, imag, is_python)


by_functions(
    ComplexScalar, "sum", "prod", "mean", "var", "std", "any", "all", "cumsum", "cumprod", "round", "squeeze", "repeat",
    "dot", "max", "min",
)  # fmt: skip
