"""Dtypes, shapes and memory order of results: NumPy's own rules, asked of NumPy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.complex_parts import PART
from .recording import Recording
from .refusals import subclass_instead
from .traced import NotAnOperand, Traced, TracedArray

Type = Any  # a dtype, or float or int for a number whose dtype gives way to its partner's (NEP 50)

KINDS = frozenset(
    np.dtype(name)
    for name in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
)
BOOL, INT, FLOAT = np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)
WEAK = {"f": float, "i": int}
_PYTHON = {float: FLOAT, int: INT, bool: BOOL, complex: np.dtype(complex)}


def dtype_of(number: Any) -> np.dtype:
    """The dtype of a Python or NumPy number on its own."""
    dtype = _PYTHON.get(type(number))
    return np.asarray(number).dtype if dtype is None else dtype


def operand(recorder: Recording, obj: Any) -> tuple[Type, tuple[int, ...], bool]:
    """Type and shape of an operand, and whether its numbers are known."""
    kind = type(obj)
    if issubclass(kind, Traced):
        return obj.operand()
    if kind is float or kind is int:
        return kind, (), True
    if kind is bool:
        return BOOL, (), True
    if kind is np.ndarray or isinstance(obj, np.generic):
        if obj.dtype not in KINDS and obj.dtype not in PART:
            raise recorder.unsupported_dtype(obj.dtype)
        return obj.dtype, obj.shape, True
    if kind is list or kind is tuple:
        if not recorder.is_concrete(obj):
            value = recorder.stacked(obj)
            return value.dtype, value.shape, False
        array = np.asarray(recorder.plain(obj))
        return array.dtype, array.shape, True
    if kind is complex:
        return complex, (), True
    if isinstance(obj, np.ndarray):
        raise UnsupportedError(f"{recorder.here()}: an operand is a {subclass_instead(kind)}")
    if isinstance(obj, int | float):  # of a subclass, such as an enumeration of integers
        return int if isinstance(obj, int) else float, (), True
    raise NotAnOperand


@functools.lru_cache(maxsize=4096)
def resolved(ufunc: np.ufunc, types: tuple[Type, ...], dtype: np.dtype | None) -> tuple[np.dtype, ...]:
    """The dtypes of the ufunc's loop: inputs, then outputs."""
    if all(isinstance(kind, type) for kind in types):
        types = tuple(_PYTHON[kind] for kind in types)
    wanted: dict[str, Any] = (
        {} if dtype is None else {"signature": (None,) * ufunc.nin + (dtype,) * ufunc.nout, "casting": "same_kind"}
    )
    dtypes = ufunc.resolve_dtypes((*types, *(None,) * ufunc.nout), **wanted)
    for found in dtypes:
        if found not in KINDS:
            raise UnsupportedError(
                f"numpy.{ufunc.__name__} of {', '.join(map(str, types))} computes in {found}, which is not supported; "
                f"convert the operand first, for example with .astype(np.float64)"
            )
    return dtypes


def common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """What `shapes` broadcast to; NumPy's error where they do not."""
    first = shapes[0]
    if len(shapes) == 1:
        return first
    if len(shapes) == 2:
        second = shapes[1]
        if first == second or second == ():
            return first
        if first == ():
            return second
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(str(shape).replace(" ", "") for shape in shapes)
        raise ValueError(f"operands could not be broadcast together with shapes {text} ") from None


def memory_like(operands: list[Any], shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray | None:
    """Memory in which NumPy would lay out the result of these operands; None for row-major order.

    It follows the operands ('K' order), which decides later whether a reshape is a view or a copy.
    """
    if len(shape) < 2:
        return None
    arrays = [a.geometry if issubclass(type(a), TracedArray) else a for a in operands]
    arrays = [a for a in arrays if type(a) is np.ndarray]
    if all(a.flags.c_contiguous for a in arrays):
        return None
    flags = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
    dtypes = [None] * len(arrays) + [dtype]
    shapes = [a.shape for a in arrays]
    if np.broadcast_shapes(*shapes) != shape:
        arrays.append(np.broadcast_to(np.zeros((), np.int8), shape))
        flags.insert(0, ["readonly"])
        dtypes.insert(0, None)
    iterator = np.nditer([*arrays, None], ["zerosize_ok"], flags, dtypes, order="K")  # type: ignore[call-overload]
    return iterator.operands[-1]
