"""The state of objects that are not followed place by place: looked at as a whole, compared, and never put back.

A member of an enumeration that counts, a queue, a `bytearray`, the attributes of another library's object: where a
body changes one of these, what it does in one iteration says nothing of the next, whether that shows or not.
"""

from __future__ import annotations

import array
import collections
import contextvars
import ctypes
import decimal
import gc
import io
import random
import sys
import threading
import types
import weakref
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...python.by_class import kept_by_class
from ...python.shadows import ShadowClass, is_traced, is_user_class

MOST, MOST_OF_LIBRARIES = 256, 32  # objects that are looked at, behind one
MOST_BYTES = 1 << 16
ATOMS = (int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), object)
FIXED = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType,
    types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType, np.dtype, np.ufunc, np.generic,
)  # fmt: skip
# Whose objects, but for their attributes, have no state; and of whose objects nobody computes with what changes.
CLEAR = ("numpy", "scipy", "types", "re", "datetime", "fractions", "typing", "pathlib", "operator", "collections")
LEFT_OUT = ("planned_ad", "numba", "llvmlite", "logging", "_abc")
# Of the standard library's classes in C those whose objects have no state, or one that programs do not compute with.
PLAIN = (
    "builtins", "_thread", "_io", "_struct", "_decimal", "decimal", "_functools", "functools", "_operator", "_json",
    "_datetime", "zoneinfo", "_contextvars", "_weakref", "weakref", "_ctypes", "ctypes", "_collections_abc", "_abc",
    "_csv", "_multiprocessing",
    "_ssl", "_socket", "_asyncio", "_uuid", "_locale", "enum", "array", "collections", "_random", "random", "threading",
)  # fmt: skip
FIELDS = (type(vars(collections.namedtuple("Pair", "first"))["first"]),)  # which nothing moves on
SHOWN = (types.MappingProxyType, slice, types.SimpleNamespace)  # whose referents are all there is
PICKLED = (io.StringIO, io.BytesIO, decimal.Context)
BUFFERS = (bytearray, memoryview, array.array, ctypes.Structure, ctypes.Array, ctypes._SimpleCData)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Look:
    """What an object and those behind it hold, as something to compare.

    Parameters
    ----------
    parts : tuple
    is_opaque : bool
        whether there are some that cannot be looked into.
    stateful : str
        the class of one of these that moves on; empty where there is none.
    kept : list
        objects whose identity is among the parts, which stay theirs.
    """

    parts: tuple[Any, ...]
    is_opaque: bool = field(compare=False)
    stateful: str = field(compare=False)
    kept: list[Any] = field(compare=False, repr=False)


class Identities:
    """Which objects there are, in order, to be compared with those of another time."""

    __slots__ = ("objects",)

    def __init__(self, objects: Iterable[Any]):
        self.objects = tuple(objects)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Identities) and [*map(id, self.objects)] == [*map(id, other.objects)]

    __hash__ = None  # type: ignore[assignment]


class Order:
    """In which order a dict has its keys; that it has others is another change."""

    __slots__ = ("keys",)

    def __init__(self, keys: Iterable[Any]):
        self.keys = tuple(keys)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Order):
            return False
        if [*map(id, self.keys)] == [*map(id, other.keys)]:
            return True
        both = set(self.keys) & set(other.keys)
        return [key for key in self.keys if key in both] == [key for key in other.keys if key in both]

    __hash__ = None  # type: ignore[assignment]


def methods_of(cls: type) -> Identities:
    """The functions and properties of a class, and what it is derived from."""
    found = [(name, value) for name, value in vars(cls).items() if callable(value) or hasattr(type(value), "__get__")]
    own = (part for pair in sorted(found, key=lambda pair: pair[0]) for part in pair)
    return Identities([*own, *cls.__bases__])


def may_hide(obj: Any) -> bool:
    """Whether an object may have a state that is not followed."""
    kind: Any = type(obj)
    return _may_hide(kind) or is_programs_own(obj)


@kept_by_class
def _may_hide(kind: Any) -> bool:
    return kind not in ATOMS and not issubclass(kind, FIXED) and (package_of(kind) not in LEFT_OUT or is_stateful(kind))


def is_programs_own(obj: Any) -> bool:
    """Whether it is a class or module of the program's, of those that traced code sees as they are."""
    if isinstance(obj, type):
        return is_traced(obj.__module__, getattr(sys.modules.get(obj.__module__), "__file__", None))
    return type(obj) is types.ModuleType and is_traced(obj.__name__, getattr(obj, "__file__", None))


@kept_by_class
def is_iterator(kind: Any) -> bool:
    """Whether it is a class of iterators that are not Python code: they move on, and nothing puts them back."""
    if package_of(kind) in LEFT_OUT or isinstance(kind, ShadowClass) or is_user_class(kind):
        return False
    steps = callable(getattr(kind, "__next__", None)) or issubclass(
        kind, types.CoroutineType | types.AsyncGeneratorType
    )
    return steps and not issubclass(kind, io.IOBase)


def generators_in(frame: types.FrameType) -> list[types.GeneratorType]:
    """The generator that runs in a frame; none where that is not one. (It is among the last objects made, mostly.)"""
    for generation in (0, 1):
        for found in gc.get_objects(generation):
            if type(found) is types.GeneratorType and found.gi_frame is frame:
                return [found]
    return [g for g in gc.get_referrers(frame) if type(g) is types.GeneratorType and g.gi_frame is frame]


def iterator_over(frame: types.FrameType) -> str:
    """The kind of iterator in C that takes the items of the generator which runs in `frame`; empty if there is none."""
    for generator in generators_in(frame):
        holders = gc.get_referrers(generator)
        holders += [outer for holder in holders if type(holder) is tuple for outer in gc.get_referrers(holder)]
        for kind in map(type, holders):
            if is_iterator(kind) and kind is not types.GeneratorType:
                return kind.__name__
    return ""


@kept_by_class
def is_stateful(kind: Any) -> bool:
    """Whether it is a class in C whose objects move on, as nobody can see: a hash, a scanner, a compressor."""
    if kind.__module__.startswith("numba.typed"):
        return True
    if kind in FIELDS:
        return False
    package = package_of(kind)
    if package not in sys.stdlib_module_names or package in (*CLEAR, *LEFT_OUT, *PLAIN) or is_iterator(kind):
        return False
    has_functions = any(type(value) is types.FunctionType for value in vars(kind).values())
    return not has_functions and not has_attributes_alone(kind)


def has_attributes_alone(kind: Any) -> bool:
    """Whether all that objects of a class hold are attributes, also where it has no methods: `dataclasses.MISSING`."""
    return kind.__new__ is object.__new__ and all("__dict__" in vars(each) for each in kind.__mro__[:-1])


def package_of(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


def held_by(obj: Any) -> Look:
    """What an object holds now."""
    numbers, waiting, kept = {id(obj): 0}, [obj], [obj]
    parts: list[Any] = []
    is_opaque, stateful = False, ""
    most = MOST_OF_LIBRARIES if package_of(type(obj)) in CLEAR else MOST

    def part(item: Any) -> Any:
        kind: Any = type(item)
        if kind in ATOMS:
            return plain_or_id(item)
        kept.append(item)
        if not _may_hide(kind):
            return id(item)
        if id(item) not in numbers:
            numbers[id(item)] = len(numbers)
            waiting.append(item)
        return numbers[id(item)]

    while waiting and len(parts) < most:
        item = waiting.pop(0)
        found = parts_inside(item)
        if found is None:
            is_opaque = is_opaque or package_of(type(item)) not in CLEAR
            own_kind: Any = type(item)
            stateful = stateful or (own_kind.__name__ if is_stateful(own_kind) else "")
            found = gc.get_referents(item)
        parts.append((type(item), *map(part, found)))
    return Look(tuple(parts), is_opaque, stateful, kept)


def plain_or_id(item: Any) -> Any:
    """A number or text by its value, another object by its identity."""
    return (type(item), repr(item)) if type(item) in ATOMS and type(item) is not object else id(item)


def parts_inside(obj: Any) -> Iterable[Any] | None:
    """What is directly in an object; None where that cannot be told."""
    if isinstance(obj, type | types.ModuleType):
        every = filter(is_programs_own, obj.__mro__) if isinstance(obj, type) else (obj,)
        names = [pair for one in every for pair in list(vars(one).items())]
        return [part for pair in names if not pair[0].startswith("__") for part in pair]
    if isinstance(obj, dict):
        return [*dict.keys(obj), *dict.values(obj), *attributes_of_any(obj)]
    if isinstance(obj, list | tuple | set | frozenset):
        base: Any = next(b for b in (list, tuple, set, frozenset) if isinstance(obj, b))
        return [*base.__iter__(obj), *attributes_of_any(obj)]
    if isinstance(obj, np.ndarray):
        if obj.dtype.hasobject:
            return obj.reshape(-1).tolist()
        return [obj.shape, zlib.crc32(obj.tobytes()) if obj.nbytes <= MOST_BYTES else obj.nbytes]
    if isinstance(obj, BUFFERS):
        seen = memoryview(obj)  # type: ignore[arg-type]
        return [zlib.crc32(seen.tobytes()) if seen.nbytes <= MOST_BYTES else seen.nbytes]
    if isinstance(obj, weakref.ReferenceType):
        return [obj()]
    if isinstance(obj, contextvars.ContextVar):
        return [obj.get(None)]
    if isinstance(obj, random.Random):
        return [repr(obj.getstate()), *attributes_of_any(obj)]
    if isinstance(obj, PICKLED):
        return [obj.__reduce_ex__(2)]  # its numbers, and where it stands
    if isinstance(obj, io.IOBase) and not obj.closed and obj.readable() and obj.seekable():
        return [place_read(obj)]
    if type(obj).__module__.startswith("numpy.random") and hasattr(obj, "state"):
        return [obj.state]
    found = attributes_of_any(obj)
    own = [r for r in gc.get_referents(obj) if not isinstance(r, type) and r is not getattr(obj, "__dict__", None)]
    return [*found, *own] if (found and not isinstance(obj, io.IOBase)) or type(obj) in SHOWN else None


def place_read(file: Any) -> Any:
    """Up to where a file has been read; another thing each time where it does not say that, as `for line in file`."""
    try:
        return file.tell()
    except OSError:
        return object()


def attributes_of_any(obj: Any) -> list[Any]:
    """The names and values of an object's own attributes; but for what libraries call a cache, which is no state."""
    try:
        state = obj.__dict__ if isinstance(obj, threading.local) else object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return []
    if type(state) is not dict:
        return []
    every = is_programs_own(type(obj))
    return [part for name, value in state.items() if every or "cache" not in str(name) for part in (name, value)]
