"""What the tests of tracing share."""

from __future__ import annotations

import numpy as np


def vector(n=6, dtype=np.float64):
    return (np.linspace(0.3, 1.7, n) + 0.1 * np.sin(np.arange(n))).astype(dtype)


def matrix(rows=3, columns=4, order="C"):
    return np.array(vector(rows * columns).reshape(rows, columns), order=order)
