"""Queues of the standard library in loops: what would wait for an item in a body that is recorded again unrolls it."""

import queue
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

X = np.linspace(0.1, 1.0, 40)


def first_in_first_out(x):
    waiting, total = queue.Queue(), 0.0
    for i in range(5):
        waiting.put(x[i])
    for i in range(5, len(x)):
        total = 0.9 * total + waiting.get() * x[i]
        waiting.put(0.5 * x[i])
    while not waiting.empty():
        total += waiting.get()
    return total


def last_in_first_out(x):
    waiting, total = queue.LifoQueue(), 0.0
    for i in range(len(x)):
        waiting.put(x[i])
        if i % 3 == 2:
            total = 0.9 * total + waiting.get() * waiting.get()
    return total


def by_priority(x):
    waiting, total = queue.PriorityQueue(), 0.0
    for i in range(20):
        waiting.put((i * 7 % 20, i))
    while not waiting.empty():
        total = 0.9 * total + x[waiting.get()[1]] ** 2
    return total


def now_and_then(x, kind=queue.SimpleQueue):
    waiting, total = kind(), 0.0
    for i in range(len(x)):
        waiting.put(i % 3)
        total = 0.9 * total + x[i] * waiting.qsize()
        if i % 17 == 16:
            total += waiting.get() + waiting.get()
    return total


def of_two_places(x):
    waiting, total = queue.Queue(2), 0.0
    for i in range(len(x)):
        if waiting.full():
            total += waiting.get() * x[i]
        waiting.put(x[i])
    return total


PROGRAMS = (first_in_first_out, last_in_first_out, by_priority, now_and_then, of_two_places)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("unroll", [0, 100])
def test_queues(f: Callable, unroll: int) -> None:
    step = 1e-6
    slopes = [(f(X + step * d) - f(X - step * d)) / (2 * step) for d in np.eye(len(X))]
    plan = planned_ad.compile(f, X, unroll=unroll, check=False)
    np.testing.assert_allclose(plan(X), f(X), rtol=1e-12)
    np.testing.assert_allclose(plan.gradient(X), slopes, rtol=1e-6, atol=1e-6)
