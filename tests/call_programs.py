"""Programs for the forms of calls."""

from __future__ import annotations

import numpy as np

import planned_ad


def x() -> np.ndarray:
    return np.array([1.0, 2.0, 3.0])


SQUARES = planned_ad.compile(lambda x: np.sum(x * x), x())
KEYS = planned_ad.compile(lambda p: np.sum(p["a"] * p["b"]), ({"a": x(), "b": x()},))
