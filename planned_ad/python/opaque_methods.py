"""Methods of classes that traced code sees as they are: of enumerations, and of objects that are texts or numbers.

Such an object is one of its kind, and has no copy that traced code could see in its place. While a trace runs, its
class has methods that call the copies of its own for the thread that traces, and itself for others.
"""

from __future__ import annotations

import enum
import functools
import threading
import types
from collections.abc import Callable
from typing import Any, Protocol

from .shadows import is_user_function

# What Python calls at other times than the program does, or for what it does not compute with.
LEFT = frozenset((
    "__new__", "__init__", "__init_subclass__", "__class_getitem__", "__set_name__", "__prepare__", "__del__",
    "__hash__", "__eq__", "__ne__", "__repr__", "__str__", "__format__", "__dir__", "__reduce__", "__reduce_ex__",
    "__getstate__", "__setstate__", "__getattribute__", "__getattr__", "__setattr__", "__delattr__",
    "__instancecheck__", "__subclasscheck__", "_missing_", "_generate_next_value_",
))  # fmt: skip
KINDS_WITHOUT_COPY = (enum.Enum, str, int, float, complex, bytes)  # of objects without a copy
LOCK = threading.RLock()


class Traces(Protocol):
    """What runs functions as traced code: a `namespace.Namespace`."""

    def function(self, f: Callable[..., Any]) -> Callable[..., Any]: ...


class TracedMethod:
    """An attribute of a class that is another one while traces run, and what these are, by their threads."""

    def __init__(self, cls: type, name: str):
        self.cls, self.name, self.own = cls, name, vars(cls)[name]
        self.traces: dict[int, list[Traces]] = {}

    def enter(self, namespace: Traces) -> None:
        if not self.traces:
            type.__setattr__(self.cls, self.name, remade(self.own, self.traced))
        self.traces.setdefault(threading.get_ident(), []).append(namespace)

    def leave(self, namespace: Traces) -> None:
        for thread, running in list(self.traces.items()):
            self.traces[thread] = [each for each in running if each is not namespace]
            if not self.traces[thread]:
                del self.traces[thread]
        if not self.traces:
            type.__setattr__(self.cls, self.name, self.own)

    def traced(self, f: types.FunctionType) -> Callable[..., Any]:
        copies: dict[int, tuple[Traces, Callable[..., Any]]] = {}  # by the identities of namespaces

        @functools.wraps(f)
        def method(*args: Any, **kwargs: Any) -> Any:
            running = self.traces.get(threading.get_ident())
            if not running:
                return f(*args, **kwargs)
            namespace = running[-1]
            if id(namespace) not in copies:
                copies[id(namespace)] = namespace, namespace.function(f)
            return copies[id(namespace)][1](*args, **kwargs)

        return method


METHODS: dict[tuple[type, str], TracedMethod] = {}  # that are another one now


def remade(attribute: Any, change: Callable[[types.FunctionType], Callable[..., Any]]) -> Any:
    """A method, or what is made of functions of the user's, of others; itself where it is no such."""

    def changed(f: Any) -> Any:
        return change(f) if is_user_function(f) else f

    match attribute:
        case types.FunctionType():
            return changed(attribute)
        case staticmethod() | classmethod():
            function = changed(attribute.__func__)
            return attribute if function is attribute.__func__ else type(attribute)(function)
        case property() if type(attribute).__get__ is property.__get__:
            get = changed(attribute.fget)
            return attribute if get is attribute.fget else property(get, attribute.fset, attribute.fdel)
        case _:
            return attribute


class OpaqueMethods:
    """The methods that one trace has made its own."""

    def __init__(self) -> None:
        self.entered: list[TracedMethod] = []
        self.classes: set[type] = set()

    def trace(self, cls: type, namespace: Traces) -> None:
        """Trace what a class of the user's, and those it derives from, define."""
        for base in cls.__mro__:
            if base in self.classes:
                continue
            self.classes.add(base)
            with LOCK:
                own = {name: METHODS[base, name].own for name in vars(base) if (base, name) in METHODS}
                for name, attribute in (dict(vars(base)) | own).items():
                    if name not in LEFT and remade(attribute, lambda f: lambda: None) is not attribute:
                        method = METHODS.get((base, name)) or TracedMethod(base, name)
                        METHODS[base, name] = method
                        method.enter(namespace)
                        self.entered.append(method)

    def restore(self, namespace: Traces) -> None:
        with LOCK:
            for method in self.entered:
                method.leave(namespace)
                if not method.traces:
                    METHODS.pop((method.cls, method.name), None)


OF_TRACES: dict[int, OpaqueMethods] = {}  # by the identity of their namespaces


def trace_methods(cls: type, namespace: Traces) -> None:
    """Methods of a class whose objects have no shadows are traced in a namespace until it is over."""
    if issubclass(cls, KINDS_WITHOUT_COPY):
        OF_TRACES.setdefault(id(namespace), OpaqueMethods()).trace(cls, namespace)


def restore_methods(namespace: Traces) -> None:
    """What a trace that is over has changed is as it was."""
    found = OF_TRACES.pop(id(namespace), None)
    if found is not None:
        found.restore(namespace)
