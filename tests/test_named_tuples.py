"""Named tuples, as the state of a loop and where NumPy reads them as sequences."""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import InterpretedPlan
from .sweeps import name_of

STEPS = 40


class State(NamedTuple):
    x: float
    v: float


class Point(namedtuple("Point", "x y z")):
    def __add__(self, other):
        return Point(*np.add(self, other))

    def dot(self, other):
        return np.dot(self, other)


def read_by_functions(x):
    p, q = Point(*x[:3]), Point(*x[3:6])
    return np.linalg.norm(p + q) + p.dot(q) + np.sum(np.cross(p, q)) + np.max(p) + np.array(p)[1] * np.mean(q)


def read_by_operators(x):
    a, p = np.arange(9.0).reshape(3, 3), Point(*x[:3])
    return np.sum(a @ p) + np.sum(p @ a * p) + np.sum((x[3:6] - p) ** 2)


def assigned(x):
    a = np.array([State(x[0], x[1]), (x[2], 1.0)])
    a[1] = State(x[3], a[0, 1])
    return np.sum(a**2)


def in_lists(x):
    points = [Point(x[k % 6], x[(k + 1) % 6], 1.0) for k in range(STEPS)]
    return np.sum((np.asarray(points) - np.mean(points, axis=0)) ** 2)


def of_python_first(x):
    s, total = State(0.0, 0.0), 0.0
    for k in range(STEPS):
        s = State(s.x + 0.1 * s.v, s.v - np.sin(s.x) * x[0] + x[k % 6])
        total += s.x**2
    return total + s.v


def kept(x):
    s, states = State(0.0, 0.1), []
    for k in range(STEPS):
        s = s._replace(x=s.x + 0.1 * s.v, v=s.v - 0.1 * np.sin(s.x) * x[k % 6])
        states.append(s)
    a = np.array(states)
    return np.sum(a[:, 0] ** 2) + np.std(a[:, 1])


def chosen(x):
    s, a = State(0.0, x[:2]), x[2:4] * 1.0
    for k in range(STEPS):
        if x[k % 6] > 0.5:
            s = State(s.x + 1.0, a)
            a = a * 0.9
        else:
            s = s._replace(v=s.v + 0.1)
        a[0] += 0.01 * s.v[1]
    return np.sum(s.v * a) + s.x


class Tripled(namedtuple("Tripled", "a b")):
    def __array__(self, dtype=None, copy=None):
        return 3 * np.array([self.a, self.b])


class Added(namedtuple("Added", "a b")):
    __array_ufunc__ = None

    def __radd__(self, other):
        return other * self.a


class Vector(namedtuple("Vector", "a b")):
    def __rmul__(self, other):
        return Vector(other * self.a, other * self.b)

    def __add__(self, other):
        return Vector(self.a + other.a, self.b + other.b)

    def __rsub__(self, other):
        return other - self.a * self.b


def small_vectors(x):
    step = 0.1 * float(x[0])
    v = Vector(x[1], 1.0)
    for _ in range(STEPS):
        v = v + step * v
    return v.a * v.b + (step - v) + float(x[2]) * Vector(x[3], 1.0).b


def repeated(x):
    p, s = Point(1, 2, 3), 0.0
    for k in range(STEPS):
        s = 0.5 * s + x[k % 6] * len(p * k) + len(k * p)
    return s


def arrays_by_themselves(x):
    return np.array(Tripled(x[0], x[1]))[0] + np.sum(x[:2] * Tripled(x[2], 1.0)) + np.sum(x[:2] + Added(x[3], 1.0))


PROGRAMS = [
    small_vectors,
    repeated,
    arrays_by_themselves,
    read_by_functions,
    read_by_operators,
    assigned,
    in_lists,
    of_python_first,
    kept,
    chosen,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=name_of)
def test_values_and_gradients(f):
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(6),), check=False)
    for _ in range(3):
        x, direction, h = rng.random(6), rng.random(6), 1e-6
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + h * direction) - f(x - h * direction)) / (2 * h)
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("f", [of_python_first, kept], ids=name_of)
def test_loops_stay_loops(f):
    assert not InterpretedPlan(f, np.random.default_rng(0).random(6)).traces[0].unrolled


@pytest.mark.parametrize("kind", [tuple, list, State._make])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_number_does_not_repeat_a_sequence(kind, is_first):
    def f(x):
        items = kind([x[0], x[1]])
        return np.sum(x[2] * items if is_first else items * x[2])

    x = np.arange(3.0)
    with pytest.raises(TypeError):
        f(x)
    with pytest.raises(TypeError):
        planned_ad.compile(f, (x,))
