"""The trace of every case against the function itself: values, types, layouts."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.trace import trace

from ..tracing_oracle import assert_same, replay
from .cases import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_numpy(case: Case) -> None:
    traced = trace(case.function, case.arguments)
    actual, _ = replay(traced, *case.arguments)
    with np.errstate(all="ignore"):
        expected = case.function(*case.arguments)
    assert_same(actual, expected)
