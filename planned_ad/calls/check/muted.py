"""Warnings that come of the check's own numbers, and would tell users of what they have not done."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator

MUTED = threading.Lock()  # the filters are the process's: one thread at a time may set others, and no thread waits


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """What a solver has to say of numbers that nobody has given it is left out."""
    if not MUTED.acquire(blocking=False):
        yield
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        MUTED.release()
