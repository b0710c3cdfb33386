"""The shadow namespace: what traced code sees in place of its globals, closures, modules, classes and built-ins.

`f` and the plain Python functions that it reaches run as copies of themselves, on the same code objects (but for how
they make lists, see `comprehensions`), over names that lead to other shadows: `numpy.zeros` to a tracing version, a
helper function to its copy, a global array to a constant tracer. The real modules, functions, classes and instances are
read and never written, so other threads and libraries see nothing.

Three mechanisms carry this:

* **Globals.** `ShadowGlobals` is a dict subclass. CPython reads globals that are not an exact dict through item access,
  so `__missing__` makes each shadow when its name is first read, and later reads run at the speed of C.
* **Classes.** A shadow class holds the shadows of everything that its real class defines. Its method resolution order
  is that of the real class with every class replaced by its shadow, *followed* by the real classes: `super()` therefore
  walks shadows only, and `isinstance(shadow, RealClass)` still holds.
* **Cycles.** Anything with contents is made empty, remembered by identity, and filled from a queue. Recursive
  functions, self-referring objects and long linked structures need neither special cases nor a deep Python stack.
"""

import collections
import functools
import importlib
import sys
import threading
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .caches import copy_of_cached, copy_of_cached_property
from .cells import found_in
from .class_relations import hide_from_bases
from .comprehensions import rewritten
from .identity_methods import IDENTITY_METHODS, identity_base
from .made import MadeOf
from .sets_in_order import FrozenInOrder, SetInOrder, plain_copy
from .shadows import (
    VENDORED,
    ShadowBuiltins,
    ShadowClass,
    ShadowGlobals,
    ShadowModule,
    ShadowModules,
    is_array_class,
    is_library,
    is_user_class,
    is_user_function,
    real_class,
    referent_of,
    set_class_attribute,
    shadow_metaclass,
    special_methods,
)
from .single_dispatch import dispatcher, dispatching_method, is_dispatcher
from .used_names import names_in_class_bodies
from .written_calls import HELPERS

# NumPy as SciPy sees it: since NumPy 2 the same functions.
ARRAY_API = frozenset(f"{holder}array_api_compat.numpy" for holder in VENDORED)
_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), slice})
# `__init_subclass__` has run for the real class and must not register a shadow; `__del__` would release things twice.
_NOT_COPIED = frozenset({"__dict__", "__weakref__", "__slots__", "__init_subclass__", "__del__", "__orig_bases__"})

# `type` keeps some attributes in fields of its own (`__doc__`, `__name__`), set from the class body at creation only.
_TYPE_FIELDS = types.GetSetDescriptorType | types.MemberDescriptorType
_NOT_FILLED = _NOT_COPIED | {n for n, v in vars(type).items() if isinstance(v, _TYPE_FIELDS)} - {"__abstractmethods__"}


class Namespace:
    """What the traced code of one trace sees in place of real objects.

    What `replacements` lists is replaced by identity. Arrays become what `wrap_array` makes of them. Functions, bound
    methods, partials, Numba dispatchers, classes and instances of the user's code become copies that run in this
    namespace. Modules become proxies. Lists, dicts, sets, deques and SimpleNamespaces become copies with shadowed
    items. **While tracing, user code therefore mutates the copies**: what it appends to a global list is gone when the
    trace ends. The rest stays as it is: code and instances of NumPy, SciPy, Numba, planned_ad and the standard library,
    enums, exceptions, instances of extension types.

    One object has one shadow: identity, aliasing and sharing among the originals hold among the shadows.

    Parameters
    ----------
    replacements : mapping of int to object
        From `id(real)` to what is seen instead. The caller keeps the real objects alive.
    wrap_array : callable
        `wrap_array(array, name)` for each `numpy.ndarray` found; `name` is how the user reached it: `model.weights`.
    refuse : callable, optional
        `refuse(obj, name)` has the last word on an object that would be left as it is and is not planned_ad's own: it
        returns that object or what is to be seen instead, for example a stand-in that raises when it is called.
    look_at : callable, optional
        `look_at(code)` is told of each function that is copied.
    on_module : callable, optional
        Is called where traced code meets a module, which it may have imported just now: adds to `replacements`.
    rewrite : callable, optional
        `rewrite(code)` gives the code of the copy of a function.
    array_base : callable, optional
        `array_base(cls)` gives what the shadow of a class that derives from `numpy.ndarray` derives from; None where
        the class is left as it is.
    """

    def __init__(
        self,
        replacements: Mapping[int, object],
        wrap_array: Callable[[np.ndarray, str], object],
        refuse: Callable[[object, str], object] | None = None,
        look_at: Callable[[types.CodeType], None] | None = None,
        rewrite: Callable[[types.CodeType], types.CodeType] = rewritten,
        on_module: Callable[[], None] | None = None,
        array_base: Callable[[type], type | None] | None = None,
    ):
        self.recorder: Any = None  # of the trace
        self.dispatchers: list[Any] = []  # Numba's functions that traced code has met
        self._replacements = replacements
        self._refuse = refuse
        self._look_at = look_at
        self._rewrite = rewrite
        self._on_module = on_module
        self._array_base = array_base
        self._memo: dict[int, tuple[object, object]] = {}  # by identity of either; holding both keeps the ids theirs
        self._globals: dict[int, ShadowGlobals] = {}
        self._cells: dict[int, tuple[types.CellType, types.CellType]] = {}
        self._unfilled: list[Callable[[], None]] = []
        self._uninserted: list[Callable[[], None]] = []
        self._identity_base = base = identity_base(self)
        self._memo |= {id(m := getattr(object, name)): (m, getattr(base, name)) for name in IDENTITY_METHODS}
        self.roots: list[tuple[object, str]] = []  # functions that were traced
        self.kept: dict[tuple[int, Any], tuple[Any, Any, str]] = {}  # what caches were asked for: see `Outside`
        self.first_held: Mapping[tuple[int, str], object] = {}  # by object and attribute, what stands for what it has
        self.modules = ShadowModules(self)
        self._copiers: dict[type, Callable[[Any, str], object]] = {
            np.ndarray: wrap_array,
            types.FunctionType: self._copy_function,
            types.MethodType: self._copy_method,
            types.BuiltinMethodType: self._copy_builtin_method,
            types.MappingProxyType: lambda proxy, name: types.MappingProxyType(self._copy_dict(dict(proxy), name)),
            types.SimpleNamespace: self._copy_simple_namespace,
            threading.local: self._copy_simple_namespace,
            functools.partial: self._copy_partial,
            functools._lru_cache_wrapper: lambda cached, name: copy_of_cached(self, cached, name),
            **dict.fromkeys(weakref.ProxyTypes, lambda proxy, name: self._see(referent_of(proxy), name)),
            functools.cached_property: lambda prop, name: copy_of_cached_property(self, prop, name),
            functools.singledispatchmethod: lambda method, name: dispatching_method(self, method),
            staticmethod: lambda method, name: staticmethod(self._see(method.__func__, name)),
            classmethod: lambda method, name: classmethod(self._see(method.__func__, name)),
            property: lambda p, name: property(
                self._see(p.fget, name), self._see(p.fset, name), self._see(p.fdel, name), p.__doc__
            ),
            tuple: self._copy_tuple,
            frozenset: self._copy_frozenset,
            **dict.fromkeys((list, collections.deque), self._copy_list),
            **dict.fromkeys((dict, collections.OrderedDict, collections.defaultdict), self._copy_dict),
            **dict.fromkeys((set, SetInOrder), self._copy_set),
        }
        self.builtins: dict[str, Any] = ShadowBuiltins(replacements, HELPERS, self.modules.load)

    def shadow(self, obj: Any, name: str = "") -> Any:
        """What traced code sees in place of `obj`, which the user knows as `name`."""
        result = self._see(obj, name)
        self._fill()
        return result

    def _fill(self) -> None:
        # Inserting into a dict or set runs the `__hash__` of shadow instances, so every instance is filled before.
        while self._unfilled or self._uninserted:
            (self._unfilled or self._uninserted).pop()()

    def real_of(self, identities: set[int]) -> object | None:
        """One of the objects with these identities that traced code has met; else None."""
        return next((self._memo[id][0] for id in identities if id in self._memo), None)

    def unshadowed(self, shadow: object) -> object:
        """The object that traced code has met as `shadow`; of anything else, itself."""
        wrapped = getattr(shadow, "__wrapped__", None)
        if self._replacements.get(id(wrapped)) is shadow:
            return wrapped
        pairs = self._memo.values()
        return next((real for real, seen in pairs if seen is shadow and real is not shadow), shadow)

    def behind(self, identities: set[int]) -> dict[int, object]:
        """By the identity of a shadow, the object, class or cell that traced code sees it in place of."""
        pairs = [p for p in (*self._memo.values(), *self._cells.values()) if id(p[1]) in identities]
        return {id(shadow): real for real, shadow in pairs if real is not shadow}

    def instances(self) -> list[tuple[object, object]]:
        """The instances of the user's classes that traced code has met, with their shadows."""
        pairs = [(real, shadow) for real, shadow in self._memo.values() if shadow is not real]
        return [(real, shadow) for real, shadow in pairs if isinstance(type(shadow), ShadowClass)]

    def classes(self) -> list[type]:
        """The user's classes that traced code has met."""
        pairs = [(real, shadow) for real, shadow in self._memo.values() if shadow is not real]
        return [real for real, shadow in pairs if isinstance(real, type) and isinstance(shadow, ShadowClass)]

    def functions(self) -> list[types.FunctionType]:
        """The functions that traced code has met."""
        return [real for real, _ in self._memo.values() if type(real) is types.FunctionType]

    def codes(self) -> list[types.CodeType]:
        """The code of the copies of functions, as it runs."""
        seen = (shadow for _, shadow in self._memo.values() if type(shadow) is types.FunctionType)
        return [f.__code__ for f in seen if type(f.__globals__) is ShadowGlobals]

    def function(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """The copy of a function, which runs in this namespace; of a plain function even where it is a library's.

        One that was defined in traced code runs here already, and goes on seeing what its variables become.
        """
        names = getattr(f, "__globals__", None)
        if isinstance(names, ShadowGlobals) and names.namespace is self:
            return f
        if not isinstance(f, MadeOf):  # which traces what it is made of
            self.roots.append((f, getattr(f, "__name__", type(f).__name__)))
        if type(f) is types.FunctionType and id(f) not in self._memo and id(f) not in self._replacements:
            self._remember(f, self._copy_code(f, self.shadow_globals(f.__globals__)))
        return self.shadow(f, getattr(f, "__name__", ""))

    def closure(self, f: types.FunctionType) -> Callable[..., Any]:
        """The copy of a function of this package's that closes over what traced code sees: over the very same."""
        copy = self._copy_code(f, self.shadow_globals(f.__globals__), f.__closure__)
        self._fill()
        return copy

    def library_function(self, f: types.FunctionType) -> Callable[..., Any]:
        """The copy of a library's plain function, for arguments that are traced."""
        if id(f) not in self._memo:
            self._remember(f, self._copy_code(f, self.shadow_globals(f.__globals__)))
        self._fill()
        copy: Any = self._memo[id(f)][1]
        return copy

    def shadow_globals(self, real: dict[str, Any]) -> ShadowGlobals:
        """The one shadow of a module's globals; of another trace's shadow globals, a shadow of what is behind them."""
        if isinstance(real, ShadowGlobals):
            if real.namespace is self:
                return real
            real = real.real
        if id(real) not in self._globals:
            self._globals[id(real)] = ShadowGlobals(self, real)
        return self._globals[id(real)]

    def attribute(self, module: types.ModuleType, name: str) -> object:
        """What traced code sees as `module.name`. Containers of libraries, such as `sys.modules`, are not copied."""
        value = getattr(module, name)
        if value is sys.modules:
            return self.modules
        path = f"{module.__name__}.{name}"
        if not is_library(module.__name__, getattr(module, "__file__", None)):
            return self.shadow(value, path)
        if callable(value) or isinstance(value, types.ModuleType) or id(value) in self._replacements:
            return self.shadow(value, path)
        return value

    def _see(self, obj: Any, name: str) -> Any:
        """The shadow of `obj`, remembered but perhaps still to be filled."""
        if type(obj) in _ATOMS:
            return obj
        if id(obj) in self._replacements:
            return self._replacements[id(obj)]
        if id(obj) in self._memo:
            return self._memo[id(obj)][1]
        return self._remember(obj, self._copiers.get(type(obj), self._copy_other)(obj, name))

    def _remember(self, real: object, shadow: Any) -> Any:
        self._memo[id(real)] = (real, shadow)
        self._memo[id(shadow)] = (shadow, shadow)
        return shadow

    def _leave(self, obj: object, name: str) -> object:
        if self._refuse is None or (getattr(obj, "__module__", None) or "").startswith("planned_ad."):
            return obj
        return self._refuse(obj, name)

    def _copy_other(self, obj: Any, name: str) -> object:
        if isinstance(obj, type):
            return self._copy_class(obj, name)
        if isinstance(obj, types.ModuleType):
            if obj.__name__ in ARRAY_API:
                return self._see(np, "numpy")
            if self._on_module is not None:
                self._on_module()
            return obj if isinstance(obj, ShadowModule) else ShadowModule(self, obj)
        if isinstance(obj, np.generic | np.dtype):
            return obj
        if type(obj).__module__.startswith("numba.") and type(getattr(obj, "py_func", None)) is types.FunctionType:
            self.dispatchers.append(obj)
            found: Any = self._see(obj.py_func, name)
            found.py_func = found
            return found
        stand_in = self._leave(obj, name) if is_library(type(obj).__module__) else obj
        return self._copy_instance(obj, name) if stand_in is obj else stand_in

    # Functions

    def _copy_function(self, f: types.FunctionType, name: str) -> object:
        if isinstance(f.__globals__, ShadowGlobals) and f.__globals__.namespace is self:
            return f
        if is_user_function(f):
            return self._copy_code(f, self.shadow_globals(f.__globals__))
        if f is importlib.import_module:
            return self.modules.load_by_name
        if is_user_function(getattr(f, "__wrapped__", None)):  # decorated by the standard library: its code stays
            return dispatcher(self, f) if is_dispatcher(f) else self._copy_code(f, f.__globals__)
        return self._leave(f, name)

    def _copy_code(self, f: types.FunctionType, names: dict[str, Any], cells: Any = None) -> types.FunctionType:
        if cells is None:
            pairs = zip(f.__closure__ or (), f.__code__.co_freevars)
            cells = tuple(self._copy_cell(cell, name) for cell, name in pairs)
        code = f.__code__
        if isinstance(names, ShadowGlobals):
            code = self._rewrite(code)
        if self._look_at is not None:
            self._look_at(code)
        copy = types.FunctionType(code, names, f.__name__, None, cells)
        copy.__qualname__, copy.__doc__, copy.__module__ = f.__qualname__, f.__doc__, f.__module__
        if sys.version_info >= (3, 12):
            copy.__type_params__ = f.__type_params__

        def fill() -> None:
            if f.__defaults__ is not None:
                parameters = f.__code__.co_varnames[: f.__code__.co_argcount][-len(f.__defaults__) or None :]
                copy.__defaults__ = tuple(self._see(value, name) for value, name in zip(f.__defaults__, parameters))
            if f.__kwdefaults__ is not None:
                copy.__kwdefaults__ = {name: self._see(value, name) for name, value in f.__kwdefaults__.items()}
            copy.__annotations__ = f.__annotations__
            copy.__dict__.update({k: self._see(v, f"{f.__name__}.{k}") for k, v in f.__dict__.items()})
            if isinstance(names, ShadowGlobals):
                # Class bodies read globals past `__missing__`, so what they may read is put there beforehand.
                for name in names_in_class_bodies(f.__code__):
                    if name in names.real and not dict.__contains__(names, name):
                        names[name] = self._see(names.real[name], name)

        self._unfilled.append(fill)
        return copy

    def _copy_cell(self, cell: types.CellType, name: str) -> types.CellType:
        """The one shadow of a closure cell: functions that share a `nonlocal` go on sharing it."""
        if id(cell) not in self._cells:
            copy = types.CellType()
            self._cells[id(cell)] = (cell, copy)

            def fill() -> None:
                for value in found_in(cell, name):
                    copy.cell_contents = self._see(value, name)

            self._unfilled.append(fill)
        return self._cells[id(cell)][1]

    def _copy_method(self, method: types.MethodType, name: str) -> object:
        owner = self._see(method.__self__, name)
        is_stand_in = type(owner).__module__.startswith("planned_ad.") and not isinstance(owner, ShadowClass)
        if owner is not method.__self__ and is_stand_in:
            return getattr(owner, method.__name__)  # a stand-in has methods of its own
        return types.MethodType(self._see(method.__func__, name), owner)

    def _copy_builtin_method(self, method: Any, name: str) -> object:
        owner = method.__self__
        shadow = owner if isinstance(owner, types.ModuleType | type) else self._see(owner, name)
        if shadow is owner:
            return self._leave(method, name)
        # What the shadow of a function with a cache lacks is an error where it is called, not where it is kept.
        return getattr(shadow, method.__name__, lambda *args, **kwargs: getattr(shadow, method.__name__))

    def _copy_partial(self, p: functools.partial, name: str) -> functools.partial:
        keywords = {k: self._see(v, k) for k, v in p.keywords.items()}
        copy = functools.partial(self._see(p.func, name), *self._see(p.args, name), **keywords)
        self._unfilled.append(lambda: vars(copy).update({k: self._see(v, f"{name}.{k}") for k, v in vars(p).items()}))
        return copy

    # Classes and instances

    def _copy_class(self, cls: type, name: str) -> object:
        """A shadow of a user's class, still without the shadows of what it defines."""
        cls = real_class(cls)
        if is_array_class(cls):
            return self._copy_array_class(cls, name)
        if not is_user_class(cls):
            return self._leave(cls, name)
        rest = cls.__mro__[1:]
        bases = tuple(self._see(base, base.__name__) if is_user_class(base) else base for base in rest)
        order = (*bases[:-1], self._identity_base, object, cls, *(r for r, base in zip(rest, bases) if r is not base))
        # Special methods are there from the start, so that the type's slots are set, and are replaced by `fill`.
        body = special_methods(cls, _NOT_COPIED) | {"__slots__": (), "__shadows_below__": [], "__see__": self.shadow}
        body.update(__qualname__=cls.__qualname__, __real_class__=cls, __shadow_mro__=order)
        body |= {"__del__": lambda self: None} if "__del__" in vars(cls) else {}
        try:
            # Past the metaclass's own `__new__`, which may register the class.
            copy: type = type.__new__(shadow_metaclass(type(cls)), cls.__name__, (cls,), body)
        except TypeError:  # a metaclass that cannot be mixed with another
            return self._leave(cls, name)
        hide_from_bases(copy)
        for base in bases:
            vars(base).get("__shadows_below__", []).append(copy)
        self._unfilled.append(lambda: self._fill_class(cls, copy))
        return copy

    def _copy_array_class(self, cls: type, name: str) -> object:
        """A shadow of a class of arrays: in the place of `numpy.ndarray` it has a class of traced arrays."""
        array = self._array_base and self._array_base(cls)
        if not array or type(cls) is not type:
            return self._leave(cls, name)
        above = [base for base in cls.__mro__[1:] if base not in (np.ndarray, object)]
        bases = tuple(self._see(base, base.__name__) for base in above)
        body = special_methods(cls, _NOT_COPIED)
        body.update(__qualname__=cls.__qualname__, __real_class__=cls, __shadow_mro__=(*bases, *array.__mro__))
        copy: type = type.__new__(ShadowClass, cls.__name__, (array,), body)
        self._unfilled.append(lambda: self._fill_class(cls, copy))
        return copy

    def _fill_class(self, cls: type, copy: type) -> None:
        for attribute, value in vars(cls).items():
            if isinstance(value, types.MemberDescriptorType):
                if any(attribute in vars(base) for base in cls.__mro__[1:]):  # which the shadow of a base would hide
                    set_class_attribute(copy, attribute, value)
            elif attribute not in _NOT_FILLED:
                set_class_attribute(copy, attribute, self._see(value, f"{cls.__name__}.{attribute}"))

    def _copy_instance(self, obj: Any, name: str) -> object:
        """An instance of the shadow of a user's class, with shadowed attributes, slots and items."""
        real: Any = real_class(type(obj))
        cls = self._see(real, real.__name__) if is_user_class(real) else real
        storage: Any = next((base for base in (tuple, list, dict) if issubclass(real, base)), object)
        if not isinstance(cls, ShadowClass) and not (storage is tuple and hasattr(real, "_fields")):
            return self._leave(obj, name)
        items = (self._copy_tuple(tuple(obj), name),) if storage is tuple else ()
        try:
            copy = storage.__new__(cls, *items)
        except TypeError:  # an extension type among the bases, whose memory cannot be copied from here
            return self._leave(obj, name)
        if storage is list:
            self._fill_list(list, obj, copy, name)
        elif storage is dict:
            self._fill_dict(dict, obj, copy, name)

        def fill() -> None:
            # Past user-defined attribute access: frozen dataclasses refuse to be set, others compute.
            for descriptor in [v for base in real.__mro__ for v in vars(base).values()]:
                if isinstance(descriptor, types.MemberDescriptorType):
                    try:
                        value = descriptor.__get__(obj)
                    except AttributeError:  # a slot that is not set
                        continue
                    descriptor.__set__(copy, self._see(value, f"{name}.{descriptor.__name__}"))
            if real.__dictoffset__:
                state = object.__getattribute__(obj, "__dict__")
                seen = {a: self._see(v, f"{name}.{a}") for a, v in state.items() if (id(obj), a) not in self.first_held}
                stood_for = {a: self.first_held[id(obj), a] for a in state if (id(obj), a) in self.first_held}
                object.__getattribute__(copy, "__dict__").update(seen | stood_for)

        self._unfilled.append(fill)
        return copy

    # Containers

    def _copy_simple_namespace(self, obj: types.SimpleNamespace | threading.local, name: str) -> types.SimpleNamespace:
        copy = types.SimpleNamespace()
        self._unfilled.append(lambda: vars(copy).update({k: self._see(v, f"{name}.{k}") for k, v in vars(obj).items()}))
        return copy

    def _copy_tuple(self, items: tuple, name: str) -> tuple:
        copy = tuple(self._see(item, f"{name}[{i}]") for i, item in enumerate(items))
        return copy if any(a is not b for a, b in zip(items, copy)) else items

    def _copy_frozenset(self, items: frozenset, name: str) -> frozenset:
        pairs = [(item, self.shadow(item, name)) for item in items]  # filled at once, to be hashed at once
        return FrozenInOrder(new for _, new in pairs) if any(old is not new for old, new in pairs) else items

    def _copy_list(self, items: Any, name: str) -> Any:
        copy: Any = collections.deque(maxlen=items.maxlen) if isinstance(items, collections.deque) else []
        self._fill_list(type(items), items, copy, name)
        return copy

    def _fill_list(self, kind: Any, items: Any, copy: Any, name: str) -> None:
        self._unfilled.append(
            lambda: kind.extend(copy, [self._see(item, f"{name}[{i}]") for i, item in enumerate(kind.__iter__(items))])
        )

    def _copy_set(self, items: set, name: str) -> set:
        if (plain := plain_copy(items, _ATOMS)) is not None:
            return plain
        copy = SetInOrder()
        self._unfilled.append(lambda: self._uninserted.append(copy.filled([self._see(i, name) for i in items])))
        return copy

    def _copy_dict(self, items: Any, name: str) -> Any:
        kind = type(items)
        copy: Any = kind(*([self._see(items.default_factory, name)] if kind is collections.defaultdict else []))
        self._fill_dict(kind, items, copy, name)
        return copy

    def _fill_dict(self, kind: Any, items: Any, copy: Any, name: str) -> None:
        def fill() -> None:
            # Keys too: in `DERIVATIVE[numpy.sin]` traced code looks up the tracing version.
            seen = [(self._see(k, name), self._see(value, f"{name}[{k!r}]")) for k, value in kind.items(items)]
            self._uninserted.append(lambda: kind.update(copy, seen))

        self._unfilled.append(fill)
