"""Errors of the function itself, which a call raises as the function does: with numbers in them, not with tracers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..python.examples import copied_together
from ..python.made import MadeOf
from .check.checked import owner_of, with_owner
from .replay import Call


def run_on_copies(f: Callable[..., Any], call: Call) -> None:
    """Run the function on copies of the arguments of a call, for the error that it raises."""
    owner, *copies = copied_together((owner_of(f), *call.trace.structure.unflatten(call.given())))
    args, kwargs = call.trace.signature.split(copies)
    run(with_owner(f, owner), args, kwargs)


def run(f: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> None:
    """Run a function; of one that is made of another, that one."""
    if not isinstance(f, MadeOf):
        f(*args, **kwargs)
        return
    for own, named in f.calls(args, kwargs):
        run(f.__wrapped__, own, named)
