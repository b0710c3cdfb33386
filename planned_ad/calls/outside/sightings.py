"""A walk over real objects as traced code sees them: where each is found, and what it is.

It goes the ways of `namespace`: through cells, default arguments, attributes, items. What it meets becomes `Sighting`s,
which are compared by value, and rows of a table in which pointers are compared.
"""

from __future__ import annotations

import builtins
import collections
import enum
import functools
import gc
import operator
import os
import struct
import types
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels.entry import watchtable
from ...kernels.entry.watchtable import Row
from ...python.made import MadeOf
from ...python.shadows import ShadowModule, is_library, is_user_class, is_user_function, real_class
from ...python.used_names import UsedNames
from ...tape.captured import MOST_BYTES, view_of

MOST_ITEMS = 512  # of a container: of one with more, the items are not looked at
MOST_ROWS = 4096
PLAIN = (int, bool, str, bytes, type(None), type(...), slice, range)
NEVER_CHANGE = (np.dtype, np.generic, enum.Enum, BaseException)


class Same:
    """An object that is equal to itself only."""

    __slots__ = ("object",)

    def __init__(self, object: object):
        self.object = object

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and other.object is self.object

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is found somewhere: `key` is compared, `shown` is for messages."""

    path: str
    key: tuple
    shown: str
    is_checked: bool = True


class Walk:
    """One walk. `rows` for the table; `seen` in order; `notes` on what is not looked at; `codes` of functions met.

    `lasting`: rows of what nobody changes while a plan is in use, the names of modules and of built-in functions.
    """

    def __init__(self, names: UsedNames, is_frozen: Callable[[str], bool], constants: Mapping[int, Any]):
        self.names, self.is_frozen, self.constants = names, is_frozen, constants
        self.rows: list[Row] = []
        self.lasting: list[Row] = []
        self.seen: list[Sighting] = []
        self.notes: list[str] = []
        self.codes: set[types.CodeType] = set()
        self.texts: set[str] = set()
        self.met: dict[int, object] = {}
        self.raw: set[int] = set()  # arrays that traced code reads as they are
        self.fixed: list[object] = []  # of libraries

    # Places.

    def globals(self, names: dict, keys: Iterable[str]) -> None:
        """Names that were read of a module's globals."""
        for key in keys:
            self.item(names, key, key)

    def item(self, items: dict, key: Any, path: str, in_order: bool = False) -> None:
        """The value of a key, where it is among others; a key that is not there is not to be there."""
        if self.is_frozen(path):
            return
        is_there = dict.__contains__(items, key)
        value = dict.__getitem__(items, key) if is_there else None
        if not is_there:
            is_built_in = hasattr(builtins, str(key))
            self.row(watchtable.item(items, key, None, False), is_built_in)
            self.see(path, ("missing",), "not there", not is_built_in)
        else:
            self.bound(value, path, lambda: watchtable.item(items, key, value, in_order=in_order))

    def bound(self, value: Any, path: str, row: Callable[[], Row]) -> None:
        """What a place holds, and that it does."""
        self.row(row(), isinstance(value, types.ModuleType))
        self.visit(value, path)

    def row(self, row: Row, is_lasting: bool = False) -> None:
        """`is_lasting`: calls take it for granted, where a plan is looked for again it is compared."""
        if is_lasting:
            self.lasting.append(row)
        elif len(self.rows) < MOST_ROWS:
            self.rows.append(row)
        else:
            self.note(f"of more than {MOST_ROWS} objects, those met last are not checked")

    def see(self, path: str, key: tuple, shown: str, is_checked: bool = True) -> None:
        self.seen.append(Sighting(path, key, shown, is_checked))

    def note(self, text: str) -> None:
        self.notes.append(text)

    # Objects.

    def visit(self, obj: Any, path: str) -> None:
        """What is found at `path`, and all that it leads to."""
        kind = type(obj)
        if self.is_frozen(path):
            return
        if is_fixed(obj):
            self.fixed.append(obj)
            self.see(path, ("library", Same(obj)), repr(obj), not isinstance(obj, types.ModuleType))
            return
        if kind in (float, complex, *PLAIN) or isinstance(obj, np.generic):
            if kind is str:
                self.texts.add(obj)
            self.see(path, number_key(obj), shown(obj))
            return
        if id(obj) in self.met:
            self.see(path, ("again", Same(obj)), f"a {kind.__name__}", False)
            return
        self.met[id(obj)] = obj
        visit = VISITORS.get(kind)
        if visit is not None:
            visit(self, obj, path)
        elif isinstance(obj, type):
            self.visit_class(obj, path)
        elif kind.__module__.startswith("numba.") and type(getattr(obj, "py_func", None)) is types.FunctionType:
            self.visit_function(obj.py_func, path)
        elif isinstance(obj, types.ModuleType):
            self.see(path, ("module", Same(obj)), repr(obj), False)
        elif isinstance(obj, MadeOf) and obj.is_pure:
            self.visit_made(obj, path)
        else:
            self.visit_instance(obj, path)

    def root(self, obj: Any, path: str) -> None:
        """What was traced, or passed; of a function of a library, what it closes over."""
        if type(obj) is types.FunctionType and id(obj) not in self.met:
            self.met[id(obj)] = obj
            self.visit_function(obj, path, is_root=True)
        else:
            self.visit(obj, path)

    def visit_made(self, made: MadeOf, path: str) -> None:
        self.see(path, ("instance", Same(type(made))), f"a {type(made).__name__}", False)
        told = made.told()
        self.visit(tuple(told), path)
        self.visit(tuple(told.values()), path)
        self.visit(made.__wrapped__, path)

    def visit_array(self, array: np.ndarray, path: str) -> None:
        layout = (array.shape, array.strides, array.dtype.str)
        for row in watchtable.layout_of(array):
            self.row(row)
        is_known = id(array) in self.constants or id(array) in self.raw
        low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
        is_long = high - low > MOST_BYTES or array.dtype.hasobject
        if is_long or (not is_known and view_of(array) is not None):
            key = ("array", Same(array), array.ctypes.data, layout)
            self.see(path, key, f"an array of shape {array.shape}", False)
            if is_known:
                self.note(
                    f"the contents of the array `{path}`, {array.nbytes} bytes, are in the plan, and not compared"
                )
            return
        if high > low:
            self.row(watchtable.contents(low, high - low, array))
        values = np.array2string(array, threshold=8, edgeitems=3, precision=6)
        self.see(path, ("numbers", layout, array.tobytes()), " ".join(values.split()))

    def visit_function(self, f: types.FunctionType, path: str, is_root: bool = False) -> None:
        wrapped = getattr(f, "__wrapped__", None)
        if not is_root and not is_user_function(f):
            if is_user_function(wrapped):
                self.cells(f)
            self.see(path, ("function", Same(f)), "another function")
            return
        if is_user_function(f) or is_root:
            self.codes.add(f.__code__)
        fields = ("__code__", "__defaults__", *(("__kwdefaults__",) if f.__kwdefaults__ else ()))
        for name in () if is_root else fields:  # the function itself was given as it was
            self.row(watchtable.field_of(f, name))
        self.see(path, ("code", f.__code__), where(f), not is_root)
        self.cells(f)
        if f.__defaults__ is not None:
            parameters = f.__code__.co_varnames[: f.__code__.co_argcount][-len(f.__defaults__) or None :]
            for name, value in zip(parameters, f.__defaults__):
                self.visit(value, name)
        defaults = f.__kwdefaults__ or {}
        for name in defaults:
            self.item(defaults, name, name)
        if "__wrapped__" in f.__dict__ and not self.is_used("__wrapped__"):
            self.item(f.__dict__, "__wrapped__", f"{f.__name__}.__wrapped__")
        self.attributes(f.__dict__, f.__name__, type(f))

    def cells(self, f: types.FunctionType) -> None:
        for cell, name in zip(f.__closure__ or (), f.__code__.co_freevars):
            if id(cell) in self.met or self.is_frozen(name):
                continue
            self.met[id(cell)] = cell
            try:
                value = cell.cell_contents
            except ValueError:
                self.row(watchtable.cell_of(cell))
                continue
            self.bound(value, name, functools.partial(watchtable.cell_of, cell, value))

    def is_used(self, name: object) -> bool:
        return type(name) is not str or self.names.any_attribute or name in self.names.names

    def attributes(self, state: dict, path: str, kind: type | None = None) -> None:
        """Those of an object, and those that are asked for and are not there, in its class `kind` neither."""
        missing = [name for name in sorted(self.names.asked_for) if name not in state and not hasattr(kind, name)]
        for name in [*filter(self.is_used, state), *missing]:
            self.item(state, name, f"{path}.{name}")

    def visit_class(self, cls: type, path: str) -> None:
        cls = real_class(cls)
        self.see(path, ("class", Same(cls)), repr(cls), False)
        if not is_user_class(cls):
            return
        known: set[str] = set()
        for base in cls.__mro__:
            for name, value in list(vars(base).items()) if is_user_class(base) else ():
                is_special = name.startswith("__") and name.endswith("__")
                if isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
                    continue
                if not (self.may_run(name, value, cls) if is_special else self.is_used(name)):
                    continue
                if self.is_frozen(f"{base.__name__}.{name}"):
                    continue
                found = f"{base.__name__}.{name}"
                if is_special:
                    self.visit(value, found)
                else:  # what it hides may be reached by `super`
                    holder = base if name in known else cls
                    self.bound(value, found, functools.partial(watchtable.attribute, holder, name, value))
                known.add(name)
        for name in sorted(self.names.asked_for):
            if not hasattr(cls, name):
                self.row(watchtable.attribute(cls, name))
                self.see(f"{cls.__name__}.{name}", ("missing",), "not there")

    def may_run(self, name: str, method: object, cls: type) -> bool:
        """Whether a special method may be called, whose name need not occur."""
        if type(method) is not types.FunctionType or name in NOT_CALLED:
            return False
        if name in OF_CREATION:
            return self.is_used(cls.__name__)
        return name not in OF_COMPARISONS or self.names.compares

    def visit_instance(self, obj: Any, path: str) -> None:
        real: Any = real_class(type(obj))
        if not (is_user_class(real) or (issubclass(real, tuple) and hasattr(real, "_fields"))):
            self.see(path, ("object", Same(obj)), f"another {real.__name__}")
            self.visit_library_instance(obj, path)
            if not callable(obj) and not isinstance(obj, NEVER_CHANGE) and not is_library_value(obj):
                self.note(f"`{path}`, a {real.__module__}.{real.__qualname__}, is not looked into")
            return
        self.see(path, ("instance", Same(real)), f"a {real.__name__}", False)
        self.visit(real, real.__name__)
        if issubclass(real, tuple):
            self.visit_items(tuple(obj), path)
        elif issubclass(real, list):
            self.visit_list(obj, path)
        elif issubclass(real, dict):
            self.visit_dict(obj, path)
        state = object.__getattribute__(obj, "__dict__") if real.__dictoffset__ else {}
        if real.__dictoffset__:
            self.attributes(state, path, real)
        for base in real.__mro__:
            for name, found in list(vars(base).items()):
                if not self.is_used(name):
                    continue
                if isinstance(found, types.MemberDescriptorType):
                    self.slot(obj, found, f"{path}.{name}")
                elif real.__dictoffset__ and name not in state and is_user_class(base) and may_be_hidden(name, found):
                    self.item(state, name, f"{path}.{name}")

    def visit_library_instance(self, obj: Any, path: str) -> None:
        """Traced code sees the object itself: of what it may read, numbers and arrays become part of the program."""
        state = getattr(obj, "__dict__", None)
        if type(state) is not dict:
            return
        for name, value in list(state.items()):
            if name in self.names.names and (type(value) in (float, complex, *PLAIN, np.ndarray)):
                if type(value) is np.ndarray:
                    self.raw.add(id(value))
                self.item(state, name, f"{path}.{name}")

    def slot(self, obj: Any, found: types.MemberDescriptorType, path: str) -> None:
        if self.is_frozen(path):
            return
        try:
            value = found.__get__(obj)
        except AttributeError:
            self.row(watchtable.slot_of(obj, found))
            self.see(path, ("missing",), "not there")
            return
        self.bound(value, path, lambda: watchtable.slot_of(obj, found, value))

    # Containers.

    def visit_items(self, items: Iterable[Any], path: str) -> None:
        items = tuple(items)
        self.see(path, ("items", len(items)), f"{len(items)} items", False)
        if len(items) > MOST_ITEMS:
            self.note(f"the items of `{path}` ({len(items)}) are not looked into")
            return
        for number, item in enumerate(items):
            self.visit(item, f"{path}[{number}]")

    def visit_list(self, items: list, path: str) -> None:
        if list.__len__(items) > MOST_ITEMS:
            self.see(path, ("list", Same(items)), f"{len(items)} items", False)
            self.note(f"the items of `{path}` ({len(items)}) are not compared")
            return
        self.row(watchtable.items_of(items))
        self.visit_items(list.__iter__(items), path)

    def visit_dict(self, items: dict, path: str) -> None:
        is_ordered = isinstance(items, collections.OrderedDict)
        keys = list(collections.OrderedDict.__iter__(items) if is_ordered else dict.keys(items))
        whole = any(type(key) is not str for key in keys) or self.names.any_item
        whole = whole or not any(key in self.names.names for key in keys)
        chosen = keys if whole else [key for key in keys if key in self.names.names]
        if whole and len(keys) > MOST_ITEMS:
            self.see(path, ("dict", Same(items)), f"{len(keys)} items", False)
            self.note(f"the items of `{path}` ({len(keys)}) are not compared")
            return
        if whole:
            self.row(watchtable.length_of(items))
            if is_ordered:
                self.row(watchtable.NEVER)
                self.note(f"`{path}`, an OrderedDict, is compared in Python at each call")
        self.see(path, ("keys", tuple(key if type(key) in PLAIN else Same(key) for key in chosen)), "items", False)
        for key in chosen:
            self.item(items, key, f"{path}[{key!r}]", in_order=whole)

    def visit_deque(self, items: Iterable[Any], path: str) -> None:
        self.row(watchtable.NEVER)
        self.note(f"`{path}`, a {type(items).__name__}, is compared in Python at each call")
        self.visit_items(items, path)

    def visit_set(self, items: set, path: str) -> None:
        if len(items) > MOST_ITEMS or not watchtable.sets_hold():
            self.see(path, ("set", Same(items)), f"{len(items)} items", False)
            self.note(f"the items of `{path}`, a set, are not compared")
            return
        for row in watchtable.members_of(items):
            self.row(row)
        self.visit_items(items, path)

    def visit_parts(self, *parts: tuple[Any, str]) -> None:
        for part, path in parts:
            self.visit(part, path)

    def visit_getter(self, getter: Any, path: str) -> None:
        """The names that it asks for count as those in code do."""
        arguments = getter.__reduce__()[1]
        self.see(path, ("object", Same(getter)), f"another {type(getter).__name__}")
        self.texts.update(part for name in arguments if type(name) is str for part in name.split("."))
        self.visit_items(arguments, path)

    def visit_method(self, method: types.MethodType, path: str) -> None:
        self.see(path, ("method",), "a method", False)
        self.visit_parts((method.__func__, path), (method.__self__, "self"))

    def visit_partial(self, p: functools.partial, path: str) -> None:
        self.see(path, ("partial", tuple(p.keywords)), "a partial", False)
        self.visit_parts((p.func, path), (p.args, path))
        for name in p.keywords:
            self.item(p.keywords, name, name)


NOT_CALLED = frozenset({"__init_subclass__", "__del__", "__repr__", "__hash__", "__reduce__", "__getstate__"})
OF_CREATION = frozenset({"__init__", "__new__", "__post_init__"})
OF_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})

VISITORS: dict[type, Callable[[Walk, Any, str], None]] = {
    np.ndarray: Walk.visit_array,
    types.FunctionType: Walk.visit_function,
    types.MethodType: Walk.visit_method,
    types.BuiltinMethodType: lambda walk, m, path: walk.visit_parts((m.__self__, path)),
    types.SimpleNamespace: lambda walk, obj, path: walk.attributes(vars(obj), path),
    types.MappingProxyType: lambda walk, obj, path: walk.visit(gc.get_referents(obj)[0], path),
    weakref.ref: lambda walk, obj, path: walk.visit(obj(), path),
    operator.attrgetter: Walk.visit_getter,
    operator.methodcaller: Walk.visit_getter,
    functools.partial: Walk.visit_partial,
    functools._lru_cache_wrapper: lambda walk, f, path: walk.visit(f.__wrapped__, path),
    functools.cached_property: lambda walk, p, path: walk.visit(p.func, path),
    staticmethod: lambda walk, m, path: walk.visit(m.__func__, path),
    classmethod: lambda walk, m, path: walk.visit(m.__func__, path),
    property: lambda walk, p, path: walk.visit_parts((p.fget, path), (p.fset, path)),
    tuple: Walk.visit_items,
    frozenset: Walk.visit_items,
    list: Walk.visit_list,
    collections.deque: Walk.visit_deque,
    dict: Walk.visit_dict,
    collections.OrderedDict: Walk.visit_dict,
    collections.defaultdict: Walk.visit_dict,
    collections.Counter: Walk.visit_dict,
    collections.ChainMap: lambda walk, obj, path: walk.item(vars(obj), "maps", path),
    collections.UserDict: lambda walk, obj, path: walk.item(vars(obj), "data", path),
    collections.UserList: lambda walk, obj, path: walk.item(vars(obj), "data", path),
    set: Walk.visit_set,
    ShadowModule: lambda walk, obj, path: None,
}


def is_fixed(value: object) -> bool:
    """Whether this stays what it is, as libraries do and what is in them: it is not looked into."""
    if isinstance(value, types.ModuleType):
        return is_library(value.__name__, getattr(value, "__file__", None))
    if isinstance(value, types.BuiltinFunctionType):
        return isinstance(value.__self__, types.ModuleType) or value.__self__ is None
    if isinstance(value, np.ufunc | np.dtype | types.MethodDescriptorType | types.WrapperDescriptorType):
        return True
    return is_library_value(value)


def is_library_value(value: object) -> bool:
    """Whether a function or class is a library's."""
    if isinstance(value, type):
        return not is_user_class(value) and is_library(value.__module__)
    if type(value) is types.FunctionType:
        return not is_user_function(value) and not is_user_function(getattr(value, "__wrapped__", None))
    is_numpy_function = type(value).__module__ == "numpy" and callable(value) and hasattr(value, "__wrapped__")
    return is_numpy_function


def may_be_hidden(name: str, value: object) -> bool:
    """Whether an instance may get an attribute of its own in the place of this one of its class: a number, a flag."""
    return not name.startswith("__") and not hasattr(type(value), "__get__")


def where(f: types.FunctionType) -> str:
    return f"the function of {os.path.basename(f.__code__.co_filename)}:{f.__code__.co_firstlineno}"


def number_key(value: Any) -> tuple:
    """A number or text by value, its type and its bits."""
    kind = type(value)
    if kind is float:
        return kind, struct.pack("d", value)
    if kind is complex:
        return kind, struct.pack("dd", value.real, value.imag)
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    return kind, value


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
