"""Parameters of tests that repeat themselves: a share of them always, all with `-m long`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

SAME_EACH_TIME = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def sweep(values: Iterable[Any], quick: slice) -> list[Any]:
    """Values of a parameter (tuples: of several), of which those of the slice `quick` need no `-m long`."""
    found = list(values)
    always = range(len(found))[quick]
    return [v if k in always else left_out(v) for k, v in enumerate(found)]


def rotated(values: Iterable[Any], choices: Iterable[Any]) -> list[Any]:
    """All pairs of a value and a choice; without `-m long` each value has one of them, the next value the next one."""
    all_choices = list(choices)
    return [
        (value, choice) if j == k % len(all_choices) else left_out((value, choice))
        for k, value in enumerate(values)
        for j, choice in enumerate(all_choices)
    ]


def drawn(*strategies: SearchStrategy, few: int, many: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of so few examples, the same in each run, and of so many with `-m long`."""

    def decorated(check: Callable[..., None]) -> Callable[..., None]:
        @pytest.mark.parametrize("examples", [few, left_out(many)])
        def test(examples: int) -> None:
            settings(SAME_EACH_TIME, max_examples=examples)(given(*strategies)(check))()

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorated


def name_of(value: Any) -> str | None:
    """The name of a function, as its part of a test's name; all else is named as pytest does it."""
    return getattr(value, "__name__", None)


def left_out(value: Any) -> Any:
    """One that runs with `-m long` only."""
    return pytest.param(*(value if type(value) is tuple else (value,)), marks=pytest.mark.long)
