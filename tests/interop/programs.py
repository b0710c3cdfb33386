"""Functions that the adapters are tested with."""

from __future__ import annotations

import numpy as np

X = np.linspace(0.5, 1.5, 10)
W = np.linspace(-1.0, 2.0, 10)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def waves(x, t, n, w):
    """An array of an array, a number, a static number, and an array."""
    return np.sin(x * t) ** n * w


def branching(power):
    """Of each power a function of its own, whose branches no other test has recorded."""
    return lambda x: np.sum(x**power) if x[0] > 0 else np.sum(np.cos(x))


def writing(x):
    x *= 2.0
    return np.sum(x**2)


def writing_late(power):
    """Of each power a function of its own that writes to its argument where the example, all positive, does not go."""

    def f(x):
        if x[0] < 0:
            for i in range(x.shape[0]):
                x[i] = 2.0 * x[i]
        return np.sum(x**power)

    return f


SINGLE = [lambda x: np.sum(np.cos(x)) ** 2, lambda x: np.cos(x)]  # a number, and an array, of single precision too


def likelihood(x, s):
    """A number of an array and a number, whose derivatives are all different."""
    return np.sum(np.cos(x) * np.exp(s)) + s**3
