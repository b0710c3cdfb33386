"""Masks that choose another number of elements in each iteration, or in each call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BranchError
from planned_ad.trace import trace

N = 24
LOOPS = 20  # more than are unrolled


def means(x, w):
    """Bins, as of an azimuthal integration."""
    out = np.zeros(LOOPS)
    for k in range(LOOPS):
        out[k] = x[w > 0.05 * k - 0.8].mean() * k
    return np.sum(out**2)


def spread(x, w):
    total = 0.0
    for k in range(LOOPS):
        chosen = np.abs(w) < 0.4 + k * 0.05
        v = x[chosen]
        total += np.std(v) + np.sum(v * w[chosen]) + len(v) * x[0] + v.max()
    return total


def clusters(x, w):
    points, label = x.reshape(-1, 2), np.floor(8 * np.abs(w[: N // 2]))
    total = 0.0
    for k in range(LOOPS):
        members = points[label == k]
        total += np.sum((members - 0.1 * k) ** 2) + np.sum(points[np.where(label == k)[0], 1] ** 3)
    return total


def in_place(x, w):
    for k in range(LOOPS):
        m = w > k * 0.1 - 1
        x[m] *= 1.01
        x[~m] += 0.1 * w[~m]
        x[m] = np.sin(x[m])
        x[x > 0.9] = 0.9
    return np.sum(x * x)


def all_axes(x, w):
    table, total = x.reshape(4, -1), 0.0
    for k in range(LOOPS):
        total += np.sum(np.exp(table[table > 0.05 * k]))
        rows, columns = np.nonzero(table > 0.1 * k)
        total += np.sum(table[rows, 0]) * 0.1 + np.sum(columns)
    return total


def visited(x, w):
    total = 0.0
    for k in range(LOOPS):
        for i in np.flatnonzero(w > 0.05 * k):
            total += x[i] * np.sin(x[i]) * k
    return total


def arguments(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(N), rng.standard_normal(N)


def agrees(plan: planned_ad.Plan, f: Callable, x: np.ndarray, w: np.ndarray) -> None:
    """Value, gradient and second derivative, for other numbers of chosen elements than those of the example."""
    assert plan(x.copy(), w.copy()) == pytest.approx(f(x.copy(), w.copy()), rel=1e-12)
    gradient, direction = plan.gradient(x.copy(), w.copy())[0], np.cos(np.arange(N))
    difference = f(x + 1e-6 * direction, w.copy()) - f(x - 1e-6 * direction, w.copy())
    assert gradient @ direction == pytest.approx(difference / 2e-6, rel=1e-5)

    def slope(t: float) -> np.ndarray:
        return plan.gradient(x + t * direction, w.copy())[0]

    second = plan.hvp(x.copy(), w.copy(), direction, np.zeros(N))[0]
    np.testing.assert_allclose(second, (slope(1e-5) - slope(-1e-5)) / 2e-5, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("f", [means, spread, clusters, in_place, all_axes, visited])
def test_in_loops(f: Callable) -> None:
    plan = planned_ad.compile(f, arguments(0))
    assert not plan.explain().fallbacks
    for seed in (1, 2):
        agrees(plan, f, *arguments(seed))
    assert len(plan._variants) == 1


def hinge(x, w):
    margin = 1 - x * w
    return np.sum(margin[margin > 0] ** 2) + 0.1 * np.sum(x * x)


def written(x, w):
    y = np.zeros_like(x)
    y[w > 0] = np.sin(x[w > 0])
    y[w <= 0] = x[w <= 0] ** 2
    return y @ np.cos(w)


def places(x, w):
    i = np.argwhere(x > 0).ravel()
    return np.sum(x[i] ** 2 * w[np.argwhere(x > 0)[:, 0]]) * np.cumprod(1.0 + 0.1 * x[i])[-1]


@pytest.mark.parametrize("f", [hinge, written, places])
def test_outside_of_loops_the_second_trace_is_for_any_number(f: Callable) -> None:
    plan = planned_ad.compile(f, arguments(0))
    for seed in range(1, 6):
        agrees(plan, f, *arguments(seed))
    assert len(plan._variants) == 1


def test_what_needs_its_length_is_traced_for_each_number() -> None:
    def f(x, w):
        return np.sum(np.tanh(np.outer(x[w > 0], x[w > 0]).ravel()[::3]))

    plan = planned_ad.compile(f, arguments(0))
    counts = {np.count_nonzero(arguments(seed)[1] > 0) for seed in range(5)}
    for seed in range(5):
        agrees(plan, f, *arguments(seed))
    assert len(plan._variants) == len(counts) > 1


def test_what_is_put_where_one_number_is_chosen() -> None:
    """In one line masks choose any number, in another as many as they did then: what is put there is of any length."""
    weights = np.arange(12.0).reshape(6, 2)

    def f(x):
        y, chosen = np.zeros(6), x > 0
        products = x[chosen, None] * weights[chosen]
        y[chosen] = products.sum(1) + x[chosen]
        return y @ y

    none = -np.ones(6)
    one, two = (np.where(np.arange(6) < n, 1.5, none) for n in (1, 2))
    plan = planned_ad.compile(f, none, check=False)
    for x in (none, one, two, one, none, two):
        assert plan(x) == pytest.approx(f(x), rel=1e-14)
        slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        assert np.sum(plan.gradient(x)) == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_many_masks_of_masks() -> None:
    """Places that are found in ever more steps are put into memory: what is assigned to them is not."""

    def f(x):
        y, alive = x.copy(), np.arange(len(x))
        for _ in range(14):
            alive = alive[y[alive] > 0]
            if len(alive) == 0:
                break
            y[alive] = y[alive] - 0.1
        return y @ y

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, np.full(2, 0.05), check=False)
    for _ in range(4):
        x = rng.uniform(0.0, 1.5, 2)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + 1e-7) - f(x - 1e-7)) / 2e-7
        assert np.sum(plan.gradient(x)) == pytest.approx(slope, rel=1e-5, abs=1e-8)


def test_ways_on_which_what_is_chosen_needs_its_length() -> None:
    """That another way is for any number does not keep this one from being traced for each."""

    def f(x):
        chosen = x[x > 0]
        return np.sum(np.convolve(chosen, [1.0, 2.0, 1.0])) if len(chosen) else 0.0 * x[0]

    every = np.ones(5)
    plan = planned_ad.compile(f, every)
    for x in (every, -every, np.arange(5.0) - 1.5, every, -every, np.arange(5.0) - 0.5):
        assert plan(x) == pytest.approx(f(x), rel=1e-14)


def test_on_branch_raise_holds_for_masks() -> None:
    plan = planned_ad.compile(hinge, arguments(0), on_branch="raise")
    with pytest.raises(BranchError, match="count: not"):
        for seed in range(1, 6):
            plan(*arguments(seed))


def test_a_mask_of_another_length_is_numpys_error() -> None:
    def f(x, w):
        total = 0.0
        for k in range(LOOPS):
            total += np.sum(x[w[1:] > k])
        return total

    with pytest.raises(IndexError, match="boolean index did not match"):
        trace(f, arguments(0))


def test_the_cotangent_of_what_a_mask_of_two_axes_chooses_from_is_one() -> None:
    """It is not made anew for each chosen element: the work grows with their number, and not with its square."""

    def f(x, y):
        total = 0.0
        for k in range(len(x)):
            d = x[k][:, None] - x[k][None, :]
            total += np.log(np.prod(1.0 + d[y[k][:, None] > y[k][None, :]] ** 2))
        return total

    x, y = np.random.default_rng(0).normal(size=(2, 20, 6))
    plan = planned_ad.compile(f, (x, y))
    steps = 1e-6 * np.random.default_rng(1).normal(size=x.shape)
    slope = (f(x + steps, y) - f(x - steps, y)) / 2
    np.testing.assert_allclose(np.sum(plan.gradient(x, y)[0] * steps), slope, rtol=1e-6)
    sweep = plan.listing().split("# step")
    inner = [step for step in sweep if "reverse" in step.splitlines()[0] and "[:s" in step]
    assert inner
    after = sweep[sweep.index(inner[0]) + 1 :]
    depth = [len(line) - len(line.lstrip()) for step in after for line in step.splitlines() if "in [36]" in line]
    assert not [d for d in depth if d > 4], "a pass over all elements in the loop over the chosen ones"
