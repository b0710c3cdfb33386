"""Which arrays from outside a traced value comes from, where it comes from nothing else.

Its number is known then, while these hold what they do now. Where the trace needs it (`int(table[0])`, a function that
has no rule), it starts again with these arrays as constants, which each call looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...python.structure import flatten
from ...tape.tape import Operation, Value, defined_by, walk
from .recording import Recording
from .traced import Traced


def require_numbers(recorder: Recording, items: Iterable[Any]) -> None:
    """Start the trace again with what `items` come from as constants; nothing where that would not help."""
    found = captured_behind(recorder, items)
    if found:
        recorder.scopes.decisions.constants |= found
        raise recorder.scopes.restart()


def captured_behind(recorder: Recording, items: Iterable[Any]) -> dict[int, Any]:
    """The arrays from outside that `items` are computed from, by identity; none where there is an argument too."""
    builder = recorder.builder
    if all(b.array is None for b in builder.buffers):
        return {}
    lists = [builder.operations, *(part for s in recorder.scopes.open for part in (s.outer, s.before))]
    operations = tuple(op for part in lists for op in walk(tuple(part)))
    made = defined_by(operations)
    found: dict[int, Any] = {}
    seen: set[object] = set()
    waiting = [start for item in items for start in starts(item)]
    while waiting:
        node = waiting.pop()
        key = node.id if isinstance(node, Value) else ("buffer", node)
        if key in seen:
            continue
        seen.add(key)
        if isinstance(node, Value):
            op = made.get(node.id)
            if op is None:
                return {}
            waiting += op.inputs
            waiting += (r.buffer for r in op.reads)
        elif builder.buffers[node].array is not None:
            found[id(builder.buffers[node].array)] = builder.buffers[node].array
        elif builder.buffers[node].visible:
            return {}
        else:
            waiting += sources_of_memory(operations, node)
    return found


def sources_of_memory(operations: Iterable[Operation], buffer: int) -> Iterator[Any]:
    """What is written to a buffer, and what decides about it."""
    for op in operations:
        if any(r.buffer == buffer for r in op.writes):
            yield from op.inputs
            yield from (r.buffer for r in op.reads)


def starts(item: Any) -> Iterator[Any]:
    """The values and buffers that hold what a traced object is."""
    for leaf in flatten(item)[0]:
        if issubclass(type(leaf), Traced):
            yield from leaf.sources()
