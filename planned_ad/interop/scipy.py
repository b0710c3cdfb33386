"""SciPy's `minimize`, `least_squares` and `root` with the derivatives of a plan."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from ..compiling import compile
from ..errors import ArgumentError
from ..functional.plan_derivatives import active_arguments
from ..plan import Plan
from ..python.structure import Const

WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
WITH_HESSIAN = {"dogleg", "trust-exact"}
WITH_JACOBIAN = {"hybr", "lm"}


def minimize(f: Plan | Callable[..., Any], x0: Any, args: Any = (), method: str | None = None, **options: Any) -> Any:
    """`scipy.optimize.minimize` with the gradient, and what the method takes of the Hessian.

    Parameters
    ----------
    f : Plan or callable
        The loss, a function of `(x, *args)`; a plan has `x` as its only active argument.
    x0 : array
        Of any shape; so is `x`, and the result's `x` has one dimension, as SciPy has it.
    args : tuple
        Constant; what is no tuple is one argument, as SciPy has it.
    method, **options
        As SciPy's: `bounds`, `tol`, `options`, ...

    Examples
    --------
    >>> import numpy as np
    >>> from planned_ad.interop import minimize
    >>> minimize(lambda x, a: np.sum(np.cosh(x - a)), np.zeros(2), (3.0,), method="trust-ncg").x.round(2)
    array([3., 3.])
    """
    plan, x0, args, shaped = planned("minimize", f, x0, args, options)
    name = str(method).lower()
    if name in WITHOUT_GRADIENT:
        return optimize.minimize(lambda x: plan(shaped(x), *args), x0, method=method, **options)
    if name in WITH_PRODUCTS and "hess" not in options:
        options["hessp"] = lambda x, v: plan.hvp(shaped(x), *args, shaped(v)).reshape(-1)
    if name in WITH_HESSIAN:
        options.setdefault("hess", lambda x: plan.hessian(shaped(x), *args).reshape(x.size, x.size))

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = plan.value_and_gradient(shaped(x), *args)
        return value, gradient.reshape(-1)

    return optimize.minimize(value_and_gradient, x0, jac=True, method=method, **options)


def least_squares(f: Plan | Callable[..., Any], x0: Any, args: Any = (), sparse: bool = False, **options: Any) -> Any:
    """`scipy.optimize.least_squares` with the Jacobian of the residuals, `sparse` where their pattern is.

    Parameters as for `minimize`; `f` may return a list.
    """
    plan, x0, args, shaped = planned("least_squares", returning_array(f), x0, args, options)
    fun, jac = residuals(plan, args, shaped, sparse)
    return optimize.least_squares(fun, x0, jac=jac, **options)


def root(f: Plan | Callable[..., Any], x0: Any, args: Any = (), method: str = "hybr", **options: Any) -> Any:
    """`scipy.optimize.root` with the Jacobian, where the method takes one.

    Parameters as for `minimize`; `f` may return a list.
    """
    plan, x0, args, shaped = planned("root", returning_array(f), x0, args, options)
    fun, jac = residuals(plan, args, shaped, False)
    if method in WITH_JACOBIAN:
        options["jac"] = jac
    return optimize.root(fun, x0, method=method, **options)


def returning_array(f: Plan | Callable[..., Any]) -> Plan | Callable[..., Any]:
    """The function with an array for each list or tuple that it returns, as SciPy takes them."""
    return f if isinstance(f, Plan) else functools.wraps(f)(lambda *args: np.asarray(f(*args)))


def planned(
    caller: str, f: Plan | Callable[..., Any], x0: Any, args: Any, options: dict[str, Any]
) -> tuple[Plan, np.ndarray, tuple, Callable]:
    """A plan, where to begin, the other arguments, and what gives SciPy's vectors the shape of the argument."""
    if "jac" in options:
        raise ArgumentError(f"{caller}: jac is the plan's; with another one, call SciPy's own {caller}")
    args = args if isinstance(args, tuple) else (args,)
    x0 = np.array(x0, float)
    shape = x0.shape
    plan = f if isinstance(f, Plan) else compile(f, (x0, *map(Const, args)), calls=())
    if active_arguments(plan._variants[0].trace) != [0]:
        raise ArgumentError(f"{caller}: the plan's only active argument is the first; wrap others in planned_ad.Const")
    return plan, x0.reshape(-1), args, lambda x: np.asarray(x, float, "C").reshape(shape)


def residuals(plan: Plan, args: tuple, shaped: Callable, sparse: bool) -> tuple[Callable, Callable]:
    """The residuals as a vector, and their Jacobian as a matrix; new arrays at each call, since SciPy keeps some."""

    def fun(x: np.ndarray) -> np.ndarray:
        return np.reshape(plan(shaped(x), *args), -1)

    def jac(x: np.ndarray) -> Any:
        found = plan.jacobian(shaped(x), *args, sparse=sparse)
        return found if sparse else found.reshape(-1, x.size)

    return fun, jac
