"""Control between the statements of traced code, by Python's own trace function, as debuggers have it."""

from __future__ import annotations

import sys
import types
from collections.abc import Collection
from typing import Any

from .recording import Recording


class Watch:
    """Tells branches and `while` loops under way when a statement begins, and when a function returns.

    Only frames that they run in are watched, and only for so long. A debugger or a coverage tool that
    has a trace function of its own is set aside meanwhile.
    """

    def __init__(self, recorder: Recording):
        self.recorder = recorder
        self.saved: tuple[Any] | None = None  # the trace function that ours stands in for
        self.frames: dict[types.FrameType, Any] = {}
        self.codes: Collection[types.CodeType] = ()

    def begin(self, codes: Collection[types.CodeType] = ()) -> None:
        """Watch each frame of these codes from its beginning on."""
        self.codes = codes
        if self.saved is None:
            self.saved = (sys.gettrace(),)
            sys.settrace(lambda frame, event, argument: self.event if frame.f_code in self.codes else None)

    def on(self, frame: types.FrameType) -> None:
        self.begin(self.codes)
        self.frames.setdefault(frame, frame.f_trace)
        frame.f_trace = self.event
        frame.f_trace_lines = True

    def off_if_idle(self) -> None:
        """Stop where no branch or `while` loop is under way."""
        if not (self.codes or self.recorder.flow.is_watching):
            self.off()

    def off(self) -> None:
        if self.saved is not None:
            sys.settrace(self.saved[0])
            self.saved = None
            for frame, trace in self.frames.items():
                frame.f_trace = trace
            self.frames.clear()
        self.recorder.flow.forget()

    def event(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if self.recorder.scopes.restarting:
            return None
        self.recorder.flow.event(frame, event, argument)
        return self.event
