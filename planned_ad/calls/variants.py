"""The variants of a plan, and when there is another one: traces for other branches, and for what was outside before."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..caching.folders import belonging_to
from ..differentiate.keep.rooms import times_enough
from ..errors import PlannedADError, UnsupportedError
from ..python.garbage import seldom_collected
from ..python.interruptions import is_interruption
from ..python.made import first_function
from ..python.progress import stage
from ..python.source import Line
from ..tape.guards import (
    RAISES,
    TooFewSteps,
    counts_at,
    decides,
    decides_how_long,
    endless,
    is_count,
    is_limit,
    is_room,
    is_stretch,
)
from ..tape.tape import Guard
from ..trace import Trace
from ..tracing.record.decisions import TooManyPasses
from .check.checked import DIFFERS, Checked
from .entries import Entry
from .outside.watch import Watch
from .own_errors import run_on_copies
from .present_variants import changed, is_same_program, make_way, present, put_first, still_present
from .replay import Call, CotangentShapeError
from .stored_plans import StoredTrace, find_trace, put_trace, request_for
from .variant import Broken, PlanOfTraces, Variant, broken, more_telling
from .watched_traces import found_so_far, traced_and_watched

MOST_TIES = 8  # tests that the last bit of a sum decides, which each kernel adds up in an order of its own
MORE_STEPS = 8  # times as many, where the memory for a `while` loop did not do
MOST_STEPS = 10_000_000
MOST_EXAMPLE_STEPS = 100_000  # of an example that Python runs, since a test after the loop asks for its numbers
WAYS = ("branch", "count", "number")  # what is guarded: the outcome of a test, or an integer that is asked for
SEVERAL = 4  # ways through a function that have a trace each, before all of them are to have one
PASSES_FOR_EACH = 24  # over the function, to have one for all ways: it is worth more the more there are
MOST_PASSES = 500
MUCH_LONGER = 4  # times, than a trace for one length, of a trace for any: a trace for each length is better then
PASSES_ROLLED = 200  # to see whether a function with short loops as loops has no guard
MOST_WAYS = 8  # guards of one trace, each of which makes another one: perhaps of short loops that are no loops


@seldom_collected
def add_variant(
    plan: PlanOfTraces,
    args: tuple,
    kwargs: dict[str, Any],
    known: Sequence[Guard] = (),
    checked: Checked | None = None,
    branches: int = 0,
    unroll: int | None = None,
) -> Variant:
    """Trace with an example of which the first guards are `known`; `checked`: what is known of its check."""
    options, is_plain = plan._options, not branches
    if options["on_branch"] == "record" and is_plain and not plan._one_way:
        whole = in_one_trace(plan, args, kwargs)
        if whole is not None:
            return whole
    is_first = not plan._variants and not known and not plan._stretched
    with belonging_to(file_of(plan._f)):
        request = request_for(plan._f, args, kwargs, options) if is_first else None
        stored = None if request is None else find_trace(request)
    if stored is not None:
        options["max_steps"] = stored.trace.max_steps
        return added(plan, stored.trace, stored.checked, stored.watch, stored)
    check = options["check"] and (checked is None or checked.unrolled)  # what it unrolled, it finds again
    tracing: dict[str, Any] = {name: options[name] for name in ("max_operations", "unroll", "max_steps")}
    tracing |= {"known": known, "stretched": plan._stretched, "unrolled": plan._unrolled, "branches": branches}
    tracing |= {} if unroll is None else {"unroll": unroll}
    try:
        with belonging_to(file_of(plan._f)), stage(f"tracing {getattr(plan._f, '__name__', 'a function')}"):
            traced, found, watch = traced_and_watched(plan, args, kwargs, check, tracing, found_so_far(plan, is_plain))
    except TooFewSteps as error:
        more_steps(plan, error.line, MOST_EXAMPLE_STEPS)
        return add_variant(plan, args, kwargs, known, checked, branches, unroll)
    if decides_how_long(traced.tape) and options["on_branch"] == "retrace" and is_plain and not plan._one_way:
        whole = in_one_trace(plan, args, kwargs)
        if whole is not None:
            return whole
    if is_plain and not plan._variants and not known and ways(traced) > MOST_WAYS:
        rolled = with_short_loops(plan, args, kwargs)
        if rolled is not None:
            return rolled
    plan._unrolled |= {site: loop for site, loop in traced.decisions.unrolled.items() if loop.reason == DIFFERS}
    found = found if check or checked is None else checked
    for variant in plan._variants if not known else ():
        if is_same_program(variant.trace, traced) and (variant.watch.passes_over() or variant.watch.follows(watch)):
            return variant
    if request is not None:
        with belonging_to(file_of(plan._f)):
            stored = put_trace(request, traced, found, watch)
    return added(plan, traced, found, watch, stored)


def added(
    plan: PlanOfTraces, traced: Trace, checked: Checked, watch: Watch, stored: StoredTrace | None = None
) -> Variant:
    """The variant of a trace, as the plan's last one, unless somebody who uses the plan refuses it."""
    for refuse in plan._asked.values():
        refuse(traced)
    limits = plan._options["preserve_args"], plan._options["memory_limit"], plan._options["threads"]
    room = times_enough(traced.tape, dict(checked.iterations))
    variant = Variant(traced, checked, *limits, plan._slow_path, plan, watch, room, stored)
    plan._variants.append(variant)
    return variant


def file_of(f: object) -> str:
    """Where a function is defined; empty where there is no telling."""
    return getattr(getattr(first_function(f), "__code__", None), "co_filename", "")


# For other branches.


def replay(
    plan: PlanOfTraces,
    called: Callable[[Trace], Call],
    entry_of: Callable[[Variant], Entry],
) -> Any:
    """What a call gives by the first variant whose guards hold; by a new one where none does.

    Parameters
    ----------
    plan : Plan
    called : callable
        The call, for a trace; checked.
    entry_of : callable
        The entry of a variant that it is a call of.
    """
    tried = present(plan)
    done, result = attempt(tried, called, entry_of)
    if done:
        return result
    raise_its_error(plan, result, called)
    refuse_another(plan, result)
    broken: Broken | None = result
    with plan._lock:
        others = [v for v in still_present(plan) if v not in tried]  # of other threads, or not looked at yet
        done, result = attempt(others, called, entry_of)
        if done:
            return result
        refuse_another(plan, result)
        result, call, tried = result or broken, called(plan._variants[0].trace), [*tried, *others]
        if not tried and stays(plan):
            raise changed(plan._variants[0])
        kept, steps = list(plan._variants), plan._options["max_steps"]
        try:
            while not done and result is not None and is_room(result.guard):
                found = wider(plan, result, call)
                done, result = attempt([found], called, entry_of, final=True)
            if not done and (result is None or result.is_required or decides(result.guard)):
                wide = for_any_count(plan, result, call) or for_all_branches(plan, tried, result, call)
                found = wide or another(plan, len(tried), result, call)
                done, own = attempt([found], called, entry_of, final=True)
                if not done and wide is not None and own.is_required:  # which the function itself does not ask for
                    plan._variants[:], plan._one_way = kept, True
                    plan._forget_calls()
                    found = another(plan, len(tried), result, call)
                    done, own = attempt([found], called, entry_of, final=True)
                result = own
            ties = 0
            while not done:
                if decides(result.guard) and ties < MOST_TIES:  # at first, what was known may be of tests elsewhere
                    plan._variants.remove(found)
                    found, ties = another(plan, len(tried), result if ties else None, call), ties + 1
                else:
                    found = wider(plan, result, call)
                done, result = attempt([found], called, entry_of, final=True)
        except BaseException as error:
            plan._variants[:], plan._options["max_steps"] = kept, steps
            plan._forget_calls()
            if isinstance(error, Exception) and not isinstance(error, PlannedADError):
                run_on_copies(plan._f, call)  # which raises it with numbers in it, not with what stands for them
            raise
        if plan._variants[0] not in (*tried, found):
            put_first(plan, [found])
        if "kernel" in plan.__dict__:
            plan.kernel._extend()
    return result


def attempt(
    variants: Sequence[Variant],
    called: Callable[[Trace], Call],
    entry_of: Callable[[Variant], Entry],
    final: bool = False,
) -> tuple[bool, Any]:
    """Try variants in order: (True, result) of the first whose guards hold, else (False, what broke).

    A cotangent of another shape than a variant's result may belong to another branch: then that variant is passed over.
    """
    found: Broken | None = None
    for variant in variants:
        call = called(variant.trace)
        entry = entry_of(variant)
        try:
            placed = call.place(entry, variant.preserve_args)
        except CotangentShapeError:
            if final or not any(isinstance(op, Guard) for op in variant.trace.tape.operations):
                raise
            continue
        number = placed.run()
        if number is None:
            variant.last_used = time.monotonic()
            if not variant.preserve_args:
                call.rebind(placed.memory)
            return True, placed.result()
        found = more_telling(found, broken(call, variant, entry, number))
    return False, found


def raise_its_error(plan: PlanOfTraces, broken: Broken | None, called: Callable[[Trace], Call]) -> None:
    """Where a call breaks what is recorded as an error, or what its trace does not do without: the function's error.

    Ours names the line of what the function itself complains of. If it does not, another trace may do.
    """
    if broken is None or (broken.guard.what != RAISES and (not broken.is_required or stays(plan))):
        return
    try:
        run_on_copies(plan._f, called(broken.variant.trace))
    except Exception as error:
        ours = broken.error()
        if broken.guard.what == RAISES or not isinstance(ours, type(error)):
            raise
        raise ours from None
    if broken.guard.what == RAISES:
        raise broken.error()


def stays(plan: PlanOfTraces) -> bool:
    """Whether a plan is for the branches of its example only."""
    return plan._options["on_branch"] == "raise"


def refuse_another(plan: PlanOfTraces, broken: Broken | None) -> None:
    """With `on_branch="raise"`, only what the trace has taken too narrowly is traced again."""
    if not stays(plan) or broken is None:
        return
    if not is_stretch(broken.guard) and not is_room(broken.guard):
        raise broken.error()


def another(plan: PlanOfTraces, count: int, broken: Broken | None, call: Call) -> Variant:
    """One more variant, for arguments that take another branch than those of `count` variants; the limit is kept to."""
    if count >= plan._options["max_variants"]:
        make_way(plan)
    known = () if broken is None else broken.known()
    try:
        return add_variant(plan, *call.example(), known)
    except Exception as error:
        if isinstance(error, UnsupportedError) and plan._stretched:
            plan._exact |= plan._stretched  # on this way, what masks choose is used for what needs its length
            plan._stretched.clear()
        elif known and not is_interruption(error):
            known = ()  # of a way on which the function does not get there, or is not followed
        else:
            raise
    return add_variant(plan, *call.example(), known)


def for_any_count(plan: PlanOfTraces, broken: Broken | None, call: Call) -> Variant | None:
    """In place of variants for one number of elements that a mask chooses, one for any; None where there is none."""
    if broken is None or not is_count(broken.guard) or broken.guard.line in plan._stretched | plan._exact:
        return None
    line, before = broken.guard.line, list(plan._variants)
    found: Variant | None = None
    plan._stretched.add(line)
    try:
        found = add_variant(plan, *call.example(), broken.known())
    except Exception as error:  # what it is used for needs its length, or what is known goes another way
        if is_interruption(error):
            raise
    if found is None or is_unrolled_further(found.trace, broken.variant.trace):
        plan._stretched.discard(line)
        plan._exact.add(line)
        plan._variants[:] = before
        return None
    if not counts_at(found.trace.tape, line):
        plan._variants[:] = [*(v for v in before if not counts_at(v.trace.tape, line)), found]
        plan._forget_calls()
    return found


def is_unrolled_further(traced: Trace, other: Trace) -> bool:
    """Whether it is many times as long as another one, since loops in it are no loops that are in the other one."""
    is_long = len(traced.tape.operations) > MUCH_LONGER * len(other.tape.operations)
    return is_long and not traced.decisions.unrolled.keys() <= other.decisions.unrolled.keys()


def for_all_branches(plan: PlanOfTraces, tried: list[Variant], broken: Broken | None, call: Call) -> Variant | None:
    """In place of variants for one way through the function each, one for all of them; None where there is none."""
    count, most = len(tried), plan._options["max_variants"]
    due = max(SEVERAL, min(2 * plan._tried_with, most))
    if broken is None or broken.guard.what not in WAYS or plan._one_way or count < due:
        return None
    plan._tried_with = count
    passes = min(PASSES_FOR_EACH * count, MOST_PASSES) if count < most else MOST_PASSES
    found = in_one_trace(plan, *call.example(), passes, {"branch", broken.guard.what})
    if found is not None:
        plan._tried_with = 0  # of what is outside now; where that changes, the others are as likely to be found
        plan._variants[:] = [v for v in plan._variants if v not in tried]
        plan._forget_calls()
    return found


def in_one_trace(
    plan: PlanOfTraces,
    args: tuple,
    kwargs: dict[str, Any],
    passes: int = MOST_PASSES,
    without: Collection[str] = ("branch",),
) -> Variant | None:
    """One more variant, for all ways through the function's branches; None where they cannot be recorded so.

    `passes`: so many over the function at most. `without`: the kinds of guards that it may not have.
    """
    before, found, is_final = list(plan._variants), None, True
    try:
        found = add_variant(plan, args, kwargs, branches=passes)
    except PlannedADError as error:
        is_final = passes >= MOST_PASSES or not isinstance(error, TooManyPasses)
    if found is None or any(isinstance(op, Guard) and op.what in without for op in found.trace.tape.operations):
        plan._variants[:], plan._one_way = before, is_final
        return None
    return found


def with_short_loops(plan: PlanOfTraces, args: tuple, kwargs: dict[str, Any]) -> Variant | None:
    """The first variant, in which short loops are loops too, if then no test is left that makes another way."""
    try:
        found = add_variant(plan, args, kwargs, branches=-PASSES_ROLLED, unroll=min(plan._options["unroll"], 1))
    except Exception as error:
        if is_interruption(error):
            raise
        return None
    if ways(found.trace):
        plan._variants.clear()
        return None
    return found


def ways(traced: Trace) -> int:
    """How many guards it has of which each outcome makes a trace of its own."""
    return sum(isinstance(op, Guard) and op.what in ("branch", "count") for op in traced.tape.operations)


def wider(plan: PlanOfTraces, broken: Broken, call: Call) -> Variant:
    """In place of a variant that is too narrow for these arguments, one that is not.

    Its `while` loops end too early: there is memory for more iterations. Or lengths differ, one of which may be 1.
    It takes the place of all that were traced with less. Other guards break for a reason, which is raised. Room for
    loops that stop is no matter of the trace.
    """
    if is_room(broken.guard):
        roomier = broken.variant.roomier()
        plan._variants[:] = [roomier if v is broken.variant else v for v in plan._variants]
        plan._forget_calls()
        return roomier
    if is_limit(broken.guard):
        more_steps(plan, broken.guard.line)
        narrow = is_limit
    elif is_stretch(broken.guard) and broken.guard.line not in plan._stretched:
        plan._stretched.add(broken.guard.line)
        narrow = is_stretch
    else:
        raise broken.error()
    kept = [v for v in plan._variants if not any(map(narrow, v.trace.tape.operations))]
    found = add_variant(plan, *call.example(), broken.known())
    plan._variants[:] = [*kept, found]
    plan._forget_calls()
    return found


def more_steps(plan: PlanOfTraces, line: Line, most: int = MOST_STEPS) -> None:
    """Memory for more iterations of `while` loops from now on, since the one at `line` did not end."""
    steps = plan._options["max_steps"] * MORE_STEPS
    if steps > most:
        raise endless(line, plan._options["max_steps"])
    plan._options["max_steps"] = steps
