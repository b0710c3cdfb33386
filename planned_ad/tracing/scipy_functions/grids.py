"""Interpolation on rectangular grids: what `RegularGridInterpolator` calls of `_rgi_cython` and `_interpnd`."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import _interpnd, _rgi_cython

from ..record.dispatch import implements
from .intervals import interval_of, traced_arrays


@implements(_interpnd._ndim_coords_from_arrays)
def points_from_arrays(recorder, points, ndim=None):
    """Coordinates along the last axis, of a tuple of them or of one array."""
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*traced_arrays(recorder, *points)), axis=-1) * 1.0
    (points,) = traced_arrays(recorder, points)
    return points.reshape(-1, 1 if ndim is None else ndim) if points.ndim == 1 else points


@implements(_rgi_cython.find_indices)
def find_indices(recorder, grid, xi):
    """The cell that each point lies in, and where in it, from 0 to 1."""
    places, shares = [], []
    for ticks, x in zip(grid, *traced_arrays(recorder, xi)):
        (ticks,) = traced_arrays(recorder, ticks)
        if ticks.shape[0] == 1:
            places.append(np.zeros(x.shape[0], np.intp))
            shares.append(x * 0.0)
            continue
        at = interval_of(recorder, ticks, x)
        places.append(at)
        shares.append((x - ticks[at]) / (ticks[at + 1] - ticks[at]))
    return np.stack(places), np.stack(shares)


@implements(_rgi_cython.evaluate_linear_2d)
def evaluate_linear_2d(recorder, values, indices, shares, grid, out):
    values, (i, j), (y, x) = traced_arrays(recorder, values, indices, shares)
    i1, j1 = np.minimum(i + 1, values.shape[0] - 1), np.minimum(j + 1, values.shape[1] - 1)
    first, second = values[i, j] * (1 - x) + values[i, j1] * x, values[i1, j] * (1 - x) + values[i1, j1] * x
    return first * (1 - y) + second * y
