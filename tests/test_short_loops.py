"""Short loops that test data: one trace serves all ways through them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.tape.tape import Guard
from planned_ad.trace import trace

T = np.linspace(0.0, 1.0, 12)


def by_index(x):
    total = 0.0
    for i in range(10):
        if x[i] > 0:
            total += x[i] * x[i]
        else:
            total -= np.sin(x[i])
    return total


def by_item(x):
    total = 0.0
    for v in x:
        total += v * v if v > 0 else -np.sin(v)
    return total


def in_a_generator(x):
    return sum(v * v if v > 0 else -np.sin(v) for v in x)


def nested(x):
    y = np.zeros(5)
    for i in range(5):
        for j in range(2):
            if x[2 * i + j] > 0.1 * j:
                y[i] += x[2 * i + j]
    return np.sum(y * y)


def largest(x):
    best, where = x[0], 0
    for k in range(1, 10):
        if x[k] > best:
            best, where = x[k], k
    return best * x[where - 1]


def bubble_sort(x):
    y = x.copy()
    for i in range(5):
        for j in range(4 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return y[0] + 2.0 * y[1] + 4.0 * y[2] * y[3]


def levenberg_marquardt(x):
    data = 2.0 * np.exp(-1.3 * T) + 0.01 * np.sin(x[0] + 40.0 * T)
    p, damping = np.array([0.4, 3.0]), 1e-2
    r = p[0] * np.exp(-p[1] * T) - data
    cost = np.sum(r * r)
    for _ in range(5):
        e = np.exp(-p[1] * T)
        j = np.stack([e, -p[0] * T * e], axis=1)
        a = j.T @ j
        q = p - np.linalg.solve(a + damping * np.diag(np.diag(a)), j.T @ r)
        r_new = q[0] * np.exp(-q[1] * T) - data
        new = np.sum(r_new * r_new)
        if new < cost:
            p, r, cost, damping = q, r_new, new, damping / 10.0
        else:
            damping *= 10.0
    return np.sum(p)


PROGRAMS = (by_index, by_item, in_a_generator, nested, largest, bubble_sort, levenberg_marquardt)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_trace_serves_all_ways(f: Callable) -> None:
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.normal(size=10),), max_variants=1)
    for _ in range(12):
        x = rng.normal(size=10)
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-9)
        direction, step = rng.normal(size=10), 1e-6
        difference = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
        np.testing.assert_allclose(plan.gradient(x, np.empty(10)) @ direction, difference, rtol=1e-5, atol=1e-7)


def test_few_tests_are_guards() -> None:
    def f(x):
        total = 0.0
        for k in range(3):
            if x[k] > 0:
                total += x[k]
        return total

    found = trace(f, (np.ones(3),))
    assert not found.rolled
    assert sum(isinstance(op, Guard) for op in found.tape.operations) == 3


def test_what_cannot_stay_a_loop_is_traced_for_each_way() -> None:
    def f(x):
        found = {}
        for k in range(6):
            if x[k] > 0:
                found[f"{k}"] = x[k]
        return sum(found.values()) * len(found)

    plan = planned_ad.compile(f, (np.ones(6),))
    for signs in ([1, -1, 1, 1, -1, 1], [1, 1, 1, 1, 1, -1]):
        assert plan(np.array(signs, float)) == f(np.array(signs, float))
