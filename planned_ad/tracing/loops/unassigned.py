"""Variables and attributes that a loop is the first to give a value: what is done where they may be read before that.

Python raises an error there, so that they may be handed on as None or that value; or the first iteration is recorded by
itself, which gives them one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from ...python.liveness import is_missed
from ..record.lost_variables import Lost

if TYPE_CHECKING:
    from ..record.decisions import Site
    from .recorded_loop import RecordedLoop


def begun_without(loop: RecordedLoop, name: str, around: Iterable[RecordedLoop] | None = None) -> BaseException | None:
    """What to raise where a variable is read that only some iterations may have given a value; None where it stays.

    Of the function's own variables, which hold nothing before the loop, the trace starts again with None in them:
    what reads them needs a number or array, and where there is none the function has an error too, which nothing
    handles. So it is in the loops `around`, by default those that are being recorded.
    """
    scopes = loop.recorder.scopes
    known = scopes.decisions.unset.setdefault(loop.site, set())
    if known is None:  # that has been tried
        return begun_with_one(loop)
    key = (id(loop.frame), "local", name)
    is_own = name in loop.frame.f_code.co_varnames and key not in loop.origin.values and name not in held_at_first(loop)
    if name in known:  # it is no number, and no array
        return begun_with_one(loop)
    if not is_own or is_missed(loop.frame, name):
        return None
    around = begun_before(loop) if around is None else around
    for other in (loop, *around):  # whose earlier iterations may have given it one
        found = scopes.decisions.unset.setdefault(other.site, set())
        if found is not None and key not in other.origin.values and name not in held_at_first(other):
            found.add(name)
    loop.recorder.watch.off()
    return scopes.restart()


def begun_before(loop: RecordedLoop) -> list[RecordedLoop]:
    """The loops around it in the same call, which are being recorded."""
    found = [scope.loop for scope in loop.recorder.scopes.open if scope.loop is not None]
    return [around for around in found if around is not loop and around.frame is loop.frame]


def held_at_first(loop: RecordedLoop) -> Collection[str]:
    """The variables of its function that had a value where the loop was come to first, though it cannot be told now."""
    known: dict[Site, Collection[str]] = loop.recorder.__dict__.setdefault("held_at_first", {})
    return known.setdefault(loop.site, frozenset(loop.frame.f_locals))


def begun_with_one(loop: RecordedLoop, is_last_resort: bool = False) -> BaseException | None:
    """What to raise for a first iteration by itself, which gives variables their values where its test is known."""
    scopes = loop.recorder.scopes
    is_of_several = type(loop.trips) is int and loop.trips > 1 and loop.count is None
    if scopes.decisions.first.get(loop.site) or not (loop.exits is not None or (is_last_resort and is_of_several)):
        return None
    (scopes.decisions.unset.get(loop.site) or set()).clear()  # it may give them all a value
    loop.recorder.watch.off()
    return scopes.peel(loop.scope, first=1)


def refuse_lost(loop: RecordedLoop, name: str, reason: str) -> BaseException:
    """As `begun_without`, or with a first iteration by itself, or that the loop is unrolled."""
    return begun_without(loop, name) or begun_with_one(loop, is_last_resort=True) or loop.unrolled(reason)


def lost(loop: RecordedLoop, name: str) -> Lost:
    """What a variable holds that an iteration of the loop may have given a value."""

    around = begun_before(loop)

    def refuse(why: str, _: bool) -> BaseException:
        again = begun_without(loop, name, around) or begun_with_one(loop, is_last_resort=True)
        return again or loop.recorder.scopes.unroll_innermost(why, loop.line)

    return Lost(loop.recorder, name, refuse=refuse)
