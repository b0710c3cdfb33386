"""Methods of the distributions of `scipy.stats`, with loc and scale, of traced numbers.

As SciPy: float64 whatever is given; outside of the support 0 or -inf, with the derivative zero; nan where parameters
are not valid. Numbers outside are replaced before the formula sees them, so that no derivative of it is nan there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..record.dispatch import FUNCTIONS
from ..record.recorder import Recorder
from .distribution_formulas import DISTRIBUTIONS, Distribution
from .support import FLOAT, asarray

FIRST = ("x", "k", "q")
"""What the first operand of a method may be called."""


class Method:
    """A method of a distribution, as a function: equal to every other of the same names."""

    def __init__(self, distribution: str, name: str):
        self.distribution, self.name = distribution, name
        self.__name__, self.__module__ = f"{distribution}.{name}", "scipy.stats"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Method) and (self.distribution, self.name) == (other.distribution, other.name)

    def __hash__(self) -> int:
        return hash((self.distribution, self.name))

    @property
    def real(self) -> Any:
        import scipy.stats  # costs half a second: only where it is used

        return getattr(scipy.stats, self.distribution)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.real, self.name)(*args, **kwargs)


@dataclass
class Given:
    """What a method was called with: arrays of float64."""

    of: Distribution
    shapes: list[Any]
    loc: Any
    scale: Any
    is_open: bool = False  # whether the ends of the support are not in it

    def valid(self) -> Any:
        return self.of.valid(*self.shapes) & (self.scale > 0)

    def standard(self, x: Any) -> Any:
        return x - self.loc if self.of.discrete else (x - self.loc) / self.scale


def given(recorder: Recorder, real: Any, of: Distribution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    shapes, loc, scale = real._parse_args(*args, **kwargs)

    def array(item: Any) -> Any:
        return asarray(recorder, item).astype(FLOAT)

    mask = getattr(type(real), "_support_mask", None)
    is_open = mask is not None and mask is getattr(type(real), "_open_support_mask", None)
    return Given(of, [array(s) for s in shapes], array(loc), array(scale), is_open)


# What is computed, of the standard variable.


def density(found: Given, x: Any, log: bool) -> Any:
    of = found.of
    y = found.standard(x)
    low, high = of.support(*found.shapes)
    valid = found.valid()
    inside = (low < y) & (y < high) & valid if found.is_open else (low <= y) & (y <= high) & valid
    if of.discrete:
        inside = inside & (np.floor(y) == y)
    y_inside = np.where(inside, y, of.inner if of.inner is not None else inside_of(low, high))
    if of.discrete:
        y_inside = np.floor(y_inside)  # which has no derivative
    if log:
        value = of.log_density(y_inside, *found.shapes)
        value = value if of.discrete else value - np.log(found.scale)
    else:
        value = of.density(y_inside, *found.shapes) if of.density else np.exp(of.log_density(y_inside, *found.shapes))
        value = value if of.discrete else value / found.scale
    value = np.where(inside, value, -math.inf if log else 0.0)
    return np.where(valid & ~np.isnan(y), value, math.nan)


def cumulative(found: Given, x: Any, log: bool, upper: bool) -> Any:
    """The probability of less than `x`, or of more (`upper`)."""
    of = found.of
    y = found.standard(x)
    low, high = of.support(*found.shapes)
    valid = found.valid()
    above_low = (low <= y) & np.isfinite(y) if of.discrete else low < y
    inside = above_low & (y < high) & valid
    y_inside = np.where(inside, y, of.inner if of.inner is not None else inside_of(low, high))
    plain, logarithm = (of.sf, of.log_sf) if upper else (of.cdf, of.log_cdf)
    if not log:
        value = plain(y_inside, *found.shapes)
    else:
        value = logarithm(y_inside, *found.shapes) if logarithm else np.log(plain(y_inside, *found.shapes))
    none, all_ = (-math.inf, 0.0) if log else (0.0, 1.0)
    below, beyond = (all_, none) if upper else (none, all_)
    value = np.where(inside, value, np.where(y >= high, beyond, below))
    return np.where(valid & ~np.isnan(y), value, math.nan)


def inside_of(low: Any, high: Any) -> Any:
    """A number inside of a support."""
    at = np.where(np.isfinite(low), low + 1.0, np.where(np.isfinite(high), high - 1.0, 0.5))
    return np.where(np.isfinite(low) & np.isfinite(high), 0.5 * (low + high), at)


def inverse_distribution(found: Given, q: Any, upper: bool = False) -> Any:
    of = found.of
    inverse = of.isf if upper else of.ppf
    assert inverse is not None
    valid = found.valid() & (found.loc == found.loc)
    inside = (q > 0) & (q < 1) & valid
    value = inverse(np.where(inside, q, 0.5), *found.shapes) * found.scale + found.loc
    low, high = of.support(*found.shapes)
    for end, bound in zip((1, 0) if upper else (0, 1), (low - 1 if of.discrete else low, high)):
        finite = np.isfinite(bound)
        at_end = np.where(finite, found.loc + found.scale * np.where(finite, bound, 0.0), bound)
        value = np.where(q == end, at_end, value)
    return np.where(valid & (q >= 0) & (q <= 1), value, math.nan)


def moment(found: Given, formula: Callable[..., Any], power: int) -> Any:
    value = formula(*found.shapes) * found.scale**power
    return np.where(found.valid(), value + found.loc if power == 1 else value, math.nan)


def entropy(found: Given) -> Any:
    assert found.of.entropy is not None
    return np.where(found.valid(), found.of.entropy(*found.shapes) + np.log(found.scale), math.nan)


# By the names of the methods.

OF_NUMBERS: dict[str, Callable[[Given, Any], Any]] = {
    "cdf": lambda found, x: cumulative(found, x, False, False),
    "logcdf": lambda found, x: cumulative(found, x, True, False),
    "sf": lambda found, x: cumulative(found, x, False, True),
    "logsf": lambda found, x: cumulative(found, x, True, True),
}
CONTINUOUS: dict[str, Callable[[Given, Any], Any]] = {
    "pdf": lambda found, x: density(found, x, False),
    "logpdf": lambda found, x: density(found, x, True),
    "ppf": inverse_distribution,
}
DISCRETE: dict[str, Callable[[Given, Any], Any]] = {
    "pmf": lambda found, x: density(found, x, False),
    "logpmf": lambda found, x: density(found, x, True),
}
OF_PARAMETERS: dict[str, Callable[[Given], Any]] = {
    "entropy": entropy,
    "mean": lambda found: moment(found, found.of.mean, 1),  # type: ignore[arg-type]
    "var": lambda found: moment(found, found.of.variance, 2),  # type: ignore[arg-type]
    "std": lambda found: np.sqrt(moment(found, found.of.variance, 2)),  # type: ignore[arg-type]
}


def of_number(method: Method, compute: Callable[[Given, Any], Any]) -> Callable[..., Any]:
    def implementation(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
        name = next((name for name in FIRST if name in kwargs), None)
        x, args = (kwargs.pop(name), args) if name else (args[0], args[1:])
        return compute(
            given(recorder, method.real, DISTRIBUTIONS[method.distribution], args, kwargs),
            asarray(recorder, x).astype(FLOAT),
        )[()]

    return implementation


def of_parameters(method: Method, compute: Callable[[Given], Any]) -> Callable[..., Any]:
    def implementation(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
        return compute(given(recorder, method.real, DISTRIBUTIONS[method.distribution], args, kwargs))[()]

    return implementation


def fill() -> None:
    for name, of in DISTRIBUTIONS.items():
        for operation, compute in (OF_NUMBERS | (DISCRETE if of.discrete else CONTINUOUS)).items():
            if operation != "ppf" or of.ppf is not None:
                method = Method(name, operation)
                FUNCTIONS[method] = of_number(method, compute)
        for operation, of_shapes in OF_PARAMETERS.items():
            wanted = {"entropy": of.entropy, "mean": of.mean}.get(operation, of.variance)
            if wanted is not None:
                method = Method(name, operation)
                FUNCTIONS[method] = of_parameters(method, of_shapes)


fill()
