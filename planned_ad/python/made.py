"""Callables that this package makes of a user's function, such as `planned_ad.grad(f)`."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any


class MadeOf:
    """What it does depends on the function that it is made of, `__wrapped__`, on its class, and on what it was told.

    `is_pure`: tracing it leaves nothing behind that its calls need.
    """

    __wrapped__: Callable[..., Any]
    is_pure = True

    def calls(self, args: tuple, kwargs: dict[str, Any]) -> Iterator[tuple[tuple, dict[str, Any]]]:
        """The arguments with which it would call the function, for arguments of its own."""
        yield args, kwargs

    def made_of(self, function: Callable[..., Any]) -> MadeOf:
        """The same of another function."""
        raise NotImplementedError

    def told(self) -> dict[str, Any]:
        """What it was told, by name."""
        raise NotImplementedError


STANDS_FOR = "__planned_ad_stands_for__"


def function_behind(f: Any) -> Any:
    """The library's function that a function which traced code sees stands for; any other is itself."""
    return vars(f).get(STANDS_FOR, f) if type(f) is types.FunctionType else f


def first_function(f: Any) -> Any:
    """The user's function behind a callable."""
    while isinstance(f, MadeOf):
        f = f.__wrapped__
    return f


def first_call(
    f: Callable[..., Any], args: tuple, kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple, dict[str, Any]] | None:
    """The user's function behind a callable and the arguments of its first call; None where it would not be called."""
    while isinstance(f, MadeOf):
        found = next(f.calls(args, kwargs), None)
        if found is None:
            return None
        (args, kwargs), f = found, f.__wrapped__
    return f, args, kwargs
