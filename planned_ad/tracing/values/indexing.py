"""Reading and writing `x[key]`: which element, view or advanced index a key is.

Basic keys go to NumPy, on the array's geometry; keys with index arrays to `advanced`; keys whose only traced parts are
integer scalars show a view at a place known at run time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...python.shadows import ShadowClass
from ...regions.regions import View
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..record.storage import MovingStorage
from ..record.traced import Traced, TracedArray, with_plain_tuples
from .advanced import axes_taken, fitting, gather, in_range, scatter


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of another kind, which a later stage knows: those that it `takes`."""

    takes: Callable[[Any, Any, Any], bool]  # of recorder, key and the value that is put there
    get: Callable[[Any, Any], Any]
    put: Callable[[Any, Any, Any], None]


KEYS: list[Keys] = []


def get(array: TracedArray, key: Any) -> Any:
    """`array[key]`."""
    recorder, geometry, storage = array.recorder, array.geometry, array.storage
    offset = _position(array, key)
    if offset is not None:
        if storage.is_concrete:
            recorder.assume(storage)
            return geometry[key]
        recorder.mark()
        return recorder.result(storage.read(recorder, View(offset, (), ()), geometry))
    recorder.mark()
    for keys in KEYS:
        if keys.takes(recorder, key, None):
            return keys.get(array, key)
    return get_as_it_is(array, key)


def get_as_it_is(array: TracedArray, key: Any) -> Any:
    """`array[key]` for a key that no later stage knows more of."""
    recorder, geometry, storage = array.recorder, array.geometry, array.storage
    original, key = key, basic_key(recorder, key)
    if type(key) is Advanced:
        moving = _moving(array, key.key)
        return gather(array, key.key) if moving is None else moving if moving.ndim else recorder.result(moving.read())
    has_ellipsis = any(k is Ellipsis for k in key)
    part = geometry[key if has_ellipsis else (*key, ...)]
    if part.ndim or has_ellipsis:
        found = recorder.seen(array, part)
        return found.copy("K") if _has_array_integer(recorder, original) else found
    if storage.is_concrete:
        recorder.assume(storage)
        return part[()]
    return recorder.result(recorder.seen(array, part).read())


def is_truth(recorder: Recorder, key: Any) -> bool:
    """Whether a key is one truth value, which chooses all or nothing."""
    if type(key) is bool or isinstance(key, np.bool_):
        return True
    return (recorder.is_scalar(key) or (recorder.is_array(key) and not key.ndim)) and key.dtype.kind == "b"


def _put_if(array: TracedArray, truth: Any, value: Any) -> None:
    """`array[truth] = value`: all elements, or none."""
    recorder = array.recorder
    if np.size(value) == 0 and array.size and not bool(truth):
        return
    old = array.read()
    new = recorder.builder.broadcast(fitting(recorder, value, array.dtype, (1, *array.shape)), (1, *array.shape))
    chosen = recorder.builder.broadcast(recorder.value_of(truth, np.bool_), array.shape)
    array.write(recorder.apply("where", chosen, recorder.builder.reshape(new, array.shape), old))


def put(array: TracedArray, key: Any, value: Any) -> None:
    """`array[key] = value`."""
    recorder = array.recorder
    recorder.mark()
    if isinstance(type(value), ShadowClass) and not issubclass(type(value), Traced) and hasattr(value, "__array__"):
        value = value.__array__()
    if issubclass(type(value), tuple | list):
        value = with_plain_tuples(value)
    for keys in KEYS:
        if keys.takes(recorder, key, value):
            return keys.put(array, key, value)
    return put_as_it_is(array, key, value)


def put_as_it_is(array: TracedArray, key: Any, value: Any) -> None:
    """`array[key] = value` for a key that no later stage knows more of."""
    recorder, storage = array.recorder, array.storage
    if is_truth(recorder, key):
        return _put_if(array, key, value)
    key = basic_key(recorder, key)
    if type(key) is Advanced:
        moving = _moving(array, key.key)
        if moving is None:
            return scatter(array, key.key, value, accumulate=False)
        if recorder.is_array(value) and moving.storage.is_same(value.storage) and _same_place(value, moving):
            return None
        return moving.write(fitting(recorder, value, moving.dtype, moving.shape))
    target = array.geometry[key if any(k is Ellipsis for k in key) else (*key, ...)]
    if recorder.is_array(value) and value.storage is storage and _same_place(value, recorder.seen(array, target)):
        return None  # what `x[1:3] += y` ends with: it has been written already
    storage.check_writeable(array.geometry, recorder.builder.line)
    if storage.holds_numbers(recorder) and recorder.is_concrete(value):
        target[...] = recorder.plain(value)
        storage.changed(recorder)
        return None
    recorder.seen(array, target).write(fitting(recorder, value, target.dtype, target.shape))
    return None


def _moving(array: TracedArray, key: tuple[Any, ...]) -> TracedArray | None:
    """The view that `key` shows where its only traced parts are scalars: it lies at a place known at run time."""
    recorder = array.recorder
    scalars = [part for part in key if recorder.is_scalar(part)]
    if not scalars or any(hasattr(part, "dtype") and not recorder.is_scalar(part) for part in key):
        return None
    consumed = sum(axes_taken(part) for part in key)
    start: list[Any] = []
    axes: list[int] = []
    axis = 0
    for item in key:
        if recorder.is_scalar(item):
            if axis < array.ndim:
                axes.append(axis)
            start.append(slice(0, 1) if axis < array.ndim and not array.shape[axis] else 0)
        else:
            start.append(item)
        axis += max(array.ndim - consumed, 0) if item is Ellipsis else axes_taken(item)
    part = array.geometry[tuple(start) if any(k is Ellipsis for k in start) else (*start, ...)]
    indices = [in_range(recorder, recorder.value_of(i, INT), array.shape[k], k) for i, k in zip(scalars, axes)]
    extents = tuple(array.shape[k] for k in axes)
    strides = tuple(array.strides[k] // array.itemsize for k in axes)
    storage = MovingStorage(array.storage, recorder.builder.line, tuple(indices), extents, strides)
    return type(array)(recorder, storage, part)


def _has_array_integer(recorder: Recorder, key: Any) -> bool:
    """Whether an integer of a basic key is a 0-d array, for which NumPy gives a copy."""
    parts = key if isinstance(key, tuple) and not recorder.is_array(key) else (key,)
    return any(isinstance(part, np.ndarray) for part in parts)


def _same_place(a: TracedArray, b: TracedArray) -> bool:
    """Whether two arrays of one memory show the same elements of it."""
    return a.layout == b.layout


def accumulate(array: Any, key: Any, value: Any) -> None:
    """`numpy.add.at(array, key, value)`."""
    recorder = array.recorder
    basic = basic_key(recorder, key)
    if isinstance(basic, Advanced):
        return scatter(array, basic.key, value, accumulate=True)
    assert type(basic) is tuple
    view = array[basic if any(k is Ellipsis for k in basic) else (*basic, ...)]
    view += value
    return None


def update_numbers(array: TracedArray, ufunc: np.ufunc, other: Any) -> TracedArray:
    """An in-place operator where all numbers are known."""
    recorder = array.recorder
    recorder.mark()
    array.storage.check_writeable(array.geometry, recorder.builder.line)
    ufunc(array.geometry, recorder.plain(other), out=array.geometry)
    array.storage.changed(recorder)
    return array


def _position(array: TracedArray, key: Any) -> int | None:
    """Which element of the memory a key of plain integers names; None for other keys and those out of range."""
    kind = type(key)
    if kind is int:
        layout = array.layout
        if len(layout.shape) != 1:
            return None
        n = layout.shape[0]
        if not -n <= key < n:
            return None
        return layout.offset + (key + n if key < 0 else key) * layout.strides[0]
    if kind is not tuple:
        return None
    layout = array.layout
    if len(key) != len(layout.shape):
        return None
    offset = layout.offset
    for k, n, stride in zip(key, layout.shape, layout.strides):
        if type(k) is not int or not -n <= k < n:
            return None
        offset += (k + n if k < 0 else k) * stride
    return offset  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Advanced:
    """A key with index arrays, its lists made arrays."""

    key: tuple[Any, ...]


def basic_key(recorder: Recorder, key: Any) -> tuple[Any, ...] | Advanced:
    """A key as a tuple of integers, slices, None and Ellipsis, or as an `Advanced` key."""
    parts = key if isinstance(key, tuple) and not recorder.is_array(key) else (key,)
    found, is_advanced = [], False
    for part in parts:
        if issubclass(type(part), Traced):
            part = part.traced()
        kind = type(part)
        if kind is int or kind is slice or part is None or part is Ellipsis:
            found.append(part)
            continue
        if isinstance(part, range):
            part = list(part.concrete() if hasattr(part, "concrete") else part)
            kind = list
        if kind is list or kind is tuple:
            part = (
                recorder.array(recorder.stacked(part)) if not recorder.is_concrete(part) else _array_of(recorder, part)
            )
            kind = type(part)
        if recorder.is_scalar(part):
            if part.dtype.kind == "b":
                part = np.asarray(bool(part))
            elif part.dtype.kind not in "iu":
                raise _bad_index()
            is_advanced = True
        elif recorder.is_array(part):
            if part.dtype.kind not in "biu":
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            if part.storage.is_concrete:
                part = recorder.number_of(part)
                part = part.copy() if part.ndim or part.dtype.kind == "b" else operator.index(part)
            elif part.dtype.kind == "b" and not part.ndim:
                part = np.asarray(bool(part))
            is_advanced = is_advanced or type(part) is not int
        elif isinstance(part, bool | np.bool_):
            part, is_advanced = np.asarray(part), True
        elif isinstance(part, np.ndarray):
            if not part.ndim and part.dtype.kind in "iu":
                part = int(part)
            else:
                is_advanced = True
        elif hasattr(part, "__index__"):
            part = operator.index(part)
        # Anything else: NumPy says what is wrong with it.
        found.append(part)
    if not is_advanced:
        return tuple(found)
    if any(isinstance(part, str | float) for part in found):
        raise _bad_index()
    return Advanced(tuple(found))


def _array_of(recorder: Recorder, part: Any) -> np.ndarray:
    array = np.asarray(recorder.plain(part))
    return array if array.size or array.dtype.kind in "biu" else array.astype(np.int64)


def _bad_index() -> IndexError:
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
        "indices"
    )
