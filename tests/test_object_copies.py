"""Objects that loops replace, and that are in lists: such loops stay loops where nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from planned_ad.trace import trace

from . import random_chosen_items, random_object_programs
from .interpreted_plans import assert_right, inputs
from .object_copy_programs import LOOPS, PROGRAMS
from .sweeps import name_of, rotated

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 600)]


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [0, 16]), ids=name_of)
def test_objects(f: Callable, unroll: int) -> None:
    assert_right(f, 24, 0, unroll, compiled=unroll == 0 and f in LOOPS[::3])


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (inputs(0, 24)[1],))
    assert found.rolled and not found.unrolled


@pytest.mark.parametrize("seed", [*range(20), *LONG])
@pytest.mark.parametrize("kind", [random_object_programs, random_chosen_items], ids=["objects", "chosen"])
def test_random_programs(kind: ModuleType, seed: int) -> None:
    assert_right(kind.function(seed), 10, seed, 16 * (seed % 2))
