"""Splines as sums of B-splines: what `BSpline` and its like call of `scipy.interpolate._dierckx`.

Knots `t` do not descend; of n coefficients, those from `l - k` to `l` count in the interval [t_l, t_l+1), for l from k
to n - 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import interpolate

from ..numpy_functions.support import unsupported
from ..record.dispatch import implements
from ..record.number_sources import require_numbers
from ..record.recorder import Recorder
from .intervals import beyond_ends, interval_of, traced_arrays

# Until SciPy 1.15 the functions were in `_bspl`.
COMPILED = getattr(interpolate, "_dierckx", None) or interpolate._bspl


def compiled(name: str) -> Callable[[Any], Any]:
    """As `implements`, of a compiled function that this version of SciPy may not have."""
    function = getattr(COMPILED, name, None)
    return (lambda implementation: implementation) if function is None else implements(function)


def b_splines_at(t: Any, k: int, x: Any, at: Any, order: int = 0) -> list[Any]:
    """The k + 1 B-splines that are not zero in the interval `at`, or derivatives of them, at `x`.

    By de Boor's recursion over the degree, of which the last `order` steps are those of derivatives (de Boor, A
    Practical Guide to Splines, X(11) and X(8)). Where knots are equal a B-spline is zero.
    """
    if order > k:
        return [x * 0.0] * (k + 1)
    found = [np.ones_like(x) if k == order else 1.0 + x * 0.0]
    left, right = [x - t[at - j] for j in range(k)], [t[at + 1 + j] - x for j in range(k)]
    for degree in range(1, k + 1):
        after: list[Any] = [0.0]
        for n in range(degree):
            width = right[n] + left[degree - 1 - n]
            share = np.where(width == 0, 0.0, found[n] / np.where(width == 0, 1.0, width))
            is_derivative = degree > k - order
            after[n] = after[n] - degree * share if is_derivative else after[n] + right[n] * share
            after.append(degree * share if is_derivative else left[degree - 1 - n] * share)
        found = after
    return found


def knot_interval(recorder: Recorder, t: Any, k: int, x: Any) -> Any:
    return interval_of(recorder, t, x, k, t.shape[0] - k - 1)


def value(recorder: Recorder, t: Any, c: Any, k: int, x: Any, order: int = 0) -> Any:
    """The spline, one for each column of `c`, or a derivative of it, at `x`."""
    at = knot_interval(recorder, t, k, x)
    parts = b_splines_at(t, k, x, at, order)
    terms = [_like(part, c) * c[at - k + j] for j, part in enumerate(parts)]
    return sum(terms[1:], terms[0])


def _like(part: Any, c: Any) -> Any:
    return part[:, None] if c.ndim == 2 else part


@compiled("evaluate_spline")
def evaluate_spline(recorder, t, c, k, x, nu, extrapolate, out=None):
    t, c, x = traced_arrays(recorder, t, c, x)
    found = value(recorder, t, c, k, x, nu)
    nowhere = np.isnan(x) if extrapolate else beyond_ends(x, t[k], t[t.shape[0] - k - 1])
    found = np.where(nowhere[:, None], math.nan, found)
    if out is None:
        return found
    out[...] = found


@compiled("find_interval")
def find_interval(recorder, t, k, x, before, extrapolate):
    (t,) = traced_arrays(recorder, t)
    return knot_interval(recorder, t, k, x)


@compiled("evaluate_all_bspl")
def evaluate_all_bspl(recorder, t, k, x, at, nu=0):
    t, x = traced_arrays(recorder, t, x)
    return np.stack(b_splines_at(t, k, x, at, nu))


@compiled("_coloc")
def collocation(recorder, x, t, k, ab, offset=0):
    """The B-splines at each x as the rows of a banded matrix, of which `ab` is the transpose of LAPACK's form."""
    x, t = traced_arrays(recorder, x, t)
    at = knot_interval(recorder, t, k, x)
    rows = np.arange(x.shape[0]) + offset
    for j, part in enumerate(b_splines_at(t, k, x, at)):
        column = at - k + j
        ab[column, 2 * k + rows - column] = part


@compiled("data_matrix")
def data_matrix(recorder, x, t, k, w, extrapolate=False):
    """The B-splines at each x times its weight, and the first coefficient that they belong to."""
    require_numbers(recorder, (x, t))
    x, t, w = traced_arrays(recorder, x, t, w)
    at = knot_interval(recorder, t, k, x)
    return np.stack(b_splines_at(t, k, x, at), axis=1) * w[:, None], at - k, t.shape[0] - k - 1


@compiled("evaluate_ndbspline")
def evaluate_ndbspline(recorder, xi, t, counts, k, nu, extrapolate, c, width, strides, indices):
    """A product of splines, a dimension after the other; knots are padded to the same length."""
    xi, t, c = traced_arrays(recorder, xi, t, c)
    counts, k, nu, strides = (np.asarray(recorder.plain(numbers)).tolist() for numbers in (counts, k, nu, strides))
    places, parts, nowhere = [], [], np.isnan(xi[:, 0])
    for d, (count, degree) in enumerate(zip(counts, k)):
        knots, x = t[d, :count], xi[:, d]
        places.append(knot_interval(recorder, knots, degree, x) - degree)
        parts.append(b_splines_at(knots, degree, x, places[-1] + degree, nu[d]))
        end = knots[degree], knots[count - degree - 1]
        nowhere = nowhere | (np.isnan(x) if extrapolate else beyond_ends(x, *end))
    found: Any = 0.0
    for chosen in itertools.product(*(range(degree + 1) for degree in k)):
        weight = math.prod(own[j] for own, j in zip(parts, chosen))
        place = sum((at + j) * stride for at, j, stride in zip(places, chosen, strides))
        found = found + weight[:, None] * c[place[:, None] + np.arange(width)]
    return np.where(nowhere[:, None], math.nan, found)


# Coefficients that are linear in what is interpolated.


def known_numbers(recorder: Recorder, name: str, *items: Any) -> list[Any]:
    """The numbers of knots, places and weights."""
    if not all(map(recorder.is_concrete, items)):
        require_numbers(recorder, items)
        raise unsupported(
            f"{name} with places, knots or weights that are traced",
            "make them constants (a global, or planned_ad.Const), or use make_interp_spline",
        )
    return [recorder.plain(item) for item in items]


def by_matrix(solve: Callable[[np.ndarray], np.ndarray], y: Any) -> Any:
    """`solve(y)`, a linear function with known numbers, as a matrix times `y`."""
    return np.stack([solve(row) for row in np.eye(y.shape[0])], axis=1) @ y


LEAST_SQUARES: Any = getattr(interpolate._bsplines, "_lsq_solve_qr", None)


def fitted_coefficients(recorder, x, y, t, k, w, periodic=False):
    x, t, w = known_numbers(recorder, "make_lsq_spline", x, t, w)
    (y,) = traced_arrays(recorder, y)

    def solve(row: np.ndarray) -> np.ndarray:
        found: np.ndarray = LEAST_SQUARES(x, row[:, None], t, k, w, periodic)[2]
        return found[:, 0]

    return None, None, by_matrix(solve, y), None, None


if LEAST_SQUARES is not None:
    implements(LEAST_SQUARES)(fitted_coefficients)


def interpolating(recorder: Recorder, x: Sequence[float], y: Any, k: int, t: np.ndarray) -> Any:
    """The coefficients of the spline with knots `t` through all points."""
    spline = recorder.call_python(interpolate.make_interp_spline, (x, y, k), {"t": t})
    return spline.c
