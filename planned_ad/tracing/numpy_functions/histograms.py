"""Histograms of several dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.dispatch import implements
from ..record.recorder import Recorder
from .order import edges_of, positions_below
from .support import asarray, unsupported


def bins_along(recorder: Recorder, a: Any, bins: Any, span: Any) -> tuple[Any, Any]:
    """The bin of each number, their count where it is in none, and the edges."""
    edges = edges_of(recorder, a, bins, span, is_like_array=False)
    count, last = edges.shape[0] - 1, edges[-1]
    inside = (a >= edges[0]) & (a <= last)
    bin = np.where(a == last, count - 1, np.searchsorted(edges, a, side="right") - 1)
    return np.where(inside, bin, count), edges


@implements(np.histogramdd)
def histogramdd(recorder, sample, bins=10, range=None, density=None, weights=None):
    points = list(sample) if isinstance(sample, list | tuple) else list(asarray(recorder, sample).T)
    points = [asarray(recorder, a) for a in points]
    if any(a.ndim != 1 for a in points):
        raise unsupported("np.histogramdd of a sample that is no array of two axes", "give an array of shape (N, D)")
    given = list(bins) if hasattr(bins, "__len__") else [bins] * len(points)
    if len(given) != len(points):
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    spans = [None] * len(points) if range is None else list(range)
    found = [bins_along(recorder, *item) for item in zip(points, given, spans)]
    edges = [own for _, own in found]
    counts = [own.shape[0] - 1 for own in edges]
    total = int(np.prod(counts))
    place, is_inside = np.zeros(points[0].shape, np.intp), np.ones(points[0].shape, bool)
    for (bin, _), count in zip(found, counts):
        place, is_inside = place * count + bin, is_inside & (bin < count)
    place = positions_below(recorder, np.where(is_inside, place, total), total + 1)
    weights = np.ones(points[0].shape) if weights is None else asarray(recorder, weights) * 1.0
    sums = np.zeros_like(asarray(recorder, np.zeros(total + 1, np.result_type(weights.dtype, float))))
    np.add.at(sums, place, weights)
    sums = sums[:total].reshape(counts)
    if density:
        whole = sums.sum()
        for axis, own in enumerate(edges):
            sums = sums / np.diff(own).reshape([-1 if axis == k else 1 for k, _ in enumerate(edges)])
        sums = sums / whole
    return sums, edges


@implements(np.histogram2d)
def histogram2d(recorder, x, y, bins=10, range=None, density=None, weights=None):
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    is_edges = hasattr(bins, "__len__") and len(bins) not in (1, 2)
    sums, edges = histogramdd(recorder, [x, y], [bins, bins] if is_edges else bins, range, density, weights)
    return sums, edges[0], edges[1]
