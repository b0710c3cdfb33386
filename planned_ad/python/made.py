"""Callables that this package makes of a user's function, such as `planned_ad.grad(f)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class MadeOf:
    """What it does depends on the function that it is made of, `__wrapped__`, on its class, and on what it was told.

    `is_pure`: tracing it leaves nothing behind that its calls need. `passes_on`: its arguments are the function's.
    """

    __wrapped__: Callable[..., Any]
    is_pure = True
    passes_on = False

    def told(self) -> dict[str, Any]:
        """What it was told, by name."""
        raise NotImplementedError


def first_function(f: Any) -> Any:
    """The user's function behind a callable."""
    while isinstance(f, MadeOf):
        f = f.__wrapped__
    return f
