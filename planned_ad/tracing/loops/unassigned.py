"""Variables and attributes that a loop is the first to give a value: what is done where they may be read before that.

Python raises an error there, so that they may be handed on as None or that value; or the first iteration is recorded by
itself, which gives them one.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from ...python.liveness import catches_anywhere, is_missed
from ...python.shadows import ShadowClass
from ...python.written_names import nested
from ..record.lost_variables import Lost

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder
    from .places import Place
    from .recorded_loop import RecordedLoop

ASKING = frozenset(("__dict__", "vars", "delattr", "__delattr__", "__getstate__", "__reduce__"))  # names
PLAIN = (int, float, bool, str, type(None))  # what objects may have from their class, and each by itself as well


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


def own_default(recorder: Recorder, place: Place) -> BaseException | None:
    """What to raise where one side sets an attribute that an object has from its class so far, or not at all.

    From then on its objects have such a default themselves, or None, as if `__init__` had given it to them. None for
    others.
    """
    kind, decisions = type(place.owner), recorder.scopes.decisions
    if place.kind != "attribute" or not isinstance(kind, ShadowClass):
        return None
    default = next((vars(cls)[place.key] for cls in kind.__mro__ if place.key in vars(cls)), None)
    key = (kind.__module__, kind.__qualname__, place.key)
    if key in decisions.own_defaults or decisions.no_own_defaults:
        return None
    if type(default) not in PLAIN or hasattr(kind, "__getattr__"):
        return None
    decisions.own_defaults.add(key)
    return recorder.scopes.restart()


def give_own_defaults(obj: Any) -> None:
    """Of an object that the program has made: those defaults of its class that are to be its own."""
    kind = type(obj)
    see = vars(kind).get("__see__") if isinstance(kind, ShadowClass) else None
    if see is None or not hasattr(obj, "__dict__"):
        return
    namespace = see.__self__
    for module, name, attribute in namespace.recorder.scopes.decisions.own_defaults:
        is_its = (module, name) == (kind.__module__, kind.__qualname__)
        if is_its and attribute not in vars(obj) and not namespace.behind({id(obj)}):
            object.__setattr__(obj, attribute, getattr(kind, attribute, None))


def refuse_own_defaults(recorder: Recorder) -> None:
    """At the end: the program can tell them from those of the class, which it changes, or asks what objects hold."""
    decisions, namespace = recorder.scopes.decisions, recorder.namespace
    names = {name for *_, name in decisions.own_defaults}
    if not names:
        return
    changed = [
        name
        for kind in [namespace.shadow(cls, cls.__name__) for cls in namespace.classes()]
        for module, qualname, name in decisions.own_defaults
        if (module, qualname) == (kind.__module__, kind.__qualname__)
        and any(name in vars(cls).get("__assigned__", ()) for cls in kind.__mro__)
    ]
    unset = {name for *_, name in decisions.own_defaults if not any(map(has_default(name), namespace.classes()))}
    asked = any(asks_what_objects_hold(code, names) for code in namespace.codes())
    if changed or asked or (unset and any(map(asks_what_is_there, namespace.codes()))):
        decisions.own_defaults.clear()
        decisions.no_own_defaults = True
        raise recorder.scopes.restart()


@functools.lru_cache(maxsize=4096)
def deleted_in(code: types.CodeType) -> frozenset[str]:
    return frozenset(op.argval for op in dis.get_instructions(code) if op.opname == "DELETE_ATTR")


def asks_what_objects_hold(code: types.CodeType, names: Collection[str]) -> bool:
    return any(not ASKING.isdisjoint(c.co_names) or not deleted_in(c).isdisjoint(names) for c in nested(code))


def has_default(name: str) -> Callable[[type], bool]:
    return lambda cls: any(name in vars(base) for base in cls.__mro__)


@functools.lru_cache(maxsize=4096)
def asks_what_is_there(code: types.CodeType) -> bool:
    """Whether a function may ask if an object has an attribute, by what happens if it has not."""
    codes = [*nested(code)]
    asks = any(not {"hasattr", "getattr"}.isdisjoint(c.co_names) for c in codes)
    return asks or any(catches_anywhere(c, AttributeError) for c in codes)


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
