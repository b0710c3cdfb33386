"""When memory is overwritten: the question behind every reload, cache and fusion."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..regions.affine import Extent, Ranges, affine, extremes, loop_index
from ..regions.coordinates import Axes, axes_of, coordinates, elements
from ..regions.integer_sets import impossible
from ..regions.regions import Region, View, overlap
from ..tape.tape import Buffer, Loop, Operation, Store, Tape

OTHER = -1000  # the names of indices of a second iteration go down from here (see `coordinates.AXIS`)


class WriteHistory:
    """All writes of a tape by buffer and position, asked for the first one that overlaps a region, or what it stored.

    Single elements are found by their offset, so that an unrolled loop over an array stays linear.
    """

    def __init__(self, tape: Tape):
        self.operations = tape.operations
        self._points: dict[int, dict[int, list[int]]] = defaultdict(dict)
        self._areas: dict[int, tuple[list[int], list[Region]]] = defaultdict(lambda: ([], []))
        self._stored: dict[int, list[tuple[Region, int]]] = defaultdict(list)  # by value
        for position, op in enumerate(tape.operations):
            if isinstance(op, Store) and not op.accumulate and op.value.shape == op.region.shape:
                self._stored[op.value.id].append((op.region, position))
            for region in op.writes:
                if _is_point(region):
                    self._points[region.buffer].setdefault(region.view.offset, []).append(position)  # type: ignore[arg-type]
                elif region.view.size:
                    positions, regions = self._areas[region.buffer]
                    positions.append(position)
                    regions.append(region)

    def first_write(self, region: Region, after: int, before: int) -> Operation | None:
        """The first operation strictly between two positions that may write to `region`, or None."""
        if before - after < 2 or not region.view.size:
            return None
        found = before
        if region.buffer in self._areas:
            positions, regions = self._areas[region.buffer]
            for k in range(bisect_right(positions, after), len(positions)):
                if positions[k] >= found:
                    break
                if overlap(regions[k], region):
                    found = positions[k]
                    break
        points = self._points.get(region.buffer)
        if points:
            found = min(found, self._first_point(points, region, after, found))
        return self.operations[found] if found < before else None

    def copies(self, value: int, before: int) -> Iterator[tuple[Region, int]]:
        """The regions that the value was stored to, and that still hold it at a position; each with its store's."""
        for region, since in self._stored.get(value, ()):
            if since < before and self.first_write(region, since, before) is None:
                yield region, since

    def _first_point(self, points: dict[int, list[int]], region: Region, after: int, before: int) -> int:
        if _is_point(region):
            offsets: list[int] = [region.view.offset] if region.view.offset in points else []
        else:
            low, high = region.view.bounds()
            fixed = isinstance(low, int) and isinstance(high, int)
            offsets = [o for o in points if not fixed or low <= o <= high]  # type: ignore[operator]
        for offset in offsets:
            positions = points[offset]
            k = bisect_right(positions, after)
            if k < len(positions) and positions[k] < before and _hits(region, offset):
                before = positions[k]
        return before


def _is_point(region: Region) -> bool:
    return region.view.size == 1 and isinstance(region.view.offset, int)


def _hits(region: Region, offset: int) -> bool:
    return _is_point(region) or overlap(region, Region(region.buffer, View(offset, (), ())))


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a program an operation stands: its position in each block from the outermost inwards.

    `steps`: for each operation around it, its position and the number of its block that is entered, then the
    operation's own position (and 0). `around`: those operations.
    """

    steps: tuple[tuple[int, int], ...]
    around: tuple[Operation, ...] = ()

    def at(self, position: int) -> Place:
        """The place of an operation of the block that this is the place of (whose last step is its position)."""
        return Place((*self.steps[:-1], (position, 0)), self.around)

    def inside(self, op: Operation, block: int) -> Place:
        """The place of the first operation of a block of `op`, which stands here."""
        return Place((*self.steps[:-1], (self.steps[-1][0], block), (0, 0)), (*self.around, op))

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(op for op in self.around if isinstance(op, Loop))


START = Place(((0, 0),))


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """An operation that reads or writes `region`, and where it stands."""

    region: Region
    place: Place
    operation: Operation


class Overwrites:
    """All writes of a program with loops and branches, asked whether memory still holds at its end what it held."""

    def __init__(self, buffers: Sequence[Buffer], operations: Sequence[Operation], around: Sequence[Loop] = ()):
        """`around`: loops that the whole program is inside of; what is asked concerns one of their iterations."""
        self.buffers = buffers
        self.operations = operations
        self.around = tuple(around)
        self._writes: dict[int, list[Access]] | None = None  # by buffer
        self._axes: dict[int, Axes | None] = {}
        self._positions: dict[Access, Positions] = {}

    def after(self, access: Access) -> Operation | None:
        """An operation that may write to the region of `access` later than that, before the program ends; or None.

        Later: further on in the same iterations, in any later iteration of a loop around both, or after such a loop.
        """
        if not access.region.view.size:
            return None
        if self._writes is None:
            self._writes = self._by_buffer()
        return next((w.operation for w in self._writes[access.region.buffer] if self.may_follow(access, w)), None)

    def _by_buffer(self) -> dict[int, list[Access]]:
        found: dict[int, list[Access]] = defaultdict(list)
        for place, op in places(self.operations):
            if not op.blocks:
                for region in op.writes:
                    if region.view.size:
                        found[region.buffer].append(Access(region, place, op))
        return found

    def before(self, access: Access, level: int) -> bool:
        """Whether the region of `access` may be written to before that, in the same run of a block around it.

        That is the block inside of the first `level` operations around `access`; with level 0, the outermost operation.
        """
        if self._writes is None:
            self._writes = self._by_buffer()
        shared = access.place.steps[:level] if level else access.place.steps[:1]
        inside = [w for w in self._writes[access.region.buffer] if w.place.steps[: len(shared)] == shared]
        if not level:
            inside = [w for w in self._writes[access.region.buffer] if w.place.steps[0][0] == shared[0][0]]
        return any(self.may_precede(access, w, level) for w in inside)

    def may_follow(self, access: Access, write: Access) -> bool:
        """Whether `write`, at a later time than `access`, may touch an element of its region."""
        if self.are_apart(access, write):
            return False
        depth, order = divergence(access.place, write.place)
        shared = [op for op in access.place.around[:depth] if isinstance(op, Loop)]
        if order > 0 and self.may_meet(access, write, shared, None):
            return True
        return any(self.may_meet(access, write, shared[:k], loop) for k, loop in enumerate(shared))

    def may_precede(self, access: Access, write: Access, level: int) -> bool:
        """Whether `write` may touch the region at an earlier time, in the same iterations of the first loops around."""
        if self.are_apart(access, write):
            return False
        depth, order = divergence(access.place, write.place)
        outer = sum(isinstance(op, Loop) for op in access.place.around[:level])
        shared = [op for op in access.place.around[:depth] if isinstance(op, Loop)]
        if order < 0 and self.may_meet(access, write, shared, None):
            return True
        return any(self.may_meet(access, write, shared[:k], loop, -1) for k, loop in enumerate(shared) if k >= outer)

    def are_apart(self, access: Access, write: Access) -> bool:
        """Whether the stretches of memory that the two touch in all iterations have nothing in common."""
        (low, high), (least, most) = self.positions(access).reach, self.positions(write).reach
        return high < least or most < low

    def may_meet(
        self, access: Access, write: Access, same: Sequence[Loop], other_loop: Loop | None, direction: int = 1
    ) -> bool:
        """Whether the two touch a common element in some pair of iterations.

        In these the loops `same` have equal indices, and `other_loop` a later one at the write (an earlier one, with
        direction -1). The question is whether integers satisfy: the bounds of both sets of iterations and of both
        regions' axes, and equal positions along the axes of the buffer.
        """
        own, other = self.positions(access), self.positions(write)
        names = other.names({loop.index for loop in (*self.around, *same)})
        order: list[Extent] = []
        if other_loop is not None:
            after = rename(loop_index(other_loop.index), names) - loop_index(other_loop.index)
            order.append(after * (other_loop.step * direction) - 1)
        first, second = own.coordinates, other.coordinates
        if first is None or second is None:
            first, second = (own.address,), (other.address,)
        equations = [a - rename(b, names) for a, b in zip(first, second, strict=True)]
        return not impossible(equations, [*own.bounds(), *(rename(b, names) for b in other.bounds()), *order])

    def positions(self, access: Access) -> Positions:
        found = self._positions.get(access)
        if found is None:
            buffer = self.buffers[access.region.buffer]
            if buffer.id not in self._axes:
                self._axes[buffer.id] = axes_of(buffer.view)
            found = self._positions[access] = positions_of(access, self._axes[buffer.id], self.around)
        return found


@dataclass(frozen=True, slots=True)
class Positions:
    """The elements that an access touches, as expressions of loop indices and of positions along the region's axes."""

    ranges: Ranges  # of all of these
    address: Extent
    reach: tuple[int, int]  # the lowest and the highest address, in all iterations
    coordinates: tuple[Extent, ...] | None  # along the buffer's axes, where they can be told

    def bounds(self) -> Iterator[Extent]:
        """What is not negative."""
        for index, (least, greatest) in self.ranges.items():
            yield loop_index(index) - least
            yield greatest - loop_index(index)

    def names(self, same: set[int]) -> dict[int, int]:
        """Other names for all that is not `same`."""
        return {index: OTHER - k for k, index in enumerate(self.ranges) if index not in same}


def positions_of(access: Access, axes: Axes | None, around: Sequence[Loop] = ()) -> Positions:
    loops = {loop.index: loop.range for loop in (*around, *access.place.loops)}
    address, ranges = elements(access.region.view, loops)
    reach = extremes(address, ranges)
    return Positions(ranges, address, reach, None if axes is None else coordinates(address, axes, ranges))


def rename(expression: Extent, names: Mapping[int, int]) -> Extent:
    if isinstance(expression, int):
        return expression
    return affine(expression.constant, {names.get(index, index): c for index, c in expression.terms})


def divergence(a: Place, b: Place) -> tuple[int, int]:
    """How many operations are around both places, and the order in the innermost of their blocks.

    That is positive where `b` comes later; 0 for the same operation and for two sides of a branch.
    """
    for depth, (first, second) in enumerate(zip(a.steps, b.steps)):
        if first != second:
            return depth, second[0] - first[0]
    return len(a.around), 0


def places(operations: Sequence[Operation], start: Place = START) -> Iterator[tuple[Place, Operation]]:
    """Every operation with its place, in order."""
    for position, op in enumerate(operations):
        place = start.at(position)
        yield place, op
        for number, block in enumerate(op.blocks):
            yield from places(block, place.inside(op, number))
