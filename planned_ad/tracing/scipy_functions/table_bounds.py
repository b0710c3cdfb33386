"""Tables that refuse numbers beyond their ends, in loops: what holds in all iterations is asked for once.

Outside of loops their own code says so, with a branch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import RegularGridInterpolator, interp1d

from ..numpy_functions.support import asarray
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .grids import points_from_arrays
from .intervals import beyond_ends


def require_inside(recorder: Recorder, beyond: Any, what: str) -> None:
    """A call of the plan raises BoundsError where one of `beyond` is true."""
    holds = ~np.any(asarray(recorder, beyond))
    recorder.scopes.require_after(recorder.value_of(holds), "bounds", f"{what} beyond the ends of its table")


@implements(interp1d._check_bounds)
def check_bounds(recorder, table, x):
    if not table.bounds_error or not recorder.scopes.depth:
        return recorder.call_python(interp1d._check_bounds, (table, x), {})
    below, above = x < table.x[0], x > table.x[-1]
    require_inside(recorder, below | above, "scipy.interpolate.interp1d is given a number")
    return below, above


@implements(RegularGridInterpolator._prepare_xi)
def prepare_points(recorder, table, xi):
    if not table.bounds_error or not recorder.scopes.depth:
        return recorder.call_python(RegularGridInterpolator._prepare_xi, (table, xi), {})
    count = len(table.grid)
    points = points_from_arrays(recorder, xi, count)
    if points.shape[-1] != count:
        raise ValueError(
            f"The requested sample points xi have dimension {points.shape[-1]} but this RegularGridInterpolator has "
            f"dimension {count}"
        )
    flat = points.reshape(-1, count) * 1.0
    for ticks, x in zip(table.grid, flat.T):
        require_inside(recorder, beyond_ends(x, ticks[0], ticks[-1]), "RegularGridInterpolator is given a point")
    return flat, points.shape, count, np.zeros(flat.shape[0], bool), None
