"""Exceptions that handlers of signals raise, wherever the program is just then: a limit of time, Ctrl-C."""

from __future__ import annotations

import signal
import traceback
import types


def is_interruption(error: BaseException) -> bool:
    """Whether a handler of a signal has raised it: then it says nothing about the code that it has left."""
    return is_from_handler(error.__traceback__)


def is_from_handler(raised: types.TracebackType | None) -> bool:
    """Whether what has this traceback was raised by a handler of a signal."""
    handlers = map(signal.getsignal, signal.valid_signals())
    codes = {getattr(handler, "__code__", None) for handler in handlers} - {None}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(raised))
