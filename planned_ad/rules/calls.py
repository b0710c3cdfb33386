"""The primitive `call`: a function with a derivative of its own, as one operation (see `planned_ad.tape.callees`).

Its derivative is the callee's, which `reverse` and `forward` ask for. A callee with a tape is written out before
planning; one without is called by the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .table import Rule, register


def infer_call(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
    """What the callee says of the group of its results that is asked for."""
    callee = parameters["callee"]
    found = tuple((v.shape, v.dtype) for v in operands)
    if found != callee.operands:
        raise TypeError(f"{callee}: operands {found}, not {callee.operands}")
    return callee.group_type(parameters["group"])


def call(*operands: np.ndarray, callee: Any, group: int) -> np.ndarray:
    return callee.evaluate(group, *operands)


register(Rule(name="call", kind="other", infer=infer_call, evaluate=call, adjoints=(), needs=(), cost=100.0))
