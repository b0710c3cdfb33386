"""What options have to be: numbers, one of some words, functions. An option of another kind is said to be wrong."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from ..errors import ArgumentError

OnBranch = Literal["retrace", "raise", "record"]
Mode = Literal["forward", "reverse"]  # of a Jacobian


class PlanOptions(TypedDict):
    """What a plan is compiled with: the options of `compile`, which explains them."""

    on_branch: OnBranch
    preserve_args: bool
    max_operations: int
    unroll: int
    max_steps: int  # as many as the last trace needed
    max_variants: int
    memory_limit: int | None
    check: bool
    frozen: tuple[str, ...]
    convert: bool
    threads: int
    calls: tuple[str, ...]  # those that `compile` has compiled too


def of_derivative(options: PlanOptions) -> PlanOptions:
    """Those of a plan that a call of another plan runs, whose memory nobody sees."""
    return {**options, "preserve_args": False, "memory_limit": None, "calls": ()}


def whole_number(name: str, value: Any, least: int = 0) -> int:
    """`value` as an integer of at least so much."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} is an integer, not {shown(value)}") from None
    if number < least:
        raise ArgumentError(f"{name} is an integer of at least {least}, not {number}")
    return number


def one_of(name: str, value: Any, choices: Sequence[str | None]) -> None:
    """Refuse a `value` that is not among `choices`."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        words = [repr(choice) for choice in choices]
        raise ArgumentError(f"{name} is {', '.join(words[:-1])} or {words[-1]}, not {shown(value)}")


def numbers_of(name: str, value: Any, what: str = "an integer or a sequence of integers") -> tuple[int, ...]:
    """An integer, or several, as a tuple."""
    try:
        return tuple(operator.index(n) for n in (value if isinstance(value, tuple | list) else (value,)))
    except TypeError:
        raise ArgumentError(f"{name} is {what}, not {shown(value)}") from None


def takes_function(name: str, value: Any) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise ArgumentError(f"{name} takes a function, not {type(value).__name__}")


def shown(value: Any) -> str:
    """A value in a message: short ones as they are written, of others the type."""
    is_short = value is None or isinstance(value, str | int | float | bool)
    return repr(value) if is_short else f"{type(value).__name__}"
