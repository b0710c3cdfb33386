"""Where SciPy takes a limit, or eigenvectors: derivatives where parameters, or eigenvalues, are equal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats

import planned_ad

X = np.array([0.3, -0.7])
TIMES = np.linspace(0.0, 4.0, 9)


def difference(f: Callable[[float], float], at: float, step: float = 1e-4) -> float:
    return (8 * (f(at + step) - f(at - step)) - (f(at + 2 * step) - f(at - 2 * step))) / (12 * step)


LIMITS: dict[str, tuple[Callable, float]] = {
    "skewnorm": (lambda a: scipy.stats.skewnorm.logpdf(0.3, a), 0.0),
    "genpareto": (lambda c: scipy.stats.genpareto.logpdf(0.3, c), 0.0),
    "genpareto_of_several": (lambda c: np.sum(scipy.stats.genpareto.logpdf(np.array([0.3, 1.2]), [c, 0.2])), 0.0),
    "genextreme": (lambda c: scipy.stats.genextreme.logpdf(0.3, c), 0.0),
    "genextreme_cdf": (lambda c: scipy.stats.genextreme.cdf(0.3, c), 0.0),
    "genextreme_elsewhere": (lambda c: scipy.stats.genextreme.logpdf(0.3, c), 0.25),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_parameter_at_which_scipy_takes_a_limit(name: str) -> None:
    f, at = LIMITS[name]
    plan = planned_ad.compile(f, 0.4)
    for c in (at, 0.4, -0.3):
        assert plan(c) == pytest.approx(f(c), rel=1e-12)
        assert plan.gradient(c) == pytest.approx(difference(f, c), rel=1e-5)
    at_once = planned_ad.compile(f, at)
    assert at_once.gradient(at) == pytest.approx(difference(f, at), rel=1e-5)


COVARIANCES: dict[str, Callable[[float], float]] = {
    "isotropic": lambda s: scipy.stats.multivariate_normal.logpdf(X, np.zeros(2), s * np.eye(2)),
    "a_number": lambda s: scipy.stats.multivariate_normal.logpdf(X, np.zeros(2), s),
    "frozen": lambda s: scipy.stats.multivariate_normal(mean=[0, 0], cov=[[s, 0], [0, s]]).pdf(X),
    "t": lambda s: scipy.stats.multivariate_t.logpdf(X, np.zeros(2), s * np.eye(2), df=4),
    "distinct": lambda s: scipy.stats.multivariate_normal.logpdf(X, np.zeros(2), np.diag([s, 2 * s])),
    "singular": lambda s: scipy.stats.multivariate_normal.logpdf(
        np.array([0.3, 0.0]), np.zeros(2), np.array([[s, 0.0], [0.0, 0.0]]), allow_singular=True
    ),
    "kernel": lambda s: scipy.stats.multivariate_normal.logpdf(
        np.sin(TIMES), np.zeros(9), np.exp(-0.5 * (TIMES[:, None] - TIMES) ** 2 / s**2) + 0.1 * np.eye(9)
    ),
}


@pytest.mark.parametrize("name", COVARIANCES)
def test_covariances_with_equal_eigenvalues(name: str) -> None:
    f = COVARIANCES[name]
    plan = planned_ad.compile(f, 1.5)
    for s in (1.5, 0.8):
        assert plan(s) == pytest.approx(f(s), rel=1e-11)
        assert plan.gradient(s) == pytest.approx(difference(f, s), rel=1e-6)


def test_what_scipy_raises_of_covariances() -> None:
    def f(s):
        return scipy.stats.multivariate_normal.logpdf(X, np.zeros(2), np.array([[s, 1.0], [1.0, s]]))

    plan = planned_ad.compile(f, 1.5)
    with pytest.raises((ValueError, np.linalg.LinAlgError), match="positive"):
        plan.gradient(0.5)
