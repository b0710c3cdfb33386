"""What depends on an active argument: has a derivative."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..tape.tape import Apply, Load, Operation, Scatter, Store, Tape, walk


def is_floating(dtype: np.dtype) -> bool:
    return dtype.kind == "f"


def activity(tape: Tape) -> tuple[frozenset[int], frozenset[int]]:
    """Ids of the values, and of the buffers, that depend on an active argument (regardless of order for buffers)."""
    return dependent(tape.operations, (), tape.active)


def dependent(
    operations: tuple[Operation, ...], values: Iterable[int], buffers: Iterable[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """Ids of the values and buffers that depend on these values and buffers."""
    roots, buffers = frozenset(values), set(buffers)
    while True:
        values = set(roots)
        found = set(buffers)
        for op in walk(operations):
            if isinstance(op, Load):
                if op.region.buffer in found:
                    values.add(op.out.id)
            elif isinstance(op, Apply):
                if is_floating(op.out.dtype) and any(v.id in values for v in op.operands):
                    values.add(op.out.id)
            elif isinstance(op, Store | Scatter) and op.value.id in values:
                found.add(op.region.buffer)
        if found == buffers:
            return frozenset(values), frozenset(buffers)
        buffers = found
