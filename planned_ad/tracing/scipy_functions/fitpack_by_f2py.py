"""FITPACK as SciPy calls it up to 1.17, in `scipy.interpolate._dfitpack`: see `fitpack`."""

from __future__ import annotations

import numpy as np

from ...python.versions import SCIPY
from ..numpy_functions.support import unsupported
from ..record.dispatch import implements
from .b_splines import by_matrix, interpolating, known_numbers
from .fitpack import SMOOTHING, compiled, fitted, fitted_on_grid, integral, padded, periodic, spline_derivative
from .intervals import traced_arrays

if SCIPY >= (1, 18):
    raise ImportError("for SciPy up to 1.17")


@implements(compiled.splder)
def splder(recorder, t, c, k, x, nu=1, e=0):
    return spline_derivative(recorder, t, c, k, x, nu, e)


@implements(compiled.splint)
def splint(recorder, t, c, k, a, b):
    return integral(recorder, t, c, k, a, b), np.zeros(np.shape(t)[0])


@implements(compiled.curfit)
def curfit(recorder, iopt, x, y, w, t, wrk, iwrk, xb=None, xe=None, k=3, s=0.0):
    x, w, knots, xb, xe = known_numbers(recorder, "splrep", x, w, t, xb, xe)
    y = traced_arrays(recorder, y)[0] * 1.0

    def fit(row: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        own, work = knots.copy(), np.empty(np.shape(wrk))
        n, c, _, ier = compiled.curfit(iopt, x, row, w, own, work, np.empty(knots.shape[0], iwrk.dtype), xb, xe, k, s)
        return own[:n], c, ier

    found, c, ier = fitted(recorder, "scipy.interpolate.splrep with s > 0", fit, x, y, k, given=iopt == -1, s=s)
    t[: found.shape[0]] = found
    return found.shape[0], c, 0.0, ier


@implements(compiled.percur)
def percur(recorder, iopt, x, y, w, t, wrk, iwrk, k=3, s=0.0):
    raise periodic()


@implements(compiled.fpcurf0)
def fpcurf0(recorder, x, y, k, w=None, xb=None, xe=None, s=None, nest=None):
    x, w, xb, xe = known_numbers(recorder, "UnivariateSpline", x, w, xb, xe)
    y = traced_arrays(recorder, y)[0] * 1.0
    if s != 0:
        raise unsupported("scipy.interpolate.UnivariateSpline with s > 0 (its default is len(x))", SMOOTHING)
    *data, _ = compiled.fpcurf0(x, np.zeros(y.shape[0]), k, w=w, xb=xb, xe=xe, s=0)
    count, knots = data[7], data[8]
    data[1], data[9] = y, padded(interpolating(recorder, x, y, k, knots[:count]), knots.shape[0])
    return (*data, -1)


@implements(compiled.fpcurfm1)
def fpcurfm1(recorder, x, y, k, t, w=None, xb=None, xe=None):
    x, t, w, xb, xe = known_numbers(recorder, "LSQUnivariateSpline", x, t, w, xb, xe)
    y = traced_arrays(recorder, y)[0] * 1.0
    data = list(compiled.fpcurfm1(x, np.zeros(y.shape[0]), k, t, w=w, xb=xb, xe=xe))
    data[1], data[9] = y, by_matrix(lambda row: compiled.fpcurfm1(x, row, k, t, w=w, xb=xb, xe=xe)[9], y)
    return tuple(data)


@implements(compiled.regrid_smth)
def regrid_smth(recorder, x, y, z, xb=None, xe=None, yb=None, ye=None, kx=3, ky=3, s=0.0, maxit=20):
    x, y, xb, xe, yb, ye = known_numbers(recorder, "RectBivariateSpline", x, y, xb, xe, yb, ye)

    def fit(row: np.ndarray) -> tuple:
        return compiled.regrid_smth(x, y, row, xb, xe, yb, ye, kx, ky, 0.0)

    return fitted_on_grid(recorder, fit, x, y, z, kx, ky, s)
