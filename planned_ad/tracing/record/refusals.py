"""The error for a function without a rule: its name, the line, what to write instead, and how to take it as it is."""

from __future__ import annotations

import inspect
import sys
import traceback
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.library_names import library_call, public_name
from ...python.shadows import is_user_frame
from .recording import Recording

# By how the name begins.
INSTEAD = {
    "numpy.ma.": "Keep the data and its mask in two arrays, and select with numpy.where(mask, 0.0, data)",
    "numpy.matrix": "Use a plain two-dimensional array, with @ for products",
    "scipy.integrate.solve_ivp": "Choose one of the methods that are Python code: RK45, RK23, DOP853, Radau, BDF",
    "scipy.integrate.ode": "Call scipy.integrate.solve_ivp or odeint, whose derivatives are known",
    "scipy.integrate.complex_ode": "Call scipy.integrate.solve_ivp, whose derivative is known",
    "scipy.integrate.solve_bvp": "Solve the equations at the nodes by scipy.optimize.root, whose derivative is known",
    "scipy.integrate.": "Sum over the nodes of numpy.polynomial.legendre.leggauss(n), which are constants",
    "scipy.interpolate.": "Where the places are fixed, it is linear in the values: make its matrix outside, from the "
    "rows of numpy.eye(n)",
    "scipy.optimize.": "Iterate in the function itself, or give the solution its derivative, which the implicit "
    "function theorem tells without the iterations",
    "scipy.sparse.": "Multiply by A.toarray(), or have the product and its derivative A.T @ cotangent as they are",
}
ARRAY_PROTOCOLS = (  # which classes of arrays take into their own hands
    "__array_ufunc__", "__array_function__", "__array_wrap__", "__array_prepare__", "__array__", "__getattribute__",
)  # fmt: skip
GENERAL = "Write it with functions that have one (docs/supported.md), or pass its result as an argument"
CALLBACKS = "f", "fun", "func"  # parameters that are functions, which may know traced values
DRAWN = "x", "y", "z", "t"  # parameters of ufuncs

# What no function of NumPy's raises of numbers, and the program may take for an error of its own.
MISTAKES = (AssertionError, AttributeError, NameError, RecursionError)


def is_mistake(error: BaseException) -> bool:
    """Whether it is one of these, and does not come from a function of the program's that NumPy has called."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return isinstance(error, MISTAKES) and not any(map(is_user_frame, frames))


def no_rule(recorder: Recording, function: Any) -> UnsupportedError:
    """The error for a function (or what it is called) that traced values have been given to."""
    name = public_name(function)
    outer, called = library_call(sys._getframe(1))
    if outer and outer != name:
        return _refused(recorder, outer, called, f" calls {name}, which has no rule for traced values")
    return _refused(recorder, name, called or function, " has no rule for traced values")


def untraced(recorder: Recording, of: Any) -> UnsupportedError | None:
    """The error for a library function that asks a traced value for its number; None where none is running."""
    name, called = library_call(sys._getframe(1))
    if not name:
        return None
    if isinstance(called, type) and issubclass(called, np.ndarray):  # where it makes one
        return UnsupportedError(f"{recorder.here()}: makes a {subclass_instead(called)}")
    shape = f" of shape {of.shape}" if of.shape else ""
    why = f" has no rule for traced values, and is not traced: it asks for the numbers of a {of.dtype} value{shape}"
    return _refused(recorder, name, called, why)


def _refused(recorder: Recording, name: str, function: Any, why: str) -> UnsupportedError:
    instead = next((text for start, text in INSTEAD.items() if name.startswith(start)), GENERAL)
    return UnsupportedError(
        f"{recorder.here()}: {name}{why}. {instead}; or have plans call it as it is:\n\n{taken(name, function)}"
    )


def subclass_instead(kind: type, name: str = "x") -> str:
    """What to write in place of an array `name` of a subclass of `numpy.ndarray`: its code is not traced."""
    bodies = [vars(base) for base in kind.__mro__[: kind.__mro__.index(np.ndarray)]]
    taken = next((f" (it has {name})" for name in ARRAY_PROTOCOLS if any(name in body for body in bodies)), "")
    what = f"{public_name(kind)}, a subclass of numpy.ndarray, whose behaviour is not traced{taken}"
    if issubclass(kind, np.ma.MaskedArray):
        return f"{what}; pass its data and its mask as two arrays, and select with numpy.where(mask, 0.0, data)"
    if issubclass(kind, np.matrix):
        return f"{what}; pass a plain array, numpy.asarray({name}), and write products with @"
    return f"{what}; pass a plain array, numpy.asarray({name}), and what it carries besides as arguments of their own"


def taken(name: str, function: Any) -> str:
    """How `opaque` takes a function, in three lines."""
    short, parameters = name.rpartition(".")[2], ", ".join(_parameters(function))
    first = parameters.partition(",")[0]
    call = f"{name}({parameters})"
    is_method = function is None and not hasattr(sys.modules.get(name.rpartition(".")[0]), short)
    if is_method or first in CALLBACKS:
        short, parameters, first, call = "function", "x", "x", "..."
    return (
        f'    @planned_ad.opaque(result=lambda {parameters}: {first}, derivative="differences")\n'
        f"    def {short}({parameters}):\n"
        f"        return {call}\n\n"
        f"where result= gives something of the shape and dtype of the result. Finite differences are a stopgap, which "
        f"explain() names: a derivative of its own is written under @{short}.vjp; planned_ad.custom_rule takes a "
        f"function of NumPy code with one."
    )


def _parameters(function: Any) -> tuple[str, ...]:
    """The names of what a function has to be given."""
    if isinstance(function, np.ufunc):
        return DRAWN[: function.nin]
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return DRAWN[:1]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = tuple(p.name for p in found if p.kind in positional and p.default is p.empty)
    return names or DRAWN[:1]
