"""The distributions of `scipy.stats` in their standard forms, as plain NumPy functions of `(x, *shape parameters)`.

The formulas are those of SciPy, so that values agree to rounding; loc, scale and what lies outside of the support are
added by `distributions`. A row gives the logarithm of the density and the distribution function, and what else has a
better formula than follows from those.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from scipy.special import betaln, gammaln, psi, xlog1py, xlogy

Formula = Callable[..., Any]
LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
BOUND = math.inf


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """One distribution.

    log_density, cdf, sf, log_cdf, log_sf, density : of `(x, *shapes)`, inside of the support.
    ppf : the inverse of `cdf`; None where there is none to differentiate.
    mean, variance, entropy : of `(*shapes)`; None where there is no formula.
    support : of `(*shapes)`: the lowest and the highest number.
    valid : of `(*shapes)`: whether there is such a distribution; with all shapes above zero, unless it is given.
    isf : the inverse of `sf`.
    inner : a number inside of every support; None where there is none.
    discrete : of whole numbers.
    """

    log_density: Formula
    cdf: Formula
    sf: Formula
    density: Formula | None = None
    log_cdf: Formula | None = None
    log_sf: Formula | None = None
    ppf: Formula | None = None
    isf: Formula | None = None
    mean: Formula | None = None
    variance: Formula | None = None
    entropy: Formula | None = None
    support: Formula = lambda *shapes: (-BOUND, BOUND)
    valid: Formula = lambda *shapes: functools.reduce(operator.and_, [shape > 0 for shape in shapes], True)
    inner: float | None = 0.5
    discrete: bool = False


def from_zero(*shapes: Any) -> tuple[float, float]:
    return 0.0, BOUND


def unit(*shapes: Any) -> tuple[float, float]:
    return 0.0, 1.0


def always(number: float) -> Formula:
    return lambda *shapes: number


# Without shape parameters.

NORM = Distribution(
    log_density=lambda x: -(x * x) / 2.0 - LOG_ROOT_TWO_PI,
    density=lambda x: np.exp(-(x * x) / 2.0) / math.sqrt(2 * math.pi),
    cdf=special.ndtr,
    sf=lambda x: special.ndtr(-x),
    log_cdf=special.log_ndtr,
    log_sf=lambda x: special.log_ndtr(-x),
    ppf=special.ndtri,
    mean=always(0.0),
    variance=always(1.0),
    entropy=always(LOG_ROOT_TWO_PI + 0.5),
)
EXPON = Distribution(
    log_density=lambda x: -x,
    cdf=lambda x: -np.expm1(-x),
    sf=lambda x: np.exp(-x),
    log_sf=lambda x: -x,
    ppf=lambda q: -np.log1p(-q),
    mean=always(1.0),
    variance=always(1.0),
    entropy=always(1.0),
    support=from_zero,
)
UNIFORM = Distribution(
    log_density=lambda x: 0.0 * x,
    density=lambda x: 1.0 + 0.0 * x,
    cdf=lambda x: x,
    sf=lambda x: 1.0 - x,
    ppf=lambda q: q,
    mean=always(0.5),
    variance=always(1 / 12),
    entropy=always(0.0),
    support=unit,
)
CAUCHY = Distribution(
    log_density=lambda x: -np.log(math.pi * (1.0 + x * x)),
    density=lambda x: 1.0 / math.pi / (1.0 + x * x),
    cdf=lambda x: np.arctan2(1.0, -x) / math.pi,
    sf=lambda x: np.arctan2(1.0, x) / math.pi,
    # The same as tan(pi q - pi / 2), without cancellation towards 0 and 1.
    ppf=lambda q: np.where(q < 0.5, -1.0, 1.0) / np.tan(math.pi * np.where(q < 0.5, q, 1.0 - q)),
    mean=always(math.nan),
    variance=always(math.nan),
    entropy=always(math.log(4 * math.pi)),
)


def laplace_cdf(x: Any) -> Any:
    half = 0.5 * np.exp(-np.abs(x))
    return np.where(x > 0, 1.0 - half, half)


def laplace_ppf(q: Any) -> Any:
    above = q > 0.5
    half = np.log(2.0 * np.where(above, 1.0 - q, q))
    return np.where(above, -half, half)


LAPLACE = Distribution(
    log_density=lambda x: math.log(0.5) - np.abs(x),
    density=lambda x: 0.5 * np.exp(-np.abs(x)),
    cdf=laplace_cdf,
    sf=lambda x: laplace_cdf(-x),
    ppf=laplace_ppf,
    mean=always(0.0),
    variance=always(2.0),
    entropy=always(math.log(2) + 1),
)


def logistic_log_density(x: Any) -> Any:
    y = -np.abs(x)
    return y - 2.0 * np.log1p(np.exp(y))


LOGISTIC = Distribution(
    log_density=logistic_log_density,
    cdf=special.expit,
    sf=lambda x: special.expit(-x),
    log_cdf=special.log_expit,
    log_sf=lambda x: special.log_expit(-x),
    ppf=special.logit,
    mean=always(0.0),
    variance=always(math.pi**2 / 3),
    entropy=always(2.0),
)

# With shape parameters.


def lognorm_log_density(x: Any, s: Any) -> Any:
    """`-log(x)**2 / (2 s**2) - log(s x sqrt(2 pi))`, -inf at 0."""
    zero = x == 0
    y = np.log(np.where(zero, 1.0, x))
    return np.where(zero, -math.inf, -((y / s) ** 2) / 2 - np.log(s) - y - LOG_ROOT_TWO_PI)


LOGNORM = Distribution(
    log_density=lognorm_log_density,
    cdf=lambda x, s: special.ndtr(np.log(x) / s),
    sf=lambda x, s: special.ndtr(-np.log(x) / s),
    log_cdf=lambda x, s: special.log_ndtr(np.log(x) / s),
    log_sf=lambda x, s: special.log_ndtr(-np.log(x) / s),
    ppf=lambda q, s: np.exp(s * special.ndtri(q)),
    mean=lambda s: np.exp(s * s / 2),
    variance=lambda s: np.exp(s * s) * np.expm1(s * s),
    entropy=lambda s: 0.5 + LOG_ROOT_TWO_PI + np.log(s),
    support=from_zero,
)


def gamma_entropy(a: Any) -> Any:
    """`a + gammaln(a) + (1 - a) psi(a)`; where that cancels, by the asymptotic series of its terms."""
    large = a >= 250
    small, a = np.where(large, 1.0, a), np.where(large, a, 250.0)
    series = 0.5 + LOG_ROOT_TWO_PI + 0.5 * np.log(a) - 1 / (3 * a) - a**-2 / 12 - a**-3 / 90 + a**-4 / 120
    return np.where(large, series, psi(small) * (1 - small) + small + gammaln(small))


GAMMA = Distribution(
    log_density=lambda x, a: xlogy(a - 1.0, x) - x - gammaln(a),
    cdf=lambda x, a: special.gammainc(a, x),
    sf=lambda x, a: special.gammaincc(a, x),
    ppf=lambda q, a: special.gammaincinv(a, q),
    mean=lambda a: a,
    variance=lambda a: a,
    entropy=gamma_entropy,
    support=from_zero,
)
CHI2 = Distribution(
    log_density=lambda x, df: xlogy(df / 2.0 - 1, x) - x / 2.0 - gammaln(df / 2.0) - (math.log(2) * df) / 2.0,
    cdf=lambda x, df: special.gammainc(df / 2, x / 2),
    sf=lambda x, df: special.gammaincc(df / 2, x / 2),
    ppf=lambda q, df: 2.0 * special.gammaincinv(df / 2, q),
    mean=lambda df: df,
    variance=lambda df: 2.0 * df,
    entropy=lambda df: math.log(2) + gamma_entropy(df / 2),
    support=from_zero,
)
BETA = Distribution(
    log_density=lambda x, a, b: xlog1py(b - 1.0, -x) + xlogy(a - 1.0, x) - betaln(a, b),
    cdf=lambda x, a, b: special.betainc(a, b, x),
    sf=lambda x, a, b: special.betaincc(a, b, x),
    ppf=lambda q, a, b: special.betaincinv(a, b, q),
    mean=lambda a, b: a / (a + b),
    variance=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
    entropy=lambda a, b: betaln(a, b) - (a - 1) * psi(a) - (b - 1) * psi(b) + (a + b - 2) * psi(a + b),
    support=unit,
)


def t_log_density(x: Any, df: Any) -> Any:
    """With infinite degrees of freedom that of the normal distribution."""
    normal = df == math.inf
    df = np.where(normal, 1.0, df)
    peak = np.log(special.poch(0.5 * df, 0.5)) - 0.5 * (np.log(df) + math.log(math.pi))
    return np.where(normal, NORM.log_density(x), peak - (df + 1) / 2 * np.log1p(x * x / df))


def t_variance(df: Any) -> Any:
    finite = df > 2
    value = np.where(df == math.inf, 1.0, df / np.where(finite & (df < math.inf), df - 2.0, 1.0))
    return np.where(finite, value, np.where(df > 1, math.inf, math.nan))


def t_entropy(df: Any) -> Any:
    large = df >= 100
    small, inverse = np.where(large, 1.0, df), 1 / np.where(large, df, 100.0)
    half, half1 = small / 2, (small + 1) / 2
    exact = half1 * (psi(half1) - psi(half)) + np.log(np.sqrt(small) * special.beta(half, 0.5))
    series = (
        LOG_ROOT_TWO_PI
        + 0.5
        + inverse * (1 + inverse * (1 / 4 + inverse * (-1 / 6 + inverse * (-1 / 8 + inverse * (3 / 10 + inverse / 4)))))
    )
    return np.where(large, series, exact)


T = Distribution(
    log_density=t_log_density,
    cdf=lambda x, df: special.stdtr(df, x),
    sf=lambda x, df: special.stdtr(df, -x),
    ppf=lambda q, df: special.stdtrit(df, q),
    mean=lambda df: np.where(df > 1, 0.0, math.inf),
    variance=t_variance,
    entropy=t_entropy,
)

# Of whole numbers.

POISSON = Distribution(
    log_density=lambda k, mu: xlogy(k, mu) - gammaln(k + 1) - mu,
    cdf=lambda k, mu: special.gammaincc(np.floor(k) + 1, mu),
    sf=lambda k, mu: special.gammainc(np.floor(k) + 1, mu),
    mean=lambda mu: mu,
    variance=lambda mu: mu,
    support=from_zero,
    valid=lambda mu: mu >= 0,
    inner=0.0,
    discrete=True,
)


def binom_log_density(k: Any, n: Any, p: Any) -> Any:
    return gammaln(n + 1) - (gammaln(k + 1) + gammaln(n - k + 1)) + xlogy(k, p) + xlog1py(n - k, -p)


def binom_cdf(k: Any, n: Any, p: Any) -> Any:
    return special.betaincc(k + 1, np.maximum(n - k, 1.0), p)


BINOM = Distribution(
    log_density=binom_log_density,
    cdf=lambda k, n, p: binom_cdf(np.floor(k), n, p),
    sf=lambda k, n, p: special.betainc(np.floor(k) + 1, np.maximum(n - np.floor(k), 1.0), p),
    mean=lambda n, p: n * p,
    variance=lambda n, p: n * p - n * np.square(p),
    support=lambda n, p: (0.0, n),
    valid=lambda n, p: (n >= 0) & (np.floor(n) == n) & (p >= 0) & (p <= 1),
    inner=0.0,
    discrete=True,
)
BERNOULLI = Distribution(
    log_density=lambda k, p: xlogy(k, p) + xlog1py(1.0 - k, -p),
    density=lambda k, p: np.where(k == 1, p, 1.0 - p),
    cdf=lambda k, p: 1.0 - p,
    sf=lambda k, p: p,
    mean=lambda p: p,
    variance=lambda p: p - np.square(p),
    entropy=lambda p: special.entr(p) + special.entr(1.0 - p),
    support=unit,
    valid=lambda p: (p >= 0) & (p <= 1),
    inner=0.0,
    discrete=True,
)


def log_of_difference(log_p: Any, log_q: Any) -> Any:
    """`log(p - q)`."""
    return log_p + np.log1p(-np.exp(log_q - log_p))


def log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal distribution's mass from `a` to `b`, in the tail that keeps its digits."""
    left, right = b <= 0, a > 0
    tails = np.where(left, b, -a), np.where(left, a, -b)  # of two numbers that are negative where one is taken
    inside = left | right
    in_tail = log_of_difference(*(special.log_ndtr(np.where(inside, t, -1.0 - k)) for k, t in enumerate(tails)))
    return np.where(inside, in_tail, np.log1p(-special.ndtr(a) - special.ndtr(-b)))


TRUNCNORM = Distribution(
    log_density=lambda x, a, b: NORM.log_density(x) - log_mass(a, b),
    cdf=lambda x, a, b: np.exp(log_mass(a, x) - log_mass(a, b)),
    sf=lambda x, a, b: np.exp(log_mass(x, b) - log_mass(a, b)),
    log_cdf=lambda x, a, b: log_mass(a, x) - log_mass(a, b),
    log_sf=lambda x, a, b: log_mass(x, b) - log_mass(a, b),
    mean=lambda a, b: (NORM.density(a) - NORM.density(b)) / np.exp(log_mass(a, b)),  # type: ignore[misc]
    support=lambda a, b: (a, b),
    valid=lambda a, b: a < b,
    inner=None,
)


DISTRIBUTIONS = {
    "norm": NORM,
    "expon": EXPON,
    "uniform": UNIFORM,
    "cauchy": CAUCHY,
    "laplace": LAPLACE,
    "logistic": LOGISTIC,
    "lognorm": LOGNORM,
    "gamma": GAMMA,
    "chi2": CHI2,
    "beta": BETA,
    "t": T,
    "poisson": POISSON,
    "binom": BINOM,
    "bernoulli": BERNOULLI,
    "truncnorm": TRUNCNORM,
}
"""By the names that they have in `scipy.stats`."""
