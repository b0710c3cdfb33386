"""The permutation that sorts, in machine code: NumPy's stable one, of short and long lines."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad import Const
from planned_ad.kernels.library.sorting import SHORT

DTYPES = ["f8", "f4", "i8", "i4", "i1", "u8", "u1", "b1"]


def lines(rng, dtype, shape):
    """Few numbers, many times each; all sizes there are, in random order; nan, infinities and zeros of both signs."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        wide = (rng.normal(size=shape) * 10.0 ** rng.integers(-30, 30, shape)).astype(kind)
        special = rng.choice(np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1.0]), shape).astype(kind)
        return [
            np.round(rng.normal(size=shape) * 2).astype(kind),
            wide,
            np.where(rng.random(shape) < 0.3, special, wide),
        ]
    if kind.kind == "b":
        return [rng.random(shape) < 0.5]
    limits = np.iinfo(kind)
    return [rng.integers(limits.min, limits.max, shape, kind, endpoint=True), rng.integers(0, 3, shape).astype(kind)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_it_is_numpys(dtype):
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 20, SHORT, SHORT + 1, 300):
        first, *others = lines(rng, dtype, n)
        plan = planned_ad.compile(lambda s, x: (np.argsort(x), s * 2.0), (1.0, Const(first)), check=False)
        for x in (
            first,
            *others,
            np.zeros_like(first),
            first[::-1].copy(),
            np.sort(first),
            np.sort(first)[::-1].copy(),
        ):
            np.testing.assert_array_equal(plan(1.0, x)[0], np.argsort(x, kind="stable"))


@pytest.mark.parametrize("shape, axis", [((3, 50), 1), ((50, 3), 0), ((90, 2, 2), 0), ((2, 90, 2), 1), ((4, 0), 1)])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_along_an_axis(shape, axis, is_transposed):
    x = np.random.default_rng(5).integers(0, 20, shape).astype(float)
    x = np.asfortranarray(x) if is_transposed else x
    plan = planned_ad.compile(lambda x: (np.argsort(x, axis=axis), np.sum(np.sort(x, axis) ** 2)), x, check=False)
    np.testing.assert_array_equal(plan(x)[0], np.argsort(x, axis=axis, kind="stable"))
