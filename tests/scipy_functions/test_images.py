"""`scipy.ndimage`: every mode of filters and of sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage as nd

import planned_ad
from planned_ad.errors import UnsupportedError
from planned_ad.trace import trace
from tests.tracing_oracle import check

from .orders import check_orders, mostly_long

rng = np.random.default_rng(0)
LINE, IMAGE = rng.normal(size=9), rng.normal(size=(6, 7))
KERNEL, TURN = rng.normal(size=(2, 3)), np.array([[0.913, 0.2107, 0.331], [-0.1703, 1.1309, 0.4107]])
PLACES = np.array([[0.3, 1.7, 3.6, 4.4, -0.6, 6.3], [2.2, 0.4, 5.3, 6.7, -1.3, 7.8]])
LABELS = np.array([[1, 1, 2, 2, 0, 0, 3]] * 6)
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-constant", "grid-mirror")


@pytest.mark.parametrize("mode", mostly_long(MODES, "reflect", "constant"))
def test_modes(mode: str) -> None:
    how = {"mode": mode, "cval": 0.7}
    check(lambda x: nd.correlate1d(x, np.arange(15.0), origin=3, **how), LINE)
    check(lambda x: nd.correlate(x, KERNEL, origin=(0, -1), **how) + nd.convolve(x, KERNEL, **how), IMAGE)
    check(lambda x: nd.uniform_filter(x, 3, origin=1, **how) + nd.maximum_filter(x, 3, **how), IMAGE)
    check(lambda x: nd.spline_filter(x, 3, mode=mode), IMAGE)
    for order in (0, 1, 2, 3):
        check(lambda x, c, order=order: nd.map_coordinates(x, c, order=order, **how), IMAGE, PLACES)
    check(lambda x: nd.shift(x, (1.3, -2.6), **how) + nd.shift(x, (0.4, 1.2), order=0, **how), IMAGE)
    check(lambda x: nd.zoom(x, (1.5, 0.7), order=1, **how), IMAGE)
    if mode.startswith("grid"):
        check(lambda x: nd.zoom(x, (1.5, 0.7), grid_mode=True, **how), IMAGE)
    check(lambda x: nd.rotate(x, 23.0, reshape=False, order=5, **how), IMAGE)


CASES = {
    "gaussian_filter": (lambda x, s: nd.gaussian_filter(x, s[0], radius=3), IMAGE, np.array([0.9])),
    "gaussian_filter1d": (lambda x: nd.gaussian_filter1d(x, 1.1, order=1), LINE),
    "sobel": (lambda x: nd.sobel(x, axis=0) + nd.prewitt(x) + nd.laplace(x), IMAGE),
    "gaussian_laplace": (lambda x: nd.gaussian_laplace(x, 0.6), IMAGE),
    "gradient_magnitude": (lambda x: nd.gaussian_gradient_magnitude(x, 1.1), IMAGE),
    "weights": (lambda x, w: nd.convolve(x, w, mode="wrap"), IMAGE, KERNEL),
    "uniform_filter": (lambda x: nd.uniform_filter(x, 3), IMAGE),
    "median_filter": (lambda x: nd.median_filter(x, 3) + nd.rank_filter(x, 2, footprint=[[0, 1], [1, 1]]), IMAGE),
    "grey_closing": (lambda x: nd.grey_closing(x, size=2) + nd.grey_erosion(x, structure=np.ones((2, 2))), IMAGE),
    "map_coordinates": (lambda x, c: nd.map_coordinates(x, c, order=3, mode="mirror"), IMAGE, PLACES),
    "linear": (lambda x, c: nd.map_coordinates(x, c, order=1), IMAGE, PLACES),
    "affine_transform": (lambda x, a: nd.affine_transform(x, a[:, :2], a[:, 2], mode="reflect"), IMAGE, TURN),
    "shift": (lambda x, s: nd.shift(x, s, order=3, mode="nearest"), IMAGE, np.array([0.3, -1.2])),
    "zoom": (lambda x: nd.zoom(x, 1.7), LINE),
    "labels": (lambda x: nd.sum_labels(x, LABELS, [1, 2, 3]) + nd.mean(x, LABELS, [1, 2, 3]), IMAGE),
    "statistics": (lambda x: nd.variance(x, LABELS, [1, 2]) + nd.maximum(x, LABELS, [1, 2]), IMAGE),
    "center_of_mass": (lambda x: np.array(nd.center_of_mass(x**2, LABELS, [1, 2])), IMAGE),
}


@pytest.mark.parametrize(
    "name", mostly_long(CASES, "gaussian_filter", "median_filter", "map_coordinates", "zoom", "labels")
)
def test_derivatives(name: str) -> None:
    check_orders(*CASES[name], order=2 if name in ("map_coordinates", "gaussian_filter") else 1)


def test_types() -> None:
    check(lambda x: nd.gaussian_filter(x, 1.0), IMAGE.astype(np.float32))
    check(
        lambda x: nd.uniform_filter(x, 3, output=np.float32) + nd.uniform_filter(x, 3, output=np.empty((6, 7))), IMAGE
    )
    check(lambda x, y: nd.uniform_filter(x, 3) * y, np.arange(42).reshape(6, 7), IMAGE)


def test_functions_of_the_users_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="generic_filter"):
        trace(lambda x: nd.generic_filter(x, np.sum, 3), (IMAGE,))
    with pytest.raises(UnsupportedError, match="map_coordinates"):
        trace(lambda x: nd.geometric_transform(x, lambda c: (c[0] + 0.5, c[1])), (IMAGE,))


@pytest.mark.parametrize("dtype", ["u1", "i1", "i4", "u2"])
@pytest.mark.parametrize(
    "resample",
    [
        lambda a: nd.shift(a, (0.6, 0.3), order=1, cval=7.6),
        lambda a: nd.zoom(a, 1.5, order=3),
        lambda a: nd.map_coordinates(a, [[0.5, 1.3, 2.7], [0.2, 3.1, 1.5]], order=3),
        lambda a: nd.affine_transform(a, [[0.9, 0.1], [-0.2, 1.1]], order=3, cval=-300),
    ],
)
def test_images_of_integers_have_the_nearest(resample, dtype):
    image = np.random.default_rng(0).random((7, 6)) * 250 - (100 if dtype[0] == "i" else 0)
    image = image.clip(np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)

    def f(a, w):
        return w * 2.0, resample(a)

    np.testing.assert_array_equal(planned_ad.compile(f, (image, 1.0), check=False)(image, 1.0)[1], resample(image))
