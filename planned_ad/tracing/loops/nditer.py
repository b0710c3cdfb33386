"""`numpy.nditer` over traced arrays: element by element, as it goes over memory, with the elements as views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..record.recorder import Recorder
from .iteration import once

READS, WRITES = "readonly", ("readwrite", "writeonly")
FLAGS = ("multi_index", "zerosize_ok", "refs_ok")


def nditer(recorder: Recorder, op: Any, flags: Any = None, op_flags: Any = None, *args: Any, **options: Any) -> Any:
    """One array that is only read is a loop; what else is asked of an `nditer`, one element after the other."""
    operands = list(op) if isinstance(op, list | tuple) else [op]
    if not any(map(recorder.is_array, operands)):
        return np.nditer(op, flags, op_flags, *args, **options)
    modes = modes_of(op_flags, len(operands))
    if args or options or modes is None or not set(flags or ()) <= set(FLAGS) or None in operands:
        raise recorder.unsupported(np.nditer)
    if len(operands) == 1 and not flags and modes == [READS]:
        items = operands[0].ravel("K")
        if items.storage is operands[0].storage:  # no copy, in which writes to the array would not be seen
            return once(recorder, items.size, lambda k: items[k])
    return NdIterator(recorder, operands, list(flags or ()))


def modes_of(op_flags: Any, count: int) -> list[str] | None:
    """How each operand is used; None where something else is asked for."""
    if op_flags is None:
        return [READS] * count
    given = [op_flags] if isinstance(op_flags, str) else list(op_flags)
    given = [[flag] if isinstance(flag, str) else list(flag) for flag in given]
    modes = [mode for flags in given for mode in flags]
    if any(len(flags) != 1 for flags in given) or not set(modes) <= {READS, *WRITES}:
        return None
    return modes * count if len(modes) == 1 else modes if len(modes) == count else None


class NdIterator:
    """An `nditer` of traced arrays, which stands at one of their elements."""

    is_iterator = True

    def __init__(self, recorder: Recorder, operands: Sequence[Any], flags: list[str]):
        self.operands = tuple(v if recorder.is_array(v) else recorder.call(np.asarray, (v,), {}) for v in operands)
        # NumPy's own, over nothing, knows the order in which it goes.
        likes = [np.lib.stride_tricks.as_strided(np.zeros(1, v.dtype), v.shape, v.strides) for v in self.operands]
        reads: Any = [[READS]] * len(likes)
        real: Any = np.nditer(likes, [*{*flags, "multi_index"}], reads)  # type: ignore[list-item]
        self.shape, self.ndim, self.itersize = real.shape, real.ndim, real.itersize
        self.has_multi_index = "multi_index" in flags
        self.places: list[tuple[int, ...]] = []
        while not real.finished:
            self.places.append(real.multi_index)
            real.iternext()
        self.reset()

    def reset(self) -> None:
        self.iterindex, self.has_begun = 0, False

    @property
    def is_open(self) -> bool:
        return not self.finished

    @property
    def progress(self) -> object:
        return self.iterindex, self.has_begun

    @property
    def finished(self) -> bool:
        return self.iterindex >= len(self.places)

    @property
    def multi_index(self) -> tuple[int, ...]:
        if not self.has_multi_index:
            raise ValueError("Iterator is not tracking a multi-index")
        if self.finished:
            raise ValueError("Iterator is past the end")
        return self.places[self.iterindex]

    @property
    def value(self) -> Any:
        found = tuple(self[k] for k in range(len(self.operands)))
        return found if len(found) > 1 else found[0]

    def iternext(self) -> bool:
        self.iterindex += 1
        return not self.finished

    def __getitem__(self, number: int) -> Any:
        """The present element of an operand, as an array without axes."""
        operand, place = self.operands[number], self.places[self.iterindex]
        own = place[len(place) - operand.ndim :]
        return operand[(*(0 if n == 1 else k for k, n in zip(own, operand.shape)), ...)]

    def __setitem__(self, number: int, value: Any) -> None:
        self[number][...] = value

    def __iter__(self) -> NdIterator:
        return self

    def __next__(self) -> Any:
        self.iterindex += self.has_begun
        self.has_begun = True
        if self.finished:
            raise StopIteration
        return self.value

    def __enter__(self) -> NdIterator:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.iterindex = len(self.places)
