"""What the NumPy functions share: axes, output arguments, dtypes, refusals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ...errors import UnsupportedError
from ...python.source import current_line
from ...tape.guards import RAISES, STRETCHES
from ...tape.tape import Operation, Value
from ..record.recorder import Recorder
from ..values.number_types import types_in
from ..values.python_errors import is_caught

NO_VALUE: Any = np._NoValue  # NumPy's "argument not given"
BOOL = np.dtype(bool)
FLOAT = np.dtype(np.float64)
LAST = 256  # operations among which that is which has made a value


def _here() -> str:
    """The user's present line, to begin a message with."""
    line = current_line()
    return f"{line}, `{line.text}`" if line.text else str(line)


def refuse(function: str, **options: object) -> None:
    """Raise for the first option that was given a value; `None` and NumPy's "not given" are no value."""
    for name, value in options.items():
        if value is not NO_VALUE and value is not None:
            shown = value if isinstance(value, str | int | float | tuple) else "..."
            raise unsupported(f"the argument {name}={shown!r} of {function}", "leave it out")


def unsupported(what: str, instead: str) -> UnsupportedError:
    return UnsupportedError(f"{_here()}: {what} is not supported for traced values; {instead}")


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that `axis` (None: all) names, in ascending order."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def axis_of(axis: int, ndim: int) -> int:
    return normalize_axis_index(axis, ndim)


def made_in_block(recorder: Recorder, value: Value) -> Operation | None:
    """The operation of this block that gives a value; None if that is not among the last ones."""
    last = itertools.islice(reversed(recorder.builder.operations), LAST)
    return next((op for op in last if any(out is value for out in op.outputs)), None)


def raise_where(recorder: Recorder, fails: Any, error: Exception) -> None:
    """Raise NumPy's error where data are such that NumPy does: `fails`, a truth.

    Where the program may handle it there is a branch; else the function itself is run by a call where it fails.
    """
    if recorder.is_concrete(fails):
        if recorder.number_of(fails):
            raise error
    elif is_caught(type(error)):
        if bool(fails):
            raise error
    else:
        holds = recorder.apply("logical_not", recorder.value_of(fails, BOOL))
        recorder.scopes.require_after(holds, RAISES, str(error))


def asarray(recorder: Recorder, obj: object) -> Any:
    """`obj` itself where it is a traced array (writes through it are seen), else an array made of it."""
    if recorder.is_array(obj):
        return obj
    made = recorder.array(recorder.value_of(obj))
    if types_in(obj):
        made.types = types_in(obj)
    return made


def cast(recorder: Recorder, value: Value, dtype: Any) -> Value:
    return recorder.builder.cast(value, np.dtype(dtype))


def broadcast(recorder: Recorder, value: Value, shape: tuple[int, ...]) -> Value:
    return recorder.builder.broadcast(value, shape)


def reshape(recorder: Recorder, value: Value, shape: tuple[int, ...]) -> Value:
    return recorder.builder.reshape(value, shape)


def constant(recorder: Recorder, number: object, dtype: Any) -> Value:
    return recorder.builder.constant(number, np.dtype(dtype))


def promoted(recorder: Recorder, *objects: object, least: Any = None) -> list[Value]:
    """The arrays that `objects` are, all of their common dtype (and at least `least`)."""
    values = [recorder.value_of(obj) for obj in objects]
    dtype = np.result_type(*(v.dtype for v in values), *([] if least is None else [least]))
    return [cast(recorder, v, dtype) for v in values]


def floating(recorder: Recorder, obj: object) -> Value:
    """`obj`, integers and booleans as float64."""
    value = recorder.value_of(obj)
    return value if value.dtype.kind == "f" else cast(recorder, value, FLOAT)


def elementwise(recorder: Recorder, primitive: str, *values: Value) -> Value:
    """A primitive on values that NumPy would broadcast."""
    shape = np.broadcast_shapes(*(v.shape for v in values))
    return recorder.apply(primitive, *(v if v.shape == () else broadcast(recorder, v, shape) for v in values))


def deliver(recorder: Recorder, value: Value, out: object = None, like: np.ndarray | None = None) -> Any:
    """`value` as what a NumPy function returns: a scalar or a fresh array, or `out` after filling it.

    A fresh array lies in memory in row-major order, or in the order of the array `like`, of the same shape.
    """
    if isinstance(out, tuple):
        (out,) = out
    return recorder.result(value, like) if out is None else store(recorder, value, out)


def geometry(recorder: Recorder, obj: object) -> np.ndarray | None:
    """An array that lies in memory as `obj` does, where `obj` is an array."""
    if recorder.is_array(obj):
        return obj.geometry  # type: ignore[attr-defined]
    return obj if type(obj) is np.ndarray else None


def without_axes(array: np.ndarray | None, axis: object, keepdims: object) -> np.ndarray | None:
    """How NumPy lays out a reduction of `array`: the axes that are left keep their order in memory."""
    if array is None or array.ndim < 2 or not array.size or array.flags.c_contiguous:
        return None
    kept = keepdims is not NO_VALUE and keepdims
    index = tuple(
        (slice(0, 1) if kept else 0) if k in axes_of(axis, array.ndim) else slice(None) for k in range(array.ndim)
    )
    return np.asarray(array[index])


def store(recorder: Recorder, value: Value, out: Any) -> Any:
    """Fill the `out=` argument as NumPy does: equal shape, casting of the same kind."""
    if not recorder.is_array(out):
        raise unsupported("out= with an array made outside the traced function", "pass that array as an argument")
    if out.shape != value.shape:
        raise ValueError(f"output array of shape {out.shape} does not match the result's shape {value.shape}")
    if not np.can_cast(value.dtype, out.dtype, "same_kind"):
        raise TypeError(f"cannot cast the result from {value.dtype!r} to out's {out.dtype!r} (rule 'same_kind')")
    out[...] = recorder.array(value)
    return out


def sequence(obj: object) -> Sequence[Any]:
    """`obj` as the sequence of arrays that `stack` and its kin take."""
    if not hasattr(obj, "__getitem__"):
        raise TypeError('arrays to stack must be passed as a "sequence" type such as list or tuple.')
    return list(obj)  # type: ignore[call-overload]


FEW_NUMBERS = 8  # of a list that is gone through number by number


def is_few_numbers(recorder: Recorder, a: Any) -> bool:
    """Whether an argument is a list of a few floats, some of which are traced."""
    if type(a) not in (list, tuple) or len(a) > FEW_NUMBERS:
        return False
    traced = [number for number in a if recorder.is_scalar(number)]
    known = [number for number in a if type(number) in (float, int, np.float64)]
    return bool(traced) and len(traced) + len(known) == len(a) and all(v.dtype == FLOAT for v in traced)


def without_derivative(recorder: Recorder, array: Any) -> Any:
    """As a constant to derivatives."""
    if recorder.is_concrete(array):
        return array
    if array.dtype.kind == "c":
        return without_derivative(recorder, array.real) + 1j * without_derivative(recorder, array.imag)
    return recorder.array(recorder.apply("stop_gradient", recorder.value_of(array)))


def requires(recorder: Recorder, condition: Callable[[], Any], what: str) -> bool:
    """Require something of all runs of this trace; False where a run has shown otherwise, as the next trace is told.

    `what`: by which it is told apart from what else is required on the same line.
    """
    builder, line = recorder.builder, recorder.builder.line
    own = replace(line, function=f"{line.function}, {what}")
    if own in recorder.scopes.decisions.stretched:
        return False
    holds = recorder.value_of(condition())
    builder.line = own
    recorder.scopes.require_after(holds, "length", STRETCHES)
    builder.line = line
    return True
