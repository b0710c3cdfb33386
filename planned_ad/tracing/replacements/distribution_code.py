"""Distributions of `scipy.stats` that have no formulas here: SciPy's own, `_logpdf` and the like, are traced.

What SciPy computes by integrating, solving or differentiating numerically is refused.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..numpy_functions.distribution_formulas import Distribution
from ..numpy_functions.distributions import (
    CONTINUOUS,
    DISCRETE,
    FIRST,
    OF_NUMBERS,
    OF_PARAMETERS,
    Given,
    given,
    inverse_distribution,
    moment,
)
from ..numpy_functions.support import FLOAT, asarray, unsupported
from ..record.recorder import Recorder

OF_ALL_DISTRIBUTIONS = ("rv_generic", "rv_continuous", "rv_discrete")
NUMERICAL = frozenset({"_cdfvec", "_ppfvec", "_ppfsingle", "_derivative", "_mom_integ0", "_mom0_sc", "_cdf_single"})


class Formulas:
    """A distribution as its own formulas see it: methods are traced, and the numerical ones refused."""

    def __init__(self, recorder: Recorder, real: Any):
        self._recorder, self._real = recorder, real

    def __getattr__(self, name: str) -> Any:
        if name in NUMERICAL:
            raise unsupported(
                f"what scipy.stats.{self._real.name} computes by a numerical method", "write its formula, or use pdf"
            )
        found = getattr(self._real, name)
        if type(found) is not types.MethodType:
            return found
        return functools.partial(self._called, self._recorder.namespace.library_function(found.__func__))

    def _called(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return function(self, *args, **kwargs)
        except TypeError as error:
            if "super" in str(error):
                raise self._recorder.unsupported(f"scipy.stats.{self._real.name}.{function.__name__}") from error
            raise


def formulas_of(recorder: Recorder, real: Any) -> Distribution:
    code, discrete = Formulas(recorder, real), hasattr(real, "pmf")

    def own(name: str) -> Any:
        """A method where the distribution has one of its own, not SciPy's for all distributions."""
        return None if is_general(real, name) else getattr(code, name)

    return Distribution(
        log_density=code._logpmf if discrete else code._logpdf,
        density=code._pmf if discrete else code._pdf,
        cdf=code._cdf,
        sf=code._sf,
        log_cdf=own("_logcdf"),
        log_sf=own("_logsf"),
        ppf=code._ppf,
        isf=code._isf,
        mean=lambda *shapes: part_of_stats(code, shapes, 0),
        variance=lambda *shapes: part_of_stats(code, shapes, 1),
        entropy=lambda *shapes: entropy_of(code, shapes),
        support=code._get_support,
        valid=lambda *shapes: asarray(recorder, code._argcheck(*shapes)) != 0,
        inner=None,
        discrete=discrete,
    )


def part_of_stats(code: Formulas, shapes: tuple[Any, ...], number: int) -> Any:
    """The mean or variance of the standard form, where SciPy has a formula."""
    found = code._stats(*shapes, **({"moments": "mv"} if code._stats_has_moments else {}))
    if found[number] is not None:
        return found[number]
    if is_general(code._real, "_munp"):
        code._mom_integ0  # noqa: B018 (refuses)
    mean = code._munp(1, *shapes)
    return mean if number == 0 else code._munp(2, *shapes) - mean * mean


def is_general(real: Any, name: str) -> bool:
    """Whether a method is SciPy's for all distributions."""
    return next(base for base in type(real).__mro__ if name in vars(base)).__name__ in OF_ALL_DISTRIBUTIONS


def entropy_of(code: Formulas, shapes: tuple[Any, ...]) -> Any:
    if is_general(code._real, "_entropy"):
        code._mom_integ0  # noqa: B018 (refuses)
    return code._entropy(*shapes)


def by_scipys_code(recorder: Recorder, real: Any, name: str) -> Callable[..., Any] | None:
    """The method `name` of a distribution, recorded; None for one that is not known."""
    of_numbers = OF_NUMBERS | (DISCRETE if hasattr(real, "pmf") else CONTINUOUS) | {"isf": upper_quantile}
    if name not in of_numbers and name not in OF_PARAMETERS and name not in COMPOSED:
        return None

    def method(*args: Any, **kwargs: Any) -> Any:
        if all(recorder.is_concrete(a) for a in (*args, *kwargs.values())):
            result = getattr(real, name)(*recorder.plain(args), **recorder.plain(kwargs))
            return recorder.adopt(result)
        recorder.mark()
        if name in COMPOSED:
            return COMPOSED[name](recorder, real, *args, **kwargs)
        x = None
        if name not in OF_PARAMETERS:
            first = next((n for n in FIRST if n in kwargs), None)
            x, args = (kwargs.pop(first), args) if first else (args[0], args[1:])
            x = asarray(recorder, x).astype(FLOAT)
        facts = given(recorder, real, formulas_of(recorder, real), args, kwargs)
        if name in OF_PARAMETERS:
            return in_a_row(facts, None, lambda flat, x: OF_PARAMETERS[name](flat))
        return in_a_row(facts, x, of_numbers[name])

    return method


def in_a_row(found: Given, x: Any, compute: Callable[[Given, Any], Any]) -> Any:
    """What is computed of arrays with one axis, as SciPy's formulas get them, in the shape of the result."""
    arrays = [*found.shapes, found.loc, found.scale, *([] if x is None else [x])]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    arrays = [np.broadcast_to(a, shape).reshape(-1) for a in arrays]
    count = len(found.shapes)
    flat = Given(found.of, arrays[:count], arrays[count], arrays[count + 1], found.is_open)
    return compute(flat, None if x is None else arrays[-1]).reshape(shape)[()]


def upper_quantile(found: Given, q: Any) -> Any:
    return inverse_distribution(found, q, upper=True)


# By other methods.


def median_of(recorder: Recorder, real: Any, *args: Any, **kwargs: Any) -> Any:
    return by_name(recorder, real, "ppf")(0.5, *args, **kwargs)


def interval(recorder: Recorder, real: Any, confidence: Any, *args: Any, **kwargs: Any) -> Any:
    ppf = by_name(recorder, real, "ppf")
    return tuple(ppf(q, *args, **kwargs) for q in ((1.0 - confidence) / 2, (1.0 + confidence) / 2))


def stats(recorder: Recorder, real: Any, *args: Any, moments: str = "mv", **kwargs: Any) -> Any:
    if not set(moments) <= {"m", "v"}:
        raise unsupported(f"scipy.stats.{real.name}.stats of moments={moments!r}", "ask for 'm' and 'v'")
    found = given(recorder, real, formulas_of(recorder, real), args, kwargs)
    assert found.of.mean is not None and found.of.variance is not None
    parts = {"m": (found.of.mean, 1), "v": (found.of.variance, 2)}
    results = tuple(in_a_row(found, None, lambda flat, x, m=m: moment(flat, *parts[m])) for m in moments)  # type: ignore[misc]
    return results if len(results) > 1 else results[0]


def nnlf(recorder: Recorder, real: Any, theta: Any, x: Any) -> Any:
    """Minus the sum of the logarithms of the density: infinite outside of the support, and of what has no density."""
    theta = tuple(theta)
    parameters = (*theta[:-2], theta[-2], theta[-1])
    logarithms = by_name(recorder, real, "logpdf")(x, *parameters)
    return np.where(np.isnan(logarithms).any(axis=0), np.inf, -np.sum(logarithms, axis=0))[()]


def by_name(recorder: Recorder, real: Any, name: str) -> Callable[..., Any]:
    found = by_scipys_code(recorder, real, name)
    assert found is not None
    return found


def fit(recorder: Recorder, real: Any, data: Any, **fixed: Any) -> Any:
    """The most likely loc and scale, where there is a formula for them."""
    if fixed or real.name not in ("norm", "expon"):
        raise unsupported(f"scipy.stats.{real.name}.fit", "maximise the sum of logpdf, of which there is a derivative")
    data = asarray(recorder, data)
    if real.name == "expon":
        return data.min(), data.mean() - data.min()
    loc = data.mean()
    return loc, np.sqrt(np.mean((data - loc) ** 2))


COMPOSED: dict[str, Callable[..., Any]] = {
    "fit": fit,
    "median": median_of,
    "interval": interval,
    "stats": stats,
    "nnlf": nnlf,
}
