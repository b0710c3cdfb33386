"""Kernels write to their own memory only, whatever the data: guards are tested where loops are over."""

from __future__ import annotations

import contextlib
from types import ModuleType

import numpy as np
import pytest

import planned_ad

from . import random_joined_lists, random_lists_of_lists, random_nested_growth, random_queues
from .guarded_workspaces import GuardedWorkspaces
from .program_lists import with_short_loops

ERRORS = IndexError, ValueError, KeyError, planned_ad.errors.PlannedADError  # the program's own, and refusals
MODULES = [random_joined_lists, random_lists_of_lists, random_nested_growth, random_queues]
CASES = [
    (101, random_lists_of_lists),
    *(pytest.param(seed, module, marks=pytest.mark.long) for seed in range(20) for module in MODULES),
]


def put_where_there_is_none(x):
    g = []
    for v in x:
        if v > 0.3:
            g.append([v])  # noqa: PERF401 (as people write it)
    for j in range(20):
        w = [v for v in x if v > 0.1 * j]
        w.append(x[j])
        g[j] = w
    return sum(sum(q) for q in g)


def test_a_list_is_put_at_an_index_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    guarded = GuardedWorkspaces(monkeypatch)
    few, many = np.where(np.arange(40) < 37, 0.0, 0.9), np.linspace(0.4, 1.0, 40)
    plan = planned_ad.compile(put_where_there_is_none, (many,), check=False)
    assert plan(many) == pytest.approx(put_where_there_is_none(many))
    for call in (plan, plan.gradient):
        with pytest.raises(IndexError):
            call(few)
        assert guarded.are_intact()


@pytest.mark.parametrize(("seed", "module"), CASES, ids=lambda each: getattr(each, "__name__", str(each)))
def test_random_programs(seed: int, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded, f = GuardedWorkspaces(monkeypatch), with_short_loops(module.function(seed))
    inputs = np.random.default_rng(seed).random((4, getattr(module, "SIZE", 24)))
    try:
        plan = planned_ad.compile(f, (inputs[0].copy(),), check=False, on_branch="record", calls=())
    except (IndexError, ValueError, planned_ad.errors.PlannedADError):
        pytest.skip("an error of the program, with loops so short")
    for x in (*inputs, inputs[0] * 5 - 3):
        for call in (plan, plan.gradient):
            with contextlib.suppress(*ERRORS):
                call(x.copy())
            assert guarded.are_intact()
