"""What traced code sees in place of the functions of `statistics`: of traced numbers, what NumPy computes of an array.

Python's own work with fractions, so that a sum is rounded once; these round as NumPy's sums do.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from ...tape.guards import RAISES
from ..loops.none_or_value import decided
from ..loops.run_time_lists import RunTimeList
from ..numpy_functions.support import raise_where
from ..record.recorder import Recorder
from ..record.traced import Traced


def mean(x: Any) -> Any:
    return np.mean(x)


def weighted_mean(x: Any, weights: Any = None) -> Any:
    return np.mean(x) if weights is None else np.sum(x * np.asarray(weights)) / np.sum(weights)


def geometric_mean(x: Any) -> Any:
    return np.exp(np.mean(np.log(x)))


def spread(function: Any, ddof: int) -> Callable[..., Any]:
    """The variance or the standard deviation, about a mean that may be given."""

    def computed(x: Any, center: Any = None) -> Any:
        if center is None:
            return function(x, ddof=ddof)
        variance = np.sum((x - center) ** 2) / (len(x) - ddof)
        return variance if function is np.var else np.sqrt(variance)

    return computed


def harmonic_mean(x: Any, weights: Any = None) -> Any:
    return len(x) / np.sum(1 / x) if weights is None else np.sum(weights) / np.sum(np.asarray(weights) / x)


OF_ARRAYS: dict[str, Callable[..., Any]] = {
    "mean": mean, "fmean": weighted_mean, "geometric_mean": geometric_mean, "median": np.median,
    "variance": spread(np.var, 1), "pvariance": spread(np.var, 0), "stdev": spread(np.std, 1),
    "pstdev": spread(np.std, 0), "harmonic_mean": harmonic_mean,
    "_mean_stdev": lambda x: (np.mean(x), np.std(x, ddof=1)),
}  # fmt: skip
OF_TWO = ("variance", "stdev")  # which need as many numbers
OF_PYTHON = ("fmean", "geometric_mean")  # which give one of Python's numbers, whatever they are given


def statistics_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, the functions of `statistics` that accept tracers."""

    def replacing(function: Callable[..., Any], of_array: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function, ("__name__", "__doc__"), ())
        def replaced(data: Any, *args: Any, **kwargs: Any) -> Any:
            args, kwargs = tuple(map(decided, args)), {name: decided(arg) for name, arg in kwargs.items()}
            if type(data) is RunTimeList and not (args or kwargs):
                least = 2 if function.__name__ in OF_TWO else 1
                recorder.scopes.require_after(recorder.value_of(data.length() >= least), RAISES)
                found = of_array(data.traced())
                found = found[()] if recorder.is_array(found) else found
                return found.item() if function.__name__ in OF_PYTHON else found
            items = data if issubclass(type(data), Traced) else list(data)
            traced = items if items is data else [i for i in items if issubclass(type(i), Traced) and not i.is_known]
            if len(items) < 2 or not len(traced):
                return function(recorder.plain(items), *args, **kwargs)
            array = recorder.call(np.asarray, (items,), {})
            if of_array is harmonic_mean:
                error = ValueError("harmonic mean does not support negative values")
                raise_where(recorder, np.any(array < 0), error)
            found = of_array(array, *args, **kwargs)
            return found.item() if function.__name__ in OF_PYTHON else found

        return replaced

    module = sys.modules.get("statistics")  # which is imported by those who use it
    if module is None:
        return {}
    found: dict[int, object] = {}
    for name, of_array in OF_ARRAYS.items():
        if (f := getattr(module, name, None)) is not None:
            found[id(f)] = replacing(f, of_array)
    inverse = getattr(module, "_normal_dist_inv_cdf", None)  # which may be one of C's

    def normal_inverse(p: Any, mu: Any, sigma: Any) -> Any:
        if not any(issubclass(type(number), Traced) for number in (p, mu, sigma)):
            return inverse(*recorder.plain((p, mu, sigma)))  # type: ignore[misc]
        return mu + sigma * scipy.special.ndtri(p)

    return found | ({} if inverse is None else {id(inverse): normal_inverse})
