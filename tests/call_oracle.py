"""What the specifications of a call mean: the checks of its machine code, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from planned_ad.kernels.entry.callspec import (
    ANY_TYPES,
    AnySpec,
    ArraySpec,
    CallSpec,
    DictSpec,
    FloatSpec,
    ObjectSpec,
    SequenceSpec,
    SlotsSpec,
    Spec,
    StaticSpec,
)

_UNSET = object()


def match(spec: CallSpec, arguments: Sequence[Any]) -> list[Any] | None:
    """The leaves of `arguments`, or None when they are not what `spec` says."""
    leaves: list[Any] = []
    if spec.watch is not None and not spec.watch.is_same():
        return None
    if not _items_match(spec.arguments, arguments, leaves):
        return None
    arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
    ranges = []
    for array, array_spec in zip(arrays, spec.arrays):
        low, high = array_spec.byte_range
        data = address_of(array)
        ranges.append((data + low, data + high))
    ranges += [(low, low + nbytes) for low, nbytes in spec.fixed]
    for first, second in spec.apart:
        (low, high), (other_low, other_high) = ranges[first], ranges[second]
        if low < high and other_low < other_high and low < other_high and other_low < high:
            return None
    return leaves


def address_of(array: np.ndarray) -> int:
    return array.ctypes.data


def _items_match(specs: Sequence[Spec], values: Sequence[Any], leaves: list[Any]) -> bool:
    return len(specs) == len(values) and all(_matches(spec, value, leaves) for spec, value in zip(specs, values))


def _matches(spec: Spec, value: Any, leaves: list[Any]) -> bool:
    match spec:
        case StaticSpec():
            return value is spec.value or (spec.is_int64 and type(value) is int and value == spec.value)
        case SequenceSpec():
            return type(value) is spec.type and _items_match(spec.items, cast(Sequence[Any], value), leaves)
        case DictSpec():
            return type(value) is dict and _dict_matches(spec, value, leaves)
        case ObjectSpec():
            return type(value) is spec.type and _dict_matches(spec, value.__dict__, leaves)
        case SlotsSpec():
            return type(value) is spec.type and _items_match(
                spec.items, [getattr(value, name, _UNSET) for name in spec.names], leaves
            )
        case AnySpec():
            return type(value) in ANY_TYPES or type(value) is spec.also
        case FloatSpec():
            leaves.append(value)
            return type(value) in (float, np.float64) and not spec.written  # which only machine code does
        case ArraySpec():
            leaves.append(value)
            return type(value) is np.ndarray and _array_matches(spec, value)


def _dict_matches(spec: DictSpec | ObjectSpec, items: dict, leaves: list[Any]) -> bool:
    same = [type(a) is type(b) and a == b for a, b in zip(items, spec.keys)]
    return len(items) == len(spec.keys) and all(same) and _items_match(spec.items, list(items.values()), leaves)


def _array_matches(spec: ArraySpec, array: np.ndarray) -> bool:
    return (
        array.shape == spec.shape
        and (array.dtype.num, array.dtype.byteorder) == (spec.dtype.num, spec.dtype.byteorder)
        and all(array.strides[axis] == stride for axis, _, stride in spec.used_strides)
        and array.flags.aligned
        and (array.flags.writeable or not spec.writeable)
    )
