"""FITPACK as SciPy calls it from 1.18, in `scipy.interpolate._fitpack`: see `fitpack`."""

from __future__ import annotations

import numpy as np

from ...python.versions import SCIPY
from ..record.dispatch import implements
from .b_splines import known_numbers
from .fitpack import compiled, fitted, fitted_on_grid, integral, periodic, spline_derivative
from .intervals import traced_arrays

if SCIPY < (1, 18):
    raise ImportError("for SciPy from 1.18 on")


@implements(compiled.splder)
def splder(recorder, t, c, k, nu, x, e=0):
    return spline_derivative(recorder, t, c, k, x, nu, e)


@implements(compiled.splint)
def splint(recorder, t, c, k, a, b):
    return integral(recorder, t, c, k, a, b)


@implements(compiled.curfit)
def curfit(recorder, iopt, x, y, w, xb, xe, k, s, t, wrk, iwrk):
    name = "a spline of scipy.interpolate with s > 0 (UnivariateSpline's default is len(x))"
    x, w, knots, xb, xe = known_numbers(recorder, "a spline's fit", x, w, t, xb, xe)
    y = traced_arrays(recorder, y)[0] * 1.0

    def fit(row: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        work = np.empty(np.shape(wrk)), np.empty(knots.shape[0], iwrk.dtype)
        n, found, c, _, ier = compiled.curfit(iopt, x, row, w, xb, xe, k, s, knots.copy(), *work)
        return found[:n], c, ier

    found, c, ier = fitted(recorder, name, fit, x, y, k, given=iopt == -1, s=s)
    return found.shape[0], found, c, 0.0, ier


@implements(compiled.percur)
def percur(recorder, *args):
    raise periodic()


@implements(compiled.regrid)
def regrid(recorder, iopt, x, y, z, xb, xe, yb, ye, kx, ky, s, nxest, nyest, maxit, wrk, iwrk):
    x, y, xb, xe, yb, ye = known_numbers(recorder, "RectBivariateSpline", x, y, xb, xe, yb, ye)

    def fit(row: np.ndarray) -> tuple:
        work = np.empty(np.shape(wrk)), np.empty(np.shape(iwrk), iwrk.dtype)
        return compiled.regrid(iopt, x, y, row, xb, xe, yb, ye, kx, ky, 0.0, nxest, nyest, maxit, *work)

    return fitted_on_grid(recorder, fit, x, y, z, kx, ky, s)
