"""A dozen listings, word for word: a change of the planner shows here. `--update-golden` writes them anew."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planned_ad

GOLDEN = Path(__file__).parent / "golden"


def square(x):
    for i in range(len(x)):
        x[i] = x[i] ** 2
    return np.sum(x)


def overwritten(x):
    res = 0.0
    for i in range(3):
        res += x[i] * x[i]
        x[i] = 0
    return res


def zeroed(x):
    s = x[0] + x[1]
    x[:] = 0
    return s


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def one_pass(x):
    return np.sum(np.sin(x) * np.exp(-x * x))


def jacobi(a):
    for _ in range(2):
        a[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:])
    return a @ a


def shifted(x):
    x[1:] = x[:-1] * 2
    return np.sum(x**2)


def scatter(x, index):
    y = np.zeros(5)
    np.add.at(y, index, x[index] ** 2)
    return y @ y


def branch(x):
    x *= 2
    return np.sum(x**2) if x[0] > 0 else np.sum(x)


def masked(x):
    return np.sum(x[x > 0] ** 2)


def perceptron(w, b, x):
    return np.sum(np.tanh(x @ w + b))


def running(x):
    return np.sum(np.cumsum(x) ** 2)


def normalise(x):
    y = x - x.mean(axis=1, keepdims=True)
    return np.sum(y / np.sqrt(np.sum(y * y, axis=1, keepdims=True)) * np.arange(4))


def iterated_map(x):
    for _ in range(1000):
        x = 3.7 * x * (1 - x)
    return x


def reflected(x):
    total = 0.0
    for i in range(1, 50):
        x[i] *= x[i - 1]
        if x[i] > 0.5:
            total += np.sin(x[i])
    return total


def substituted(a, x):
    for i in range(len(x)):
        x[i] = (x[i] - a[i, :i] @ x[:i]) / a[i, i]
    return np.sum(x)


def root(x):
    y = x
    while abs(y * y - x) > 1e-9:
        y = 0.5 * (y + x / y)
    return y


PROGRAMS: list[tuple[Callable[..., Any], tuple, str]] = [
    (square, (np.array([1.0, 2.0]),), "gradient"),
    (overwritten, (np.arange(1.0, 4.0),), "gradient"),
    (zeroed, (np.ones(2),), "gradient"),
    (rosenbrock, (np.ones(10),), "value_and_gradient"),
    (one_pass, (np.ones(100),), "gradient"),
    (jacobi, (np.ones(8),), "gradient"),
    (shifted, (np.ones(8),), "gradient"),
    (scatter, (np.ones(5), np.array([0, 3, 3])), "gradient"),
    (branch, (np.ones(3),), "gradient"),
    (masked, (np.array([1.0, -2.0, 3.0]),), "gradient"),
    (perceptron, (np.ones((10, 12)), np.ones(12), np.ones((11, 10))), "gradient"),
    (running, (np.ones(6),), "pullback"),
    (normalise, (np.arange(12.0).reshape(3, 4) ** 2,), "gradient"),
    (iterated_map, (0.3,), "gradient"),
    (reflected, (np.ones(50),), "gradient"),
    (substituted, (np.eye(20), np.ones(20)), "gradient"),
    (root, (2.0,), "gradient"),
]


@pytest.mark.parametrize(("f", "args", "kind"), PROGRAMS, ids=lambda p: getattr(p, "__name__", None))
def test_listing(f: Callable[..., Any], args: tuple, kind: str, update_golden: bool) -> None:
    plan = planned_ad.compile(f, args)
    text = plan.listing(kind)
    assert text == planned_ad.compile(f, args).listing(kind)
    # Lines are numbered from the start of the function, so that edits of this file change nothing.
    first = f.__code__.co_firstlineno
    for number in range(first + 20, first, -1):
        text = text.replace(f"test_golden.py:{number}", f"{f.__name__}:{number - first}")
    assert "0x" not in text and str(Path(__file__).parent) not in text
    file = GOLDEN / f"{f.__name__}.txt"
    if update_golden:
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text + "\n")
    expected = file.read_text().rstrip("\n")
    difference = "\n".join(difflib.unified_diff(expected.splitlines(), text.splitlines(), "golden", "now", lineterm=""))
    assert not difference, f"{difference}\n\nIf this is meant: pytest tests/test_golden.py --update-golden"
