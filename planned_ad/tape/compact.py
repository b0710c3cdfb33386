"""Number the values and buffers of a tape in the order in which they occur; drop buffers that nothing uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..regions.regions import Region
from .tape import Operation, Tape, Value, renamed, walk


def compact(tape: Tape) -> Tape:
    """The same program; every value id is the number of values before it, and each buffer is used."""
    values: dict[int, Value] = {}
    used = set(tape.arguments)
    for op in walk(tape.operations):
        for value in op.outputs:
            values[value.id] = replace(value, id=len(values))
        region = getattr(op, "region", None)
        if region is not None:
            used.add(region.buffer)
    kept = [b for b in tape.buffers if b.id in used]
    buffers = {b.id: k for k, b in enumerate(kept)}
    return replace(
        tape,
        buffers=tuple(replace(b, id=buffers[b.id]) for b in kept),
        arguments=tuple(buffers[id] for id in tape.arguments),
        operations=numbered(tape.operations, values, buffers),
        results=tuple(values[v.id] for v in tape.results),
        active=frozenset(buffers[id] for id in tape.active),
    )


def numbered(
    operations: Iterable[Operation], values: dict[int, Value], buffers: dict[int, int]
) -> tuple[Operation, ...]:
    """Operations under the new numbers."""
    found = []
    for op in operations:
        op = renamed(op, values) if not op.blocks else op
        changes: dict[str, object] = {}
        if op.blocks:
            op = op.with_blocks(*(numbered(block, values, buffers) for block in op.blocks))
            for name in ("count", "predicate"):
                if getattr(op, name, None) is not None:
                    changes[name] = values[getattr(op, name).id]
        if op.outputs:
            changes["out"] = values[op.outputs[0].id]
        region = getattr(op, "region", None)
        if region is not None:
            changes["region"] = Region(buffers[region.buffer], region.view)
        found.append(replace(op, **changes) if changes else op)  # type: ignore[arg-type]
    return tuple(found)
