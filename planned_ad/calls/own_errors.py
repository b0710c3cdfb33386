"""Errors of the function itself, which a call raises as the function does: with numbers in them, not with tracers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..python.examples import copied_together
from .check.checked import owner_of, with_owner
from .replay import Call


def run_on_copies(f: Callable[..., Any], call: Call) -> None:
    """Run the function on copies of the arguments of a call, for the error that it raises."""
    owner, *copies = copied_together((owner_of(f), *call.trace.structure.unflatten(call.given())))
    args, kwargs = call.trace.signature.split(copies)
    with_owner(f, owner)(*args, **kwargs)
