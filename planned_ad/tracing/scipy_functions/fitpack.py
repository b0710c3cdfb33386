"""FITPACK: what `splrep`, `splev`, `UnivariateSpline` and `RectBivariateSpline` call of `scipy.interpolate._dfitpack`.

Evaluation is that of B-splines; beyond the ends univariate splines go on as polynomials, bivariate ones are constant.
Splines through all points, and least squares with given knots, are linear in what is interpolated. Where knots are
chosen by what is (s > 0), there is no rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import _fitpack2

from ..numpy_functions.support import unsupported
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .b_splines import b_splines_at, by_matrix, interpolating, knot_interval, known_numbers, value
from .intervals import beyond_ends, traced_arrays

dfitpack: Any = _fitpack2.dfitpack


@implements(dfitpack.splev)
def splev(recorder, t, c, k, x, e=0):
    return splder(recorder, t, c, k, x, 0, e)


@implements(dfitpack.splder)
def splder(recorder, t, c, k, x, nu=1, e=0):
    t, c, x = (a * 1.0 for a in traced_arrays(recorder, t, c, x))
    low, high = t[k], t[t.shape[0] - k - 1]
    beyond = beyond_ends(x, low, high)
    if e == 2 and beyond.any():
        return x * 0.0, 1
    found = value(recorder, t, c, k, np.clip(x, low, high) if e == 3 else x, nu)
    return np.where(beyond, 0.0, found) if e == 1 else found, 0


@implements(dfitpack.splint)
def splint(recorder, t, c, k, a, b):
    """From a to b within the knots: the difference of the antiderivative, a spline of one degree more."""
    t, c = traced_arrays(recorder, t, c)
    n = t.shape[0] - k - 1
    steps = np.cumsum(c[:n] * (t[k + 1 :] - t[:n]) / (k + 1))
    sums = np.concatenate([np.zeros(1), steps, np.stack([steps[-1]] * (k + 1))])
    knots = np.concatenate([t[:1], t, t[-1:]])
    ends = value(recorder, knots, sums, k + 1, np.clip(np.stack([a, b]), t[k], t[n]))
    return (ends[1] - ends[0]).item(), np.zeros(t.shape[0])


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


@implements(dfitpack.bispeu)
def bispeu(recorder, tx, ty, c, kx, ky, x, y):
    return surface(recorder, tx, ty, c, kx, ky, (0, 0), x, y), 0


@implements(dfitpack.pardeu)
def pardeu(recorder, tx, ty, c, kx, ky, nux, nuy, x, y):
    return surface(recorder, tx, ty, c, kx, ky, (nux, nuy), x, y), 0


@implements(dfitpack.bispev)
def bispev(recorder, tx, ty, c, kx, ky, x, y):
    return parder(recorder, tx, ty, c, kx, ky, 0, 0, x, y)


@implements(dfitpack.parder)
def parder(recorder, tx, ty, c, kx, ky, nux, nuy, x, y):
    x, y = traced_arrays(recorder, x, y)
    x, y = x.reshape(-1), y.reshape(-1)
    return surface(recorder, tx, ty, c, kx, ky, (nux, nuy), x[:, None], y[None, :]), 0


# Fits.

SMOOTHING = (
    "the knots of a smoothing spline (s > 0) jump where the data change; interpolate (s=0), give the knots "
    "(LSQUnivariateSpline, make_lsq_spline), or use make_smoothing_spline(x, y, lam=...)"
)


def padded(coefficients: Any, count: int) -> Any:
    """As long as the knots are, as FITPACK has them."""
    return np.concatenate([coefficients, np.zeros(count - coefficients.shape[0])])


@implements(dfitpack.curfit)
def curfit(recorder, iopt, x, y, w, t, wrk, iwrk, xb=None, xe=None, k=3, s=0.0):
    x, w, knots, xb, xe = known_numbers(recorder, "splrep", x, w, t, xb, xe)
    y = traced_arrays(recorder, y)[0] * 1.0
    nest = knots.shape[0]

    def fit(row: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        own, work = knots.copy(), np.empty(np.shape(wrk))
        n, c, _, ier = dfitpack.curfit(iopt, x, row, w, own, work, np.empty(nest, iwrk.dtype), xb, xe, k, s)
        return own[:n], c, ier

    if iopt != -1 and s != 0:
        raise unsupported("scipy.interpolate.splrep with s > 0", SMOOTHING)
    found, _, ier = fit(np.zeros(y.shape[0]))
    count = found.shape[0]
    t[:count] = found
    if iopt == -1:
        return count, by_matrix(lambda row: fit(row)[1][:count], y), 0.0, ier
    return count, padded(interpolating(recorder, x, y, k, found), count), 0.0, ier


@implements(dfitpack.percur)
def percur(recorder, iopt, x, y, w, t, wrk, iwrk, k=3, s=0.0):
    raise unsupported(
        "scipy.interpolate.splrep with per=1", "use make_interp_spline or CubicSpline with bc_type='periodic'"
    )


@implements(dfitpack.fpcurf0)
def fpcurf0(recorder, x, y, k, w=None, xb=None, xe=None, s=None, nest=None):
    x, w, xb, xe = known_numbers(recorder, "UnivariateSpline", x, w, xb, xe)
    y = traced_arrays(recorder, y)[0] * 1.0
    if s != 0:
        raise unsupported("scipy.interpolate.UnivariateSpline with s > 0 (its default is len(x))", SMOOTHING)
    *data, _ = dfitpack.fpcurf0(x, np.zeros(y.shape[0]), k, w=w, xb=xb, xe=xe, s=0)
    count, knots = data[7], data[8]
    data[1], data[9] = y, padded(interpolating(recorder, x, y, k, knots[:count]), knots.shape[0])
    return (*data, -1)


@implements(dfitpack.fpcurfm1)
def fpcurfm1(recorder, x, y, k, t, w=None, xb=None, xe=None):
    x, t, w, xb, xe = known_numbers(recorder, "LSQUnivariateSpline", x, t, w, xb, xe)
    y = traced_arrays(recorder, y)[0] * 1.0
    data = list(dfitpack.fpcurfm1(x, np.zeros(y.shape[0]), k, t, w=w, xb=xb, xe=xe))
    data[1], data[9] = y, by_matrix(lambda row: dfitpack.fpcurfm1(x, row, k, t, w=w, xb=xb, xe=xe)[9], y)
    return tuple(data)


@implements(dfitpack.regrid_smth)
def regrid_smth(recorder, x, y, z, xb=None, xe=None, yb=None, ye=None, kx=3, ky=3, s=0.0, maxit=20):
    """Through all points of a grid: a dimension after the other."""
    x, y, xb, xe, yb, ye = known_numbers(recorder, "RectBivariateSpline", x, y, xb, xe, yb, ye)
    if s != 0:
        raise unsupported("scipy.interpolate.RectBivariateSpline with s > 0", SMOOTHING)
    z = traced_arrays(recorder, z)[0].reshape(len(x), len(y)) * 1.0
    nx, tx, ny, ty, _, _, ier = dfitpack.regrid_smth(x, y, np.zeros(z.size), xb, xe, yb, ye, kx, ky, 0.0)
    along = interpolating(recorder, x, z, kx, tx[:nx])
    return nx, tx, ny, ty, interpolating(recorder, y, along.T, ky, ty[:ny]).T.reshape(-1), 0.0, ier
