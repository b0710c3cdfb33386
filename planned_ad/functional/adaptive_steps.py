"""Explicit Runge-Kutta methods whose errors decide how long their steps are: SciPy's RK45, RK23 and DOP853.

It is ordinary Python, traced as the user's is: one loop over attempted steps, whose number data decide, so that one
trace serves all inputs. SciPy's code has a class whose attributes the steps change, and results that grow as it goes;
each number is computed here as it is there (E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential
Equations I, II.4 and II.10), up to rounding.

How the lengths of steps follow from the errors is part of the function, and of its derivative. With tight tolerances
the solution is that of the equations, which knows nothing of steps, and they are `held`: its derivative is that in
steps of these lengths. (Where the right side jumps or has kinks, the derivative through the errors is that of the last
digits of the solution, and anything but small.)
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .dense_output import DenseSolution, piece_of, rows_within, solution_within, sum_of_slopes, with_extra_slopes
from .events import event_value, is_before_the_end, is_crossing, where_it_ends, zero_between
from .problems import Problem
from .tableaus import Tableau
from .transforms import stop_gradient

REACHED = "The solver successfully reached the end of the integration interval."
TOO_SMALL = "Required step size is less than spacing between numbers."


def rms(x: Any) -> Any:
    return np.linalg.norm(x) / x.size**0.5


def first_step_of(
    fun: Callable, t0: Any, y0: Any, t_bound: Any, max_step: Any, f0: Any, direction: Any, order: int, rtol: Any,
    atol: Any,
) -> Any:  # fmt: skip
    """A length for the first step: Hairer and others, II.4."""
    interval = abs(t_bound - t0)
    scale = atol + np.abs(y0) * rtol
    d0, d1 = rms(y0 / scale), rms(f0 / scale)
    is_small = np.logical_or(d0 < 1e-5, d1 < 1e-5)
    h0 = np.minimum(np.where(is_small, 1e-6, 0.01 * d0 / np.where(is_small, 1.0, d1)), interval)
    f1 = fun(t0 + h0 * direction, y0 + h0 * direction * f0)
    d2 = rms((f1 - f0) / scale) / h0
    is_flat = np.logical_and(d1 <= 1e-15, d2 <= 1e-15)
    largest = np.where(is_flat, 1.0, np.maximum(d1, d2))
    h1 = np.where(is_flat, np.maximum(1e-6, h0 * 1e-3), (0.01 / largest) ** (1 / (order + 1)))
    return np.minimum(np.minimum(100 * h0, h1), np.minimum(interval, max_step))[()]


def step_error(method: Tableau, slopes: Any, h: Any, scale: Any) -> Any:
    """How large the error of a step is; 1 is as large as it may be."""
    if len(method.errors) == 1:
        return rms(sum_of_slopes(method.errors[0], slopes) * h / scale)
    fifth, third = [np.sum((sum_of_slopes(weights, slopes) / scale) ** 2) for weights in method.errors]
    denominator = fifth + 0.01 * third
    is_none = denominator == 0
    return np.where(is_none, 0.0, abs(h) * fifth / np.sqrt(np.where(is_none, 1.0, denominator) * scale.size))[()]


def check_problem(t0: Any, t_bound: Any, y0: Any, t_eval: Any, atol: Any, max_step: Any, first_step: Any) -> None:
    """SciPy's errors."""
    if not np.all(np.isfinite(y0)):
        raise ValueError("All components of the initial state `y0` must be finite.")
    if np.ndim(atol) > 0 and np.shape(atol) != y0.shape:
        raise ValueError("`atol` has wrong shape.")
    if np.any(np.less(atol, 0)):
        raise ValueError("`atol` must be positive.")
    if max_step <= 0:
        raise ValueError("`max_step` must be positive.")
    if first_step is not None and first_step <= 0:
        raise ValueError("`first_step` must be positive.")
    if first_step is not None and first_step > abs(t_bound - t0):
        raise ValueError("`first_step` exceeds bounds.")
    if t_eval is None:
        return
    if np.any(t_eval < np.minimum(t0, t_bound)) or np.any(t_eval > np.maximum(t0, t_bound)):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    if np.any(np.diff(t_eval) * np.sign(t_bound - t0) <= 0):
        raise ValueError("Values in `t_eval` are not properly sorted.")


def solution(problem: Problem) -> dict[str, Any]:
    """Times `t` and the solution `y` there; how many evaluations `nfev`, the `status`, and what is asked for besides.

    Of given times there is also the solution `at_times`, (times, n), all of which an end by an event may not reach. Of
    each event there is what it has `met_at`: rows of the time and the state. `sol` is the solution at
    any time, where it is to be dense.
    """
    method, events, held = problem.method, problem.events, problem.held
    t0, t_bound, y0, t_eval = problem.t0, problem.t_bound, problem.y0, problem.t_eval
    rtol, atol, max_step = problem.rtol, problem.atol, problem.max_step

    def fun(t: Any, y: Any) -> Any:
        found = np.array(problem.function(t, y, *problem.args), float)
        return found if found.shape == y.shape else np.broadcast_to(found, y.shape)

    if t_bound == t0:
        raise ValueError("planned_ad: solve_ivp over no time at all is not traced")
    direction = np.sign(t_bound - t0)
    t, y, f = t0, y0, fun(t0, y0)
    h_abs, evaluations = problem.first_step, 1
    if problem.first_step is None:
        h_abs = first_step_of(fun, t0, y0, t_bound, max_step, f, direction, method.order, rtol, atol)
        h_abs = stop_gradient(h_abs) if held else h_abs
        evaluations = 2
    steps, count = [np.append(t0, y0)], 0
    if t_eval is not None:
        found = np.empty((len(t_eval), y.size))
    values, crossings = np.array([event_value(event, t0, y0) for event in events]), np.zeros(len(events), int)
    met_at: list[list[Any]] = [[] for _ in events]
    pieces: list[Any] = []
    is_rejected = is_too_small = is_ended = is_over = False
    while not is_over:
        min_step = 10 * np.abs(np.nextafter(t, direction * np.inf) - t)
        h_abs = np.where(is_rejected, h_abs, np.maximum(np.minimum(h_abs, max_step), min_step))[()]
        t_new = t + h_abs * direction
        t_new = np.where(direction * (t_new - t_bound) > 0, t_bound, t_new)[()]
        h = t_new - t
        slopes = [f]
        for weights, node in zip(method.stages, method.nodes):
            slopes.append(fun(t + node * h, y + sum_of_slopes(weights, slopes) * h))
        y_new = y + h * sum_of_slopes(method.weights, slopes)
        f_new = fun(t_new, y_new)
        slopes.append(f_new)
        evaluations += len(method.nodes) + 1
        error = step_error(method, slopes, h, atol + np.maximum(np.abs(y), np.abs(y_new)) * rtol)
        error = stop_gradient(error) if held else error
        scaled = 0.9 * np.where(error == 0, 1.0, error)[()] ** (-1 / (method.order + 1))
        if error < 1:
            factor = np.where(error == 0, 10.0, np.minimum(10.0, scaled))
            factor = np.where(is_rejected, np.minimum(1.0, factor), factor)[()]
            is_told = t_eval is not None and count < len(t_eval) and direction * (t_eval[count] - t_new) <= 0
            start, end, is_looked_into = (t, y, h), y_new, problem.is_dense or is_told
            if events:
                new_values = np.array([event_value(event, t_new, end) for event in events])
                met = np.array([is_crossing(*triple) for triple in zip(events, values, new_values)])
                is_looked_into = np.logical_or(is_looked_into, np.any(met))
                if np.any(met):
                    rows = rows_within(method, with_extra_slopes(method, fun, *start, slopes), y, end, h)
                    within = functools.partial(solution_within, method, rows, *start)
                    zeros = [zero_between(event, within, t, t_new, *pair) for event, *pair in zip(events, values, met)]
                    last, which, is_ended = where_it_ends(events, met, crossings, zeros, t_new, direction)
                    for k, zero in enumerate(zeros):
                        if is_before_the_end(met[k], zero, k, last, which, direction):
                            met_at[k].append(np.append(zero, within(zero)))
                    t_new, y_new = last, np.where(is_ended, within(last), end)
                values = new_values
            evaluations += len(method.extra_nodes) * is_looked_into
            if problem.is_dense or is_told:
                rows = rows_within(method, with_extra_slopes(method, fun, *start, slopes), y, end, h)
                if problem.is_dense:
                    pieces.append(piece_of(t_new, start, rows))
                while t_eval is not None and count < len(t_eval) and direction * (t_eval[count] - t_new) <= 0:
                    found[count] = solution_within(method, rows, *start, t_eval[count])
                    count += 1
            if t_eval is None:
                steps.append(np.append(t_new, y_new))
            t, y, f, is_rejected = t_new, y_new, f_new, False
        else:
            factor = np.where(scaled > 0.2, scaled, 0.2)[()]
            is_rejected, is_too_small = True, np.abs(h) * factor < min_step
        h_abs = (stop_gradient(np.abs(h)) if held else np.abs(h)) * factor
        is_over = np.logical_or(np.logical_or(is_too_small, is_ended), direction * (t - t_bound) >= 0)
    told: dict[str, Any] = {"nfev": evaluations, "is_too_small": is_too_small, "is_ended": is_ended}
    told |= {"met_at": [np.array(rows) for rows in met_at]}
    told |= {"sol": DenseSolution(method, np.array(pieces), direction, y.size) if problem.is_dense else None}
    if t_eval is None:
        ends = np.array(steps)
        return told | {"t": ends[:, 0], "y": ends[:, 1:].T}
    return told | {"t": t_eval[:count], "y": found[:count].T, "at_times": found}
