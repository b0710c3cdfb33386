"""Whether what stands in for a value that cannot be told may be read in a way that it does not notice."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from ...python.liveness import asks_for_any_class, asks_for_class, catches_anywhere, may_be_read
from ..record.lost_variables import Lost
from ..values.identity import asks
from ..values.scalar_tracer import ScalarTracer
from .held import taken_apart
from .state import Place


def unnoticed(values: Iterable[tuple[Place, Any]], after_loop: bool | None = None) -> str:
    """The name of such a variable, among those that are about to be written; empty where there is none.

    Of variables of a running function, the code is asked; what else holds something is read from anywhere.
    """
    for place, value in values:
        if (has_lost(value) or is_truth_asked_for(place, value)) and may_be_reached(place, after_loop):
            return place.name
    return ""


def is_truth_asked_for(place: Place, value: Any) -> bool:
    """Whether it is a Python truth, which is known when the plan runs, in code that asks whether one `is True`."""
    is_truth = type(value) is ScalarTracer and value.is_python and value.dtype.kind == "b"
    return is_truth and place.kind == "local" and asks(place.owner.f_code)


def is_asked_for_class(place: Place, frames: Iterable[types.FrameType] = ()) -> bool:
    """Whether the code whose variable this is, or of these functions, asks of which class it is, or catches what only
    those of Python raise.
    """
    if place.kind != "local":
        return any(asks_for_any_class(frame.f_code) for frame in frames)
    code = place.owner.f_code
    return asks_for_class(code, place.key) or catches_anywhere(code, ZeroDivisionError)


def may_be_reached(place: Place, after_loop: bool | None) -> bool:
    if place.kind == "local":
        return may_be_read(place.owner, place.key, after_loop)
    return not type(place.owner).__module__.startswith("planned_ad.")  # what is ours knows stand-ins


def has_lost(value: Any) -> bool:
    if type(value) is Lost:
        return True
    parts = taken_apart(value)
    return parts is not None and any(map(has_lost, parts[2]))
