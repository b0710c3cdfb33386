"""Distributions of `scipy.stats`: values as SciPy's, edges included; derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as stats

from planned_ad.errors import PlannedADError
from planned_ad.trace import trace
from planned_ad.tracing.numpy_functions.distribution_formulas import DISTRIBUTIONS
from planned_ad.tracing.numpy_functions.distributions import Method
from planned_ad.tracing.record.dispatch import FUNCTIONS
from tests.tracing_oracle import replay

from .test_gradients import gradient, weighted

SHAPES = {"lognorm": (0.7,), "gamma": (2.3,), "chi2": (3.5,), "beta": (1.7, 2.4), "t": (4.2,), "poisson": (2.5,),
          "binom": (5.0, 0.3), "bernoulli": (0.3,), "truncnorm": (-1.2, 2.5)}  # fmt: skip
EDGES = np.array([-np.inf, -2.5, -1.0, 0.0, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 6.0, 40.0, np.inf, np.nan])
LEVELS = np.array([-0.1, 0.0, 1e-8, 0.2, 0.5, 0.9, 1.0, 1.5, np.nan])
METHODS = sorted((m.distribution, m.name) for m in FUNCTIONS if isinstance(m, Method))
OF_PARAMETERS = ("entropy", "mean", "var", "std")


def arguments(name: str, method: str, loc: float = 0.0, scale: float = 1.0) -> tuple[float, ...]:
    return (*SHAPES.get(name, ()), loc, *(() if DISTRIBUTIONS[name].discrete else (scale,)))


def as_scipy(function, *args) -> None:
    actual, _ = replay(trace(function, args), *args)
    with np.errstate(all="ignore"):
        expected = function(*args)
    assert type(actual) is type(expected) and actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=2e-12, atol=1e-15)


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_values(name: str, method: str) -> None:
    call = getattr(getattr(stats, name), method)
    loc = 1.0 if DISTRIBUTIONS[name].discrete else 0.25
    if method in OF_PARAMETERS:
        as_scipy(lambda *p: getattr(getattr(stats, name), method)(*p), *arguments(name, method, loc, 1.5))
        as_scipy(lambda p: getattr(getattr(stats, name), method)(*p), np.array(arguments(name, method, loc, -1.5)))
        return
    x = LEVELS if method == "ppf" else EDGES
    for p in (arguments(name, method), arguments(name, method, loc, 1.5), arguments(name, method, loc, -1.5)):
        as_scipy(lambda x, p=p: call(x, *p), x)
    as_scipy(lambda x: call(x[3], *arguments(name, method)), x)
    wrong = [(*p[:k], -2.0, *p[k + 1 :]) for p in [arguments(name, method)] for k in range(len(SHAPES.get(name, ())))]
    if DISTRIBUTIONS[name].discrete and method == "logcdf":
        return  # SciPy gives 0 beyond the support where parameters are not valid; nan is right
    for p in wrong:
        as_scipy(lambda x, p=p: call(x, *p), x)


def points(name: str, method: str) -> np.ndarray:
    if method == "ppf":
        return np.array([0.2, 0.4, 0.75])
    if DISTRIBUTIONS[name].discrete:
        return np.array([0.0, 0.0 if "sf" in method else 1.0]) if name == "bernoulli" else np.array([0.0, 2.0, 4.0])
    return np.array([0.15, 0.4, 0.85]) if name in ("beta", "uniform") else np.array([0.3, 0.9, 2.1])


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_derivatives(name: str, method: str) -> None:
    """In x and in all parameters."""
    discrete = DISTRIBUTIONS[name].discrete
    fixed = SHAPES.get(name, ())[: int(name == "binom")]  # a whole number
    free = np.array(arguments(name, method, 0.0, 1.1)[len(fixed) : -1 if discrete else None])

    def f(x, p):
        call = getattr(getattr(stats, name), method)
        return call(*fixed, *p) if method in OF_PARAMETERS else call(x, *fixed, *p)

    x = points(name, method)
    loss = weighted((lambda p: f(x, p)) if discrete or method in OF_PARAMETERS else f)
    given = (free,) if discrete or method in OF_PARAMETERS else (x, free)
    rng = np.random.default_rng(1)
    try:
        shadows = gradient(loss, given)
    except PlannedADError as error:
        if "not depend" in str(error) or "constant" in str(error):
            return
        raise
    directions = [rng.normal(size=a.shape) for a in given]

    def moved(h: float) -> float:
        return float(loss(*(a + h * d for a, d in zip(given, directions))))

    h = 1e-4
    slope = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
    actual = sum(float(np.sum(s * d)) for s, d in zip(shadows, directions))
    np.testing.assert_allclose(actual, slope, rtol=1e-7, atol=1e-9)


PRIOR = stats.norm(np.array([0.5, -1.0]), 2.0)
LOG_DENSITY = stats.norm.logpdf


def test_frozen_distributions_and_methods_found_outside() -> None:
    x = np.array([0.2, 0.7])
    as_scipy(lambda x: PRIOR.logpdf(x), x)
    as_scipy(lambda x: LOG_DENSITY(x, scale=2.0), x)
    as_scipy(lambda x: stats.gamma(x, scale=x).cdf(2.0), x)
    as_scipy(lambda x: stats.norm(loc=x).logpdf(x=np.array([1.0, 2.0])) + PRIOR.std() + PRIOR.mean(), x)
    as_scipy(lambda x: x * stats.norm.rvs(size=2, random_state=1) + stats.norm.ppf(0.975), x)


def test_outside_of_the_support_the_derivative_is_zero() -> None:
    x = np.array([-1.0, 0.0, 0.5, 2.0])
    (dx,) = gradient(lambda x: np.sum(stats.beta.pdf(x, 2.0, 3.0)), (x,))
    np.testing.assert_allclose(dx[[0, 3]], 0)
    assert np.isfinite(dx).all()


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda x: stats.norm.rvs(size=2) * x, "rvs gives other numbers"),
        (lambda x: stats.gamma.fit(x), "fit"),
        (lambda x: stats.skewnorm.cdf(x, 2.0), r"test_distributions.py:\d+"),
    ],
)
def test_what_has_no_rule_is_refused(f, what) -> None:
    with pytest.raises(PlannedADError, match=what):
        trace(f, (np.array([0.2, 0.7]),))


@pytest.mark.parametrize(("name", "shapes"), [("rayleigh", ()), ("invgauss", (0.8,)), ("wald", ()), ("alpha", (1.5,))])
@pytest.mark.parametrize("method", ["pdf", "logpdf"])
def test_ends_that_are_not_in_the_support(name: str, shapes: tuple[float, ...], method: str) -> None:
    call = getattr(getattr(stats, name), method)
    as_scipy(lambda x: call(x, *shapes), EDGES)


@pytest.mark.parametrize("name", ["norm", "gamma", "rayleigh"])
def test_likelihoods_of_what_cannot_be(name: str) -> None:
    shapes = {"gamma": (1.3,)}.get(name, ())
    wrong = [(*(-s for s in shapes), 0.0, 1.2)] if shapes else []
    for data in (np.array([0.3, 0.7, 1.4, 2.2]), np.array([0.3, np.nan])):
        for p in ((*shapes, 0.0, 1.2), (*shapes, 0.0, -1.0), (*shapes, 1.0, 1.2), *wrong):
            actual, _ = replay(
                trace(lambda p, data=data: getattr(stats, name).nnlf(p, data), (np.array(p),)), np.array(p)
            )
            np.testing.assert_allclose(actual, getattr(stats, name).nnlf(np.array(p), data), rtol=2e-12)
