"""What Python calls by itself: handlers of `singledispatch`, `__bool__` and its like; tables that data look into."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch, singledispatchmethod

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import IndexRangeError

from .sweeps import name_of

WEIGHTS = [math.sin(1.3 * k) for k in range(64)]


class Circle:
    def __init__(self, radius):
        self.radius = radius


class Square:
    def __init__(self, side):
        self.side = side


class Ring(Circle):
    pass


@singledispatch
def area(shape):
    return shape * shape


@area.register
def _(shape: Circle, scale=2.0):
    return scale * math.sin(shape.radius)


@area.register
def _(shape: Square):
    total = 0.0
    for k in range(50):
        total = total + shape.side * k
        if total > 300:
            total -= 10 * shape.side
    return total


@area.register(list)
def of_all(shapes):
    return sum(area(shape) for shape in shapes)


@area.register(np.ndarray)
def of_array(values):
    return np.sum(values**3)


class Visitor:
    @singledispatchmethod
    def visit(self, item):
        return math.cos(item)

    @visit.register
    def _(self, item: Circle):
        return max(item.radius, 0.2) ** 2


class Truth:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return self.x > 0.5

    def __float__(self):
        return float(2 * self.x)

    def __index__(self):
        return int(abs(self.x))


def by_class(x):
    shapes = [Circle(x[0]), Square(x[1]), Ring(x[2]), float(x[0])]
    return area(shapes) + area(Circle(x[2]), scale=3.0) + area(x) + area(2)


def in_a_loop(x):
    total = 0.0
    for k in range(40):
        shape = Circle(x[k % 3]) if x[k % 3] > 0.4 else Square(x[k % 3])
        total = 0.9 * total + area(shape)
    return total


def by_method(x):
    visitor = Visitor()
    return visitor.visit(Circle(x[0])) + visitor.visit(float(x[1])) * visitor.visit(Ring(x[2]))


def made_here(x):
    @singledispatch
    def size(value):
        return value * 3.0

    @size.register
    def _(value: np.ndarray):
        return np.sum(np.sin(value))

    return size(x) * size(float(x[0]))


def truths(x):
    total = 0.0
    for k in range(40):
        truth = Truth(float(x[0]) * WEIGHTS[k])
        if truth:
            total += truth.x**2
        total += (Truth(float(x[1]) * WEIGHTS[k]) or Truth(0.3)).x
    return total if any(Truth(float(x[2]) * w) for w in WEIGHTS[:9]) else 2 * total


def truths_in_a_while(x):
    truth, count = Truth(float(x[0]) + 1.0), 0
    while truth:
        truth.x -= 0.03 * float(x[1]) + 0.01
        count += 1
    return truth.x * count + x[2]


def numbers(x):
    class Local:
        def __init__(self, value):
            self.value = value

        def __float__(self):
            return 3.0 * self.value

    return float(Truth(float(x[0]))) ** 2 + math.sin(Local(float(x[1]))) + math.atan2(Truth(float(x[2])), 2.0)


def places(x):
    found = [x[0], x[0] * x[1], x[2] ** 3, 1.0][Truth(4 * float(x[1]))]
    return found + sum(x[2] * k for k in range(Truth(5 * float(x[0]))))


PROGRAMS = [by_class, in_a_loop, by_method, made_here, truths, truths_in_a_while, numbers, places]


def check(f: Callable, inputs: np.ndarray) -> None:
    plan, direction = planned_ad.compile(f, (inputs[0],), check=False), np.array([0.3, -0.7, 0.5])
    for x in inputs:
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("f", PROGRAMS, ids=name_of)
def test_value_and_slope(f: Callable) -> None:
    check(f, np.random.default_rng(0).uniform(0.15, 0.9, size=(4, 3)))


def test_handlers_that_are_registered_later() -> None:
    class Later(Circle):
        pass

    def f(x):
        return area(Later(x[0]))

    x = np.array([0.3, 0.5, 0.7])
    plan = planned_ad.compile(f, (x,))
    assert plan(x) == pytest.approx(2.0 * math.sin(0.3))
    area.register(Later, lambda shape: 10 * shape.radius)
    assert plan(x) == pytest.approx(3.0) and plan.gradient(x)[0] == pytest.approx(10.0)


# Tables that data look into.

RATES = [1.2, 1.0, 0.7, 0.5, 0.3]
STAGES = [("emergence", 1.0), ("growth", 5.0), ("flowering", 3.0)]
BY_LEVEL = {2: 0.5, 3: 0.25, 4: 2.0}


def rates(x):
    total = 0.0
    for k in range(40):
        total += RATES[min(int(x[0] * k), 4)] * x[1] + RATES[-1 - int(x[2] > 0.1 * k)]
    return total


def stages(x):
    stage, heat, total = 0, 0.0, 0.0
    for day in range(60):
        heat += x[0] * (1.0 + 0.3 * math.sin(day))
        total += math.sqrt(heat) * x[1]
        if heat > STAGES[stage][1]:
            heat -= STAGES[stage][1]
            stage = min(stage + 1, 2)
        if STAGES[stage][0] == "flowering":
            total += heat
    return total


def levels(x):
    level, total = 3, 0.0
    for k in range(40):
        if math.sin(k * x[0]) > 0.2:
            level = min(level + 1, 4)
        elif math.sin(k * x[1]) < 0.1:
            level = max(level - 1, 2)
        total += BY_LEVEL[level] * x[2] * k
    return total


@pytest.mark.parametrize("f", [rates, stages, levels], ids=name_of)
def test_tables_that_data_look_into(f: Callable) -> None:
    inputs = np.random.default_rng(1).uniform(0.15, 0.9, size=(4, 3))
    check(f, inputs)
    assert not planned_ad.compile(f, (inputs[0],)).explain().fallbacks


def test_what_is_not_in_a_table_is_the_functions_error() -> None:
    def beyond(x):
        total = 0.0
        for k in range(40):
            total += RATES[int(x[0] * k)] * x[1]
        return total

    def missing(x):
        level, total = 3, 0.0
        for k in range(40):
            if k * x[0] > 30:
                level = level - 1
            total += BY_LEVEL[level] * x[2]
        return total

    x = np.array([0.1, 0.5, 0.7])
    for f, error in ((beyond, IndexError), (missing, KeyError)):
        plan = planned_ad.compile(f, (x,))
        assert plan(x) == pytest.approx(f(x)) and not plan.explain().fallbacks
        with pytest.raises((error, IndexRangeError)):
            plan(10 * x)


class Failed(Exception):
    pass


def test_a_step_that_fails_is_a_branch() -> None:
    """An error of the program's own class, which the caller handles; Python's own, which divide by zero, are not."""

    def newton(start, h, k):
        y = start
        for _ in range(8):
            d = -(y - start + h * k * y**3) / (1 + 3 * h * k * y**2)
            y += d
            if abs(d) < 1e-10:
                return y
        raise Failed

    def f(k):
        y, t, h = 1.0, 0.0, 0.5
        while t < 2.0:
            h = min(h, 2.0 - t)
            try:
                following = newton(y, h, k)
            except Failed:
                h /= 4
                continue
            if abs(following - y) > 0.1:
                h *= 0.5
                continue
            t, y, h = t + h, following, 1.5 * h
        return y

    plan = planned_ad.compile(f, (1.0,))
    for k in (1.0, 5.0, 0.3, 30.0):
        assert plan(k) == pytest.approx(f(k), rel=1e-12)
        slope = (f(k * (1 + 1e-6)) - f(k * (1 - 1e-6))) / (2e-6 * k)
        assert plan.gradient(k) == pytest.approx(slope, rel=1e-5)
    assert not plan.explain().fallbacks and {guard.what for guard in plan.explain().guards} <= {"max_steps"}
