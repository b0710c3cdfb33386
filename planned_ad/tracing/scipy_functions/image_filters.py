"""Filters of images: what `scipy.ndimage` calls of `_nd_image`, as sums (or extrema) of shifted copies.

SciPy's Python code decides about axes, origins and dtypes, and hands an array for the result over. As its compiled
code, this computes in float64, whatever the input is. A filter of length m reads at `i + j - m // 2 - origin`, for j
from 0 to m - 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.ndimage import _filters, _nd_image

from ..numpy_functions import shapes
from ..numpy_functions.sequences import SHORT_KERNEL
from ..numpy_functions.support import FLOAT, unsupported
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .intervals import traced_arrays

# How an axis goes on beyond its ends, by SciPy's numbers.
NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
IN_NUMPY: dict[int, Any] = {NEAREST: "edge", WRAP: "wrap", REFLECT: "symmetric", MIRROR: "reflect", GRID_WRAP: "wrap"}


def on_axis(ndim: int, axis: int, part: Any) -> tuple[Any, ...]:
    return (*(part if k == axis else slice(None) for k in range(ndim)), ...)


def extended(recorder: Recorder, a: Any, axis: int, before: int, after: int, mode: int, cval: float) -> Any:
    """`a` with so many elements more at both ends of an axis (fewer where these are below zero)."""
    n = a.shape[axis]
    if before < 0 or after < 0:
        low, high = max(-before, 0), n + min(after, 0)
        inner = extended(recorder, a, axis, max(before, 0), max(after, 0), mode, cval)
        return inner[on_axis(a.ndim, axis, slice(low, low + max(before, 0) + high - low + max(after, 0)))]
    if not before and not after:
        return a
    if mode in (CONSTANT, GRID_CONSTANT):
        widths = [(before, after) if k == axis else (0, 0) for k in range(a.ndim)]
        return np.pad(a, widths, constant_values=cval)
    skipped = int(mode == MIRROR)
    if max(before, after) + skipped > n:  # more than once round
        return a[on_axis(a.ndim, axis, np.pad(np.arange(n), (before, after), IN_NUMPY[mode]))]

    def part(*bounds: int | None) -> Any:
        return a[on_axis(a.ndim, axis, slice(*bounds))]

    def repeated(edge: Any, count: int) -> Any:
        shape = tuple(count if k == axis else m for k, m in enumerate(edge.shape))
        return np.broadcast_to(edge, shape)

    if mode == NEAREST:
        first, last = repeated(part(0, 1), before), repeated(part(n - 1, n), after)
    elif mode in (WRAP, GRID_WRAP):
        first, last = part(n - before, n), part(0, after)
    else:
        first = np.flip(part(skipped, before + skipped), axis)
        last = np.flip(part(n - after - skipped, n - skipped), axis)
    return np.concatenate([first, a, last], axis=axis)


def weighted_sum(recorder: Recorder, a: Any, weights: Any, axis: int, n: int) -> Any:
    """At each of n places along an axis, the sum of what follows times the weights."""
    m = weights.shape[0]
    if m > SHORT_KERNEL:
        return shapes.view(recorder, a, np.lib.stride_tricks.sliding_window_view, m, axis=axis) @ weights
    parts = [weights[k] * a[on_axis(a.ndim, axis, slice(k, k + n))] for k in range(m)]
    return sum(parts[1:], parts[0])


def room(recorder: Recorder, a: Any, size: int, axis: int, mode: int, cval: float, origin: int) -> Any:
    """`a` as far beyond its ends as a filter of that size reads."""
    before = size // 2 + origin
    return extended(recorder, a, axis, before, size - 1 - before, mode, cval)


@implements(_nd_image.correlate1d)
def correlate1d(recorder, image, weights, axis, output, mode, cval, origin):
    a, weights = traced_arrays(recorder, image, weights)
    wide = room(recorder, a.astype(FLOAT), weights.shape[0], axis, mode, cval, origin)
    output[...] = weighted_sum(recorder, wide, weights, axis, a.shape[axis])


@implements(_nd_image.uniform_filter1d)
def uniform_filter1d(recorder, image, size, axis, output, mode, cval, origin):
    (a,) = traced_arrays(recorder, image)
    wide = room(recorder, a.astype(FLOAT), size, axis, mode, cval, origin)
    output[...] = weighted_sum(recorder, wide, np.ones(size), axis, a.shape[axis]) / size


@implements(_nd_image.min_or_max_filter1d)
def min_or_max_filter1d(recorder, image, size, axis, output, mode, cval, origin, minimum):
    (a,) = traced_arrays(recorder, image)
    wide = room(recorder, a.astype(FLOAT), size, axis, mode, cval, origin)
    best = np.minimum if minimum else np.maximum
    found = wide[on_axis(a.ndim, axis, slice(0, a.shape[axis]))]
    for k in range(1, size):
        found = best(found, wide[on_axis(a.ndim, axis, slice(k, k + a.shape[axis]))])
    output[...] = found


def neighbours(recorder: Recorder, image: Any, footprint: Any, mode: int, cval: float, origins: Any) -> list[Any]:
    """A shifted copy of the image for each true element of the footprint, in order."""
    (a,) = traced_arrays(recorder, image)
    wide = a.astype(FLOAT)
    for axis, (size, origin) in enumerate(zip(footprint.shape, origins)):
        wide = room(recorder, wide, size, axis, mode, cval, origin)
    places: Sequence[Any] = list(itertools.product(*map(range, footprint.shape)))
    chosen = [place for place in places if footprint[place]]
    return [wide[tuple(slice(k, k + n) for k, n in zip(place, a.shape))] for place in chosen]


def known_footprint(recorder: Recorder, footprint: Any) -> np.ndarray:
    if not recorder.is_concrete(footprint):
        raise unsupported("a traced footprint", "make it outside of the traced function")
    return np.asarray(recorder.plain(footprint)) != 0


@implements(_nd_image.correlate)
def correlate(recorder, image, weights, output, mode, cval, origins):
    """Weights that are zero are known to be passed over."""
    (weights,) = traced_arrays(recorder, weights)
    used = known_footprint(recorder, weights) if recorder.is_concrete(weights) else np.ones(weights.shape, bool)
    parts = neighbours(recorder, image, used, mode, cval, origins)
    factors = [weights[tuple(place)] for place in np.argwhere(used).tolist()]
    output[...] = sum(factor * part for factor, part in zip(factors, parts))


@implements(_nd_image.min_or_max_filter)
def min_or_max_filter(recorder, image, footprint, structure, output, mode, cval, origins, minimum):
    used = known_footprint(recorder, footprint)
    parts = neighbours(recorder, image, used, mode, cval, origins)
    if structure is not None:
        (structure,) = traced_arrays(recorder, structure)
        heights = [structure[tuple(place)] for place in np.argwhere(used).tolist()]
        parts = [part - height if minimum else part + height for part, height in zip(parts, heights)]
    found = parts[0]
    for part in parts[1:]:
        found = (np.minimum if minimum else np.maximum)(found, part)
    output[...] = found


@implements(_nd_image.rank_filter)
def rank_filter(recorder, image, rank, footprint, output, mode, cval, origins):
    parts = neighbours(recorder, image, known_footprint(recorder, footprint), mode, cval, origins)
    output[...] = np.sort(np.stack(parts, axis=-1), axis=-1)[..., rank]


if hasattr(_filters, "_rank_filter_1d"):  # from SciPy 1.15 on

    @implements(_filters._rank_filter_1d.rank_filter)
    def rank_filter1d(recorder, image, rank, size, output, mode, cval, origin):
        rank_filter(recorder, image, rank, np.ones(size, bool), output, mode, cval, (origin,))


def _refuse_callbacks(function: Any, name: str) -> None:
    @implements(function)
    def refused(recorder, image, *arguments):
        raise unsupported(
            f"scipy.ndimage.{name} with a function of its own",
            "apply it to numpy.lib.stride_tricks.sliding_window_view of the padded image",
        )


_refuse_callbacks(_nd_image.generic_filter, "generic_filter")
_refuse_callbacks(_nd_image.generic_filter1d, "generic_filter1d")
