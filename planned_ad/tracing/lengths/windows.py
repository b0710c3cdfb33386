"""Slices of a known length at a place known at run time: `c[i - 1:i + 3]`, `image[r:r + 2, c:c + 2]`.

They show memory as `x[i]` does, `x` being all windows of that length, which overlap. A guard is that they are not cut
off at the ends of the axis; where some are, the next trace takes their lengths for run-time ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...tape.guards import STRETCHES
from ...tape.tape import Value
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..record.storage import MovingStorage
from ..values.loop_index import plain_or_traced
from .keys import WHOLE, expanded
from .run_time_slices import is_integer, is_run_time


@dataclass(frozen=True, slots=True)
class WindowSlice:
    """Elements `first`, `first + step`, ... of an axis, `length` of them; `stop` is the bound behind them."""

    first: Value
    stop: Value
    step: int
    length: int

    @property
    def gap(self) -> int:
        """From the least to the greatest of its indices."""
        return (self.length - 1) * abs(self.step)

    def at_start(self) -> slice:
        """The window of this kind that lies at the start of the axis."""
        return slice(0, self.gap + 1, self.step) if self.step > 0 else slice(self.gap, None, self.step)


def windowed(array: Any, key: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """The view that windows in a key show, of all other axes, and the key for it that the rest is.

    None where there are no windows in it.
    """
    recorder = array.recorder
    parts = expanded(array.ndim, key)
    axes = [k for k, part in enumerate(parts) if part is not None]
    known = [_window(recorder, parts[k], n) for k, n in zip(axes, array.shape)]
    if not any(known):
        return None
    start = tuple(WHOLE if window is None else window.at_start() for window in known)
    found = [(axis, window) for axis, window in enumerate(known) if window is not None]
    storage = MovingStorage(
        array.storage,
        recorder.builder.line,
        tuple(_place(recorder, window, array.shape[axis]) for axis, window in found),
        tuple(array.shape[axis] - window.gap for axis, window in found),
        tuple(array.strides[axis] // array.itemsize for axis, _ in found),
    )
    for axis, _ in found:
        parts[axes[axis]] = WHOLE
    return type(array)(recorder, storage, array.geometry[start]), tuple(parts)


def _window(recorder: Recorder, part: Any, extent: int) -> WindowSlice | None:
    if type(part) is not slice or not (is_integer(recorder, part.start) and is_integer(recorder, part.stop)):
        return None
    step = 1 if part.step is None else part.step
    if type(step) is not int or not step or not any(is_run_time(recorder, b) for b in (part.start, part.stop)):
        return None
    first, stop = (recorder.value_of(plain_or_traced(bound), INT) for bound in (part.start, part.stop))
    limits = recorder.builder.limits
    distance = limits.sum_of(stop) - limits.sum_of(first)
    if not isinstance(distance, int) or recorder.builder.line in recorder.scopes.decisions.stretched:
        return None
    found = WindowSlice(first, stop, step, len(range(0, distance, step)))
    return found if found.length and type(extent) is int and found.gap < extent else None


def _place(recorder: Recorder, window: WindowSlice, extent: int) -> Value:
    """How far from the start of the axis a window lies, guarded to be within it."""
    apply, zero = recorder.apply, recorder.constant(0, INT)
    least = window.first if window.step > 0 else apply("subtract", window.first, recorder.constant(window.gap, INT))
    most = recorder.constant(extent - 1 - window.gap, INT)
    inside = apply("logical_and", apply("greater_equal", least, zero), apply("less_equal", least, most))
    if window.step < 0:  # -1 would be the last element
        inside = apply("logical_and", inside, apply("greater_equal", window.stop, zero))
    recorder.scopes.require_after(inside, "length", STRETCHES)
    # The guard may be tested later: until then some place within the axis.
    return apply("minimum", apply("maximum", least, zero), most)
