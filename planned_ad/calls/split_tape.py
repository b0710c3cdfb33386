"""The tape of a split plan: memory that one half fills and the other reads, and what lies where in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..differentiate.keep.split import Halves
from ..kernels.entry.callspec import ArraySpec, SlotsSpec, StaticSpec
from ..kernels.entry.workspace import aligned_bytes
from ..planning.schedule import Cached, Source
from ..tape.tape import Tape, Value
from ..trace import Trace


class KeptLayout:
    """Where everything is on the tape of one trace of a plan. A filled tape refers to the layout it was filled by.

    Attributes
    ----------
    owner : object
        The plan.
    trace : Trace
    preserve_args : bool
    shadows : int
        Of how many arguments there are shadows.
    reverse : Entry
        What reads such tapes.
    """

    def __init__(self, halves: Halves, owner: object, trace: Trace, preserve_args: bool, shadows: int):
        self.halves, self.owner, self.trace, self.preserve_args = halves, owner, trace, preserve_args
        self.shadows = shadows
        self.nbytes = halves.nbytes
        self.reverse: Any = None

    def offsets_in(self, tape: Tape) -> dict[int, int]:
        """Of each buffer on the tape that a half uses, where its first element is, in bytes."""
        used = [tape.buffers[id] for id in tape.arguments if id in self.halves.offsets]
        return {b.id: self.halves.offsets[b.id] - b.low * b.dtype.itemsize for b in used}

    def spec(self, writeable: bool) -> SlotsSpec:
        """What the fast path takes: a tape that has been filled by this layout before."""
        memory = ArraySpec(dtype=np.dtype(np.uint8), shape=(self.nbytes,), strides=(1,), writeable=writeable)
        return SlotsSpec(type=TapeMemory, names=("_filled", "_memory"), items=(StaticSpec(value=self), memory))

    def cached(self) -> tuple[Cached, ...]:
        """All bytes of the tape, each with its reason."""
        buffers = self.halves.forward.buffers
        found = []
        for kept in self.halves.kept:
            buffer = buffers[kept.buffer]
            value = Value(id=-1 - buffer.id, shape=buffer.shape, dtype=buffer.dtype)
            found.append(Cached.at(kept.line, value, kept.nbytes, kept.reason))
        gaps = self.nbytes - sum(c.nbytes for c in found)
        if gaps:
            reason = "gaps: larger arrays begin at multiples of 64 bytes, all else of 8"
            value = Value(id=0, shape=(gaps,), dtype=np.dtype(np.uint8))
            found.append(Cached.at(self.trace.line, value, gaps, reason))
        return tuple(sorted(found, key=lambda c: (c.file, c.line, c.value.id)))

    def recomputed(self) -> tuple[Source, ...]:
        """What the reverse half computes once more."""
        return tuple(Source.at(op.line, op.title, op.out.nbytes) for op in self.halves.again)


class TapeMemory:
    """What one run of the first half of a split plan keeps for the second: one aligned block of memory.

    Made by `forward.tape()`, filled by `forward(x, tape)`, read by `reverse(tape)` as often as wanted, and filled again
    by a later run. Its size is fixed, except that a run along another branch of the function, which keeps more than
    any before it, takes a larger block. One tape belongs to one run at a time; several threads use several tapes.
    """

    __slots__ = ("_block", "_filled", "_memory")

    def __init__(self, nbytes: int):
        self._block = aligned_bytes(nbytes)
        self._memory = self._block  # as much of it as the layout takes
        self._filled: KeptLayout | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of its block."""
        return self._block.nbytes

    def room(self, nbytes: int) -> np.ndarray:
        """Memory of so many bytes; what was on the tape is lost."""
        self._filled = None
        if self._block.nbytes < nbytes:
            self._block = aligned_bytes(nbytes)
        if self._memory.nbytes != nbytes or self._memory.base is not self._block.base:
            self._memory = self._block[:nbytes]
        return self._memory

    def forget(self) -> None:
        """A run that was to fill it has failed."""
        self._filled = None

    def __repr__(self) -> str:
        state = "not filled" if self._filled is None else f"filled by {self._filled.trace.name}"
        return f"<planned_ad tape of {self.nbytes} bytes, {state}>"

    def __reduce__(self) -> Any:
        raise TypeError("a tape belongs to a compiled plan and is neither pickled nor copied; make one: forward.tape()")
