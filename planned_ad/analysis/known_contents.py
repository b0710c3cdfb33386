"""Which values memory is known to hold: what lets a load be the value that was loaded, or stored, before."""

from __future__ import annotations

from ..regions.regions import Region, View, overlap
from ..tape.tape import Value


class Contents:
    """Which values the regions of one buffer are known to hold; single elements by their offset."""

    def __init__(self, buffer: int):
        self.buffer = buffer
        self.points: dict[object, dict[View, Value]] = {}
        self.areas: dict[View, Value] = {}

    def copy(self) -> Contents:
        other = Contents(self.buffer)
        other.points = {offset: dict(known) for offset, known in self.points.items()}
        other.areas = dict(self.areas)
        return other

    def place(self, view: View) -> dict[View, Value]:
        if view.size == 1 and isinstance(view.offset, int):
            return self.points.setdefault(view.offset, {})
        return self.areas

    def get(self, view: View) -> Value | None:
        return self.place(view).get(view)

    def put(self, view: View, value: Value) -> None:
        self.place(view)[view] = value

    def forget(self, region: Region) -> None:
        """Drop what a write to `region` may change."""
        view = region.view
        for known in [v for v in self.areas if overlap(region, Region(self.buffer, v))]:
            del self.areas[known]
        if view.size == 1 and isinstance(view.offset, int):
            self.points.pop(view.offset, None)
            return
        for offset in [o for o in self.points if overlap(region, Region(self.buffer, View(o, (), ())))]:  # type: ignore[arg-type]
            del self.points[offset]


class KnownContents:
    """The contents of all buffers, as known in one block: at first what was known around it."""

    def __init__(self, outer: KnownContents | None = None):
        self.outer = outer
        self.own: dict[int, Contents] = {}

    def __getitem__(self, buffer: int) -> Contents:
        if buffer not in self.own:
            known = self.find(buffer)
            self.own[buffer] = Contents(buffer) if known is None else known.copy()
        return self.own[buffer]

    def find(self, buffer: int) -> Contents | None:
        if buffer in self.own:
            return self.own[buffer]
        return None if self.outer is None else self.outer.find(buffer)

    def forget(self, region: Region) -> None:
        """Drop what a write to `region` may change."""
        if self.find(region.buffer) is not None:
            self[region.buffer].forget(region)
