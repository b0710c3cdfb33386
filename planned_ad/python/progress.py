"""What a long compilation is doing, for those who wait: records of `logging`, and a line on a terminal.

The logger is called "planned_ad". Its records of level INFO say what has been traced and compiled, and in how many
seconds; those of level DEBUG do so for each stage. Where the standard error is a terminal, a line there says, from two
seconds on, which stage it is in; `PLANNED_AD_PROGRESS=0` in the environment turns it off. It is drawn by a thread of
its own, since stages such as LLVM's come back only when they are over.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

LOGGER = logging.getLogger("planned_ad")
SHOWN_AFTER = 2.0  # seconds
EVERY = 0.5
ERASE = "\r\x1b[K"


@dataclass
class Stage:
    """What is being done, since when, and how far it is."""

    what: str
    begun: float = field(default_factory=time.perf_counter)
    detail: Callable[[], str] = lambda: ""

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begun


class Stages(threading.local):
    """The stages that this thread is in, the outermost first."""

    def __init__(self) -> None:
        self.now: list[Stage] = []


STAGES = Stages()


@contextlib.contextmanager
def stage(what: str) -> Iterator[None]:
    """While something is done that may take long."""
    stages, own = STAGES.now, Stage(what)
    stages.append(own)
    line = ProgressLine(stages) if len(stages) == 1 and is_watched() else None
    try:
        yield
    finally:
        stages.pop()
        if line is not None:
            line.stop()
    LOGGER.log(logging.DEBUG if stages else logging.INFO, "%s took %.3f s", what, own.seconds)


def tell(detail: Callable[[], str]) -> None:
    """Have the present stage say how far it is, whenever somebody looks."""
    if STAGES.now:
        STAGES.now[-1].detail = detail


def is_watched() -> bool:
    """Whether there may be somebody at a terminal."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("PLANNED_AD_PROGRESS") != "0"


class ProgressLine:
    """The line on the terminal, from the time on when it is due until `stop`."""

    def __init__(self, stages: list[Stage]):
        self._stages, self._stream = stages, sys.stderr
        self._over = threading.Event()
        self._is_drawn = False
        self._thread = threading.Thread(target=self._draw, name="planned_ad progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        if self._is_drawn:
            self._write(ERASE)

    def _draw(self) -> None:
        wait = SHOWN_AFTER
        while not self._over.wait(wait):
            wait = EVERY
            self._is_drawn = True
            self._write(ERASE + self.text())

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a terminal that is gone
            self._stream.write(text)
            self._stream.flush()

    def text(self) -> str:
        """As wide as a narrow terminal at most."""
        stages = list(self._stages)  # which the other thread changes
        if not stages:
            return ""
        with contextlib.suppress(Exception):  # what it looks at is being changed
            detail = stages[-1].detail()
            return f"planned_ad: {stages[-1].what}{detail and f', {detail}'}, {stages[0].seconds:.0f} s"[:79]
        return f"planned_ad: {stages[-1].what}"[:79]
