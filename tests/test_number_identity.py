"""Which number is which: `max` and `min` give one of theirs, which a program may tell apart with `is`."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest

import planned_ad


def one_of_two(x):
    a, b = x[0] ** 2, x[1] ** 2
    return 2 * a if max(a, b) is a else 3 * b


def by_a_key(x):
    a, b = x[0] * 2, x[1] * 2
    return 2 * a if max(a, b, key=abs) is a else 3 * b


def reduced(x):
    numbers = [v * 2 for v in x]
    best = functools.reduce(max, numbers)
    return sum(3 * v if v is best else v for v in numbers)


def of_a_list(x):
    numbers = [v * v for v in x]
    least = min(numbers)
    return sum(3 * v for v in numbers if v is not least)


def by_id(x):
    numbers = [v * 2 for v in x]
    best = min(numbers, key=lambda v: -v)
    place = [id(v) for v in numbers].index(id(best))
    return numbers[place] * (place + 1)


def by_operator(x):
    a, b = x[0] ** 2, x[1] ** 2
    return 2 * a if operator.is_(max(a, b, 0.3), a) else 3 * b


def in_a_loop(x):
    s = 0.0
    for k in range(len(x) - 1):
        a, b = x[k] ** 2, x[k + 1] ** 2
        s += 2 * a if max(a, b) is a else 3 * b
    return s


def within_bounds(x):
    def bounded(v):
        w = max(0.0, min(v, 1.0))
        return w if w is v else w * 5

    return sum(bounded(v) for v in x)


PROGRAMS = (one_of_two, by_a_key, reduced, of_a_list, by_id, by_operator, in_a_loop, within_bounds)


@pytest.mark.parametrize("f", PROGRAMS)
def test_the_number_that_is_chosen_is_one_of_them(f) -> None:
    rng = np.random.default_rng(3)
    plan = planned_ad.compile(f, (rng.uniform(-1, 2, 6),))
    for x in rng.uniform(-1, 1.3, (6, 6)):
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-13)


def test_a_choice_that_nobody_tells_apart_is_data() -> None:
    def f(x):
        best = max(x[0], x[1] ** 2)
        return best * 2 if best is not None else 0.0

    plan = planned_ad.compile(f, (np.array([0.1, 0.6]),))
    assert plan(np.array([0.9, 0.1])) == 1.8
    assert "guards" not in str(plan.explain())
