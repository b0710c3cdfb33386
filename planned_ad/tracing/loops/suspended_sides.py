"""Sides of tests in generators: they wait at `yield`, while the code runs that takes the item."""

from __future__ import annotations

import dis
import itertools
import types

from ...python.frames import user_frames
from ...python.shadows import is_user_frame
from ...python.statements import GENERATOR
from ..record.recorder import Recorder
from .hidden_state import iterator_over
from .recorded_loop import RecordedLoop

TAKING = ("FOR_ITER", "SEND")
YIELDS = ("YIELD_VALUE", "RESUME")  # up to Python 3.12 at the instruction, then behind it


def left(loop: RecordedLoop, frame: types.FrameType) -> None:
    """A generator is left: it yields or has ended, and its sides with it, or an error is raised."""
    branches = loop.branches
    if not any(active.frame is frame for active in branches.active):
        return
    instruction = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    if instruction.startswith("RETURN_"):
        while branches.active and branches.active[-1].frame is frame:
            branches.close(ends=frame.f_code.co_name != "<genexpr>")
    elif instruction not in YIELDS:
        raise branches.refused("tests a traced value, and raises an error in a generator")
    else:
        refuse_counting(loop, frame)


def refuse_counting(loop: RecordedLoop, frame: types.FrameType) -> None:
    """An item is given on one side of a test: nothing in C may count or keep them, as `zip`, `list` and `set` do."""
    recorder, branches = loop.recorder, loop.branches
    found = branches.taken_by.get(frame)
    if found is None:
        generators = itertools.takewhile(lambda f: f.f_code.co_flags & GENERATOR, user_frames(frame))
        around = list(itertools.takewhile(lambda f: f not in recorder.consumers, generators))  # taken one by one
        unknown = (f for f in around if f not in recorder.generators)
        kept = "code in C" if any(is_kept_in_c(recorder, f) for f in around) else ""
        found = branches.taken_by[frame] = next(filter(None, map(iterator_over, unknown)), kept)
    if found:
        raise branches.refused(f"yields to `{found}`, which counts or keeps items, on one side of a test")


def is_kept_in_c(recorder: Recorder, frame: types.FrameType) -> bool:
    """Whether the items of a generator go to no statement of traced code: to a call, or to a display, `[*items]`."""
    outer = frame.f_back
    if outer is None or not is_user_frame(outer):
        return True
    return dis.opname[outer.f_code.co_code[outer.f_lasti]] not in TAKING


def resumed(loop: RecordedLoop, frame: types.FrameType) -> None:
    """A generator goes on that the loop runs in: the sides are over on which the code is that takes its items."""
    generators, branches = list(loop.generators), loop.branches
    inside = generators[: generators.index(frame) + 1] if frame in generators else None
    while inside is not None and branches.active and branches.active[-1].frame not in inside:
        branches.close()


def item_is_over(loop: RecordedLoop, frame: types.FrameType, around: int) -> None:
    """A generator expression asks for its next item: the sides of its condition for the last one are over.

    Not those that have begun before it ran over these items: so many are `around`.
    """
    branches = loop.branches
    while len(branches.active) > around and branches.active[-1].frame is frame:
        branches.close()
