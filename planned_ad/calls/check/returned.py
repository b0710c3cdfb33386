"""What a run of a traced function has given, as Python has it: its result, and what its arguments hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...trace import ArgumentLeaf, Trace


def rebuild(trace: Trace, results: Sequence[np.ndarray]) -> Any:
    """What `f` returns, from the numbers of its traced results."""
    leaves = []
    for (kind, what), result_kind in zip(trace.result_leaves, trace.result_kinds):
        if kind == "static":
            leaves.append(what)
            continue
        assert isinstance(what, int)
        value, array = trace.tape.results[what], results[what]
        leaves.append(RESULT_KINDS[result_kind](value.dtype, array))
    return trace.result_structure.unflatten(leaves)


RESULT_KINDS = {
    "array": lambda dtype, array: array.astype(dtype, copy=False),
    "scalar": lambda dtype, array: dtype.type(array[()]),
    "float": lambda dtype, array: dtype.type(array[()]).item(),
}


def rebound_value(trace: Trace, leaf: ArgumentLeaf, value: Any, memory: dict[int, Any]) -> Any:
    """What an attribute holds after the call."""
    if leaf.rebound is None:
        return value
    shown = leaf if leaf.holds is None else trace.leaves[leaf.holds]
    assert shown.buffer is not None
    place = memory[shown.buffer]
    return place if leaf.rebound is np.ndarray else leaf.rebound(place[()])
