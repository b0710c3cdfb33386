"""From the call of one trace to that of the next, where its guards do not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..tape.callees import is_call
from ..tape.tape import walk
from .kinds import CallKind
from .variant import PlanOfTraces, Variant


def next_call(plan: PlanOfTraces, row: CallKind, variant: Variant) -> Callable[..., Any] | None:
    """What calls the next trace that has such an entry, whose slow path comes to the one behind that.

    Where what the trace has found outside has changed: the first one, if it is for what there is now. None where
    variants have to be looked at one by one. The machine code of this trace's call goes there itself from now on,
    where its guards do not hold; if it calls Python it does not, which may have left an error.
    """
    with plan._lock:
        variants = plan._variants
        is_known = variant in variants and variant.watch.is_same()
        if is_known:
            others = variants[variants.index(variant) + 1 :]
        else:  # it was the first one when its call was looked up
            others = [first for first in variants[:1] if first is not variant]
        entries = (other.entries.get(row.name) for other in others if other.watch.is_same())
        following = next((entry.call.function for entry in entries if entry is not None), None)
        mine = variant.entries.get(row.name) if is_known else None
        if following is None:  # what is compiled or traced now may come between
            lead_nowhere(variants)
        elif mine is not None and not any(map(is_call, walk(mine.tape.operations))):
            mine.call.following.lead_to(following)
    return following


def lead_nowhere(variants: Iterable[Variant]) -> None:
    """These are in another order now, or other ones: which is the next is to be found out again."""
    for variant in variants:
        for entry in variant.entries.values():
            entry.call.following.lead_to(None)
