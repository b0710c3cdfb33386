"""What is said when a guard breaks: the user's line, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import BranchError, IndexRangeError, LengthError
from .interpret import GuardBroken, interpret, memory_of
from .tape import Guard, Operation
from .trace import Trace


def is_limit(op: Operation) -> bool:
    """Whether an operation guards the number of iterations of a `while` loop."""
    return isinstance(op, Guard) and op.what == "max_steps"


def endless(traced: Trace) -> BranchError:
    """The error for a `while` loop that goes on and on."""
    lines = [op.line for op in traced.tape.operations if is_limit(op)]
    where = "; ".join(f"{line}: `{line.text}`" for line in dict.fromkeys(lines))
    return BranchError(
        f"a `while` loop does not end within {traced.max_steps:,} iterations, and more are not tried by themselves: "
        f"{where}. Raise compile(..., max_steps=), or see whether it ends at all for these arguments"
    )


def broken_guard(traced: Trace, leaves: Sequence[Any]) -> Exception:
    """The error for arguments with which a guard of `traced` breaks: it names the guard's line."""
    memories = {
        leaf.buffer: memory_of(traced.tape.buffers[leaf.buffer], np.asarray(value, leaf.dtype))
        for leaf, value in zip(traced.leaves, leaves)
        if leaf.buffer is not None
    }
    try:
        interpret(traced.tape, memories)
    except GuardBroken as broken:
        line = broken.guard.line
        if broken.guard.what == "index":
            return IndexRangeError(f"{line}: an index is out of range: `{line.text}`")
        if broken.guard.what == "length":
            return LengthError(f"{line}: arrays of run-time lengths do not go together, or are empty: `{line.text}`")
        if broken.guard.what == "max_steps":
            return BranchError(
                f"{line}: `{line.text}` does not end within the {traced.max_steps:,} iterations that there is memory "
                f"for; raise compile(..., max_steps=), or see whether it ends at all for these arguments"
            )
        return BranchError(
            f"{traced.name} takes another branch for these arguments than the one recorded, at {line}: `{line.text}` "
            f"({broken.guard.what}: {broken.actual} instead of {broken.guard.outcome})"
        )
    return BranchError(f"{traced.name} takes another branch for these arguments: {lines_of_guards(traced)}")


def lines_of_guards(traced: Trace) -> str:
    lines = dict.fromkeys(f"{op.line}: {op.line.text}" for op in traced.tape.operations if isinstance(op, Guard))
    return "; ".join(lines)
