"""The stand-ins that traced code meets: shadows of globals, modules and classes, and how to tell them from the real."""

import builtins
import collections.abc
import ctypes
import enum
import functools
import gc
import importlib
import os
import sys
import types
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from ..errors import UnsupportedError
from .called_methods import CONVERSIONS, PROTOCOLS, as_called
from .class_relations import ACTUAL_BASE, ACTUAL_BASES, ACTUAL_MRO, as_program_sees, asks_for_mro, place_of_subclasses

CONTROL = "planned_ad.control"
TRACED_OURS = frozenset(  # ordinary Python, as the user's is
    {CONTROL, "planned_ad.tracing.loops.dict_of_items"}
    | {f"planned_ad.functional.{name}" for name in ("adaptive_steps", "dense_output", "events", "implicit_steps")}
)
_LIBRARIES = frozenset({"numpy", "scipy", "numba", "llvmlite", "planned_ad", "pandas", "matplotlib", "sympy"})
_STANDARD_LIBRARY = os.path.dirname(os.__file__)
VENDORED = ("scipy._lib.", "scipy._external.")  # where SciPy keeps other packages: up to 1.17, and since
# Modules of libraries that are Python all through, whose functions and classes are traced as the user's are.
PURE_PYTHON = (
    "colorsys",
    "statistics",
    "numpy.fft",
    "numpy.lib._arraysetops_impl",
    "numpy.lib._function_base_impl",
    "numpy.lib._polynomial_impl",
    "numpy.lib._scimath_impl",
    "numpy.lib._shape_base_impl",
    "numpy.polynomial",
    "scipy._lib._array_api",
    "scipy._lib._util",
    *(f"{holder}array_api_compat.numpy._aliases" for holder in VENDORED),
    *(f"{holder}array_api_extra" for holder in VENDORED),
    "scipy.fft._basic_backend",
    "scipy.fft._duccfft",
    "scipy.fft._pocketfft",
    "scipy.fft._realtransforms_backend",
    "scipy.fftpack",
    "scipy.integrate._ivp",
    "scipy.integrate._quadpack_py",
    "scipy.integrate._quadrature",
    "scipy.linalg._basic",
    "scipy.interpolate",
    "scipy.linalg._procrustes",
    "scipy.linalg._special_matrices",
    "scipy.ndimage",
    "scipy.optimize._optimize",
    "scipy.signal",
    "scipy.spatial",
    "scipy.special._spfun_stats",
    "scipy.stats._axis_nan_policy",
    "scipy.stats._continuous_distns",
    "scipy.stats._correlation",
    "scipy.stats._covariance",
    "scipy.stats._discrete_distns",
    "scipy.stats._entropy",
    "scipy.stats._kde",
    "scipy.stats._morestats",
    "scipy.stats._multivariate",
    "scipy.stats._quantile",
    "scipy.stats._stats_mstats_common",
    "scipy.stats._stats_py",
    "scipy.stats._variation",
    "scipy.stats._wilcoxon",
    "scipy.stats.contingency",
)
OPAQUE_BASES = (BaseException, enum.Enum, np.ndarray, np.generic)


class Shadowing(Protocol):
    """What makes the shadows of one trace: see `namespace`."""

    builtins: dict[str, Any]
    recorder: Any

    def shadow(self, obj: Any, name: str = "") -> Any: ...

    def attribute(self, module: types.ModuleType, name: str) -> object: ...

    def shadow_globals(self, real: dict[str, Any]) -> dict[str, Any]: ...


def is_library(module_name: str, file: str | None = None) -> bool:
    """Whether a module belongs to a library whose code is never copied.

    These are NumPy, SciPy, Numba, planned_ad, the standard library, and pandas, Matplotlib and SymPy, which do nothing
    with traced values but bring much code along.

    A user's own `code.py` shares its name with a module of the standard library, hence `file`. The loops and branches
    of modules in `TRACED_OURS` are traced as the user's are.
    """
    if module_name in TRACED_OURS:
        return False
    top = str(module_name).partition(".")[0]  # a class that `exec` has made may have none
    if top in _LIBRARIES or top.startswith("_cython_"):  # the types of what Cython has compiled
        return True
    return top in sys.stdlib_module_names and (file is None or file.startswith(_STANDARD_LIBRARY))


def is_traced(module_name: str, file: str | None = None) -> bool:
    """Whether the code of a module is copied to be traced: the user's own, and what is in `PURE_PYTHON`."""
    return not is_library(module_name, file) or module_name.startswith(PURE_PYTHON)


def is_user_frame(frame: types.FrameType) -> bool:
    """Whether a frame runs traced code: a shadow copy, or a function defined inside one."""
    return type(frame.f_globals) is ShadowGlobals


def is_frame_of_library(frame: types.FrameType) -> bool:
    """Whether a frame runs a library's own code, other than ours."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _LIBRARIES - {"planned_ad"}


def real_class(cls: type) -> type:
    """The user's class behind a shadow class; any other class is its own."""
    return vars(cls).get("__real_class__", cls)


class ShadowGlobals(dict):
    """The globals of shadow functions: shadows of the real globals, each made when it is first read.

    Names that were defined after this was made are found. A write (`global n; n += 1`) stays here.
    The interpreter reads `__builtins__`, and `__name__` for class bodies, past any Python method: both are stored.
    """

    __slots__ = ("asked", "builtins_read", "is_users", "line_tables", "lines", "namespace", "real")

    def __init__(self, namespace: Shadowing, real: dict[str, Any]):
        super().__init__(__builtins__=namespace.builtins, __name__=real.get("__name__"))
        self.namespace = namespace
        self.real = real
        self.builtins_read: set[str] = set()
        self.asked: dict[str, None] = {}  # names that may not be there
        name = real.get("__name__") or ""
        is_ours = name in TRACED_OURS
        self.is_users = not is_ours and not is_library(name, real.get("__file__"))  # whose lines errors name
        self.lines: dict[tuple[int, int], tuple[types.CodeType, Any]] = {}  # the caches of `source.current_line`
        self.line_tables: dict[int, Any] = {}

    def __missing__(self, name: str) -> object:
        if name in self.real:
            self[name] = value = self.read_first(name)
            return value
        # Not stored: `name in globals()` stays true to the real globals. Raises KeyError, which becomes a NameError.
        value = self.namespace.builtins[name]
        self.builtins_read.add(name)
        return value

    def read_first(self, name: str) -> object:
        """What a name is that nobody has assigned to."""
        is_of_imports = name in ("__loader__", "__spec__")  # which whoever shows a traceback asks for
        return self.real[name] if is_of_imports else self.namespace.shadow(self.real[name], name)

    def __contains__(self, name: object) -> bool:
        if type(name) is str:
            self.asked[name] = None
        return super().__contains__(name) or name in self.real

    def get(self, name: str, default: object = None) -> object:
        """As `dict.get`, for user code that calls `globals().get`."""
        if name in self:
            return self[name]
        return default

    def __bool__(self) -> bool:
        return True


def refused_in_traces(name: str) -> Callable[..., Any]:
    """A method of globals for all names, of which there are those that have been read; the dict's own for others."""

    def method(self: ShadowGlobals, *args: Any) -> Any:
        frame = sys._getframe(1)
        while frame is not None and not is_user_frame(frame):
            frame = frame.f_back  # type: ignore[assignment]
        if frame is None:  # a traceback is shown, say
            return getattr(dict, name)(self, *args)
        line = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} in {frame.f_code.co_name}"
        which = f"goes through all names of {self.real.get('__name__')!r}, of which a trace has those that are read"
        raise UnsupportedError(f"{line}: {which} one by one. Put what it looks for into a dict or a list")

    return method


for _name in ("__iter__", "__reversed__", "__len__", "keys", "values", "items", "copy", "__or__", "__ror__"):
    setattr(ShadowGlobals, _name, refused_in_traces(_name))


class ShadowBuiltins(dict[str, Any]):
    """The built-ins as traced code sees them: what replaces one is made when its name is first read.

    The interpreter reads `__import__` and `__build_class__` past any Python method: both are stored.
    """

    __slots__ = ("real", "replacements")

    def __init__(self, replacements: Mapping[int, object], helpers: Mapping[str, object], load: Callable[..., object]):
        super().__init__(__import__=load, __build_class__=build_class)
        self.replacements, self.real = replacements, {**vars(builtins), **helpers}

    def __missing__(self, name: str) -> object:
        value = self.real[name]
        self[name] = seen = self.replacements.get(id(value), value)
        return seen


class ShadowModules(collections.abc.Mapping[str, Any]):
    """`sys.modules` as traced code sees it."""

    def __init__(self, namespace: Shadowing):
        self.namespace = namespace
        self.asked: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.asked[name] = None
        return self.namespace.shadow(sys.modules[name], name)

    def __iter__(self) -> Iterator[str]:
        return iter(sys.modules)

    def __len__(self) -> int:
        return len(sys.modules)

    def load(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: tuple[str, ...] = (),
        level: int = 0,
    ) -> Any:
        """As `__import__`."""
        # The import system reads `__package__` and `__spec__` of the globals past `__missing__`.
        real = globals.real if isinstance(globals, ShadowGlobals) else globals
        module = builtins.__import__(name, real, locals, fromlist, level)
        self.asked[module.__name__] = None
        return self.namespace.shadow(module, name)

    def load_by_name(self, name: str, package: str | None = None) -> Any:
        """As `importlib.import_module`."""
        module = importlib.import_module(name, package)
        return self.get(module.__name__, module)


OWN_NAMES: Any = vars(types.ModuleType)["__dict__"].__get__


class ShadowModule(types.ModuleType):
    """A module as traced code sees it: each attribute is shadowed when first read; a write stays here.

    One that the module's own `__getattr__` makes is made by the shadow of that. What a module of the user's has are the
    globals that its functions see.
    """

    def __init__(self, namespace: Shadowing, real: types.ModuleType):
        super().__init__(real.__name__, real.__doc__)
        self.__dict__.update({name: value for name, value in vars(real).items() if name in ("__file__", "__path__")})
        self.__spec__, self.__package__ = getattr(real, "__spec__", None), getattr(real, "__package__", None)
        self.__dict__["__planned_ad_shadow__"] = (namespace, real, {})

    def __getattr__(self, name: str) -> object:
        namespace, real, asked = self.__dict__["__planned_ad_shadow__"]
        names = globals_of(self)
        if names is not None and name in names:
            if not dict.__contains__(names, name):
                names[name] = self.read_first(name)
            return names[name]
        if name not in vars(real) and name[:2] != "__" and is_user_function(vars(real).get("__getattr__")):
            asked.update({name: None, "__getattr__": None})
            make: Callable[[str], object] = self.read_first("__getattr__")  # type: ignore[assignment]
            return namespace.shadow(make(name), f"{real.__name__}.{name}")
        value = self.__dict__[name] = self.read_first(name)
        return value

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        own: Any = OWN_NAMES(self)
        if not is_user_frame(sys._getframe(1)):
            return own
        names, real = globals_of(self), own["__planned_ad_shadow__"][1]
        return {name: getattr(self, name) for name in vars(real)} if names is None else names

    def __setattr__(self, name: str, value: object) -> None:
        names = globals_of(self)
        if names is None:
            super().__setattr__(name, value)
        else:
            names[name] = value

    def __delattr__(self, name: str) -> None:
        names = globals_of(self)
        if names is None or not dict.__contains__(names, name):
            super().__delattr__(name)
        else:
            del names[name]

    def read_first(self, name: str) -> object:
        """What an attribute is that nobody has written to."""
        namespace, real, _ = self.__dict__["__planned_ad_shadow__"]
        return namespace.attribute(real, name)

    def __dir__(self) -> Iterable[str]:
        return dir(self.__dict__["__planned_ad_shadow__"][1])

    def __repr__(self) -> str:
        return repr(self.__dict__["__planned_ad_shadow__"][1])


def globals_of(shadow: ShadowModule) -> ShadowGlobals | None:
    """What the functions of a module of the user's see, which is what it has; None for one of a library."""
    if "__planned_ad_shadow__" not in shadow.__dict__:  # it is being made
        return None
    namespace, real, _ = shadow.__dict__["__planned_ad_shadow__"]
    names = namespace.shadow_globals(vars(real))
    return names if names.is_users else None


class ShadowClass(type):
    """The metaclass of shadow classes: their resolution order, and `isinstance` against them.

    A shadow class accepts instances of its real class, and so instances of the shadows too, which are subclasses of it.
    A class that traced code defines on top of a shadow class has the ordinary behaviour.
    """

    def __setattr__(cls, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if is_user_frame(sys._getframe(1)):
            type.__setattr__(cls, "__assigned__", {*vars(cls).get("__assigned__", ()), name})
        forget_looked_up(cls)

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        forget_looked_up(cls)

    def mro(cls) -> list[type]:
        if is_user_frame(sys._getframe(1)):
            return [*as_program_sees(ACTUAL_MRO(cls))]
        rest = vars(cls).get("__shadow_mro__")
        return super().mro() if rest is None else [cls, *rest]

    @property
    def __mro__(cls) -> tuple[type, ...]:
        order, asking = ACTUAL_MRO(cls), asks_for_mro(sys._getframe(1))
        return as_program_sees(order) if asking is not None and is_user_frame(asking) else order

    @property
    def __bases__(cls) -> tuple[type, ...]:  # type: ignore[override]
        see: Any = vars(cls).get("__see__")
        if see is None or not is_user_frame(sys._getframe(1)):
            return ACTUAL_BASES(cls)
        return tuple(see(base, base.__name__) for base in ACTUAL_BASES(real_class(cls)))

    @property
    def __base__(cls) -> type:
        see: Any = vars(cls).get("__see__")
        is_asked = see is not None and is_user_frame(sys._getframe(1))
        return see(ACTUAL_BASE(real_class(cls)), "") if is_asked else ACTUAL_BASE(cls)

    def __subclasses__(cls) -> list[type]:
        """Shadows of the real class's, and those that traced code has defined."""
        see: Any = vars(cls).get("__see__")
        found: list[type] = super().__subclasses__()
        if see is None:
            return found
        derived: list[type] = type.__subclasses__(real_class(cls))
        return [see(each, each.__name__) for each in derived] + found

    def __instancecheck__(cls, instance: object) -> bool:
        real = real_class(cls)
        return super().__instancecheck__(instance) if real is cls else isinstance(instance, real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        real = real_class(cls)
        if real is cls:
            return super().__subclasscheck__(subclass)
        # An abstract base class asks each class that it gives as derived from it, and must not be asked in return.
        if place_of_subclasses() is None and not is_user_frame(sys._getframe(1)):
            return type.__subclasscheck__(real, subclass)
        return issubclass(subclass, real)


def forget_looked_up(cls: type) -> None:
    """Have the shadows of derived classes look up attributes anew: for Python they do not derive from this one."""
    for below in vars(cls).get("__shadows_below__", ()):
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(below))


def special_methods(cls: type, but: Collection[str]) -> dict[str, Any]:
    """What a class defines that Python looks for, but for some."""
    return {n: v for n, v in vars(cls).items() if n.startswith("__") and n.endswith("__") and n not in but}


def set_class_attribute(cls: type, name: str, value: object) -> None:
    """Past what its metaclass makes of it, which may have a property of that name, of the class itself."""
    if type(value) is types.FunctionType and "__see__" in vars(cls):
        value = as_called(vars(cls)["__see__"], name, value)
    metaclass: type = type(cls)
    bases = (base for base in metaclass.__mro__ if base is not type and base is not object)
    of_metaclass = next((vars(base)[name] for base in bases if name in vars(base)), None)
    if hasattr(of_metaclass, "__set__"):
        gc.get_referents(vars(cls))[0][name] = value
    else:
        type.__setattr__(cls, name, value)
    forget_looked_up(cls)


def build_class(body: types.FunctionType, name: str, *bases: Any, **options: Any) -> Any:
    """What a class statement of traced code makes."""
    cls = builtins.__build_class__(body, name, *bases, **options)
    names = body.__globals__
    if isinstance(cls, type) and isinstance(names, ShadowGlobals):
        for name in vars(cls).keys() & {*PROTOCOLS, *CONVERSIONS, "__eq__"}:
            method = vars(cls)[name]
            if type(method) is types.FunctionType:
                type.__setattr__(cls, name, as_called(names.namespace.shadow, name, method))
        if names.namespace.recorder is not None:
            names.namespace.recorder.flow.class_made(body.__code__, cls)
    return cls


@functools.cache
def shadow_metaclass(metaclass: type) -> type:
    """`ShadowClass`, mixed with the real class's own metaclass, such as `abc.ABCMeta`."""
    if metaclass is type:
        return ShadowClass
    return type(metaclass)(f"Shadow{metaclass.__name__}", (ShadowClass, metaclass), {})


def referent_of(proxy: weakref.ProxyType) -> Any:
    """The object that a weak proxy stands for: its methods are that object's."""
    return proxy.__dir__.__self__  # type: ignore[attr-defined]


def is_user_function(f: object) -> bool:
    if type(f) is not types.FunctionType:
        return False
    # Examples in docstrings run over a copy of the documented module's globals, and are user code all the same.
    if f.__code__.co_filename.startswith("<doctest"):
        return True
    return is_traced(f.__globals__.get("__name__") or "", f.__globals__.get("__file__"))


def defines_user_code(cls: type) -> bool:
    """Whether a class body holds Python code of the user's; what collections.namedtuple generates does not count."""
    for value in vars(cls).values():
        if isinstance(value, property | functools.cached_property):
            value = getattr(value, "fget", None) or getattr(value, "func", None)
        value = getattr(value, "__func__", value)
        if is_user_function(value) and not value.__globals__.get("__name__", "").startswith("namedtuple_"):
            return True
    return False


def is_user_class(cls: type) -> bool:
    """Whether a class is of the user's code: traced code sees a shadow of it."""
    if issubclass(cls, (*OPAQUE_BASES, type)):
        return False
    if not is_traced(cls.__module__, getattr(sys.modules.get(cls.__module__), "__file__", None)):
        return defines_user_code(cls)  # only a class of a docstring's example
    if issubclass(cls, tuple):
        return any(defines_user_code(base) for base in cls.__mro__)
    # A class statement leaves one of these in the first class of a hierarchy; extension types have neither.
    return any("__dict__" in vars(base) or "__slots__" in vars(base) for base in cls.__mro__)


def is_array_class(cls: type) -> bool:
    """Whether a class of the user's derives from `numpy.ndarray` itself, and from no other class of a library."""
    if cls is np.ndarray or not issubclass(cls, np.ndarray):
        return False
    own = [base for base in cls.__mro__ if base not in (np.ndarray, object)]
    return all(is_traced(base.__module__, getattr(sys.modules.get(base.__module__), "__file__", None)) for base in own)
