"""What functions do besides that SciPy calls: change things, such as a list that they append to, or raise errors.

SciPy calls them when the plan runs, as often as it needs; the trace has calls of its own, for the derivative. What they
leave behind in the trace is therefore not what they would leave. Where that is changed again, by the same function say,
there is no harm; where anything follows from it, or an error of theirs is caught, the trace is refused.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import PlannedADError, UnsupportedError
from ..python.frames import user_frames
from ..python.liveness import is_in_users_try
from ..python.shadows import is_library, real_class
from ..tracing.loops.places import Place, write_locals
from ..tracing.loops.state import State, capture
from ..tracing.record.lost_variables import Lost, read_lost
from ..tracing.record.recorder import Recorder
from ..tracing.record.storage import LIVE
from ..tracing.record.traced import TracedArray

CHANGES = (
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault", "update",
)  # fmt: skip
PLAIN = (int, float, complex, bool)
KEEP = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")  # operators that make it of it, and plain numbers


class Untold(Lost):
    """What callbacks of SciPy's have changed: all but further changes is refused. `_value` is that of the trace."""

    __slots__ = ("_value",)

    def __init__(self, recorder: Recorder, name: str, place: Place, value: Any):
        def refuse(reason: str, _: bool) -> BaseException:
            return UnsupportedError(
                f"{recorder.here()}: the traced function {reason}; SciPy calls it when the plan runs"
            )

        super().__init__(recorder, place.name, f"which a function that {name} calls has changed", refuse)
        object.__setattr__(self, "_value", value)

    def __getattribute__(self, attribute: str) -> Any:
        if attribute in CHANGES:
            return lambda *args, **kwargs: self
        return object.__getattribute__(self, "_value") if attribute == "_value" else super().__getattribute__(attribute)

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


def kept(self: Untold, other: Any) -> Any:
    return self if type(other) in PLAIN or issubclass(type(other), np.generic | Untold) else read_lost(self)


for _name in KEEP:
    for _side in ("", "r", "i"):
        setattr(Untold, f"__{_side}{_name}__", kept)


@contextlib.contextmanager
def refused_where_it_matters(recorder: Recorder, name: str) -> Iterator[None]:
    """What traced code changes or raises meanwhile, the callbacks of the function `name`."""
    frames = [*user_frames(sys._getframe())]
    restored = [stand for stand in recorder.left_behind.stand_ins if stand.taken_back()]
    before = capture(frames[0]) if frames else State()
    versions = {storage: storage.version for storage in LIVE.storages}
    try:
        with recorder.left_behind.readable():
            yield
    except PlannedADError:
        raise
    except Exception as error:
        if is_in_users_try(sys._getframe(), type(error)):
            raise UnsupportedError(
                f"{recorder.here()}: {name} ends in {type(error).__name__} ({error}), which the traced function "
                f"catches; whether it does is known when the plan runs"
            ) from error
        raise
    written = {storage for storage, version in versions.items() if storage.version != version}
    for storage in written:
        if storage.buffer is not None and storage.buffer.kind == "argument":
            raise UnsupportedError(
                f"{recorder.here()}: a function that {name} calls writes to an argument of the traced function; SciPy "
                f"calls it when the plan runs: have it work on a copy"
            )
        recorder.left_behind.versions[storage] = storage.version, name
    stands = [*restored]
    if frames:
        stands += changed_places(frames, before, capture(frames[0]), written)
    recorder.left_behind.stand_ins = stands
    for stand in stands:
        stand.put(recorder, name)


@dataclass(slots=True)
class Stand:
    """A place that callbacks have changed, for what it holds a stand-in; in a frame where it is a local variable."""

    place: Place
    frame: types.FrameType | None = None

    @property
    def value(self) -> Any:
        place = self.place
        if self.frame is not None:
            return self.frame.f_locals.get(place.key)
        if place.kind == "item":
            return place.owner[place.key]
        return place.owner.cell_contents if place.kind == "cell" else object.__getattribute__(place.owner, place.key)

    def write(self, value: Any) -> None:
        if self.frame is None:
            self.place.write(value)
        else:
            write_locals(self.frame, {self.place.key: value})

    def put(self, recorder: Recorder, name: str) -> None:
        value = self.value  # a variable of a closure is met twice
        self.write(Untold(recorder, name, self.place, value._value if type(value) is Untold else value))

    def taken_back(self) -> bool:
        """Put back what the trace left there, for callbacks that are traced next; whether it is still there."""
        try:
            value = self.value
        except (AttributeError, KeyError, IndexError, ValueError):
            return False
        if type(value) is Untold:
            self.write(value._value)
        return type(value) is Untold


def changed_places(frames: list[types.FrameType], before: State, after: State, written: set) -> Iterator[Stand]:
    """Where there is something else. Arrays say so themselves when they are read; those of known numbers do not."""
    resized = {key for key, (_, size) in after.sizes.items() if key in before.sizes and before.sizes[key][1] != size}

    def is_changed(value: Any) -> bool:
        if isinstance(value, TracedArray):
            return value.storage.root in written and value.storage.root.is_concrete
        return id(value) in resized

    for key, (place, value) in after.values.items():
        was = before.values.get(key)
        if was is None or place.kind == "local" or (isinstance(was[1], TracedArray) and not is_changed(value)):
            continue
        if place.kind == "attribute" and is_library(real_class(type(place.owner)).__module__):
            continue  # SciPy's own, of a solver in a solver
        if was[1] is not value or is_changed(value):
            yield Stand(place)
    for frame in frames:
        for name, value in frame.f_locals.items():
            if is_changed(value):
                yield Stand(Place(frame, name, "local"), frame)
