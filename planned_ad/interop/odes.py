"""SciPy's `solve_ivp` with its adjoint: derivatives of what it gives by the initial state and by parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import integrate

from ..compiling import compile
from ..errors import ArgumentError
from ..functional.plan_derivatives import active_arguments
from ..plan import Plan
from ..python.structure import Const
from .scipy import returning_array

IMPLICIT = {"Radau", "BDF", "LSODA"}


def solve_ivp(
    f: Plan | Callable[..., Any],
    t_span: Sequence[float],
    y0: Any,
    args: tuple = (),
    method: str = "RK45",
    t_eval: Any = None,
    **options: Any,
) -> Any:
    """`scipy.integrate.solve_ivp`, whose result has one method more: `adjoint`.

    Parameters
    ----------
    f : Plan or callable
        The right side `f(t, y, *args)`, an array like `y`, or a list.
    t_span, y0, args, method, t_eval
        As SciPy's. Implicit methods get the Jacobian.
    **options
        As SciPy's, apart from `events`, whose times have derivatives of their own, `dense_output`, `vectorized`, `jac`.

    Returns
    -------
    scipy.integrate.OdeResult
        `result.adjoint(dy)` is `(dy0, dargs)` for the cotangents `dy` of `result.y`, of its shape: those of `y0`, and a
        tuple of those of the active `args`. The adjoint equation `v' = -(df/dy)^T v` is solved backward from one time
        of the result to the one before, along the interpolated solution, with the same method and tolerances; these
        decide how accurate it is.

    Examples
    --------
    >>> import numpy as np
    >>> from planned_ad.interop import solve_ivp
    >>> found = solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), [1.0], (2.0,), t_eval=[1.0], rtol=1e-9, atol=1e-9)
    >>> dy0, (dk,) = found.adjoint(np.ones((1, 1)))  # of exp(-k) y0
    >>> print(dy0.round(6), round(dk, 6))
    [0.135335] -0.135335
    """
    if {"events", "vectorized", "jac", "dense_output"} & set(options):
        raise ArgumentError("solve_ivp: events, vectorized, jac and dense_output are not taken")
    y0 = np.array(y0, float)
    plan = f if isinstance(f, Plan) else compile(returning_array(f), (Const(float(t_span[0])), y0, *args), calls=())
    active = active_arguments(plan._variants[0].trace)
    if 1 not in active:
        raise ArgumentError("solve_ivp: the plan's second argument, the state, is not active")

    def pulled(t: float, y: np.ndarray, cotangent: np.ndarray) -> list[np.ndarray]:
        found = plan.pullback(float(t), plain(y), *args, cotangent=plain(cotangent))
        by_argument = dict(zip(active, found if len(active) > 1 else (found,)))
        return [by_argument[1], *(by_argument[k] for k in active if k > 1)]

    def jacobian(t: float, y: np.ndarray) -> np.ndarray:
        found = plan.jacobian(float(t), plain(y), *args)
        return found[active.index(1)] if len(active) > 1 else found

    more = {"jac": jacobian} if method in IMPLICIT else {}
    result = integrate.solve_ivp(
        lambda t, y: plan(float(t), plain(y), *args), t_span, y0, method, t_eval, True, **more, **options
    )
    result.adjoint = Adjoint(pulled, result, float(t_span[0]), y0.size, {"method": method, **options})
    return result


def plain(y: np.ndarray) -> np.ndarray:
    return np.asarray(y, float, "C")


class Adjoint:
    """The pullback of a solution."""

    def __init__(self, pulled: Callable[..., list], result: Any, start: float, size: int, options: dict[str, Any]):
        self.pulled, self.result, self.start, self.size, self.options = pulled, result, start, size, options

    def __call__(self, cotangents: Any) -> tuple[Any, tuple]:
        times, solution = self.result.t, self.result.sol
        cotangents = np.asarray(cotangents, float)
        if cotangents.shape != self.result.y.shape:
            raise ArgumentError(f"adjoint: cotangents of shape {self.result.y.shape}, not {cotangents.shape}")
        like = self.pulled(self.start, solution(self.start), np.zeros(self.size))

        def backward(t: float, state: np.ndarray) -> np.ndarray:
            found = self.pulled(t, solution(t), state[: self.size])
            return -np.concatenate([np.ravel(part) for part in found])

        state = np.zeros(sum(map(np.size, like)))
        for k in reversed(range(len(times))):
            state[: self.size] += cotangents[:, k]
            before = times[k - 1] if k else self.start
            if times[k] != before:
                found = integrate.solve_ivp(backward, (times[k], before), state, **self.options)
                if not found.success:
                    raise ArithmeticError(f"adjoint: {found.message}")
                state = found.y[:, -1].copy()
        parts = np.split(state, np.cumsum([np.size(part) for part in like])[:-1])
        shaped = [p.reshape(np.shape(part)) if np.ndim(part) else p.item() for p, part in zip(parts, like)]
        return shaped[0], tuple(shaped[1:])
