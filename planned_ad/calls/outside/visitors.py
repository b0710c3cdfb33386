"""How the walk goes on from objects of each kind: what they hold, and what code may read of it.

Of the kinds of `VISITORS` traced code sees copies, whose arrays are read live. Those of `AS_IT_IS` it sees themselves:
what they lead to runs as it is, and the numbers that it gives are in the plan.
"""

from __future__ import annotations

import array
import collections
import contextlib
import contextvars
import ctypes
import enum
import functools
import gc
import operator
import os
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.entry import watchtable
from ...python.caches import entries_of
from ...python.shadows import ShadowModule, is_user_class, real_class, referent_of
from .libraries import is_fixed, is_library_value, is_made_there
from .sightings import AS_IT_IS, VISITORS, Walk
from .told import Same, is_plain, number_key

NamedPair = collections.namedtuple("NamedPair", "first second")
NEVER_CHANGE = (np.dtype, np.generic, enum.Enum, BaseException)


def visit_parts(*names: str) -> Callable[[Walk, Any, str], None]:
    """A visitor of attributes that stay what they are."""

    def visit(walk: Walk, obj: Any, path: str) -> None:
        for name in names:
            walk.visit(getattr(obj, name), path)

    return visit


def visit_method(walk: Walk, method: types.MethodType, path: str) -> None:
    walk.see(path, ("method",), "a method", False)
    walk.visit(method.__func__, path)
    walk.visit(method.__self__, "self")


def visit_partial(walk: Walk, p: functools.partial, path: str) -> None:
    walk.row(watchtable.length_of(p.keywords))
    walk.see(path, ("partial", tuple(p.keywords)), "a partial", False)
    walk.visit(p.func, path)
    walk.visit(p.args, path)
    for name in p.keywords:
        walk.item(p.keywords, name, name)
    walk.attributes(vars(p), path)


def visit_namespace(walk: Walk, obj: types.SimpleNamespace, path: str) -> None:
    walk.row(watchtable.length_of(vars(obj)))
    walk.attributes(vars(obj), path)


def visit_defaultdict(walk: Walk, items: collections.defaultdict, path: str) -> None:
    walk.slot(items, vars(collections.defaultdict)["default_factory"], f"{path}.default_factory")
    walk.visit_dict(items, path)


def visit_deque(walk: Walk, items: collections.deque, path: str) -> None:
    walk.see(path, ("maxlen", items.maxlen), f"at most {items.maxlen} items", False)
    walk.compare_in_python(lambda walk: walk.visit(items, path), f"`{path}`, a {type(items).__name__}")
    walk.visit_items(items, path)


def visit_cached(walk: Walk, f: Any, path: str) -> None:
    """A function that keeps its results: those that traced code has found are visited where they were found."""
    walk.visit(f.__wrapped__, path)


def visit_bytes(walk: Walk, held: Any, path: str) -> None:
    """Numbers in memory of Python's own."""
    walk.compare_in_python(lambda walk: walk.visit(held, path), path=f"`{path}`")
    found = bytes(held)
    walk.see(path, ("bytes", len(found), found), f"{len(found)} bytes")


def visit_environment(walk: Walk, environment: Any, path: str) -> None:
    walk.compare_in_python(lambda walk: walk.visit(environment, path), path=f"`{path}`")
    walk.see(path, ("environment", tuple(sorted(environment.items()))), "other variables")


def visit_variable(walk: Walk, variable: contextvars.ContextVar, path: str) -> None:
    walk.compare_in_python(lambda walk: walk.visit(variable, path), path=f"`{path}`")
    values = []
    with contextlib.suppress(LookupError):
        values.append(variable.get())
    walk.visit_items(values, path)


def visit_of_thread(walk: Walk, obj: threading.local, path: str) -> None:
    """What the thread has that calls the plan."""
    walk.compare_in_python(lambda walk: walk.visit(obj, path), f"`{path}`, of each thread its own")
    state = obj.__dict__
    walk.see(path, ("local", tuple(filter(walk.is_used, state))), "other attributes", False)
    walk.attributes(state, path, type(obj))


def visit_base_value(kind: type) -> Callable[[Walk, Any, str], None]:
    """A visitor of numbers and texts of a class of the user's: what they are without it."""
    plain: Callable[[Any], Any] = {int: int.__int__, float: float.__float__, str: str.__str__}.get(kind, kind)

    def visit(walk: Walk, value: Any, path: str) -> None:
        walk.visit(plain(value), path)

    return visit


def visit_field(walk: Walk, field: Any, path: str) -> None:
    """The getter of a field of a named tuple."""
    walk.see(path, ("field", field.__reduce__()[1][0]), "another field")


def visit_getter(walk: Walk, getter: Any, path: str) -> None:
    """The names that it asks for count as those in code do."""
    arguments = getter.__reduce__()[1]
    walk.see(path, ("object", Same(getter)), f"another {type(getter).__name__}")
    walk.texts.update(part for name in arguments if type(name) is str for part in name.split("."))
    walk.visit_items(arguments, path)


def visit_slice(walk: Walk, bounds: slice, path: str) -> None:
    walk.visit_items((bounds.start, bounds.stop, bounds.step), path)


def visit_held(name: str) -> Callable[[Walk, Any, str], None]:
    """A visitor of an object that stands for what it holds under this name, and may have other attributes."""

    def visit(walk: Walk, obj: Any, path: str) -> None:
        walk.item(vars(obj), name, path)
        walk.attributes(vars(obj), path, type(obj), without=name)

    return visit


def visit_weak(walk: Walk, obj: Any, path: str) -> None:
    """A dict or set of weak references."""
    if isinstance(obj, weakref.WeakSet):
        walk.compare_in_python(lambda walk: walk.visit(obj, path), f"`{path}`, a WeakSet")
    walk.item(vars(obj), "data", path)


def visit_weak_reference(walk: Walk, reference: weakref.ref, path: str) -> None:
    walk.visit(reference(), path)


def visit_view(walk: Walk, view: Any, path: str) -> None:
    """Of keys, values or items of a dict."""
    for items in gc.get_referents(view):
        walk.visit(items, path)


def visit_dispatch(walk: Walk, method: functools.singledispatchmethod, path: str) -> None:
    walk.item(vars(method), "dispatcher", path)


def visit_opaque(walk: Walk, obj: Any, path: str) -> None:
    """An object of a class that has no copies: of a library, an enumeration, an error, a set."""
    real: Any = real_class(type(obj))
    if is_user_class(real):
        if isinstance(obj, threading.local):
            visit_of_thread(walk, obj, path)
            walk.visit(real, real.__name__)
        else:
            walk.visit_instance(obj, path)
        return
    walk.see(path, ("object", Same(obj)), f"another {real.__name__}")
    if not is_fixed(real):
        walk.visit(real, real.__name__)
    state = getattr(obj, "__dict__", None)
    state = state if type(state) is dict else {}
    is_seen = isinstance(obj, np.ndarray) or (bool(state) and all(map(is_simple, state.values())))
    for name, value in list(state.items()):
        is_asked = name == "_value_" and ("value" in walk.names.names or not is_plain(value))
        if is_seen or is_asked or name in walk.names.names:
            walk.item(state, name, f"{path}.{name}")
    if isinstance(obj, tuple | frozenset):
        walk.visit_items(obj, path)
    elif isinstance(obj, np.ndarray):
        walk.visit_array(obj, path)
    elif not callable(obj) and not is_seen:
        if not isinstance(obj, NEVER_CHANGE) and not is_library_value(obj):
            walk.note(f"`{path}`, a {real.__module__}.{real.__qualname__}, is not looked into")
    elif is_made_there(obj):
        for part in gc.get_referents(obj):
            if part is not type(obj):
                walk.visit(part, path)


def is_simple(value: object) -> bool:
    """Whether this is data that is compared as a whole."""
    if type(value) is tuple:
        return all(map(is_simple, value))  # type: ignore[arg-type]
    return is_plain(value) or type(value) is np.ndarray or isinstance(value, np.dtype)


def found_in_cache(walk: Walk, cached: Any, key: Any, name: str) -> None:
    """What a cache had for a key when traced code asked for it; `key` of None: nothing for any key."""
    if walk.is_frozen(name):
        return
    known = entries_of(cached)
    if known is None:
        walk.compare_in_python(lambda walk: None, f"what `{name}` keeps")
        return
    if key is None:
        walk.row(watchtable.length_of(known.items))
        walk.see(f"{name}()", ("kept", len(known.items) > 0), "other results", False)
        return
    is_there, result = known.result_of(key)
    path = f"{name}{key!r}" if type(key) is tuple else f"{name}({key!r})"
    if not is_there:
        walk.row(watchtable.item(known.items, key, None, False))
        walk.see(path, ("missing",), "not there")
        return
    walk.row(watchtable.item(known.items, known.key_of(key), known.items[key]))
    walk.see(path, ("kept", number_key(result) if is_plain(result) else Same(result)), "another result")
    walk.visit(result, path)


VISITORS |= {
    np.ndarray: Walk.visit_array,
    types.FunctionType: Walk.visit_function,
    types.MethodType: visit_method,
    types.BuiltinMethodType: visit_parts("__self__"),
    types.SimpleNamespace: visit_namespace,
    types.MappingProxyType: lambda walk, obj, path: walk.visit(gc.get_referents(obj)[0], path),
    weakref.ProxyType: lambda walk, obj, path: walk.visit(referent_of(obj), path),
    weakref.CallableProxyType: lambda walk, obj, path: walk.visit(referent_of(obj), path),
    functools.partial: visit_partial,
    functools._lru_cache_wrapper: visit_cached,
    functools.cached_property: visit_parts("func"),
    staticmethod: visit_parts("__func__"),
    classmethod: visit_parts("__func__"),
    property: visit_parts("fget", "fset"),
    tuple: Walk.visit_items,
    frozenset: Walk.visit_items,
    list: Walk.visit_list,
    collections.deque: visit_deque,
    dict: Walk.visit_dict,
    collections.OrderedDict: Walk.visit_dict,
    collections.defaultdict: visit_defaultdict,
    set: Walk.visit_set,
    ShadowModule: lambda walk, obj, path: None,
}
AS_IT_IS |= {
    object: visit_opaque,
    slice: visit_slice,
    bytearray: visit_bytes,
    memoryview: visit_bytes,
    array.array: visit_bytes,
    ctypes.Array: visit_bytes,
    ctypes.Structure: visit_bytes,
    ctypes.Union: visit_bytes,
    type(ctypes.c_int()).__mro__[1]: visit_bytes,
    int: visit_base_value(int),
    float: visit_base_value(float),
    complex: visit_base_value(complex),
    str: visit_base_value(str),
    bytes: visit_base_value(bytes),
    type(os.environ): visit_environment,
    contextvars.ContextVar: visit_variable,
    threading.local: visit_of_thread,
    weakref.ref: visit_weak_reference,
    weakref.KeyedRef: visit_weak_reference,
    weakref.WeakValueDictionary: visit_weak,
    weakref.WeakKeyDictionary: visit_weak,
    weakref.WeakSet: visit_weak,
    type({}.keys()): visit_view,
    type({}.values()): visit_view,
    type({}.items()): visit_view,
    type(NamedPair.first): visit_field,
    operator.attrgetter: visit_getter,
    operator.methodcaller: visit_getter,
    functools.singledispatchmethod: visit_dispatch,
    functools.partialmethod: visit_parts("func", "args", "keywords"),
    collections.Counter: Walk.visit_dict,
    collections.ChainMap: visit_held("maps"),
    collections.UserDict: visit_held("data"),
    collections.UserList: visit_held("data"),
}
