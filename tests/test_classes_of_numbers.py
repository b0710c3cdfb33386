"""What traced code asks of the classes of numbers and arrays, and functions of `math` and NumPy at their ends."""

from __future__ import annotations

import math
import numbers
import typing

import numpy as np
import pytest

import planned_ad

KINDS = [
    np.floating, np.integer, np.number, np.generic, np.inexact, np.ndarray, np.float64, float, int, object, bool,
    numbers.Real, numbers.Integral, numbers.Number, typing.SupportsIndex, typing.SupportsFloat, typing.SupportsInt,
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_classes(kind: type) -> None:
    def f(x):
        values = [x[1], x[1] * 2, float(len(x)) * 1.0, x, x.sum().item(), (x > 1.5)[0], (x > 1.5).sum()]
        return x[0] * sum(
            2.0**k * issubclass(type(v), kind) + 3.0**k * isinstance(v, kind) for k, v in enumerate(values)
        )

    x = np.arange(1.0, 4.0)
    assert planned_ad.compile(f, (x,), check=False)(x) == f(x)


def largest(x):
    found = np.asarray(0.0)
    for v in x:
        found = max(found, np.asarray(v) * 2.0)
    return found * 1.0


AT_THEIR_ENDS = {
    "dist": (lambda x: math.dist([x[0], 0.0], [x[1], x[2]]) * 1e200, [[3e-200, 1e-200, 4e-200], [1e-190, 0.0, 0.0]]),
    "large dist": (lambda x: math.dist([x[0]], [x[1]]), [[1e308, 5e307], [-1e160, 1e160]]),
    "reciprocal": (lambda x: np.sum(np.reciprocal(x.astype(int)) * x), [[1.0, -1.0, 2.0], [-2.0, -3.0, 7.0]]),
    "spacing": (lambda x: np.sum(np.spacing(x)), [[0.0], [-0.0], [-1.0]]),
    "max of arrays without axes": (largest, [[1.0, 1.0], [1.0, 3.0, 2.0]]),
    "sum of rows": (lambda x: np.max(sum(x.reshape(3, 2), np.zeros(2))), [np.arange(6.0), -np.arange(6.0)]),
}


@pytest.mark.parametrize("name", AT_THEIR_ENDS)
def test_at_their_ends(name: str) -> None:
    f, inputs = AT_THEIR_ENDS[name]
    for x in map(np.array, inputs):
        plan = planned_ad.compile(f, (x,), check=False)
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-14)


def test_sums_of_narrow_integers_wrap_around() -> None:
    def f(x, counts):
        return sum(counts) * x[0]

    x, counts = np.ones(3), np.array([200, 100, 7], np.uint8)
    with np.errstate(over="ignore"):
        assert planned_ad.compile(f, (x, counts), check=False)(x, counts) == f(x, counts)
