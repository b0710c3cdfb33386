"""Copies of example arguments that lie in memory as the originals do: strides are part of a plan.

`copy.deepcopy` and `pickle` pack arrays densely, so both are told what to put in the place of each array.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .structure import Const, flatten


def copied(example: Any, with_numbers: bool = True) -> Any:
    """A deep copy in which every array has the strides of the original; zeros in it unless `with_numbers`.

    What cannot be copied (a lock, a file) is shared.
    """
    make = restored if with_numbers else blank
    return replaced(example, lambda a: make(a, a.strides))


def picklable(example: Any) -> Any:
    """A deep copy that, pickled and loaded, is one like `copied`."""
    return replaced(example, LaidOut)


def replaced(example: Any, make: Callable[[np.ndarray], Any]) -> Any:
    """A deep copy with `make(array)` in the place of each array; `Const` marks stay, on the leaves."""
    leaves, structure = flatten(example)
    inactive = structure.inactive_leaves
    copies = [make(leaf) if type(leaf) is np.ndarray else copied_static(leaf) for leaf in leaves]
    return structure.unflatten(Const(leaf) if number in inactive else leaf for number, leaf in enumerate(copies))


def copied_static(leaf: Any) -> Any:
    try:
        return copy.deepcopy(leaf)
    except TypeError:
        return leaf


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
