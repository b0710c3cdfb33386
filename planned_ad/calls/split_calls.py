"""The two halves of a split plan as calls: the primal, which fills a tape, and the reverse sweep, which reads it."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

from ..differentiate.keep.split import split
from ..errors import ArgumentError
from ..trace import Trace
from .entries import Entry, compiled_parts, limited_tape, loaded_entry
from .kinds import KINDS, SPLIT, CallKind
from .outside.watch import Watch
from .parameters import shadowed
from .replay import Call
from .split_tape import KeptLayout, TapeMemory
from .stored_plans import StoredTrace, find_halves, put_halves

FORWARD, REVERSE = KINDS["forward"], KINDS["reverse"]


class SignatureOf:
    """`inspect.signature` of an object whose call is the one that `attribute` names."""

    def __init__(self, attribute: str):
        self.found = operator.attrgetter(attribute)

    def __get__(self, instance: Any, owner: type | None = None) -> inspect.Signature | None:
        return None if instance is None else inspect.signature(self.found(instance))


class Forward:
    """The first half of a split plan: runs the function, and keeps on a tape what the reverse sweep needs.

    `value = forward(x, n, tape)`, or `forward(x, n, tape=tape)`; where arrays of the result are to be written may
    follow the tape. The function's own writes to its arguments are visible, as in a call of the plan. The arguments may
    be overwritten before the second half runs.

    Raises
    ------
    planned_ad.errors.ArgumentError
        Arguments other than those the plan was compiled for, or no tape. Nothing has been written, the tape included.
    """

    def __init__(self, plan: Any):
        self._plan = plan

    @property
    def tape_nbytes(self) -> int:
        """Bytes of a tape, for the branches that the example took."""
        return self._plan._variants[0].entry("forward").kept.nbytes

    def tape(self) -> TapeMemory:
        """A new tape."""
        return TapeMemory(self.tape_nbytes)

    call = property(operator.attrgetter("_plan._forward"), doc="The compiled call itself, for the tightest loops.")
    __call__: Any = call  # found without running any Python
    __signature__ = SignatureOf("call")

    def __repr__(self) -> str:
        return f"<first half of {self._plan!r}>"

    def __reduce__(self) -> tuple:
        return Forward, (self._plan,)


class Reverse:
    """The second half of a split plan: pulls cotangents back through the run that filled a tape.

    `reverse(tape, dx, cotangent)`: shadows and cotangents as for `plan.pullback`: shadows are in-out; without them new
    ones are returned, `reverse(tape, cotangent=ct)`. The cotangent of a function that returns one floating scalar is
    1.0 by default. The tape is left as it is. What is inactive in a new shadow is zero.

    Raises
    ------
    planned_ad.errors.ArgumentError
        A tape that has not been filled, or by another plan; shadows or cotangents that do not fit.
    """

    def __init__(self, plan: Any):
        self._plan = plan

    call = property(operator.attrgetter("_plan._reverse"), doc="The compiled call itself, for the tightest loops.")
    __call__: Any = call
    __signature__ = SignatureOf("call")

    def __repr__(self) -> str:
        return f"<second half of {self._plan!r}>"

    def __reduce__(self) -> tuple:
        return Reverse, (self._plan,)


def build_halves(
    trace: Trace,
    preserve_args: bool,
    memory_limit: int | None,
    slow_path: Callable[[CallKind], Callable[..., Any]],
    owner: object,
    watch: Watch,
    room: int,
    stored: StoredTrace | None,
    threads: int,
) -> dict[str, Entry]:
    """Plan and compile both halves for one trace, or load them."""
    own = owner, trace, preserve_args, len(shadowed(trace))
    found = None if stored is None else find_halves(stored)
    if found is not None:
        halves, forward, reverse, layout = found
        layout.__init__(halves, *own)  # type: ignore[misc]
    else:
        tape, reruns = limited_tape(trace, SPLIT, preserve_args, memory_limit, room)
        halves = split(tape)
        layout = KeptLayout(halves, *own)
        forward = compiled_parts(trace, FORWARD, halves.forward, reruns, layout, watch, threads, preserve_args)
        reverse = compiled_parts(trace, REVERSE, halves.reverse, reruns, layout, threads=threads)
        if stored is not None:
            put_halves(stored, halves, forward, reverse)
    layout.reverse = loaded_entry(trace, REVERSE, reverse, slow_path(REVERSE), None)
    return {
        FORWARD.name: loaded_entry(trace, FORWARD, forward, slow_path(FORWARD), watch),
        REVERSE.name: layout.reverse,
    }


def filled_by(plan: object, name: str, tape: Any) -> KeptLayout:
    """The layout of a tape that a run of this plan, of the function of this name, has filled."""
    if type(tape) is not TapeMemory:
        raise ArgumentError(f"reverse: the tape comes first, not {type(tape).__name__}: reverse(tape, ...)")
    layout = tape._filled
    if layout is None:
        raise ArgumentError(f"reverse: the tape holds no complete run of {name}: forward(..., tape) comes first")
    if layout.owner is not plan:
        raise ArgumentError(
            f"reverse: the tape was filled by another plan, of {layout.trace.name}; this is one of {name}. A tape is "
            f"for the two halves of one plan"
        )
    return layout


def run_reverse(plan: object, name: str, arguments: tuple, keywords: dict[str, Any]) -> Any:
    """The second half, where the fast path did not do: of the variant that filled the tape."""
    if not arguments and "tape" not in keywords:
        raise ArgumentError("reverse: the tape is missing: reverse(tape, ...)")
    layout = filled_by(plan, name, keywords["tape"] if "tape" in keywords else arguments[0])
    placed = Call(layout.trace, REVERSE, arguments, keywords).place(layout.reverse, layout.preserve_args)
    broken = placed.run()
    assert broken is None, "the reverse sweep has no guards"
    return placed.result()
