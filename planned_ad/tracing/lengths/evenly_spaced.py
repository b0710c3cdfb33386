"""Integers that grow evenly with a loop's index, `for i in np.arange(n)`: as keys they are expressions of that index.

Other than the index of `range`, such a number is one of NumPy's. What is computed of it is a traced integer, of which
is noted what sum of indices it is; where one is a key, or part of one, the loop moves what it shows, and there is
nothing to look up or to check when the plan runs.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...regions.affine import Affine
from ...tape.tape import Value
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..values.indexing import KEYS, Keys, get_as_it_is, put_as_it_is
from ..values.loop_index import LoopIndex, expression_of


def note_even_spacing(array: Any, key: Any, number: Value) -> None:
    """Note which sum `array[key]` is, of an array of known integers that grow evenly, for the index of a loop."""
    expression, numbers = expression_of(key), array.geometry
    if not isinstance(expression, Affine) or numbers.ndim != 1 or numbers.dtype != INT or len(numbers) < 2:
        return
    first, step = int(numbers[0]), int(numbers[1]) - int(numbers[0])
    low = array.recorder.scopes.bounds(expression)[0]
    if low >= 0 and np.array_equal(numbers, first + step * np.arange(len(numbers))):
        array.recorder.builder.limits.note_sum(number, expression * step + first)


def has_even_number(recorder: Recorder, key: Any) -> bool:
    """Whether a key is, or has, a traced integer that is a sum of indices of loops, and has no index arrays.

    Beside index arrays, loop indices have been made such integers.
    """
    parts = key if type(key) is tuple else (key,)
    if not all(part is None or type(part) in (int, slice, LoopIndex) or recorder.is_scalar(part) for part in parts):
        return False
    bounds = (bound for part in parts for bound in ((part.start, part.stop) if type(part) is slice else (part,)))
    return any(even_number(recorder, bound) is not None for bound in bounds)


def even_number(recorder: Recorder, number: Any) -> Affine | None:
    """The sum of indices of the loops around that a traced integer is; None of all else."""
    if not recorder.is_scalar(number) or number.is_known or number.dtype.kind not in "iu":
        return None
    found = recorder.builder.limits.noted_sum_of(number.value)
    if not isinstance(found, Affine):
        return None
    around = {scope.index for scope in recorder.scopes.open}
    return found if all(index in around for index, _ in found.terms) else None


def with_indices(array: Any, key: Any) -> Any:
    """A key with indices of loops in place of such integers, where they are within their axes in all iterations."""
    if type(key) is not tuple:
        return as_index(array.recorder, key, array.shape[:1])
    extents = iter(array.shape)
    taken = [() if part is None else tuple(itertools.islice(extents, 1)) for part in key]
    parts = [as_index(array.recorder, part, extent) for part, extent in zip(key, taken)]
    return key if all(a is b for a, b in zip(parts, key)) else tuple(parts)


def as_index(recorder: Recorder, part: Any, extent: tuple[Any, ...], most: int = -1) -> Any:
    """A part of a key; `most`: how far it may be beyond the end of its axis."""
    if type(part) is slice and extent:
        start, stop = as_index(recorder, part.start, extent, 0), as_index(recorder, part.stop, extent, 0)
        return part if start is part.start and stop is part.stop else slice(start, stop, part.step)
    found = even_number(recorder, part) if extent and type(extent[0]) is int else None
    if found is None:
        return part
    low, high = recorder.scopes.bounds(found)
    return LoopIndex(recorder, found) if low >= 0 and high <= extent[0] + most else part


def _get(array: Any, key: Any) -> Any:
    found = with_indices(array, key)
    if found is not key:
        return array[found]
    others = (keys for keys in KEYS if keys is not OWN and keys.takes(array.recorder, key, None))
    return next((keys.get for keys in others), get_as_it_is)(array, key)


def _put(array: Any, key: Any, value: Any) -> None:
    found = with_indices(array, key)
    if found is not key:
        array[found] = value
        return
    others = (keys for keys in KEYS if keys is not OWN and keys.takes(array.recorder, key, value))
    next((keys.put for keys in others), put_as_it_is)(array, key, value)


OWN = Keys(takes=lambda recorder, key, value: has_even_number(recorder, key), get=_get, put=_put)
KEYS.append(OWN)
