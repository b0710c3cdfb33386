"""Tests that decide about the rest of their function: where what their two sides leave cannot be one thing.

A side ends with the statement of its test, and what it leaves is handed on in a form that serves for both sides. Texts
between which a test chooses have no such form, nor has an array that is written to afterwards. Then the sides go on to
the end of the function, or of the body of a loop around, each with what it has: the rest is recorded on both.
"""

from __future__ import annotations

import types

from ...python.statements import Extent, extent_at, rest_at
from ..record.aliases import Refusal
from ..record.recorder import Recorder
from ..record.scopes import Site

MOST_SPLITS = 6  # each of which may double what comes after it


def test_site(frame: types.FrameType) -> Site:
    """Where a test is."""
    return frame.f_code, frame.f_lasti


def decided_at(recorder: Recorder, frame: types.FrameType) -> Extent | None:
    """What the test that is running in a frame decides about; None where the source is not at hand."""
    extent = extent_at(frame)
    if extent is None or extent.leaves or test_site(frame) not in recorder.scopes.decisions.split:
        return extent
    return rest_at(frame)


def split(recorder: Recorder, site: Site) -> BaseException | None:
    """The trace starts again with the rest recorded on both sides of a test; None where that has been tried."""
    decided = recorder.scopes.decisions.split
    if site in decided or len(decided) >= MOST_SPLITS:
        return None
    decided.add(site)
    recorder.watch.off()
    return recorder.scopes.restart()


def or_split(recorder: Recorder, site: Site, refuse: Refusal) -> Refusal:
    """What to raise where the two sides of a test would have to leave one thing."""
    return lambda reason, first: split(recorder, site) or refuse(reason, first)
