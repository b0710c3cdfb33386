"""Tests of `while` statements that change something: as Python does, they run until a part of them is false."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad


class Sum:
    def __init__(self):
        self.value = 0.0

    def add(self, number):
        self.value += number
        return self.value


def counter_first(x):
    s, n = 0.0, 0
    while n < 6 and (s := s + x[0]) < 1.2:
        n += 1
    return s


def index_first(x):
    s, i = 0.0, 0
    while i < len(x) and (s := s + x[i]) < 1.2:
        i += 1
    return s


def data_first(x):
    a, b = 1.0, 2.0
    while (a := a * x[0]) > 0.1 and (b := b * x[1]) > 0.2:
        pass
    return a + 10 * b


def three_parts(x):
    n, m, s = 0, x[1], 0.0
    while (m := m * x[0]) > 0.1 and n < 6 and (s := s + x[0]) < 1.2:
        n += 1
    return s + m


def by_a_method(x):
    s, n = Sum(), 0
    while n < 6 and s.add(x[0]) < 1.2:
        n += 1
    return s.value


def by_a_variable_around(x):
    s, n = 0.0, 0

    def add():
        nonlocal s
        s += x[0]
        return s

    while n < 6 and add() < 1.2:
        n += 1
    return s


def by_a_list(x):
    parts, n = [], 0

    def add():
        parts.append(x[0] * len(parts))
        return sum(parts)

    while n < 6 and add() < 1.2:
        n += 1
    return sum(parts)


def by_an_array(x):
    a, n = np.zeros(3), 0

    def relax():
        a[0] += x[0]
        a[1] = a[0] * x[1]
        return a[1]

    while n < 7 and relax() < 0.9:
        n += 1
    return a.sum()


def in_a_generator(x):
    def steps():
        s, n = 0.0, 0
        while n < 6 and (s := s + x[0]) < 1.2:
            n += 1
            yield s
        yield s * x[1]

    return sum(v**2 for v in steps())


def with_either(x):
    s, n = x[1], 0
    while n < 8 and (n < 2 or (s := s + x[0]) < 1.2) and (s := s * 1.1) < 5:
        n += 1
    return s


def in_another(x):
    s, n = 0.0, 0
    while n < 5 and (s := s + x[0]) < 2:
        m = 0
        while m < 4 and (s := s + x[0] * x[1]) < n:
            m += 1
        n += 1
    else:
        s *= 2
    return s


def left_otherwise(x):
    s, n = 0.0, 0
    while n < 5 and (s := s + x[0]) < 2:
        n += 1
        if s > 1.5:
            return s * x[1]
        if s < -1.5:
            break
    else:
        s *= 2
    return s


PROGRAMS = (
    counter_first, index_first, data_first, three_parts, by_a_method, by_a_variable_around, by_a_list, by_an_array,
    in_a_generator, with_either, in_another, left_otherwise,
)  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_a_part_runs_only_where_those_before_it_are_true(f) -> None:
    rng, step = np.random.default_rng(5), 1e-6
    plan = planned_ad.compile(f, (np.array([0.5, 0.9]),))
    for x in [np.array([-0.43, 0.52]), np.array([0.13, 0.71]), *rng.uniform(-1, 0.95, (8, 2))]:
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-13, err_msg=str(x))
        slopes = [(f(x + h) - f(x - h)) / (2 * step) for h in np.eye(2) * step]
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-6, atol=1e-7, err_msg=str(x))
