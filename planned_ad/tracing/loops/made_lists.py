"""Lists that the program has made: which ones loops may fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .records import followed_record
from .run_time_lists import RunTimeList
from .traced_list import TracedList

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder


def followed(recorder: Recorder, items: Any, site: Site) -> Any:
    """A list that was made there: one that loops may fill or write to, where that is decided."""
    decisions = recorder.scopes.decisions
    if type(items) is not list:  # what is added to a traced one
        return items
    if site in decisions.by_reference and site not in decisions.no_records:
        return followed_record(recorder, items, site)
    if site in decisions.growing and site not in decisions.plain:
        recorder.mark()
        return made_at(recorder, site, items)
    recorder.displays[id(items)] = (items, site)
    return items


def made_at(recorder: Recorder, site: Site, items: list[Any]) -> Any:
    """A list that loops fill: of a length that is data, where that is decided."""
    if site in recorder.scopes.decisions.lengths:
        return RunTimeList(recorder, site, items)
    return TracedList(recorder, site, items)
