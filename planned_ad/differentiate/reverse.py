"""Reverse mode: a tape that runs the primal and then propagates cotangents back through it.

>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda x: np.exp(x[0] * x[1]), (np.zeros(2),)).tape
>>> print(brief(tape))
v0 = x[0]
v1 = x[1]
v2 = multiply(v0, v1)
v3 = exp(v2)
return v3
>>> print(brief(reverse(tape)))
v0 = x[0]
v1 = x[1]
v2 = multiply(v0, v1)
v3 = exp(v2)
# reverse sweep
v4 = 0.0
dx#1[...] = v4
v5 = 1.0
v6 = multiply(v5, v3)
v7 = multiply(v6, v1)
v8 = multiply(v6, v0)
dx#1[1] += v8
dx#1[0] += v7

Requires a primal tape; ensures that the shadows of the active arguments, which are arguments too, hold the derivative.

The result is again a tape: the primal operations, followed (from `turn` on) by the reverse sweep,
which names the primal's values directly. Which of those are kept, reloaded or recomputed is the
planner's decision; for values inside loops and branches it is made here (see `kept_values`). Adjoints
of values are sums of contributions; adjoints of buffers live in shadow buffers of the same layout
(Griewank & Walther, Evaluating Derivatives, 2nd ed., chapters 3 and 4).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from ..analysis.activity import activity, is_floating
from ..analysis.dependence import Overwrites
from ..analysis.singularities import singularities
from ..passes.boundary import store_results
from ..passes.counted_exits import with_counts
from ..passes.inline import end_of_indices, write_out_calls
from ..regions.regions import contiguous
from ..tape.builder import continued
from ..tape.callees import has_rule
from ..tape.tape import Tape
from .adjoints import transpose
from .keep.rooms import NONE, with_rooms
from .shadows import new_shadow
from .sweep import Sweep


def reverse(
    tape: Tape,
    *,
    accumulate: bool = False,
    fresh: frozenset[int] = frozenset(),
    keep_results: bool = False,
    loss: bool = True,
    counted: bool = True,
    capacities: Mapping[int, int] = NONE,
) -> Tape:
    """The primal followed by its reverse sweep.

    Requires a primal tape. Arguments of the result: those of `tape`, then a shadow for each active argument, then
    (unless `loss`) a cotangent for each floating result.

    accumulate : shadows are in-out (the pullback), but for those of the buffers `fresh`; otherwise they are overwritten
        (the gradient).
    loss : the first result is a scalar, whose cotangent is one.
    keep_results : the primal's results are stored to buffers of kind 'result', the last arguments of the new tape.
    counted : the adjoint of a loop that stops early begins at the last iteration that ran.
    capacities : for how many iterations of such loops, in others, there is room; see `rooms`.
    """
    tape = write_out_calls(tape, keep=has_rule)
    tape, counts = with_counts(tape) if counted else (tape, {})
    tape, rooms = with_rooms(tape, counts, capacities)
    values, buffers = activity(tape)
    builder = continued(tape)
    overwrites, facts = Overwrites(tape.buffers, tape.operations), singularities(tape.operations, tape.buffers)
    indices = itertools.count(end_of_indices(tape.operations))
    sweep = Sweep(builder, values, overwrites=overwrites, counts=counts, rooms=rooms, facts=facts, indices=indices)
    arguments = list(tape.arguments)
    returned = store_results(builder, tape.results) if keep_results else []
    turn = len(builder.operations)
    for id in tape.arguments:
        if id in tape.active:
            shadow = new_shadow(builder, tape.buffers[id], "shadow")
            sweep.shadows[id] = shadow
            arguments.append(shadow.id)
            if not accumulate or id in fresh:
                builder.store(shadow.whole, sweep.zero(shadow.dtype))
    sweep.make_shadows(buffers)
    for number, result in enumerate(tape.results):
        if loss and number == 0:
            sweep.contribute(result, builder.constant(1, result.dtype))
        elif not loss and is_floating(result.dtype):
            label = "cotangent" if len(tape.results) == 1 else f"cotangent[{number}]"
            dtype = result.dtype if result.shape else np.dtype(np.float64)  # scalars are passed as Python floats
            cotangent = builder.new_buffer("cotangent", label, dtype, contiguous(result.shape))
            arguments.append(cotangent.id)
            sweep.contribute(result, builder.cast(builder.load(cotangent.whole), result.dtype))
    primal = transpose(sweep, tape.operations)
    builder.operations[: len(tape.operations)] = primal
    return Tape(
        buffers=tuple(builder.buffers),
        arguments=(*arguments, *returned),
        operations=tuple(builder.operations),
        turn=turn + len(primal) - len(tape.operations),
        active=tape.active,
    )
