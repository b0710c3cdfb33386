"""Code of the user's with a limit of time: it is left by an exception where it takes longer."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

AGAIN = 0.05  # seconds, until code that has caught the exception gets it once more


class OutOfTime(BaseException):
    """Raised in code that takes too long. No `Exception`, so that only a bare `except:` could stop it."""


class TimeLimit:
    """A thread that waits, and then has `OutOfTime` raised in the thread that made it.

    Python looks for such an exception between its instructions: one long call of NumPy's ends first. It may come at any
    point of `end` too, which is called once more then, and uses plain locks, that no exception leaves halfway.
    """

    def __init__(self, seconds: float):
        self.seconds, self.target = seconds, threading.get_ident()
        self.is_over = False
        self.running, self.lock = threading.Lock(), threading.Lock()
        self.running.acquire()

    def start(self) -> None:
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self) -> None:
        seconds = self.seconds
        while not self.running.acquire(timeout=seconds):
            with self.lock:
                if not self.is_over:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.target), ctypes.py_object(OutOfTime))
            seconds = AGAIN

    def end(self) -> None:
        """From here on nothing is raised; what is on its way comes now.

        (Taking it back would leave CPython's flag for it set, and the thread looking for it ever after.)
        """
        self.is_over = True
        with self.lock:
            pass
        for _ in range(10):
            pass
        if self.running.locked():
            self.running.release()


def within(seconds: float | None, run: Callable[[], Any]) -> tuple[bool, Any]:
    """`(True, run())`, or `(False, None)` where that takes longer than so many seconds."""
    if seconds is None:
        return True, run()
    if seconds <= 0:
        return False, None
    limit = TimeLimit(seconds)
    try:
        try:
            limit.start()
            result = run()
        finally:
            limit.end()
    except OutOfTime:
        limit.end()
        return False, None
    return True, result
