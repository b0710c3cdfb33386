"""Least squares with bounds, linear programmes, and assignments, by SciPy when the plan runs.

Which unknowns lie on a bound is as SciPy finds it; of the others the derivative is that of the least squares that are
left (C. L. Lawson, R. J. Hanson, "Solving least squares problems", 1995, 23).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..tracing.record.recorder import Recorder
from .solver_results import WhatIsKnown
from .solvers import by_scipy, calls, ends_of, held, refuse_options


def following_free(recorder: Recorder, a: Any, b: Any, x: Any, free: Any, fixed: Any) -> Any:
    """`x`, of which the numbers that are `free` minimise `|a x - b|`, and the others are `fixed`."""
    own = a * free
    rest = b - a @ np.where(free, 0.0, fixed)
    one = np.eye(a.shape[1])
    moving = np.linalg.solve(own.T @ own + one * np.where(free, 0.0, 1.0), own.T @ rest)
    moving = np.where(free, moving, fixed)
    return x + (moving - held(recorder, moving))


def equations(recorder: Recorder, A: Any, b: Any) -> tuple[Any, Any]:
    a, b = (recorder.array(recorder.value_of(v, np.float64)) for v in (A, b))
    if a.ndim != 2 or b.ndim != 1:
        raise ValueError("least squares have a matrix and a vector")
    return a, b


@calls("scipy.optimize", "nnls")
def nnls(recorder: Recorder, name: str, A: Any, b: Any, **options: Any) -> Any:
    import scipy.optimize

    refuse_options(recorder, name, options, ("maxiter", "atol"))
    a, b = equations(recorder, A, b)
    x = by_scipy(recorder, name, lambda a, b: scipy.optimize.nnls(a, b, **options)[0], (a, b), a.shape[1])
    x = following_free(recorder, a, b, x, x > 0, 0.0)
    return x, np.linalg.norm(a @ x - b)


@calls("scipy.optimize", "lsq_linear")
def lsq_linear(
    recorder: Recorder, name: str, A: Any, b: Any, bounds: Any = (-np.inf, np.inf), **options: Any
) -> WhatIsKnown:
    import scipy.optimize

    refuse_options(recorder, name, options, ("method", "tol", "max_iter"))
    a, b = equations(recorder, A, b)
    n = a.shape[1]
    low, high = (np.broadcast_to(recorder.array(recorder.value_of(end, np.float64)), (n,)) for end in bounds)

    def solve(a: Any, b: Any, low: Any, high: Any) -> Any:
        found = scipy.optimize.lsq_linear(a, b, (low, high), **options)
        return [*found.x, *found.active_mask, found.success]

    numbers = by_scipy(recorder, name, solve, (a, b, low, high), 2 * n + 1)
    x, mask = numbers[:n], numbers[n : 2 * n]
    fixed = np.where(mask < 0, low, np.where(mask > 0, high, 0.0))
    x = following_free(recorder, a, b, x, mask == 0, fixed)
    residual = a @ x - b
    return WhatIsKnown(
        recorder, name, x=x, fun=residual, cost=0.5 * residual @ residual, active_mask=mask.astype(int),
        success=numbers[-1] != 0,
    )  # fmt: skip


@calls("scipy.optimize", "linear_sum_assignment")
def linear_sum_assignment(recorder: Recorder, name: str, cost_matrix: Any, maximize: bool = False) -> Any:
    """Indices: they have no derivative."""
    import scipy.optimize

    cost = recorder.array(recorder.value_of(cost_matrix, np.float64))
    if cost.ndim != 2:
        raise UnsupportedError(f"{recorder.here()}: {name} of an array with {cost.ndim} axes; it takes a matrix")
    count = min(cost.shape)

    def solve(cost: Any) -> Any:
        return np.concatenate(scipy.optimize.linear_sum_assignment(cost, maximize))

    found = by_scipy(recorder, name, solve, (cost,), 2 * count).astype(np.int64)
    return found[:count], found[count:]


NEAR = 1e-8  # of what a constraint that holds the solution may be off, relative to its numbers


@calls("scipy.optimize", "linprog")
def linprog(
    recorder: Recorder, name: str, c: Any, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None,
    bounds: Any = (0, None), **options: Any,
) -> WhatIsKnown:  # fmt: skip
    """The vertex that SciPy finds solves the equations of the constraints that hold it: as many as unknowns.

    At a degenerate vertex more hold it, and on an edge of solutions fewer: there is no derivative, and an error. Where
    several vertices are best, it is that which SciPy finds. The cost decides only which vertex it is.
    """
    import scipy.optimize

    refuse_options(recorder, name, options, ("method", "options"))
    cost = recorder.array(recorder.value_of(c, np.float64)).reshape(-1)
    n = cost.size
    if bounds is None or (len(bounds) == 2 and all(np.ndim(end) == 0 for end in bounds)):
        bounds = [bounds or (0, None)] * n
    low, high = ends_of(recorder, bounds, n)

    def constraints(a: Any, b: Any) -> tuple[Any, Any]:
        if a is None:
            return np.zeros((0, n)), np.zeros(0)
        a, b = (recorder.array(recorder.value_of(part, np.float64)) for part in (a, b))
        return a.reshape(-1, n), b.reshape(-1)

    (upper, most), (equal, wanted) = constraints(A_ub, b_ub), constraints(A_eq, b_eq)
    one = np.eye(n)
    stacks = np.concatenate([equal, upper, one, one]), np.concatenate([wanted, most, low, high])
    rows, ends = (recorder.array(recorder.value_of(stack)) for stack in stacks)
    count = len(equal)

    def solve(cost: Any, rows: Any, ends: Any) -> Any:
        first, last = slice(0, count), slice(count, len(ends) - 2 * n)
        limits = np.stack([ends[-2 * n : -n], ends[-n:]], axis=1)
        found = scipy.optimize.linprog(cost, rows[last], ends[last], rows[first], ends[first], limits, **options)
        if found.status != 0:
            raise np.linalg.LinAlgError(f"scipy.optimize.linprog finds no solution: {found.message}")
        finite = np.isfinite(ends)
        off = np.abs(rows @ found.x - np.where(finite, ends, 0.0))
        holding = np.flatnonzero(finite & (off <= NEAR * (1 + np.abs(ends))))
        if len(holding) != n or np.linalg.matrix_rank(rows[holding]) < n:
            raise np.linalg.LinAlgError(
                f"scipy.optimize.linprog: {len(holding)} constraints hold the solution, of {n} unknowns: at a "
                "degenerate vertex or on an edge of solutions there is no derivative"
            )
        return [*found.x, *holding, found.nit]

    numbers = by_scipy(recorder, name, solve, (cost, rows, ends), 2 * n + 1)
    places = numbers[n : 2 * n].astype(np.int64)
    moving = np.linalg.solve(rows[places], ends[places])
    x = numbers[:n] + (moving - held(recorder, moving))
    return WhatIsKnown(
        recorder, name, x=x, fun=cost @ x, slack=most - upper @ x, con=wanted - equal @ x,
        success=True, status=0, nit=recorder.integer(numbers[-1]),
    )  # fmt: skip
