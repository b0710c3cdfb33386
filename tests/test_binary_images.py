"""Functions of `scipy.ndimage` that have no derivative: labels, morphology of truths, distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import planned_ad
from planned_ad.errors import UnsupportedError

SQUARE = ndimage.generate_binary_structure(2, 2)


def labels(x: Any) -> Any:
    found, count = ndimage.label(x > 0.3)
    return sum(np.sum(x[found == k]) ** 2 * k for k in range(1, 4)) + count * x[0, 0]


def with_a_structure(x: Any) -> Any:
    found, count = ndimage.label(x > 0.3, SQUARE)
    return np.sum(ndimage.sum_labels(x, found, index=np.arange(1, 3)) ** 2) + found.dtype.itemsize * count


def morphology(x: Any) -> Any:
    wide = ndimage.binary_dilation(x > 0.6, structure=SQUARE, iterations=2)
    closed = ndimage.binary_closing(ndimage.binary_opening(x > -0.5, SQUARE), border_value=1)
    within = ndimage.binary_propagation(x > 1.0, mask=x > 0.0)
    return np.sum(x[wide] ** 2) + np.sum(x * closed) + np.sum(np.where(within, x, 0.0))


def distances(x: Any) -> Any:
    far = ndimage.distance_transform_edt(x > 0.0, sampling=[1.0, 2.0])
    return np.sum(far * x) + ndimage.distance_transform_edt(np.abs(x) > 0.1).max() * x[0, 0]


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for k in range(20):
        total += np.sum(x[ndimage.binary_fill_holes(x > 0.05 * k)]) * (k + 1)
    return total


@pytest.mark.parametrize("f", [labels, with_a_structure, morphology, distances, in_a_loop])
def test_as_scipy_has_it(f: Callable[[Any], Any]) -> None:
    images = [np.random.default_rng(k).normal(size=(7, 8)) for k in range(3)]
    plan = planned_ad.compile(f, (images[0],))
    direction = np.random.default_rng(9).normal(size=(7, 8))
    for x in images:
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)
        slope = (f(x + 1e-7 * direction) - f(x - 1e-7 * direction)) / 2e-7
        np.testing.assert_allclose(np.sum(plan.gradient(x) * direction), slope, rtol=1e-6)


def test_what_it_is_written_to() -> None:
    with pytest.raises(UnsupportedError, match="output="):
        planned_ad.compile(
            lambda x: ndimage.binary_erosion(x > 0, output=np.zeros((3, 3))).sum() * x[0, 0], (np.eye(3),)
        )
