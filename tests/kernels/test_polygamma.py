"""The polygamma kernel against mpmath, on both sides of zero and at the poles."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.special

from planned_ad.regions.regions import contiguous
from planned_ad.tape.builder import TapeBuilder
from tests.compiled_tape import CompiledTape


def evaluated(n: int, x: np.ndarray) -> np.ndarray:
    builder = TapeBuilder()
    argument = builder.new_buffer("argument", "x", x.dtype, contiguous(x.shape))
    out = builder.apply("polygamma", builder.load(argument.whole), n=n)
    result = builder.new_buffer("result", "y", out.dtype, contiguous(x.shape))
    builder.store(result.whole, out)
    return CompiledTape(builder.tape((argument.id, result.id), (), frozenset())).run([x])[1]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10])
def test_against_mpmath(n: int) -> None:
    rng = np.random.default_rng(n)
    x = np.concatenate([rng.uniform(0, 1, 30), rng.uniform(0, 40, 30), 10.0 ** rng.uniform(-8, 8, 30)])
    with mp.workdps(40):
        expected = np.array([float(mp.polygamma(n, mp.mpf(v))) for v in x])
    np.testing.assert_allclose(evaluated(n, x), expected, rtol=3e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_negative_arguments(n: int) -> None:
    """By reflection: accurate relative to the larger of its two terms."""
    x = np.random.default_rng(n).uniform(-30, 0, 60)
    with mp.workdps(40):
        expected = np.array([float(mp.polygamma(n, mp.mpf(v))) for v in x])
    np.testing.assert_allclose(evaluated(n, x), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_poles_and_infinities(n: int) -> None:
    x = np.array([0.0, -0.0, -1.0, -7.0, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(evaluated(n, x), scipy.special.polygamma(n, x))


def test_single_precision() -> None:
    x = np.linspace(0.5, 9, 17).astype(np.float32)
    np.testing.assert_allclose(evaluated(1, x), scipy.special.polygamma(1, x), rtol=1e-6)
