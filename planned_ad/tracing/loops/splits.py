"""Tests that decide about more than their statement: what their sides leave cannot be one thing, or one raises.

A side ends with the statement of its test, and what it leaves is handed on in a form that serves for both sides. Texts
between which a test chooses have no such form, nor has an array that is written to afterwards. Then the sides go on to
the end of the function, or of the body of a loop around, each with what it has: the rest is recorded on both.

A side that raises an error goes on where that is handled. The sides of its test go on to the end of that `try`
statement, and where the error leaves functions on the way there, to the end of these. A side whose error nobody
handles is not recorded: calls that take it run the function itself, which raises it.
"""

from __future__ import annotations

import dis
import functools
import itertools
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import PlannedADError
from ...python.frames import user_frames
from ...python.liveness import is_in_users_try
from ...python.shadows import is_user_frame
from ...python.statements import (
    Extent,
    all_of_function,
    ends_its_side,
    extent_at,
    is_in_finally,
    may_be_swallowed,
    rest_at,
    try_around,
)
from ...tape.guards import RAISES
from ...tape.tape import Value
from ..record.aliases import Refusal
from ..record.decisions import Calls, Failure, Site, Ways
from ..record.recorder import Recorder

if TYPE_CHECKING:
    from .recorded_loop import RecordedLoop

MOST_SPLITS = 6  # each of which may double what comes after it
EACH = -1  # in place of a number of tests: those of statements, however often they are met


def test_site(frame: types.FrameType) -> Site:
    """Where a test is."""
    return frame.f_code, frame.f_lasti


def decided_at(recorder: Recorder, frame: types.FrameType) -> Extent | None:
    """What the test that is running in a frame decides about; None where the source is not at hand."""
    extent, decisions, site = extent_at(frame), recorder.scopes.decisions, test_site(frame)
    if extent is None or extent.leaves:
        return extent
    if site in decisions.split:
        return rest_at(frame)
    return decisions.raising.get(site, extent)


def split(recorder: Recorder, site: Site) -> BaseException | None:
    """The trace starts again with the rest recorded on both sides of a test; None where that has been tried."""
    decided = recorder.scopes.decisions.split
    if site in decided or len(decided) >= MOST_SPLITS:
        return None
    decided.add(site)
    recorder.watch.off()
    return recorder.scopes.restart()


def or_split(recorder: Recorder, site: Site, refuse: Refusal) -> Refusal:
    """What to raise where the two sides of a test would have to leave one thing."""
    return lambda reason, first: split(recorder, site) or refuse(reason, first)


def follow_error(
    loop: RecordedLoop, frame: types.FrameType, sides: Sequence[tuple[Site, Extent]], is_raised: bool
) -> None:
    """A statement of `frame` begins that is not of these sides: if it handles an error, they go on from now on.

    To the end of the `try` statement, which has to be in the loop; if it is in a `finally`, and an error was raised
    just now, to the end of the function.
    """
    found, first = {}, loop.line.number if frame is loop.frame else 0
    for site, extent in sides:
        handled = try_around(*site, frame.f_lineno)
        if is_raised and is_in_finally(*site, frame.f_lineno):
            handled = all_of_function(frame, site[1])
        if handled is not None and handled.first >= first and handled != extent:
            found[site] = handled
    _go_on(loop.recorder, found)


def follow_raise(recorder: Recorder, frame: types.FrameType, sides: Sequence[tuple[Site, Extent]]) -> None:
    """A function returns: if an error leaves it, the sides that it is on go on to its end from now on."""
    if dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN"):
        return
    found = {site: (all_of_function(frame, site[1]), extent) for site, extent in sides}
    _go_on(recorder, {site: whole for site, (whole, extent) in found.items() if whole not in (None, extent)})


def follow_failure(
    recorder: Recorder,
    frame: types.FrameType,
    calls: Calls,
    outcome: bool,
    raised: tuple[type[BaseException], Any, Any],
    of_none: bool,
    before: int,
    ways: Ways,
) -> None:
    """An error is raised on this side of a test: from now on it is not recorded, if nobody handles that error.

    `calls`: of the test, as far as this frame. `of_none`: whether its function has returned None on this side, and
    so an error that speaks of it is the program's own. `before`: how many tests that are running the same instruction
    has made, as `list.remove` makes one for each element. `ways`: those on which the test is; elsewhere there may be no
    error, unless the side is one with a `raise` statement. What a first pass meets may be of that pass alone, in which
    a list that gets longer has but the elements of one iteration: it is looked at once more in the next one.
    """
    failing, error = recorder.scopes.decisions.failing, raised[0]
    number = before if calls[0] == test_site(frame) else EACH
    key = calls, number, None if always_raises(frame, calls[0], raised[2]) else ways
    known = failing.get(key)
    at_first = known is None and in_first_pass(recorder) and not is_raised_by_user(raised[2])
    if known is not None and (not known.at_first or in_first_pass(recorder)):
        return
    # Of our stand-ins perhaps, or by somebody who stops the tracing.
    is_doubtful = issubclass(error, TypeError | AttributeError) or not issubclass(error, Exception)
    is_own = is_raised_by_user(raised[2]) if len(calls) == 1 else of_none and "NoneType" in str(raised[1])
    if (is_doubtful or len(calls) > 1) and not is_own:
        return
    if issubclass(error, StopIteration | PlannedADError) or may_be_handled(frame, error):
        return
    failing[key] = Failure(outcome, error, at_first)
    recorder.watch.off()
    raise recorder.scopes.restart()


def in_first_pass(recorder: Recorder) -> bool:
    """Whether a loop around is recorded for the first time."""
    return any(scope.loop is not None and scope.loop.passes == 1 for scope in recorder.scopes.open)


def may_be_handled(frame: types.FrameType, error: type[BaseException]) -> bool:
    """Whether an error may go no further than a function of the user's, from where a frame is or those that wait."""
    return is_in_users_try(frame, error) or any(may_be_swallowed(f.f_code, f.f_lasti) for f in user_frames(frame))


@functools.lru_cache(maxsize=4096)
def returns_of_none(code: types.CodeType) -> tuple[frozenset[int], frozenset[int]]:
    """Where a function returns None itself, as at its end, and where it returns what a call has."""
    constants: set[int] = set()
    calls: set[int] = set()
    for before, found in itertools.pairwise(dis.get_instructions(code)):
        constant = before if found.opname == "RETURN_VALUE" and before.opname.startswith("LOAD_CONST") else found
        if constant.opname.startswith(("LOAD_CONST", "RETURN_CONST")) and found.opname.startswith("RETURN"):
            if constant.argval is None:
                constants.add(found.offset)
        elif found.opname == "RETURN_VALUE" and before.opname.startswith("CALL"):
            calls.add(found.offset)
    return frozenset(constants), frozenset(calls)


def is_raised_by_user(traceback: types.TracebackType | None) -> bool:
    """Whether an error comes from a `raise` statement of traced code."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or not is_user_frame(traceback.tb_frame):
        return False
    return dis.opname[traceback.tb_frame.f_code.co_code[traceback.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


def always_raises(frame: types.FrameType, test: Site, traceback: types.TracebackType) -> bool:
    """Whether an error comes from a `raise` statement in a frame that runs wherever the test has this outcome."""
    is_here = traceback.tb_frame is frame and traceback.tb_next is None and test[0] is frame.f_code
    return is_here and is_raised_by_user(traceback) and ends_its_side(frame.f_code, test[1], traceback.tb_lasti)


def failing_side(
    recorder: Recorder, frames: Sequence[types.FrameType], calls: Calls, predicate: Value, before: int, ways: Ways
) -> bool | None:
    """The side of the test that is running which ends in an error; the plan requires that no call takes it.

    `before`, `ways`: see `follow_failure`.

    None where there is no such side, and where one of the functions around, which may be others than when it was met,
    may handle the error.
    """
    failing = recorder.scopes.decisions.failing
    tests = [(calls[:1], before), *((calls[:k], EACH) for k in range(1, len(calls) + 1))]
    keys = ((*test, where) for test in tests for where in (None, ways))
    key = next((key for key in keys if key in failing), None)
    if key is None:
        return None
    failure, length = failing[key], len(key[0])
    around = frames[length - 1].f_back
    if around is not None and may_be_handled(around, failure.error):
        return None
    if failure.at_first:
        loops = [scope.loop for scope in recorder.scopes.open if scope.loop is not None and scope.loop.passes == 1]
        for loop in loops:  # it is recorded later
            loop.branches.unknown = True
        return failure.outcome if loops else None
    holds = recorder.builder.apply("logical_not", predicate) if failure.outcome else predicate
    recorder.scopes.require_after(holds, RAISES)
    return failure.outcome


def _go_on(recorder: Recorder, found: dict[Site, Extent]) -> None:
    raising = recorder.scopes.decisions.raising
    if all(raising.get(site) == extent for site, extent in found.items()):
        return
    raising.update(found)
    recorder.watch.off()
    raise recorder.scopes.restart()
