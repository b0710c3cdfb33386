"""Slices of lists from their end: `points[-3:]`."""

from __future__ import annotations

from typing import Any

MOST = 16  # items that are taken one by one


def bounds_in(key: slice) -> tuple[Any, Any, Any]:
    return key.start, key.stop, key.step


def last_places(key: slice, least: int) -> range:
    """The places, counted from the end, that a slice takes of any list with at least so many items; else none.

    >>> [list(last_places(key, 5)) for key in (slice(-3, None), slice(-9, None), slice(1, None))]
    [[-3, -2, -1], [], []]
    """
    start, stop, step = bounds_in(key)
    is_from_end = type(start) is int and -least <= start < 0 and (stop is None or (type(stop) is int and stop < 0))
    places = range(start, stop or 0) if is_from_end and step in (None, 1) else range(0)
    return places if len(places) <= MOST else range(0)
