"""Code of the user's with a limit of time: it is left by an exception where it takes longer."""

from __future__ import annotations

import _thread
import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

ASLEEP = 10  # times as long may pass as it may run
SHORTEST = 0.001  # seconds between two looks
AGAIN = 0.05  # seconds, until code that has caught the exception gets it once more
IMPORTS = "<frozen importlib"  # the files of Python's own import system
COMPILERS = frozenset({"numba", "llvmlite"})


class OutOfTime(BaseException):
    """Raised in code that takes too long. No `Exception`, so that only a bare `except:` could stop it."""


class TimeLimit:
    """A thread that waits, and then has `OutOfTime` raised in the thread that made it.

    Python looks for such an exception between its instructions: one long call of NumPy's ends first. It may come at any
    point of `end` too, which is called once more then, and uses plain locks, that no exception leaves halfway.
    Imports and Numba's compilations end first as well: what they have left halfway would stay so in this process.
    """

    def __init__(self, seconds: float):
        self.seconds, self.target = seconds, threading.get_ident()
        self.caller: FrameType | None = sys._getframe(1)
        self.begun = used_by(self.target)
        self.is_over = False
        self.running, self.lock = threading.Lock(), threading.Lock()
        self.running.acquire()

    def start(self) -> None:
        """As `threading` does, without its waiting for the thread, which the exception would leave with a lock lost."""
        _thread.start_new_thread(self.watch, ())

    def watch(self) -> None:
        seconds, ends = self.seconds, time.monotonic() + ASLEEP * self.seconds
        while not self.running.acquire(timeout=seconds):
            with self.lock:  # so that the other thread is still there
                left = 0.0 if self.is_over else self.begun + self.seconds - used_by(self.target)
                if left > 0 and time.monotonic() < ends:
                    seconds = max(left, SHORTEST)
                    continue
                if not self.is_over and not self.is_making_what_stays():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.target), ctypes.py_object(OutOfTime))
            seconds = AGAIN

    def is_making_what_stays(self) -> bool:
        """Whether the thread is importing a module, or compiling a function for all who call it later."""
        frame = sys._current_frames().get(self.target)
        while frame is not None and frame is not self.caller:  # which may itself be part of an import
            name = str(frame.f_globals.get("__name__"))
            if frame.f_code.co_filename.startswith(IMPORTS) or name.partition(".")[0] in COMPILERS:
                return True
            frame = frame.f_back
        return False

    def end(self) -> None:
        """From here on nothing is raised; what is on its way comes now.

        (Taking it back would leave CPython's flag for it set, and the thread looking for it ever after.)
        """
        self.is_over = True
        with self.lock:
            self.caller = None  # which has this in a variable
        for _ in range(10):
            pass
        if self.running.locked():
            self.running.release()


def used_by(thread: int) -> float:
    """Seconds that a thread has run for: where others keep the machine busy, less than have passed."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic()
    return time.clock_gettime(time.pthread_getcpuclockid(thread))


def within(seconds: float | None, run: Callable[[], Any]) -> tuple[bool, Any]:
    """`(True, run())`, or `(False, None)` where that takes longer than so many seconds.

    No garbage is looked for until then: its callbacks would be left halfway, the one that gives back machine code too.
    What comes in those that run when a count of references goes to zero is lost, and comes again: nobody is told.
    """
    if seconds is None:
        return True, run()
    if seconds <= 0:
        return False, None
    limit, hook, collects = TimeLimit(seconds), sys.unraisablehook, gc.isenabled()
    try:
        gc.disable()
        sys.unraisablehook = lambda found: None if found.exc_type is OutOfTime else hook(found)
        try:
            limit.start()
            result = run()
        finally:
            limit.end()
    except OutOfTime:
        limit.end()
        return False, None
    finally:
        sys.unraisablehook = hook
        if collects:
            gc.enable()
    return True, result
