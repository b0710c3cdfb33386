"""Methods of the program's classes that Python or NumPy calls: with functions and classes as traced code has them."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

from .identity_methods import as_equality

PROTOCOLS = frozenset({"__array_ufunc__", "__array_function__"})  # which NumPy calls with functions of its own
CONVERSIONS = {"__bool__": bool, "__index__": int, "__int__": int, "__float__": float}  # Python's


def as_called(see: Callable[..., Any], name: str, method: types.FunctionType) -> types.FunctionType:
    """A method of a class as Python or NumPy calls it; most as they are."""
    if name in PROTOCOLS:
        return as_numpy_calls(see, method)
    if name == "__eq__":
        return as_equality(see, method)
    return as_python_calls(CONVERSIONS[name], method) if name in CONVERSIONS else method


def as_python_calls(kind: type, method: types.FunctionType) -> types.FunctionType:
    """A method that has to give a `bool`, say: where it is a traced one, what it is for the data at hand."""

    def called(self: Any) -> Any:
        found = method(self)
        is_traced = type(found) is not kind and isinstance(found, kind)
        return found if not is_traced else operator.index(found) if kind is int else kind(found)

    called.__name__, called.__qualname__, called.__doc__ = method.__name__, method.__qualname__, method.__doc__
    called.traced = method  # type: ignore[attr-defined]
    return called  # type: ignore[return-value]


def as_numpy_calls(see: Callable[..., Any], method: types.FunctionType) -> types.FunctionType:
    """A method that NumPy calls with one of its functions: it is handed what traced code has by the function's name."""

    def called(self: Any, function: Any, how: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(how, list | tuple):  # the classes that are concerned, of `__array_function__`
            kinds = [getattr(kind, "array_class", kind) for kind in how]
            how = tuple(dict.fromkeys(see(kind, kind.__name__) for kind in kinds if kind is not None))
        return method(self, see(function, function.__name__), how, *args, **kwargs)

    called.__name__, called.__qualname__, called.__doc__ = method.__name__, method.__qualname__, method.__doc__
    return called  # type: ignore[return-value]
