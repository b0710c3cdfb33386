"""Arrays that a program finds outside, in a closure, a global or an attribute, and reads from their own memory.

Each is a buffer of kind 'captured', which nothing writes to. Its address is fixed when the program is compiled; the
tape keeps the array.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..regions.regions import View, c_strides, is_injective
from .tape import Buffer, Tape, walk

READ = (np.dtype(np.float32), np.dtype(np.float64))
MOST_BYTES = 8192  # of an array from outside whose numbers the program relies on: so many are compared at each call


def view_of(array: np.ndarray) -> View | None:
    """How an array lies in memory, where a program can read it there; else None."""
    size = array.itemsize
    if array.dtype not in READ or not array.size or any(s % size for s in array.strides):
        return None
    strides = tuple(s // size if n > 1 else c for n, s, c in zip(array.shape, array.strides, c_strides(array.shape)))
    view = View(0, array.shape, strides)
    return view if array.flags.aligned and is_injective(view) else None


def captured_in(tape: Tape) -> list[Buffer]:
    """The captured memory that a tape reads, in order."""
    if all(b.array is None for b in tape.buffers):
        return []
    used = {r.buffer for op in walk(tape.operations) if not op.blocks for r in op.reads}
    return [b for b in tape.buffers if b.array is not None and b.id in used]


def fixed_ranges(tape: Tape) -> tuple[tuple[int, int], ...]:
    """Of the captured memory that a tape reads, the address of the lowest byte, and the number of bytes."""
    found = []
    for buffer in captured_in(tape):
        assert buffer.array is not None
        low, high = np.lib.array_utils.byte_bounds(buffer.array)
        found.append((low, high - low))
    return tuple(dict.fromkeys(found))


def share_memory(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def known_in(buffers: Sequence[Buffer]) -> dict[int, np.ndarray]:
    """The captured arrays whose numbers may be relied on, since a call can compare them; by identity."""
    return {id(b.array): b.array for b in buffers if b.array is not None and b.array.nbytes <= MOST_BYTES}


def named_in(tape: Tape) -> Sequence[tuple[str, np.ndarray, bool]]:
    """For the check of overlaps on the slow path: name, array, and that it is not written to."""
    return [(b.label, b.array, False) for b in captured_in(tape) if b.array is not None]
