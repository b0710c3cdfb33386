"""Tests of `scipy.stats` by ranks and by distribution functions, of traced samples.

What depends on the order of numbers alone is constant between ties, and so is its derivative zero: SciPy computes it
when the plan runs. The statistic of Kolmogorov and Smirnov's test of one sample and of Cramer and von Mises' are
functions of the sample's probabilities. The probability of the first is known by formulas, and in its exact form for
both sides by SciPy, whose density is the derivative; that of the other is not given a derivative, nor a value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ..custom.native_rules import opaque
from ..errors import UnsupportedError
from ..tracing.record.recorder import Recorder
from .solvers import by_scipy, calls, held, refuse_options


@opaque(result=lambda statistic, n: statistic)
def kolmogorov_tail(statistic: float, n: int) -> float:
    """The upper tail of Kolmogorov's statistic of `n` numbers."""
    import scipy.stats

    return float(scipy.stats.kstwo.sf(statistic, n))


@opaque(result=lambda statistic, n: statistic)
def kolmogorov_density(statistic: float, n: int) -> float:
    import scipy.stats

    return float(scipy.stats.kstwo.pdf(statistic, n))


@kolmogorov_tail.jvp(needs=("statistic", "n"))
def kolmogorov_slope(statistic: Any, n: int, along: Any, _: None) -> Any:
    return -kolmogorov_density(statistic, n) * along


class Significance(NamedTuple):
    """What a test finds; both numbers by ranks."""

    statistic: Any
    pvalue: Any

    @property
    def correlation(self) -> Any:
        return self.statistic


class StatisticAlone:
    """What a test finds whose probability has no derivative here."""

    def __init__(self, recorder: Recorder, name: str, **known: Any):
        self.__dict__.update(known, _recorder=recorder, _name=name)

    def __getitem__(self, k: int) -> Any:
        return self.statistic if k == 0 else self.pvalue

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedError(
            f"{self._recorder.here()}: `{name}` of {self._name} is not known of a traced sample; of what it returns "
            "take [0] or .statistic, and call it outside of the traced function for the rest"
        )

    def __iter__(self) -> Any:
        return iter((self.statistic, self.pvalue))


def sample(recorder: Recorder, name: str, x: Any) -> Any:
    array = recorder.array(recorder.value_of(x, np.float64))
    if array.ndim != 1:
        raise UnsupportedError(
            f"{recorder.here()}: {name} of traced samples with several axes; call it for each sample"
        )
    return array


@calls("scipy.stats", "mannwhitneyu", "wilcoxon", "kendalltau", "spearmanrho", "chatterjeexi", "ks_2samp")
def of_ranks(recorder: Recorder, name: str, *given: Any, **options: Any) -> Any:
    import scipy.stats

    refused = ("nan_policy", "keepdims")
    refuse_options(recorder, name, options, [option for option in options if option not in refused])
    samples = [sample(recorder, name, x) for x in (*given[:2], options.get("x"), options.get("y")) if np.ndim(x)]
    function = getattr(scipy.stats, name)

    def solve(given: Any, options: Any) -> list[float]:
        found = function(*given, **options)
        place = getattr(found, "statistic_location", 0.0)
        return [found.statistic, found.pvalue, place, getattr(found, "statistic_sign", 0)]

    statistic, pvalue, place, sign = by_scipy(recorder, name, solve, (given, options), 4)
    if name != "ks_2samp":
        return Significance(statistic, pvalue)
    both = np.concatenate(samples)
    place = both[np.argmin(np.abs(held(recorder, both) - place))]
    result = type(function([0.0], [1.0]))
    return result(statistic, pvalue, statistic_location=place, statistic_sign=recorder.integer(sign))


def probabilities(recorder: Recorder, name: str, x: Any, cdf: Any, args: Any) -> tuple[Any, Any]:
    """A sample in ascending order, and its distribution function there."""
    import scipy.stats

    ordered = np.sort(sample(recorder, name, x))
    args = args if isinstance(args, tuple) else (args,)
    function = getattr(scipy.stats, cdf).cdf if isinstance(cdf, str) else cdf
    return ordered, recorder.namespace.function(function)(ordered, *args)


POSITIONAL = {"ks_1samp": ("args", "alternative", "method"), "kstest": ("args", "N", "alternative", "method")}


@calls("scipy.stats", "kstest", "ks_1samp")
def kolmogorov_smirnov(recorder: Recorder, name: str, x: Any, cdf: Any, *given: Any, **options: Any) -> Any:
    import scipy.stats

    options = dict(zip(POSITIONAL[name], given)) | options
    args = options.pop("args", ())
    options.pop("N", None)
    if not isinstance(cdf, str) and not callable(recorder.namespace.unshadowed(cdf)):
        return of_ranks(recorder, "ks_2samp", x, cdf, **options)
    alternative, method = options.pop("alternative", "two-sided"), options.pop("method", "auto")
    refuse_options(recorder, name, options, ())
    ordered, below = probabilities(recorder, name, x, cdf, args)
    n = len(ordered)
    over, under = np.arange(1.0, n + 1) / n - below, below - np.arange(0.0, n) / n
    gaps = {"g": [over], "l": [under]}.get(alternative.lower()[0], [over, under])
    both = np.concatenate(gaps)
    first = np.argmax(both)
    sign = np.where(first < n, 1, -1)[()] if len(gaps) == 2 else 1 if gaps[0] is over else -1
    statistic = both[first]
    pvalue = probability(recorder, statistic, n, len(gaps), method)
    location = np.concatenate([ordered] * len(gaps))[first]
    result = type(scipy.stats.ks_1samp([0.0], np.exp))
    return result(statistic, pvalue, statistic_location=location, statistic_sign=sign)


def probability(recorder: Recorder, statistic: Any, n: int, sides: int, method: str) -> Any:
    """Of a greater statistic, as SciPy's methods have it."""
    if sides == 1 or method == "approx":
        return np.minimum(sides * recorder.call(special.smirnov, (n, statistic), {}), 1.0)
    if method in ("asymp", "asymptotic"):
        return recorder.call(special.kolmogorov, (statistic * np.sqrt(n),), {})
    return recorder.namespace.function(kolmogorov_tail)(statistic, n)


@calls("scipy.stats", "cramervonmises")
def cramer_von_mises(recorder: Recorder, name: str, rvs: Any, cdf: Any, args: Any = (), **options: Any) -> Any:
    refuse_options(recorder, name, options, ())
    ordered, below = probabilities(recorder, name, rvs, cdf, args)
    n = len(ordered)
    gaps = (2 * np.arange(1, n + 1) - 1) / (2 * n) - below
    return StatisticAlone(recorder, name, statistic=1 / (12 * n) + np.sum(gaps**2))


@calls("scipy.stats", "siegelslopes")
def siegelslopes(
    recorder: Recorder, name: str, y: Any, x: Any = None, method: str = "hierarchical", **options: Any
) -> Any:
    """Medians of the medians of slopes; numbers of `x` that are equal have none between them."""
    import scipy.stats

    refuse_options(recorder, name, options, ())
    if method not in ("hierarchical", "separate"):
        raise ValueError("method can only be 'hierarchical' or 'separate'.")
    y = sample(recorder, name, y)
    x = np.arange(len(y), dtype=float) if x is None else sample(recorder, name, x)
    apart = x[:, None] - x
    same = apart == 0
    slopes = np.where(same, np.nan, (y[:, None] - y) / np.where(same, 1.0, apart))
    slope = np.median(np.nanmedian(slopes, axis=1))
    if method == "hierarchical":
        intercept = np.median(y - slope * x)
    else:
        own = (y * x[:, None] - y[:, None] * x) / np.where(same, 1.0, x[:, None] - x)
        intercept = np.median(np.nanmedian(np.where(same, np.nan, own), axis=1))
    return type(scipy.stats.siegelslopes([0.0, 1.0]))(slope, intercept)
