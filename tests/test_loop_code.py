"""Loops as Python functions give what the interpreter gives, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.python.structure import flatten
from planned_ad.tape.interpret import interpret, memory_of
from planned_ad.tape.loop_code import interpreted
from planned_ad.trace import trace


def memories(traced, args):
    return {
        leaf.buffer: memory_of(traced.tape.buffers[leaf.buffer], np.asarray(value, leaf.dtype))
        for leaf, value in zip(traced.leaves, flatten(args)[0])
        if leaf.buffer is not None
    }


def ragged(a):
    n = len(a)
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
        a[i, i] = np.sqrt(abs(a[i, i])) + np.sum(a[i, :i])
    return np.sum(a)


def branches(x, k):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0.2 and i != 7:
            total += np.exp(x[i]) / x[k[i]]
        else:
            x[i] = total * 2.0 - x[i] ** 3
    return total


def converged(x):
    y, steps = x[0], 0
    while y > 1e-3:
        y = y * 0.5
        steps += 1
    return y, steps


def strided(x):
    y = np.zeros((5, 6))
    for i in range(5):
        y[i, ::-2] = x[::2][:3] * i
        y[i] += y[i - 1] if i else 0.0
    return y.T @ np.arange(5.0), np.cumsum(y[:, 2])


def single(x):
    total = np.float32(0)
    for i in range(20):
        total += x[i] * np.float32(1.1)
    return total


PROGRAMS = [
    (ragged, (np.cos(np.arange(400.0)).reshape(20, 20),)),
    (branches, (np.sin(np.arange(30.0)), np.arange(30)[::-1].copy())),
    (converged, (np.array([3.0]),)),
    (strided, (np.arange(8.0),)),
    (single, (np.arange(20, dtype=np.float32),)),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
@pytest.mark.parametrize("unroll", [0, 4])
def test_as_the_interpreter(f, args, unroll) -> None:
    traced = trace(f, args, unroll=unroll)
    first, second = memories(traced, args), memories(traced, args)
    expected, actual = interpret(traced.tape, first), interpreted(traced.tape, second)
    for a, b in zip(expected, actual, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    for id in first:
        np.testing.assert_array_equal(first[id], second[id])
