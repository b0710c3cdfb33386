"""What a plan of a function that reads what is outside of it is compared with."""

from __future__ import annotations

import numpy as np

X = np.array([1.0, 2.0, 3.0])


def gradient_of(f, x=X, step=1e-6):
    """By central differences."""
    return np.array([(f(x + step * d) - f(x - step * d)) / (2 * step) for d in np.eye(len(x))])


def follows(plan, f, x=X) -> None:
    """The plan gives what `f` gives now."""
    expected = gradient_of(f, x)
    for _ in range(2):  # the second call is the fast one
        np.testing.assert_allclose(plan.gradient(x, np.empty_like(x)), expected, rtol=1e-6, atol=1e-6)
    assert np.isclose(plan(x), f(x))
