"""Programs, classes and globals that tests of the shadow namespace reach."""

import abc
import dataclasses
import functools
import math
import typing

import numpy as np

from planned_ad.python.namespace import Namespace

# The replaced function is math.exp. Under tracing it returns a number that the real one cannot, so that a result tells
# which code ran.
TRACED = -7.0


class WrappedArray:
    """What the tests' namespaces make of an array."""

    def __init__(self, array, name):
        self.array = array
        self.name = name


WrappedArray.__module__ = "planned_ad.testing"  # as tracers are, a library's class


def traced_exp(x):
    return TRACED


def make_namespace(refuse=None, **more):
    replacements = {id(math.exp): traced_exp}
    for real, seen in more.get("replacements", ()):
        replacements[id(real)] = seen
    return Namespace(replacements, WrappedArray, refuse)


def run(f, *args):
    return make_namespace().function(f)(*args)


# Globals that the programs below read

exp = math.exp
K = np.arange(3.0)


def helper(x):
    return math.exp(x)


class Base:
    scale = K

    def __init__(self, w):
        super().__init__()
        self.w = w
        self.start = math.exp(0)

    def value(self, x):
        return math.exp(x)

    def describe(self):
        return type(self).__name__


class Model(Base):
    def __init__(self, w):
        super().__init__(w)
        self.model_start = math.exp(0)

    def value(self, x):
        return ("model", super().value(x))

    def __call__(self, x):
        return self.value(x)

    def __add__(self, other):
        return math.exp(0)

    @property
    def energy(self):
        return math.exp(0)

    @functools.cached_property
    def cached(self):
        return math.exp(0)

    @staticmethod
    def static(x):
        return math.exp(x)

    @classmethod
    def build(cls):
        return cls(1.0)


MODEL = Model(K)


@dataclasses.dataclass
class Point:
    x: float
    y: float = dataclasses.field(default_factory=lambda: math.exp(0))

    def norm(self):
        return math.exp(self.x)


class State(typing.NamedTuple):
    x: float

    def norm(self):
        return math.exp(self.x)


class Parent:
    def __init__(self, x):
        self.x = x

    def __call__(self):
        return math.exp(0)

    def __getitem__(self, index):
        return math.exp(0)

    def __neg__(self):
        return math.exp(0)

    def __hash__(self):
        return int(math.exp(0))


class Abstract(abc.ABC):
    @abc.abstractmethod
    def value(self): ...

    def twice(self):
        return self.value()


def by_attribute(x):
    return math.exp(x)
