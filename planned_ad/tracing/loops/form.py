"""What the forms have in common in which things are handed on; see `forms`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Affine, Extent, affine
from ...regions.regions import Region, View
from ...tape.tape import Buffer, Value
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from .traced_list import TracedList

if TYPE_CHECKING:
    from ..record.recorder import Recorder

Stores = list[tuple[Buffer, Value]]
Allocate = Callable[[np.dtype, tuple[int, ...]], Buffer]


class NotCarried(Exception):
    """What a place holds does not fit the form in which it is handed on; the message says so to the user."""


class HandedOn:
    """What all forms have in common; by default without memory, and nothing to do for the rows of a list."""

    is_known = False  # whether a program may ask for the numbers themselves: Python's integers and truths

    def opened(self) -> HandedOn | None:
        """The form of something that differs from time to time, its items apart; None where there is none."""
        return self

    def stored(self) -> HandedOn | None:
        """The form in which it lies in memory, its items too; None where it cannot."""
        return self.opened()

    def joined(self, other: Any, exact: bool) -> HandedOn | None:
        """The form that serves for an `other` of this class as well."""
        return self if self == other else None

    def placed(self, allocate: Allocate) -> HandedOn:
        """With memory for one thing."""
        return self

    def parts(self) -> Iterable[HandedOn]:
        """The forms of its items."""
        return ()

    def leaves(self) -> Iterator[HandedOn]:
        """The forms without items that it is made of."""
        inner = list(self.parts())
        if not inner:
            yield self
        for part in inner:
            yield from part.leaves()

    # In one place.

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        """What the program finds in the variable `name`, in an iteration of the loop with this index."""
        raise NotImplementedError

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        """What is left in memory of a `value`; NotCarried where that does not fit."""
        return []

    # In the rows of a list.

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> HandedOn:
        """With memory for so many elements of a list, filled by the loop with this index, made at this depth."""
        return self

    def item(self, owner: TracedList | None, row: Any) -> Any:
        """The element in a row of a list, which the program may not change; without one, of other items."""
        raise NotImplementedError

    def part(self, owner: TracedList, rows: slice) -> HandedOn:
        return self

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        """So many rows as an array."""
        raise NotImplementedError

    def put(self, row: Extent, element: Any) -> None:
        """Fill a row; where the rows are known there is nothing to do."""

    def put_rows(self, row: Extent, column: Any, length: int) -> None:
        """Fill rows with those of another list."""

    def storages(self) -> Iterator[Storage]:
        """The memories to which the rows lead."""
        for part in self.parts():
            yield from part.storages()

    def own_storages(self) -> Iterator[Storage]:
        """The memories that hold rows."""
        for part in self.parts():
            yield from part.own_storages()


def scaled_index(expression: Any, factor: Any) -> Extent:
    """The product of an index and an integer, which may be of NumPy."""
    assert isinstance(factor, int)
    return expression * factor if isinstance(expression, Affine) else affine(int(expression) * factor, {})


def place_for(buffer: Buffer, value: Value) -> Region:
    """Where a value lies in memory that is as large, or that is longer."""
    if value.shape in ((), buffer.shape):
        return buffer.whole
    return Region(buffer.id, View(buffer.view.offset, value.shape, buffer.view.strides))
