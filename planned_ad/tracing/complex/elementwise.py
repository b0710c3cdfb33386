"""Ufuncs of which an operand, or the result, is complex: promotion, broadcasting, `out=` and the ufunc methods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.complex_parts import PART
from ...python.library_names import public_name
from ...tape.tape import Value
from ..record.promotion import common_shape, memory_like
from ..record.recorder import Recorder
from ..record.traced import Traced
from ..values.elementwise import record_ufunc
from .complex_scalar import ComplexScalar
from .complex_tracer import ComplexTracer
from .formulas import FORMULAS, whole_power
from .pairs import is_complex_value, of_values, parts_of_operand, traced_kind
from .reals import ComplexValue, Real

PYTHON = (complex, float, int, bool)
MOST = 100  # whole exponents below this are products, as in NumPy


def complex_ufunc(
    recorder: Recorder,
    ufunc: np.ufunc,
    operands: tuple[Any, ...],
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Any:
    """`ufunc(*operands)`, recorded; computed where all operands are known numbers."""
    operands = tuple([as_operand(recorder, obj) for obj in operands])
    facts = [traced_kind(recorder, obj) for obj in operands]
    if out is None and where is True and all(known for _, _, known in facts):
        plain = recorder.plain(operands)
        return recorder.adopt(ufunc(*plain) if dtype is None else ufunc(*plain, dtype=dtype))
    dtypes = loop_of(recorder, ufunc, [kind for kind, _, _ in facts], dtype)
    if all(found.kind != "c" for found in dtypes[: ufunc.nin]):
        operands = tuple([obj != 0 if is_complex_value(obj) else obj for obj in operands])  # of truths
        result = record_ufunc(recorder, ufunc, operands, dtype=dtype)
        return into(recorder, ufunc, out, result, where, casting)
    formula = FORMULAS.get(ufunc)
    if formula is None:
        raise UnsupportedError(
            f"{recorder.here()}: {public_name(ufunc)} of complex numbers has no rule; write it with real "
            f"and imaginary parts, z.real and z.imag"
        )
    shape = common_shape([shape for _, shape, _ in facts])
    pairs = [operand_pair(recorder, obj, found, shape) for obj, found in zip(operands, dtypes)]
    exponent = whole_exponent(recorder, ufunc, operands, facts)
    found = formula(*pairs) if exponent is None else whole_power(pairs[0], exponent)
    result = complex_result(recorder, found, dtypes[-1], operands, shape)
    return into(recorder, ufunc, out, result, where, casting)


def as_operand(recorder: Recorder, obj: Any) -> Any:
    """An operand as an array or number."""
    if type(obj) in (list, tuple):
        return recorder.call(np.asarray, (obj,), {})
    return obj.traced() if issubclass(type(obj), Traced) else obj


def loop_of(recorder: Recorder, ufunc: np.ufunc, kinds: list[Any], dtype: Any) -> tuple[np.dtype, ...]:
    """The dtypes of the ufunc's loop: inputs, then outputs."""
    wanted: dict[str, Any] = {}
    if dtype is not None:
        wanted = {"signature": (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout, "casting": "same_kind"}
    if all(isinstance(kind, type) for kind in kinds):
        widest = next(kind for kind in PYTHON if kind in kinds)
        kinds = [np.dtype(widest)] * len(kinds)
    return ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), **wanted)


def operand_pair(recorder: Recorder, obj: Any, dtype: np.dtype, shape: tuple[int, ...]) -> ComplexValue:
    """An operand of a formula."""

    def part(value: Value | None) -> Real | None:
        if value is None:
            return None
        value = recorder.builder.cast(value, PART.get(dtype, dtype))
        return Real(recorder, value if value.shape == () else recorder.builder.broadcast(value, shape))

    return ComplexValue(*map(part, parts_of_operand(recorder, obj)))


def whole_exponent(recorder: Recorder, ufunc: np.ufunc, operands: Any, facts: Any) -> int | None:
    """The exponent of a power, where it is a known whole number that is not large."""
    if ufunc not in (np.power, np.float_power) or not facts[1][2] or facts[1][1] != ():
        return None
    exponent = complex(recorder.number_of(operands[1]).item())
    is_whole = exponent.imag == 0 and math.isfinite(exponent.real) and exponent.real == int(exponent.real)
    return int(exponent.real) if is_whole and abs(exponent.real) < MOST else None


def complex_result(
    recorder: Recorder, found: ComplexValue | Real, dtype: np.dtype, operands: Any, shape: tuple[int, ...]
) -> Any:
    """What NumPy returns of a formula's result."""
    like = memory_like(list(operands), shape, dtype) if len(shape) > 1 else None
    if isinstance(found, Real):
        value = recorder.builder.broadcast(recorder.builder.cast(found.value, dtype), shape)
        return recorder.array(value, like) if shape else recorder.result(value)
    real, imag = (None if part is None else recorder.builder.broadcast(part.value, shape) for part in found.parts)
    return of_values(recorder, real, imag, dtype, like)


def into(recorder: Recorder, ufunc: np.ufunc, out: Any, result: Any, where: Any, casting: Any) -> Any:
    """Fill `out`, if there is one, with a result."""
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        if where is not True:
            raise UnsupportedError(f"{recorder.here()}: where= without out= leaves elements undefined; use numpy.where")
        return result
    if not recorder.is_array(out) and type(out) is not ComplexTracer:
        raise UnsupportedError(f"{recorder.here()}: a traced result cannot be written to a plain array; copy it first")
    if not np.can_cast(result.dtype, out.dtype, casting):
        ufunc(*[np.zeros((), result.dtype)] * ufunc.nin, out=np.zeros((), out.dtype), casting=casting)
    if np.broadcast_shapes(result.shape, out.shape) != out.shape:
        raise ValueError(f"non-broadcastable output operand with shape {out.shape} doesn't match {result.shape}")
    out[...] = result if where is True else np.where(where, result, out)
    return out


def python_or_not(recorder: Recorder, result: Any, operands: tuple[Any, ...]) -> Any:
    """The result of an operator: a Python number where all operands are."""
    scalars = (recorder.is_scalar(result), type(result) is ComplexScalar)
    if not any(scalars):
        return result
    is_python = all(
        type(o) in PYTHON or ((recorder.is_scalar(o) or type(o) is ComplexScalar) and o.is_python) for o in operands
    )
    if not is_python or result.is_python:
        return result
    return result.item()
