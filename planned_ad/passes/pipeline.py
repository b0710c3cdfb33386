"""Make a tape smaller without changing its numbers: the passes, in order, each a function tape -> tape."""

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
