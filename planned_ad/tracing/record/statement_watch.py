"""Control between the statements of traced code, by Python's own trace function, as debuggers have it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from ...python.instructions import leaves_with
from ...python.interruptions import is_from_handler
from .recording import Recording

Found = TypeVar("Found")


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
        self.is_paused = False

    def begin(self, codes: Collection[types.CodeType] = ()) -> None:
        """Watch each frame of these codes from its beginning on."""
        self.codes = codes
        if self.saved is None:
            self.saved = (sys.gettrace(),)
            sys.settrace(self.called)

    def called(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        """What Python asks at each call whether the function's statements are watched."""
        if frame in self.recorder.generators and not self.recorder.scopes.restarting:
            self.recorder.flow.resumed(frame)
        return self.event if frame.f_code in self.codes else None

    def aside(self, function: Callable[..., Found], *args: Any, **kwargs: Any) -> Found:
        """What code of ours gives that calls none of the program's: Python need not ask at each call in it.

        (From 3.12 on beginning again makes Python instrument all code anew.)
        """
        if self.saved is None or self.is_paused or sys.version_info >= (3, 12):
            return function(*args, **kwargs)
        self.is_paused = True
        sys.settrace(None)
        try:
            return function(*args, **kwargs)
        finally:
            self.is_paused = False
            if self.saved is not None:
                sys.settrace(self.called)

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
        if event == "exception" and (argument[0] is KeyboardInterrupt or is_from_handler(argument[2])):
            self.off()  # who interrupts the trace is not the program
            return None
        if event == "line" and frame.f_lasti in leaves_with(frame.f_code):
            return self.event  # no statement begins; what is raised here would keep `__exit__` from being called
        self.recorder.flow.event(frame, event, argument)
        return self.event
