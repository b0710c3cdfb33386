"""What traced code is told of the classes above and below one, and of all names of a module."""

from __future__ import annotations

import abc
import inspect
import linecache
import math
import sys
import traceback

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import UnsupportedError

RATE_SLOW, RATE_FAST = 2.0, 3.0


class Model:
    names = ("a",)
    weight = 1.0

    def __init__(self, x):
        self.a, self.b = x[0], x[1]

    def energy(self):
        return self.weight * self.a

    def all_names(self):
        return [getattr(self, n) for c in type(self).__mro__ for n in c.__dict__.get("names", ())]


class Sub(Model):
    names = ("b",)
    weight = 2.0


class Other(Model):
    weight = 3.0

    def energy(self):
        return self.b * 2.0


def attributes_of_all_bases(x):
    return sum(v * v for v in Sub(x).all_names())


def of_all_derived(x):
    return sum(c.weight * c(x).energy() for c in Model.__subclasses__())


def lengths(x):
    return x[0] * len(Sub.__mro__) + x[1] * len(Sub.__bases__) + x[2] * [c.__name__ for c in Other.mro()].index("Model")


def of_inspect(x):
    return x[0] * len(inspect.getmro(type(Sub(x))))


def by_identity(x):
    kind = type(Sub(x))
    return (
        x[0] * (kind.__base__ is Model)
        + x[1] * (kind.__mro__ == (Sub, Model, object))
        + x[2] * kind.__bases__.count(Model)
    )


def methods_of_bases(x):
    o = Other(x)
    return sum(c.energy(o) * (k + 1) for k, c in enumerate(type(o).__mro__[:-1]))


def classes_made_inside(x):
    class Local(Sub):
        weight = 5.0

    made = type("Made", (Other,), {"weight": 7.0})
    return Local(x).energy() * len(Local.__mro__) + made(x).energy() * len(made.__mro__) * made.weight


def by_name(x):
    return x[0] * globals()["RATE_SLOW"] + x[1] * vars(sys.modules[__name__])["RATE_FAST"] + x[2] * vars(math)["pi"]


def names_of_a_library(x):
    return x[0] * len([n for n in vars(math) if n.startswith("log")])


class Registering(abc.ABC):
    @abc.abstractmethod
    def energy(self): ...


@Registering.register
class Registered:
    pass


def registered(x):
    return x[0] * issubclass(Registered, Registering) + x[1] * isinstance(Registered(), Registering) + x[2]


TOLD = [
    attributes_of_all_bases, of_all_derived, lengths, of_inspect, by_identity, methods_of_bases, classes_made_inside,
    by_name, names_of_a_library, registered,
]  # fmt: skip
ALL_NAMES = {
    "items": lambda x: x[0] * sum(v for n, v in globals().items() if n.startswith("RATE_")),
    "names": lambda x: x[0] * len([n for n in globals() if n.startswith("RATE_")]),
    "a copy": lambda x: x[0] * dict(globals())["RATE_SLOW"],
    "joined": lambda x: x[0] * {**globals()}["RATE_SLOW"],
    "of the module": lambda x: x[0] * sum(v for n, v in vars(sys.modules[__name__]).items() if n.startswith("RATE_")),
    "of a function": lambda x: x[0] * len(by_name.__globals__),
}


@pytest.mark.parametrize("f", TOLD, ids=lambda f: f.__name__)
def test_classes_are_those_of_the_program(f):
    x = np.array([0.5, 0.7, 0.9])
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == pytest.approx(f(x), rel=1e-14)
    slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-8, atol=1e-8)


def test_classes_say_nothing_of_what_stands_in_for_them():
    planned_ad.compile(of_all_derived, (np.array([0.5, 0.7, 0.9]),))
    assert Model.__subclasses__() == [Sub, Other]


@pytest.mark.parametrize("name", ALL_NAMES)
def test_what_goes_through_all_names_is_refused(name):
    with pytest.raises(UnsupportedError, match=r"test_class_relations.py:\d+ in .*: goes through all names of"):
        planned_ad.compile(ALL_NAMES[name], (np.array([0.5, 0.7, 0.9]),), check=False)


def test_tracebacks_through_traced_code_are_shown():
    def f(x):
        return np.sum(x @ np.ones(7))

    with pytest.raises(ValueError) as raised:
        planned_ad.compile(f, (np.ones(3),))
    linecache.clearcache()
    assert "in f" in "".join(traceback.format_exception(raised.value))


def told_by_a_traceback(x):
    try:
        int("a")
    except ValueError:
        linecache.clearcache()
        return x[0] * ("ValueError" in traceback.format_exc())
    return x[1]


def test_tracebacks_are_formatted_in_traced_code():
    x = np.array([0.5, 0.7])
    assert planned_ad.compile(told_by_a_traceback, (x,), check=False)(x) == told_by_a_traceback(x)
