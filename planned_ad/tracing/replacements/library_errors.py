"""Errors that library code raises because a value is traced, such as for an attribute that no tracer has: refusals."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from ...errors import PlannedADError, UnsupportedError
from ...python.examples import copied
from ...python.library_names import library_call
from ...python.shadows import ShadowGlobals, is_library
from ..record.traced import NotAnOperand

BESIDE = (
    AttributeError,
    TypeError,
    ValueError,
    IndexError,
    AssertionError,
    KeyError,
    NotImplementedError,
    NotAnOperand,
)


def is_of_the_trace(error: Exception, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether library code has raised an error because of traced values: run by itself, the function does not."""
    frames = [frame.f_globals for frame, _ in traceback.walk_tb(error.__traceback__)]
    names: Any = next((names for names in reversed(frames) if type(names) is ShadowGlobals), {})  # of traced code
    if (
        isinstance(error, PlannedADError)
        or not isinstance(error, BESIDE)
        or not is_library(names.get("__name__") or "", names.get("__file__"))
    ):
        return False
    try:
        f(*copied(args), **copied(kwargs))
    except Exception:
        return False
    return True


def beside_python(error: Exception) -> UnsupportedError:
    """For an error that library code raises of traced values alone."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if is_users(frame.f_globals)]
    name, _ = library_call(frames[-1]) if frames else ("", None)
    line = next((text for text in getattr(error, "__notes__", ()) if text), "")
    what = f"{name} raises" if name else "library code raises"
    return UnsupportedError(
        f"{what} {type(error).__name__} ({error}) for traced values, and not for the numbers: it is not traced. Write "
        f"it with functions that have a rule (docs/supported.md), or call it in a function decorated with "
        f"planned_ad.opaque. {line}".strip()
    )


def is_users(names: Any) -> bool:
    return type(names) is ShadowGlobals and names.is_users
