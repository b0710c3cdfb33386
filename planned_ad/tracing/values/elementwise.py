"""Ufuncs on traced operands: promotion, broadcasting, `out=`, `where=`, and the ufunc methods."""

from __future__ import annotations

import fractions
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...tape.tape import Value
from ..record.conversions import PLAIN_TARGET
from ..record.dispatch import FUNCTIONS, METHODS, handler_of
from ..record.promotion import BOOL, INT, common_shape, memory_like, operand, resolved
from ..record.recorder import Recorder
from ..record.traced import NotAnOperand, Traced, is_like_tuple, owning, with_plain_tuples
from . import identity
from .indexing import accumulate
from .number_types import ALWAYS_ONE, OF_TRUTHS, PYTHON, types_in, types_of_result
from .python_errors import (
    GROWING,
    RAISING,
    SUMS,
    are_within,
    is_fraction,
    may_be_large,
    raise_as_operator,
    require_64_bits,
)
from .ufuncs import OF_ORDER, UFUNCS, known_power

OF_FRACTIONS = (np.add, np.subtract, np.multiply, np.true_divide, np.power)
POWERS = (np.power, np.float_power)
# Of the methods of ufuncs, by name: what they take after the array.
ARGUMENTS = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype", "out"),
    "reduceat": ("indices", "axis", "dtype", "out"),
}


def operate(recorder: Recorder, ufunc: np.ufunc, *operands: Any) -> Any:
    """An operator such as `a + b`; NotImplemented for operands that it is not defined for."""
    kinds: list[Any] = [*map(type, operands)]
    if any([issubclass(kind, tuple | list) for kind in kinds]):
        if ufunc is np.multiply and not any(map(recorder.is_array, operands)):
            return NotImplemented  # numbers repeat it, or raise
        if not any(map(is_of_numpy, operands)) and any(map(is_like_tuple, kinds)):
            return NotImplemented  # Python asks its class
        operands = tuple(map(with_plain_tuples, operands))
    try:
        return recorder.watch.aside(elementwise, recorder, ufunc, operands, is_operator=True)
    except NotAnOperand:
        return with_others(recorder, ufunc, operands)


def is_of_numpy(operand: Any) -> bool:
    """Whether it is a traced array, or one of NumPy's numbers, which take a sequence for an array."""
    return issubclass(type(operand), Traced) and not getattr(operand, "is_python", False)


def with_others(recorder: Recorder, ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
    """An operator with objects that Python makes floats of, or NumPy arrays; NotImplemented with others."""
    kinds = [type(obj) for obj in operands if not issubclass(type(obj), Traced)]
    if fractions.Fraction in kinds and ufunc in OF_FRACTIONS and any(map(recorder.is_scalar, operands)):
        floats = [float(obj) if type(obj) is fractions.Fraction else obj for obj in operands]
        return operate(recorder, ufunc, *floats).item()
    if any(map(recorder.is_array, operands)) and all(is_like_array(kind) for kind in kinds):
        return operate(recorder, ufunc, *(o if issubclass(type(o), Traced) else o.__array__() for o in operands))
    return NotImplemented


def is_like_array(kind: type) -> bool:
    """Whether NumPy takes an array for an object of this class, and asks it nothing else."""
    return hasattr(kind, "__array__") and not (hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_priority__"))


def elementwise(
    recorder: Recorder,
    ufunc: np.ufunc,
    operands: tuple[Any, ...],
    *,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    is_operator: bool = False,
) -> Any:
    """`ufunc(*operands)`, recorded; computed where all operands are known numbers.

    An operator on Python floats gives a Python float (`is_operator`), as a ufunc does not.
    """
    recorder.mark()
    handler = handler_of(
        (*operands, out, dtype) if dtype is not None else operands if out is None else (*operands, out)
    )
    if handler is None:
        found = record_ufunc(recorder, ufunc, operands, out, where, dtype, casting, is_operator)
        if recorder.errors is not None and not (is_operator and _all_python(recorder, operands)):
            recorder.errors.of_ufunc(ufunc, operands, found)
        return found
    if recorder.errors is not None:
        recorder.errors.refuse()
    return handler.ufunc(
        recorder,
        ufunc,
        "__call__",
        operands,
        {"out": out, "where": where, "dtype": dtype, "casting": casting}
        | ({"is_operator": True} if is_operator else {}),
    )


def record_ufunc(
    recorder: Recorder,
    ufunc: np.ufunc,
    operands: tuple[Any, ...],
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    is_operator: bool = False,
    common: Callable[[list[tuple[int, ...]]], tuple[int, ...]] = common_shape,
) -> Any:
    """As `elementwise`, of operands whose shapes broadcast to what `common` says."""
    operands = tuple([o.traced() if issubclass(type(o), Traced) else o for o in operands])
    may_grow = is_operator and ufunc in GROWING and any(map(recorder.is_scalar, operands))
    may_grow = may_grow and (ufunc not in SUMS or all(map(may_be_large, operands)))
    may_grow = may_grow and not (ufunc is np.right_shift and type(operands[1]) is int)
    may_grow = may_grow and not (ufunc is np.multiply and any(type(o) is int and abs(o) <= 1 for o in operands))
    facts = [operand(recorder, obj) for obj in operands]
    if ufunc.__name__ in OF_ORDER:
        facts = [_compared(recorder, obj, fact, other) for obj, fact, other in zip(operands, facts, facts[::-1])]
    if out is None and where is True and all(known for _, _, known in facts):
        plain = recorder.plain(operands)
        return recorder.adopt(ufunc(*plain) if dtype is None else ufunc(*plain, dtype=dtype))
    emit = UFUNCS.get(ufunc)
    if emit is None:
        raise recorder.unsupported(ufunc)
    if (
        is_operator
        and ufunc in OF_TRUTHS
        and all(kind is BOOL for kind, _, _ in facts)
        and _all_python(recorder, operands)
    ):
        operands = tuple(
            recorder.result(recorder.value_of(obj, INT)).item() for obj in operands
        )  # Python's truths add up
        return elementwise(recorder, ufunc, operands, is_operator=True)
    if is_operator and ufunc in RAISING and _all_python(recorder, operands):
        raise_as_operator(recorder, ufunc, operands)
        if ufunc is np.power and is_fraction(recorder, operands):
            base = recorder.result(recorder.value_of(operands[0], np.float64)).item()
            return elementwise(recorder, ufunc, (base, operands[1]), is_operator=True)
    dtypes = resolved(ufunc, tuple([kind for kind, _, _ in facts]), None if dtype is None else np.dtype(dtype))
    if may_grow and dtypes[-1].kind == "i" and _all_python(recorder, operands):
        require_64_bits(recorder, ufunc, operands)
    several = recorder.gives_several and dtype is None and any(map(types_in, operands))
    types = types_of_result(recorder, ufunc, operands, facts, dtypes[-1], is_operator) if several else ALWAYS_ONE
    shape = common([shape for _, shape, _ in facts])
    exponent = _known_exponent(recorder, ufunc, operands, facts, dtypes)
    try:
        if exponent is None:
            values = [_value(recorder, obj, kind, shape) for obj, kind in zip(operands, dtypes)]
            result = emit(recorder, *values)
        else:
            result = known_power(recorder, _value(recorder, operands[0], dtypes[0], shape), exponent)
    except (KeyError, TypeError) as error:
        names = ", ".join(str(kind) for kind in dtypes[: ufunc.nin])
        raise UnsupportedError(f"{recorder.here()}: numpy.{ufunc.__name__} of {names} has no rule yet") from error
    if ufunc.nout > 1:
        results = [_finish(recorder, v, d, operands, shape) for v, d in zip(result, dtypes[ufunc.nin :])]
        return tuple(_python_or_not(recorder, r, operands) if is_operator else r for r in results)
    if out is not None:
        return _into(recorder, ufunc, out, recorder.builder.cast(result, dtypes[-1]), where, casting)
    if where is not True:
        raise UnsupportedError(
            f"{recorder.here()}: where= without out= leaves elements undefined; "
            f"use numpy.where(condition, numpy.{ufunc.__name__}(...), other), or give out="
        )
    result = _finish(recorder, result, dtypes[-1], operands, shape)
    result = _python_or_not(recorder, result, operands) if is_operator and shape == () else result
    if types:
        result.types = types
    return result


INT_ENDS = np.iinfo(INT)


def _compared(recorder: Recorder, obj: Any, fact: Any, other: Any) -> Any:
    """What an operand of a comparison is: one of Python's integers as large as it is, whatever it is compared with."""
    if fact[0] is not int or not isinstance(other[0], np.dtype) or other[0].kind not in "iu":
        return fact
    if fact[2]:  # a number that is known, which one type more has beside all that this one has, but for the largest
        is_between = type(obj) is int and INT_ENDS.min <= obj <= INT_ENDS.max and other[0].itemsize < INT.itemsize
        return (INT, *fact[1:]) if is_between and not are_within((obj, obj), other[0]) else fact
    return fact if are_within(recorder.builder.limits.of(recorder.value_of(obj)), other[0]) else (INT, *fact[1:])


def _python_or_not(recorder: Recorder, result: Any, operands: tuple[Any, ...]) -> Any:
    """Mark a scalar as a Python number where all operands are; known at once where its identity is asked for."""
    if recorder.is_scalar(result):
        result.is_python = _all_python(recorder, operands)
        if result.is_python and result.dtype.kind == "b":
            return identity.truth_or_stand_in(recorder, result)
    return result


def _all_python(recorder: Recorder, operands: tuple[Any, ...]) -> bool:
    """Whether all operands are Python numbers, so that an operator's result is one."""
    return all([type(o) in PYTHON or (recorder.is_scalar(o) and o.is_python) for o in operands])


def _value(recorder: Recorder, obj: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Value:
    value = recorder.value_of(obj, dtype)
    return value if value.shape == () or value.shape == shape else recorder.builder.broadcast(value, shape)


def _finish(recorder: Recorder, value: Value, dtype: np.dtype, operands: Any, shape: Any) -> Any:
    value = recorder.builder.cast(value, dtype)
    if shape == ():
        return recorder.result(value)
    value = recorder.builder.broadcast(value, shape)
    base = memory_like(list(operands), shape, dtype)
    return owning(recorder.array(value) if base is None else recorder.fresh(base, value))


def _known_exponent(recorder: Recorder, ufunc: Any, operands: Any, facts: Any, dtypes: Any) -> float | None:
    """The exponent of a power, where it is a number that is known."""
    if ufunc not in POWERS or not facts[1][2] or facts[1][1] != ():
        return None
    exponent = recorder.number_of(operands[1]).item()
    if dtypes[0].kind != "f" and exponent < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    return exponent if math.isfinite(exponent) else None


def _into(recorder: Recorder, ufunc: Any, out: Any, value: Value, where: Any, casting: Any) -> Any:
    """Fill `out` with a ufunc's result, where `where` holds."""
    if isinstance(out, tuple):
        (out,) = out
    if not recorder.is_array(out):
        raise UnsupportedError(
            f"{recorder.here()}: a traced result cannot be written to a plain array, which a library's object has "
            f"made. {PLAIN_TARGET}"
        )
    if not np.can_cast(value.dtype, out.dtype, casting):
        # As NumPy words it, and of NumPy's type.
        ufunc(*[np.zeros((), value.dtype)] * ufunc.nin, out=np.zeros((), out.dtype), casting=casting)
        raise TypeError(f"Cannot cast ufunc {ufunc.__name__!r} output from {value.dtype} to {out.dtype}")
    shape = out.geometry.shape
    if value.shape != shape and np.broadcast_shapes(value.shape, shape) != shape:
        text = [str(s).replace(" ", "") for s in (shape, np.broadcast_shapes(value.shape, shape))]
        raise ValueError(
            f"non-broadcastable output operand with shape {text[0]} doesn't match the broadcast shape {text[1]}"
        )
    if where is not True:
        mask = recorder.value_of(where)
        if mask.dtype.kind != "b":
            raise TypeError("where= must be boolean")
        old = out.read()
        parts = [recorder.builder.cast(value, out.dtype), old]
        parts = [v if v.shape == () else recorder.builder.broadcast(v, shape) for v in (mask, *parts)]
        value = recorder.apply("where", *parts)
    out.write(value)
    return out


def array_ufunc(recorder: Recorder, ufunc: np.ufunc, method: str, inputs: tuple, kwargs: Mapping[str, Any]) -> Any:
    """The NumPy protocol: `ufunc(*inputs, **kwargs)` or one of the ufunc's methods, some input being traced."""
    options = {name: value for name, value in kwargs.items() if not _is_default(name, value)}
    out = options.get("out")
    if isinstance(out, tuple) and len(out) == 1:
        options["out"] = out = out[0]
    if isinstance(out, tuple) and any(o is not None for o in out):
        raise UnsupportedError(f"{recorder.here()}: out= for a function with several results is not supported")
    handler = handler_of(inputs) if method != "__call__" or ufunc is np.matmul else None
    if handler is not None:
        return handler.ufunc(recorder, ufunc, method, inputs, options)
    if method == "__call__":
        function = FUNCTIONS.get(ufunc)
        if function is not None:
            return recorder.call(ufunc, inputs, options)
        surplus = set(options) - {"out", "where", "dtype", "casting"}
        if surplus:
            raise UnsupportedError(f"{recorder.here()}: numpy.{ufunc.__name__} with {', '.join(sorted(surplus))}=")
        try:
            return elementwise(recorder, ufunc, inputs, **options)
        except NotAnOperand:
            return NotImplemented
    recorder.mark()
    if out is None and method != "at" and all(recorder.is_concrete(obj) for obj in inputs):
        return recorder.adopt(getattr(ufunc, method)(*recorder.plain(inputs), **recorder.plain(dict(options))))
    if method == "at":
        return _at(recorder, ufunc, *inputs)
    if method == "outer":
        a, b = (recorder.array(recorder.value_of(obj)) for obj in inputs)
        return elementwise(recorder, ufunc, (a[(..., *(None,) * b.ndim)], b), **options)
    options = dict(zip(ARGUMENTS[method], inputs[1:])) | options
    options.setdefault("axis", 0)
    if options.get("dtype", 0) is None:
        del options["dtype"]
    found = METHODS[method](recorder, ufunc, inputs[0], options)
    return found if recorder.errors is None else recorder.errors.of_function(ufunc, inputs, found)


def _is_default(name: str, value: Any) -> bool:
    return value is None if name in ("out", "dtype") else name == "where" and value is True


def _at(recorder: Recorder, ufunc: np.ufunc, array: Any, index: Any, *operands: Any) -> None:
    """`ufunc.at`: unbuffered, so that an index that occurs twice counts twice."""
    if ufunc is np.add:
        return accumulate(array, index, operands[0])
    if ufunc is np.subtract:
        return accumulate(array, index, -operands[0])
    return METHODS["at"](recorder, ufunc, array, index, *operands)
