"""Control between the statements of traced code, by Python's own trace function, as debuggers have it."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scopes import Scopes


class Watch:
    """Tells the branches of all loops around when a statement begins, and when a function returns.

    Only frames that a side of a branch runs in are watched, and only for so long. A debugger or a coverage tool that
    has a trace function of its own is set aside meanwhile.
    """

    def __init__(self, scopes: Scopes):
        self.scopes = scopes
        self.saved: tuple[Any] | None = None  # the trace function that ours stands in for
        self.frames: dict[types.FrameType, Any] = {}

    def on(self, frame: types.FrameType) -> None:
        if self.saved is None:
            self.saved = (sys.gettrace(),)
            sys.settrace(lambda frame, event, argument: None)
        self.frames.setdefault(frame, frame.f_trace)
        frame.f_trace = self.event
        frame.f_trace_lines = True

    def off(self) -> None:
        if self.saved is not None:
            sys.settrace(self.saved[0])
            self.saved = None
            for frame, trace in self.frames.items():
                frame.f_trace = trace
            self.frames.clear()

    def event(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if self.scopes.restarting:
            return None
        for loop in [scope.loop for scope in reversed(self.scopes.open) if scope.loop is not None]:
            loop.branches.event(frame, event)
        return self.event
