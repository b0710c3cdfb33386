"""The state of a running Python program, as far as a loop's body can change it: variables, and what they lead to.

A body is recorded several times from the same state, which therefore has to be read, put back and compared: the local
variables of a frame, the items of lists and dicts, the attributes of the user's objects, and closure cells that can
be reached from them. Tuples are values.
"""

from __future__ import annotations

import types
import weakref
import zlib
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...python.frames import user_frame
from ...python.structure import attributes_of
from ..record.lost_variables import Lost
from ..record.traced import TracedArray
from .hidden_state import held_by, is_iterator, may_hide
from .object_contents import (
    INERT,
    LEAD_NOWHERE,
    NOT_COMPARED,
    Holding,
    has_attributes,
    has_contents,
    is_inert,
    look_at,
    may_change,
)
from .places import Key, Place, is_dead


@dataclass
class State:
    """What each place holds, at one moment."""

    values: dict[Key, tuple[Place, Any]] = field(default_factory=dict)
    sizes: dict[int, tuple[Any, int]] = field(default_factory=dict)  # of the containers
    contents: dict[int, tuple[Any, object]] = field(default_factory=dict)  # of sets, and arrays that are not traced
    lost: dict[Key, Lost] = field(default_factory=dict)  # the places that hold a stand-in for what cannot be told
    led_to: set[int] = field(default_factory=set)  # by identity, what is reached otherwise than by a place: by a method
    frame: types.FrameType | None = None  # in which the code runs
    followed: Container[types.FrameType] = ()  # the generators that loops run in: it is known how far they are
    is_opaque: bool = False  # whether there are objects of which it is not known whether they have a state
    hidden: str = ""  # what there is that nobody can put back, an iterator or the like; empty if there is none
    unseen: str = ""  # an iterator, say, of which nobody can tell how far it is

    def add(self, place: Place, value: Any, name: int = 0) -> None:
        key = name or id(place.owner), place.kind, place.key
        if type(value) is Lost:
            self.lost[key] = value
            return
        self.values[key] = (place, value)
        self.notice(place, value)

    def take(self, holding: Holding) -> None:
        """Add what an object holds."""
        self.values.update(holding.values)
        self.led_to.update(holding.led_to)
        if holding.lost:
            self.lost.update(holding.lost)
        for place, value in holding.with_state:
            self.notice(place, value)
        if holding.whole is not NOT_COMPARED:
            self.contents[id(holding.obj)] = holding.obj, holding.whole
        if holding.size is not None:
            self.sizes[id(holding.obj)] = holding.obj, holding.size

    def take_hidden(self, obj: Any) -> None:
        """Add an object into which nobody can look."""
        held = held_by(obj)
        self.contents[id(obj)] = (obj, held)
        self.is_opaque = self.is_opaque or held.is_opaque
        if held.stateful:
            self.hidden = self.unseen = f"an object that moves on, `{held.stateful}`"
        self.led_to.update(id(kept) for kept in held.kept if kept is not obj)

    def notice(self, place: Place, value: Any) -> None:
        """Look at what a value is now that is the same object as it was."""
        kind: Any = type(value)
        if kind in LEAD_NOWHERE:
            return
        if self.moves_on(value) or is_advanced(value):
            self.hidden = f"an iterator, `{place.name}`"
            self.unseen = self.hidden if is_iterator(kind) else self.unseen
        elif is_finalised(value):
            self.hidden = f"`{place.name}`, an object that notices when it is gone,"
        if issubclass(kind, TracedArray):  # whose shape and flags can be set
            shown = value.geometry
            self.contents[id(value)] = (value, (shown.shape, shown.strides, shown.flags.writeable))
        elif kind is np.ndarray:
            self.contents[id(value)] = (value, zlib.crc32(value.tobytes()))
        elif issubclass(kind, set):
            self.contents[id(value)] = (value, frozenset(value))

    def moves_on(self, obj: Any) -> bool:
        """Whether something is an iterator that nobody puts back."""
        return is_iterator(type(obj)) and not (type(obj) is types.GeneratorType and obj.gi_frame in self.followed)

    def owners(self) -> set[int]:
        """The objects to which places belong, or may."""
        return {id(place.owner) for place, _ in self.values.values()} | set(self.sizes) | set(self.contents)

    def join(self, other: State) -> None:
        """What another frame leads to as well, its places aside."""
        self.sizes |= other.sizes
        self.contents |= other.contents
        self.led_to |= other.led_to
        self.unseen = self.unseen or other.unseen

    def changed_contents(self, before: State) -> str:
        """What of all that is compared as a whole has changed; a long list may have come to hold other things."""
        for id, (obj, content) in before.contents.items():
            now = self.contents.get(id)
            if (now is not None and now[1] != content) or (now is None and id in self.sizes):
                return shown_kind(obj)
        return ""

    def as_it_was(self, value: Any) -> Any:
        """A list with what it held at that moment, where it has become longer or shorter since."""
        size = self.sizes.get(id(value), (value, 0))[1] if type(value) is list else 0
        keys = [(id(value), "item", k) for k in range(size)]
        if not size or size == len(value) or not all(key in self.values for key in keys):
            return value
        return [self.values[key][1] for key in keys]

    def arrays(self, *, live: bool = False) -> list[Any]:
        """The traced arrays that variables hold, and those in which lists lie; `live`: where they may be read."""
        found = [value for place, value in self.values.values() if not (live and is_dead(place))]
        held = [value.held if getattr(type(value), "may_be_none", False) else value for value in found]
        lists = [value.memory for value in held if getattr(type(value), "is_traced_list", False) and value.is_written]
        return [value for value in held if issubclass(type(value), TracedArray)] + lists


def is_advanced(value: Any) -> bool:
    """Whether something is an iterator of ours that the program may ask for more."""
    return getattr(type(value), "is_iterator", False) and value.is_open


def is_finalised(value: Any) -> bool:
    """Whether something happens when an object of the program's is gone: recordings have it live on."""
    kind: Any = type(value)
    if not has_attributes(kind):
        return False
    return hasattr(kind, "__del__") or any(ref.__callback__ is not None for ref in weakref.getweakrefs(value))


def capture(
    frame: types.FrameType,
    consumer: Any = None,
    known: dict[int, Holding] | None = None,
    seen: dict[int, Any] | None = None,
    calls: int = 0,
    beside: Iterable[types.FrameType] = (),
    followed: Container[types.FrameType] = (),
) -> State:
    """The state that code running in `frame` can reach; of a generator expression also its `consumer`'s value.

    And the generators `beside` it, which it takes the items of.

    `known` has what objects held when they were looked at before, by identity. `seen` has what other frames have led
    to, by identity, which is theirs as long as they are here: it is left out. The variables of a function that is so
    many `calls` away from a loop's body are known by that.
    """
    state = State(frame=frame, followed=followed)
    seen = {} if seen is None else seen
    known = {} if known is None else known
    waiting: list[Any] = []
    if consumer is not None:
        state.add(Place(consumer, "value", "attribute"), consumer.value)
        waiting.append(consumer.value)
    for running in (frame, *beside):
        for name, value in running.f_locals.items():
            if name.startswith("."):  # the iterator of a comprehension
                continue
            state.add(Place(running, name, "local"), value, -calls if running is frame else 0)
            waiting.append(value)
        if may_change(running.f_globals):
            waiting.append(running.f_globals)
    while waiting:
        obj = waiting.pop()
        kind: Any = type(obj)
        if kind in LEAD_NOWHERE or kind in INERT or id(obj) in seen:
            continue
        holding = known.get(id(obj))
        if holding is None or not holding.is_up_to_date():
            if is_inert(obj):
                INERT.add(kind)
                continue
            if state.moves_on(obj) or is_advanced(obj):
                state.hidden = state.hidden or f"an iterator, `{kind.__name__}`"
                state.unseen = state.hidden if is_iterator(kind) else state.unseen
            if getattr(kind, "is_iterator", False):
                state.contents[id(obj)] = (obj, obj.progress)
            if not has_contents(obj):
                if may_hide(obj) and not is_iterator(kind):
                    seen[id(obj)] = obj
                    waiting.append(kind)
                    state.take_hidden(obj)
                continue
            holding = look_at(obj)
            if holding.parts is not None:
                known[id(obj)] = holding
        seen[id(obj)] = obj
        state.take(holding)
        waiting += holding.leads_to
    return state


def shown_kind(obj: Any) -> str:
    """An object by its class, for messages."""
    if getattr(type(obj), "is_iterator", False):
        return "how far an iterator is"
    if issubclass(type(obj), TracedArray):
        return "the shape or the flags of an array"
    if isinstance(obj, list | set | np.ndarray):
        return "a long list, a set, or an array that is not traced"
    name = f"a `{type(obj).__qualname__}`" if not isinstance(obj, type) else f"the class `{obj.__qualname__}`"
    return f"{name}, which is not put back between its iterations"


def met_in_loop(namespace: Any, made: dict[Key, tuple[Place, Any]]) -> dict[Key, tuple[Place, Any]]:
    """Of these places, those of objects from outside that a loop was the first to look at; what they held before it."""
    places = {key: place for key, (place, _) in made.items() if place.kind in ("attribute", "class", "cell")}
    real = namespace.behind({id(place.owner) for place in places.values()}) if places else {}
    found = {}
    for key, place in places.items():
        obj = real.get(id(place.owner))
        held = {place.key: obj.cell_contents} if isinstance(obj, types.CellType) else attributes_of(obj)
        if place.key in held:
            found[key] = (place, namespace.shadow(held[place.key], place.name))
    return found


def held_by_callers(obj: Any, frame: types.FrameType | None, known: Container[Key] = ()) -> bool:
    """Whether a function that has called that of `frame` leads to an object, too, by a place that is not `known`."""
    frame = user_frame(frame.f_back) if frame is not None else None
    while frame is not None:
        state = capture(frame)
        found = (key for key, (_, value) in state.values.items() if value is obj)
        if id(obj) in state.led_to or any(key not in known for key in found):
            return True
        frame = user_frame(frame.f_back)
    return False
