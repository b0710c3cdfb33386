"""What is of a library, and stays what it is: a walk over what a function finds outside does not look into it."""

from __future__ import annotations

import gc
import sys
import types

import numpy as np

from ...python.shadows import (
    OPAQUE_BASES,
    is_array_class,
    is_library,
    is_traced,
    is_user_class,
    is_user_function,
    real_class,
)

NOT_OURS = ("planned_ad.", "numba.")  # whose objects are known to the trace


def is_fixed(value: object) -> bool:
    """Whether this stays what it is, as libraries do and what is in them: it is not looked into."""
    if isinstance(value, types.ModuleType):
        return is_library(value.__name__, getattr(value, "__file__", None))
    if isinstance(value, types.BuiltinFunctionType):
        return isinstance(value.__self__, types.ModuleType) or value.__self__ is None
    if isinstance(value, np.ufunc):
        return not is_made_there(value)
    if isinstance(value, np.dtype | types.MethodDescriptorType | types.WrapperDescriptorType):
        return True
    return is_library_value(value)


def is_library_value(value: object) -> bool:
    """Whether a function or class is a library's."""
    if isinstance(value, type):
        return not is_user_class(value) and is_library(value.__module__)
    if type(value) is types.FunctionType:
        is_users = is_user_function(value) or is_user_function(getattr(value, "__wrapped__", None))
        return not is_users and not is_made_there(value)
    is_numpy_function = type(value).__module__ == "numpy" and callable(value) and hasattr(value, "__wrapped__")
    return is_numpy_function


def is_made_there(value: object) -> bool:
    """Whether a callable of a library was made by a call of it, perhaps of functions of the user's."""
    if type(value) is types.FunctionType:
        module = value.__globals__.get("__name__") or ""
        return "<locals>" in value.__qualname__ and bool(value.__closure__) and not module.startswith(NOT_OURS)
    if isinstance(value, np.ufunc):
        return any(type(part) is not dict for part in gc.get_referents(value))
    module = type(value).__module__
    if not callable(value) or module.startswith(NOT_OURS) or not is_library(module):
        return False
    return all(held is not value for held in vars(sys.modules.get(module, types)).values())


def is_written_by_user(cls: type) -> bool:
    """Whether the attributes of a class are the user's, of a named tuple's too."""
    if is_user_class(cls) or is_array_class(cls):
        return True
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return issubclass(cls, (*OPAQUE_BASES, type, tuple)) and is_traced(cls.__module__, file)


def is_generated(method: object) -> bool:
    """Whether a method is one that `dataclasses` or `collections.namedtuple` makes for a class."""
    f = getattr(method, "__wrapped__", method)
    if type(f) is not types.FunctionType:
        return False
    return f.__code__.co_filename == "<string>" or is_library(f.__globals__.get("__name__", ""))


def may_be_hidden(name: str, value: object) -> bool:
    """Whether an instance may get an attribute of its own in the place of this one of its class: a method, a flag."""
    return not name.startswith("__") and not hasattr(type(value), "__set__")


def has_copies(kind: type) -> bool:
    """Whether traced code sees copies of the instances of a class: see `namespace`."""
    real = real_class(kind)
    if issubclass(real, tuple) and hasattr(real, "_fields"):
        return True
    makers = (base for base in real.__mro__ if type(vars(base).get("__new__")) is types.BuiltinFunctionType)
    return is_user_class(real) and next(makers, object) in (object, tuple, list, dict)


def has_hidden_parts(cls: type) -> bool:
    """Whether what instances of a class are made of is out of Python's sight, as with a subclass of `Decimal`."""
    return any(type(vars(base).get("__new__")) is types.BuiltinFunctionType for base in cls.__mro__[:-1])


def library_keeps_parts(base: type) -> bool:
    """Whether a class that users derive from is a library's, whose methods read attributes of their own making."""
    return is_library_value(base) and not {"__init__", "__new__"}.isdisjoint(vars(base))


def is_defined(cls: type | None, name: str) -> bool:
    """Whether a class or one of its bases has something under a name, whatever a descriptor says when it is asked."""
    return cls is not None and any(name in vars(base) for base in type.__getattribute__(cls, "__mro__"))
