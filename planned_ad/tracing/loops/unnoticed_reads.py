"""Whether what stands in for a value that cannot be told may be read in a way that it does not notice."""

from __future__ import annotations

import functools
import gc
import inspect
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...python.asked_for import asks_for_truths
from ...python.liveness import is_live, is_read_unnoticed, may_be_read
from ...python.shadows import is_user_frame
from ..record.lost_variables import Lost
from ..values.scalar_tracer import ScalarTracer
from .held import taken_apart
from .hidden_state import ATOMS
from .none_or_value import NoneOrValue
from .object_contents import has_attributes
from .places import Place
from .state import State

SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR  # code whose frames may wait

WAITING = (types.GeneratorType, types.CoroutineType)


def unnoticed(
    values: Iterable[tuple[Place, Any]], now: State, after_loop: bool | None = None, *, are_others_gone: bool = False
) -> str:
    """The name of such a variable, among those that are about to be written; empty where there is none.

    Of variables of a running function, the code is asked; what else holds something is read from anywhere. `now`:
    what there is beside what is written. `are_others_gone`: functions that are not in it are not called any more.
    """
    known: dict[int, bool] = {}
    values = [(place, value) for place, value in values if not is_all_plain(value, known)]
    sharing = Sharers([place.owner for place, value in values if place.kind == "cell" and has_lost(value)])
    for place, value in values:
        is_doubtful = has_lost(value) or is_truth_asked_for(place, value)
        if is_doubtful and may_be_reached(place, after_loop, now, are_others_gone, sharing):
            return place.name
        truths = (item for item in all_within(value) if item is not value and is_truth_asked_for(place, item))
        if next(truths, None) is not None and (place.kind != "local" or is_live(place.owner, place.key)):
            return place.name
        if any(is_truth_asked_for(place, item) for item in truths_among_numbers(value)):
            return place.name
    return ""


def is_all_plain(value: Any, known: dict[int, bool]) -> bool:
    """Whether it is a number or text of Python's, or there are only such in it; `known`: of containers, by identity."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if kind is not list and kind is not tuple and kind is not dict:
        return False
    found = known.get(id(value))
    if found is None:
        known[id(value)] = False  # in a circle
        items = value.values() if kind is dict else value
        found = known[id(value)] = all([is_all_plain(item, known) for item in items])
    return found


def all_within(value: Any) -> Iterator[Any]:
    """It, and what is in it, if it is a tuple, list or dict, at whatever depth."""
    yield value
    for item in items_within(value):
        yield from all_within(item)


def truths_among_numbers(value: Any) -> Iterator[ScalarTracer]:
    """What may be a truth of Python or another number, also in a tuple, list or dict."""
    if type(value) is ScalarTracer and (np.dtype(bool), True) in value.types:
        yield value
    for item in items_within(value):
        yield from truths_among_numbers(item)


def is_truth_asked_for(place: Place, value: Any) -> bool:
    """Whether it is a Python truth, which is known when the plan runs, in code that asks whether one `is True`."""
    if type(value) is NoneOrValue:  # of a variable that has none before a loop
        value = value.held
    if type(value) is not ScalarTracer:
        return False
    if (np.dtype(bool), True) not in (value.types or [(value.dtype, value.is_python)]):
        return False
    value.recorder.gives_truths = True
    return value.recorder.scopes.decisions.truths or (place.kind == "local" and asks_for_truths(place.owner.f_code))


class Sharers:
    """Who has some variables that functions share: they are looked for all at once, since that goes through memory."""

    def __init__(self, cells: list[types.CellType]):
        self.cells = cells
        self.functions: dict[int, list[types.FunctionType]] | None = None  # by the identity of a cell
        self.is_suspended = False  # whether a generator has one of them

    def look(self, cell: types.CellType) -> list[types.FunctionType]:
        """The functions that have it."""
        if self.functions is None or not any(cell is known for known in self.cells):
            self.cells.append(cell)
            holders = gc.get_referrers(*self.cells)
            self.is_suspended = any(isinstance(holder, WAITING) for holder in holders)
            closures = [holder for holder in holders if type(holder) is tuple]
            found = [f for f in gc.get_referrers(*closures) if type(f) is types.FunctionType] if closures else []
            self.functions = {}
            for function in found:
                for shared in function.__closure__ or ():
                    self.functions.setdefault(id(shared), []).append(function)
        return self.functions.get(id(cell), [])


def may_be_reached(place: Place, after_loop: bool | None, now: State, are_others_gone: bool, sharing: Sharers) -> bool:
    if place.kind == "local":
        return may_be_read(place.owner, place.key, after_loop)
    if place.kind == "cell":
        return cell_may_be_read(place, after_loop, now, are_others_gone, sharing)
    return not type(place.owner).__module__.startswith("planned_ad.")  # what is ours knows stand-ins


def cell_may_be_read(place: Place, after_loop: bool | None, now: State, are_others_gone: bool, shared: Sharers) -> bool:
    """Of a variable that functions share: by those that are running, or by the others when they are called."""
    cell, name = place.owner, place.key
    frame: types.FrameType | None = sys._getframe()
    around = set[types.CodeType]()
    while frame is not None:
        variables = (*frame.f_code.co_cellvars, *frame.f_code.co_freevars)
        if is_user_frame(frame) and name in variables:
            around.add(frame.f_code)
            if may_be_read(frame, name, after_loop):
                return True
        frame = frame.f_back
    sharing = codes_that_share(cell, name, now, around)
    if sharing is not None and not any(
        inner.co_flags & SUSPENDED or is_read_unnoticed(inner, name) for inner in sharing
    ):
        return False
    functions = shared.look(cell)
    if shared.is_suspended and any(isinstance(holder, WAITING) for holder in gc.get_referrers(cell)):
        return True
    known = now.led_to | {id(value) for _, value in now.values.values()} if are_others_gone else None
    return any(is_read_unnoticed(f.__code__, name) for f in functions if known is None or id(f) in known)


def codes_that_share(
    cell: types.CellType, name: str, now: State, around: Iterable[types.CodeType]
) -> tuple[types.CodeType, ...] | None:
    """The code of all functions that can share a variable: that in the function, which is running, whose it is.

    None where it is not known whose that is.
    """
    found = (obj for obj, _ in now.contents.values() if type(obj) is types.FunctionType)
    holder = next((f for f in found if any(shared is cell for shared in f.__closure__ or ())), None)
    if holder is None:
        return None
    for code in around:
        inner = codes_inside(code)
        if name in code.co_cellvars and holder.__code__ in inner and not code.co_flags & SUSPENDED:
            return tuple(each for each in inner if name in each.co_freevars)
    return None


@functools.lru_cache(1024)
def codes_inside(code: types.CodeType) -> tuple[types.CodeType, ...]:
    """Of the functions, comprehensions and classes that are defined in one, at whatever depth."""
    own = [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
    return (*own, *(deeper for inner in own for deeper in codes_inside(inner)))


def has_lost(value: Any) -> bool:
    return type(value) is Lost or any(map(has_lost, items_within(value)))


def items_within(value: Any) -> list[Any]:
    """What is in a tuple, list or dict; attributes are places of their own."""
    parts = None if has_attributes(type(value)) else taken_apart(value)
    return [] if parts is None else parts[2]
