"""Traces of a plan's function, with what each has found outside of it under watch."""

from __future__ import annotations

from typing import Any

from ..tape.found_outside import Outside
from ..trace import Trace
from ..tracing.record.decisions import Decisions
from .check.checked import Checked
from .check.checked_traces import HasHistory, traced_after, traced_and_checked
from .outside.watch import Watch


def traced_and_watched(
    plan: Any,
    args: tuple,
    kwargs: dict[str, Any],
    check: bool,
    tracing: dict[str, Any],
    after: Decisions | None = None,
) -> tuple[Trace, Checked, Watch]:
    """The trace, checked, and the watch over what it has found outside.

    Where running the function changes that, as where it fills a cache at its first call, it is traced once more.
    """
    for turn in range(2):
        watches: list[Watch] = []

        def look(traced: Trace, watches: list[Watch] = watches) -> None:
            watches.append(Watch(traced.outside))

        frozen = tuple(plan._options["frozen"])
        set_first: dict[tuple[int, str], tuple[Any, str]] = {}
        for variant in plan._variants:
            set_first |= variant.trace.outside.set_first
        known: dict[str, Any] = {"frozen": frozen, "set_first": set_first, "has_others": bool(plan._variants)}
        try:
            outside = Outside(**known, has_history=plan._has_history, is_again=bool(turn or plan._variants))
            options = tracing | {"outside": outside}
            traced, found = traced_and_checked(plan._f, args, kwargs, check, options, look, after)
        except HasHistory:
            plan._has_history = True
            watches.clear()
            outside = Outside(**known, has_history=True)
            traced, found = traced_and_checked(plan._f, args, kwargs, check, tracing | {"outside": outside}, look)
        if watches[0].holds():
            return traced, found, watches[0]
        after = traced.decisions
    # It moves on with each run: the trace is of where it is now, and is not compared once more, which is a run.
    outside = Outside(**known, has_history=plan._has_history, is_again=True)
    traced = traced_after(plan._f, args, kwargs, tracing | {"outside": outside}, after)
    return traced, found, Watch(traced.outside)


def found_so_far(plan: Any, is_plain: bool) -> Decisions | None:
    """What the last trace has found out of the function's loops and lists, where the next one is of the same kind."""
    last = plan._variants[-1].trace if plan._variants else plan._after
    if last is None or not is_plain:
        return None
    return last.decisions if last.max_steps == plan._options["max_steps"] else None  # type: ignore[no-any-return]
