"""The frames of traced code, among those that are running."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator

from .shadows import ShadowGlobals, is_user_frame

REMAINDERS = (6, 19)  # the arguments of BINARY_OP that say `%` and `%=`


def user_frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """The frames of traced code, from the innermost outwards."""
    while frame is not None:
        if is_user_frame(frame):
            yield frame
        frame = frame.f_back


def user_frame(frame: types.FrameType | None) -> types.FrameType | None:
    """The innermost frame of traced code; None where none is running."""
    return next(user_frames(frame), None)


def as_written(cls: type, frame: types.FrameType) -> type:
    """A class that is asked for: as traced code sees it, where that reads `x.__class__`, and not `isinstance`."""
    names = frame.f_globals
    code = frame.f_code
    if type(names) is not ShadowGlobals or "__class__" not in code.co_names:
        return cls
    if dis.opname[code.co_code[frame.f_lasti]] != "LOAD_ATTR":
        return cls
    seen: type = names.namespace.shadow(cls)
    return seen


def is_formatting(frame: types.FrameType) -> bool:
    """Whether a frame is at `text % numbers` (or a remainder), by its present instruction."""
    place, code = frame.f_lasti, frame.f_code.co_code
    return dis.opname[code[place]] == "BINARY_OP" and code[place + 1] in REMAINDERS
