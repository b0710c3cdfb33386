"""Refusals that the traced function catches: what comes after would be recorded, and not be what the function does."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

from ...errors import TraceError
from ...python.liveness import is_in_try
from .library_errors import is_users


class CaughtRefusals:
    """Remembers the first refusal that was made inside of a `try`, or a `with`, of the user's code."""

    def __init__(self) -> None:
        self.first: TraceError | None = None

    def told(self, error: TraceError) -> None:
        if self.first is None and any(is_users(f.f_globals) and is_in_try(f) for f in frames_from(sys._getframe(2))):
            self.first = error

    def check(self) -> None:
        """Called where the function has come to its end all the same."""
        if self.first is not None:
            raise TraceError(f"the function has caught this, and gone on: {self.first}") from self.first


def frames_from(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
