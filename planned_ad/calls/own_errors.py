"""Errors of the function itself, which a call raises as the function does: with numbers in them, not with tracers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..python.examples import copied_together
from ..python.made import MadeOf
from ..trace import trace
from ..tracing.record.scopes import Decisions
from .check.checked import owner_of, with_owner
from .replay import Call


def run_on_copies(f: Callable[..., Any], call: Call) -> None:
    """Run the function on copies of the arguments of a call, for the error that it raises.

    A derivative would make this call again: its function is run, where that takes the same arguments, or it is traced
    so that it raises.
    """
    while isinstance(f, MadeOf) and f.passes_on:
        f = f.__wrapped__
    if isinstance(f, MadeOf):
        args, kwargs = call.example()
        trace(f, args, kwargs, decisions=Decisions(raises=True))
        return
    owner, *copies = copied_together((owner_of(f), *call.trace.structure.unflatten(call.given())))
    args, kwargs = call.trace.signature.split(copies)
    with_owner(f, owner)(*args, **kwargs)
