"""What a loop sets, deletes or replaces is what later iterations find, whether that shows for the example or not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.tape.interpret import GuardBroken
from planned_ad.trace import trace

from . import replaced_programs, set_and_deleted_programs
from .sweeps import name_of, rotated
from .tracing_oracle import replay

X = np.linspace(1, 2, 24)


def points() -> list[np.ndarray]:
    """The branches are never taken; one of them, once; each, one after the other."""
    once, both = X.copy(), X.copy()
    once[4], both[4], both[9] = 9.0, 9.0, -1.0
    return [X, once, both, X[::-1].copy()]


@pytest.mark.parametrize(("f", "unroll"), rotated(set_and_deleted_programs.PROGRAMS, [0, 100]), ids=name_of)
def test_what_is_set_and_deleted(f: Callable, unroll: int) -> None:
    found = trace(f, (X,), unroll=unroll)
    for x in points():
        with contextlib.suppress(GuardBroken):
            np.testing.assert_allclose(replay(found, x.copy())[0], f(x), rtol=1e-12)


@pytest.mark.parametrize(("f", "unroll"), rotated(replaced_programs.PROGRAMS, [0, 100]), ids=name_of)
def test_what_is_replaced(f: Callable, unroll: int) -> None:
    found = trace(f, (X, np.array([99, 99])), unroll=unroll)
    for when in ([99, 99], [8, 13], [8, 99], [0, 3]):
        iterations = np.array(when)
        with contextlib.suppress(GuardBroken):
            np.testing.assert_allclose(replay(found, X, iterations)[0], f(X, iterations), rtol=1e-12)
    known = trace(lambda x: f(x, (8, 13)), (X,), unroll=unroll)
    np.testing.assert_allclose(replay(known, X)[0], f(X, (8, 13)), rtol=1e-12)
