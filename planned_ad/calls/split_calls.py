"""The two halves of a split plan as calls: the primal, which fills a tape, and the reverse sweep, which reads it."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..differentiate.keep.split import split
from ..errors import ArgumentError
from ..python.callbacks import raise_pending
from ..trace import ArgumentLeaf, Trace
from .arguments import check_arguments
from .entries import TAPE, Entry, build_entry, is_scalar_loss, limited_tape
from .outside.watch import Watch
from .replay import Broken, Call, broken, more_telling, shadowed
from .split_tape import KeptLayout, TapeMemory

if TYPE_CHECKING:
    from ..plan import Plan, Variant


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

    def __init__(self, plan: Plan):
        self._plan = plan
        self._complete = 1 + len(plan._variants[0].trace.names)

    @property
    def tape_nbytes(self) -> int:
        """Bytes of a tape, for the branches that the example took."""
        return layout_of(self._plan._variants[0]).nbytes

    def tape(self) -> TapeMemory:
        """A new tape."""
        return TapeMemory(self.tape_nbytes)

    @property
    def call(self) -> Callable[..., Any]:
        """The compiled call itself, for the tightest loops."""
        return self._plan._forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) == self._complete and self._plan._variants[0].watch.is_same():
            fresh = self._plan._fresh_results
            return self._plan._forward(*args, *(np.empty(shape, dtype) for shape, dtype in fresh))
        return self._plan._forward(*args, **kwargs)

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

    def __init__(self, plan: Plan):
        self._plan = plan

    @property
    def call(self) -> Callable[..., Any]:
        """The compiled call itself, for the tightest loops: with all shadows and cotangents."""
        return self._plan._reverse

    def __call__(self, tape: TapeMemory, *args: Any, **kwargs: Any) -> Any:
        layout = tape._filled if type(tape) is TapeMemory else None
        if layout is None or kwargs or not layout.is_loss or len(args) != layout.shadows:
            return self._plan._reverse(tape, *args, **kwargs)
        if args and type(args[-1]) is float:  # the cotangent, without shadows
            return self._plan._reverse(tape, *args)
        return self._plan._reverse(tape, *args, 1.0)

    def __repr__(self) -> str:
        return f"<second half of {self._plan!r}>"

    def __reduce__(self) -> tuple:
        return Reverse, (self._plan,)


def layout_of(variant: Variant) -> KeptLayout:
    """Where everything is on the tapes of one trace of a plan."""
    layout = variant.entry("forward").kept
    assert layout is not None
    return layout


def build_halves(
    trace: Trace,
    preserve_args: bool,
    memory_limit: int | None,
    slow_path: Callable[[str], Callable[..., Any]],
    owner: object,
    watch: Watch,
    room: int,
) -> dict[str, Entry]:
    """Plan and compile both halves for one trace."""
    tape, reruns = limited_tape(trace, "split", preserve_args, memory_limit, room)
    halves = split(tape)
    layout = KeptLayout(halves, owner, trace, preserve_args, len(shadowed(trace)), is_scalar_loss(trace))
    forward = build_entry(trace, "forward", halves.forward, slow_path("forward"), reruns, layout, watch)
    reverse = build_entry(trace, "reverse", halves.reverse, slow_path("reverse"), reruns, layout)
    layout.reverse = reverse
    return {"forward": forward, "reverse": reverse}


# The slow paths.


class ForwardCall(Call):
    """A call of the first half: one of the plan itself, with a tape after the arguments."""

    def __init__(self, trace: Trace, arguments: Sequence[Any], keywords: dict[str, Any]):
        self.trace, self.kind, self.name = trace, "call", "forward"
        complete = len(trace.names) + 1
        self.arguments, self.extra, self.keywords = trace.signature.gather(arguments, keywords, complete, self.name)
        tape = self.keywords.pop("tape", None)
        if tape is None and self.extra:
            tape = self.extra.pop(0)
        if type(tape) is not TapeMemory:
            found = "" if tape is None else f", not {type(tape).__name__}"
            raise ArgumentError(
                f"forward: a tape follows the arguments ({', '.join(trace.names)}){found}: forward(..., tape), with "
                f"tape = forward.tape()"
            )
        self.tape = tape
        self.leaves = check_arguments(trace, self.arguments, self.name)


def run_forward(plan: Plan, *arguments: Any, **keywords: Any) -> Any:
    """The first half, where the fast path did not do."""
    try:
        raise_pending()  # of a callback in the call that has just been tried
    except BaseException:
        ForwardCall(plan._variants[0].trace, arguments, keywords).tape._filled = None
        raise

    def attempt(variants: Sequence[Variant], final: bool) -> tuple[bool, Any]:
        found: Broken | None = None
        for variant in variants:
            call = ForwardCall(variant.trace, arguments, keywords)
            entry = variant.entry("forward")
            placed = call.place(entry, variant.preserve_args)
            placed.memory[TAPE] = call.tape.room(layout_of(variant).nbytes)
            number = placed.run(entry)
            if number is None:
                call.tape._filled = layout_of(variant)
                if not variant.preserve_args:
                    call.rebind(placed.memory)
                return True, placed.result(variant.trace, "call")
            found = more_telling(found, broken(call, variant, entry, number))
        return False, found

    return plan._attempted(attempt, lambda: ForwardCall(plan._variants[0].trace, arguments, keywords))


class ReverseCall(Call):
    """A call of the second half: a pullback without the arguments."""

    def __init__(self, trace: Trace, tape: TapeMemory, arguments: Sequence[Any], keywords: dict[str, Any]):
        self.trace, self.kind, self.name = trace, "pullback", "reverse"
        self.arguments, self.extra, self.keywords = [tape], list(arguments), keywords
        self.leaves = [in_place_of(leaf) for leaf in trace.leaves]
        given = len(self.extra) > len(shadowed(trace)) or (self.extra and isinstance(self.extra[-1], numbers.Real))
        if is_scalar_loss(trace) and not given:
            self.keywords = {"cotangent": 1.0} | keywords

    @property
    def names(self) -> tuple[str, ...]:
        return ("tape",)


def in_place_of(leaf: ArgumentLeaf) -> Any:
    """What stands for a leaf of the primal's arguments, of which only inactive ones are seen: in new shadows."""
    if leaf.kind == "static":
        return leaf.value
    if leaf.kind == "float":
        return 0.0
    return None if leaf.active else np.zeros(leaf.shape, leaf.dtype)


def run_reverse(plan: Plan, *arguments: Any, **keywords: Any) -> Any:
    """The second half, where the fast path did not do."""
    raise_pending()
    if not arguments and "tape" not in keywords:
        raise ArgumentError("reverse: the tape is missing: reverse(tape, ...)")
    tape, *rest = (keywords.pop("tape"), *arguments) if "tape" in keywords else arguments
    if type(tape) is not TapeMemory:
        raise ArgumentError(f"reverse: the tape comes first, not {type(tape).__name__}: reverse(tape, ...)")
    layout = tape._filled
    name = plan._variants[0].trace.name
    if layout is None:
        raise ArgumentError(f"reverse: the tape holds no complete run of {name}: forward(..., tape) comes first")
    if layout.owner is not plan:
        raise ArgumentError(
            f"reverse: the tape was filled by another plan, of {layout.trace.name}; this is one of {name}. A tape is "
            f"for the two halves of one plan"
        )
    entry = layout.reverse
    assert entry is not None
    call = ReverseCall(layout.trace, tape, rest, keywords)
    placed = call.place(entry, layout.preserve_args)
    placed.memory[TAPE] = tape._memory
    broken_guard = placed.run(entry)
    assert broken_guard is None, "the reverse sweep has no guards"
    return placed.result(layout.trace, "pullback")
