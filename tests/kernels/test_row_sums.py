"""Sums along outer loops, of rows that are a few blocks: in registers, with all that is left over."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import planned_ad

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("dtype", (np.float64, np.float32))
@pytest.mark.parametrize("columns", (2, 3, 5, 8, 10, 16, 17, 31, 33, 60, 70))
def test_sums_of_two_operands(columns: int, dtype: type) -> None:
    """The adjoint of differences sums along the first axis, and along the second."""
    x, y = (RNG.random((n, columns)).astype(dtype) for n in (7, 9))
    weights = RNG.random((7, 9)).astype(dtype)

    def f(x, y):
        return np.sum(weights * np.sum((x[:, None] - y) ** 2, axis=-1))

    d = 2 * weights[:, :, None] * (x[:, None] - y)
    dx, dy = planned_ad.compile(f, (x, y)).gradient(x, y)
    tolerance = 1e-13 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(dx, d.sum(axis=1), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(dy, -d.sum(axis=0), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(6, 5), (3, 6, 5), (2, 3, 12), (1, 4, 9), (5, 1, 20), (4, 6, 0)])
@pytest.mark.parametrize("reduce", [np.sum, np.max, np.min, np.prod])
def test_kinds_of_sums(reduce, shape) -> None:
    x = RNG.normal(size=shape)
    for axes in (0, len(shape) - 2, tuple(range(len(shape) - 1))):
        found = planned_ad.compile(functools.partial(reduce, axis=axes), (x,))(x)
        np.testing.assert_allclose(found, reduce(x, axis=axes), rtol=1e-14)


def test_several_sums_of_a_nest() -> None:
    """More than there are registers for: the others go through memory."""
    x = RNG.random((50, 21))

    def f(x):
        return tuple(np.sum(g(x), axis=0) for g in (np.sin, np.cos, np.exp, np.tanh, np.sqrt))

    for found, expected in zip(planned_ad.compile(f, (x,))(x), f(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_threads_sum_as_one_does() -> None:
    x, y = RNG.random((4000, 10)), RNG.random((200, 10))

    def f(x, y):
        return np.sum(np.exp(-np.sum((x[:, None] - y) ** 2, axis=-1)))

    one, two = (planned_ad.compile(f, (x, y), threads=n).gradient(x, y) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
