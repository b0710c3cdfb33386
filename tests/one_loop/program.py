"""How such a program is described: a function, and what makes its arguments from a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

N = 5
PROGRAMS: dict[str, tuple[Callable, Callable[[int], tuple]]] = {}


def program(make: Callable[[int], tuple]) -> Callable[[Callable], Callable]:
    """Register a function, called with what `make(seed)` gives."""

    def register(f: Callable) -> Callable:
        assert f.__name__ not in PROGRAMS
        PROGRAMS[f.__name__] = (f, make)
        return f

    return register


def normal(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def vector(seed: int) -> tuple:
    return (normal(seed, N + 2),)


def matrix(seed: int) -> tuple:
    return (np.abs(normal(seed, N, N)) * np.sign(normal(seed + 9, N, N)),)


def system(seed: int) -> tuple:
    return normal(seed, N, N), normal(seed + 9, N)


def points(seed: int) -> tuple:
    return (normal(seed, N + 1, 2),)


def definite(seed: int) -> tuple:
    found = normal(seed, N, N)
    return (found @ found.T + 0.1 * np.eye(N),)


def linear_program(seed: int) -> tuple:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 2, (3, 4)), rng.uniform(1, 3, 3), rng.uniform(0.5, 2, 4)


def matrix_and_order(seed: int) -> tuple:
    return normal(seed, N, N), np.random.default_rng(seed).permutation(N)


def cube(seed: int) -> tuple:
    return normal(seed, N, 3, 4), np.random.default_rng(seed).integers(0, 4, 2)


def two_numbers(seed: int) -> tuple:
    rng = np.random.default_rng(seed)
    return float(1 + rng.random()), float(2 + rng.random())
