"""Make a tape smaller without changing its numbers: the passes, in order, each a function tape -> tape.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = reverse(trace(lambda x: np.exp(x) * x, (2.0,)).tape)
>>> print(brief(tape))
v0 = x[...]
v1 = exp(v0)
v2 = multiply(v1, v0)
# reverse sweep
v3 = 0.0
dx#1[...] = v3
v4 = 1.0
v5 = multiply(v4, v0)
v6 = multiply(v4, v1)
v7 = multiply(v5, v1)
v8 = add(v6, v7)
dx#1[...] += v8
>>> print(brief(simplify(tape)))
v0 = x[...]
v1 = exp(v0)
# reverse sweep
v7 = multiply(v0, v1)
v8 = add(v1, v7)
dx#1[...] = v8

The value is not wanted here, so that its product goes. Requires a verified tape; ensures the same results, guards and
visible effects.
"""

from __future__ import annotations

from ..tape.tape import Tape
from .dead_code import drop_dead
from .invariants import hoist_invariants
from .known_zeros import forward_zeros
from .rewrite import rewrite

PASSES = (rewrite, forward_zeros, drop_dead, hoist_invariants, rewrite, drop_dead)


def simplify(tape: Tape) -> Tape:
    """All passes, in order. Requires a verified tape; ensures the same results and visible effects."""
    for passed in PASSES:
        tape = passed(tape)
    return tape
