"""Tests that leave loops: where one is met, the exits of these loops are followed from then on; see `exits`."""

from __future__ import annotations

import types

from ...python.statements import Extent, extent_at
from ..record.recorder import Recorder
from .stepping import is_stepping


def follow_test(recorder: Recorder, frame: types.FrameType, extent: Extent) -> None:
    """A test that leaves loops is met: from now on their exits are followed."""
    decisions, file = recorder.scopes.decisions, frame.f_code.co_filename
    if not {(file, line) for line in extent.loops} <= decisions.followed:
        decisions.follow(file, extent.loops)
        raise recorder.scopes.restart()


def follow_exits(recorder: Recorder, frame: types.FrameType) -> None:
    """A test outside of all loops that are recorded once: one that leaves a loop makes it such a loop, where it can."""
    extent = extent_at(frame)
    if extent is not None and extent.leaves and not is_stepping(frame.f_code):
        follow_test(recorder, frame, extent)
