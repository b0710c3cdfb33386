"""Compiled functions of which SciPy has a form in Python too, for other kinds of arrays: that is traced."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from ..record.dispatch import implements
from ..record.recorder import Recorder


def by_generic_code(compiled: str, generic: str, names: Sequence[str]) -> None:
    """Have functions of one module be traced by those of the same names of the other, where both have them."""
    try:
        real, other = (importlib.import_module(f"scipy.{module}") for module in (compiled, generic))
    except ImportError:  # in older versions there is the compiled form only
        return
    for name in names:
        if hasattr(real, name) and hasattr(other, name):
            implements(getattr(real, name))(_tracing(getattr(other, name)))


def _tracing(function: Callable[..., Any]) -> Callable[..., Any]:
    def traced(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
        return recorder.call_python(function, args, kwargs)

    return traced
