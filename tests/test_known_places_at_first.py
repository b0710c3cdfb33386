"""Places that are known in the first iteration and traced in the others: what is written there is the loop's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

N = 20


def loop(step: Callable, x: np.ndarray, arrays: tuple[np.ndarray, ...]) -> None:
    z = np.zeros(N)
    for _ in range(N):
        mask = np.abs(z) < 2
        step(z, mask, *arrays)
        z = z + x * x * mask


def added_to(z, mask, a, b):
    a[mask] += 1


def assigned(z, mask, a, b):
    a[mask] = a[mask] + 1


def at_indices(z, mask, a, b):
    a[np.flatnonzero(mask)] -= 0.5
    np.add.at(a, np.where(mask), 1.0)


def at_the_least(z, mask, a, b):
    a[np.argsort(z)[:2]] += 1


def a_column(z, mask, a, b):
    b[mask, 0] += 1
    b[~mask] += 2


def a_view(z, mask, a, b):
    v = a[1:]
    v[mask[1:]] += 1


def flat(z, mask, a, b):
    b.flat[np.flatnonzero(mask)] += 1


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("step", [added_to, assigned, at_indices, at_the_least, a_column, a_view, flat])
def test_values_and_slopes(step: Callable, check: bool) -> None:
    def f(x):
        a, b = np.zeros(N), np.zeros((N, 2))
        loop(step, x, (a, b))
        return np.sum(a * x) + np.sum(b[:, 0] * x) - np.sum(b[:, 1] * x**2)

    rng = np.random.default_rng(0)
    plan, direction = planned_ad.compile(f, (rng.uniform(-1, 1, N),), check=check), 1e-7 * rng.normal(size=N)
    for _ in range(2):
        x = rng.uniform(-1, 1, N)
        value, gradient = plan.value_and_gradient(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        assert gradient @ direction == pytest.approx((f(x + direction) - f(x - direction)) / 2, rel=1e-5)


def test_numbers_of_the_program_stay_as_they_are() -> None:
    """Of the array that a loop writes to, the plan has what it held before."""

    def f(x):
        a = np.zeros(N)
        loop(added_to, x, (a, a))
        return a @ x

    plan = planned_ad.compile(f, (np.zeros(N),), check=False)
    assert plan(np.ones(N)) == f(np.ones(N)) < plan(0.1 * np.ones(N)) / 0.1
