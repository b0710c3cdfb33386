"""The functions of `bisect` on lists that traced code makes: loops, where C would ask for each outcome of a test."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import control
from ..loops.list_in_trace import is_traced_list

if TYPE_CHECKING:
    from ..record.recorder import Recorder

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
            if inserts and recorder.scopes.depth and type(a) is list:
                recorder.follow_lists([a])
            if not is_traced_list(a) or a.is_plain or options:
                return real(a, x, lo, hi, **options)
            place = recorder.namespace.function(place_of)(a, x, lo, a.length() if hi is None else hi)
            return a.insert(place, x) if inserts else place

        return function

    return {id(real): following(real, place_of) for real, place_of in PLACES.items()}
