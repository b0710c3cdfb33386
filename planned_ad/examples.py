"""Copies of example arguments that lie in memory as the originals do: strides are part of a plan.

`copy.deepcopy` and `pickle` pack arrays densely, so both are told what to put in the place of each array.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .structure import flatten


def copied(example: Any, with_numbers: bool = True) -> Any:
    """A deep copy in which every array has the strides of the original; zeros in it unless `with_numbers`."""
    make = restored if with_numbers else blank
    return copy.deepcopy(example, {id(a): make(a, a.strides) for a in arrays_in(example)})


def picklable(example: Any) -> Any:
    """A deep copy that, pickled and loaded, is one like `copied`."""
    return copy.deepcopy(example, {id(a): LaidOut(a) for a in arrays_in(example)})


def arrays_in(example: Any) -> list[np.ndarray]:
    return [leaf for leaf in flatten(example)[0] if type(leaf) is np.ndarray]


class LaidOut:
    """The memory that an array spans, and how the array lies in it. Unpickles as that array."""

    def __init__(self, array: np.ndarray):
        self.contents, self.strides = array.copy(), array.strides

    def __reduce__(self) -> tuple:
        return restored, (self.contents, self.strides)


def blank(contents: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """Zeros that lie in memory as an array like `contents` with `strides` does. Takes no time, whatever the size."""
    if not contents.size:
        return contents.copy()
    reaches = [(n - 1) * s for n, s in zip(contents.shape, strides)]
    low, high = sum(min(0, r) for r in reaches), sum(max(0, r) for r in reaches)
    memory = np.zeros(high - low + contents.itemsize, np.uint8)
    return np.ndarray(contents.shape, contents.dtype, memory, -low, strides)


def restored(contents: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """An array that holds `contents` and has `strides` (in bytes), in memory of its own."""
    if contents.flags.c_contiguous and contents.strides == strides:
        return contents.copy()
    array = blank(contents, strides)
    array[...] = contents
    return array
