"""Exceptions that handlers of signals raise while a function is traced or compared: they are the caller's."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import planned_ad

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarms here")
CALLS = {"alarms": 0}


def interrupted(*_: object) -> None:
    raise TimeoutError("too long")


def plain(x):
    CALLS["alarms"] -= 1
    if CALLS["alarms"] == 0:
        signal.raise_signal(signal.SIGALRM)
    return np.sum(x**2)


def in_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        total += plain(x[i : i + 1])
    return total


def with_a_branch(x):
    return plain(x) if x[0] > 0.0 else plain(-x)


def squared(v):
    square = v * v
    if v > 0.0:
        square = plain(np.stack([v, 0.0 * v]))
    return square


def on_a_side_in_a_loop(x):
    total = 0.0
    for v in x:
        total += squared(v)
    return total


@pytest.mark.parametrize("f", [plain, in_a_loop, with_a_branch, on_a_side_in_a_loop])
@pytest.mark.parametrize("call", range(1, 5))
def test_it_is_raised_and_the_next_attempt_is_right(f, call):
    x = np.arange(1.0, 9.0)
    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        CALLS["alarms"] = call
        with pytest.raises(TimeoutError, match="too long"):
            for _ in range(4):
                planned_ad.compile(f, x)
                f(x)
        CALLS["alarms"] = 0
        plan = planned_ad.compile(f, x)
    finally:
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(plan.gradient(x), 2 * x)
