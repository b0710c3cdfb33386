"""`x.flat` of a traced array that is not contiguous: its elements by one number, in C order, where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..record.traced import TracedArray


class FlatView:
    """Like `numpy.flatiter`: what is read is what memory holds then, and writing writes to the array.

    Attributes
    ----------
    base : traced array
    """

    def __init__(self, base: TracedArray):
        self.base: Any = base

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        iterator: Iterator[Any] = self.base.recorder.flow.iterate(len(self), self.__getitem__)
        return iterator

    def __getitem__(self, key: Any) -> Any:
        return self.base[self.coordinates(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.base[self.coordinates(key)] = value

    def copy(self) -> Any:
        return self.base.flatten()

    def coordinates(self, key: Any) -> tuple[Any, ...]:
        """The indices of the elements that `key` says, along each axis."""
        if isinstance(key, tuple) and len(key) == 1:
            (key,) = key
        known = isinstance(key, list | range | slice | np.ndarray | int | np.integer | type(...))
        if known:  # NumPy's own errors, for keys out of range too
            return np.unravel_index(np.arange(len(self))[key], self.base.shape)
        place = np.where(key < 0, key + len(self), key) if getattr(key, "ndim", 0) else key + len(self) * (key < 0)
        found = []
        for extent in self.base.shape[:0:-1]:
            found.append(place % extent)
            place = place // extent
        return (place, *found[::-1])
