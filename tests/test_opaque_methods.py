"""Methods of enumerations and of objects that are texts or numbers are traced, and are as they were afterwards."""

from __future__ import annotations

import enum
import math
import threading

import numpy as np
import pytest

import planned_ad
from planned_ad.python.opaque_methods import restore_methods, trace_methods

SCALE = 2.0


class Activation(enum.Enum):
    GAUSS, TANH = "gauss", "tanh"

    def __call__(self, x):
        return SCALE * math.exp(-x * x) if self is Activation.GAUSS else math.tanh(x)


class Planet(enum.Enum):
    EARTH, MARS = (5.97, 6.37), (0.64, 3.39)

    def __init__(self, mass, radius):
        self.mass, self.radius = mass, radius

    @property
    def gravity(self):
        return self.mass / self.radius**2

    def period(self, length):
        return math.sqrt(length / self.gravity)

    @classmethod
    def longest(cls, length):
        return max(planet.period(length) for planet in cls)


class Unit(str):
    def to_base(self, x):
        return math.exp(x) if self == "log" else float(x)


class Power(int):
    def of(self, x):
        return math.pow(x, self)


LOG, CUBE = Unit("log"), Power(3)


def members(x):
    return sum(activation(x[0]) for activation in Activation)


def by_argument(x, activation=Activation.TANH):
    total = 0.0
    for v in x:
        total += activation(v)
    return total


def properties(x):
    return Planet.MARS.period(x[0]) * Planet["EARTH"].gravity + Planet.longest(x[1])


def texts_and_numbers(x):
    return LOG.to_base(x[0]) * CUBE.of(x[1])


@pytest.mark.parametrize("f", [members, by_argument, properties, texts_and_numbers])
def test_methods_are_traced(f) -> None:
    x, direction = np.array([0.3, 1.7]), np.array([0.4, -0.7])
    plan, before = planned_ad.compile(f, (np.array([0.5, 0.9]),)), vars(Activation)["__call__"]
    value, gradient = plan.value_and_gradient(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    slope = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    assert gradient @ direction == pytest.approx(slope, rel=1e-7)
    assert vars(Activation)["__call__"] is before and not hasattr(before, "__wrapped__")


def test_what_they_read_outside_is_watched(monkeypatch) -> None:
    plan = planned_ad.compile(members, (np.array([0.3, 1.7]),))
    x = np.array([0.2, 0.1])
    monkeypatch.setattr(f"{__name__}.SCALE", 5.0)
    assert plan(x) == pytest.approx(members(x), rel=1e-14)


class Trace:
    def __init__(self, name):
        self.name = name

    def function(self, f):
        return lambda *args: self.name


def test_other_threads_run_them_as_they_are() -> None:
    seen: list[object] = []
    outer, inner = Trace("outer"), Trace("inner")
    trace_methods(Activation, outer)
    trace_methods(Activation, inner)
    assert Activation.TANH(0.5) == "inner"
    thread = threading.Thread(target=lambda: seen.append(Activation.TANH(0.5)))
    thread.start()
    thread.join()
    restore_methods(inner)
    assert (Activation.TANH(0.5), *seen) == ("outer", math.tanh(0.5))
    restore_methods(outer)
    assert Activation.TANH(0.5) == math.tanh(0.5)


def test_an_error_leaves_them_as_they_were() -> None:
    before = vars(Planet)["period"]

    def f(x):
        return math.ldexp(Planet.EARTH.period(x), x)

    with pytest.raises(Exception, match="ldexp"):
        planned_ad.compile(f, (0.3,))
    assert vars(Planet)["period"] is before


class ReadOnly(property):
    def getter(self, fget):
        raise AttributeError("it has one")


class Length(float):
    def __new__(cls, value):
        return float.__new__(cls, value)

    @ReadOnly
    def doubled(self):
        return math.ldexp(self, 1) + 0.0 * math.sin(self)


class Count(int):
    def __new__(cls, value):
        return int.__new__(cls, value)


def test_properties_of_a_class_of_the_programs() -> None:
    length = Length(1.5)

    def f(x):
        return x[0] * length * length.doubled + x[1] ** Count(3)

    x = np.array([2.0, 0.5])
    np.testing.assert_allclose(planned_ad.compile(f, (x,)).gradient(x), [4.5, 0.75])
    assert type(vars(Length)["doubled"]) is ReadOnly
