"""The derivative of a solution of an initial value problem whose steps are known, by an implicit Runge-Kutta method.

A solver has found the steps and, within each, the solution at the nodes of Radau IIA of order five; for stiff equations
no explicit method would do with these steps. Each step is the solution of the method's equations, as functions of the
state at its beginning: Newton's method gets there from what was found, and its last iterations have the derivatives of
an implicit function (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, IV.5 and IV.8). A step begins at
the state that the solver had found, so that derivatives are those along its solution.

It is ordinary Python, traced as the user's is: one loop over the steps.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .transforms import jacobian, stop_gradient

ROOT = 6**0.5
NODES = ((4 - ROOT) / 10, (4 + ROOT) / 10, 1.0)
WEIGHTS = np.array(
    [
        [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
        [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
        [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
    ]
)
BETWEEN = np.array(
    [
        [(13 + 7 * ROOT) / 3, (13 - 7 * ROOT) / 3, 1 / 3],
        [(-23 - 22 * ROOT) / 3, (-23 + 22 * ROOT) / 3, -8 / 3],
        [(10 + 15 * ROOT) / 3, (10 - 15 * ROOT) / 3, 10 / 3],
    ]
)  # of the powers of the place in a step, by the differences at the nodes


def newton_step(fun: Callable, t: Any, h: Any, y: Any, gaps: Any) -> Any:
    """Better differences between the solution at the nodes and `y`, shape (3, n)."""
    size = y.size
    slopes, system = [], np.empty((3 * size, 3 * size))
    for k, node in enumerate(NODES):
        slopes.append(fun(t + node * h, y + gaps[k]))
        matrix = h * jacobian(lambda state, time: fun(time, state))(y + gaps[k], t + node * h)
        for j in range(3):
            block = np.eye(size) - WEIGHTS[j, k] * matrix if j == k else -WEIGHTS[j, k] * matrix
            system[j * size : (j + 1) * size, k * size : (k + 1) * size] = block
    residual = gaps - h * (WEIGHTS @ np.stack(slopes))
    return gaps - np.linalg.solve(system, residual.reshape(-1)).reshape(3, size)


def solution_along(
    function: Callable, args: Any, t0: Any, t_bound: Any, y0: Any, grid: Any, states: Any, steps: Any, t_eval: Any
) -> tuple[Any, Any]:
    """Times, and the solution at each of them, shape (times, n): at `t_eval`, or at the ends of the steps.

    Parameters
    ----------
    function : callable
        Of time, state and `args`.
    args : tuple
    t0, t_bound : float
        The ends of the first and of the last step.
    y0 : array (n,)
    grid : array
        The ends of the steps, and whatever behind them.
    states : array (at least `steps`, 3, n)
        The solution at the nodes of each step.
    steps : int
        How many there are.
    t_eval : array (times,) or None
    """

    def fun(t: Any, y: Any) -> Any:
        found = np.array(function(t, y, *args), float)
        return found if found.shape == y.shape else np.broadcast_to(found, y.shape)

    direction = np.sign(t_bound - t0)
    ends, k, count = [np.append(t0, y0)], 0, 0
    if t_eval is not None:
        at_times = np.empty((len(t_eval), y0.size))
    t, y = t0, y0
    while k < steps:
        t_new = np.where(k == steps - 1, t_bound, grid[k + 1])[()]
        h = t_new - t
        gaps = stop_gradient(states[k] - y)
        gaps = stop_gradient(newton_step(fun, stop_gradient(t), stop_gradient(h), stop_gradient(y), gaps))
        gaps = newton_step(fun, t, h, y, gaps)
        gaps = newton_step(fun, t, h, y, gaps)
        y_new = y + gaps[2]
        y_new = states[k, 2] + (y_new - stop_gradient(y_new))
        if t_eval is None:
            ends.append(np.append(t_new, y_new))
        else:
            powers = BETWEEN @ gaps
            while count < len(t_eval) and direction * (t_eval[count] - t_new) <= 0:
                x = (t_eval[count] - t) / h
                at_times[count] = y + x * (powers[0] + x * (powers[1] + x * powers[2]))
                count += 1
        t, y, k = t_new, y_new, k + 1
    if t_eval is None:
        rows = np.array(ends)
        return rows[:, 0], rows[:, 1:]
    return t_eval, at_times
