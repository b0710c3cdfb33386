"""What is said when a guard breaks: the user's line, and what to do.

Nothing here runs the program again: the kernel says which guard it left at, and the guards before that one hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import BoundsError, BranchError, IndexRangeError, LengthError, PlannedADError, SingularMatrixError
from ..python.source import UNKNOWN, Line
from ..python.statements import is_in_while
from .interpret import Interpreter
from .tape import Apply, Constant, Guard, Load, Operation, Tape, defined_by

REQUIRED = (
    "index",
    "length",
    "linear algebra",
    "bounds",
    "integers",
)  # what every run needs: no other trace of the function does without
STRETCHES = "unless one of them is 1"  # the detail of a guard for lengths that a more general trace can do without
ELEMENTS = "elements"  # the detail of a guard for how long an array may be, which is as `max_steps` for loops
KEYS = "keys"  # the detail of a guard for how large the integers are that are keys of a dict
ROOM = "room for iterations"  # of what the derivative needs of a loop that stops, in another one: see `rooms`
RAISES = "no error"  # that the function raises none here
MOST_LOOKED_AT = 1_000_000  # elements of an index array, to find the one that is out of range


class TooFewSteps(BranchError):
    """A `while` loop runs longer than there is memory for. A plan tries again with more."""

    def __init__(self, message: str, line: Line = UNKNOWN):
        super().__init__(message)
        self.line = line


def is_limit(op: Operation) -> bool:
    """Whether an operation guards the number of iterations of a `while` loop."""
    return isinstance(op, Guard) and op.what == "max_steps"


def is_stretch(op: Operation) -> bool:
    """Whether an operation guards lengths that are equal, or are repeated where the next trace is told so."""
    return isinstance(op, Guard) and op.detail == STRETCHES


def is_count(op: Operation) -> bool:
    """Whether an operation guards how many elements a mask chooses."""
    return isinstance(op, Guard) and op.what == "count"


def is_room(op: Operation) -> bool:
    """Whether an operation guards that there is room for the iterations of loops that stop."""
    return isinstance(op, Guard) and op.what == ROOM


def decides(op: Operation) -> bool:
    """Whether an operation is a guard that other data break by going another way."""
    return isinstance(op, Guard) and op.what not in (*REQUIRED, ROOM) and not is_limit(op)


def guards_of(tape: Tape) -> list[Guard]:
    """Outside of all loops, in order."""
    return [op for op in tape.operations if isinstance(op, Guard)]


def decides_how_long(tape: Tape) -> bool:
    """Whether data decide something in each iteration of a `while` statement that is no loop: others take longer."""
    tests = Counter(guard.line for guard in guards_of(tape) if guard.what == "branch")
    return any(count > 1 and is_in_while(line.file, line.number) for line, count in tests.items())


def counts_at(tape: Tape, line: Line) -> bool:
    """Whether a trace is for one number of elements that are chosen at this line."""
    return any(is_count(guard) and guard.line == line for guard in guards_of(tape))


def endless(line: Line, max_steps: int) -> BranchError:
    """The error for a loop that goes on and on."""
    return BranchError(
        f"a loop does not end within {max_steps:,} iterations, or an array has more elements, and more are not tried "
        f"by themselves: {line}: `{line.text}`. Raise compile(..., max_steps=), or see whether it ends at all for "
        f"these arguments"
    )


def error_of(guard: Guard, name: str, max_steps: int, index: int | None = None) -> PlannedADError:
    """The error for arguments with which a guard of the function `name` breaks; `index`: the one that is wrong."""
    line = guard.line
    if guard.what == "index":
        what = "an index is out of range" if index is None else f"index {index} is out of bounds"
        axis = f" for {guard.detail}" if guard.detail else ""
        return IndexRangeError(f"{line}: {what}{axis}: `{line.text}`")
    if guard.what == "length":
        return LengthError(f"{line}: arrays of run-time lengths do not go together, or are empty: `{line.text}`")
    if guard.what == "linear algebra":
        return SingularMatrixError(f"{guard.detail} ({line}: `{line.text}`)")
    if guard.what == RAISES:
        return BoundsError(
            f"{guard.detail or 'the trace raises an error here, and the function does not'} ({line}: `{line.text}`)"
        )
    if guard.what in ("bounds", "integers"):
        return BoundsError(f"{guard.detail} ({line}: `{line.text}`)")
    if guard.what == "max_steps" and guard.detail == ELEMENTS:
        return TooFewSteps(
            f"{line}: `{line.text}` makes an array of more than the {max_steps:,} elements that there is memory for; "
            f"raise compile(..., max_steps=)",
            line,
        )
    if guard.what == "max_steps" and guard.detail == KEYS:
        return TooFewSteps(
            f"{line}: `{line.text}` has integers for keys beyond the {max_steps:,} on either side of zero that there "
            f"is memory for; raise compile(..., max_steps=)",
            line,
        )
    if guard.what == "max_steps":
        return TooFewSteps(
            f"{line}: `{line.text}` does not end within the {max_steps:,} iterations that there is memory "
            f"for; raise compile(..., max_steps=), or see whether it ends at all for these arguments",
            line,
        )
    return BranchError(
        f"{name} takes another branch for these arguments than the one recorded, at {line}: `{line.text}` "
        f"({guard.what}: not {guard.outcome})"
    )


def index_out_of_range(tape: Tape, guard: Guard, memories: Mapping[int, np.ndarray]) -> int | None:
    """The first index that breaks a guard of `tape`, where it comes from arguments that nothing writes to before.

    `memories`: flat, of the arguments. None where to find it would be to run more of the program than that.
    """
    made = defined_by(tape.operations)
    before = tape.operations[: tape.operations.index(guard)]
    written = {region.buffer for op in before for region in op.writes}
    needed: dict[int, Operation] = {}
    waiting = [guard.predicate.id]
    while waiting:
        id = waiting.pop()
        if id in needed:
            continue
        op = made[id]
        is_read = isinstance(op, Load) and op.region.buffer in memories and op.region.buffer not in written
        if not (is_read or isinstance(op, Apply | Constant)) or max(v.size for v in op.outputs) > MOST_LOOKED_AT:
            return None
        needed[id] = op
        waiting += [value.id for value in op.inputs]
    interpreter = Interpreter(tape.buffers, memories)
    interpreter.run(op for op in before if any(v.id in needed for v in op.outputs))
    compared = next((op for op in needed.values() if isinstance(op, Apply) and op.primitive == "less"), None)
    if compared is None:
        return None
    numbers, most = map(interpreter.value, compared.operands)
    wrong = numbers[(numbers < -most) | (numbers >= most)]
    return int(wrong.flat[0]) if wrong.size else None


def known_outcomes(tape: Tape, held: Sequence[Guard], broken: Guard) -> list[Guard]:
    """What a run that broke a guard, after others that `held`, has shown of the guards of its trace: their outcomes.

    Where the run asked in another order than the trace, those before the broken one are taken to be as for the example,
    and that is the one which asks so often at its line. Nothing where there is none.
    """
    guards = guards_of(tape)
    place = len(held)
    if [*map(asked_for, guards[: place + 1])] != [*map(asked_for, (*held, broken))]:
        alike = [k for k, guard in enumerate(guards) if (guard.what, guard.line) == (broken.what, broken.line)]
        before = sum((guard.what, guard.line) == (broken.what, broken.line) for guard in held)
        if before >= len(alike) or guards[alike[before]].outcome != broken.outcome:
            return []
        place = alike[before]
    other = [replace(broken, outcome=not broken.outcome)] if isinstance(broken.outcome, bool) else []
    return [*guards[:place], *(other if decides(broken) else [])]


def asked_for(guard: Guard) -> tuple[str, Line, Any]:
    return guard.what, guard.line, guard.outcome


def many_branches(name: str, tape: Tape, limit: int) -> str:
    """What to say where more traces are asked for than are kept."""
    lines = "; ".join(dict.fromkeys(f"{op.line}: {op.line.text}" for op in guards_of(tape) if decides(op)))
    return (
        f"{name} has taken more than {limit} different branches: {lines}. Each other one is traced when a call takes "
        f"it, and takes the place of the one that was used least recently. Use np.where for values that change from "
        f"call to call, or keep more with compile(..., max_variants=)"
    )
