"""What objects hold: the places that belong to them, with their values, and what they merely lead to.

A body is recorded many times, and at each test in it all that it can reach is looked at; most of that is as it was
the last time, a class with its functions or a list of coefficients. Then so is what has been found in it.
"""

from __future__ import annotations

import collections
import functools
import gc
import sys
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import is_
from typing import Any

import numpy as np

from ...python.attributes_held import attributes_held, named_slots
from ...python.by_class import kept_by_class
from ...python.shadows import TRACED_OURS, ShadowClass, ShadowGlobals, ShadowModule, globals_of, is_user_class
from ..record.lost_variables import Lost
from ..record.traced import TracedArray
from ..values.loop_index import LoopIndex
from ..values.scalar_tracer import ScalarTracer
from .hidden_state import ATOMS, BUFFERS, Identities, Order, held_by, is_iterator, may_hide, methods_of, plain_or_id
from .places import Key, Place
from .references import RecordInRow
from .unassigned import give_own_defaults

CONTAINERS = (list, dict, collections.OrderedDict, collections.defaultdict, collections.deque)
BY_ITEMS = (list, collections.deque, set)
UNCHANGEABLE = (tuple, frozenset, types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)
BY_REFERENTS = (property, staticmethod, classmethod, slice)
PLAIN, LONG = {float, int, bool, str}, 4096  # what lists are compared as a whole that have so many items, all of this
CALLABLE = (
    types.FunctionType, types.MethodType, types.BuiltinMethodType, types.MethodWrapperType, functools.partial,
)  # fmt: skip
LIBRARIES = ("collections", "contextlib", "functools", "queue")  # whose objects are followed as the program's own are
LEAD_NOWHERE = frozenset((*ATOMS, ScalarTracer, LoopIndex))  # what most variables hold
OF_THE_PROGRAM: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()  # what that says of classes
INERT: set[type] = set()  # classes of which that has been found out, none of them the program's
OF_SHADOWS = ("__real_class__", "__shadow_mro__", "__shadows_below__", "__assigned__")  # which traced code does not see
SETTABLE: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()  # what `has_attributes` says of classes
NOT_COMPARED, UNSET = object(), object()


@dataclass(slots=True)
class Holding:
    """What one object held when it was looked at.

    Parameters
    ----------
    obj
        the object, which is kept: its identity stays its own.
    parts : tuple or None
        what it has that program code can exchange: it holds the same as long as these are the same objects. None of
        objects that are looked at each time.
    values, lost : dict
        its places with their values, and those with stand-ins.
    with_state : list of (Place, value)
        of these, values of which more than the identity is looked at.
    leads_to : list
        objects to look at next.
    led_to : set of int
        by identity, what is reached otherwise than by a place.
    whole
        what is compared of it as a whole.
    size : int or None
        of a container.
    """

    obj: Any
    parts: tuple[Any, ...] | None
    values: dict[Key, tuple[Place, Any]] = field(default_factory=dict)
    lost: dict[Key, Lost] = field(default_factory=dict)
    with_state: list[tuple[Place, Any]] = field(default_factory=list)
    leads_to: list[Any] = field(default_factory=list)
    led_to: set[int] = field(default_factory=set)
    whole: Any = NOT_COMPARED
    size: int | None = None

    def is_up_to_date(self) -> bool:
        """Whether the object still holds this."""
        before, now = self.parts, exchangeable_parts(self.obj)
        return before is not None and now is not None and len(before) == len(now) and all(map(is_, before, now))


def forget_held(held: dict[int, Holding]) -> None:
    """Let go of what objects held, and of these: of all but lists of numbers, which nobody misses."""
    for key in [key for key, found in held.items() if type(found.obj) is not list or found.leads_to]:
        del held[key]


def look_at(obj: Any) -> Holding:
    """What an object holds now."""
    kind: Any = type(obj)
    give_own_defaults(obj)
    found = Holding(obj, exchangeable_parts(obj), whole=_compared_as_a_whole(obj))
    if is_long_list(obj):
        found.whole, found.size = tuple(obj), len(obj)
        return found
    for place, value in what_it_leads_to(obj):
        if place is None:
            found.led_to.add(id(value))
        else:
            key = id(place.owner), place.kind, place.key
            if type(value) is Lost:
                found.lost[key] = value
            else:
                found.values[key] = (place, value)
                if has_state(type(value)):
                    found.with_state.append((place, value))
        if type(value) not in LEAD_NOWHERE:
            found.leads_to.append(value)
    if getattr(kind, "is_traced_list", False):
        found.size = 0  # it takes care of its elements itself
    elif isinstance(obj, (dict, *CONTAINERS, set)) and kind is not ShadowGlobals:
        found.size = len(obj)
    return found


def exchangeable_parts(obj: Any) -> tuple[Any, ...] | None:
    """The objects by which it is seen whether an object holds what it did; None of what is looked at each time."""
    kind: Any = type(obj)
    if kind is types.FunctionType:
        own = (obj.__code__, obj.__name__, obj.__doc__, obj.__defaults__)
        notes = () if sys.version_info >= (3, 14) else (obj.__annotations__,)  # since then reading them is running code
        named = (*(obj.__kwdefaults__ or {}).values(), *vars(obj), *vars(obj).values())
        return (*own, *notes, *named, *(held_in_cell(cell, UNSET) for cell in obj.__closure__ or ()))
    if kind in BY_ITEMS:
        return tuple(obj) if len(obj) <= LONG else None
    if kind in CONTAINERS:
        return (*obj, *obj.values())
    if kind is ShadowGlobals:
        return (*dict.keys(obj), *dict.values(obj))
    if kind in UNCHANGEABLE:
        return ()
    if kind in BY_REFERENTS:
        return tuple(gc.get_referents(obj))
    if issubclass(kind, type) and not any(map(named_slots, kind.__mro__)):
        return (kind, *obj.__mro__, *vars(obj), *vars(obj).values())
    if has_attributes_only(kind):
        return (kind, *(part for pair in attributes_held(obj) for part in pair))
    return None


@kept_by_class
def has_attributes_only(kind: Any) -> bool:
    """Whether all that can be exchanged in objects of a class is their attributes."""
    others = (*CONTAINERS, *BUFFERS, tuple, set, frozenset, np.ndarray, type)
    return (
        has_attributes(kind)
        and not issubclass(kind, others)
        and not hasattr(kind, "is_traced_list")
        and not hasattr(kind, "is_iterator")
        and not is_iterator(kind)
    )


@kept_by_class
def has_state(kind: Any) -> bool:
    """Whether of values of a class more is looked at than which object it is."""
    by_itself = (TracedArray, np.ndarray, set)
    return is_iterator(kind) or hasattr(kind, "is_iterator") or issubclass(kind, by_itself) or has_attributes(kind)


def _compared_as_a_whole(obj: Any) -> Any:
    """What of an object is compared, and never put back."""
    kind: Any = type(obj)
    if kind is types.FunctionType and not is_ours(obj):
        cells = () if type(obj.__globals__) is ShadowGlobals else tuple(map(plain_or_id, held_in_cells(obj)))
        defaults = Identities([*(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()])
        return obj.__code__, obj.__name__, obj.__doc__, cells, defaults
    if isinstance(obj, type):
        return methods_of(obj)
    if isinstance(obj, dict) and kind is not ShadowGlobals and not hasattr(kind, "is_traced_list"):
        return Order(obj)
    if isinstance(obj, BUFFERS):
        return held_by(obj)
    return kind if has_attributes(kind) else NOT_COMPARED  # which may be set, too


def is_long_list(obj: Any) -> bool:
    """Whether it is a list of so many plain numbers that they are compared as a whole, and not place by place."""
    return type(obj) is list and len(obj) > LONG and set(map(type, obj)) <= PLAIN


def is_inert(obj: Any) -> bool:
    """Whether objects of its class lead nowhere, and have no state that is looked at."""
    kind: Any = type(obj)
    if issubclass(kind, (tuple, type, np.ndarray, types.ModuleType)):  # where it depends on the object
        return False
    return not (has_contents(obj) or may_hide(obj) or is_iterator(kind) or hasattr(kind, "is_iterator"))


def has_contents(obj: Any) -> bool:
    kind = type(obj)
    return (
        kind in CONTAINERS
        or kind in (tuple, set, frozenset, slice, property, staticmethod, classmethod, types.MappingProxyType)
        or kind in (types.SimpleNamespace, ShadowGlobals, ShadowModule, *CALLABLE)
        or (kind is np.ndarray and obj.dtype.hasobject)
        or (isinstance(obj, tuple) and hasattr(obj, "_fields"))
        or getattr(kind, "is_traced_list", False)
        or has_attributes(kind)
        or (issubclass(kind, type) and is_of_the_program(obj))
    )


def is_of_the_program(cls: type) -> bool:
    """Whether a class may have attributes that are the program's."""
    found = OF_THE_PROGRAM.get(cls)
    if found is None:
        found = OF_THE_PROGRAM[cls] = isinstance(cls, ShadowClass) or is_user_class(cls)
    return found


def has_attributes(kind: type) -> bool:
    """Whether objects of a class have attributes that the program may set; also of one that traced code defines."""
    found = SETTABLE.get(kind)
    if found is None:
        found = SETTABLE[kind] = _may_be_set(kind) and not issubclass(kind, RecordInRow)
    return found


def _may_be_set(kind: type) -> bool:
    return (
        kind is types.SimpleNamespace
        or isinstance(kind, ShadowClass)
        or is_user_class(kind)
        or (kind.__module__ in LIBRARIES and kind not in (*CONTAINERS, *CALLABLE))
    )


def what_it_leads_to(obj: Any) -> Iterator[tuple[Place | None, Any]]:
    """The places that belong to an object, with their values; what it merely leads to has no place."""
    kind = type(obj)
    if kind is types.FunctionType:
        if type(obj.__globals__) is not ShadowGlobals:  # of a library, which nobody is to write to
            for value in held_in_cells(obj):  # of ours the program's functions, which it calls
                yield None, value if not is_ours(obj) or type(value) in CALLABLE else None
            return
        if may_change(obj.__globals__):
            yield None, obj.__globals__
        for value in (*(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()):
            yield None, value  # one by one: what is made here is known by its identity
        if sys.version_info < (3, 14):  # since then reading them is running code
            yield None, obj.__annotations__
        for name, value in vars(obj).items():
            yield Place(obj, name, "attribute"), value
        for cell, name in zip(obj.__closure__ or (), obj.__code__.co_freevars):
            try:
                yield Place(cell, name, "cell"), cell.cell_contents
            except ValueError:
                continue
    elif kind in (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType):
        yield None, obj.__self__
        yield None, getattr(obj, "__func__", None)
    elif kind is functools.partial:
        for value in (obj.func, *obj.args, obj.keywords, vars(obj)):
            yield None, value
    elif kind in (property, staticmethod, classmethod, slice, types.MappingProxyType, functools._lru_cache_wrapper):
        for value in gc.get_referents(obj):  # of a cache, what it keeps
            yield None, value
    elif kind is np.ndarray:
        for value in obj.reshape(-1).tolist():
            yield None, value
    elif kind is ShadowGlobals:
        for name, value in dict.items(obj):
            if not name.startswith("__"):
                leads = isinstance(value, ShadowModule | type | types.ModuleType)
                yield None if leads else Place(obj, name, "item"), value
    elif kind is ShadowModule or issubclass(kind, type):
        if kind is ShadowModule:
            yield None, globals_of(obj)
        else:
            yield None, kind
            for base in obj.__mro__[1:]:
                yield None, base if isinstance(base, ShadowClass) else None
        for name, value in list(vars(obj).items()):
            if name.startswith("__") or hasattr(type(value), "__get__") or callable(value):
                if isinstance(value, type) or kind is not ShadowModule:
                    yield None, value if name not in OF_SHADOWS else None
            elif not isinstance(value, types.ModuleType):
                yield Place(obj, name, "class" if kind is not ShadowModule else "attribute"), value
    elif getattr(kind, "is_traced_list", False):
        for name, value in obj.held():
            yield None if name is None else Place(obj, name, "attribute"), value
    elif isinstance(obj, dict):
        for key, value in obj.items():
            yield Place(obj, key, "item"), value
            yield None, key
    elif isinstance(obj, list | collections.deque):
        for key, value in enumerate(obj):
            yield Place(obj, key, "item"), value
    elif isinstance(obj, tuple | set | frozenset):
        for value in obj:
            yield None, value
    if has_attributes(kind):
        yield None, kind
        for key, value in attributes_held(obj):
            yield Place(obj, key, "attribute"), value


def may_change(names: dict[str, Any]) -> bool:
    """Whether they are the global variables of traced code other than this package's, which never changes its own."""
    return type(names) is ShadowGlobals and dict.get(names, "__name__") not in TRACED_OURS


def is_ours(f: types.FunctionType) -> bool:
    """Whether a function is of this package, such as what stands for one of NumPy's."""
    return str(f.__globals__.get("__name__")).startswith("planned_ad.")


def held_in_cells(f: types.FunctionType) -> Iterator[Any]:
    """What a function closes over."""
    for cell in f.__closure__ or ():
        held = held_in_cell(cell, UNSET)
        if held is not UNSET:
            yield held


def held_in_cell(cell: types.CellType, otherwise: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return otherwise
