"""FITPACK: what `splrep`, `splev`, `UnivariateSpline` and `RectBivariateSpline` call of compiled functions.

Evaluation is that of B-splines; beyond the ends univariate splines go on as polynomials, bivariate ones are constant.
Splines through all points, and least squares with given knots, are linear in what is interpolated. Where knots are
chosen by what is (s > 0), there is no rule. From SciPy 1.18 some functions have other arguments: `fitpack_by_c` has
those, `fitpack_by_f2py` the earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.interpolate import _fitpack2

from ..numpy_functions.support import unsupported
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .b_splines import b_splines_at, by_matrix, interpolating, knot_interval, value
from .intervals import beyond_ends, traced_arrays

compiled: Any = getattr(_fitpack2, "dfitpack", None) or _fitpack2._fitpack  # type: ignore[attr-defined]


@implements(compiled.splev)
def splev(recorder, t, c, k, x, e=0):
    return spline_derivative(recorder, t, c, k, x, 0, e)


def spline_derivative(recorder: Recorder, t: Any, c: Any, k: int, x: Any, nu: int, e: int) -> tuple[Any, int]:
    t, c, x = (a * 1.0 for a in traced_arrays(recorder, t, c, x))
    low, high = t[k], t[t.shape[0] - k - 1]
    beyond = beyond_ends(x, low, high)
    if e == 2 and beyond.any():
        return x * 0.0, 1
    found = value(recorder, t, c, k, np.clip(x, low, high) if e == 3 else x, nu)
    return np.where(beyond, 0.0, found) if e == 1 else found, 0


def integral(recorder: Recorder, t: Any, c: Any, k: int, a: Any, b: Any) -> Any:
    """From a to b within the knots: the difference of the antiderivative, a spline of one degree more."""
    t, c = traced_arrays(recorder, t, c)
    n = t.shape[0] - k - 1
    steps = np.cumsum(c[:n] * (t[k + 1 :] - t[:n]) / (k + 1))
    sums = np.concatenate([np.zeros(1), steps, np.stack([steps[-1]] * (k + 1))])
    knots = np.concatenate([t[:1], t, t[-1:]])
    ends = value(recorder, knots, sums, k + 1, np.clip(np.stack([a, b]), t[k], t[n]))
    return (ends[1] - ends[0]).item()


def surface(recorder: Recorder, tx: Any, ty: Any, c: Any, kx: int, ky: int, order: Any, x: Any, y: Any) -> Any:
    """At each pair of x and y, which go together as arrays do."""
    tx, ty, c, x, y = (a * 1.0 for a in traced_arrays(recorder, tx, ty, c, x, y))
    nx, ny = tx.shape[0] - kx - 1, ty.shape[0] - ky - 1
    x, y = np.clip(x, tx[kx], tx[nx]), np.clip(y, ty[ky], ty[ny])
    row, column = knot_interval(recorder, tx, kx, x), knot_interval(recorder, ty, ky, y)
    across = b_splines_at(ty, ky, y, column, order[1])
    found: Any = 0.0
    for i, along in enumerate(b_splines_at(tx, kx, x, row, order[0])):
        place = (row - kx + i) * ny + column - ky
        found = found + along * sum(part * c[place + j] for j, part in enumerate(across))
    return found


@implements(compiled.bispeu)
def bispeu(recorder, tx, ty, c, kx, ky, x, y):
    return surface(recorder, tx, ty, c, kx, ky, (0, 0), x, y), 0


@implements(compiled.pardeu)
def pardeu(recorder, tx, ty, c, kx, ky, nux, nuy, x, y):
    return surface(recorder, tx, ty, c, kx, ky, (nux, nuy), x, y), 0


@implements(compiled.bispev)
def bispev(recorder, tx, ty, c, kx, ky, x, y):
    return parder(recorder, tx, ty, c, kx, ky, 0, 0, x, y)


@implements(compiled.parder)
def parder(recorder, tx, ty, c, kx, ky, nux, nuy, x, y):
    x, y = traced_arrays(recorder, x, y)
    x, y = x.reshape(-1), y.reshape(-1)
    return surface(recorder, tx, ty, c, kx, ky, (nux, nuy), x[:, None], y[None, :]), 0


# Fits.

SMOOTHING = (
    "the knots of a smoothing spline (s > 0) jump where the data change; interpolate (s=0), give the knots "
    "(LSQUnivariateSpline, make_lsq_spline), or use make_smoothing_spline(x, y, lam=...)"
)
Fit = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, int]]  # knots, coefficients and the code of errors, of data


def padded(coefficients: Any, count: int) -> Any:
    """As long as the knots are, as FITPACK has them."""
    return np.concatenate([coefficients, np.zeros(count - coefficients.shape[0])])


def fitted(recorder: Recorder, name: str, fit: Fit, x: Any, y: Any, k: int, *, given: bool, s: Any) -> tuple:
    """Knots, as many coefficients, and the code: of least squares with `given` knots, or through all points."""
    if not given and s != 0:
        raise unsupported(name, SMOOTHING)
    knots, _, code = fit(np.zeros(y.shape[0]))
    count = knots.shape[0]
    if given:
        return knots, by_matrix(lambda row: fit(row)[1][:count], y), code
    return knots, padded(interpolating(recorder, x, y, k, knots), count), code


def fitted_on_grid(recorder: Recorder, fit: Callable, x: Any, y: Any, z: Any, kx: int, ky: int, s: Any) -> tuple:
    """Through all points of a grid, a dimension after the other; `fit` gives what FITPACK does, of other values."""
    if s != 0:
        raise unsupported("scipy.interpolate.RectBivariateSpline with s > 0", SMOOTHING)
    z = traced_arrays(recorder, z)[0].reshape(len(x), len(y)) * 1.0
    nx, tx, ny, ty, _, _, code = fit(np.zeros(z.size))
    along = interpolating(recorder, x, z, kx, tx[:nx])
    return nx, tx, ny, ty, interpolating(recorder, y, along.T, ky, ty[:ny]).T.reshape(-1), 0.0, code


def periodic() -> Exception:
    return unsupported(
        "scipy.interpolate.splrep with per=1", "use make_interp_spline or CubicSpline with bc_type='periodic'"
    )
