"""How many traces a program takes for several inputs, of which each is compared with Python and with differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad


def traces_of(f: Callable, unroll: int) -> int:
    """Against Python and differences, for several orders; how many traces that took."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=24)
    plan = planned_ad.compile(f, (x,), check=False, unroll=unroll)
    for _ in range(3):
        d = rng.normal(size=24)
        assert plan(x.copy()) == pytest.approx(f(x.copy()), rel=1e-12)
        found = (f(x + 1e-7 * d) - f(x - 1e-7 * d)) / 2e-7
        assert plan.gradient(x.copy()) @ d == pytest.approx(found, rel=1e-5, abs=1e-6)
        x = rng.normal(size=24)
    return len(plan._variants)
