"""The checks of `numpy.testing`, the functions of `statistics`, and `numpy.cross` in the plane, in traced code."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

import planned_ad
from planned_ad.python.versions import NUMPY
from tests.oracle import check_gradient


def checked(x):
    np.testing.assert_allclose(x, x.round(3), atol=0.01)
    np.testing.assert_array_less(x, 3.0)
    np.testing.assert_array_equal(x * 1.0, x)
    np.testing.assert_array_almost_equal(x, x + 1e-9)
    return np.sum(x**2)


@pytest.mark.parametrize("x", [[0.5, 0.25], [0.5, 7.0], [0.5, np.nan]], ids=str)
def test_checks_are_numpys(x) -> None:
    plan, x = planned_ad.compile(checked, (np.array([1.0, 2.0]),)), np.array(x)
    try:
        expected = checked(x)
    except AssertionError as error:
        with pytest.raises(AssertionError) as found:
            plan(x)
        assert str(found.value) == str(error)
    else:
        assert plan(x) == expected


def test_a_check_that_is_caught() -> None:
    def f(x):
        try:
            np.testing.assert_array_less(x, 1.0)
        except AssertionError:
            return 10.0 * np.sum(x)
        return np.sum(x**2)

    plan = planned_ad.compile(f, (np.array([0.1, 0.2]),))
    for x in (np.array([0.5, 0.25]), np.array([2.0, 0.25])):
        assert plan(x) == f(x)


OTHERS = [0.3, 1.2, -0.4, 2.2]


def related(x):
    line = statistics.linear_regression(x, OTHERS)
    return statistics.correlation(x, OTHERS) * line.slope + line.intercept * statistics.covariance(list(x), OTHERS)


def distributed(x):
    normal = statistics.NormalDist(x[0], x[1])
    fitted = statistics.NormalDist.from_samples(list(x))
    return normal.inv_cdf(x[2]) + normal.pdf(1.0) + normal.cdf(x[3]) + (normal + fitted).variance


def harmonic(x):
    return statistics.harmonic_mean(list(x)) + statistics.harmonic_mean(x, [1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("f", [related, distributed, harmonic])
def test_statistics(f) -> None:
    x = np.array([0.3, 1.2, 0.7, 0.9])
    check_gradient(f, x, every_call=False)
    assert planned_ad.compile(f, (x[::-1].copy() / 2,), check=False)(x) == pytest.approx(f(x), rel=1e-13)


@pytest.mark.skipif(NUMPY >= (2, 5), reason="NumPy has none since 2.5")
@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors")
@pytest.mark.parametrize(("a", "b", "axes"), [((4, 2), (2,), {}), ((2, 4), (4, 3), {"axisa": 0}), ((3,), (4, 2), {})])
def test_cross_in_the_plane(a, b, axes) -> None:
    rng = np.random.default_rng(2)
    check_gradient(
        lambda a, b: np.sum(np.cross(a, b, **axes) ** 2), rng.normal(size=a), rng.normal(size=b), every_call=False
    )
