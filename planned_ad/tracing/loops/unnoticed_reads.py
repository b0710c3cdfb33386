"""Whether what stands in for a value that cannot be told may be read in a way that it does not notice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...python.liveness import may_be_read
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
    if type(value) is not ScalarTracer:
        return False
    is_truth = (np.dtype(bool), True) in (value.types or [(value.dtype, value.is_python)])
    if not is_truth or place.kind != "local":
        return False
    value.recorder.gives_truths = True
    return value.recorder.scopes.decisions.truths or asks(place.owner.f_code)


def may_be_reached(place: Place, after_loop: bool | None) -> bool:
    if place.kind == "local":
        return may_be_read(place.owner, place.key, after_loop)
    return not type(place.owner).__module__.startswith("planned_ad.")  # what is ours knows stand-ins


def has_lost(value: Any) -> bool:
    if type(value) is Lost:
        return True
    parts = taken_apart(value)
    return parts is not None and any(map(has_lost, parts[2]))
