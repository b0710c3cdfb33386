"""Which interval of a table a traced number lies in, and whether it lies in any."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numpy_functions.order import positions_below
from ..numpy_functions.support import asarray
from ..record.recorder import Recorder


def interval_of(recorder: Recorder, breaks: Any, x: Any, first: int = 0, last: int | None = None) -> Any:
    """The `i` with `breaks[i] <= x < breaks[i + 1]`, from `first` on, below `last`; beyond the ends the outermost."""
    last = breaks.shape[0] - 1 if last is None else last
    found = np.searchsorted(breaks[first : last + 1], x, side="right") - 1 + first
    return positions_below(recorder, np.clip(found, first, last - 1), breaks.shape[0])


def beyond_ends(x: Any, low: Any, high: Any) -> Any:
    """Where `x` is in no interval; nan is not."""
    return ~((x >= low) & (x <= high))


def traced_arrays(recorder: Recorder, *objects: Any) -> list[Any]:
    return [asarray(recorder, obj) for obj in objects]
