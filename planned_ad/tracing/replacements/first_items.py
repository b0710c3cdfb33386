"""`next` of a generator expression: of traced tests the first item that there is, all of them looked at.

So the loop in it stays a loop, where nothing tells how far it came; an expression that somebody holds gives its items
one by one.
"""

from __future__ import annotations

import builtins
import functools
import sys
from typing import Any

from ...python.written_calls import first_of_all
from ..loops.consumers import Consumer, assigns, is_generator_expression
from ..loops.dict_tables import ordered_view
from ..loops.letters import Letter
from ..loops.none_or_value import NoneOrValue, decided
from ..loops.side_effects import SideEffects
from ..record.recorder import Recorder
from .choosing import is_number, where

OURS = 2  # references to what nobody else holds: the argument, and that of `getrefcount`


def first_item_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, `next`."""

    @functools.wraps(next, ("__name__", "__doc__"), ())
    def first_item(items: Any, /, *default: Any) -> Any:
        frame, stepped = sys._getframe(1), recorder.scopes.decisions.stepped
        site = (frame.f_code, frame.f_lasti)
        if not is_generator_expression(items) or assigns(items.gi_code) or is_elsewhere(items, frame):
            return builtins.next(items, *default)
        if site in stepped or not recorder.scopes.may_try(site):
            return builtins.next(items, *default)
        recorder.mark()
        depth, effects, required = recorder.scopes.depth, SideEffects(recorder, items), recorder.scopes.required
        consumer, inner = Consumer(None, may_end=True), items.gi_frame
        recorder.consumers[inner] = consumer
        is_stepped = False
        try:
            for item in items:
                is_stepped = is_stepped or not may_take_turns(recorder, item) or recorder.scopes.required != required
                if type(item) is tuple and recorder.scopes.depth:
                    recorder.rows_given.add(site)  # it will be another tuple
                consumer.value = first_or_this(recorder, consumer.value, item)
                if recorder.scopes.depth == depth and type(consumer.value) is not NoneOrValue:
                    break
        finally:
            del recorder.consumers[inner]
        if is_stepped or effects.show():
            stepped.add(site)
            raise recorder.scopes.restart()
        value = consumer.value
        found = value.needed(StopIteration) if type(value) is NoneOrValue and not default else decided(value)
        return found if found is not None else builtins.next(iter(()), *default)

    def first_in_order(items: Any) -> Any:
        view = ordered_view(items)
        if view is None:
            return builtins.next(builtins.iter(items))
        return view.first(lambda none: builtins.next(builtins.iter(none)), StopIteration)

    return {id(next): first_item, id(first_of_all): first_in_order}


def first_or_this(recorder: Recorder, found: Any, item: Any) -> Any:
    """What has been found so far, or this item."""
    if type(found) is NoneOrValue:
        one, other = (value if type(value) is tuple else (value,) for value in (found.held, item))
        if len(one) == len(other) and all(is_number(recorder, a, b) for a, b in zip(one, other)):
            chosen = tuple(where(recorder, found.present, a, b) for a, b in zip(one, other))
            return chosen if type(item) is tuple else chosen[0]
    found = decided(found)
    return item if found is None else found


def may_take_turns(recorder: Recorder, item: Any) -> bool:
    """Whether it is a number, a text, or a tuple of such: no object that the program has by reference."""
    parts = item if type(item) is tuple else (item,)
    return all(type(part) in (str, Letter) or is_number(recorder, part) for part in parts)


def is_elsewhere(items: Any, frame: Any) -> bool:
    """Whether the program may ask a generator for more."""
    return sys.getrefcount(items) > OURS + 1 or any(value is items for value in frame.f_locals.values())
