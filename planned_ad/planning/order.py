"""The order that memory imposes on steps: who touched which region last, and what must come after."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ..regions.regions import Region, limits, overlap, same_layout
from .schedule import Nest, Step


@dataclass
class Touched:
    """The accesses to one buffer so far; scalar blocks as one interval per step.

    `areas`: for each region, whether it was written, and whether element i was touched at index i of the nest, the
    last step that did so (what must come after that comes after the earlier ones too).
    """

    areas: dict[tuple[Region, bool, bool], int] = field(default_factory=dict)
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
        for (area, wrote, aligned), step in reversed(touched.areas.items()):  # (the latest decide)
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
            key = (region, write, aligned)
            touched.areas[key] = max(step, touched.areas.pop(key, 0))
