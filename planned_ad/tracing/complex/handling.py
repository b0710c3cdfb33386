"""How NumPy's functions, ufuncs and items are recorded where something complex is among what they are given."""

from __future__ import annotations

import types
import warnings
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.complex_parts import PART, memory_as_pairs
from ..record.dispatch import HANDLERS, WRITING
from ..record.recorder import Recorder
from ..values.indexing import KEYS, Keys
from . import creation as _creation  # noqa: F401 (registers what it implements)
from . import linear_algebra as _linear_algebra  # noqa: F401
from . import special as _special  # noqa: F401
from .complex_scalar import ComplexScalar
from .complex_tracer import ComplexTracer, PlanesStorage
from .elementwise import complex_ufunc, python_or_not
from .functions import COMPLEX_FUNCTIONS, METHODS_OF_UFUNCS
from .pairs import from_pairs, is_complex_value, parts_of_operand


def with_pairs(key: Any) -> tuple[Any, ...]:
    """A key of a complex array as one of its pairs."""
    parts = key if type(key) is tuple else (key,)
    return (*parts, slice(None)) if any(part is Ellipsis for part in parts) else (*parts, ..., slice(None))


def get_item(array: ComplexTracer, key: Any) -> Any:
    """`array[key]`."""
    recorder = array.recorder
    key = with_pairs(key)
    found = array.pairs[key]
    if not recorder.is_array(found):
        raise found.refused("takes a part of a complex array as")
    if found.ndim > 1 or key[-2] is not Ellipsis or Ellipsis in [k for k in key[:-2] if k is Ellipsis]:
        return from_pairs(recorder, found)
    real, imag = found[0], found[1]
    if not recorder.is_scalar(real):
        return array.dtype.type(complex(real, imag))
    return ComplexScalar(recorder, real, imag)


def put_item(array: ComplexTracer, key: Any, value: Any) -> None:
    """`array[key] = value`."""
    recorder = array.recorder
    kind = type(value)
    if (kind is list or kind is tuple) and not recorder.is_concrete(value):
        value = recorder.call(np.asarray, (value,), {})
        kind = type(value)
    if recorder.is_concrete(value):
        array.pairs[with_pairs(key)] = memory_as_pairs(np.asarray(recorder.plain(value)).astype(array.dtype))
    elif kind is ComplexTracer and not (isinstance(value.storage, PlanesStorage) and value.storage.buffer is None):
        array.pairs[with_pairs(key)] = value.pairs
    elif is_complex_value(value):
        real, imag = (
            np.zeros((), PART[array.dtype]) if v is None else recorder.result(v)
            for v in parts_of_operand(recorder, value)
        )
        array.real[key] = real
        array.imag[key] = imag
    else:
        array.real[key] = value
        array.imag[key] = 0.0


def put_in_real(array: Any, key: Any, value: Any) -> None:
    """`array[key] = value` of a real array and a complex value: NumPy's error, or its warning and the real part."""
    if type(value) is ComplexScalar and value.is_python:
        np.zeros(1)[0] = 1j  # type: ignore[call-overload]  # its error
    warnings.warn(
        "Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning, stacklevel=4
    )
    array[key] = np.real(value)


class ComplexCalls:
    """How what meets complex values is recorded; `get` and `put` are the items of an array."""

    def __init__(self) -> None:
        self.get, self.put = get_item, put_item
        self.traced: list[Any] = []  # the functions of NumPy whose Python code is being traced

    def call(self, recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        items = (*args, *kwargs.values())
        known = all(recorder.is_concrete(item) for item in items)
        if known and function not in WRITING and kwargs.get("out") is None:
            return recorder.adopt(function(*recorder.plain(args), **recorder.plain(kwargs)), items)
        implementation = COMPLEX_FUNCTIONS.get(function)
        try:
            if implementation is not None:
                return implementation(recorder, *args, **kwargs)
            if isinstance(function, np.ufunc):
                return complex_ufunc(recorder, function, args, **kwargs)
            code = getattr(function, "_implementation", None)
            if type(code) is not types.FunctionType or function in self.traced:  # which calls its array's own method
                raise refused_function(recorder, function)
            self.traced.append(function)
            try:
                return recorder.call_python(function, args, kwargs)
            finally:
                self.traced.pop()
        except UnsupportedError as error:
            if recorder.here() in str(error):
                raise
            raise UnsupportedError(f"{recorder.here()}: {error}") from None

    def ufunc(self, recorder: Recorder, ufunc: np.ufunc, method: str, operands: tuple[Any, ...], options: Any) -> Any:
        if method == "__call__":
            if ufunc in COMPLEX_FUNCTIONS:
                return self.call(recorder, ufunc, operands, dict(options))
            wanted = dict(options)
            is_operator = wanted.pop("is_operator", False)
            surplus = set(wanted) - {"out", "where", "dtype", "casting"}
            if surplus:
                raise UnsupportedError(f"{recorder.here()}: numpy.{ufunc.__name__} with {', '.join(sorted(surplus))}=")
            result = complex_ufunc(recorder, ufunc, operands, **wanted)
            return python_or_not(recorder, result, operands) if is_operator else result
        recorder.mark()
        implementation = METHODS_OF_UFUNCS.get((ufunc, method)) or METHODS_OF_UFUNCS.get((None, method))
        if implementation is None:
            raise UnsupportedError(
                f"{recorder.here()}: numpy.{ufunc.__name__}.{method} has no rule for complex numbers"
            )
        return implementation(recorder, ufunc, *operands, **options)


def refused_function(recorder: Recorder, function: Any) -> UnsupportedError:
    name = f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}"
    return UnsupportedError(
        f"{recorder.here()}: {name} has no rule for complex values; write it with real and imaginary parts, z.real and "
        f"z.imag"
    )


CALLS = ComplexCalls()
for _kind in (ComplexTracer, ComplexScalar, complex, np.complex128, np.complex64):
    HANDLERS[_kind] = CALLS  # type: ignore[assignment]
KEYS.append(
    Keys(
        takes=lambda recorder, key, value: is_complex_value(value),
        get=lambda array, key: None,
        put=put_in_real,
    )
)
