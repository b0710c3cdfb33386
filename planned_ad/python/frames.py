"""The frames of traced code, among those that are running."""

from __future__ import annotations

import types
from collections.abc import Iterator

from .shadows import is_user_frame


def user_frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """The frames of traced code, from the innermost outwards."""
    while frame is not None:
        if is_user_frame(frame):
            yield frame
        frame = frame.f_back


def user_frame(frame: types.FrameType | None) -> types.FrameType | None:
    """The innermost frame of traced code; None where none is running."""
    return next(user_frames(frame), None)
