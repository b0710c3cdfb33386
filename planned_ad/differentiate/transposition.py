"""Derivatives of closed tapes, as closed tapes: from arguments to results.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda t: np.sin(t), (2.0,)).tape
>>> print(brief(tape))
v0 = t[...]
v1 = sin(v0)
return v1
>>> print(brief(pullback_tape(tape, [0])))
v6 = cotangent[...]
v0 = t[...]
v4 = cos(v0)
v5 = multiply(v6, v4)
return v5
>>> print(brief(pushforward_tape(tape, [0])))
v0 = t[...]
v2 = dt[...]
v3 = cos(v0)
v4 = multiply(v2, v3)
return v4

Both require a closed tape: all that it reads are its arguments, and it writes to none. Both ensure that what they give
is one too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..passes.pipeline import simplify
from ..regions.regions import contiguous
from ..tape.builder import rebuilt
from ..tape.tape import Tape
from .forward import forward
from .reverse import reverse


def pullback_tape(tape: Tape, wanted: Sequence[int], *, linear: bool = False) -> Tape:
    """The pullback of `tape` in the arguments numbered `wanted`.

    Requires a closed primal tape. Arguments of the result: those of `tape`, then a cotangent for each floating result;
    its results: the cotangents of the arguments wanted.

    linear : the tape is linear in these (unchecked), so that they are no arguments of the result. This transposes it:
        of `w -> J^T w`, the pullback of a function, comes `v -> J v`, its pushforward, and the other way round (Radul,
        Paszke, Frostig, Johnson & Maclaurin, You only linearize once, POPL 2023).
    """
    own = [tape.arguments[k] for k in wanted]
    swept = reverse(replace(tape, active=frozenset(own)), loss=False)
    builder = rebuilt(swept)
    arguments = [id for id in tape.arguments if not (linear and id in own)]
    shadows: dict[int | None, int] = {}
    for buffer in swept.buffers:
        if buffer.kind == "shadow":
            shadows[buffer.shadow_of] = buffer.id
            builder.buffers[buffer.id] = replace(buffer, kind="local", shadow_of=None)
        elif linear and buffer.id in own:  # the numbers do not matter
            builder.buffers[buffer.id] = replace(buffer, kind="local")
            builder.store(buffer.whole, builder.constant(0, buffer.dtype))
    cotangents = [b for b in swept.buffers if b.kind == "cotangent"]
    for buffer, result in zip(cotangents, (r for r in tape.results if r.dtype.kind == "f"), strict=True):
        # Scalars are passed to plans as float64, and here as what they are.
        new = builder.new_buffer("argument", buffer.label, result.dtype, contiguous(result.shape))
        builder.buffers[buffer.id] = replace(buffer, kind="local")
        builder.store(buffer.whole, builder.cast(builder.load(new.whole), buffer.dtype))
        arguments.append(new.id)
    builder.operations.extend(swept.operations)
    results = tuple(builder.load(builder.buffers[shadows[id]].whole) for id in own)
    return simplify(builder.tape(tuple(arguments), results, frozenset()))


def pushforward_tape(tape: Tape, wanted: Sequence[int]) -> Tape:
    """The pushforward of `tape` in the arguments numbered `wanted`, which are in increasing order.

    Requires a closed primal tape. Arguments of the result: those of `tape`, then a tangent for each argument wanted;
    its results: the tangents of the floating results.
    """
    own = [tape.arguments[k] for k in wanted]
    pushed = forward(replace(tape, active=frozenset(own)), keep_results=False)
    builder = rebuilt(pushed)
    tangents: dict[int | None, int] = {}
    returned = []
    for buffer in pushed.buffers:
        if buffer.kind == "tangent":
            tangents[buffer.shadow_of] = buffer.id
            builder.buffers[buffer.id] = replace(buffer, kind="argument", shadow_of=None)
        elif buffer.kind == "result":
            returned.append(buffer)
            builder.buffers[buffer.id] = replace(buffer, kind="local")
    builder.operations.extend(pushed.operations)
    dtypes = [r.dtype for r in tape.results if r.dtype.kind == "f"]
    results = tuple(builder.cast(builder.load(b.whole), d) for b, d in zip(returned, dtypes, strict=True))
    arguments = (*tape.arguments, *(tangents[id] for id in own))
    return simplify(builder.tape(arguments, results, frozenset()))
