"""What functions change that SciPy calls, such as a list that they append to or a number of calls.

SciPy calls them when the plan runs, as often as it needs; the trace has calls of its own, for the derivative. What they
leave behind in the trace is therefore not what they would leave, and is refused where it is read.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from ..errors import UnsupportedError
from ..python.frames import user_frames
from ..tracing.loops.state import Place, State, capture, write_locals
from ..tracing.record.lost_variables import Lost
from ..tracing.record.recorder import Recorder
from ..tracing.record.storage import LIVE
from ..tracing.record.traced import TracedArray


@contextlib.contextmanager
def refused_where_read(recorder: Recorder, name: str) -> Iterator[None]:
    """Of what traced code changes meanwhile, the callbacks of the function `name`."""
    frames = [*user_frames(sys._getframe())]
    before = capture(frames[0]) if frames else State()
    versions = {storage: storage.version for storage in LIVE.storages}
    yield
    written = {storage for storage, version in versions.items() if storage.version != version}
    for storage in written:
        if storage.buffer is not None and storage.buffer.kind == "argument":
            raise UnsupportedError(
                f"{recorder.here()}: a function that {name} calls writes to an argument of the traced function; SciPy "
                f"calls it when the plan runs: have it work on a copy"
            )
    if frames:
        put_stand_ins(recorder, name, frames, before, capture(frames[0]), written)


def put_stand_ins(
    recorder: Recorder, name: str, frames: list[types.FrameType], before: State, after: State, written: set
) -> None:
    def refuse(reason: str, _: bool) -> BaseException:
        return UnsupportedError(f"{recorder.here()}: the traced function {reason}; SciPy calls it when the plan runs")

    def stand_in(place: Place) -> Lost:
        return Lost(recorder, place.name, f"which a function that {name} calls has changed", refuse)

    def is_changed(value: Any) -> bool:
        if isinstance(value, TracedArray):
            return value.storage.root in written or value.storage in written
        return id(value) in resized

    resized = {key for key, (_, size) in after.sizes.items() if key in before.sizes and before.sizes[key][1] != size}
    for key, (place, value) in after.values.items():
        was = before.values.get(key)
        if was is not None and place.kind != "local" and (was[1] is not value or is_changed(value)):
            place.write(stand_in(place))
    for frame in frames:
        changed = [name for name, value in frame.f_locals.items() if is_changed(value)]
        if changed:
            write_locals(frame, {name: stand_in(Place(frame, name, "local")) for name in changed})
