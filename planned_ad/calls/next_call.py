"""From the call of one trace to that of the next, where its guards do not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .kinds import CallKind
from .variants import PlanOfTraces, Variant


def next_call(plan: PlanOfTraces, row: CallKind, variant: Variant) -> Callable[..., Any] | None:
    """What calls the next trace that has such an entry, whose slow path comes to the one behind that.

    None too where what the trace has found outside has changed: then others are to come first.
    """
    variants = plan._variants
    if variant not in variants or not variant.watch.is_same():
        return None
    behind = variants[variants.index(variant) + 1 :]
    entries = (other.entries.get(row.name) for other in behind)
    return next((entry.call.function for entry in entries if entry is not None), None)
