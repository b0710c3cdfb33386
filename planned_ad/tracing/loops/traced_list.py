"""A list that a loop fills, or may: its elements one by one, or in columns with a row for each iteration."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Affine, Extent, ragged
from ..record.aliases import storages_in
from ..record.lost_variables import Lost
from ..record.storage import Storage
from ..record.traced import Traced
from ..values.loop_index import PEEL_MOST, LoopIndex, expression_of, index_of
from .end_slices import bounds_in, last_places
from .laying_down import as_made, method_of_list, to_lay_down, to_lay_down_if_better, to_replace, to_write_in_place
from .list_in_trace import ListInTrace, adds_in_place, is_of_run_time_length, is_traced_list

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder

NOTHING = object()


@dataclass
class Segment(Traced):
    """`length` elements in a row of a list; inside the loop that fills it, those of the iterations before."""

    column: Any  # the form of its elements, which holds them; see `forms`
    length: Extent

    def storages(self) -> Iterator[Storage]:
        return self.column.storages()


class TracedList(ListInTrace):
    """A list (or tuple) of `parts`: elements, and segments of elements that a loop has made.

    Attributes
    ----------
    pending : object
        What has been appended on a side of a branch: once that is over it is what both sides have appended.
    latest : object
        The last thing of which that holds.
    appended : object
        What is being appended.
    """

    def __init__(self, recorder: Recorder, site: Site, parts: list[Any], kind: type = list):
        super().__init__(recorder, site, kind)
        self.parts = parts
        self.pending: Any = NOTHING
        self.latest: Any = NOTHING
        self.appended: Any = NOTHING
        self.pending_depth = 0
        self.pending_at: Extent | None = None  # which item that is, of a list made with its length
        self.backwards = False  # whether such a list is filled from its end
        self.is_element = False  # made when it was asked for: what is done to it is seen nowhere else
        if site in recorder.scopes.decisions.written:
            recorder.written_lists.append(weakref.ref(self))

    @property
    def has_pending(self) -> bool:
        return self.pending is not NOTHING

    def held(self) -> Iterator[tuple[str | None, Any]]:
        if self.has_pending:
            yield "pending", self.pending
        for part in self.parts:
            yield None, part

    def like(self, parts: list[Any]) -> TracedList:
        return TracedList(self.recorder, self.site, parts, self.kind)

    def element(self, parts: list[Any]) -> TracedList:
        """A list that is an element of this one."""
        found = TracedList(self.recorder, self.site, parts)
        found.is_element = True
        return found

    def row(self, segment: Segment) -> TracedList:
        """A list that is an element of this one, of which it is a part: what is written to one is in both."""
        found = self.element([segment])
        found.is_written = True
        segment.column.given.append(weakref.ref(found))  # type: ignore[attr-defined]
        self.recorder.rows_given.add(self.site)
        return found

    @property
    def memory(self) -> Any:
        """The array in which a list lies to which loops write."""
        return self.parts[0].column.memory

    def in_memory(self) -> tuple[Any, tuple[str, ...], list[Any]]:
        return self.parts[0].column.kind(self), ("memory",), [self.memory]

    def given(self) -> list[Any]:
        """Its parts, for another list."""
        self.settle()
        if self.is_written:
            return [Segment(self.parts[0].column.part(self, slice(None)), self.parts[0].length)]
        self.is_shared = True
        return list(self.parts)

    def uneven(self) -> BaseException:
        """What to raise where it does not grow evenly: its length is data, from now on."""
        is_filled = self.pending_at is not None or self.recorder.flow.is_filled(self)
        if self.site in self.recorder.scopes.decisions.lengths or self.is_element or is_filled:
            return super().refuse()
        return self.recorder.flow.uneven(self)

    def refuse(self) -> BaseException:
        """Of what a list has not whose length the loops around move, one has something whose length is data."""
        return super().refuse() if isinstance(self.extent(), int) else self.uneven()

    def before_write(self, storage: Storage) -> None:
        if not (self.is_written and self.parts[0].column.is_put_back(self, storage)):
            raise to_write_in_place(self)

    # Growing.

    def append(self, value: Any) -> None:
        if self.kind is tuple:
            raise AttributeError("'tuple' object has no attribute 'append'")
        self.settle()
        if self.is_element:
            raise self.refuse()
        scopes, self.appended = self.recorder.scopes, value
        if scopes.depth > self.depth and scopes.open[-1].loop is None:
            if self.has_pending or self.pending_at is not None:
                raise self.uneven()
            self.note()
            self.pending = self.latest = value
            self.pending_depth = scopes.depth
        else:
            self._grow([value])
        self.appended = NOTHING

    def insert(self, where: Any, value: Any) -> None:
        self.appended = value
        raise self.uneven()

    def extend(self, values: Any) -> None:
        self.settle()
        scopes = self.recorder.scopes
        if self.is_element or self.kind is tuple:
            raise self.refuse()
        if is_of_run_time_length(values) or (scopes.depth > self.depth and scopes.open[-1].loop is None):
            raise self.uneven()
        self._grow(values.given_to(self) if is_traced_list(values) else list(values))

    def _grow(self, parts: list[Any]) -> None:
        if self.is_written:
            self._fill_first()
            raise self.uneven()
        if self.recorder.flow.is_filled(self):
            raise self.refuse()
        self.note()
        self.parts.extend(parts)

    def note(self) -> None:
        """Tell the loops around that the list is about to grow."""
        around = self.recorder.scopes.open[self.depth :]
        loops = [scope.loop for scope in around if scope.loop is not None]
        if any(scope.loop is None for scope in around[: len(loops)]):  # a loop on a side
            raise self.uneven()
        for loop in loops:
            loop.growth.note(self)

    def settle(self) -> None:
        """Append what the sides of a branch that is over have appended."""
        if self.pending is NOTHING:
            return
        if self.recorder.scopes.depth >= self.pending_depth or type(self.pending) is Lost:
            raise self.uneven()
        value, self.pending = self.pending, NOTHING
        if self.pending_at is None:
            self.append(value)
        else:
            at, self.pending_at, self.latest = self.pending_at, None, NOTHING
            self[index_of(self.recorder, at)] = value

    def drop_pending(self) -> None:
        self.pending, self.pending_at = NOTHING, None

    # Reading.

    @property
    def is_plain(self) -> bool:
        """Whether its elements are there one by one."""
        return not any(type(part) is Segment for part in self.parts)

    def extent(self) -> Extent:
        """Its length, as an expression of the loops around."""
        self.settle()
        total: Extent = 0
        for part in self.parts:
            total = total + (part.length if type(part) is Segment else 1)
        return total

    def items_now(self) -> int:
        """Its length, for what runs over it: a `Ragged` where the loops around move it."""
        total = self.extent()
        return total if isinstance(total, int) else ragged(self.recorder.scopes.capacity(total), total)

    def length(self) -> Any:
        return index_of(self.recorder, self.extent())

    def __len__(self) -> int:
        return operator.index(self.length())

    def __bool__(self) -> bool:
        return bool(self.length() > 0)

    def __getitem__(self, key: Any) -> Any:
        self.settle()
        self.lay_down_where_filled()
        if type(key) is slice:
            return self._slice(key)
        recorder = self.recorder
        recorder.mark()
        if not isinstance(expression_of(key), int) and recorder.flow.holds_lists(self):
            raise recorder.flow.of_lists(self)
        if self.is_written:
            if type(key) is LoopIndex and self._is_beyond(key):
                self._fill_first()
            return self._row(self.parts[0], self._in_range(key))
        expression = expression_of(key)
        if expression is None:
            if recorder.is_scalar(key) and len(self.parts) == 1 and type(self.parts[0]) is Segment:
                return self._row(self.parts[0], key)
            if not self.is_plain or recorder.is_scalar(key):
                raise self.lay_down() if recorder.flow.fits_in_rows(self) else to_lay_down_if_better(self)
            return self.parts[key]
        if self.is_plain and type(key) is int:
            return self.parts[key]
        bounds, total = recorder.scopes.bounds, self.extent()
        if bounds(expression)[1] < 0:
            expression = expression + total
        first: Extent = 0
        for part in self.parts:
            length = part.length if type(part) is Segment else 1
            if bounds(expression - first)[0] >= 0 and bounds(first + length - 1 - expression)[0] >= 0:
                if recorder.flow.is_unset(part) and self._may_grow():
                    break
                row = index_of(recorder, expression - first)
                return self._row(part, row) if type(part) is Segment else part
            first = first + length
        return self._elsewhere(expression, total)

    def _row(self, segment: Segment, row: Any) -> Any:
        """An item: of lists, tuples and arrays another object each time, unless all are one."""
        found = segment.column.item(self, row)
        is_number = self.recorder.is_scalar(found) or type(found) in (int, LoopIndex)
        if not is_number and getattr(segment.column, "value", None) is not found:
            self.recorder.rows_given.add(self.site)
            self.is_shared = True
        return found

    def _is_beyond(self, key: LoopIndex) -> bool:
        """Whether an index may be past the end: a loop that fills the list may be the reason."""
        bounds, expression = self.recorder.scopes.bounds, expression_of(key)
        return bounds(expression)[0] >= 0 and bounds(self.extent() - 1 - expression)[0] < 0  # type: ignore[operator]

    def _fill_first(self) -> None:
        """Start again with memory for a list after the first loop that is run with it, unless that was tried."""
        scopes, known = self.recorder.scopes, self.recorder.scopes.decisions.filled_first
        if scopes.depth > self.depth and self.site not in known:
            known[self.site] = True
            raise scopes.restart()

    def _in_range(self, key: Any) -> Any:
        """An index of a list in memory."""
        if key is None:  # which is another axis to an array
            raise TypeError("list indices must be integers or slices, not NoneType")
        length = self.extent()
        if type(key) is int and isinstance(length, int) and not -length <= key < length:
            raise IndexError("list index out of range")
        return key

    def __setitem__(self, key: Any, value: Any) -> None:
        self.settle()
        self.lay_down_where_filled()
        recorder, scopes = self.recorder, self.recorder.scopes
        recorder.mark()
        if self.kind is tuple:
            raise TypeError("'tuple' object does not support item assignment")
        if type(key) is slice:
            raise self.refuse()
        if not isinstance(expression_of(key), int) and recorder.flow.holds_lists(self):
            raise recorder.flow.of_lists(self)
        if self.is_written:
            self.parts[0].column.write(self, self._in_range(key), value)
        elif type(key) is int and self.is_plain and self.scope is scopes.innermost and not self.is_element:
            self.parts[key] = value
        elif not recorder.flow.fill(self, key, value):
            raise to_replace(self, value)

    def lay_down_where_filled(self) -> None:
        """A list to which loops write gets memory as soon as another loop has filled it."""
        scopes = self.recorder.scopes
        is_done = self.is_written or self.is_element or self.is_plain
        if self.site in scopes.decisions.written and not is_done and self.scope is scopes.innermost:
            self.recorder.flow.lay_down(self)

    lay_down = to_lay_down

    def _may_grow(self) -> bool:
        """Whether loops around may turn out to fill it, of which this pass is not the last."""
        around = self.recorder.scopes.open[self.depth :]
        return any(scope.loop.growth.may_give(self) for scope in around if scope.loop is not None)

    def _elsewhere(self, expression: Extent, total: Extent) -> Any:
        """For an index past the ends in some iterations, or in one part of the list in some and in another in others.

        Where the list may turn out to grow, some element stands for that one until it has.
        """
        recorder = self.recorder
        scopes, known = recorder.scopes, recorder.scopes.decisions.written
        low, high = scopes.bounds(expression), scopes.bounds(total - 1 - expression)
        if isinstance(expression, int) and isinstance(total, int):
            raise IndexError("list index out of range")
        is_outside = low[0] < 0 or high[0] < 0
        around = [scope.loop for scope in scopes.open[self.depth :] if scope.loop is not None]
        if not is_outside and self._may_grow() and recorder.flow.has_unset(self):
            return recorder.flow.assigned_last(self, *scopes.bounds(expression))
        if is_outside and self.parts and self.is_plain and self._may_grow():
            self.note()
            return self.parts[-1]
        filling = around[0].scope if is_outside and not self.parts and around else None
        if filling is not None and filling.site is not None and not scopes.decisions.first.get(filling.site):
            raise scopes.peel(filling, first=1)  # which puts something into it
        is_of_loops = isinstance(expression, Affine) and len(expression.terms) > 1 and self.site not in known
        if is_of_loops or (self.is_plain and (recorder.is_better_in_memory(self) or recorder.flow.fits_in_rows(self))):
            raise self.lay_down()
        is_apart = [*(type(part) is not Segment for part in self.parts), False]
        at_first, at_last = is_apart.index(False), [False, *is_apart][-2::-1].index(False)
        for scope in reversed(scopes.open):
            if scope.site is None or scope.loop is None or scope.loop.count is not None:
                continue
            first, last = (ends.get(scope.site, 0) for ends in (scopes.decisions.first, scopes.decisions.last))
            if (low[0] < 0 or at_first) and first < max(PEEL_MOST, at_first):
                raise scopes.peel(scope, first=1)
            if (high[0] < 0 or at_last) and scope.has_last and last < max(PEEL_MOST, at_last):
                raise scopes.peel(scope, last=1)
            break
        raise self.refuse()

    def _slice(self, key: slice) -> Any:
        self.is_shared = True
        if any(map(self.recorder.is_scalar, bounds_in(key))):
            raise self.uneven()
        if self.is_plain:
            return self.like(self.parts[key])
        total = self.extent()
        if self.is_written and isinstance(total, int) and all(b is None or type(b) is int for b in bounds_in(key)):
            return self.like([Segment(self.parts[0].column.part(self, key), len(range(total)[key]))])
        given = [bound for bound in bounds_in(key) if bound is not None]
        if not isinstance(total, int):
            return self._moving_slice(key, total)
        if not all(type(bound) is int for bound in given):
            raise self.refuse()
        rows = range(total)[key]
        parts: list[Any] = []
        first = 0
        for part in self.parts:
            length: Any = part.length if type(part) is Segment else 1
            inside = [k - first for k in (rows if len(rows) < PEEL_MOST else ()) if first <= k < first + length]
            if type(part) is not Segment:
                parts += [part] if first in rows else []
            elif rows.step == 1:
                start, stop = max(rows.start - first, 0), min(rows.stop - first, length)
                if start < stop:
                    parts.append(Segment(part.column.part(self, slice(start, stop)), stop - start))
            elif len(self.parts) == 1 and rows:
                stop = rows.stop if rows.stop >= 0 else None  # type: ignore[assignment]
                parts.append(Segment(part.column.part(self, slice(rows.start, stop, rows.step)), len(rows)))
            elif inside or len(rows) >= PEEL_MOST:
                raise self.refuse()
            first += length
        return self.like(parts if rows.step > 0 or len(self.parts) == 1 else parts[::-1])

    def _moving_slice(self, key: slice, total: Extent) -> TracedList:
        """Of a list whose length the loops around move: the last ones, or without some in front and at the end."""
        last = last_places(key, self.recorder.scopes.bounds(total)[0])
        if last:
            return self.like([self[place] for place in last])
        start, stop = (0 if bound is None else bound for bound in (key.start, key.stop))
        is_from_ends = type(start) is type(stop) is int and start >= 0 >= stop and (key.stop is None or stop)
        length = total - start + stop if is_from_ends else -1
        if len(self.parts) > 1 or key.step not in (None, 1) or self.recorder.scopes.bounds(length)[0] < 0:
            raise self.uneven()
        column = self.parts[0].column.part(self, slice(start, self.recorder.scopes.capacity(total)))
        return self.like([Segment(column, length)])

    def __iter__(self) -> Iterator[Any]:
        self.settle()
        if self.is_plain:
            return iter(self.parts)
        return self.recorder.flow.iterate(self.items_now(), self.__getitem__)

    def storages(self) -> Iterator[Storage]:
        for part in self.parts:
            yield from storages_in(part)

    def traced(self) -> Any:
        """As the array that `numpy.array` makes of it."""
        recorder, total = self.recorder, self.extent()
        if not isinstance(total, int):
            memory = getattr(self.parts[0].column, "memory", None) if len(self.parts) == 1 else None
            if memory is None:
                raise self.uneven()
            return memory[: index_of(recorder, total)].copy()
        if self.is_plain:
            items = [part.traced() if type(part) is TracedList else part for part in self.parts]
            return (
                recorder.concrete(np.array(recorder.plain(items)))
                if recorder.is_concrete(items)
                else (recorder.array(recorder.stacked(items)))
            )
        pieces: list[Any] = []
        items = []
        for part in [*self.parts, NOTHING]:
            if part is not NOTHING and type(part) is not Segment:
                items.append(part)
                continue
            if items:
                pieces.append(self.like(items).traced())
                items = []
            if type(part) is Segment:
                pieces.append(part.column.array(self, part.length))  # type: ignore[arg-type]
        return pieces[0] if len(pieces) == 1 else recorder.call(np.concatenate, (pieces,), {})

    # Lists made of lists.

    def copy(self) -> TracedList:
        return self.like(self.given())

    __copy__ = copy

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, self.kind):
            return NotImplemented
        others = other.given() if type(other) is TracedList else list(other)  # type: ignore[call-overload]
        return self.like([*self.given(), *others])

    def __radd__(self, other: Any) -> Any:
        if type(other) is not self.kind:
            return NotImplemented
        if self.kind is list and adds_in_place():
            other.extend(self.elements())  # type: ignore[attr-defined]
            return other
        return self.like([*list(other), *self.given()])  # type: ignore[call-overload]

    def __iadd__(self, other: Any) -> Any:
        if self.kind is tuple:
            return self + other
        self.extend(other)
        return self

    def __mul__(self, times: Any) -> Any:
        return self.like(self.given() * times) if type(times) is int else NotImplemented

    __rmul__ = __mul__

    # What takes all elements, one by one.

    def elements(self) -> Any:
        """As an ordinary list or tuple."""
        self.settle()
        return self.kind(self.parts) if self.is_plain else self.kind(self[k] for k in range(len(self)))

    is_as_made = property(as_made)

    def __getattr__(self, name: str) -> Any:
        found = method_of_list(self, name)
        return super().__getattr__(name) if found is None else found

    def __contains__(self, value: Any) -> bool:
        self.settle()
        if not (self.is_plain and self.recorder.is_concrete([value, *self.parts])):
            raise self.uneven() if self.recorder.scopes.depth > self.depth else self.refuse()
        return value in self.parts

    def __delitem__(self, key: Any) -> None:
        if type(key) is int and self.is_as_made:
            del self.parts[key]
            return
        raise self.uneven() if self.recorder.scopes.depth > self.depth else self.refuse()
