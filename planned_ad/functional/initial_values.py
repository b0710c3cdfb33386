"""SciPy's solvers of initial value problems in traced functions: `solve_ivp` and `odeint`.

The explicit methods are traced, as one loop over their steps (`adaptive_steps`), and the implicit ones as SciPy has
them. LSODA and `odeint` are compiled code: their values are by SciPy itself, when the plan runs, and the derivative is
that of a Runge-Kutta method with as many steps as give the same numbers.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import control
from ..errors import UnsupportedError
from ..tracing.record.recorder import Recorder
from ..tracing.values.loop_index import LoopIndex
from . import adaptive_steps
from .solvers import WhatIsKnown, by_scipy, calls, held, refuse_options
from .tableaus import tableau_of

EXPLICIT = ("RK45", "RK23", "DOP853")
LEAST_RTOL = 100 * np.finfo(float).eps  # as SciPy has it
MOST_RUNGE_KUTTA_STEPS = 1 << 16
AGREES = 1e-5  # SciPy's solution and that of the Runge-Kutta method, relative to the largest number
CONVERGED = 1e-9  # that method with some steps and with twice as many


def solver_method(args: Any, kwargs: Any) -> Any:
    """The name of a method of SciPy's, or a class that is none of them."""
    method = args[3] if len(args) > 3 else kwargs.get("method", "RK45")
    is_scipys = getattr(method, "__module__", "").startswith("scipy.integrate._ivp.")
    return method.__name__ if is_scipys else method


def is_explicit(args: Any, kwargs: Any) -> bool:
    """Whether it is a call whose steps `adaptive_steps` takes."""
    given = dict(zip(("fun", "t_span", "y0", "method", "t_eval"), args)) | kwargs
    if solver_method(args, kwargs) not in EXPLICIT or len(args) > 5 or not {"fun", "t_span", "y0"} <= set(given):
        return False
    times, y0 = given.get("t_eval"), given["y0"]
    wanted = {name for name, value in given.items() if value is not None and value is not False}
    return (
        wanted <= {"fun", "t_span", "y0", "method", "t_eval", "args", "rtol", "atol", "max_step", "first_step"}
        and len(given["t_span"]) == 2
        and is_line_of_reals(y0)
        and (times is None or is_line_of_reals(times))
    )


def is_line_of_reals(obj: Any) -> bool:
    """Whether it is an array of one axis, or a list of numbers, that is not empty and not complex."""
    if type(obj) in (list, tuple):
        return bool(obj) and not any(np.ndim(x) or np.iscomplexobj(x) for x in obj if type(x) is not LoopIndex)
    return np.ndim(obj) == 1 and len(obj) > 0 and not np.iscomplexobj(obj)


def has_implementation(args: Any, kwargs: Any) -> bool:
    return solver_method(args, kwargs) == "LSODA" or is_explicit(args, kwargs)


@calls("scipy.integrate", "solve_ivp", applies=has_implementation, in_loops=is_explicit)
def solve_ivp(
    recorder: Recorder,
    name: str,
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    **options: Any,
) -> Any:
    implementation = by_lsoda if solver_method((), {"method": method}) == "LSODA" else by_steps
    return implementation(recorder, name, fun, t_span, y0, method, t_eval, **options)


def by_steps(
    recorder: Recorder,
    name: str,
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any,
    t_eval: Any,
    args: Any = None,
    rtol: Any = 1e-3,
    atol: Any = 1e-6,
    max_step: Any = np.inf,
    first_step: Any = None,
    **unset: Any,
) -> Any:
    """By an explicit method."""
    import scipy.integrate

    tableau = tableau_of(getattr(scipy.integrate, solver_method((), {"method": method})))
    t0, t_bound = (recorder.namespace.builtins["float"](t) for t in t_span)
    start = recorder.array(recorder.value_of(y0, np.float64))
    traced = recorder.namespace.function(fun)
    more = () if args is None else tuple(args)

    t_eval = None if t_eval is None else recorder.call(np.asarray, (t_eval,), {})
    if recorder.is_concrete(rtol) and np.any(np.asarray(rtol) < LEAST_RTOL):
        warnings.warn(f"At least one element of `rtol` is too small. Setting `rtol = {LEAST_RTOL}`.", stacklevel=4)
        rtol = np.maximum(rtol, LEAST_RTOL)
    check_problem = recorder.namespace.function(adaptive_steps.check_problem)
    check_problem(t0, t_bound, start, t_eval, atol, max_step, first_step)
    steps = recorder.namespace.function(adaptive_steps.solution)
    t, y, evaluations, is_too_small = steps(
        traced, more, t0, t_bound, start, tableau, t_eval, rtol, atol, max_step, first_step
    )
    known = {"t": t, "y": y, "sol": None, "t_events": None, "y_events": None, "nfev": evaluations, "njev": 0, "nlu": 0}
    if recorder.scopes.depth:
        status = recorder.call(np.where, (is_too_small, -1, 0), {})
        return WhatIsKnown(recorder, name, **known, status=status, success=status == 0)
    status, message = (-1, adaptive_steps.TOO_SMALL) if is_too_small else (0, adaptive_steps.REACHED)
    return WhatIsKnown(recorder, name, **known, status=status, success=status == 0, message=message)


def by_lsoda(
    recorder: Recorder,
    name: str,
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any,
    t_eval: Any,
    **options: Any,
) -> Any:
    """At the times of `t_eval`, of which there are as many as it says, from the first of `t_span` on."""
    import scipy.integrate

    options = {k: v for k, v in options.items() if v is not None and v is not False}
    refuse_options(recorder, name, options, ("rtol", "atol", "max_step", "first_step", "args", "vectorized", "jac"))
    if t_eval is None:
        raise UnsupportedError(
            f'{recorder.here()}: {name} with method="LSODA" has as many times as SciPy takes steps; give t_eval=, or '
            'choose another method, as "RK45" or "BDF", whose Python code is traced'
        )
    args = options.pop("args", ())
    start = np.atleast_1d(recorder.array(recorder.value_of(y0, np.float64)))
    times = recorder.array(recorder.value_of(t_eval, np.float64))
    count = times.shape[0]

    def solve(fun: Any, t_span: Any, y0: Any, times: Any, args: Any, options: Any) -> Any:
        found = scipy.integrate.solve_ivp(fun, t_span, y0, "LSODA", times, args=args or None, **options)
        if found.status != 0 or len(found.t) != count:
            raise ValueError(f"scipy.integrate.solve_ivp: {found.message}")
        t = np.concatenate([t_span[:1], times]).astype(float)
        y = np.concatenate([[np.atleast_1d(y0)], found.y.T])
        steps = steps_for(lambda y, t: np.asarray(fun(t, y, *args), float), y[0].astype(float), t, y)
        return [*found.y.ravel(), found.nfev, found.njev, found.nlu, steps]

    options.pop("vectorized", None)
    found = by_scipy(recorder, name, solve, (fun, tuple(t_span), y0, t_eval, args, options), count * start.size + 4)
    *counts, steps = (recorder.integer(found[k]) for k in range(-4, 0))
    traced = recorder.namespace.function(fun)

    def slope(y: Any, t: Any) -> Any:
        return recorder.array(recorder.value_of(traced(t, y, *args)))

    first = recorder.array(recorder.value_of(t_span[0], np.float64))
    t = np.concatenate([np.reshape(first, (1,)), times])
    solution = recorder.namespace.function(control._runge_kutta)(slope, start, t, steps.__index__())[1:].T
    y = found[:-4].reshape(start.size, count) + (solution - held(recorder, solution))
    nfev, njev, nlu = counts
    return WhatIsKnown(
        recorder, name, t=times, y=y, sol=None, t_events=None, y_events=None, nfev=nfev, njev=njev, nlu=nlu, status=0,
        success=True, message=adaptive_steps.REACHED,
    )  # fmt: skip


@calls("scipy.integrate", "odeint")
def odeint(recorder: Recorder, name: str, func: Any, y0: Any, t: Any, args: Any = (), **options: Any) -> Any:
    import scipy.integrate

    options = {k: v for k, v in options.items() if v not in (None, 0, False) or k == "tfirst"}
    refuse_options(recorder, name, options, ("rtol", "atol", "mxstep", "hmax", "h0", "hmin", "tfirst", "Dfun"))
    options.pop("Dfun", None)
    args = args if isinstance(args, tuple) else (args,)
    times_first = options.get("tfirst", False)
    start = np.atleast_1d(recorder.array(recorder.value_of(y0, np.float64)))
    count = np.shape(t)[0]

    def solve(func: Any, y0: Any, t: Any, args: Any) -> Any:
        y = scipy.integrate.odeint(func, y0, t, args=args, **options)
        slope = (
            (lambda y, t: np.asarray(func(t, y, *args))) if times_first else lambda y, t: np.asarray(func(y, t, *args))
        )
        return np.append(y.ravel(), steps_for(slope, np.atleast_1d(np.asarray(y0, float)), np.asarray(t, float), y))

    found = by_scipy(recorder, name, solve, (func, y0, t, args), count * start.size + 1)
    steps = recorder.integer(found[-1]).__index__()
    traced = recorder.namespace.function(func)

    def slope(y: Any, t: Any) -> Any:
        return recorder.array(recorder.value_of(traced(t, y, *args) if times_first else traced(y, t, *args)))

    times = t if recorder.is_array(t) else recorder.array(recorder.value_of(t, np.float64))
    solution = recorder.namespace.function(control._runge_kutta)(slope, start, times, steps)
    return found[:-1].reshape(count, start.size) + (solution - held(recorder, solution))


def steps_for(slope: Any, y0: np.ndarray, t: np.ndarray, y: np.ndarray) -> int:
    """With how many steps between two times the Runge-Kutta method gives the solution `y`."""
    scale = max(float(np.max(np.abs(y))), 1e-300)
    steps, last = 2, control._runge_kutta(slope, y0, t, 2)
    while steps * len(t) < MOST_RUNGE_KUTTA_STEPS:
        following = control._runge_kutta(slope, y0, t, 2 * steps)
        if np.max(np.abs(following - last)) <= CONVERGED * scale and np.max(np.abs(last - y)) <= AGREES * scale:
            return steps
        steps, last = 2 * steps, following
    raise UnsupportedError(
        "the derivative of scipy.integrate.odeint and of LSODA is that of a Runge-Kutta method, which does not give "
        "its solution here with a sensible number of steps: the equations are stiff, or not smooth. Integrate with a "
        "method of your own, or call it in a function decorated with planned_ad.opaque"
    )
