"""SciPy's solvers of equations, of minima and of integrals, where the function that they are given is traced.

SciPy's own code solves, on plain numbers, when the plan runs: `explain().fallbacks` names it. The derivative is that of
the implicit function theorem: some steps of Newton's method from the solution, which is constant for them, move it by
nothing; the first gives the first derivative, and each further one doubles how many orders are right.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..custom.native_rules import OpaqueFunction
from ..errors import UnsupportedError
from ..tracing.complex.complex_scalar import ComplexScalar
from ..tracing.complex.complex_tracer import ComplexTracer
from ..tracing.record.dispatch import CALLERS
from ..tracing.record.recorder import Recorder
from .callback_changes import refused_where_it_matters
from .derivatives import Gradient, Jacobian, Pushforward
from .plain_functions import PlainFunctions
from .solver_results import WhatIsKnown
from .transformed import like

NEWTON_STEPS = 3  # of Newton's method: derivatives up to the seventh


def calls(
    module: str,
    *names: str,
    applies: Callable[[Any, Any], bool] | None = None,
    in_loops: Callable[[Any, Any], bool] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have the decorated `(recorder, name, *args, **kwargs)` stand for functions of SciPy that call functions.

    Where `applies(args, kwargs)` is false, their own code is traced; where `in_loops(args, kwargs)` is true, the loops
    around are recorded.
    """

    def register(implementation: Callable[..., Any]) -> Callable[..., Any]:
        def implemented(recorder: Recorder, name: str, *args: Any, **kwargs: Any) -> Any:
            if in_loops is not None and in_loops(args, kwargs):
                return implementation(recorder, name, *args, **kwargs)
            plain = PlainFunctions(recorder)
            with recorder.left_behind.readable():
                recipe = plain.whole((args, kwargs))
            if plain.values or recorder.scopes.depth:
                with refused_where_it_matters(recorder, name):
                    return implementation(recorder, name, *args, **kwargs)
            args, kwargs = recipe(())
            return recorder.adopt(getattr(sys.modules[module], name)(*args, **kwargs))

        implemented.applies, implemented.in_loops = applies, in_loops  # type: ignore[attr-defined]
        for name in names:
            CALLERS[module, name] = implemented
        return implementation

    return register


def by_scipy(recorder: Recorder, name: str, solve: Callable[..., Any], given: Any, length: int) -> Any:
    """`solve(*given)`, some numbers in an array, when the plan runs."""
    plain = PlainFunctions(recorder)
    recipe = plain.whole(given)

    def run(*numbers: np.ndarray) -> np.ndarray:
        return np.asarray(solve(*recipe(numbers)), float)

    run.__name__ = run.__qualname__ = name
    run.__module__ = "planned_ad.functional.solvers"
    operands = [held(recorder, recorder.array(value)) for value in plain.values]
    return held(recorder, OpaqueFunction(run, lambda *numbers: np.zeros(length))(*operands))


def held(recorder: Recorder, x: Any) -> Any:
    """`x`, constant for derivatives."""
    if isinstance(x, ComplexTracer | ComplexScalar):
        return held(recorder, x.real) + 1j * held(recorder, x.imag)
    if not recorder.is_array(x) and not recorder.is_scalar(x):
        return x
    return like(recorder, x, recorder.apply("stop_gradient", recorder.value_of(x)))


@contextlib.contextmanager
def checked_still(recorder: Recorder) -> Iterator[None]:
    """The function can run by itself, although derivatives are taken here."""
    before = recorder.unchecked
    yield
    recorder.unchecked = before


def with_derivative(
    recorder: Recorder, residual: Callable[[Any], Any], solution: Any, elementwise: bool = False
) -> Any:
    """A solution of `residual(solution) == 0` with its derivative; `elementwise` where that is an equation for each."""
    x, first, inner = held(recorder, solution), None, recorder.namespace.closure(residual)
    with checked_still(recorder):
        for _ in range(NEWTON_STEPS):
            if np.ndim(x) and not elementwise:
                x = x - np.linalg.solve(Jacobian(inner, 0, False)(x), residual(x))
            else:
                value, slope = Pushforward(inner, 0, False)(x, x * 0 + 1.0)
                x = x - value / slope
                first = value if first is None else first
    moved = x - held(recorder, x)
    if first is not None:  # where the slope is zero, as of a double root, it stays there, and has a derivative of nan
        gap = first - held(recorder, first)
        parts = np.isnan(moved), np.sqrt(gap) - np.sqrt(2.0 * gap), moved
        moved = like(recorder, moved, recorder.apply("where", *map(recorder.value_of, parts)))
    return solution + moved


def refuse_options(recorder: Recorder, name: str, options: dict[str, Any], known: Sequence[str]) -> None:
    for option in options:
        if option not in known:
            raise UnsupportedError(
                f"{recorder.here()}: the argument {option}= of {name} is not supported for traced functions; leave it "
                f"out, or call {name} in a function decorated with planned_ad.opaque"
            )


def of_first_argument(recorder: Recorder, function: Callable[..., Any], args: Any) -> Callable[[Any], Any]:
    """The user's function of its first argument, traced; arrays for lists."""
    traced = recorder.namespace.function(function)
    args = args if isinstance(args, tuple) else (args,)

    def call(x: Any) -> Any:
        found = traced(x, *args)
        return recorder.array(recorder.value_of(found)) if type(found) in (list, tuple) else found

    return call


# Roots of one equation.


@calls("scipy.optimize", "brentq", "brenth", "bisect", "ridder", "toms748")
def bracketed(recorder: Recorder, name: str, f: Any, a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    import scipy.optimize

    real = getattr(scipy.optimize, name)
    refuse_options(recorder, name, options, ("xtol", "rtol", "maxiter", "disp", "k", "full_output"))
    args = args if isinstance(args, tuple) else (args,)
    is_told = options.pop("full_output", False)

    def solve(f: Any, a: Any, b: Any, args: Any, options: Any) -> list[float]:
        return as_numbers(*real(f, a, b, args=args, full_output=True, **options))

    found = by_scipy(recorder, name, solve, (f, a, b, args, options), 4)
    root = with_derivative(recorder, of_first_argument(recorder, f, args), found[0].item())
    return (root, as_told(recorder, name, root, found)) if is_told else root


def as_numbers(root: float, result: Any) -> list[float]:
    """What a solver of one equation finds, as numbers."""
    return [root, result.converged, result.iterations, result.function_calls]


def as_told(recorder: Recorder, name: str, root: Any, found: Any) -> WhatIsKnown:
    return WhatIsKnown(
        recorder, name, root=root, converged=found[1] != 0, iterations=recorder.integer(found[2]),
        function_calls=recorder.integer(found[3]),
    )  # fmt: skip


@calls("scipy.optimize", "root_scalar")
def root_scalar(recorder: Recorder, name: str, f: Any, args: Any = (), **options: Any) -> Any:
    import scipy.optimize

    refuse_options(
        recorder, name, options, ("method", "bracket", "x0", "x1", "xtol", "rtol", "maxiter", "fprime", "fprime2")
    )
    args = args if isinstance(args, tuple) else (args,)

    def solve(f: Any, args: Any, options: Any) -> list[float]:
        result = scipy.optimize.root_scalar(f, args=args, **options)
        return as_numbers(result.root, result)

    found = by_scipy(recorder, name, solve, (f, args, options), 4)
    root = with_derivative(recorder, of_first_argument(recorder, f, args), found[0].item())
    return as_told(recorder, name, root, found)


# Systems of equations.


@calls("scipy.optimize", "fsolve")
def fsolve(recorder: Recorder, name: str, func: Any, x0: Any, args: Any = (), **options: Any) -> Any:
    import scipy.optimize

    refuse_options(
        recorder, name, options, ("fprime", "col_deriv", "xtol", "maxfev", "band", "epsfcn", "factor", "diag")
    )
    args = args if isinstance(args, tuple) else (args,)

    def solve(func: Any, x0: Any, args: Any, options: Any) -> Any:
        return scipy.optimize.fsolve(func, x0, args=args, **options)

    start = np.atleast_1d(recorder.array(recorder.value_of(x0)))
    found = by_scipy(recorder, name, solve, (func, x0, args, options), start.size)
    return with_derivative(recorder, flattened(recorder, of_first_argument(recorder, func, args)), found)


def flattened(recorder: Recorder, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """With one axis, whatever it gives."""
    return lambda x: recorder.array(recorder.value_of(function(x))).reshape(-1)


@calls("scipy.optimize", "root")
def root(recorder: Recorder, name: str, fun: Any, x0: Any, args: Any = (), **options: Any) -> Any:
    import scipy.optimize

    refuse_options(recorder, name, options, ("method", "jac", "tol", "options"))
    args = args if isinstance(args, tuple) else (args,)
    shape = np.shape(x0)

    def solve(fun: Any, x0: Any, args: Any, options: Any) -> Any:
        result = scipy.optimize.root(fun, x0, args=args, **options)
        return [*np.ravel(result.x), result.success]

    start = np.atleast_1d(recorder.array(recorder.value_of(x0)))
    found = by_scipy(recorder, name, solve, (fun, x0, args, options), start.size + 1)
    call = of_first_argument(recorder, fun, args)
    if isinstance(options.get("jac"), bool) and options["jac"]:
        both = recorder.namespace.function(fun)

        def call(x: Any) -> Any:
            return both(x, *args)[0]

    x = with_derivative(recorder, flattened(recorder, lambda x: call(x.reshape(shape) if shape else x)), found[:-1])
    x = x.reshape(shape) if shape else x
    return WhatIsKnown(recorder, name, x=x, fun=call(x), success=found[-1] != 0)


@calls("scipy.optimize", "fixed_point")
def fixed_point(recorder: Recorder, name: str, func: Any, x0: Any, args: Any = (), **options: Any) -> Any:
    import scipy.optimize

    refuse_options(recorder, name, options, ("xtol", "maxiter", "method"))
    args = args if isinstance(args, tuple) else (args,)
    shape = np.shape(x0)

    def solve(func: Any, x0: Any, args: Any, options: Any) -> Any:
        return np.ravel(scipy.optimize.fixed_point(func, x0, args=args, **options))

    size = int(np.prod(shape))
    found = by_scipy(recorder, name, solve, (func, x0, args, options), size).reshape(shape)
    call = of_first_argument(recorder, func, args)
    if not shape:
        return with_derivative(recorder, lambda x: call(x) - x, found[()])
    residual = flattened(recorder, lambda x: call(x.reshape(shape)) - x.reshape(shape))
    return with_derivative(recorder, residual, found.reshape(-1)).reshape(shape)


# Minima: where the gradient is zero.


@calls("scipy.optimize", "minimize")
def minimize(recorder: Recorder, name: str, fun: Any, x0: Any, args: Any = (), **options: Any) -> Any:
    import scipy.optimize

    refuse_options(recorder, name, options, ("method", "jac", "hess", "hessp", "tol", "options", "callback", "bounds"))
    args = args if isinstance(args, tuple) else (args,)
    shape = np.shape(x0) or (1,)
    bounds = options.get("bounds")
    if bounds is not None and options.get("method") not in (None, *ON_BOUNDS):
        raise UnsupportedError(
            f"{recorder.here()}: bounds= of {name} is supported with the methods {', '.join(ON_BOUNDS)}, whose "
            "solutions lie on the bounds that hold them"
        )

    def solve(fun: Any, x0: Any, args: Any, options: Any) -> Any:
        result = scipy.optimize.minimize(fun, x0, args=args, **options)
        counts = (result.get(name, 0) for name in ("nit", "nfev", "status"))  # not every method counts iterations
        return [*np.ravel(result.x), result.success, *counts]

    size = int(np.prod(shape))
    found = by_scipy(recorder, name, solve, (fun, x0, args, options), size + 4)
    traced = recorder.namespace.function(fun)
    pair = options.get("jac") is True

    def loss(x: Any) -> Any:
        value = traced(x.reshape(shape), *args)
        value = value[0] if pair else value
        return value.reshape(())[()] if recorder.is_array(value) else value

    if bounds is None:
        x = stationary(recorder, loss, found[:size])
    else:
        x = stationary_within(recorder, loss, found[:size], *ends_of(recorder, bounds, size))
    nit, nfev, status = (recorder.integer(number) for number in (found[-3], found[-2], found[-1]))
    call_back(recorder, options.get("callback"), shape)
    return WhatIsKnown(
        recorder, name, x=x.reshape(shape), fun=loss(x), success=found[-4] != 0, nit=nit, nfev=nfev, status=status
    )


def call_back(recorder: Recorder, callback: Any, shape: tuple[int, ...]) -> None:
    """Have `callback` change what it changes, which is refused where it is read."""
    if callback is None:
        return
    x = recorder.concrete(np.zeros(shape))
    with contextlib.suppress(Exception):
        if "intermediate_result" in inspect.signature(callback).parameters:
            callback(intermediate_result=WhatIsKnown(recorder, "minimize", x=x, fun=x[0]))
        else:
            callback(x)


def stationary(recorder: Recorder, loss: Callable[[Any], Any], solution: Any) -> Any:
    inner = recorder.namespace.closure(loss)

    def slope(x: Any) -> Any:
        with checked_still(recorder):
            return Gradient(inner, 0, False)(x)

    return with_derivative(recorder, slope, solution)


ON_BOUNDS = ("L-BFGS-B", "SLSQP", "TNC")
ROUNDING = 1e-10  # how far from a bound a number lies on it
XATOL = 1e-5  # the tolerance of bounded minimisation
MOST_XATOLS = 10.0  # of which its solution stays so many off a bound


def ends_of(recorder: Recorder, bounds: Any, size: int) -> tuple[Any, Any]:
    """The lower and the upper bounds, infinite where there are none."""
    if hasattr(bounds, "lb"):
        pair = (bounds.lb, bounds.ub)
    else:
        pairs = [(-np.inf if low is None else low, np.inf if high is None else high) for low, high in bounds]
        pair = ([low for low, _ in pairs], [high for _, high in pairs])
    return tuple(  # type: ignore[return-value]
        np.broadcast_to(recorder.array(recorder.value_of(end, np.float64)), (size,)) for end in pair
    )


def stationary_within(
    recorder: Recorder, loss: Callable[[Any], Any], solution: Any, low: Any, high: Any, short_of: float | None = None
) -> Any:
    """Where a number lies on a bound it is that; for the others the gradient is zero.

    Some methods stay `short_of` a bound: one that close, and lower beyond, is on it.
    """
    inner = recorder.namespace.closure(loss)

    def slope_at(x: Any) -> Any:
        with checked_still(recorder):
            return Gradient(inner, 0, False)(x)

    near = ROUNDING * np.maximum(1.0, np.abs(solution)) if short_of is None else short_of
    on_low, on_high = solution - low <= near, high - solution <= near
    if short_of is not None:
        falls = held(recorder, slope_at(held(recorder, solution)))
        on_low, on_high = np.logical_and(on_low, falls > 0), np.logical_and(on_high, falls < 0)

    def residual(x: Any) -> Any:
        return np.where(on_low, x - low, np.where(on_high, x - high, slope_at(x)))

    return with_derivative(recorder, residual, solution)


@calls("scipy.optimize", "minimize_scalar")
def minimize_scalar(
    recorder: Recorder, name: str, fun: Any, bracket: Any = None, bounds: Any = None, **options: Any
) -> Any:
    import scipy.optimize

    refuse_options(recorder, name, options, ("args", "method", "tol", "options"))
    args = options.pop("args", ())
    args = args if isinstance(args, tuple) else (args,)

    def solve(fun: Any, bracket: Any, bounds: Any, args: Any, options: Any) -> Any:
        result = scipy.optimize.minimize_scalar(fun, bracket, bounds, args=args, **options)
        return [result.x, result.success, result.nit]

    found = by_scipy(recorder, name, solve, (fun, bracket, bounds, args, options), 3)
    call, x = of_first_argument(recorder, fun, args), found[0].item()
    if bounds is None:
        x = stationary(recorder, call, x)
    else:
        own = options.get("options") or {}
        low, high = bounds
        x = bounded_minimum(recorder, call, x, low, high, own.get("xatol", options.get("tol")))
    return WhatIsKnown(recorder, name, x=x, fun=call(x), success=found[1] != 0, nit=recorder.integer(found[2]))


def bounded_minimum(
    recorder: Recorder, loss: Callable[[Any], Any], x: Any, low: Any, high: Any, xatol: float | None
) -> Any:
    """A minimum between bounds, of which the method stays short."""
    x = stationary_within(recorder, loss, x, low, high, short_of=(xatol or XATOL) * MOST_XATOLS)
    return x.item() if recorder.is_array(x) else x


@calls("scipy.optimize", "least_squares")
def least_squares(recorder: Recorder, name: str, fun: Any, x0: Any, **options: Any) -> Any:
    import scipy.optimize

    refuse_options(
        recorder, name, options, ("jac", "method", "ftol", "xtol", "gtol", "x_scale", "max_nfev", "args", "kwargs")
    )
    args, named = options.pop("args", ()), options.pop("kwargs", {})
    shape = np.shape(x0) or (1,)

    def solve(fun: Any, x0: Any, args: Any, named: Any, options: Any) -> Any:
        result = scipy.optimize.least_squares(fun, x0, args=args, kwargs=named, **options)
        return [*result.x, result.success]

    found = by_scipy(recorder, name, solve, (fun, x0, args, named, options), int(np.prod(shape)) + 1)
    traced = recorder.namespace.function(fun)
    residuals = flattened(recorder, lambda x: traced(x, *args, **named))

    def loss(x: Any) -> Any:
        return 0.5 * np.sum(residuals(x) ** 2)

    x = stationary(recorder, loss, found[:-1])
    return WhatIsKnown(recorder, name, x=x, fun=residuals(x), cost=loss(x), success=found[-1] != 0)


# Riccati's equations, of which a step of Newton's method is a linear equation of Lyapunov's (D. L. Kleinman, 1968).


@calls("scipy.linalg", "solve_continuous_are", "solve_discrete_are")
def riccati(
    recorder: Recorder, name: str, a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    import scipy.linalg

    real = getattr(scipy.linalg, name)

    def solve(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any) -> Any:
        return real(a, b, q, r, e, s, balanced=balanced).ravel()

    def matrix(m: Any) -> Any:
        return m if m is None else np.atleast_2d(recorder.array(recorder.value_of(m)))

    a, b, q, r, e, s = map(matrix, (a, b, q, r, e, s))
    solution = by_scipy(recorder, name, solve, (a, b, q, r, e, s), a.size).reshape(a.shape)
    if e is not None:  # the equation times the inverse of e, from the right and from the left
        a = np.linalg.solve(e.T, a.T).T
        q = np.linalg.solve(e.T, np.linalg.solve(e.T, q.T).T)
        s = s if s is None else np.linalg.solve(e.T, s)
    if s is not None:  # of the control from which that is taken which the product with s asks for
        a, q = a - b @ np.linalg.solve(r, s.T), q - s @ np.linalg.solve(r, s.T)
    continuous = name == "solve_continuous_are"
    x = solution
    for _ in range(NEWTON_STEPS):
        if continuous:
            gain = np.linalg.solve(r, b.T @ x)
            residual = a.T @ x + x @ a - x @ b @ gain + q
            x = x + recorder.call(scipy.linalg.solve_continuous_lyapunov, ((a - b @ gain).T, -residual), {})
        else:
            gain = np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a)
            residual = a.T @ x @ a - x - a.T @ x @ b @ gain + q
            x = x + recorder.call(scipy.linalg.solve_discrete_lyapunov, ((a - b @ gain).T, residual), {})
    return solution + (x - held(recorder, x))
