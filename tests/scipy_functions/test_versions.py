"""Functions whose rules are registered when SciPy's modules are imported, of versions that are not known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate

import planned_ad
from planned_ad.tracing.scipy_functions import register_loaded, when_loaded


def test_a_function_that_moved_is_told_and_the_rest_works() -> None:
    def moved() -> None:
        raise AttributeError("module 'scipy.interpolate' has no attribute 'compiled'")

    registered: list[str] = []
    when_loaded("scipy.interpolate", moved)
    when_loaded("scipy.interpolate", lambda: registered.append("later"))
    with pytest.warns(UserWarning, match=r"does not know SciPy .*: module 'scipy.interpolate' has no attribute"):
        assert register_loaded()
    assert registered == ["later"]
    x = np.array([0.5, 1.5])
    (dx,) = np.atleast_2d(
        planned_ad.grad(
            lambda x: np.sum(scipy.interpolate.CubicSpline(np.arange(3.0), x[0] * np.arange(3.0) ** 2)(x[1:]))
        )(x)
    )
    np.testing.assert_allclose(dx, [2.25, 1.5], rtol=1e-12)
