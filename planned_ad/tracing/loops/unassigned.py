"""Variables and attributes that a loop is the first to give a value: what is done where they may be read before that.

Python raises an error there, so that they may be handed on as None or that value; or the first iteration is recorded by
itself, which gives them one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...python.liveness import is_missed
from ..record.lost_variables import Lost

if TYPE_CHECKING:
    from .recorded_loop import RecordedLoop


def begun_without(loop: RecordedLoop, name: str) -> BaseException | None:
    """What to raise where a variable is read that only some iterations may have given a value; None where it stays.

    Of the function's own variables, which hold nothing before the loop, the trace starts again with None in them:
    what reads them needs a number or array, and where there is none the function has an error too, which nothing
    handles. Of others, or where that does not help, with a first iteration by itself.
    """
    scopes = loop.recorder.scopes
    known = scopes.decisions.unset.setdefault(loop.site, set())
    if known is None:  # that has been tried
        return begun_with_one(loop)
    key = (id(loop.frame), "local", name)
    is_own = name in loop.frame.f_code.co_varnames and key not in loop.origin.values
    if name in known:  # it is no number, and no array
        again = begun_with_one(loop)
        if again is not None:
            known.clear()  # it may give them all a value
        return again
    if not is_own or is_missed(loop.frame, name):
        return begun_with_one(loop)
    known.add(name)
    loop.recorder.watch.off()
    return scopes.restart()


def begun_with_one(loop: RecordedLoop) -> BaseException | None:
    """What to raise for a first iteration by itself, which gives variables their values where its test is known."""
    scopes = loop.recorder.scopes
    certainly_runs = loop.exits is not None or (type(loop.trips) is int and loop.count is None)
    if scopes.decisions.first.get(loop.site) or not certainly_runs:
        return None
    loop.recorder.watch.off()
    return scopes.peel(loop.scope, first=1)


def refuse_lost(loop: RecordedLoop, name: str, reason: str) -> BaseException:
    """As `begun_without`, or that the loop is unrolled."""
    return begun_without(loop, name) or loop.unrolled(reason)


def lost(loop: RecordedLoop, name: str) -> Lost:
    """What a variable holds that an iteration of the loop may have given a value."""
    unroll = loop.recorder.scopes.unroll_innermost
    return Lost(loop.recorder, name, refuse=lambda why, _: begun_without(loop, name) or unroll(why, loop.line))
