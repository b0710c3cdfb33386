"""Where the largest and the smallest element of an array is whose extents loops move: `argmax(abs(A[k:, k]))`.

The first element that equals the extremum of its line, or its first nan, is the least of the places of those that do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...regions.affine import exact
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..values.loop_index import index_of
from .ragged import RaggedArray, places_below, reduced, where


def ragged_extreme_at(a: RaggedArray, axis: Any = None, *, extremum: Callable[..., Any], keepdims: bool = False) -> Any:
    """`numpy.argmax` (of `numpy.max`) and `numpy.argmin` (of `numpy.min`)."""
    recorder, shape = a.recorder, a.view.shape
    if axis is not None and not -a.ndim <= axis < a.ndim:
        raise np.exceptions.AxisError(axis, a.ndim)
    axes = tuple(range(a.ndim)) if axis is None else (int(axis) % a.ndim,)
    is_certain = has_elements(recorder, [shape[k] for k in axes])
    apart = tuple(None if k in axes else slice(None) for k in range(a.ndim))
    top = reduced(a, extremum, axis)
    best = a == (top[apart] if axis is not None and a.ndim > 1 else top)
    if a.dtype.kind == "f":
        best = best | np.isnan(a)
    places: Any = 0
    for k in axes:
        own = places_below(recorder, shape[k])
        beside = tuple(slice(None) if j == k else None for j in range(a.ndim))
        places = places * index_of(recorder, exact(shape[k])) + own[beside]
    last = math.prod(int(shape[k]) for k in axes) - 1
    value = recorder.value_of(reduced(where(recorder, best, places, last), np.min, axis))
    if not is_certain:  # the guard may be tested later
        value = recorder.apply("minimum", value, recorder.constant(last, INT))
    if len(axes) == 1:
        recorder.extents[id(value)] = value, shape[axes[0]]
    recorder.builder.limits.note(value, 0, last)
    found = recorder.result(value)
    return found[apart] if keepdims and a.ndim > len(axes) else found


def has_elements(recorder: Recorder, extents: list[int]) -> bool:
    """Whether there is an element in all iterations, so far as is known; a guard for those where it is not.

    NumPy demands one. The first or last iterations of a loop, which have none, may be recorded apart.
    """
    truths = [index_of(recorder, exact(extent)) > 0 for extent in extents]
    unknown = [truth for truth in truths if type(truth) is not bool]
    if False in truths:
        raise ValueError("attempt to get argmax or argmin of an empty sequence")
    for truth in unknown:
        recorder.scopes.require_after(recorder.value_of(truth), "length")
    return not unknown


argmax = functools.partial(ragged_extreme_at, extremum=np.max)
argmin = functools.partial(ragged_extreme_at, extremum=np.min)
