"""Random programs with short loops, all ways through which are in one trace (`on_branch="record"`)."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import planned_ad

from . import (
    random_created_arrays,
    random_dicts,
    random_dicts_of_items,
    random_exchanged_objects,
    random_filled_by_counts,
    random_joined_lists,
    random_lists_of_lists,
    random_mask_programs,
    random_nested_growth,
    random_optional_arrays,
    random_ordered_dicts,
    random_queues,
    random_slices_in_loops,
    random_state_machines,
    random_text_keys,
)
from .program_lists import with_short_loops

MODULES = [
    random_created_arrays, random_dicts, random_dicts_of_items, random_exchanged_objects, random_filled_by_counts,
    random_joined_lists, random_lists_of_lists,
    random_mask_programs, random_nested_growth, random_optional_arrays, random_ordered_dicts, random_queues,
    random_slices_in_loops, random_state_machines, random_text_keys,
]  # fmt: skip
ALWAYS = [(0, random_created_arrays), (107, random_joined_lists), (3, random_state_machines), (4, random_dicts)]
LONG = [pytest.param(seed, module, marks=pytest.mark.long) for seed in range(100, 115) for module in MODULES]


@pytest.mark.parametrize(("seed", "module"), [*ALWAYS, *LONG], ids=lambda each: getattr(each, "__name__", str(each)))
def test_values(seed: int, module: ModuleType) -> None:
    f, size = with_short_loops(module.function(seed)), getattr(module, "SIZE", 24)
    inputs = np.random.default_rng(seed).random((6, size))
    try:
        plan = planned_ad.compile(f, (inputs[0].copy(),), check=False, on_branch="record", calls=())
    except (IndexError, ValueError, planned_ad.errors.NotDifferentiableError):
        pytest.skip("an error of the program, or nothing to differentiate, with loops so short")
    for x in inputs:
        try:
            expected = f(x.copy())
        except (IndexError, ValueError, KeyError) as error:
            with pytest.raises(type(error)):
                plan(x.copy())
        else:
            assert plan(x.copy()) == pytest.approx(expected, rel=1e-10)
