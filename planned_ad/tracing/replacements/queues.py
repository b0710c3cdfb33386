"""Queues of the standard library, in traced code: what would wait for an item that nobody puts in unrolls its loop.

The body of a loop is recorded with the queue as it was before, which may be empty where an iteration finds items.
"""

from __future__ import annotations

import queue
from typing import Any

from ..record.recorder import Recorder
from .made_later import Later, later

QUEUES = (queue.Queue, queue.LifoQueue, queue.PriorityQueue, queue.SimpleQueue)


def queue_replacements() -> dict[int, Later]:
    """By identity, the classes whose instances wait."""
    return later(QUEUES, _without_waiting)


def _without_waiting(recorder: Recorder, real: Any) -> type:
    scopes = recorder.scopes

    def in_loop(waits: bool) -> bool:
        return waits and any(scope.site is not None for scope in scopes.open)

    def refuse(what: str) -> BaseException:
        return scopes.unroll_innermost(f"waits for {what} of a queue", recorder.builder.line)

    class Queue(real):
        __doc__, __module__, __qualname__ = real.__doc__, "queue", real.__qualname__

        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            if in_loop(block and timeout is None) and self.empty():
                raise refuse("an item")
            return super().get(block, timeout)

        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            if in_loop(block and timeout is None) and real is not queue.SimpleQueue and self.full():
                raise refuse("a free place")
            super().put(item, block, timeout)

    Queue.__name__ = real.__name__
    return Queue
