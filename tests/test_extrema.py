"""The adjoint of an extremum finds the elements that attain it, however the compiler rounds around it."""

import numpy as np
import pytest

import planned_ad


@pytest.mark.parametrize("seed", range(4))
def test_what_attains_an_extremum_is_computed_as_in_the_primal(seed):
    """Contracted to fused multiply-adds in one place and not in the other, no element would be equal to it: nan."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.normal(size=(3, 33))

    def f(x, y, z):
        whole = np.max(np.abs(x * y + z * x - y * z) * 1.7 + x * 0.3)
        rows = np.min((x * y + z * x - y * z).reshape(11, 3) * 1.7 + 0.3 * y.reshape(11, 3), axis=1)
        return whole * np.sum(x * x) + np.sum(rows**2)

    found = planned_ad.compile(f, (x, y, z)).gradient(x, y, z)
    for k, gradient in enumerate(found):
        for i in (0, 7, 20):
            moved = [a.copy() for a in (x, y, z)], [a.copy() for a in (x, y, z)]
            moved[0][k][i] += 1e-6
            moved[1][k][i] -= 1e-6
            np.testing.assert_allclose(gradient[i], (f(*moved[0]) - f(*moved[1])) / 2e-6, rtol=1e-5, atol=1e-7)
        assert np.isfinite(gradient).all()


def test_second_derivatives_of_running_extrema():
    def f(x):
        return np.sum(np.maximum.accumulate(x) ** 2 * np.arange(7.0)) + np.sum(np.minimum.accumulate(x) ** 3)

    x, v = np.random.default_rng(0).normal(size=(2, 7))
    gradient = planned_ad.grad(f)
    expected = (gradient(x + 1e-6 * v) - gradient(x - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(planned_ad.hvp(f)(x, v), expected, rtol=1e-6, atol=1e-8)


def test_of_a_list_of_numbers() -> None:
    def f(x):
        d = np.full((6, 7), 9.0)
        d[0, 0] = 0.0
        for i in range(5):
            for j in range(6):
                d[i + 1, j + 1] = abs(x[i] - x[j]) + np.min([d[i, j], d[i, j + 1], d[i + 1, j]])
        return d[-1, -1] + np.max((0.5, x[0], x[1] ** 2)) + np.min([1, x[2]]) * np.max([x[3]])

    x = np.random.default_rng(4).random(6)
    plan = planned_ad.compile(f, x)
    assert plan(x) == f(x)
    slopes = [(f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6 for d in np.eye(6)]
    np.testing.assert_allclose(plan.gradient(x), slopes, atol=1e-8)
    plan = planned_ad.compile(lambda x: np.max([x[0], x[1], np.nan]), x)
    assert np.isnan(plan(x))
