"""Places: what a running Python program can assign to, a variable, an item, an attribute or a closure's cell."""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...python.liveness import is_live
from ...python.shadows import ShadowGlobals, ShadowModule, set_class_attribute
from ..record.lost_variables import Lost

NOTHING_COPIED: Mapping[int, Any] = types.MappingProxyType({})
Key = tuple[int, str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One thing that code can assign to."""

    owner: Any
    key: Any
    kind: str  # 'local', 'item', 'attribute', 'class' (an attribute of a class) or 'cell'

    @property
    def name(self) -> str:
        """As the user knows it, for messages."""
        if self.kind == "local":
            return str(self.key)
        if getattr(type(self.owner), "is_traced_list", False):
            return f"len({self.owner.label})"
        if self.kind in ("attribute", "class"):
            return f"{(self.owner if self.kind == 'class' else type(self.owner)).__name__}.{self.key}"
        return f"[{self.key!r}]" if self.kind == "item" else str(self.key)

    def write(self, value: Any) -> None:
        """Assign; local variables are written by `write_locals`, a frame at a time."""
        if self.kind == "item":
            self.owner[self.key] = value
        elif self.kind == "attribute":
            object.__setattr__(self.owner, self.key, value)
        elif self.kind == "class":
            set_class_attribute(self.owner, self.key, value)
        else:
            assert self.kind == "cell"
            self.owner.cell_contents = value


def is_dead(place: Place) -> bool:
    """Whether it is a variable that is assigned before it is read."""
    return place.kind == "local" and not is_live(place.owner, place.key)


def was_assigned(place: Place, value: Any) -> bool:
    """Whether a place that is new has been written to: names and attributes of modules are there when first read."""
    if type(place.owner) is not ShadowModule:
        return place.kind != "item"
    try:
        return place.owner.read_first(place.key) is not value
    except AttributeError:  # it was not there
        return True


def is_read_first(place: Place, value: Any) -> bool:
    """Whether a place that is new holds what there is outside: it has been read, and not written to."""
    try:
        is_outer = type(place.owner) in (ShadowGlobals, ShadowModule)
        return is_outer and place.owner.read_first(place.key) is value
    except (AttributeError, KeyError):  # it was not there
        return False


def place_in(frames: list[types.FrameType], key: Key, place: Place) -> Place | None:
    """A place, which another pass may have met, in this one; None of a function that has returned."""
    if key[0] >= 0:
        return place
    return Place(frames[key[0] - 1], place.key, "local") if len(frames) >= 1 - key[0] else None


def may_be_asked_for(place: Place) -> bool:
    """Whether the program can ask if it is there: an attribute, a global variable."""
    return place.kind != "cell" and not getattr(type(place.owner), "is_traced_list", False)


def write_state(values: dict[Key, tuple[Place, Any]], copied: Mapping[int, Any] = NOTHING_COPIED) -> None:
    """Assign to each place its value; of objects that are `copied`, that it was not the program that did."""
    frames: dict[int, tuple[types.FrameType, dict[str, Any]]] = {}
    for place, value in values.values():
        if place.kind == "local":
            frames.setdefault(id(place.owner), (place.owner, {}))[1][place.key] = value
        else:
            if id(place.owner) in copied:
                copied[id(place.owner)].write(place.key, value)
            place.write(value)
    for frame, names in frames.values():
        write_locals(frame, names)


def write_locals(frame: types.FrameType, names: dict[str, Any]) -> None:
    """Assign to local variables (and closure variables) of a running function, as debuggers do."""
    if sys.version_info >= (3, 13):
        frame.f_locals.update(names)  # writes through (PEP 667)
        return
    frame.f_locals.update(names)
    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def write_none(frame: types.FrameType, names: Iterable[str]) -> None:
    """Have these variables of a running function be None that have no value."""
    held = frame.f_locals
    write_locals(frame, {name: None for name in names if name not in held or type(held[name]) is Lost})
