"""`x.flat` of a traced array: its elements by one number, in C order, where they lie, and an iterator over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...tape.tape import Value
from ..record.traced import Traced, TracedArray


class FlatView(Traced):
    """Like `numpy.flatiter`: what is read is what memory holds then, and writing writes to the array.

    It is its own iterator: who asks it again goes on where it was.

    Attributes
    ----------
    base : traced array
    """

    is_iterator = True

    def __init__(self, base: TracedArray):
        self.base: Any = base
        self.recorder = base.recorder
        self.items: Any = None  # what is run over, once somebody has begun

    @property
    def is_open(self) -> bool:
        return self.items is not None and self.items.is_open

    @property
    def progress(self) -> object:
        return None if self.items is None else self.items.progress

    @property
    def is_known(self) -> bool:
        return self.base.is_known  # type: ignore[no-any-return]

    def traced(self) -> Any:
        return self.base.reshape(-1)

    def read(self) -> Value:
        return self.traced().read()  # type: ignore[no-any-return]

    def plain(self) -> Any:
        return self.traced().plain()

    def operand(self) -> tuple[Any, tuple[int, ...], bool]:
        return self.traced().operand()  # type: ignore[no-any-return]

    def sequence(self) -> Any:
        if self.items is None:
            self.items = self.recorder.flow.once(len(self), self.at)
        return self.items

    def __len__(self) -> int:
        return self.base.size  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sequence())

    def __next__(self) -> Any:
        return next(self.sequence())

    def __getitem__(self, key: Any) -> Any:
        self.begin_again()
        found = self.at(key)
        return found.copy() if self.recorder.is_array(found) and found.ndim else found

    def __setitem__(self, key: Any, value: Any) -> None:
        self.begin_again()
        value = self.repeated(key, value)
        if self.base.geometry.flags.c_contiguous:
            self.traced()[key] = value
        else:
            self.base[self.coordinates(key)] = value

    def repeated(self, key: Any, value: Any) -> Any:
        """The elements of `value`, from the first again where places are left over; as many as there are places."""
        recorder = self.recorder
        is_one = not recorder.is_array(value) and not isinstance(value, list | tuple | np.ndarray)
        if is_one or not recorder.is_concrete(key):
            return value
        places = np.arange(len(self))[recorder.plain(key)]
        elements = recorder.array(recorder.value_of(value)).reshape(-1)
        if not np.ndim(places) or elements.size in (0, places.size):
            return value if not np.ndim(places) else elements.reshape(places.shape)
        return elements[np.arange(places.size) % elements.size].reshape(places.shape)

    def begin_again(self) -> None:
        """As NumPy does at each index: where something runs over it meanwhile, that would have no end."""
        if self.items is not None:
            advice = "an index into `.flat` that was run over begins again; write `x.flat` anew"
            raise UnsupportedError(f"{self.recorder.here()}: {advice}")

    def at(self, key: Any) -> Any:
        return self.traced()[key] if self.base.geometry.flags.c_contiguous else self.base[self.coordinates(key)]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """The array, which is traced: for the functions that take its place."""
        return self.traced()

    def copy(self) -> Any:
        return self.base.flatten()

    def __eq__(self, other: Any) -> Any:
        return self.traced() == other

    def __ne__(self, other: Any) -> Any:
        return self.traced() != other

    def __lt__(self, other: Any) -> Any:
        return self.traced() < other

    def __le__(self, other: Any) -> Any:
        return self.traced() <= other

    def __gt__(self, other: Any) -> Any:
        return self.traced() > other

    def __ge__(self, other: Any) -> Any:
        return self.traced() >= other

    __hash__ = None  # type: ignore[assignment]

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
