"""Code of the user's with a limit of time: it is left by an exception where it takes longer."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

AGAIN = 0.05  # seconds, until code that has caught the exception gets it once more


class OutOfTime(BaseException):
    """Raised in code that takes too long. No `Exception`, so that only a bare `except:` of that code's could stop it."""


class TimeLimit:
    """A thread that waits, and then has `OutOfTime` raised in the thread that made it.

    Python looks for such an exception between its instructions: one long call of NumPy's ends first.
    """

    def __init__(self, seconds: float):
        self.target = threading.get_ident()
        self.is_over = threading.Event()
        self.lock = threading.Lock()
        self.watcher = threading.Thread(target=self.watch, args=(seconds,), daemon=True)
        self.watcher.start()

    def watch(self, seconds: float) -> None:
        while not self.is_over.wait(seconds):
            with self.lock:
                if not self.is_over.is_set():
                    interrupt(self.target, OutOfTime)
            seconds = AGAIN

    def end(self) -> None:
        """From here on nothing is raised; what is on its way is taken back."""
        self.is_over.set()
        with self.lock:
            interrupt(self.target, None)


def interrupt(thread: int, error: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error and ctypes.py_object(error))


def within(seconds: float | None, run: Callable[[], Any]) -> tuple[bool, Any]:
    """`(True, run())`, or `(False, None)` where that takes longer than so many seconds."""
    if seconds is None:
        return True, run()
    limit = TimeLimit(seconds)
    try:
        try:
            result = run()
        finally:
            limit.end()
    except OutOfTime:
        limit.end()
        return False, None
    return True, result
