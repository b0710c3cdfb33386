"""The idioms of `tests.idioms` are right at every setting of `unroll`, or refused with an error of ours.

By the interpreter each has one setting in turn, and one call elsewhere; `-m long` has all settings and calls, by the
interpreter and through machine code.
`python -m tests.idioms` shows the verdicts one by one.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from .idioms import IDIOMS
from .idioms.check import SEEDS, SETTINGS, verdict_on
from .verdicts import Verdict, value_of

LEAST_RIGHT = 0.92  # of all idioms; others may be refused
IN_TURN = {name: SETTINGS[k % len(SETTINGS)] for k, name in enumerate(IDIOMS)}


@functools.cache
def verdict(name: str, unroll: int, compiled: bool, seeds: tuple[int, ...] = SEEDS) -> Verdict:
    return verdict_on(IDIOMS[name], unroll, compiled, seeds)


def assert_right_or_refused(name: str, unroll: int, compiled: bool, seeds: tuple[int, ...] = SEEDS) -> None:
    found = verdict(name, unroll, compiled, seeds)
    assert found.kind in ("right", "refused"), f"{name} at unroll={unroll} is {found}"


def assert_most_are_right(verdicts: list[Verdict]) -> None:
    refused = [found.why for found in verdicts if found.kind == "refused"]
    assert len(refused) <= (1 - LEAST_RIGHT) * len(verdicts), "\n".join(refused)


@pytest.mark.parametrize("name", [name for name, idiom in IDIOMS.items() if not idiom.refused])
def test_an_idiom_is_a_function_of_its_arguments(name: str) -> None:
    """Without which nothing can be compared; and the numbers are of a size that can be."""
    idiom = IDIOMS[name]
    for seed in SEEDS:
        first, second = (np.asarray(value_of(idiom.function, idiom.make_arguments(seed))) for _ in range(2))
        np.testing.assert_array_equal(first, second)
        assert np.all(np.abs(first) < 1e5)


@pytest.mark.parametrize("name", IDIOMS)
def test_idiom(name: str) -> None:
    assert_right_or_refused(name, IN_TURN[name], False, SEEDS[:2])


def test_most_idioms_have_a_plan() -> None:
    assert_most_are_right([verdict(name, unroll, False, SEEDS[:2]) for name, unroll in IN_TURN.items()])


@pytest.mark.long
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("unroll", SETTINGS)
@pytest.mark.parametrize("name", IDIOMS)
def test_idiom_at_every_setting(name: str, unroll: int, compiled: bool) -> None:
    assert_right_or_refused(name, unroll, compiled)


@pytest.mark.long
@pytest.mark.parametrize("unroll", SETTINGS)
def test_most_idioms_have_a_plan_at_every_setting(unroll: int) -> None:
    assert_most_are_right([verdict(name, unroll, True) for name in IDIOMS])
