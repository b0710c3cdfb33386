"""Ranks, of `scipy.stats`: numbers without a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.recorder import Recorder
from .support import asarray, unsupported

MOST_RANKED = 2000  # elements of a row, each of which is compared with all


def rankdata(
    recorder: Recorder, a: Any, method: str = "average", *, axis: Any = None, nan_policy: str = "propagate"
) -> Any:
    """For each element, how many are smaller, and half of those that are equal."""
    if method not in ("average", "min", "max") or nan_policy != "propagate":
        raise unsupported(f"scipy.stats.rankdata with method={method!r}, nan_policy={nan_policy!r}", "use 'average'")
    a = asarray(recorder, a)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis)
    if a.shape[axis] > MOST_RANKED:
        raise unsupported(f"scipy.stats.rankdata of more than {MOST_RANKED} elements", "use numpy.argsort twice")
    rows = np.moveaxis(a, axis, -1)
    below = np.sum(rows[..., None, :] < rows[..., :, None], axis=-1)
    upto = np.sum(rows[..., None, :] <= rows[..., :, None], axis=-1)
    ranks = {"min": below + 1.0, "max": upto * 1.0, "average": 0.5 * (below + upto + 1.0)}[method]
    return np.moveaxis(np.where(np.any(rows != rows, axis=-1, keepdims=True), np.nan, ranks), -1, axis)
