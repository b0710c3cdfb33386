"""`functools.singledispatch`: the code of the function that is chosen is traced, as other code of the program is."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, Protocol

from .shadows import real_class

WRAPPER = next(c for c in functools.singledispatch.__code__.co_consts if getattr(c, "co_name", "") == "wrapper")


class Dispatching(Protocol):
    """The namespace of a trace, as far as it is needed here."""

    def closure(self, f: types.FunctionType) -> Callable[..., Any]: ...

    def unshadowed(self, shadow: object) -> object: ...

    def shadow(self, obj: Any, name: str = "") -> Any: ...


def is_dispatcher(f: types.FunctionType) -> bool:
    """Whether a function calls another one, by the class of its first argument."""
    return f.__code__ is WRAPPER


def dispatcher(namespace: Dispatching, f: types.FunctionType) -> Callable[..., Any]:
    """The copy of such a function, which calls copies.

    It asks for the class as code of the program's does: of a number that is one or another, that is refused.
    """
    real: Any = f

    def dispatch(kind: Any) -> Any:
        kind = namespace.unshadowed(kind)
        return namespace.shadow(real.dispatch(real_class(kind) if isinstance(kind, type) else kind), f.__name__)

    own = {"dispatch": types.CellType(dispatch), "funcname": types.CellType(f.__name__)}
    cells = tuple(own[name] for name in WRAPPER.co_freevars)
    copy = namespace.closure(types.FunctionType(WRAPPER, functools.__dict__, f.__name__, None, cells))
    functools.update_wrapper(copy, f)
    copy.dispatch = dispatch  # type: ignore[attr-defined]
    return copy


def dispatching_method(namespace: Dispatching, method: Any) -> Any:
    """The copy of a `functools.singledispatchmethod`."""
    copy = functools.singledispatchmethod(method.func)
    copy.dispatcher = dispatcher(namespace, method.dispatcher)  # type: ignore[assignment]
    copy.func = namespace.shadow(method.func, method.func.__name__)
    return copy
