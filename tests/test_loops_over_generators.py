"""`for` over generators: what is in them and what takes their items is one loop, or each item is recorded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .generator_programs import FOLLOWED, UNROLLED, averages
from .interpreted_plans import InterpretedPlan
from .random_generator_programs import function
from .sweeps import name_of

PROGRAMS = [*FOLLOWED, *(f for f, _ in UNROLLED)]


def check(f: Callable, rng: np.random.Generator, unroll: int, inputs: int) -> None:
    """Value and a slope, at other inputs than the example."""
    plan, direction = InterpretedPlan(f, rng.normal(size=12), unroll=unroll), rng.normal(size=12)
    for scale in (*[1.0] * (inputs - 1), 0.3):
        x, step = scale * rng.normal(size=12), 1e-7
        assert plan(x.copy()) == pytest.approx(f(x.copy()), rel=1e-12)
        slope = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
        assert np.sum(plan.gradient(x.copy()) * direction) == pytest.approx(slope, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("f", PROGRAMS, ids=name_of)
def test_value_and_slope(f: Callable) -> None:
    check(f, np.random.default_rng(0), 0, 5)


@pytest.mark.parametrize("f", FOLLOWED, ids=name_of)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(1).normal(size=12),), unroll=0)
    assert found.rolled and not found.unrolled


@pytest.mark.parametrize(("f", "reason"), UNROLLED, ids=name_of)
def test_what_is_unrolled_says_why(f: Callable, reason: str) -> None:
    found = trace(f, (0.5 + np.random.default_rng(1).random(size=12),), unroll=0)
    assert any(reason in unrolled.reason for unrolled in found.unrolled)


@pytest.mark.parametrize("seed", [*range(8, 16), *(pytest.param(n, marks=pytest.mark.long) for n in range(16, 300))])
def test_random_programs(seed: int) -> None:
    check(function(seed), np.random.default_rng(seed), 0, 3)


def test_length_does_not_matter() -> None:
    """10,000 items take no longer to trace than 100."""

    def f(x):
        def moving():
            mean = 0.0
            for v in x:
                mean = 0.9 * mean + v
                yield mean

        total = 0.0
        for k, mean in enumerate(moving()):
            total = 0.5 * total + mean * k
        return total

    short, long = (trace(f, (np.ones(n),)).tape.operations for n in (100, 10_000))
    assert len(short) == len(long)


def test_a_generator_that_is_closed_in_the_body() -> None:
    def f(x):
        def squares():
            for v in x:
                yield v * v

        items, total = squares(), 0.0
        for k, v in enumerate(items):
            total += v
            if k == 5:
                items.close()
        return total

    x = np.random.default_rng(0).normal(size=40)
    assert planned_ad.grad(f)(x) == pytest.approx(np.where(np.arange(40) < 6, 2 * x, 0.0))


def written_before_it_is_read(x):
    y, total = x * 1.0, 0.0

    def doubled():
        for k in range(len(y)):
            y[k] = y[k] * 2
            yield y[k]

    for a, b in zip(y, doubled()):
        total += np.sin(total) + a * b
    return total


def written_after_the_generator(x):
    y, total = x * 1.0, 0.0

    def doubled():
        for k in range(len(y)):
            y[k] = y[k] * 2
            yield y[k]

    for a, b in zip(doubled(), y):
        total += np.sin(total) + a * b
    return total


def beside_a_list_that_grows(x):
    found, total = [x[0]], 0.0
    for a, b in zip(averages(x), found):
        total += a * b
        found.append(b * 0.5)
    return total + len(found)


def behind_a_list_that_grows(x):
    found, total = [x[0]], 0.0
    for b, a in zip(found, averages(x)):
        total += a * b
        found.append(b * 0.5)
    return total + len(found)


@pytest.mark.parametrize(
    "f",
    [written_before_it_is_read, written_after_the_generator, beside_a_list_that_grows, behind_a_list_that_grows],
    ids=name_of,
)
@pytest.mark.parametrize("unroll", [0, 16])
def test_what_zip_reads_and_when(f: Callable, unroll: int) -> None:
    check(f, np.random.default_rng(0), unroll, 4)
