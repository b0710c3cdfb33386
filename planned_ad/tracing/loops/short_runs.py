"""Loops over short lists of arrays in what is recorded: Python's, unless too many tests of data are made there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...python.instructions import loop_after

if TYPE_CHECKING:
    import types

    from ..record.decisions import Site
    from ..record.recorder import Recorder


class ShortRun:
    """An iterator of a short list; while it is under way, tests of data count for its loop."""

    def __init__(self, recorder: Recorder, items: Iterable[Any], site: Site):
        self.under_way, self.items = recorder.flow.short_runs, iter(items)
        self.under_way[id(self)] = site

    def __iter__(self) -> ShortRun:
        return self

    def __next__(self) -> Any:
        try:
            return next(self.items)
        except StopIteration:
            self.under_way.pop(id(self), None)
            raise

    def __del__(self) -> None:
        self.under_way.pop(id(self), None)


def place_asked_for(recorder: Recorder, *keys: Any) -> None:
    """Something is looked for where data say: a short loop that does so often is a loop, as one that tests data."""
    if recorder.unrolling and any(recorder.is_scalar(key) and not recorder.is_concrete(key) for key in keys):
        recorder.scopes.test_in_short_loops({short.site for short in recorder.unrolling.values()})


def short_run(recorder: Recorder, items: Any, frame: types.FrameType) -> Any:
    """What the loop that begins in a frame runs over; None where it is recorded as a loop, since it tests so often.

    Arrays that branches choose from, `if t < nearest: hit = centre`, are another choice with each item that is written
    out. Of plain numbers each test is decided by itself, and cheap.
    """
    place = loop_after(frame.f_code, frame.f_lasti)
    parts = (part for item in items for part in (item if issubclass(type(item), tuple) else (item,)))
    if place is None or not any(map(recorder.is_array, parts)):
        return items
    site = frame.f_code, place
    return None if site in recorder.scopes.decisions.kept else ShortRun(recorder, items, site)
