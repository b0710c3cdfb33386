"""The functions of `bisect`: loops on lists that traced code makes, where C would ask for each outcome of a test.

In lists of known numbers that are in order the place of a traced one is that of `numpy.searchsorted`.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import control
from ..loops.list_in_trace import is_traced_list

if TYPE_CHECKING:
    from ..record.recorder import Recorder

EXACT = float(1 << 53)  # whole numbers below are exact
PLACES: dict[Any, Callable[..., Any]] = {
    bisect.bisect_left: control._bisect_left,
    bisect.bisect_right: control._bisect_right,
    bisect.insort_left: control._bisect_left,
    bisect.insort_right: control._bisect_right,
}


def bisect_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, the functions of `bisect`."""

    def following(real: Any, place_of: Callable[..., Any]) -> Callable[..., Any]:
        inserts = real in (bisect.insort_left, bisect.insort_right)

        @functools.wraps(real, ("__name__", "__doc__"), ())
        def function(a: Any, x: Any, lo: Any = 0, hi: Any = None, **options: Any) -> Any:
            if recorder.scopes.depth and type(a) is list:
                recorder.follow_lists([a])
            if not inserts and (lo, hi, options) == (0, None, {}) and is_known_order(recorder, a, x):
                recorder.mark()
                return place_among(recorder, a, x, "left" if real is bisect.bisect_left else "right")
            if not is_traced_list(a) or a.is_plain or options:
                return real(a, x, lo, hi, **options)
            place = recorder.namespace.function(place_of)(a, x, lo, a.length() if hi is None else hi)
            return a.insert(place, x) if inserts else place

        return function

    return {id(real): following(real, place_of) for real, place_of in PLACES.items()}


def is_known_order(recorder: Recorder, items: Any, number: Any) -> bool:
    """Whether a traced number is looked for among known ones that are in order, all of which float64 has."""
    if type(items) not in (list, tuple) or not recorder.is_scalar(number) or number.is_known:
        return False
    if not all(type(item) in (int, float) and abs(item) < EXACT for item in items):
        return False
    return all(a <= b for a, b in itertools.pairwise(items))


def place_among(recorder: Recorder, items: Any, number: Any, side: str) -> Any:
    """Where `bisect` finds a place: what is not a number is smaller than none of them."""
    found = recorder.call(np.searchsorted, (np.array(items, np.float64), number, side), {})
    return np.where(number == number, found, 0 if side == "left" else len(items))[()].item()
