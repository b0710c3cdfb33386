"""Which of our functions stands for which NumPy or SciPy function while tracing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

# From a NumPy or SciPy function to `implementation(recorder, *args, **kwargs)`.
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}

# Of functions of SciPy that call what they are given, by module and name: `implementation(recorder, name, *args)`.
# It runs whether or not an argument is traced, since what a function closes over may be.
CALLERS: dict[tuple[str, str], Callable[..., Any]] = {}

# Those that write to an argument: recorded even where every operand is a known number.
WRITING = frozenset({np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal})


# Of ufuncs that have a function for it, what stands for their methods `reduce` and `accumulate`, by name.
WITH_FUNCTION: dict[str, dict[np.ufunc, Callable[..., Any]]] = {"reduce": {}, "accumulate": {}}

# What stands for the methods of any ufunc, by name: `(recorder, ufunc, array, options)`.
METHODS: dict[str, Callable[..., Any]] = {}


class Handler(Protocol):
    """How what meets a kind of its own of arrays is recorded."""

    get: Callable[[Any, Any], Any]  # `array[key]`
    put: Callable[[Any, Any, Any], None]  # `array[key] = value`

    def call(self, recorder: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of NumPy."""

    def ufunc(self, recorder: Any, ufunc: np.ufunc, method: str, operands: tuple[Any, ...], options: Any) -> Any:
        """A ufunc or one of its methods."""


# From the type of a traced array to how it is handled, where that is not as of ordinary arrays.
HANDLERS: dict[type, Handler] = {}


# What makes stand-ins for objects of libraries, `(recorder, object, name)`; None for what it does not know.
MADE_HERE = "(made here)"  # the name of what a function of a library has made of known numbers
STAND_INS: list[Callable[[Any, Any, str], object | None]] = []


def standing_in(recorder: Any, obj: Any, name: str = "") -> object | None:
    """What traced code sees in place of an object of a library; None where that is the object."""
    return next((found for make in STAND_INS if (found := make(recorder, obj, name)) is not None), None)


def handler_of(items: Iterable[Any]) -> Handler | None:
    """What handles a call with these arguments, or items of lists and tuples among them."""
    for item in items:
        kind = type(item)
        if kind is np.ndarray or kind is np.dtype:
            kind = (item if kind is np.dtype else item.dtype).type
        found = handler_of(item) if kind is list or kind is tuple else HANDLERS.get(kind)
        if found is not None:
            return found
    return None


def implements(function: Callable[..., Any]) -> Callable[[F], F]:
    """Register the decorated `(recorder, *args, **kwargs)` as what runs in place of `function` on traced values.

    It is called when an argument, or an item of a list or tuple among the arguments, is traced and not a known number.
    """

    def register(implementation: F) -> F:
        FUNCTIONS[function] = implementation
        return implementation

    return register
