"""The order that memory imposes on steps: who touched which region last, and what must come after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..regions.regions import Region, limits, overlap, same_layout
from .schedule import Nest, Step

Area = tuple[Region, bool, bool]


@dataclass
class Areas:
    """For each region, whether it was written, and whether element i was touched at index i of the nest, the last step
    that did so (what must come after that comes after the earlier ones too).

    They are found by where they lie: those that reach over less than 2**k elements by the stretches of that length
    that they are in, one or two.
    """

    steps: dict[Area, int] = field(default_factory=dict)
    anywhere: dict[Area, None] = field(default_factory=dict)  # those that loops move
    stretches: dict[int, dict[int, dict[Area, None]]] = field(default_factory=dict)  # by k and number of the stretch

    def put(self, area: Area, step: int) -> None:
        if area in self.steps:
            self.steps[area] = max(step, self.steps[area])
            return
        self.steps[area] = step
        low, high = area[0].view.bounds()
        if not (isinstance(low, int) and isinstance(high, int)):
            self.anywhere[area] = None
            return
        k = (high - low).bit_length()
        within = self.stretches.setdefault(k, {})
        for number in {low >> k, high >> k}:
            within.setdefault(number, {})[area] = None

    def near(self, region: Region) -> Iterator[Area]:
        """Those that may overlap a region, and some others; some of them twice."""
        low, high = region.view.bounds()
        if not (isinstance(low, int) and isinstance(high, int)):
            yield from self.steps
            return
        yield from self.anywhere
        for k, within in self.stretches.items():
            first, last = low >> k, high >> k
            numbers = (
                range(first, last + 1) if last - first < len(within) else [n for n in within if first <= n <= last]
            )
            for number in numbers:
                yield from within.get(number, ())


@dataclass
class Touched:
    """The accesses to one buffer so far; scalar blocks as one interval per step."""

    areas: Areas = field(default_factory=Areas)
    blocks: dict[tuple[int, bool], list[int]] = field(default_factory=dict)


@dataclass
class AccessOrder:
    """All accesses of the steps placed so far."""

    steps: list[Step]
    touched: dict[int, Touched] = field(default_factory=lambda: defaultdict(Touched))

    def after(self, region: Region, domain: tuple[int, ...], write: bool) -> int:
        """The first step that may touch `region` without overtaking an earlier access."""
        first = 0
        touched = self.touched.get(region.buffer)
        if touched is None:
            return first
        if touched.blocks:
            low, high = region.view.bounds()
            for (step, wrote), (a, b) in touched.blocks.items():
                apart = isinstance(low, int) and isinstance(high, int) and (b < low or high < a)
                if (write or wrote) and not apart:
                    first = max(first, step if domain == () else step + 1)
        for key in touched.areas.near(region):
            (area, wrote, aligned), step = key, touched.areas.steps[key]
            if (write or wrote) and step + 1 > first and overlap(area, region):
                nest = self.steps[step]
                together = isinstance(nest, Nest) and nest.domain == domain
                # (the items of a scalar block run in their order)
                together = together and (domain == () or (aligned and same_layout(area.view, region.view)))
                first = max(first, step if together else step + 1)
        return first

    def touch(self, region: Region, step: int, write: bool, aligned: bool = True) -> None:
        touched = self.touched[region.buffer]
        nest = self.steps[step]
        if isinstance(nest, Nest) and nest.domain == () and isinstance(region.view.offset, int):
            low, high = limits(region.view)
            interval = touched.blocks.setdefault((step, write), [low, high])
            interval[0] = min(interval[0], low)
            interval[1] = max(interval[1], high)
        else:
            touched.areas.put((region, write, aligned), step)
