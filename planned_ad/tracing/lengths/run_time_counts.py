"""How often a loop can run whose number of iterations is data: no longer than its indices can be in range.

`for j in range(start[i], start[i + 1]): a += value[j]` with a wrong `start` may be told to run for years. Each
iteration reads `value[j]`, which has n elements at positions from -n to n - 1: of 2 n + 1 iterations one is out of
range. The guard for that breaks then, and need not see the iterations that follow.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...tape.tape import Apply, IndexValue, Operation, Value
from ..record.promotion import INT
from ..record.recorder import Recorder


def limited(
    recorder: Recorder,
    count: Value,
    index: int,
    body: Sequence[Operation],
    required: Sequence[tuple[Value, int]],
    needs_limit: bool,
) -> tuple[Value, int | None]:
    """`count`, limited by what its iterations require of indices; and the limit.

    Where there is none and a derivative in the program needs one, or there is to be room in lists for what they append,
    it is `max_steps`, as for `while`.
    """
    most = within_range(recorder, index, body, required)
    if needs_limit or (most is None and recorder.scopes.decisions.bounded):
        most = recorder.max_steps
        enough = recorder.apply("less_equal", count, recorder.constant(most, INT))
        recorder.scopes.require_after(enough, "max_steps")
    return count if most is None else recorder.apply("minimum", count, recorder.constant(most, INT)), most


def within_range(
    recorder: Recorder, index: int, body: Sequence[Operation], required: Sequence[tuple[Value, int]]
) -> int | None:
    """How many iterations break what each of them requires, of (value, n), `-n <= value < n`; None if not known."""
    motion = Motion(recorder, index, body)
    steps = [(abs(motion.of(value) or 0), n) for value, n in required]
    return min((2 * n // step + 1 for step, n in steps if step), default=None)


class Motion:
    """By how much integers in a loop's body change from one iteration to the next."""

    def __init__(self, recorder: Recorder, index: int, body: Sequence[Operation]):
        self.index = index
        self.made = {out.id: op for op in body for out in op.outputs}
        self.constants = {id(value): key[2] for key, value in recorder._numbers.items()}

    def of(self, value: Value) -> int | None:
        """The difference, the same each time; None where that is not known."""
        op = self.made.get(value.id)
        if op is None:
            return 0
        if isinstance(op, IndexValue):
            return dict(op.expression.terms).get(self.index, 0)
        if not isinstance(op, Apply) or op.primitive not in ("add", "subtract", "multiply"):
            return None
        left, right = map(self.of, op.operands)
        if left is None or right is None:
            return None
        if op.primitive != "multiply":
            return left + right if op.primitive == "add" else left - right
        factors = zip((left, right), reversed(op.operands))
        moving = [(step, self.constants.get(id(other))) for step, other in factors if step]
        if not moving:
            return 0
        step, factor = moving[0]
        return step * factor if len(moving) == 1 and type(factor) is int else None
