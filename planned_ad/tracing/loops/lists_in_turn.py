"""Lists whose length is data of which one takes the place of another: `group = []`, `front, behind = behind, []`.

Where nobody else has either, the one that was there comes to hold what the other does: what changes is its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .list_room import room_for
from .places import Key, Place, is_dead, write_state
from .run_time_lists import RunTimeList
from .settling import settles
from .state import State, held_by_callers
from .traced_list import TracedList

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder

Turn = tuple[Key, Place, Any, Any]
Even = Callable[[Key, Any, Any], bool]


def take_turns(recorder: Recorder, before: State, now: State, is_even: Even = lambda key, old, new: False) -> bool:
    """Leave in each place the list that was there before, which comes to hold what the other does; whether any did.

    Lists whose length `is_even`, place by place, are no matter of this.
    """
    turns = [turn for turn in in_turn(before, now) if is_any_list(turn[2]) and is_any_list(turn[3])]
    of_lists = [turn for turn in turns if not is_even(turn[0], turn[2], turn[3])]
    waiting = [turn for turn in of_lists if not is_dead(turn[1])]
    for _, _, old, new in waiting:
        follow_lists_in_turn(recorder, old, new, before)
    moved = 0
    for _ in waiting:  # what one leaves free another one may take
        for key, place, old, new in in_turn(before, now):
            if not type(old) is type(new) is RunTimeList or old.row or new.row or holders(old, now):
                continue
            places, others = holding(old, before), holding(new, now)
            if not places or holders(old, before, places) or holders(new, now, others) or others.keys() - places.keys():
                continue
            old.take(new)
            taking = {key: (place, old), **{key: (place, old) for key, place in others.items()}}
            now.values.update(taking)
            write_state(taking)
            moved += 1
    return moved > 0


def is_any_list(value: Any) -> bool:
    return type(value) in (list, TracedList, RunTimeList)


def in_turn(before: State, now: State) -> list[Turn]:
    """The places in which there is another object than before."""
    both = ((key, *now.values[key], before.values[key][1]) for key in before.values if key in now.values)
    return [(key, place, old, new) for key, place, new, old in both if old is not new]


def holding(items: Any, state: State) -> dict[Key, Place]:
    """The places that may be read in which a list is: several, where a variable is that of functions inside, too."""
    found = {key: place for key, (place, value) in state.values.items() if value is items}
    return {key: place for key, place in found.items() if not is_dead(place)}


def holders(items: Any, state: State, beside: Mapping[Key, Place] = MappingProxyType({})) -> list[Any]:
    """What leads to a list: places that may be read, functions that wait, and other things (a method, a tuple)."""
    found: list[Any] = [place for key, place in holding(items, state).items() if key not in beside]
    others = [state.frame] if held_by_callers(items, state.frame) else []
    return [*found, *others, *([state] if id(items) in state.led_to else [])]


def follow_lists_in_turn(recorder: Recorder, old: Any, new: Any, before: State) -> None:
    """Lists of several lengths in turn are such lists: the trace starts again, unless that was tried."""
    decisions = recorder.scopes.decisions
    if RunTimeList not in (type(old), type(new)) and length_begun(recorder, old, before) == length_now(new):
        return
    sites = {site for site in (site_of_list(recorder, old), site_of_list(recorder, new)) if site is not None}
    if decisions.attempt is not None:
        raise recorder.scopes.give_up(decisions.attempt, for_good=False)
    if settles(recorder, recorder.scopes.open, sites):
        raise recorder.scopes.restart()
    sites -= decisions.plain | decisions.lengths.keys()
    if sites:
        decisions.growing |= sites
        decisions.lengths |= dict.fromkeys(sites, room_for(recorder, [*parts_held(old), *parts_held(new)]))
        raise recorder.scopes.restart()


def site_of_list(recorder: Recorder, items: Any) -> Site | None:
    """The instruction that has made a list, where that can make another kind of list."""
    if type(items) is TracedList:
        return None if items.is_element else items.site
    return recorder.displays[id(items)][1] if type(items) is list and id(items) in recorder.displays else None


def parts_held(items: Any) -> Iterator[Any]:
    if type(items) is not RunTimeList:
        yield from items.parts if type(items) is TracedList else items
    elif items.column is not None:
        yield items.segment()


def length_now(items: Any) -> object:
    return items.extent() if type(items) is TracedList else len(items)


def length_begun(recorder: Recorder, items: Any, before: State) -> object:
    """The length that a list had at the beginning of this pass over a loop."""
    if id(items) in before.sizes and type(items) is list:
        return before.sizes[id(items)][1]
    loops = [scope.loop for scope in recorder.scopes.open if scope.loop is not None]
    grown = [loop.growth.lists[id(items)] for loop in loops if id(items) in loop.growth.lists]
    begun = next((found.begun for found in grown if found.begun is not None), None)
    return length_now(items) if begun is None else length_now(items.like(list(begun)))
