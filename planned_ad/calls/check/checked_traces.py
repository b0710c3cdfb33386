"""Traces that have been compared with their function: where they differ, loops are unrolled, or the trace is refused.

The trace of a derivative has nothing that it could be compared with. The function that it is of is traced by itself
and compared, and loops that make a difference there are unrolled in the derivative too.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...errors import BranchError, PlannedADError, TraceError
from ...python.made import MadeOf, first_call
from ...python.progress import stage
from ...tape.found_outside import Outside
from ...tape.tape import Loop, walk
from ...trace import Trace, trace
from ...tracing.record.decisions import Decisions
from .checked import DIFFERS, Checked, Comparison, NotComparable
from .comparison import Difference

WITH_LOOPS, WITHOUT, WITH_OPAQUE, WITH_HANDLERS = 0.05, 0.01, 2.0, 4.0  # seconds that a check may take, at least
SHARE = 0.5  # of the time of tracing, which is about a tenth of that of compiling
SINGLE = 6  # loops that are unrolled one by one, to find those concerned
OF_A_RUN = ("max_operations", "unroll", "max_steps", "branches")  # options that derivatives share with their function
BY_ROUNDING = "a test comes out otherwise than in NumPy, by rounding, in machine code"
HIDDEN = (
    "Something that a plan does not see makes the difference: state outside of the function or in an iterator that "
    "moves on from call to call or from iteration to iteration, a cache, random numbers, the time, or memory of "
    "numpy.empty that is read before it is written. Pass it as an argument, or make it anew in the function. "
    "(compile(..., check=False) compiles without this check.)"
)


class HasHistory(Exception):
    """A function was taken for one that keeps what it has computed, and it matters what it has kept."""


def traced_and_checked(
    f: Callable[..., Any],
    args: tuple,
    kwargs: dict[str, Any],
    check: bool,
    options: dict[str, Any],
    look: Callable[[Trace], None] = lambda traced: None,
    after: Decisions | None = None,
) -> tuple[Trace, Checked]:
    """The trace of `f`, compared with `f`: loops that make a difference are unrolled.

    `look` is called with the trace before `f` runs, which may change what it finds outside. `after`: what a trace for
    other arguments has found out.

    Raises
    ------
    TraceError
        The trace gives something else than the function, however its loops are recorded.
    """
    start = time.thread_time()
    traced = traced_after(f, args, kwargs, options, after)
    look(traced)
    if not check:
        return traced, Checked(left_out="check=False")
    if isinstance(f, MadeOf):
        return with_its_function(f, args, kwargs, traced, options)
    return compared(f, args, kwargs, traced, budget(traced, time.thread_time() - start), options)


def traced_after(
    f: Callable[..., Any], args: tuple, kwargs: dict[str, Any], options: dict[str, Any], after: Decisions | None
) -> Trace:
    """The trace with what another one has found out; where that leads nowhere, as if there had been none."""
    if after is not None and after.whole is None:
        known, stretched, unrolled = options.get("known", ()), options.get("stretched", ()), options.get("unrolled", {})
        with contextlib.suppress(PlannedADError):
            return trace(f, args, kwargs, **options, decisions=after.for_others(known, stretched, unrolled))
    return trace(f, args, kwargs, **options)


def compared(
    f: Callable[..., Any],
    args: tuple,
    kwargs: dict[str, Any],
    traced: Trace,
    seconds: float,
    options: dict[str, Any],
) -> tuple[Trace, Checked]:
    """A trace compared with its function for so many seconds; another one where loops had to be unrolled."""
    start = time.perf_counter()
    comparison = Comparison(f, args, kwargs, traced)
    try:
        with stage(f"comparing {traced.name} with its trace"):
            difference = comparison.difference(seconds)
    except NotComparable as reason:
        iterations = comparison.sampled_iterations(seconds)
        return traced, Checked(left_out=str(reason), seconds=time.perf_counter() - start, iterations=iterations)
    if traced.outside.computes_anew and (difference is not None or comparison.has_history()):
        raise HasHistory
    if difference is not None and options.get("known") and isinstance(difference.error, BranchError):
        # The trace goes the way that a kernel went, which adds up in another order than NumPy.
        return traced, Checked(left_out=BY_ROUNDING, seconds=time.perf_counter() - start)
    other = None
    if difference is None:
        other, difference = comparison.elsewhere(seconds)
    if difference is None:
        return traced, comparison.checked(time.perf_counter() - start)
    return unrolled(comparison, difference, options, other)


def with_its_function(
    f: Callable[..., Any], args: tuple, kwargs: dict[str, Any], traced: Trace, options: dict[str, Any]
) -> tuple[Trace, Checked]:
    """The trace of a derivative, of which the function has been checked; with the same loops unrolled."""
    start, call = time.thread_time(), first_call(f, args, kwargs)
    if call is None:
        return traced, Checked(left_out="its function is not called")
    shared = {name: options[name] for name in OF_A_RUN if name in options}
    if "outside" in options:
        given = options["outside"]
        shared["outside"] = Outside(
            frozen=given.frozen, has_history=given.has_history, set_first=given.set_first, has_others=given.has_others
        )
    try:
        own = traced_after(*call, shared, replace(traced.decisions, keeps=False, bounded=False))
    except PlannedADError as error:
        return traced, Checked(left_out=f"its function has no trace by itself: {error}")
    own, found = compared(*call, own, budget(own, time.thread_time() - start), shared)
    differing = {site: loop for site, loop in own.decisions.unrolled.items() if loop.reason == DIFFERS}
    if not differing.keys() <= traced.decisions.unrolled.keys():
        decisions = traced.decisions.copied()
        decisions.unrolled |= differing
        traced = trace(f, args, kwargs, **options, decisions=decisions)
    return traced, of_function(own, found)


def of_function(traced: Trace, found: Checked) -> Checked:
    """What is known of a derivative where this is known of its function."""
    compared = tuple(f"{traced.name}: {what}" for what in found.compared)
    return replace(found, compared=compared, unrolled=False, iterations=())  # of other loops


def unrolled(
    comparison: Comparison, difference: Difference, options: dict[str, Any], other: Comparison | None = None
) -> tuple[Trace, Checked]:
    """The trace with the loops unrolled that make a difference: one of them, or all.

    `other`: of the same trace, for other inputs, where it is there that they do.
    """
    start = time.perf_counter()
    traced = comparison.trace
    loops, changed = traced.rolled, comparison.repeated() if other is None else None
    if changed is not None:
        difference = changed
    else:
        singles = [(loop,) for loop in loops] if 1 < len(loops) <= SINGLE else []
        for chosen in [*singles, loops] if loops else []:
            try:
                found, difference_now = comparison.with_loops_unrolled(chosen, options, other)
            except (TraceError, NotComparable):
                if chosen == loops:
                    raise
                continue
            if difference_now is None:
                return found.trace, found.checked(time.perf_counter() - start, unrolled=True)
            difference = difference_now
    raise difference.error or TraceError(f"{traced.name} ({traced.line}): {difference.text}. {HIDDEN}")


def budget(traced: Trace, seconds_of_trace: float) -> float:
    """Seconds for a check. Without loops less could go unseen, and more with objects that are not looked into, or where
    errors that are ours are handled as the function's own."""
    has_loops = any(isinstance(op, Loop) for op in walk(traced.tape.operations))
    least = WITHOUT if not has_loops else WITH_OPAQUE if traced.meets_opaque else WITH_LOOPS
    return max(WITH_HANDLERS if traced.may_hide_errors else least, SHARE * seconds_of_trace)
