"""The sign of zero, where NumPy says which it is."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

ZEROS = np.array([-0.0, 0.0, -0.0, 1.5, -0.5])


@pytest.mark.parametrize(
    "f",
    [
        np.sign, np.cumsum, np.cumprod, np.negative, np.absolute, np.floor, np.ceil, np.rint, np.trunc, np.cbrt, np.sin,
        np.tan, np.tanh, np.expm1, np.log1p, np.arctan, np.sinh, np.arcsinh, np.square,
        lambda x: np.copysign(1.0, x), lambda x: 0.0 - x, lambda x: x + 0.0, lambda x: x - 0.0, lambda x: x * -0.0,
        lambda x: x**3, lambda x: np.arctan2(x, -1.0), lambda x: np.cumsum(x.reshape(1, -1), axis=0),
        lambda x: np.sum(x[:1]), lambda x: np.fmod(x, 2.0), lambda x: np.mod(x, 2.0), lambda x: np.sign(x[0]),
    ],
)  # fmt: skip
def test_zeros_have_numpys_signs(f):
    plan = planned_ad.compile(lambda x: f(x), (np.linspace(0.1, 0.5, 5),), check=False)
    want, got = np.asarray(f(ZEROS.copy())), np.asarray(plan(ZEROS.copy()))
    is_number = ~np.isnan(want)
    np.testing.assert_allclose(got, want, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(got)[is_number], np.signbit(want)[is_number])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_the_least_integer_has_no_absolute_value(dtype: type) -> None:
    least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
    numbers = np.array([least, least + 1, -7, -1, 1, 7, greatest], dtype)
    a, b = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    weights = np.arange(1.0, a.size + 1)
    with np.errstate(all="ignore"):
        plan = planned_ad.compile(lambda x, a, b: np.sum(np.fmod(a, b) * x), (weights, a, b), check=False)
        assert plan(weights, a, b) == np.sum(np.fmod(a, b) * weights)
