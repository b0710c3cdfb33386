"""Errors that are raised because a value is traced, such as for an attribute that no tracer has: refusals."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import PlannedADError, UnsupportedError
from ...python.examples import copied
from ...python.library_names import library_call
from ...python.made import first_call
from ...python.shadows import ShadowGlobals
from ...python.source import Line
from ...python.structure import flatten


def is_of_the_trace(error: Exception, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an error has been raised because of traced values: run by itself, the function does not."""
    if isinstance(error, PlannedADError):
        return False
    call = first_call(f, args, kwargs)
    if call is None:
        return False
    f, *given = call
    copies = copied(given[0]), copied(given[1])
    for example, copy in zip(flatten(tuple(given))[0], flatten(copies)[0]):
        if isinstance(copy, np.ndarray):
            copy.flags.writeable = example.flags.writeable
    try:
        f(*copies[0], **copies[1])
    except Exception:
        return False
    return True


def beside_python(error: Exception) -> UnsupportedError:
    """For an error that is raised of traced values alone."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if is_users(frame.f_globals)]
    name, _ = library_call(frames[-1]) if frames else ("", None)
    line = next((text for text in getattr(error, "__notes__", ()) if text), "")
    what = f"{name} raises" if name else "this raises"
    return UnsupportedError(
        f"{what} {type(error).__name__} ({error}) for traced values, and not for the numbers: it is not traced. Write "
        f"it with functions that have a rule (docs/supported.md), or call it in a function decorated with "
        f"planned_ad.opaque. {line}".strip()
    )


def is_users(names: Any) -> bool:
    return type(names) is ShadowGlobals and names.is_users


def note_line(error: Exception) -> None:
    """Add the user's line to an error that does not name it already."""
    if isinstance(error, PlannedADError):
        return
    found, entry = None, error.__traceback__
    while entry is not None:
        if type(entry.tb_frame.f_globals) is ShadowGlobals:
            found = Line(
                file=entry.tb_frame.f_code.co_filename,
                number=entry.tb_lineno,
                function=entry.tb_frame.f_code.co_name,
            )
        entry = entry.tb_next
    if found is not None:
        error.add_note(f"while planned_ad traced {found}: `{found.text}`")
