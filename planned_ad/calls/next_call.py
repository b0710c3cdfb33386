"""From the call of one trace to that of the next, where its guards do not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .kinds import CallKind
from .variants import PlanOfTraces, Variant


def next_call(plan: PlanOfTraces, row: CallKind, variant: Variant) -> Callable[..., Any] | None:
    """What calls the next trace that has such an entry, whose slow path comes to the one behind that.

    Where what the trace has found outside has changed: the first one, if it is for what there is now. None where
    variants have to be looked at one by one.
    """
    variants = plan._variants
    if variant in variants and variant.watch.is_same():
        others = variants[variants.index(variant) + 1 :]
    else:  # it was the first one when its call was looked up
        others = [first for first in variants[:1] if first is not variant]
    entries = (other.entries.get(row.name) for other in others if other.watch.is_same())
    return next((entry.call.function for entry in entries if entry is not None), None)
