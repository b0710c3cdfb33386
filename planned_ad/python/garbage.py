"""While a plan is made, Python looks for garbage less often.

A trace and what becomes of it are many small objects, which nearly all stay until they are done with, and go by
themselves then. Python looks through the new ones for circles after every 700, and now and then through all that there
are, the modules that are loaded among them: a tenth of the time of a compilation.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from typing import Any

NEW = 20_000  # objects, after which it looks


class Seldom(contextlib.ContextDecorator):
    """Any number of threads may be within; what was set before is set again by the last one that leaves."""

    def __init__(self) -> None:
        self._lock, self._within = threading.Lock(), 0
        self._before = self._set = (0, 0, 0)

    def __enter__(self) -> None:
        with self._lock:
            if self._within == 0:
                new, young, old = self._before = gc.get_threshold()
                self._set = (new and max(new, NEW), young, old)  # with zero it never looks
                gc.set_threshold(*self._set)
            self._within += 1

    def __exit__(self, *error: Any) -> None:
        with self._lock:
            self._within -= 1
            if self._within == 0 and gc.get_threshold() == self._set:  # else somebody has set another one meanwhile
                gc.set_threshold(*self._before)


seldom_collected = Seldom()
