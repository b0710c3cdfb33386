"""What SciPy computes by a limit where a parameter has a certain value: `c == 0` of `genpareto`, of `skewnorm`.

A function that is chosen by a test for equality has the derivative of that side, where the function that it stands for
has another. The value is that of the limit here, and the derivative that of the other side at a distance of `STEP`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tape.tape import Apply, Constant, Load, Operation, Value
from ..numpy_functions.support import without_derivative

if TYPE_CHECKING:
    from ..record.recorder import Recorder

STEP = 1e-6  # of a parameter, for a derivative that is right to about as much
TURNED = ("logical_not", "bitwise_invert")
LOGIC = ("logical_and", "logical_or", "bitwise_and", "bitwise_or", "view", "cast", "copy", *TURNED)


@dataclass(frozen=True)
class Tested:
    """Which argument is compared with a number, and whether the first function is for equal ones."""

    argument: int
    number: float
    is_equal: bool


def tested_for_equality(recorder: Recorder, cond: Any, args: Sequence[Any]) -> Tested | None:
    """The test for equality in a condition, of one of the arguments with a finite number."""
    if recorder.is_concrete(cond):
        return None
    made = {v.id: op for op in recorder.builder.operations for v in op.outputs}
    known = {origin(made, recorder.value_of(arg)): k for k, arg in enumerate(args) if not recorder.is_concrete(arg)}
    waiting = [(recorder.value_of(cond), True)]
    while waiting:
        value, holds = waiting.pop()
        op = made.get(value.id)
        if not isinstance(op, Apply):
            continue
        if op.primitive in LOGIC:
            waiting += [(operand, holds != (op.primitive in TURNED)) for operand in op.operands]
        elif op.primitive in ("equal", "not_equal"):
            for operand, other in zip(op.operands, op.operands[::-1]):
                number, argument = known_number(made, other), known.get(origin(made, operand))
                if number is not None and argument is not None and operand.dtype.kind == "f":
                    return Tested(argument, number, holds == (op.primitive == "equal"))
    return None


def origin(made: dict[int, Operation], value: Value) -> object:
    """Where a value comes from, whatever its shape has become."""
    op = made.get(value.id)
    while isinstance(op, Apply) and op.primitive in ("view", "copy", "cast"):
        value = op.operands[0]
        op = made.get(value.id)
    return (op.region.buffer, op.region.view.offset, op.region.view.size) if isinstance(op, Load) else value.id


def known_number(made: dict[int, Operation], value: Value) -> float | None:
    op = made.get(value.id)
    while isinstance(op, Apply) and op.primitive in ("view", "copy", "cast"):
        op = made.get(op.operands[0].id)
    if not isinstance(op, Constant) or op.data.size != 1 or not np.isfinite(op.data.item()):
        return None
    return float(op.data.item())


def both_sides(
    recorder: Recorder, tested: Tested, args: Sequence[Any], f1: Callable[..., Any], f2: Callable[..., Any]
) -> tuple[Any, Any]:
    """`f1(*args)` and `f2(*args)`, of which the one for equal numbers has the derivative of the other."""
    argument = args[tested.argument]
    step = STEP * max(1.0, abs(tested.number))
    is_equal = argument == tested.number
    beside = np.where(is_equal, argument + step, argument)
    moved = (*args[: tested.argument], beside, *args[tested.argument + 1 :])
    limit, other = (f1(*args), f2(*moved)) if tested.is_equal else (f2(*args), f1(*moved))
    change = np.where(np.isfinite(other), other - without_derivative(recorder, other), 0.0)
    along = np.where(is_equal, without_derivative(recorder, limit) + change, limit)
    return (along, other) if tested.is_equal else (other, along)
