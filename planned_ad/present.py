"""Which variants of a plan are for what is outside now: others were traced for a flag or a number that has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import BranchError
from .guards import broken_guard, endless, is_limit

if TYPE_CHECKING:
    from .plan import Plan, Variant
    from .replay import Call

MORE_STEPS = 8  # times as many, where the memory for a `while` loop did not do
MOST_STEPS = 10_000_000
MOST_PAST = 3  # variants that are kept for when what is outside is again as it was for them


def present(plan: Plan) -> list[Variant]:
    """The variants for which everything outside is what it was, the one whose calls are fast first."""
    found = [v for v in plan._variants if v.watch.is_same()]
    if found and found[0] is plan._variants[0]:
        return found
    with plan._lock:
        return put_first(plan, found) if found else still_present(plan)


def still_present(plan: Plan) -> list[Variant]:
    """The same, where objects are compared by value."""
    with plan._lock:
        return put_first(plan, [v for v in plan._variants if v.watch.holds()])


def put_first(plan: Plan, chosen: list[Variant]) -> list[Variant]:
    """Have these variants be the first ones, so that the calls of the very first are fast; drop what is long past."""
    if not chosen or chosen[0] is plan._variants[0]:
        return chosen
    others = [v for v in plan._variants if v not in chosen]
    plan._variants[:] = [*chosen, *others[:MOST_PAST]]
    plan._forget_calls()
    return chosen


def changed(variant: Variant) -> BranchError:
    """The error where something outside of the function is not what it was when it was traced."""
    found = "; ".join(variant.watch.changes()) or "something outside of it is another object"
    return BranchError(
        f"{variant.trace.name} was traced for what it found outside, and that has changed: {found}. Pass what changes "
        f"as an argument, or let the plan trace again, with on_branch='retrace'"
    )


def with_more_steps(plan: Plan, variant: Variant, call: Call) -> Variant:
    """In place of a variant whose `while` loops end too early for these arguments, one with more memory for them.

    It takes the place of all that were traced with less. Other guards break for a reason, which is raised.
    """
    traced = variant.trace
    has_limit = any(is_limit(op) for op in traced.tape.operations)
    steps = plan._options["max_steps"] * MORE_STEPS
    if has_limit and steps > MOST_STEPS:
        raise endless(traced)
    if not has_limit:
        raise broken_guard(traced, call.leaves)
    plan._options["max_steps"] = steps
    plan._variants.remove(variant)
    found = plan._add_variant(*call.example())
    kept = [v for v in plan._variants[:-1] if not any(is_limit(op) for op in v.trace.tape.operations)]
    plan._variants[:] = [*kept, found]
    plan._forget_calls()
    return found
