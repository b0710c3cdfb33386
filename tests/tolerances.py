"""How close is close enough: one table for all tests."""

from __future__ import annotations

import numpy as np

# Two ways to compute the same number in the same dtype.
SAME = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 2e-5, np.dtype(np.float16): 2e-2}

# A derivative against finite differences in float64.
DIFFERENCES = 1e-7


def assert_same(actual, expected, dtype=np.float64) -> None:
    """Equal up to the rounding of a short computation in `dtype`; exactly, for integers and bools."""
    tolerance = SAME.get(np.dtype(dtype), 0.0)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def assert_derivative(actual, expected) -> None:
    """Equal up to the error of finite differences."""
    np.testing.assert_allclose(actual, expected, rtol=DIFFERENCES, atol=DIFFERENCES)
