"""Contractions over axes that do not lie at one stride: windows of a padded image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.kernels.library.blas import WORTH_OF_VECTORS, Dimension, collapse, product_of, tiled_form
from planned_ad.planning.schedule import LibraryStep


def windows(x: Any, w: Any) -> Any:
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return np.sum(np.einsum("chwij,ocij->ohw", seen, w) ** 2)


@pytest.mark.parametrize("shape", [(5, 16, 16), (5, 24, 16), (5, 9, 12)])
def test_vectors_run_along_the_rows_of_windows(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=shape), rng.normal(size=(6, 5, 3, 3))
    plan = planned_ad.compile(windows, (x, w))
    steps = [step for step in plan.memory().steps if isinstance(step, LibraryStep)]
    products = [step for step in steps if step.operation.primitive == "contract"]
    assert len(products) > 9
    found = [product_of(step) for step in products]
    assert all(tiled_form(product) is not None or product.blas for product in found), "three plain loops"
    tangents = rng.normal(size=x.shape), rng.normal(size=w.shape)
    around = [windows(x + h * tangents[0], w + h * tangents[1]) for h in (-1e-5, 1e-5)]
    gradient = plan.gradient(x, w)
    slope = sum(np.sum(g * t) for g, t in zip(gradient, tangents))
    np.testing.assert_allclose(slope, (around[1] - around[0]) / 2e-5, rtol=1e-7)


def test_a_much_longer_axis_is_worth_more_than_vectors() -> None:
    rows, row = Dimension(16 * WORTH_OF_VECTORS + 1, 18, 0, 16), Dimension(16, 1, 0, 1)
    assert collapse([rows, row]) == (rows, (row,))
    fewer = Dimension(16 * WORTH_OF_VECTORS - 1, 18, 0, 16)
    assert collapse([fewer, row]) == (row, (fewer,))
    assert collapse([Dimension(8, 16, 0, 16), row])[0] == Dimension(128, 1, 0, 1)
