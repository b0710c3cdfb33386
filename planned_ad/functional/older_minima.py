"""SciPy's functions for minima from before `minimize`, of one method each: `fmin`, `golden` and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tracing.record.recorder import Recorder
from .solvers import bounded_minimum, by_scipy, call_back, calls, of_first_argument, refuse_options, stationary

OF_ONE_NUMBER = {"golden": ("tol", "maxiter"), "brent": ("tol", "maxiter"), "fminbound": ("xtol", "maxfun", "disp")}
OF_SEVERAL = {
    "fmin": ("xtol", "ftol", "maxiter", "maxfun", "disp", "callback", "initial_simplex"),
    "fmin_powell": ("xtol", "ftol", "maxiter", "maxfun", "disp", "callback", "direc"),
    "fmin_cg": ("fprime", "gtol", "norm", "epsilon", "maxiter", "disp", "callback", "c1", "c2"),
    "fmin_bfgs": ("fprime", "gtol", "norm", "epsilon", "maxiter", "disp", "callback", "xrtol", "c1", "c2"),
}


@calls("scipy.optimize", "golden", "brent")
def bracketed_minimum(
    recorder: Recorder, name: str, func: Any, args: Any = (), brack: Any = None, **options: Any
) -> Any:
    import scipy.optimize

    refuse_options(recorder, name, {k: v for k, v in options.items() if v}, OF_ONE_NUMBER[name])

    def solve(func: Any, args: Any, brack: Any, options: Any) -> Any:
        return [getattr(scipy.optimize, name)(func, args, brack, **options)]

    found = by_scipy(recorder, name, solve, (func, args, brack, options), 1)
    return stationary(recorder, of_first_argument(recorder, func, args), found[0].item())


@calls("scipy.optimize", "fminbound")
def minimum_between(recorder: Recorder, name: str, func: Any, x1: Any, x2: Any, args: Any = (), **options: Any) -> Any:
    """The minimum lies between the bounds, where the slope is zero, or nearly on one of them."""
    import scipy.optimize

    refuse_options(recorder, name, {k: v for k, v in options.items() if v}, OF_ONE_NUMBER[name])

    def solve(func: Any, x1: Any, x2: Any, args: Any, options: Any) -> Any:
        return [scipy.optimize.fminbound(func, x1, x2, args, **options)]

    found = by_scipy(recorder, name, solve, (func, x1, x2, args, options), 1)
    call = of_first_argument(recorder, func, args)
    return bounded_minimum(recorder, call, found[0].item(), x1, x2, options.get("xtol"))


@calls("scipy.optimize", *OF_SEVERAL)
def minimum(recorder: Recorder, name: str, func: Any = None, x0: Any = None, *more: Any, **options: Any) -> Any:
    """`fmin(func, x0, args)` and `fmin_powell`; `fmin_bfgs(f, x0, fprime, args)` and `fmin_cg`."""
    import scipy.optimize

    func = options.pop("f", func)
    named = ("fprime", "args") if "fprime" in OF_SEVERAL[name] else ("args",)
    options |= dict(zip(named, more))
    args = options.pop("args", ())
    options = {
        k: v
        for k, v in options.items()
        if v is not None and v is not False and (k == "disp" or type(v) is not int or v)
    }
    refuse_options(recorder, name, options, OF_SEVERAL[name])
    shape = np.shape(x0) or (1,)

    def solve(func: Any, x0: Any, args: Any, options: Any) -> Any:
        return np.ravel(getattr(scipy.optimize, name)(func, x0, args=args, **options))

    found = by_scipy(recorder, name, solve, (func, x0, args, options), int(np.prod(shape)))
    call = of_first_argument(recorder, func, args)

    def loss(x: Any) -> Any:
        value = call(x.reshape(shape))
        return value.reshape(())[()] if recorder.is_array(value) else value

    call_back(recorder, options.get("callback"), shape)
    return stationary(recorder, loss, found).reshape(shape)


def has_finish(args: Any, kwargs: Any) -> bool:
    """Without, it gives a point of the grid, whatever the function."""
    return (args[5] if len(args) > 5 else kwargs.get("finish", True)) is not None


@calls("scipy.optimize", "brute", applies=has_finish)
def brute(recorder: Recorder, name: str, func: Any, ranges: Any, args: Any = (), Ns: Any = 20, **options: Any) -> Any:
    import scipy.optimize

    refuse_options(recorder, name, {k: v for k, v in options.items() if v}, ("finish", "disp"))
    options.pop("finish", None)

    def solve(func: Any, ranges: Any, args: Any, options: Any) -> Any:
        return np.ravel(scipy.optimize.brute(func, ranges, args, Ns, **options))

    count = len(ranges)
    found = by_scipy(recorder, name, solve, (func, tuple(ranges), args, options), count)
    call = of_first_argument(recorder, func, args)

    def loss(x: Any) -> Any:
        value = call(x)
        return value.reshape(())[()] if recorder.is_array(value) else value

    return stationary(recorder, loss, found)
