"""Code that asks whether a truth `is True`, which no stand-in for a truth can answer."""

from __future__ import annotations

import dis
import functools
import itertools
import sys
import types

from ...python.frames import user_frame


def is_asked() -> bool:
    """Whether the traced code that is running `asks`: has `is True` or `is False` in it, or a `case` that means it."""
    frame = user_frame(sys._getframe(1))
    return frame is not None and asks(frame.f_code)


@functools.lru_cache(maxsize=1024)
def asks(code: types.CodeType) -> bool:
    pairs = itertools.pairwise(dis.get_instructions(code))
    return any(b.opname == "IS_OP" and type(a.argval) is bool for a, b in pairs)
