"""Calls of plans with several traces: machine code goes from one whose guards do not hold to the next."""

from __future__ import annotations

import sys
import threading
from collections import Counter

import numpy as np
import pytest

import planned_ad


def quicksorted(a):
    if len(a) < 2:
        return a
    below, above = [v for v in a[1:] if v < a[0]], [v for v in a[1:] if v >= a[0]]
    return [*quicksorted(below), a[0], *quicksorted(above)]


FACTOR = {"k": 1.0}


def weighted(x):
    return FACTOR["k"] * sum(v * k * k for k, v in enumerate(quicksorted(list(x))))


def slope(x):
    found = np.zeros(len(x))
    found[np.argsort(x)] = FACTOR["k"] * np.arange(len(x)) ** 2
    return found


def python_calls(call, *args):
    """The functions of Python that run in it."""
    names = Counter()

    def note(frame, event, argument):
        if event == "call":
            names[frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        call(*args)
    finally:
        sys.setprofile(None)
    return names


def test_no_python_runs_between_traces():
    inputs = np.random.default_rng(0).random((8, 4))
    plan = planned_ad.compile(weighted, (inputs[0],), check=False)
    dx = np.empty(4)
    for _ in range(3):
        for x in inputs:
            plan.gradient(x, dx)
    assert len(plan._variants) > 4
    for x in inputs:
        assert not python_calls(plan.gradient, x, dx)
        np.testing.assert_array_equal(dx, slope(x))


def test_traces_come_and_go(monkeypatch):
    rng = np.random.default_rng(1)
    first = rng.random(4)
    plan = planned_ad.compile(weighted, (first,), check=False, max_variants=5)
    kept, bound = rng.random((4, 4)), plan.gradient
    with pytest.warns(RuntimeWarning, match="max_variants"):
        for k in range(60):
            if k % 20 == 0:
                monkeypatch.setitem(FACTOR, "k", 1.0 + k)
            if k == 30:
                bound = plan.gradient
            x = rng.random(4) if k % 3 == 0 else kept[k % 4]
            np.testing.assert_allclose((bound if k % 7 == 0 else plan.gradient)(x), slope(x), rtol=1e-14)
            assert plan(x) == pytest.approx(weighted(x), rel=1e-14)
            if k % 17 == 0:
                np.testing.assert_array_equal(plan.hvp(x, np.ones(4)), np.zeros(4))


def test_errors_of_callbacks_are_raised_at_once():
    @planned_ad.opaque(result=lambda v: v, derivative="differences")
    def doubled(v):
        if v[0] > 0.9:
            raise LookupError("too large")
        return 2 * v

    def f(x):
        y = doubled(x)
        return y[0] if x[1] > 0.5 else y[0] * x[2] if x[1] > 0.2 else y[1]

    plan = planned_ad.compile(f, (np.array([0.5, 0.6, 0.7]),), check=False)
    for second in (0.6, 0.3, 0.1, 0.6, 0.3, 0.1):
        x = np.array([0.5, second, 0.7])
        assert plan(x) == f(x)
    for second in (0.6, 0.3, 0.1):
        with pytest.raises(LookupError, match="too large"):
            plan(np.array([0.95, second, 0.7]))
        x = np.array([0.5, second, 0.7])
        assert plan(x) == f(x)


def test_threads():
    plan = planned_ad.compile(weighted, (np.random.default_rng(2).random(3),), check=False)
    wrong = []

    def work(seed):
        inputs = np.random.default_rng(seed).random((200, 3))
        wrong.extend(x for x in inputs if not np.array_equal(plan.gradient(x), slope(x)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_replaces_a_trace_may_fail():
    """A call that was looked up for a trace which did not stay finds the one that did."""
    x = np.array([0.2, 0.1, 0.3])
    plan = planned_ad.compile(weighted, (x,), check=False)
    plan.gradient(x)
    looked_up = plan.__dict__["gradient"]
    plan._variants[:] = [planned_ad.compile(weighted, (x[::-1].copy(),), check=False)._variants[0]]
    assert plan.__dict__["gradient"] is looked_up  # of a trace that the plan has no more
    np.testing.assert_array_equal(plan.gradient(np.array([0.3, 0.1, 0.2])), slope(np.array([0.3, 0.1, 0.2])))
