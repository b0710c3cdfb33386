"""What a loop does beside handing numbers on is done for all iterations at once; what may not stays in the loop."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.tape.tape import Apply, Loop, walk
from planned_ad.trace import trace

from .oracle import check_gradient
from .sweeps import left_out

STEPS = 40


def garch(p, y):
    mu, w, a, b = p
    h, total = np.var(y), 0.0
    for v in y:
        e = v - mu
        total += np.log(h) + e * e / h
        h = w + a * e * e + b * h
    return total


def discounted(p, y):
    factor, value, path = 1.0, 0.0, np.zeros(STEPS)
    for t in range(STEPS):
        factor *= np.exp(-(p[0] + p[1] * y[t]))
        value += factor * np.sin(y[t])
        path[t] = np.log1p(factor)
    return value + np.sum(path * path[::-1])


def filtered(p, y):
    belief, total = np.full(3, 1 / 3), 0.0
    means, moves = np.array([-1.0, 0.0, 1.0]) * p[0], 0.1 + 0.7 * np.eye(3)
    for t in range(STEPS - 1, -1, -1):
        belief = (moves @ belief) * np.exp(-((y[t] - means) ** 2))
        total += np.log(np.sum(belief))
        belief = belief / np.sum(belief)
    return total + belief[0]


def with_branches(p, y):
    x, cost, largest = p[0], 0.0, -1.0
    for t in range(1, STEPS):
        if y[t] > 0:
            x = x + 0.1 * y[t - 1]
        else:
            x = 0.9 * x
        largest = np.maximum(largest, np.tanh(x))
        cost += np.exp(-x * x)
    return cost + largest


# How many functions there are in loops and in all.
PROGRAMS = {garch: (0, 1), discounted: (0, 3), filtered: (0, 2), with_branches: (0, 2)}


def functions_of(operations):
    return [
        op
        for op in walk(operations)
        if isinstance(op, Apply) and op.primitive in ("exp", "log", "log1p", "tanh", "sin")
    ]


def arguments():
    rng = np.random.default_rng(3)
    return np.array([0.3, 0.4, 0.1, 0.5]), rng.normal(size=STEPS)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_functions_are_outside_of_the_loop(f) -> None:
    tape = vectorise(trace(f, arguments()).tape)
    loops = [op for op in tape.operations if isinstance(op, Loop)]
    assert len(loops) == 1
    assert (len(functions_of(loops)), len(functions_of(tape.operations))) == PROGRAMS[f]


@pytest.mark.parametrize("f", [garch, with_branches, *map(left_out, (discounted, filtered))])
def test_gradients(f) -> None:
    check_gradient(f, *arguments(), every_call=False)


def what_comes_back(p, y):
    """The logarithm of one step is read in the next."""
    x, before, total = p[0], 0.0, 0.0
    for v in y:
        now = np.log(2 + x * x)
        total += now * before
        before = now
        x = 0.5 * x + v
    return total


def recurrent(p, y):
    x, total = p[0], 0.0
    for v in y:
        x = np.sin(x + v)
        total += x
    return total


def cheap(p, y):
    x, total = p[0], 0.0
    for v in y:
        total += x * v
        x = 0.5 * x + v
    return total


def read_again(p, y):
    """What is written may be what another iteration has to find as it was."""
    x, total = p[0], 0.0
    for t in range(1, STEPS):
        total += np.exp(y[t - 1])
        x = 0.5 * x + total
        y[t] = x
    return total


def found_in_memory(p, y):
    """What another iteration has put into memory is found there, wherever it stands in the body."""
    a, b, x, total = np.ones((STEPS, 2)), np.ones(STEPS + 1), p[0], 0.0
    for t in range(1, STEPS):
        total += np.log(a[t - 1, 0] + 1) + b[t]
        a[t, 0] = np.exp(y[t])
        a[t, 1] = np.log(a[t - 1, 0]) + x
        b[t + 1] = np.tanh(y[t])
        x = np.sin(x) * y[t] + np.exp(-b[t])
    return total + x + np.sum(a)


def test_memory_is_found_as_it_was_left() -> None:
    check_gradient(found_in_memory, *arguments(), every_call=False)


@pytest.mark.parametrize("f", [recurrent, cheap, read_again, what_comes_back])
def test_others_stay_as_they_are(f) -> None:
    p, y = arguments()
    tape = vectorise(trace(f, (p, y)).tape)
    assert len([op for op in tape.operations if isinstance(op, Loop)]) == 1
    loops = [op for op in tape.operations if isinstance(op, Loop)]
    assert len(functions_of(loops)) == len(functions_of(tape.operations))
