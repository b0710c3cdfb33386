"""Linear recurrences along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numpy_functions.support import asarray, broadcast
from ..record.recorder import Recorder


def linear_recurrence(recorder: Recorder, factors: Any, terms: Any, reverse: bool = False) -> Any:
    """The sequences `s[i] = factors[i] s[i - 1] + terms[i]` from `s[0] = terms[0]` on; `reverse`: from the far end."""
    b = recorder.value_of(asarray(recorder, terms))
    a = broadcast(recorder, recorder.value_of(asarray(recorder, factors), b.dtype), b.shape)
    return recorder.array(recorder.apply("recurrence", a, b, axis=len(b.shape) - 1, reverse=reverse, form="inclusive"))


def all_poles(recorder: Recorder, a: Any, terms: Any) -> Any:
    """The sequences `s[i] = terms[i] - a[1] s[i - 1] - a[2] s[i - 2] - ..`, of nothing before the first element."""
    order = a.shape[0] - 1
    if order == 0:
        return terms
    if order == 1:
        return linear_recurrence(recorder, -a[1:], terms)
    rows = terms.reshape(-1, terms.shape[-1])
    found = recorder.empty((rows.shape[0], rows.shape[1] + order), terms.dtype)
    recorder.call_python(step_by_step, (rows, a, found, order), {})
    return found[:, order:].reshape(terms.shape)


def step_by_step(terms: Any, a: Any, found: Any, order: int) -> None:
    """This is traced, so that it becomes a loop."""
    for row in range(terms.shape[0]):
        for i in range(terms.shape[1]):
            state = terms[row, i]
            for k in range(1, order + 1):
                state = state - a[k] * found[row, i + order - k]
            found[row, i + order] = state


def filtered(recorder: Recorder, b: Any, a: Any, x: Any, zi: Any) -> tuple[Any, Any]:
    """A rational filter along the last axis, in the direct form II transposed, and its state afterwards.

    The state holds what its elements will add to the next results, so that `zi[k]` adds to the k-th one.
    """
    b, a = b / a[0], a / a[0]
    order, n = max(b.shape[0], a.shape[0]) - 1, x.shape[-1]
    padded = np.concatenate([np.zeros((*x.shape[:-1], b.shape[0] - 1), x.dtype), x], axis=-1)
    parts = [b[k] * padded[..., b.shape[0] - 1 - k : b.shape[0] - 1 - k + n] for k in range(b.shape[0])]
    terms = sum(parts[1:], parts[0])
    if zi is not None and order:
        early = min(order, n)
        terms = np.concatenate([terms[..., :early] + zi[..., :early], terms[..., early:]], axis=-1)
    y = all_poles(recorder, a, terms)
    if zi is None:
        return y, None
    after = []
    for i in range(order):
        part: Any = zi[..., i + n] if i + n < order else np.zeros(x.shape[:-1], x.dtype)
        for j in range(min(order - i, n)):
            k = i + 1 + j
            part = part + b[k] * x[..., n - 1 - j] if k < b.shape[0] else part
            part = part - a[k] * y[..., n - 1 - j] if k < a.shape[0] else part
        after.append(part)
    return y, np.stack(after, axis=-1) if after else zi
