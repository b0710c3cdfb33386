"""SciPy's solvers of many equations of one unknown each, `newton`, `find_root`, `find_minimum`, as those of `solvers`.

The Jacobian of such equations is diagonal: one tangent along ones has all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..tracing.record.recorder import Recorder
from .derivatives import Pushforward
from .solver_results import WhatIsKnown
from .solvers import by_scipy, calls, checked_still, of_first_argument, refuse_options, with_derivative


class Roots(NamedTuple):
    """What `newton` returns with `full_output`."""

    root: Any
    converged: Any
    zero_der: Any


@calls("scipy.optimize", "newton")
def newton(
    recorder: Recorder, name: str, func: Any, x0: Any, fprime: Any = None, args: Any = (), **options: Any
) -> Any:
    import scipy.optimize

    refuse_options(recorder, name, options, ("tol", "maxiter", "fprime2", "x1", "rtol", "full_output", "disp"))
    args = tuple(args)
    shape = np.shape(x0)
    size = int(np.prod(shape))
    full = bool(options.pop("full_output", False))

    def solve(func: Any, x0: Any, fprime: Any, args: Any, options: Any) -> Any:
        x, *told = scipy.optimize.newton(func, x0, fprime, args, full_output=True, **options)
        if size > 1:
            return np.concatenate([np.ravel(part) for part in (x, *told)])
        return [*np.ravel(x), told[0].converged, told[0].iterations, told[0].function_calls]

    found = by_scipy(recorder, name, solve, (func, x0, fprime, args, options), 3 * size if size > 1 else size + 3)
    residual = of_first_argument(recorder, func, args)
    root = with_derivative(recorder, residual, shaped(found[:size], shape), elementwise=True)
    if not full:
        return root
    if size > 1:
        return Roots(root, *(shaped(found[size * k : size * (k + 1)] != 0, shape) for k in (1, 2)))
    known = WhatIsKnown(
        recorder, name, root=root, converged=found[-3] != 0, iterations=recorder.integer(found[-2]),
        function_calls=recorder.integer(found[-1]),
    )  # fmt: skip
    return root, known


def shaped(x: Any, shape: tuple[int, ...]) -> Any:
    return x.reshape(shape) if shape else x[0]


@calls("scipy.optimize.elementwise", "find_root", "find_minimum")
def within_brackets(recorder: Recorder, name: str, f: Any, init: Any, args: Any = (), **options: Any) -> Any:
    import scipy.optimize.elementwise

    real = getattr(scipy.optimize.elementwise, name)
    refuse_options(recorder, name, options, ("tolerances", "maxiter"))
    args = args if isinstance(args, tuple) else (args,)
    shape = np.broadcast_shapes(*(np.shape(given) for given in (*init, *args)))
    size = int(np.prod(shape))

    def solve(f: Any, init: Any, args: Any, options: Any) -> Any:
        found = real(f, init, args=args, **options)
        parts = (found.x, found.success, found.status, found.nit, found.nfev)
        return np.concatenate([np.ravel(part) for part in parts])

    found = by_scipy(recorder, name, solve, (f, init, args, options), 5 * size)
    x, success, status, nit, nfev = (shaped(found[size * k : size * (k + 1)], shape) for k in range(5))
    call = of_first_argument(recorder, f, args)
    x = with_derivative(recorder, slope_of(recorder, call) if name == "find_minimum" else call, x, elementwise=True)
    return WhatIsKnown(
        recorder, name, x=x, f_x=call(x), success=success != 0, status=recorder.integer(status),
        nit=recorder.integer(nit), nfev=recorder.integer(nfev),
    )  # fmt: skip


def slope_of(recorder: Recorder, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The derivative of each element by its own element of the argument."""
    inner = recorder.namespace.closure(function)

    def slope(x: Any) -> Any:
        with checked_still(recorder):
            return Pushforward(inner, 0, False)(x, x * 0 + 1.0)[1]

    return slope
