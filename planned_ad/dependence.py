"""When memory is overwritten: the question behind every reload, cache and fusion."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

from .regions import Region, overlap
from .tape import Operation, Tape


class WriteHistory:
    """All writes of a tape by buffer and position, asked for the first one that overlaps a region.

    Single elements are found by their offset, so that an unrolled loop over an array stays linear.
    """

    def __init__(self, tape: Tape):
        self.operations = tape.operations
        self._points: dict[int, dict[int, list[int]]] = defaultdict(dict)
        self._areas: dict[int, tuple[list[int], list[Region]]] = defaultdict(lambda: ([], []))
        for position, op in enumerate(tape.operations):
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
    from .regions import View

    return _is_point(region) or overlap(region, Region(region.buffer, View(offset, (), ())))
