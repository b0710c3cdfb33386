"""The state of a running Python program, as far as a loop's body can change it: variables, and what they lead to.

A body is recorded several times from the same state, which therefore has to be read, put back and compared: the local
variables of a frame, the items of lists and dicts, the attributes of the user's objects, and closure cells that can
be reached from them. Tuples are values.
"""

from __future__ import annotations

import collections
import ctypes
import functools
import gc
import sys
import types
import weakref
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...python.frames import user_frame
from ...python.shadows import (
    TRACED_OURS,
    ShadowClass,
    ShadowGlobals,
    ShadowModule,
    globals_of,
    is_user_class,
    set_class_attribute,
)
from ...python.structure import attributes_of
from ..record.lost_variables import Lost
from ..record.traced import TracedArray
from ..values.loop_index import LoopIndex
from ..values.scalar_tracer import ScalarTracer
from .hidden_state import ATOMS, BUFFERS, Identities, Order, held_by, is_iterator, may_hide, methods_of, plain_or_id

CONTAINERS = (list, dict, collections.OrderedDict, collections.defaultdict, collections.deque)
PLAIN, LONG = {float, int, bool, str}, 4096  # what lists are compared as a whole that have so many items, all of this
CALLABLE = (
    types.FunctionType, types.MethodType, types.BuiltinMethodType, types.MethodWrapperType, functools.partial,
)  # fmt: skip
LIBRARIES = ("collections", "contextlib", "functools", "queue")  # whose objects are followed as the program's own are
LEAD_NOWHERE = frozenset((*ATOMS, ScalarTracer, LoopIndex))  # what most variables hold
OF_THE_PROGRAM: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()  # what that says of classes
INERT: set[type] = set()  # classes of which that has been found out, none of them the program's
OF_SHADOWS = ("__real_class__", "__shadow_mro__", "__shadows_below__")  # which traced code does not see
NOTHING_COPIED: Mapping[int, Any] = types.MappingProxyType({})
SETTABLE: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()  # what `has_attributes` says of classes


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


Key = tuple[int, str, Any]


@dataclass
class State:
    """What each place holds, at one moment."""

    values: dict[Key, tuple[Place, Any]] = field(default_factory=dict)
    sizes: dict[int, tuple[Any, int]] = field(default_factory=dict)  # of the containers
    contents: dict[int, tuple[Any, object]] = field(default_factory=dict)  # of sets, and arrays that are not traced
    lost: dict[Key, Lost] = field(default_factory=dict)  # the places that hold a stand-in for what cannot be told
    led_to: set[int] = field(default_factory=set)  # by identity, what is reached otherwise than by a place: by a method
    frame: types.FrameType | None = None  # in which the code runs
    is_opaque: bool = False  # whether there are objects of which it is not known whether they have a state
    hidden: str = ""  # what there is that nobody can put back, an iterator or the like; empty if there is none
    unseen: str = ""  # an iterator, say, of which nobody can tell how far it is

    def add(self, place: Place, value: Any) -> None:
        key = id(place.owner), place.kind, place.key
        if type(value) is Lost:
            self.lost[key] = value
            return
        self.values[key] = (place, value)
        kind: Any = type(value)
        if is_iterator(kind) or is_advanced(value):
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

    def arrays(self) -> list[Any]:
        """The traced arrays that variables hold, and those in which lists lie."""
        found = [value for _, value in self.values.values()]
        held = [value.held if getattr(type(value), "may_be_none", False) else value for value in found]
        lists = [value.memory for value in held if getattr(type(value), "is_traced_list", False) and value.is_written]
        return [value for value in held if issubclass(type(value), TracedArray)] + lists


def place_in(frames: list[types.FrameType], key: Key, place: Place) -> Place | None:
    """A place, which another pass may have met, in this one; None of a function that has returned."""
    if key[0] >= 0:
        return place
    return Place(frames[key[0] - 1], place.key, "local") if len(frames) >= 1 - key[0] else None


def may_be_asked_for(place: Place) -> bool:
    """Whether the program can ask if it is there: an attribute, a global variable."""
    return place.kind != "cell" and not getattr(type(place.owner), "is_traced_list", False)


def is_advanced(value: Any) -> bool:
    """Whether something is an iterator of ours that the program may ask for more."""
    return getattr(type(value), "is_iterator", False) and value.is_open


def is_finalised(value: Any) -> bool:
    """Whether something happens when an object of the program's is gone: recordings have it live on."""
    kind: Any = type(value)
    if not has_attributes(kind):
        return False
    return hasattr(kind, "__del__") or any(ref.__callback__ is not None for ref in weakref.getweakrefs(value))


def capture(frame: types.FrameType, consumer: Any = None, seen: dict[int, Any] | None = None) -> State:
    """The state that code running in `frame` can reach; of a generator expression also its `consumer`'s value.

    `seen` has what other frames have led to, by identity, which is theirs as long as they are here: it is left out.
    """
    state = State(frame=frame)
    seen = {} if seen is None else seen
    waiting: list[Any] = []
    if consumer is not None:
        state.add(Place(consumer, "value", "attribute"), consumer.value)
        waiting.append(consumer.value)
    for name, value in frame.f_locals.items():
        if name.startswith("."):  # the iterator of a comprehension
            continue
        state.add(Place(frame, name, "local"), value)
        waiting.append(value)
    if may_change(frame.f_globals):
        waiting.append(frame.f_globals)
    while waiting:
        obj = waiting.pop()
        kind: Any = type(obj)
        if kind in LEAD_NOWHERE or kind in INERT or id(obj) in seen:
            continue
        if is_inert(obj):
            INERT.add(kind)
            continue
        if is_iterator(kind) or is_advanced(obj):
            state.hidden = state.hidden or f"an iterator, `{kind.__name__}`"
            state.unseen = state.hidden if is_iterator(kind) else state.unseen
        if getattr(kind, "is_iterator", False):
            state.contents[id(obj)] = (obj, obj.progress)
        if not _has_contents(obj):
            if may_hide(obj) and not is_iterator(kind):  # nobody can look into those
                seen[id(obj)] = obj
                waiting.append(kind)
                held = held_by(obj)
                state.contents[id(obj)] = (obj, held)
                state.is_opaque = state.is_opaque or held.is_opaque
                if held.stateful:
                    state.hidden = state.unseen = f"an object that moves on, `{held.stateful}`"
                state.led_to.update(id(kept) for kept in held.kept if kept is not obj)
            continue
        seen[id(obj)] = obj
        if kind is types.FunctionType and not is_ours(obj):
            cells = () if type(obj.__globals__) is ShadowGlobals else tuple(map(plain_or_id, held_in_cells(obj)))
            defaults = Identities([*(obj.__defaults__ or ()), *(obj.__kwdefaults__ or {}).values()])
            state.contents[id(obj)] = (obj, (obj.__code__, obj.__name__, obj.__doc__, cells, defaults))
        elif isinstance(obj, type):
            state.contents[id(obj)] = (obj, methods_of(obj))
        elif isinstance(obj, dict) and type(obj) is not ShadowGlobals:
            state.contents[id(obj)] = (obj, Order(obj))
        elif isinstance(obj, BUFFERS):
            state.contents[id(obj)] = (obj, held_by(obj))
        elif has_attributes(kind):
            state.contents[id(obj)] = (obj, kind)  # which may be set, too
        if is_long_list(obj):
            state.contents[id(obj)], state.sizes[id(obj)] = (obj, tuple(obj)), (obj, len(obj))
            continue
        for place, value in _contents(obj):
            if place is not None:
                state.add(place, value)
            else:
                state.led_to.add(id(value))
            waiting.append(value)
        if getattr(type(obj), "is_traced_list", False):
            state.sizes[id(obj)] = (obj, 0)  # it takes care of its elements itself
        elif isinstance(obj, (dict, *CONTAINERS, set)) and type(obj) is not ShadowGlobals:
            state.sizes[id(obj)] = (obj, len(obj))
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


def is_long_list(obj: Any) -> bool:
    """Whether it is a list of so many plain numbers that they are compared as a whole, and not place by place."""
    return type(obj) is list and len(obj) > LONG and set(map(type, obj)) <= PLAIN


def is_inert(obj: Any) -> bool:
    """Whether objects of its class lead nowhere, and have no state that is looked at."""
    kind: Any = type(obj)
    if issubclass(kind, (tuple, type, np.ndarray, types.ModuleType)):  # where it depends on the object
        return False
    return not (_has_contents(obj) or may_hide(obj) or is_iterator(kind) or hasattr(kind, "is_iterator"))


def _has_contents(obj: Any) -> bool:
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
        found = SETTABLE[kind] = _may_be_set(kind)
    return found


def _may_be_set(kind: type) -> bool:
    return (
        kind is types.SimpleNamespace
        or isinstance(kind, ShadowClass)
        or is_user_class(kind)
        or (kind.__module__ in LIBRARIES and kind not in (*CONTAINERS, *CALLABLE))
    )


def _contents(obj: Any) -> Iterator[tuple[Place | None, Any]]:
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


def attributes_held(obj: Any) -> Iterator[tuple[str, Any]]:
    """Its attributes, past a `__getattr__` of the user's, which an object half made may not bear."""
    kind = type(obj)
    if kind.__dictoffset__:
        yield from object.__getattribute__(obj, "__dict__").items()
    for cls in kind.__mro__:
        for key in named_slots(cls):
            try:
                yield key, vars(cls)[key].__get__(obj)
            except AttributeError:  # not assigned yet
                continue


def may_change(names: dict[str, Any]) -> bool:
    """Whether they are the global variables of traced code other than this package's, which never changes its own."""
    return type(names) is ShadowGlobals and dict.get(names, "__name__") not in TRACED_OURS


def is_ours(f: types.FunctionType) -> bool:
    """Whether a function is of this package, such as what stands for one of NumPy's."""
    return str(f.__globals__.get("__name__")).startswith("planned_ad.")


def held_in_cells(f: types.FunctionType) -> Iterator[Any]:
    """What a function closes over."""
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue


def named_slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    private = f"_{cls.__name__.lstrip('_')}"
    names = tuple(private + n if n.startswith("__") and not n.endswith("__") else n for n in names)
    return tuple(n for n in names if isinstance(vars(cls).get(n), types.MemberDescriptorType))


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


def held_by_callers(obj: Any, frame: types.FrameType | None) -> bool:
    """Whether a function that has called that of `frame` leads to an object, too."""
    frame = user_frame(frame.f_back) if frame is not None else None
    while frame is not None:
        state = capture(frame)
        if id(obj) in state.led_to or any(value is obj for _, value in state.values.values()):
            return True
        frame = user_frame(frame.f_back)
    return False


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
