"""Index arrays that count: they select a few slices, which are views of memory, and join them.

>>> for box in index_boxes([np.array([0, 0, 1, 2, 3, 4, 5, 6, 7])]):
...     print(box)
IndexBox(place=(slice(0, 1, None),), start=(0,), steps=((0,),), shape=(1,))
IndexBox(place=(slice(1, 9, None),), start=(0,), steps=((1,),), shape=(8,))

So reads `x[np.maximum(np.arange(9) - 1, 0)]`: `x[0]`, then `x[:8]`. The derivative of a slice is added to a slice,
where that of what an index array selects is scattered, element by element; one box is no more than another view.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_BOXES = 4  # along each axis
LEAST = 4  # elements, on the average, of a box: fewer are better looked up


@dataclass(frozen=True, slots=True)
class IndexBox:
    """A part of index arrays where each counts evenly along each of their axes.

    `place`: where the part is; `start`: the indices there; `steps`: by how much each index grows along each axis.
    """

    place: tuple[slice, ...]
    start: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]
    shape: tuple[int, ...]

    def shown(self, array: np.ndarray) -> np.ndarray:
        """The elements of `array`, whose first axes are indexed, that the part selects."""
        moves = [sum(step * s for step, s in zip(along, array.strides)) for along in zip(*self.steps)]
        rest = len(self.start)
        corner: Any = (*(slice(k, k + 1) for k in self.start), ...)
        first = array[corner]
        shape, strides = (*self.shape, *array.shape[rest:]), (*moves, *array.strides[rest:])
        return np.lib.stride_tricks.as_strided(first, shape, strides)

    @property
    def line(self) -> slice:
        """The slice that selects what one index of one axis does, or the one element that it does again and again."""
        (first,), ((step,),), (n,) = self.start, self.steps, self.shape
        stop = first + (step or 1) * (n if step else 1)
        return slice(first, stop if stop >= 0 else None, step or 1)

    @property
    def is_injective(self) -> bool:
        """Whether it selects nothing twice (sufficient test: some index tells each axis)."""
        count = range(len(self.start))
        return all(n == 1 or any(self.tells(k, axis) for k in count) for axis, n in enumerate(self.shape))

    def tells(self, index: int, axis: int) -> bool:
        """Whether an index grows along this axis, and no other."""
        others = (step for k, step in enumerate(self.steps[index]) if k != axis and self.shape[k] > 1)
        return self.steps[index][axis] != 0 and not any(others)


def index_boxes(indices: Sequence[np.ndarray], least: int = LEAST) -> list[IndexBox]:
    """The boxes of index arrays of one shape, counted from 0; none where there are too many, or nothing to select."""
    shape = indices[0].shape
    if not shape or 0 in shape:
        return []
    cuts = [cuts_along(indices, axis, MOST_BOXES) for axis in range(len(shape))]
    count = math.prod(map(len, cuts))
    if not 0 < count * least <= indices[0].size:
        return []
    found = []
    for place in itertools.product(*cuts):
        box = box_at([index[place] for index in indices], place)
        if box is None:
            return []
        found.append(box)
    return found


def counted(index: np.ndarray) -> list[tuple[slice, slice | np.ndarray]]:
    """A line of indices in parts: where each is, and the slice that selects the same (an element for many, if it does).

    >>> counted(np.array([2, 1, 0, 0, 0]))
    [(slice(0, 3, None), slice(2, None, -1)), (slice(3, 5, None), slice(0, 1, 1))]
    """
    boxes = index_boxes([index], least=1)
    return [(box.place[0], box.line) for box in boxes] or [(slice(0, len(index)), index)]


def cuts_along(indices: Sequence[np.ndarray], axis: int, most: int) -> list[slice]:
    """The slices of an axis in which all indices count evenly; none where there are too many."""
    n = indices[0].shape[axis]
    if n < 3:
        return [slice(0, n)]
    goes_on = np.ones(n - 2, bool)  # at k: whether element k + 1 is as far from the one before as from the one after
    for index in indices:
        steps = np.moveaxis(np.diff(index, axis=axis), axis, 0).reshape(n - 1, -1)
        goes_on &= (steps[1:] == steps[:-1]).all(axis=1)
    starts = [0]
    for turn in map(int, np.flatnonzero(~goes_on)[: 2 * most]):
        if turn >= starts[-1]:
            stop = turn + 2
            if stop == starts[-1] + 2 and goes_on[turn + 1 : turn + 2].any():
                stop -= 1  # two elements count anyhow: the second begins what is longer
            starts.append(stop)
    pieces = [slice(a, b) for a, b in itertools.pairwise([*starts, n] if starts[-1] < n else starts)]
    return pieces if len(pieces) <= most and goes_on.size - goes_on.sum() <= 2 * most else []


def box_at(parts: Sequence[np.ndarray], place: tuple[slice, ...]) -> IndexBox | None:
    """The box of these parts, if each is what its first element and its first steps say."""
    shape = parts[0].shape
    corner = (0,) * len(shape)
    start, steps = [], []
    for part in parts:
        first = int(part[corner])
        along = [int(np.take(part, 1, axis).flat[0]) - first if n > 1 else 0 for axis, n in enumerate(shape)]
        counted = sum(
            (step * where for step, where in zip(along, np.ogrid[tuple(map(slice, shape))])), start=np.array(first)
        )
        if not (part == counted).all():
            return None
        start.append(first)
        steps.append(tuple(along))
    return IndexBox(place, tuple(start), tuple(steps), shape)
