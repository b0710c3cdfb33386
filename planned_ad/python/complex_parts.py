"""Complex numbers and arrays as pairs of reals, which is what they are in memory: containers of floating leaves.

A complex array is a container of one real array with one more axis, of length 2, in the very same memory; a complex
number is one of two floats. So whatever takes arguments and results apart needs to know nothing else about them.

>>> z = np.array([1 + 2j, 3 + 4j])
>>> memory_as_pairs(z)
array([[1., 2.],
       [3., 4.]])
>>> memory_as_complex(memory_as_pairs(z)).base is None, np.shares_memory(memory_as_complex(memory_as_pairs(z)), z)
(False, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class ComplexArray:
    """The kind of a structure that is a complex array: of its pairs."""


NUMBERS: dict[type, type] = {complex: float, np.complex128: np.float64, np.complex64: np.float32}  # and their parts
WHOLE_NUMBER: dict[type, Any] = {part: number for number, part in NUMBERS.items()}
_SINGLE, _DOUBLE = np.dtype(np.complex64), np.dtype(np.complex128)
WHOLE: dict[np.dtype, np.dtype] = {np.dtype(np.float64): _DOUBLE, np.dtype(np.float32): _SINGLE}
PART: dict[np.dtype, np.dtype] = {whole: part for part, whole in WHOLE.items()}


def is_complex_array(node: Any) -> bool:
    """Whether `node` is a plain array of pairs of native floats."""
    return type(node) is np.ndarray and node.dtype in PART and node.dtype.isnative


def memory_as_pairs(array: np.ndarray) -> np.ndarray:
    """The memory of a complex array as real numbers, with a last axis of length 2."""
    return array[..., None].view(PART[array.dtype])


def memory_as_complex(pairs: np.ndarray) -> np.ndarray:
    """The memory of real pairs, which follow each other, as complex numbers."""
    return pairs.view(WHOLE[pairs.dtype])[..., 0]


def kind_of_parts(node: Any) -> Any:
    """The kind of container that a complex number or array is, also one that is traced; None of anything else."""
    kind = type(node)
    if kind in NUMBERS:
        return complex
    return ComplexArray if is_complex_array(node) else getattr(kind, "kind_of_parts", None)


def complex_parts(node: Any) -> list[tuple[str, Any]]:
    """Names and values of the parts of one."""
    if type(node) in NUMBERS:
        part = NUMBERS[type(node)]
        return [("real", part(node.real)), ("imag", part(node.imag))]
    return [("pairs", memory_as_pairs(node))] if type(node) is np.ndarray else node.complex_parts()


def is_complex_kind(kind: Any) -> bool:
    return kind is ComplexArray or kind is complex


def whole_of_parts(kind: Any, parts: Sequence[Any]) -> Any:
    """What these parts make up; what stands for a real number or array while tracing says it itself."""
    first = parts[0]
    if kind is ComplexArray:
        return memory_as_complex(first) if type(first) is np.ndarray else first.whole_of_pairs()
    for part in parts:
        if hasattr(type(part), "whole_number"):
            return part.whole_number(*parts)
    return WHOLE_NUMBER.get(type(first), complex)(complex(*parts))
