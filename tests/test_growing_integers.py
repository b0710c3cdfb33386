"""Integers that grow by known numbers from iteration to iteration: computed from the index, wherever they begin."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.regions.affine import affine, at, extremes
from planned_ad.tracing.record.limits import Triangle

from .interpreted_plans import InterpretedPlan
from .random_counters import SIZE, function

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 400)]
N = 24


def packed_rows(x):
    """Of a triangle whose rows lie one after the other."""
    place, y = 0, np.zeros(N)
    for i in range(N):
        for j in range(i + 1):
            y[i] += x[place] * x[j]
            place += 1
    return np.sum(y**2)


def packed_columns(x):
    place, y = 0, np.zeros(N)
    for i in range(N):
        for j in range(i + 1, N):
            y[j] += x[place] * x[i]
            place += 1
    return np.sum(y**2)


def backwards(x):
    place, total = N * (N - 1) // 2 - 1, 0.0
    for i in range(N - 1, 0, -1):
        for j in range(i):
            total += x[place] * np.sin(x[j]) * x[i]
            place -= 1
    return total


def twice_a_triangle(x):
    total = 0.0
    for _ in range(2):
        place = 0
        for i in range(N):
            place += i
            total += x[place] * x[i]
    return total


def from_data(x):
    """Begins where data say."""
    place, total = int(x[0] > 0.0) + 2, 0.0
    for i in range(N):
        total += x[place] * x[i] * x[i]
        place += 3
    return total * place


def left_early(x):
    place, total = 0, 0.0
    for i in range(N):
        place += i
        total += x[place] * x[i]
        if total > 0.5:
            break
    return total * place


def begun_again(x):
    """Counts within each row; `place` is read after the loop that counts."""
    total = 0.0
    for i in range(N):
        place = 0
        for j in range(i + 1):
            place += j
        total += x[place] * x[i]
    return total


def left_or_not_begun(x):
    """Inner loops that are left early, or have no iteration."""
    total, count = 0.0, 1
    for i in range(N):
        for j in range(5):
            place = 0
            for _ in range(j):
                place += 1
                count += 1
                if x[place] > 1.0:
                    break
            total += place * x[i] + 0.1 * count * x[j]
    return total


def left_within_two_others(x):
    """Of which the outer ones have iterations that are recorded apart, each a side of the one before."""
    total, count = 0.0, 3
    for _ in range(20):
        for _ in range(18):
            for _ in range(17):
                if count % 2 == 0:
                    total += x[count % 30]
                count -= 1
                if x[count % 30] > 1.2:
                    break
    return total + count


PROGRAMS = [
    packed_rows,
    packed_columns,
    backwards,
    twice_a_triangle,
    from_data,
    left_early,
    begun_again,
    left_or_not_begun,
    left_within_two_others,
]


def assert_right(f, plan, size, inputs):
    rng = np.random.default_rng(1)
    for _ in range(inputs):
        x, step = rng.normal(size=(2, size))
        assert plan(x) == pytest.approx(f(x), rel=1e-10, abs=1e-10)
        slope = (f(x + 1e-6 * step) - f(x - 1e-6 * step)) / 2e-6
        assert plan.gradient(x) @ step == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=N * (N + 1) // 2)


@pytest.mark.parametrize("f", PROGRAMS)
def test_value_and_slope(f, x):
    plan = planned_ad.compile(f, (x,), check=False)
    assert_right(f, plan, x.size, 3)
    assert len(plan._variants) == 1


@pytest.mark.parametrize("f", PROGRAMS[:4])
def test_nothing_is_kept_of_them_and_no_index_is_tested(f, x):
    found = planned_ad.compile(f, (x,)).explain()
    assert not any(cached.value.dtype == np.int64 for cached in found.cached)
    assert not found.guards


@pytest.mark.parametrize(
    "f, least", [(packed_rows, 300), (packed_columns, 276), (twice_a_triangle, 277), (begun_again, 277)]
)
def test_places_beyond_the_end(f, least, x):
    assert planned_ad.compile(f, (x[:least].copy(),), check=False)(x[:least].copy()) == pytest.approx(f(x[:least]))
    with pytest.raises(IndexError):
        planned_ad.compile(f, (x[: least - 1].copy(),), check=False, unroll=0)(x[: least - 1].copy())


@pytest.mark.parametrize("f", [packed_rows, packed_columns])
def test_what_they_index_is_neighbours(f, x):
    """The rows are array operations, backwards too."""
    lines = planned_ad.compile(f, (x,)).listing().splitlines()
    loops = [line.strip() for line in lines if line.lstrip().startswith("for ")]
    assert sum("range" in loop for loop in loops) == 2  # over the rows, forwards and backwards
    assert len(loops) > 2


@pytest.mark.parametrize("seed", [*range(10), *LONG])
def test_random_programs(seed):
    f = function(seed)
    plan = InterpretedPlan(f, np.random.default_rng(seed).normal(size=2 * SIZE), unroll=16 * (seed % 2))
    assert_right(f, plan, 2 * SIZE, 3)


def test_an_index_error_in_a_while_loop_is_the_functions_own(x):
    def f(x):
        total, q, a = 0.0, 0, 0
        while q < 4:
            q += 1
            a += 200
            total += x[a]
        return total

    for options in ({}, {"unroll": 0}):
        with pytest.raises(IndexError):
            planned_ad.compile(f, (x,), check=False, **options)(x)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_of_triangles_are_those_of_all_iterations(seed):
    """Loops around each other, of which the inner ones run to expressions of the outer ones."""
    rng = np.random.default_rng(seed)
    n, growth, factor = int(rng.integers(1, 12)), int(rng.choice([-3, -1, 1, 2])), int(rng.choice([-2, -1, 1, 3]))
    slope, start, inner, moved = (int(k) for k in rng.integers(-5, 6, size=4))
    rest = affine(start, {0: slope, 1: inner})
    last = affine(n + abs(moved), {0: 1 if moved > 0 else -1})  # of the inner loop, at least one iteration
    ranges = {0: (0, n), 1: (0, last)}
    found = Triangle(0, growth).bounds(factor, rest, ranges, lambda e: extremes(e, ranges))
    numbers = [
        factor * growth * (k * (k - 1) // 2) + at(rest, {0: k, 1: j})
        for k in range(n + 1)
        for j in range(at(last, {0: k}) + 1)
    ]
    assert found is not None
    assert found[0] <= min(numbers) and max(numbers) <= found[1]
    assert found == (min(numbers), max(numbers))
