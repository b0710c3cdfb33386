"""Pseudo-inverses that cut off singular values which are not zero, by `rcond`, and of matrices of low rank."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import planned_ad

RNG = np.random.default_rng(0)
X, D, W = RNG.standard_normal(30), RNG.standard_normal(30), RNG.standard_normal((6, 6))


def symmetric(x):
    return np.outer(x[:5], x[:5]) + np.diag(x[5:10]) + np.outer(x[10:15], x[10:15])


def low_rank(x):
    return np.outer(x[:6], x[6:11]) + np.outer(x[11:17], x[17:22])


CASES = {
    "tall": lambda x: np.sum(np.linalg.pinv(x.reshape(6, 5), rcond=0.2) * W[:5]),
    "wide": lambda x: np.sum(np.linalg.pinv(x.reshape(5, 6), rcond=0.3) * W[:, :5]),
    "nothing cut": lambda x: np.sum(np.linalg.pinv(x.reshape(5, 6), rcond=0.001) * W[:, :5]),
    "hermitian": lambda x: np.sum(np.linalg.pinv(symmetric(x), rcond=0.3, hermitian=True) * W[:5, :5]),
    "lstsq": lambda x: np.sum(np.linalg.lstsq(x.reshape(6, 5), W[:, 0], rcond=0.2)[0] * W[:5, 1]),
    "scipy pinv": lambda x: np.sum(scipy.linalg.pinv(x.reshape(6, 5), rtol=0.2) * W[:5]),
    "scipy pinvh": lambda x: np.sum(scipy.linalg.pinvh(symmetric(x), rtol=0.3) * W[:5, :5]),
    "scipy lstsq": lambda x: np.sum(scipy.linalg.lstsq(x.reshape(6, 5), W[:, 0], cond=0.2)[0] * W[:5, 1]),
    "low rank": lambda x: np.sum(np.linalg.pinv(low_rank(x), rcond=1e-8) * W[:5]),
    "rank one": lambda x: np.sum(np.linalg.pinv(np.outer(x[:6], x[6:11]), rcond=1e-3) * W[:5]),
    "equal values": lambda x: np.sum(np.linalg.pinv(np.eye(5) * x[0], rcond=1e-3) * W[:5, :5]),
    "batch": lambda x: np.sum(np.linalg.pinv(x.reshape(2, 5, 3), rcond=0.3) * W[:3, :5]),
}


@pytest.mark.parametrize("name", CASES)
def test_first_and_second_derivatives(name):
    f, step = CASES[name], 1e-6
    plan = planned_ad.compile(f, (X,))
    slope = (f(X + step * D) - f(X - step * D)) / (2 * step)
    assert plan.gradient(X) @ D == pytest.approx(slope, rel=1e-7, abs=1e-8)
    assert planned_ad.jvp(f)(X, D)[1] == pytest.approx(slope, rel=1e-7, abs=1e-8)
    turned = (plan.gradient(X + step * D) - plan.gradient(X - step * D)) / (2 * step)
    np.testing.assert_allclose(plan.hvp(X, D), turned, rtol=1e-6, atol=1e-6 * np.abs(turned).max())


def test_complex_matrices():
    def f(x):
        return np.sum(np.abs(np.linalg.pinv((x[:16] + 1j * x[14:]).reshape(4, 4), rcond=0.3)))

    step = 1e-6
    slope = (f(X + step * D) - f(X - step * D)) / (2 * step)
    assert planned_ad.compile(f, (X,)).gradient(X) @ D == pytest.approx(slope, rel=1e-7)
