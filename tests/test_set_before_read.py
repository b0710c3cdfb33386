"""Attributes of objects from outside that each call sets before it reads them: layers with caches, simulators."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import TraceError

X = np.array([0.3, 0.4])


class Layer:
    def __init__(self):
        self.weights, self.seen = np.array([[0.5, 0.2], [0.1, 0.9]]), None

    def forward(self, x):
        self.seen = x
        return np.tanh(self.weights @ x)

    def backward(self, g):
        return self.weights.T @ (g * (1 - np.tanh(self.weights @ self.seen) ** 2))


class Kept:
    def __init__(self):
        self.total, self.last, self.history = 0.5, np.ones(2), [1.0]

    def resets(self, x):
        self.total, self.history = 0.0, []
        while self.total < 3.0 + x[0]:
            self.total += 0.1 + x[1] ** 2
            self.history.append(self.total * x[0])
        return self.total + sum(self.history)

    def in_a_loop(self, x):
        total = 0.0
        for k in range(30):
            if k > 0:
                total += np.sum(self.last**2)
            self.last = x * k
        return total

    def on_both_sides(self, x):
        if x[0] > 0:
            self.last = 2 * x
        else:
            self.last = x**2
        return np.sum(self.last)

    # What reads before.

    def adds_up(self, x):
        self.total = self.total + np.sum(x)
        return self.total**2

    def goes_on(self, x):
        total = 0.0
        for k in range(30):
            total += np.sum(self.last**2)
            self.last = x * k
        return total

    def in_a_dict(self, x):
        found = {"last": self.last}
        self.last = 2 * x
        return np.sum(found["last"]) + np.sum(self.last * x)

    def by_class(self, x):
        factor = 2.0 if isinstance(self.last, np.ndarray) else 3.0
        self.last = factor * x
        return np.sum(self.last)

    def copied(self, x):
        other = copy.copy(self)
        self.last = 2 * x
        return np.sum(self.last) + np.sum(other.last)

    def where_it_may(self, x):
        try:
            y = np.sum(self.last * x)
        except ValueError:
            y = 7.0
        self.last = x
        return y + np.sum(x**2)

    def at_times(self, x):
        if x[0] > 0:
            self.last = 2 * x
        return np.sum(self.last * x)


SETS, READS = ["resets", "in_a_loop", "on_both_sides"], [
    "adds_up", "goes_on", "in_a_dict", "by_class", "copied", "where_it_may",
]  # fmt: skip


def used(name: str) -> Callable[[Any], Any]:
    """The function, which has been called before."""
    method = getattr(Kept(), name)

    def f(x):
        return method(x)

    f(X)
    return f


@pytest.mark.parametrize("name", SETS)
def test_what_is_set_first(name: str) -> None:
    f = used(name)
    plan = planned_ad.compile(f, X)
    for x in (X, -X, 2 * X):
        slopes = [(f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6 for d in np.eye(2)]
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", READS)
def test_what_is_read_first_is_refused(name: str) -> None:
    f = used(name)
    with pytest.raises(TraceError, match="what an earlier call has set"):
        planned_ad.compile(f, X)(X)


@pytest.mark.parametrize("example", [X, -X])
def test_another_way_that_reads_it(example: np.ndarray) -> None:
    """What one trace sets no other one may read: calls of the plan do not set it."""
    f = used("at_times")
    with pytest.raises(TraceError, match="what an earlier call has set"):
        plan = planned_ad.compile(f, example, check=False)
        plan(example)
        plan(-example)


def test_a_network_with_caches() -> None:
    net = [Layer(), Layer()]

    def f(x):
        for layer in net:
            x = layer.forward(x)
        g = np.ones(2)
        for layer in reversed(net):
            g = layer.backward(g)
        return g @ g

    f(X)
    plan = planned_ad.compile(f, X)
    for x in (X, 3 * X):
        slopes = [(f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6 for d in np.eye(2)]
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-6, atol=1e-7)
    assert plan.explain().variants == 1
    net[1].weights = 2 * net[1].weights
    assert plan(X) == pytest.approx(f(X), rel=1e-12)
