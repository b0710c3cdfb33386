"""Which variants of a plan are for what is outside of the function now.

Others were traced for a flag or a number that has changed.
"""

from __future__ import annotations

import warnings
from typing import Any, Protocol, TypeVar

from ..errors import BranchError
from ..tape.callees import is_call
from ..tape.guards import many_branches
from ..tape.tape import Constant, walk
from ..trace import Trace
from .outside.watch import Watch

MOST_PAST = 15  # variants that are kept for when what is outside is again as it was for them


class Watched(Protocol):
    """What is made for one state of what is outside of a function."""

    trace: Trace
    watch: Watch
    last_used: float  # on a clock, in seconds


Found = TypeVar("Found", bound=Watched)


class PlanOfVariants(Protocol[Found]):
    """A plan, as far as its variants are concerned."""

    _variants: list[Found]
    _dropped: int
    _lock: Any

    def _forget_calls(self) -> None: ...


def present(plan: PlanOfVariants[Found]) -> list[Found]:
    """The variants for which everything outside is what it was, the one whose calls are fast first."""
    found = [v for v in plan._variants if v.watch.is_same()]
    if found and found[0] is plan._variants[0]:
        return found
    with plan._lock:
        return put_first(plan, found) if found else still_present(plan)


def still_present(plan: PlanOfVariants[Found]) -> list[Found]:
    """The same, where objects are compared by value."""
    with plan._lock:
        return put_first(plan, [v for v in plan._variants if v.watch.holds()])


def put_first(plan: PlanOfVariants[Found], chosen: list[Found]) -> list[Found]:
    """Have these variants be the first ones, so that the calls of the very first are fast; drop what is long past."""
    if not chosen or chosen[0] is plan._variants[0]:
        return chosen
    others = [v for v in plan._variants if v not in chosen]
    plan._variants[:] = [*chosen, *others[:MOST_PAST]]
    plan._forget_calls()
    return chosen


def make_way(plan: PlanOfVariants[Found]) -> None:
    """Drop the variant that was used least recently, so that there may be another one; said once."""
    if not plan._dropped:
        traced = plan._variants[0].trace
        warnings.warn(many_branches(traced.name, traced.tape, len(plan._variants)), RuntimeWarning, stacklevel=2)
    plan._dropped += 1
    plan._variants.remove(min(plan._variants, key=lambda variant: variant.last_used))
    plan._forget_calls()


def changed(variant: Watched) -> BranchError:
    """The error where something outside of the function is not what it was when it was traced."""
    found = "; ".join(variant.watch.changes()) or "something outside of it is another object"
    return BranchError(
        f"{variant.trace.name} was traced for what it found outside, and that has changed: {found}. Pass what changes "
        f"as an argument, or let the plan trace again, with on_branch='retrace'"
    )


def is_same_program(a: Trace, b: Trace) -> bool:
    """Whether two traces of a function are alike, whatever each has found outside; none with calls in it is."""

    def parts(traced: Trace) -> tuple[object, ...]:
        told = (op for op in walk(traced.tape.operations) if isinstance(op, Constant) or is_call(op))
        constants = [op.data.tobytes() if isinstance(op, Constant) else id(op) for op in told]
        captured = [(id(buffer.array), buffer.address) for buffer in traced.tape.buffers]
        results = [(kind, what if kind == "value" else id(what)) for kind, what in traced.result_leaves]
        return str(traced.tape), constants, captured, results, traced.result_kinds

    return parts(a) == parts(b)
