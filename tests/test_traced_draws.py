"""Random draws whose parameters are traced: the numbers that NumPy draws, also at other parameters, or refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import planned_ad
from planned_ad.errors import TraceError, UnsupportedError
from planned_ad.trace import trace

from .tracing_oracle import replay

X = np.array([1.0, 2.0, 3.0])
DRAWS: list[Callable[[Any, Any], Any]] = [
    lambda r, x: r.normal(x, 2.0),
    lambda r, x: r.normal(loc=x, scale=x[1]),
    lambda r, x: r.normal(x[0]) + r.normal([x[0], 1.0], size=(3, 2))[:, 1],
    lambda r, x: r.normal(x, 1.0, (2, 3)),
    lambda r, x: r.laplace(x) + r.logistic(x, 0.5) + r.gumbel(scale=x),
    lambda r, x: r.lognormal(x, 0.3) + r.lognormal(0.1, x[0]),
    lambda r, x: r.uniform(x, x + 2) + r.uniform(-1, x[0], 3),
    lambda r, x: r.exponential(x) + r.rayleigh(x),
    lambda r, x: r.weibull(x) + r.pareto(x) + r.power(x),
    lambda r, x: r.multivariate_normal(x, np.eye(3) + 0.5) + r.multivariate_normal(x, cov=np.eye(3), size=2)[1],
]


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("draw", DRAWS)
def test_of_formulas(draw: Callable[[Any, Any], Any], make: Callable[[int], Any]) -> None:
    seeded = "default_rng" if make is np.random.default_rng else "RandomState"

    def program(x):
        generator = getattr(np.random, seeded)(3)
        return draw(generator, x) + generator.normal()

    traced = trace(program, (X,))
    for x in (X, 1.5 * X):
        np.testing.assert_allclose(replay(traced, x)[0], program(x), rtol=1e-12)


def test_their_derivatives() -> None:
    plan = planned_ad.compile(lambda x: np.sum(np.random.default_rng(0).normal(x, x)), (X,))
    np.testing.assert_allclose(plan.gradient(X), 1 + np.random.default_rng(0).standard_normal(3))


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: np.random.default_rng(0).gamma(x),
        lambda x: np.random.RandomState(0).poisson(x) * 1.0,
        lambda x: np.random.default_rng(0).beta(x[0], 2.0) * x,
        lambda x: np.random.default_rng(0).integers(x[0]) * x,
        lambda x: np.random.default_rng(0).choice(x, p=x / 6.0),
        lambda x: np.random.default_rng(0).multivariate_normal(x, np.eye(3) * x),
    ],
)
def test_of_others(draw: Callable[[Any], Any]) -> None:
    with pytest.raises(UnsupportedError, match="of a random generator with"):
        trace(draw, (X,))


def test_of_python_and_how_many() -> None:
    def program(x, n):
        generator = random.Random(3)
        return x * generator.gauss(x[0], x[1]) + generator.choice(x) + np.random.default_rng(1).normal(size=n).sum()

    traced = trace(program, (X, 4))
    np.testing.assert_allclose(replay(traced, 2 * X, 4)[0], program(2 * X, 4), rtol=1e-12)


RVS: list[Callable[[Any, Any], Any]] = [
    lambda r, x: x * stats.norm.rvs(size=3, random_state=r) * stats.poisson(3.0).rvs(random_state=r),
    lambda r, x: stats.norm.rvs(x, x**2, random_state=r) + stats.norm(x[0], 2.0).rvs(3, random_state=r),
    lambda r, x: stats.weibull_min.rvs(x, scale=x[0], random_state=r) + stats.t.rvs(4.0, x[1], random_state=r),
    lambda r, x: sum([x * stats.expon.rvs(random_state=r) for k in range(5)]),
    lambda r, x: x * stats.multivariate_normal.rvs(x, np.eye(3), random_state=r),
    lambda r, x: x * stats.gamma.rvs(2.0, size=3, random_state=7) + stats.uniform.rvs(0, x, random_state=np.int64(7)),
]


@pytest.mark.parametrize("make", ["default_rng", "RandomState"])
@pytest.mark.parametrize("draw", RVS)
def test_of_scipys_distributions(draw: Callable[[Any, Any], Any], make: str) -> None:
    def program(x):
        generator = getattr(np.random, make)(3)
        total = draw(generator, x)
        for _ in range(20):
            total = total + stats.norm.rvs(random_state=generator)
        return total + generator.normal()

    traced = trace(program, (X,))
    for x in (X, 1.5 * X):
        np.testing.assert_allclose(replay(traced, x)[0], program(x), rtol=1e-12)


def test_scipys_integers_with_traced_parameters_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="no derivative"):
        trace(lambda x: x * stats.bernoulli.rvs(x[0] / 3, random_state=2), (X,))
    with pytest.raises(TraceError, match="gives other numbers"):
        trace(lambda x: x * stats.norm.rvs(random_state=random.Random(2)), (X,))


def test_a_generator_without_a_seed_may_be_made_and_not_used() -> None:
    def program(x, is_used):
        generator = np.random.default_rng()
        assert isinstance(generator, np.random.Generator)
        return x * generator.normal() if is_used else 2 * x

    np.testing.assert_allclose(replay(trace(program, (X, False)), X, False)[0], 2 * X)
    with pytest.raises(TraceError, match="gives other numbers"):
        trace(program, (X, True))


def of_the_process(x):
    np.random.seed(42)
    w, order, n = np.random.rand(3), np.random.permutation(3), np.random.normal(x[0], x[1], 3)
    np.random.shuffle(w)
    random.seed(5)
    total = np.sum(w * x[order]) + n.sum() + np.random.ranf() + random.gauss(0, 1) * x[2]
    if x[0] > 1:
        total += np.random.rand() * x[1]
    for _ in range(3):
        total += random.choice([1.0, 2.0]) * np.random.randint(0, 5) * x[0]
    return total + random.random() * np.random.uniform(0.0, 1.0) * x[1]


@pytest.mark.parametrize("on_branch", ["retrace", "record"])
def test_of_the_process_once_it_is_seeded(on_branch: str) -> None:
    plan = planned_ad.compile(of_the_process, (X,), on_branch=on_branch)
    for x in (X, X * 0.7, X + 0.5):
        assert plan(x) == pytest.approx(of_the_process(x), rel=1e-14)
    before = np.random.get_state()[1].copy()
    planned_ad.compile(of_the_process, (X,), check=False)(X)
    assert np.array_equal(before, np.random.get_state()[1])  # it stays as it is
