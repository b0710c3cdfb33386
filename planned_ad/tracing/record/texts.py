"""The text of a traced value: a name for it where that is only shown; else of its number, where there is one."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from ...python.shadows import is_user_frame
from ...python.shown_text import is_only_shown

FOR_MESSAGES = "asyncio."  # modules, whose texts of values decide nothing


def text_of(traced: Any, name: str, specification: str = "", text: Callable[[Any], str] | None = None) -> str:
    """To be called by what Python calls for a text: of the kind `text` makes, or by a specification."""
    if traced.is_known:
        number = traced.plain()
    else:
        frame = sys._getframe(2)
        if is_for_a_message(frame) or is_only_shown(frame):
            return name
        number = traced.number_for("its text")
        if not getattr(traced, "is_python", True):
            number = traced.dtype.type(number)
    return format(number, specification) if text is None else text(number)


def is_for_a_message(frame: types.FrameType | None) -> bool:
    """Whether an event loop asks, for the name of a task."""
    while frame is not None and not is_user_frame(frame):
        if str(frame.f_globals.get("__name__")).startswith(FOR_MESSAGES):
            return True
        frame = frame.f_back
    return False
