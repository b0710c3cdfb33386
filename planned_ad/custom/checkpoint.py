"""`checkpoint`: functions whose insides are computed again in the reverse sweep, instead of being kept."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..python.type_variables import Arguments, Given
from ..tape.builder import rebuilt
from ..tape.callees import Callee
from ..tape.tape import Apply, Load, Operation, Tape
from .custom import CustomFunction, traced_callee
from .operands import Form
from .subtrace import Options


class Checkpointed(CustomFunction[Arguments, Given]):
    """A function whose pullback begins with running it again. Made by `checkpoint`."""

    def __get__(self, obj: Any, owner: type | None = None) -> Checkpointed[..., Given]:
        """Of a method: that of an object."""
        return self if obj is None else Checkpointed(types.MethodType(self.function, obj))

    def _add_derivatives(self, callee: Callee, form: Form, result: Form, options: Options) -> None:
        assert callee.tape is not None
        again = traced_callee(callee.name, callee.operands, callee.results, run_again(callee.tape), callee.line)
        callee.has_rule = True
        callee.make_pullback = again.make_pullback


def run_again(tape: Tape) -> Tape:
    """A closed tape that is not found to compute what the same tape has computed elsewhere."""
    builder = rebuilt(tape)
    arguments = set(tape.arguments)

    def written(op: Operation) -> list[Operation]:
        if isinstance(op, Load) and op.region.buffer in arguments:
            loaded = builder.new_value(op.out.shape, op.out.dtype)
            return [replace(op, out=loaded), Apply(out=op.out, primitive="again", operands=(loaded,), line=op.line)]
        return [op.with_blocks(*(tuple(o for inner in block for o in written(inner)) for block in op.blocks))]

    operations = tuple(o for op in tape.operations for o in written(op))
    return replace(tape, operations=operations, turn=len(operations))


def checkpoint(function: Callable[Arguments, Given]) -> CustomFunction[Arguments, Given]:
    """A function with the same derivatives, whose insides the reverse sweep computes again.

    For memory: of a call only the arguments are kept, at the cost of running the function twice. (For long loops see
    `compile(..., memory_limit=)`, which chooses what to run again by itself.)

    Parameters
    ----------
    function : callable
        Pure: it does not write to its arguments, and what it uses of a traced function it gets as arguments.

    Returns
    -------
    callable
        Outside of traced code it is `function`.

    Raises
    ------
    planned_ad.errors.TraceError
        Where it is called: the function writes to an argument, or has traced values in its closure.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> @planned_ad.checkpoint
    ... def layer(w, x):
    ...     return np.tanh(w @ x)
    >>> w, x = np.ones((3, 3)), np.ones(3)
    >>> plan = planned_ad.compile(lambda w, x: np.sum(layer(w, layer(w, x))), (w, x))
    >>> plan.gradient(w, x)[1].shape
    (3,)
    """
    return Checkpointed(function)
