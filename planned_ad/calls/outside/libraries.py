"""What is of a library, and stays what it is: a walk over what a function finds outside does not look into it."""

from __future__ import annotations

import types

import numpy as np

from ...python.shadows import is_library, is_user_class, is_user_function


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
