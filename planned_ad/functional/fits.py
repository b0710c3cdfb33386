"""SciPy's `leastsq` and `curve_fit` in traced functions, as the solvers of `solvers` are."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tracing.record.recorder import Recorder
from .derivatives import Jacobian
from .solvers import by_scipy, calls, checked_still, flattened, held, of_first_argument, refuse_options, stationary

CONTROLS = ("ftol", "xtol", "gtol", "maxfev", "epsfcn", "factor", "diag", "col_deriv")


def half_of_squares(residuals: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: 0.5 * np.sum(residuals(x) ** 2)


@calls("scipy.optimize", "leastsq")
def leastsq(recorder: Recorder, name: str, func: Any, x0: Any, args: Any = (), **options: Any) -> Any:
    import scipy.optimize

    refuse_options(recorder, name, options, ("Dfun", *CONTROLS))
    args = args if isinstance(args, tuple) else (args,)

    def solve(func: Any, x0: Any, args: Any, options: Any) -> Any:
        x, status = scipy.optimize.leastsq(func, x0, args=args, **options)
        return [*np.atleast_1d(x), status]

    found = by_scipy(recorder, name, solve, (func, x0, args, options), int(np.size(x0)) + 1)
    residuals = flattened(recorder, of_first_argument(recorder, func, args))
    return stationary(recorder, half_of_squares(residuals), found[:-1]), recorder.integer(found[-1])


@calls("scipy.optimize", "curve_fit")
def curve_fit(
    recorder: Recorder,
    name: str,
    f: Any,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: Any = None,
    **options: Any,
) -> Any:
    """The parameters, and their covariance by the formula from the Jacobian, to which SciPy's is close."""
    import scipy.optimize

    refuse_options(recorder, name, options, ("jac", "method", "nan_policy", *CONTROLS))
    count = len(inspect.signature(f).parameters) - 1 if p0 is None else int(np.size(p0))

    def solve(f: Any, xdata: Any, ydata: Any, p0: Any, sigma: Any, options: Any) -> Any:
        found, covariance = scipy.optimize.curve_fit(
            f, xdata, ydata, p0, sigma, absolute_sigma, check_finite, **options
        )
        return [*found, *covariance.ravel()]

    found = by_scipy(recorder, name, solve, (f, xdata, ydata, p0, sigma, options), count * (count + 1))
    model, y = recorder.namespace.function(f), recorder.array(recorder.value_of(ydata))
    scale = None if sigma is None else recorder.array(recorder.value_of(sigma))

    def residual(p: Any) -> Any:
        gap = model(xdata, *p) - y
        if scale is None:
            return gap
        if scale.ndim < 2:
            return gap / scale
        return recorder.call(scipy.linalg.solve_triangular, (np.linalg.cholesky(scale), gap), {"lower": True})

    residuals = flattened(recorder, residual)
    p = stationary(recorder, half_of_squares(residuals), found[:count])
    with checked_still(recorder):
        slopes = Jacobian(recorder.namespace.closure(residuals), 0, False)(p)
    covariance = np.linalg.inv(slopes.T @ slopes)
    if not absolute_sigma:
        covariance = covariance * (np.sum(residuals(p) ** 2) / (y.size - count))
    return p, found[count:].reshape(count, count) + (covariance - held(recorder, covariance))
