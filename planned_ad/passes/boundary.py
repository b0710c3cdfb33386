"""What a tape shows to its caller: results stored to memory, arguments written to or left untouched.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     x[0] = 2.0
...     return x * x
>>> tape = trace(f, (np.zeros(4),)).tape
>>> print(brief(tape))
v0 = 2.0
x[0] = v0
v1: float64[4] = x[...]
v2: float64[4] = multiply(v1, v1)
return v2
>>> print(brief(primal(privatise(tape, written_arguments(tape), write_back=False))))
v3: float64[4] = x[...]
x#1[...] = v3
v0 = 2.0
x#1[0] = v0
v1: float64[4] = x#1[...]
v2: float64[4] = multiply(v1, v1)
result#2[...] = v2

Each function requires a tape as it was traced; ensures the same results.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..python.source import UNKNOWN, Line
from ..regions.regions import Region, contiguous
from ..tape.builder import TapeBuilder, continued, rebuilt
from ..tape.tape import Guard, Operation, Tape, Value, walk


def store_results(builder: TapeBuilder, results: Iterable[Value]) -> list[int]:
    """Store each result to a buffer that the caller brings. Scalars come back as Python floats: as float64."""
    ids = []
    for value in results:
        if value.shape == ():
            value = builder.cast(value, np.dtype(np.float64))
        buffer = builder.new_buffer("result", "result", value.dtype, contiguous(value.shape))
        builder.store(buffer.whole, value)
        ids.append(buffer.id)
    return ids


def primal(tape: Tape) -> Tape:
    """The program alone, with its results stored to buffers of kind 'result' (the last arguments)."""
    builder = continued(tape)
    returned = store_results(builder, tape.results)
    return replace(
        tape,
        buffers=tuple(builder.buffers),
        operations=tuple(builder.operations),
        arguments=(*tape.arguments, *returned),
        results=(),
        turn=len(builder.operations),
    )


def privatise(tape: Tape, buffers: Iterable[int], write_back: bool) -> Tape:
    """The same program on private copies of some argument buffers.

    With `write_back` the arguments get their final contents at the end, after everything that may leave the program
    early; without, they are left untouched.
    """
    builder = rebuilt(tape)
    copies = {}
    for id in buffers:
        buffer = tape.buffers[id]
        builder.line = first_write(tape, id)
        copy = builder.new_buffer("local", buffer.label, buffer.dtype, buffer.view)
        copies[id] = copy
        builder.store(copy.whole, builder.load(buffer.whole))
    moved = {id: copy.id for id, copy in copies.items()}
    for op in tape.operations:
        builder.emit(move(op, moved))
    if write_back:
        for id, copy in copies.items():
            builder.store(tape.buffers[id].whole, builder.load(copy.whole))
    return replace(
        tape,
        buffers=tuple(builder.buffers),
        operations=tuple(builder.operations),
        turn=len(builder.operations),
    )


def first_write(tape: Tape, buffer: int) -> Line:
    """Where the program first writes to a buffer: why it needs a copy."""
    writers = (op for op in walk(tape.operations) if not op.blocks)
    lines = (op.line for op in writers if any(region.buffer == buffer for region in op.writes))
    return next(lines, UNKNOWN)


def written_before_guards(tape: Tape, least: int = -1) -> list[int]:
    """Argument buffers that the program writes to before a guard that may break; `least`: one that is yet to come."""
    last = max((k for k, op in enumerate(tape.operations) if isinstance(op, Guard)), default=-1)
    last = max(last, least)
    written = {r.buffer for op in tape.operations[: last + 1] for r in op.writes}
    return sorted(written & set(tape.arguments))


def written_arguments(tape: Tape) -> list[int]:
    """Argument buffers that the program writes to."""
    return sorted({r.buffer for op in tape.operations for r in op.writes} & set(tape.arguments))


def move(op: Operation, moved: dict[int, int]) -> Operation:
    """`op` on other buffers."""
    if op.blocks:
        return op.with_blocks(*(tuple(move(inner, moved) for inner in block) for block in op.blocks))
    region = getattr(op, "region", None)
    if region is None or region.buffer not in moved:
        return op
    return replace(op, region=Region(moved[region.buffer], region.view))  # type: ignore[call-arg]
