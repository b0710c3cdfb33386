"""What places of objects are called that each pass over a body makes anew: by the way on which they are reached.

The sides of a branch are recorded in different passes. What each changes of such an object are the same places to the
program, but belong to another object in each pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .places import Key, Place
from .state import State

if TYPE_CHECKING:
    from ..record.recorder import Recorder

MADE = 1 << 62  # more than any identity


@dataclass
class PlaceNames:
    """Of the objects that are reached at one moment and were not there before the loop, their names."""

    names: dict[int, int] = field(default_factory=dict)  # by identity
    owners: dict[int, Any] = field(default_factory=dict)  # by name

    def named(self, state: State) -> State:
        """A state with its places called so."""
        if not self.names:
            return state
        values = {
            (self.names.get(owner, owner), kind, name): found for (owner, kind, name), found in state.values.items()
        }
        return replace(state, values=values)

    def place_now(self, key: Key, place: Place) -> Place | None:
        """A place, which another pass may have met, in this one; None where there is no such object."""
        if key[0] < MADE:
            return place
        return Place(self.owners[key[0]], place.key, place.kind) if key[0] in self.owners else None


def place_names(state: State, origin: State, known: dict[Any, int]) -> PlaceNames:
    """Of what `state` leads to and `origin` did not; `known` are the names of all moments, by the ways."""
    before, ways, found = origin.owners(), dict[int, Any](), PlaceNames()
    there = before | {id(value) for _, value in origin.values.values()}
    for (root, _, _), (place, value) in state.values.items():
        owner = id(place.owner)
        if place.kind == "local":
            way: Any = (min(root, 0), place.key)
        elif owner in before:
            way = (owner, place.kind, place.key)
        else:
            around = ways.get(owner, ("elsewhere", len(found.names)))
            if owner not in found.names:
                found.names[owner] = name = known.setdefault(around, MADE + len(known))
                found.owners[name] = place.owner
            way = (around, place.kind, place.key)
        ways.setdefault(id(value), way)
        if getattr(type(value), "is_traced_list", False) and id(value) not in found.names and id(value) not in there:
            found.names[id(value)] = name = known.setdefault(ways[id(value)], MADE + len(known))
            found.owners[name] = value  # which has a place as soon as a side appends to it
    return found


def lasting_places(
    recorder: Recorder, origin: State, there_before: set[int], made: dict[Key, tuple[Place, Any]]
) -> dict[Key, tuple[Place, Any]]:
    """Of places that are new, those that are there in the next pass: not of objects that this one has made."""
    # Nor what a new function shares with one that runs, and holds what it did before the loop.
    held = {(key[2], id(value)) for key, (place, value) in origin.values.items() if place.kind == "local"}
    made = {k: (p, v) for k, (p, v) in made.items() if p.kind != "cell" or (p.name, id(v)) not in held}
    own = made_since(recorder, origin, there_before, made)
    return {key: found for key, found in made.items() if id(found[0].owner) not in own}


def made_since(
    recorder: Recorder, origin: State, there_before: set[int], places: dict[Key, tuple[Place, Any]]
) -> set[int]:
    """Of the objects to which attributes belong, those that the program has made since `origin`, by identity."""
    owners = {id(place.owner) for place, _ in places.values() if place.kind == "attribute"} - there_before
    owners -= origin.led_to
    if owners:  # of an object that had no attribute yet, there is no place
        owners -= {id(value) for _, value in origin.values.values()}
    return owners - recorder.namespace.behind(owners).keys()
