"""Arrays of integers from outside that are views, with gaps or backwards in memory, in loops that are recorded once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

RNG = np.random.default_rng(5)
PAIRS = RNG.integers(0, 50, (300, 2))
FIRST, SECOND = PAIRS.T
FOUND = np.nonzero(RNG.random((20, 30)) > 0.5)
TABLE = RNG.integers(0, 50, (40, 60))
SHAPES = {
    "column": FIRST,
    "every second": np.arange(100)[::2] % 50,
    "backwards": RNG.integers(0, 50, 90)[::-1],
    "backwards by three": RNG.integers(0, 50, 90)[::-3],
    "a row": TABLE[3],
    "a column backwards": TABLE[::-1, 7],
    "bytes": RNG.integers(0, 50, (60, 2)).astype(np.int8)[:, 1],
}
MATRICES = {
    "turned": TABLE.T,
    "gaps": TABLE[::2, ::3],
    "gaps turned": TABLE[::2, ::3].T,
    "upside down": TABLE[::-1],
    "from right to left": TABLE[:, ::-2],
    "all": TABLE[::-2, ::-3].T,
    "three axes": RNG.integers(0, 50, (6, 8, 10))[::-1, 1:7, ::2],
}


def numbers(n: int) -> np.ndarray:
    return np.random.default_rng(n).random(n)


def check(f: Callable, *args: np.ndarray) -> None:
    assert not trace(f, args).unrolled
    plan = planned_ad.compile(f, args, check=False)
    assert plan(*args) == pytest.approx(f(*args), rel=1e-13)
    direction, step = numbers(len(args[0])), 1e-6
    slope = (f(args[0] + step * direction, *args[1:]) - f(args[0] - step * direction, *args[1:])) / (2 * step)
    found = plan.gradient(*args)
    assert (found[0] if len(args) > 1 else found) @ direction == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("part", [1, 2])
def test_by_an_index(name: str, part: int) -> None:
    places = SHAPES[name]

    def f(x):
        total = 0.0
        for k in range(len(places) // part):
            total += np.sin(x[places[k]]) * (k + 1)
        return total

    check(f, numbers(50))


@pytest.mark.parametrize("name", SHAPES)
def test_item_by_item(name: str) -> None:
    places = SHAPES[name]

    def f(x):
        total, weight = 0.0, 1.0
        for place in places:
            weight = 0.99 * weight
            total += np.sin(x[place]) * weight
        return total

    check(f, numbers(50))


@pytest.mark.parametrize("name", MATRICES)
def test_by_two_indices(name: str) -> None:
    places = MATRICES[name] if MATRICES[name].ndim == 2 else MATRICES[name][1]

    def f(x):
        total = 0.0
        for i in range(places.shape[0]):
            for j in range(i % 2, places.shape[1] - 1):
                total += x[places[i, j]] * x[places[i, j + 1]] ** 2
        return total

    check(f, numbers(50))


@pytest.mark.parametrize("name", MATRICES)
def test_row_by_row(name: str) -> None:
    places = MATRICES[name]

    def f(x):
        total, weight = 0.0, 1.0
        for k, row in enumerate(places):
            weight *= 0.98
            total += np.sum(np.sin(x[row])) * weight + np.sum(x[places[k, ..., 1]]) * weight
        return total

    check(f, numbers(50))


def test_one_number_again_and_again() -> None:
    places = np.broadcast_to(np.int64(7), (40,))

    def f(x):
        return sum(np.sin(x[place]) * (k + 1) for k, place in enumerate(places))

    x = numbers(50)
    assert planned_ad.compile(f, x, check=False)(x) == pytest.approx(f(x), rel=1e-13)


def test_two_of_them() -> None:
    rows, columns = FOUND

    def f(u, v):
        total = 0.0
        for i, j in zip(rows, columns):
            total += np.sin(u[i]) * v[j]
        for i, j in zip(FIRST[:20], SECOND[:20]):
            total += u[i % 20] * v[j % 30]
        return total

    check(f, numbers(20), numbers(30))
