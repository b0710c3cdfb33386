"""Classes are themselves where a program compares them with `is` or `id`, whatever the tracer has in their place."""

from __future__ import annotations

import abc
import operator
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace


class Model:
    def __init__(self, weights):
        self.weights = weights


class Base(metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def evaluate(self): ...


MODEL = Model(3.0)

ANSWERS: list[Callable] = [
    lambda x: (3).__class__ is int,
    lambda x: (3).__class__ is not int,
    lambda x: x.dtype.type is np.float64,
    lambda x: np.dtype(int).type is np.int64 and np.arange(3).dtype.type is np.int64,
    lambda x: x[0].__class__ is np.float64 and float(x[0]).__class__ is float,
    lambda x: type(x) is x.__class__ is np.ndarray,
    lambda x: (2).__class__ is int is not float,
    lambda x: (3).__class__ is type(4) and type(4) is int,  # noqa: UP003
    lambda x: type(int) is type and int.__class__ is type and type(type(x)) is type,
    lambda x: type(np.float64) is type and isinstance(int, type),
    lambda x: bool.__base__ is int and int.__mro__[0] is int,
    lambda x: operator.is_((3).__class__, int) and not operator.is_not((3).__class__, int),
    lambda x: id((3).__class__) == id(int),
    lambda x: (3).__class__ == int == type(3) and (3).__class__ in (float, int),  # noqa: E721, UP003
    lambda x: {int: True, float: False}[(3).__class__],
    lambda x: range(3).__class__ is range and type(range(3)) is range,
    lambda x: zip(x, x).__class__ is zip and type(zip(x, x)) is zip,
    lambda x: enumerate(x).__class__ is enumerate and reversed(x).__class__ is reversed,
    lambda x: [x[0]].__class__ is list,
    lambda x: type(MODEL) is Model and MODEL.__class__ is Model and type(Model(x)) is Model,
    lambda x: type(Model) is type and Model.__class__ is type,
    lambda x: type(Base) is abc.ABCMeta and Base.__class__ is abc.ABCMeta,
    lambda x: type(made := type("Made", (), {})) is type and type(made()) is made,
    lambda x: (lambda v: v.__class__ is int)(3),
    lambda x: (x is None) is False and ((c := x.dtype.type) is np.float64 and c is not int),
    lambda x: (y := x) is x and y[:] is not x,
    lambda x: np.sin is np.sin and np.sin is not np.cos,
]


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
def test_classes_are_themselves(answer: Callable, unroll: int) -> None:
    def f(x):
        total = x[0] if answer(x) else x[1]
        for v in x:
            total += v * (2.0 if answer(x) else 3.0)
        return total

    x = np.array([1.0, 2.0, 4.0])
    plan = planned_ad.compile(f, (x,), unroll=unroll, check=False)
    assert plan(x) == f(x)


def test_loops_that_compare_classes_stay_loops() -> None:
    def f(x):
        total = 0.0
        for k in range(len(x)):
            total += x[k] if k.__class__ is int and x.dtype.type is np.float64 else 2.0 * x[k]
        return total

    found = trace(f, (np.arange(40.0),), unroll=0)
    assert found.rolled and not found.unrolled


@pytest.mark.parametrize("on_branch", ["retrace", "record"])
def test_truths_of_numpy_are_one_of_two_objects(on_branch: str) -> None:
    def f(x):
        total = 0.0
        for v in x:
            b = v > 0.5
            if b is np.True_:
                total += v * v
            if b is not np.False_ or (v < 0.1) is np.True_:
                total += 3.0 * v
        return total

    rng = np.random.default_rng(0)
    for n in (5, 30):
        plan = planned_ad.compile(f, (rng.random(n),), check=False, on_branch=on_branch)
        for x in rng.random((6, n)):
            assert plan(x) == pytest.approx(f(x))
