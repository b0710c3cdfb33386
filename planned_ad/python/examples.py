"""Copies of example arguments that lie in memory as the originals do: strides are part of a plan.

`copy.deepcopy` and `pickle` pack arrays densely, so both are told what to put in the place of each array.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .structure import Const, flatten, is_complex


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
    leaves, structure = flatten(example, is_complex)
    inactive = structure.inactive_leaves
    copies = [make(leaf) if type(leaf) is np.ndarray else copied_static(leaf) for leaf in leaves]
    return structure.unflatten(Const(leaf) if number in inactive else leaf for number, leaf in enumerate(copies))


def copied_together(example: Any, shown: Callable[[np.ndarray], bool] = lambda array: False) -> Any:
    """A deep copy as `copied` makes it, in which arrays share memory where the originals do.

    Arrays that are to be `shown` are read-only views of the originals instead.
    """
    leaves, structure = flatten(example)
    arrays = {id(leaf): leaf for leaf in leaves if type(leaf) is np.ndarray}
    made: dict[int, np.ndarray] = {}
    for group in overlapping(list(arrays.values())):
        if all(map(shown, group)):
            made |= {id(array): read_only(array) for array in group}
        elif len(group) == 1:
            made[id(group[0])] = restored(group[0], group[0].strides)
        else:
            made |= {id(array): copy for array, copy in zip(group, moved(group))}
    memo: dict[int, Any] = {}
    return structure.unflatten(made[id(leaf)] if id(leaf) in made else copied_static(leaf, memo) for leaf in leaves)


def overlapping(arrays: list[np.ndarray]) -> list[list[np.ndarray]]:
    """Arrays in groups that have no memory in common with one another."""
    groups: list[list[np.ndarray]] = []
    end = 0
    for array in sorted(arrays, key=lambda a: np.lib.array_utils.byte_bounds(a)[0]):
        low, high = np.lib.array_utils.byte_bounds(array)
        if groups and low < end and array.size:
            groups[-1].append(array)
        else:
            groups.append([array])
        end = max(end, high)
    return groups


def moved(group: list[np.ndarray]) -> list[np.ndarray]:
    """Copies of arrays that overlap, which overlap likewise."""
    bounds = [np.lib.array_utils.byte_bounds(array) for array in group]
    low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
    memory = np.zeros(high - low, np.uint8)
    found = []
    for array in group:
        start = array.__array_interface__["data"][0] - low
        found.append(np.ndarray(array.shape, array.dtype, memory, start, array.strides))
        found[-1][...] = array
    return found


def read_only(array: np.ndarray) -> np.ndarray:
    found = array.view()
    found.flags.writeable = False
    return found


def copied_static(leaf: Any, memo: dict[int, Any] | None = None) -> Any:
    try:
        return copy.deepcopy(leaf, memo)
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
