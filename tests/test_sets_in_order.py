"""Sets from outside: a trace goes through them in the order in which the function does."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import planned_ad

PROGRAM = """
import numpy as np, planned_ad
NAMES = {"sin", "cos", "tan", "exp", "sqrt1", "tanh", "arctan"}
def f(x):
    for name in NAMES:
        if name != "sqrt1":
            x = getattr(np, name)(x) * 0.5
    return np.sum(x)
x = np.array([0.31, -0.7, 1.2])
assert abs(planned_ad.compile(f, x, check=False)(x) - f(x)) < 1e-12
"""


@pytest.mark.parametrize("seed", range(1, 4))
def test_texts(seed):
    """Whose order in a set is another one in each process."""
    subprocess.run([sys.executable, "-c", PROGRAM], env={"PYTHONHASHSEED": str(seed), "PATH": ""}, check=True)


class Layer:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return np.sin(self.scale * x) + 0.1


@pytest.mark.parametrize("kind", [set, frozenset])
def test_objects_that_are_copied(kind):
    layers = kind(Layer(0.5 + 0.1 * k) for k in range(9))  # none of which makes much of a rounding

    def f(x):
        for layer in layers:
            x = layer(x)
        return np.sum(x)

    x = np.array([0.31, -0.7, 1.2])
    assert planned_ad.compile(f, x, check=False)(x) == pytest.approx(f(x), rel=1e-14)


def test_members_that_come_and_go():
    names = {"a", "b", "c", "d", "e", "f"}

    def f(x):
        own = set(names)
        other = names
        other.add("g")
        other.discard("b")
        found = [name in other for name in ("a", "b", "g")]
        order = [name for name in other if name in own]
        return x * len(other) * sum(found) + ord(order[0]) + len(order)

    names_before = set(names)
    plan = planned_ad.compile(f, 2.0, check=False)
    assert names == names_before
    value = plan(2.0)
    assert value == f(2.0)
