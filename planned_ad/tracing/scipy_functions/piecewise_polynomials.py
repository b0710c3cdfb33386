"""Piecewise polynomials: what `PPoly`, `BPoly`, `CubicSpline` and their like call of `scipy.interpolate._ppoly`.

Coefficients `c` have the shape (k, m, n): the powers from the highest on, the intervals, and n polynomials side by
side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.interpolate import _ppoly

from ..record.dispatch import implements
from ..record.recorder import Recorder
from .intervals import beyond_ends, interval_of, traced_arrays


def place(recorder: Recorder, breaks: Any, x: Any) -> tuple[Any, Any]:
    """The interval of each `x`, and how far it is from the beginning of that; breakpoints may descend."""
    sign = np.where(breaks[-1] >= breaks[0], 1.0, -1.0)
    at = interval_of(recorder, breaks * sign, x * sign)
    return at, x - breaks[at]


def power(k: int, order: int) -> float:
    """The factor of x^(k - order) in the derivative of that order of x^k (a negative one integrates)."""
    if order >= 0:
        return float(math.perm(k, order))
    return 1.0 / math.perm(k - order, -order)


def power_sum(coefficients: Any, distance: Any, order: int) -> Any:
    """The sum of powers of `distance`, by Horner's scheme, or a derivative or antiderivative of it."""
    k = coefficients.shape[0]
    found: Any = None
    for i in range(k):
        if k - 1 - i < order:
            break
        term = coefficients[i] * power(k - 1 - i, order)
        found = term if found is None else found * distance + term
    if found is None:
        return coefficients[0] * 0.0
    for _ in range(-order):
        found = found * distance
    return found


@implements(_ppoly.evaluate)
def evaluate(recorder, c, x, xp, dx, extrapolate, out):
    if dx < 0:
        raise ValueError("Order of derivative cannot be negative")
    c, x, xp = traced_arrays(recorder, c, x, xp)
    at, distance = place(recorder, x, xp)
    found = power_sum(c[:, at, :], distance[:, None], dx)
    out[...] = found if extrapolate else nan_beyond(found, xp, x)


def nan_beyond(found: Any, xp: Any, x: Any) -> Any:
    """`found`, and nan where `xp` lies in no interval."""
    low, high = np.minimum(x[0], x[-1]), np.maximum(x[0], x[-1])
    return np.where(beyond_ends(xp, low, high)[:, None], math.nan, found)


@implements(_ppoly.evaluate_bernstein)
def evaluate_bernstein(recorder, c, x, xp, nu, extrapolate, out):
    """With derivatives as differences of coefficients over the width of the interval (Farin, 5.2)."""
    if nu < 0:
        raise ValueError("Order of derivative cannot be negative")
    c, x, xp = traced_arrays(recorder, c, x, xp)
    at, distance = place(recorder, x, xp)
    width = (x[at + 1] - x[at])[:, None]
    s, chosen = distance[:, None] / width, c[:, at, :]
    for order in range(nu):
        chosen = (chosen[1:] - chosen[:-1]) * (c.shape[0] - 1 - order) / width if chosen.shape[0] > 1 else chosen * 0.0
    k = chosen.shape[0] - 1
    found = sum(math.comb(k, j) * s**j * (1 - s) ** (k - j) * chosen[j] for j in range(k + 1))
    out[...] = found if extrapolate else nan_beyond(found, xp, x)


@implements(_ppoly.integrate)
def integrate(recorder, c, x, a, b, extrapolate, out):
    """The antiderivatives of the two pieces that the ends lie in, and of all pieces in between."""
    c, x = traced_arrays(recorder, c, x)
    ends = np.stack([np.asarray(a) if not recorder.is_scalar(a) else a, b]) * 1.0
    at, distance = place(recorder, x, ends)
    pieces = power_sum(c, (x[1:] - x[:-1])[:, None], -1)
    sums = np.concatenate([np.zeros((1, c.shape[2])), np.cumsum(pieces, axis=0)])
    upto = sums[at] + power_sum(c[:, at, :], distance[:, None], -1)
    if not extrapolate:
        upto = nan_beyond(upto, ends, x)
    out[...] = upto[1] - upto[0]


@implements(_ppoly.fix_continuity)
def fix_continuity(recorder, c, x, order):
    """Sets the lowest coefficients of each piece to what the piece before ends with, from the highest order down.

    The first one is a running sum of what the higher ones make of each piece.
    """
    c, x = traced_arrays(recorder, c, x)
    steps, k = (x[1:] - x[:-1])[:, None], c.shape[0]
    for derivative in range(order, -1, -1):
        c[k - derivative - 1, 1:] = 0.0
        ends = power_sum(c, steps, derivative) / math.factorial(derivative)
        c[k - derivative - 1, 1:] = np.cumsum(ends, axis=0)[:-1]
