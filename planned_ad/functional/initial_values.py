"""SciPy's solvers of initial value problems in traced functions: `solve_ivp` and `odeint`.

The explicit methods are traced, as one loop over their steps (`adaptive_steps`). The values of the implicit ones, of
LSODA and of `odeint` are by SciPy itself, when the plan runs. Where `odeint` has found the equations not to be stiff,
the derivative is that of an explicit method with the same tolerances; else of an implicit Runge-Kutta method with
SciPy's steps (`implicit_steps`), or for large systems that LSODA solves, of an explicit one with as many steps as give
the same numbers.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import control
from ..errors import UnsupportedError
from ..tracing.record.recorder import Recorder
from ..tracing.values.loop_index import LoopIndex
from . import adaptive_steps, implicit_steps
from .events import ENDED, events_of
from .solver_results import WhatIsKnown
from .solvers import by_scipy, calls, checked_still, held, refuse_options
from .tableaus import tableau_of

EXPLICIT = ("RK45", "RK23", "DOP853")
IMPLICIT = ("Radau", "BDF")
MANY_STEPS = 2000  # from where on an explicit method would take too many
OF_STIFF_EQUATIONS = 2  # among the methods that `odeint` tells: backward differentiation
FINE = 1e-9  # a relative tolerance below which a method of high order takes much fewer steps
TIGHT = 1e-5  # a relative tolerance below which steps are held
MOST_NUMBERS = 1 << 22  # that SciPy's steps are told in
MOST_STEPS = 1 << 14
NAMES_OF_LSODA = {"rtol": "rtol", "atol": "atol", "h0": "first_step", "hmax": "max_step", "hmin": "min_step"}
TOLERANCES = {"rtol": 1.49012e-8, "atol": 1.49012e-8}  # of `odeint`
TOLERANCES_OF_LSODA = {"rtol": 1e-3, "atol": 1e-6}  # in `solve_ivp`
LARGE = 32  # equations, from which on those that are not stiff are better left to an explicit method
LEAST_RTOL = 100 * np.finfo(float).eps  # as SciPy has it
MOST_RUNGE_KUTTA_STEPS = 1 << 16
LOOSE = 1e3  # tolerances of a step, that two solutions may be apart after many
AGREES = 1e-5  # SciPy's solution and that of the Runge-Kutta method, relative to the largest number
CONVERGED = 1e-9  # that method with some steps and with twice as many


def solver_method(args: Any, kwargs: Any) -> Any:
    """The name of a method of SciPy's, or a class that is none of them."""
    method = args[3] if len(args) > 3 else kwargs.get("method", "RK45")
    is_scipys = getattr(method, "__module__", "").startswith("scipy.integrate._ivp.")
    return method.__name__ if is_scipys else method


def is_explicit(args: Any, kwargs: Any) -> bool:
    """Whether it is a call whose steps `adaptive_steps` takes."""
    return solver_method(args, kwargs) in EXPLICIT and has_options(args, kwargs, (*OPTIONS, "events", "dense_output"))


def is_implicit(args: Any, kwargs: Any) -> bool:
    """Whether it is a call to whose steps `implicit_steps` gives a derivative."""
    return solver_method(args, kwargs) in IMPLICIT and has_options(args, kwargs, (*OPTIONS, *OF_IMPLICIT))


OPTIONS = ("rtol", "atol", "max_step", "first_step", "args")
OF_IMPLICIT = ("vectorized", "jac", "jac_sparsity")


def has_options(args: Any, kwargs: Any, options: Sequence[str]) -> bool:
    """Whether a call has no others, and is of a real problem."""
    given = dict(zip(("fun", "t_span", "y0", "method", "t_eval"), args)) | kwargs
    if len(args) > 5 or not {"fun", "t_span", "y0"} <= set(given):
        return False
    times, y0 = given.get("t_eval"), given["y0"]
    wanted = {name for name, value in given.items() if value is not None and value is not False}
    return (
        wanted <= {"fun", "t_span", "y0", "method", "t_eval", *options}
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
    return solver_method(args, kwargs) == "LSODA" or is_explicit(args, kwargs) or is_implicit(args, kwargs)


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
    method = solver_method((), {"method": method})
    if method in EXPLICIT:
        return by_steps(recorder, name, fun, t_span, y0, method, t_eval, **options)
    options = {k: v for k, v in options.items() if v is not None and v is not False}
    start = recorder.array(recorder.value_of(y0, np.float64))
    if method == "LSODA":
        refuse_options(recorder, name, options, (*OPTIONS, "vectorized", "jac", "min_step", "lband", "uband"))
        if start.size > LARGE:
            return by_lsoda(recorder, name, fun, t_span, y0, t_eval, **options)
    args = options.pop("args", ())
    begin, end = (recorder.namespace.builtins["float"](t) for t in t_span)
    ends = begin, end
    t_eval = None if t_eval is None else recorder.array(recorder.value_of(t_eval, np.float64))
    if method == "LSODA" and t_eval is not None:
        count = t_eval.shape[0]
        given = fun, ends, start, t_eval, args, options
        told = by_scipy(recorder, name, solved_by_lsoda, given, count * start.size + 4)
        y = told[:-4].reshape(start.size, count)
        if told[-1] == 0:
            traced = recorder.namespace.function(fun)
            nfev, njev, nlu = (recorder.integer(told[k]) for k in (-4, -3, -2))
            tolerances = TOLERANCES_OF_LSODA | {name: options[name] for name in TOLERANCES if name in options}
            most = options.get("max_step", np.inf)
            found = with_explicit_derivative(recorder, y.T, traced, args, ends, start, t_eval, most, **tolerances)
            if found is not None:
                return solution_known(recorder, name, t_eval, found.T, nfev, njev, nlu)

    def solve(told: ToldSteps, fun: Any, t_span: Any, y0: Any, t_eval: Any, args: Any, options: Any) -> np.ndarray:
        found = scipys_solution(fun, t_span, y0, method, t_eval, args, options)
        if t_eval is not None and len(found.t) != len(t_eval):
            raise ValueError(f"scipy.integrate.solve_ivp: {found.message}")
        return told.filled(found, None if t_eval is None else found.y)

    given = fun, ends, start, t_eval, args, options
    times, y, counts = along_steps(recorder, name, solve, given, fun, args, ends, start, t_eval)
    _, evaluations, jacobians, factors = counts
    return solution_known(recorder, name, times, y, evaluations, jacobians, factors)


def solution_known(recorder: Recorder, name: str, t: Any, y: Any, nfev: Any, njev: Any, nlu: Any) -> WhatIsKnown:
    """What `solve_ivp` has to say that has gone all its way."""
    return WhatIsKnown(
        recorder, name, t=t, y=y, sol=None, t_events=None, y_events=None, nfev=nfev, njev=njev, nlu=nlu, status=0,
        success=True, message=adaptive_steps.REACHED,
    )  # fmt: skip


def solved_by_lsoda(fun: Any, t_span: Any, y0: Any, t_eval: Any, args: Any, options: Any) -> np.ndarray:
    """The solution at these times, and how many evaluations, Jacobians and factorisations it took.

    And, as `solved_by_odeint`, whether these were stiff equations, which need Jacobians, or many steps.
    """
    import scipy.integrate

    found = scipy.integrate.solve_ivp(fun, t_span, y0, "LSODA", t_eval, args=tuple(args) or None, **options)
    if found.status != 0 or len(found.t) != len(t_eval):
        raise ValueError(f"scipy.integrate.solve_ivp: {found.message}")
    is_implicit = found.njev > 0 or found.nfev > 2 * MANY_STEPS
    return np.array([*found.y.ravel(), found.nfev, found.njev, found.nlu, is_implicit])


def scipys_solution(fun: Any, t_span: Any, y0: Any, method: str, t_eval: Any, args: Any, options: Any) -> Any:
    """SciPy's solution, with its steps."""
    import scipy.integrate

    found = scipy.integrate.solve_ivp(
        fun, t_span, y0, method, t_eval, dense_output=True, args=tuple(args) or None, **options
    )
    if found.status != 0:
        raise ValueError(f"scipy.integrate.solve_ivp: {found.message}")
    return found


@dataclass(frozen=True)
class ToldSteps:
    """How SciPy's steps are told in one array: four counts, the solution at some times, and of up to `most` steps the
    ends, and the solution at the nodes of each.
    """

    size: int
    times: int

    @property
    def most(self) -> int:
        return min(MOST_STEPS, MOST_NUMBERS // (4 * self.size))

    @property
    def places(self) -> tuple[int, ...]:
        """Where all but the counts begin, and where the last ends."""
        parts = (4, self.times * self.size, self.most + 1, 3 * self.most * self.size)
        return tuple(itertools.accumulate(parts))

    def filled(self, found: Any, y: Any) -> np.ndarray:
        grid, numbers = found.sol.ts, np.zeros(self.places[-1])
        steps = len(grid) - 1
        if steps > self.most:
            raise UnsupportedError(f"SciPy took {steps} steps to the solution; there is a derivative of {self.most}")
        numbers[:4] = steps, found.nfev, found.njev, found.nlu
        first, second, third, _ = self.places
        if y is not None:
            numbers[first:second] = y.ravel()
        numbers[second : second + steps + 1] = grid
        within = grid[:-1, None] + np.diff(grid)[:, None] * implicit_steps.NODES
        numbers[third : third + 3 * steps * self.size] = found.sol(within.ravel()).T.ravel()
        return numbers


def along_steps(
    recorder: Recorder, name: str, solve: Any, given: tuple, fun: Any, args: Any, ends: Any, start: Any, t_eval: Any
) -> tuple[Any, Any, tuple]:
    """Times, the solution (n, times), and four counts: of steps, evaluations, Jacobians and factorisations."""
    told = ToldSteps(start.shape[0], 0 if t_eval is None else t_eval.shape[0])
    found = by_scipy(recorder, name, functools.partial(solve, told), given, told.places[-1])
    counts = tuple(recorder.integer(found[k]) for k in range(4))
    y, grid, states = (found[a:b] for a, b in itertools.pairwise(told.places))
    with checked_still(recorder):
        times, solution = recorder.namespace.function(implicit_steps.solution_along)(
            recorder.namespace.function(fun),
            tuple(args),
            *ends,
            start,
            grid,
            states.reshape(told.most, 3, told.size),
            counts[0],
            t_eval,
        )
    if t_eval is None:
        return times, solution.T, counts
    return times, y.reshape(told.size, told.times) + (solution - held(recorder, solution)).T, counts


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
    events: Any = None,
    dense_output: bool = False,
    **unset: Any,
) -> Any:
    """By an explicit method."""
    import scipy.integrate

    tableau = tableau_of(getattr(scipy.integrate, method))
    t0, t_bound = (recorder.namespace.builtins["float"](t) for t in t_span)
    start = recorder.array(recorder.value_of(y0, np.float64))
    traced = recorder.namespace.function(fun)
    more = () if args is None else tuple(args)

    t_eval = None if t_eval is None else recorder.call(np.asarray, (t_eval,), {})
    if recorder.is_concrete(rtol) and np.any(np.asarray(rtol) < LEAST_RTOL):
        warnings.warn(f"At least one element of `rtol` is too small. Setting `rtol = {LEAST_RTOL}`.", stacklevel=4)
        rtol = np.maximum(rtol, LEAST_RTOL)
    held = recorder.is_concrete(rtol) and bool(np.all(np.asarray(recorder.plain(rtol)) < TIGHT))
    check_problem = recorder.namespace.function(adaptive_steps.check_problem)
    check_problem(t0, t_bound, start, t_eval, atol, max_step, first_step)
    problem = adaptive_steps.Problem(
        traced, more, t0, t_bound, start, tableau, t_eval, rtol, atol, max_step, first_step,
        events_of(events, more, recorder.namespace.function), dense_output, held,
    )  # fmt: skip
    with checked_still(recorder):
        told = recorder.namespace.function(adaptive_steps.solution)(problem)
    met_at = told["met_at"]
    known = {"t": told["t"], "y": told["y"], "nfev": told["nfev"], "njev": 0, "nlu": 0, "sol": told["sol"]}
    known["t_events"] = [rows[:, 0] for rows in met_at] if problem.events else None
    known["y_events"] = [rows[:, 1:] for rows in met_at] if problem.events else None
    ended = recorder.call(np.where, (told["is_ended"], 1, 0), {})
    status = recorder.call(np.where, (told["is_too_small"], -1, ended), {})
    return SolutionOfSteps(recorder, name, **known, status=status, success=status >= 0)


class SolutionOfSteps(WhatIsKnown):
    """The solution by a method whose status data decide."""

    @property
    def message(self) -> str:
        if self.status < 0:
            return adaptive_steps.TOO_SMALL
        return ENDED if self.status > 0 else adaptive_steps.REACHED


def by_lsoda(recorder: Recorder, name: str, fun: Any, t_span: Any, y0: Any, t_eval: Any, **options: Any) -> Any:
    """At the times of `t_eval`, of which there are as many as it says, from the first of `t_span` on."""
    import scipy.integrate

    if t_eval is None:
        raise UnsupportedError(
            f'{recorder.here()}: {name} with method="LSODA" has as many times as SciPy takes steps, which is supported '
            f"for up to {LARGE} equations; give t_eval=, or choose another method"
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
    return solution_known(recorder, name, times, y, *counts)


@calls("scipy.integrate", "odeint")
def odeint(recorder: Recorder, name: str, func: Any, y0: Any, t: Any, args: Any = (), **options: Any) -> Any:
    import scipy.integrate

    options = {k: v for k, v in options.items() if v not in (None, 0, False) or k == "tfirst"}
    refuse_options(recorder, name, options, ("rtol", "atol", "mxstep", "hmax", "h0", "hmin", "tfirst", "Dfun"))
    options.pop("Dfun", None)
    args = args if isinstance(args, tuple) else (args,)
    times_first = options.get("tfirst", False)
    start = np.atleast_1d(recorder.array(recorder.value_of(y0, np.float64)))
    times = t if recorder.is_array(t) else recorder.array(recorder.value_of(t, np.float64))
    count = times.shape[0]
    if start.size > LARGE or count < 2:
        return by_runge_kutta(recorder, name, func, y0, times, args, options)
    traced = recorder.namespace.function(func)

    def slope(t: Any, y: Any, *args: Any) -> Any:
        return recorder.array(recorder.value_of(traced(t, y, *args) if times_first else traced(y, t, *args)))

    def solve(told: ToldSteps, func: Any, y0: Any, t: Any, args: Any, options: Any) -> np.ndarray:
        y = scipy.integrate.odeint(func, y0, t, args=args, **options)
        own = TOLERANCES | {ours: options[name] for name, ours in NAMES_OF_LSODA.items() if name in options}
        fun = func if times_first else lambda t, y, *args: func(y, t, *args)
        return told.filled(scipys_solution(fun, (t[0], t[-1]), np.atleast_1d(y0), "LSODA", None, args, own), y.T)

    given, ends = (func, y0, t, args, options), (times[0], times[-1])
    found = by_scipy(recorder, name, solved_by_odeint, given, count * start.size + 1)
    if found[-1] == 0:
        tolerances = TOLERANCES | {name: options[name] for name in TOLERANCES if name in options}
        y, most = found[:-1].reshape(count, start.size), options.get("hmax", np.inf)
        solution = with_explicit_derivative(recorder, y, slope, args, ends, start, times, most, **tolerances)
        if solution is not None:
            return solution
    return along_steps(recorder, name, solve, given, slope, args, ends, start, times)[1].T


def solved_by_odeint(func: Any, y0: Any, t: Any, args: Any, options: Any) -> np.ndarray:
    """The solution, and whether it took a method for stiff equations, or many steps."""
    import scipy.integrate

    y, told = scipy.integrate.odeint(func, y0, t, args=args, **options, full_output=True)
    return np.append(y.ravel(), np.any(told["mused"] == OF_STIFF_EQUATIONS) or told["nst"][-1] > MANY_STEPS)


def with_explicit_derivative(
    recorder: Recorder,
    y: Any,
    slope: Any,
    args: Any,
    ends: Any,
    y0: Any,
    times: Any,
    max_step: Any,
    rtol: Any,
    atol: Any,
) -> Any:
    """The solution `y` at some times between the ends, (times, n), with the derivative of an explicit method's steps.

    None where that does not come to the same solution (a guard).
    """
    import scipy.integrate

    rtol = np.maximum(rtol, LEAST_RTOL)
    is_fine = recorder.is_concrete(rtol) and bool(np.any(np.asarray(recorder.plain(rtol)) < FINE))
    method = tableau_of(scipy.integrate.DOP853 if is_fine else scipy.integrate.RK45)
    is_held = recorder.is_concrete(rtol) and bool(np.all(np.asarray(recorder.plain(rtol)) < TIGHT))
    begin, end = ends
    problem = adaptive_steps.Problem(
        slope, tuple(args), begin, end, y0, method, times, rtol, atol, max_step, None, held=is_held
    )
    with checked_still(recorder):
        told = recorder.namespace.function(adaptive_steps.solution)(problem)
    solution = told["at_times"]
    off = np.abs(solution - y) > LOOSE * (atol + rtol * np.max(np.abs(y), axis=0))
    return None if np.logical_or(told["is_too_small"], np.any(off)) else y + (solution - held(recorder, solution))


def by_runge_kutta(recorder: Recorder, name: str, func: Any, y0: Any, t: Any, args: tuple, options: Any) -> Any:
    import scipy.integrate

    times_first = options.get("tfirst", False)
    start = np.atleast_1d(recorder.array(recorder.value_of(y0, np.float64)))
    count = t.shape[0]

    def solve(func: Any, y0: Any, t: Any, args: Any, options: Any) -> Any:
        y = scipy.integrate.odeint(func, y0, t, args=args, **options)
        slope = (
            (lambda y, t: np.asarray(func(t, y, *args))) if times_first else lambda y, t: np.asarray(func(y, t, *args))
        )
        return np.append(y.ravel(), steps_for(slope, np.atleast_1d(np.asarray(y0, float)), np.asarray(t, float), y))

    found = by_scipy(recorder, name, solve, (func, y0, t, args, options), count * start.size + 1)
    steps = recorder.integer(found[-1]).__index__()
    traced = recorder.namespace.function(func)

    def slope(y: Any, t: Any) -> Any:
        return recorder.array(recorder.value_of(traced(t, y, *args) if times_first else traced(y, t, *args)))

    solution = recorder.namespace.function(control._runge_kutta)(slope, start, t, steps)
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
