"""Ways between complex values and their pairs of reals.

A program's complex array and the array of its pairs, with a last axis of length 2, show the same memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...python.complex_parts import PART, WHOLE, is_complex_array, memory_as_complex, memory_as_pairs
from ...tape.tape import Value
from ..record.promotion import operand
from ..record.recorder import Recorder
from ..record.storage import Storage
from ..record.traced import TRACERS
from ..values.array_tracer import ArrayTracer
from .complex_scalar import ComplexScalar, complex_number
from .complex_tracer import ComplexTracer, Parts, complex_array


def as_pairs(recorder: Recorder, array: Any) -> ArrayTracer:
    """A complex array (or number, or real array) as a real array with a last axis of length 2.

    Of a traced complex array it is a view: writes are seen in both. Arithmetic on the result of arithmetic costs
    nothing; here it gets memory.
    """
    return complex_of(recorder, array).pairs


def from_pairs(recorder: Recorder, pairs: ArrayTracer) -> ComplexTracer:
    """The complex array in the memory of a real one with a last axis of length 2; of a copy where they are apart."""
    geometry = pairs.geometry
    if geometry.size and geometry.strides[-1] != geometry.itemsize:
        pairs = pairs.copy()
    return ComplexTracer(recorder, pairs.storage, memory_as_complex(pairs.geometry))


def whole_of_pairs(pairs: ArrayTracer) -> ComplexTracer:
    """As `from_pairs`, of pairs that follow each other: never a copy."""
    found = ComplexTracer(pairs.recorder, pairs.storage, memory_as_complex(pairs.geometry))
    found._pairs = pairs
    return found


def is_complex_value(obj: Any) -> bool:
    """Whether something is a complex number or array, traced or not."""
    kind = type(obj)
    return kind in (ComplexTracer, ComplexScalar, complex) or (
        isinstance(obj, np.ndarray | np.generic) and obj.dtype.kind == "c"
    )


def complex_of(recorder: Recorder, obj: Any) -> ComplexTracer:
    """Anything that makes a complex array, as a traced one: itself where it is one."""
    kind = type(obj)
    if kind is ComplexTracer:
        return obj
    if is_complex_array(obj):
        return recorder.concrete(obj)
    if kind is list or kind is tuple:
        return complex_of(recorder, recorder.call(np.asarray, (obj,), {}))
    real, imag = parts_of_operand(recorder, obj)
    shape = () if kind is ComplexScalar else np.shape(obj)
    dtype = next(v.dtype for v in (real, imag) if v is not None)
    dtype = dtype if dtype in WHOLE else np.dtype(np.float64)
    real = None if real is None else recorder.builder.cast(real, dtype)
    base = np.empty(shape, WHOLE[dtype])
    return complex_array(recorder, real, imag, base)


def parts_of_operand(recorder: Recorder, obj: Any) -> Parts:
    """The real and imaginary part of an operand; None for one that is 0.0 everywhere."""
    kind = type(obj)
    if kind is ComplexTracer or kind is ComplexScalar:
        return obj.parts()
    if is_complex_value(obj):
        array = np.asarray(obj)
        part = PART[array.dtype]
        real, imag = (None if is_zero(p) else recorder.constant(np.array(p, part)) for p in (array.real, array.imag))
        return (real, imag) if (real, imag) != (None, None) else (recorder.constant(np.zeros((), part)), None)
    return recorder.value_of(obj), None


def of_parts(recorder: Recorder, real: Any, imag: Any) -> Any:
    """The complex number, or array, with these parts."""
    if not any(map(recorder.is_array, (real, imag))):
        return complex_number(recorder, real, imag)
    array = next(v for v in (real, imag) if recorder.is_array(v))
    return complex_array(recorder, recorder.value_of(real), recorder.value_of(imag), array.geometry)


def complex_from(recorder: Recorder, real: Any, imag: Any = 0.0) -> ComplexScalar:
    """What Python's `complex` makes of one or two numbers, some of which are traced."""
    if hasattr(real, "item"):
        real = real.item()
    if hasattr(imag, "item"):
        imag = imag.item()
    if is_complex_value(imag):
        return complex_from(recorder, real) + imag * 1j
    if is_complex_value(real):
        whole = real if type(real) is ComplexScalar else ComplexScalar(recorder, real.real, real.imag, True)
        return whole if type(imag) is float and imag == 0 else whole + imag * 1j
    parts = [TRACERS.scalar(recorder, recorder.value_of(v, np.float64), is_python=True) for v in (real, imag)]
    return ComplexScalar(recorder, parts[0], parts[1], is_python=True)


def is_zero(part: np.ndarray) -> bool:
    return not part.any() and not np.signbit(part).any()


def traced_kind(recorder: Recorder, obj: Any) -> tuple[Any, tuple[int, ...], bool]:
    """Type and shape of an operand, which may be complex, and whether its numbers are known."""
    if type(obj) is complex:
        return complex, (), True
    if is_complex_value(obj) and type(obj) not in (ComplexTracer, ComplexScalar):
        return obj.dtype, obj.shape, True
    return operand(recorder, obj)


def concrete_pairs(recorder: Recorder, array: np.ndarray, captured: str, depth: int) -> ComplexTracer:
    """A known complex array as a traced one, of which it becomes the memory."""
    storage = KnownPairs(array, recorder.builder.line, captured, depth)
    if not captured:
        storage.born(recorder)
    return ComplexTracer(recorder, storage, array)


class KnownPairs(Storage):
    """Known numbers in a complex array."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray, line: Any, captured: str, depth: int):
        super().__init__(memory_as_pairs(array), line, captured=captured, depth=depth)
        self.array = array

    def outside(self) -> np.ndarray:
        return self.array


def of_values(recorder: Recorder, real: Value | None, imag: Value | None, dtype: Any, like: Any = None) -> Any:
    """These parts as NumPy returns them: a number for shape (), else a fresh array, laid out as `like`."""
    shapes = [v.shape for v in (real, imag) if v is not None]
    if all(shape == () for shape in shapes):
        numbers = [None if v is None else TRACERS.scalar(recorder, v) for v in (real, imag)]
        return ComplexScalar(recorder, numbers[0], numbers[1])
    shape = next(shape for shape in shapes if shape != ())
    return complex_array(recorder, real, imag, np.empty(shape, dtype) if like is None else like)


TRACERS.complex_known = concrete_pairs
TRACERS.complex_number = of_parts
TRACERS.complex_of_pairs = whole_of_pairs
TRACERS.complex_of = lambda scalar: complex_of(scalar.recorder, scalar)
