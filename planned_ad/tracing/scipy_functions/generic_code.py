"""Compiled functions of which SciPy has a form in Python too, for other kinds of arrays: that is traced."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ..record.dispatch import implements
from ..record.recorder import Recorder


def by_generic_code(compiled: str, generic: str, without: Collection[str] = ()) -> None:
    """Have what the functions of one module do be traced by the other's functions of the same names.

    `without` names those which do something else.
    """
    try:
        real, other = (importlib.import_module(f"scipy.{module}") for module in (compiled, generic))
    except ImportError:  # in older versions there is the compiled form only
        return
    for name, function in vars(other).items():
        if type(function) is types.FunctionType and function.__module__ == other.__name__ and hasattr(real, name):
            if name in without:
                continue
            implements(getattr(real, name))(_tracing(function))


def _tracing(function: Callable[..., Any]) -> Callable[..., Any]:
    def traced(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):  # compiled code does not warn
            found = recorder.call_python(function, args, kwargs)
        return tuple(map(plain_number, found)) if type(found) is tuple else plain_number(found)

    def plain_number(found: Any) -> Any:
        """Compiled functions give scalars in place of arrays without axes."""
        return found[()] if getattr(found, "shape", None) == () else found

    return traced
