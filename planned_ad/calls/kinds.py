"""The kinds of calls, a row for each: what is passed and in which order, what comes back, and what is run."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum


class Role(Enum):
    """What a parameter of a call is for."""

    ARGUMENT = "argument"
    TAPE = "tape"
    SHADOW = "shadow"
    TANGENT = "tangent"
    COTANGENT = "cotangent"
    RESULT = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKind:
    """One kind of call.

    Attributes
    ----------
    name : str
    title : str
        How messages call it.
    doc : str
        Its docstring, of a function called `{name}`.
    takes : tuple of Role
        What is passed, in order. What is missing of shadows, tangents and results is made.
    returns : tuple of Role
        What comes back; of several, a tuple.
    is_reverse : bool
        Whether it runs a reverse sweep.
    is_in_out : bool
        Whether what is in a shadow on entry counts, so that one that is made begins as zero.
    keeps_results : bool
        Whether the function's results are computed beside its derivative.
    width : int
        How many shadows of each argument there are.
    is_sweep : bool
        Whether it is one of `autodiff`, which is given shadows of some arguments and makes those of others.
    attribute : str
        Of a plan that has the call.
    """

    name: str
    title: str = ""
    doc: str = ""
    takes: tuple[Role, ...] = ()
    returns: tuple[Role, ...] = ()
    is_reverse: bool = True
    is_in_out: bool = False
    keeps_results: bool = False
    width: int = 1
    is_sweep: bool = False
    attribute: str = ""

    @property
    def of_loss(self) -> bool:
        """Whether it begins at one floating scalar, which the function returns."""
        return self.is_reverse and not self.is_in_out

    @property
    def compiled_name(self) -> str:
        """What code that is compiled calls it."""
        return "value" if self.name == "call" else self.name

    @property
    def is_derivative(self) -> bool:
        return self.is_reverse or self.is_half or self.is_sweep

    @property
    def takes_arguments(self) -> bool:
        return Role.ARGUMENT in self.takes

    @property
    def is_half(self) -> bool:
        """Whether it is a half of a split plan."""
        return Role.TAPE in self.takes

    @property
    def writes_tape(self) -> bool:
        return self.is_half and self.takes_arguments

    @property
    def follows(self) -> Role:
        """What there is one of for each argument that is active."""
        return Role.TANGENT if Role.TANGENT in self.takes else Role.SHADOW


ARGUMENT, TAPE, SHADOW, TANGENT, COTANGENT, RESULT = Role
ROWS = (
    CallKind(
        name="call",
        title="plan",
        doc="Run {name}: its value, and its own writes to its arguments.",
        takes=(ARGUMENT, RESULT),
        returns=(RESULT,),
        is_reverse=False,
        attribute="_call",
    ),
    CallKind(
        name="gradient",
        title="plan.gradient",
        doc="Gradient of the scalar {name} returns; overwrites the shadows, and returns them.",
        takes=(ARGUMENT, SHADOW),
        returns=(SHADOW,),
        attribute="gradient",
    ),
    CallKind(
        name="value_and_gradient",
        title="plan.value_and_gradient",
        doc="(value, gradient) of {name}; overwrites the shadows.",
        takes=(ARGUMENT, SHADOW),
        returns=(RESULT, SHADOW),
        keeps_results=True,
        attribute="value_and_gradient",
    ),
    CallKind(
        name="pullback",
        title="plan.pullback",
        doc="Pull cotangents back through {name}; shadows are in-out.",
        takes=(ARGUMENT, SHADOW, COTANGENT),
        returns=(SHADOW,),
        is_in_out=True,
        attribute="pullback",
    ),
    CallKind(
        name="forward",
        title="forward",
        doc="Run {name}, and keep on a tape what its reverse sweep needs.",
        takes=(ARGUMENT, TAPE, RESULT),
        returns=(RESULT,),
        is_reverse=False,
        attribute="_forward",
    ),
    CallKind(
        name="reverse",
        title="reverse",
        doc="Pull cotangents back through the run of {name} that filled a tape; shadows are in-out.",
        takes=(TAPE, SHADOW, COTANGENT),
        returns=(SHADOW,),
        is_in_out=True,
        attribute="_reverse",
    ),
)
KINDS = {row.name: row for row in ROWS}
SPLIT = CallKind(name="split", is_in_out=True, keeps_results=True)  # what both halves are cut from


@functools.cache
def sweep(is_forward: bool, width: int) -> CallKind:
    """The kind of call of a sweep with so many shadows, or tangents, of each argument."""
    follows = TANGENT if is_forward else SHADOW
    return CallKind(
        name=f"{'forward' if is_forward else 'reverse'}[{width}]",
        title="autodiff of {name}",
        doc="A sweep of {name}.",
        takes=(ARGUMENT, TANGENT, RESULT) if is_forward else (ARGUMENT, SHADOW, COTANGENT, RESULT),
        returns=(follows, RESULT),
        is_reverse=not is_forward,
        is_in_out=True,
        keeps_results=True,
        width=width,
        is_sweep=True,
    )
