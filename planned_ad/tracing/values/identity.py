"""Code that asks whether a truth `is True`, which no stand-in for a truth can answer."""

from __future__ import annotations

import dis
import functools
import sys
import types
from typing import Any

from ...python.asked_for import asks_for_truths
from ...python.frames import user_frame
from ...python.instructions import instructions_of
from ..record.recorder import Recorder

TESTS = ("POP_JUMP", "TO_BOOL", "UNARY_NOT")


def is_asked(recorder: Recorder) -> bool:
    """Whether a truth that is computed now may be asked for: by the code that is running, or by what it is handed to.

    Of that nothing may be known yet: see `refuse_truths`.
    """
    frame = user_frame(sys._getframe(1))
    if frame is None or is_tested_at_once(frame.f_code, frame.f_lasti):
        return False
    recorder.gives_truths = True
    return recorder.scopes.decisions.truths or asks_for_truths(frame.f_code)


def truth_or_stand_in(recorder: Recorder, stand_in: Any) -> Any:
    """A truth of Python: the stand-in, or where it may be asked for, what it is (a guard)."""
    if not is_asked(recorder):
        return stand_in
    if recorder.scopes.depth:
        raise recorder.scopes.unroll_innermost("asks whether a truth `is` True", recorder.builder.line)
    return bool(stand_in)


def refuse_truths(recorder: Recorder) -> None:
    """At the end: functions were met that ask, and truths were given that they may have asked for."""
    decisions = recorder.scopes.decisions
    if not recorder.gives_truths or decisions.truths:
        return
    if any(map(asks_for_truths, recorder.namespace.codes())):
        decisions.truths = True
        raise recorder.scopes.restart()


@functools.lru_cache(maxsize=4096)
def is_tested_at_once(code: types.CodeType, place: int) -> bool:
    """Whether what the instruction at this place gives is only tested: `if a < b`, `not a < b`."""
    following = (i.opname for i in instructions_of(code) if i.offset > place)
    return dis.opname[code.co_code[place]] == "COMPARE_OP" and next(following, "").startswith(TESTS)
