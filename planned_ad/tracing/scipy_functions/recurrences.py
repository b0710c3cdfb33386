"""Linear recurrences along the last axis."""

from __future__ import annotations

from typing import Any

from ..numpy_functions.support import asarray, broadcast
from ..record.recorder import Recorder


def recurrence(recorder: Recorder, factors: Any, terms: Any, reverse: bool = False) -> Any:
    """The sequences `s[i] = factors[i] s[i - 1] + terms[i]` from `s[0] = terms[0]` on; `reverse`: from the far end."""
    b = recorder.value_of(asarray(recorder, terms))
    a = broadcast(recorder, recorder.value_of(asarray(recorder, factors), b.dtype), b.shape)
    return recorder.array(
        recorder.apply("recurrence", a, b, axis=len(b.shape) - 1, reverse=reverse, form="inclusive")
    )
