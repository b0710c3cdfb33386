"""Counters and histories that a function writes outside and does not read: they are not compared."""

from __future__ import annotations

import collections
import types

import numpy as np
import pytest

import planned_ad

CALLS, SEEN, LOG = 0, [], {"heights": [], "calls": 0, "best": None}
X = np.array([1.0, -2.0])


class Objective:
    evaluations = 0

    def __init__(self):
        self.nfev, self.history, self.recent = 0, [], collections.deque(maxlen=2)
        self.k = 0

    def __call__(self, x):
        self.nfev += 1
        Objective.evaluations -= 1
        self.k = self.k + 2
        value = np.sum(x**2) * x[0]
        self.history.append(float(value))
        self.recent.extend([value])
        return value


def of_globals(x):
    global CALLS
    CALLS += 1
    SEEN.append(x.copy())
    LOG["heights"].append(x[0])
    LOG["calls"] += 1
    return np.sum(x**2) * x[0]


def made_with_variables():
    calls, seen = 0, []

    def f(x):
        nonlocal calls
        calls += 1
        seen.append(float(x[0]))
        return np.sum(x**2) * x[0]

    return f


class WithSlots:
    __slots__ = ("calls", "scale")

    def __init__(self):
        self.calls, self.scale = 0, 1.0

    def __call__(self, x):
        self.calls += 1
        return np.sum(x**2) * x[0] * self.scale


@pytest.mark.parametrize("make", [Objective, lambda: of_globals, made_with_variables, WithSlots])
def test_calls_of_the_function_between_calls_of_its_plan(make):
    """As an optimiser has them, which is given the function and the gradient of its plan."""
    f = make()
    plan = planned_ad.compile(f, X)
    for k in range(1, 5):
        x = k * X
        f(x)
        np.testing.assert_allclose(plan.gradient(x), 2 * x * x[0] + np.array([x @ x, 0.0]))
    assert len(plan._variants) == 1
    assert any("is written to, and not read" in note for note in plan.explain().frozen)


def asked(x, model):
    model.calls += 1
    return x[0] * (2.0 if model.calls > 6 else 1.0)


def asked_for_by_a_method(x, model):
    model.calls += 1
    return x[0] * (2.0 if model.is_late() else 1.0)


def asked_for_by_name(x, model):
    model.calls += 1
    return x[0] * (2.0 if vars(model)["calls"] > 6 else 1.0)


def asked_under_another_name(x, model):
    model.seen.append(1.0)
    return x[0] * (2.0 if len(model.again) > 6 else 1.0)


def asked_for_its_length(x, model):
    model.seen.append(1.0)
    return x[0] * (2.0 if len(model.seen) > 6 else 1.0)


def asked_for_what_it_counts_to(x, model):
    model.calls = calls = model.calls + 1
    return x[0] * (2.0 if calls > 6 else 1.0)


def asked_in_a_dict(x, model):
    model.table["calls"] += 1
    return x[0] * (2.0 if model.table["calls"] > 6 else 1.0)


def asked_in_a_dict_by_all(x, model):
    model.table["calls"] += 1
    return x[0] * (2.0 if max(model.table.values()) > 6 else 1.0)


def asked_in_a_dict_by_parts(x, model):
    model.table["calls"] += 1
    return x[0] * (2.0 if model.table["cal" + "ls"] > 6 else 1.0)


def appended_and_taken(x, model):
    model.seen.append(1.0)
    return x[0] * (2.0 if sum(model.seen) > 6 else 1.0)


class Model(types.SimpleNamespace):
    def is_late(self):
        return self.calls > 6


@pytest.mark.parametrize(
    "f",
    [asked, asked_for_by_a_method, asked_for_by_name, asked_under_another_name, asked_for_its_length,
     appended_and_taken, asked_for_what_it_counts_to, asked_in_a_dict, asked_in_a_dict_by_all,
     asked_in_a_dict_by_parts],
)  # fmt: skip
def test_what_is_read_is_compared(f):
    seen: list[float] = []
    model = Model(calls=0, seen=seen, again=seen, table={"calls": 0})
    plan = planned_ad.compile(lambda x: f(x, model), X)
    before = plan.gradient(X)[0]
    while f(X, model) == X[0]:
        pass
    assert (before, plan.gradient(X)[0]) == (1.0, 2.0)
