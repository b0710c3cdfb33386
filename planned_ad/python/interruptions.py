"""Exceptions that handlers of signals raise, wherever the program is just then: a limit of time, Ctrl-C."""

from __future__ import annotations

import signal
import traceback


def is_interruption(error: BaseException) -> bool:
    """Whether a handler of a signal has raised it: then it says nothing about the code that it has left."""
    handlers = map(signal.getsignal, signal.valid_signals())
    codes = {getattr(handler, "__code__", None) for handler in handlers} - {None}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))
