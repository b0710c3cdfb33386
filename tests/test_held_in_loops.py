"""Functions, named tuples and texts that variables hold in turn in a loop: what is one thing to the program."""

from __future__ import annotations

import collections
import enum
import math
from collections.abc import Callable

import numpy as np
import pytest

from .interpreted_plans import assert_right
from .sweeps import name_of

SIZE = 24
NAMES = np.array(["up", "down"])


class Mode(str, enum.Enum):  # noqa: UP042 (as people write it)
    UP = "up"
    DOWN = "down"


class Quiet(str):
    """Texts that are equal whatever their case."""

    def __eq__(self, other):
        return str(self).lower() == str(other).lower()

    __hash__ = str.__hash__


class Widened(collections.namedtuple("Widened", "low high")):
    def __new__(cls, low, high):
        return super().__new__(cls, low - 0.1, high + 0.1)


class Step(collections.namedtuple("Step", "a b")):
    weight = 1.0


def by_keyword(scale):
    def g(v, *, scale=scale):
        return v * scale

    return g


def by_default(sign):
    def g(v, sign=sign):
        return v * np.copysign(1.0, sign)

    return g


def keyword_defaults(x):
    g, s = by_keyword(1.0), 0.0
    for v in x:
        s += g(v)
        g = by_keyword(2.0)
    return s


def signs_of_defaults(x):
    g, s = by_default(0.0), 0.0
    for v in x:
        s += g(v)
        g = by_default(-0.0)
    return s


def attributes_of_functions(x):
    def made(scale):
        def g(v):
            return v

        g.scale = scale
        return g

    g, s = made(1.0), 0.0
    for v in x:
        s += g(v) * g.scale
        g = made(3.0)
    return s


def names_of_functions(x):
    def named(name):
        def g(v):
            return v

        g.__name__ = name
        return g

    g, s = named("first"), 0.0
    for v in x:
        s += g(v) if g.__name__ == "first" else 2.0 * g(v)
        g = named("second")
    return s


def made_by_their_class(x):
    p, s = Widened(0.0, 1.0), 0.0
    for v in x:
        s += p.low * v + p.high
        p = Widened(v, v * v)
    return s


def with_attributes(x):
    p, s = Step(0.5, 1.0), 0.0
    for v in x:
        s += p.a * p.weight
        p = Step(v, 1.0)
        if v > 0.5:
            p.weight = 3.0
    return s


def members_of_enumerations(x):
    mode, s = "up", 0.0
    for v in x:
        s += v if mode == Mode.UP else 2.0 * v * v
        s += 0.5 * v if mode != Mode.DOWN else v**3
        mode = "down" if v > 0.5 else "up"
    return s


def texts_of_arrays(x):
    mode, s = "up", 0.0
    for v in x:
        s += v if mode == NAMES[0] else 2.0 * v * v
        s += v**2 if mode in NAMES[1:] else 0.0
        mode = "down" if v > 0.5 else "up"
    return s


def texts_with_a_rule_of_their_own(x):
    mode, s = "up", 0.0
    for v in x:
        s += v if mode == Quiet("UP") else 2.0 * v * v
        mode = "down" if v > 0.5 else "up"
    return s


def close_to_infinity(x):
    before, s = math.inf, 0.0
    for v in x:
        s = 0.5 * (s + v)
        if math.isclose(before, s, rel_tol=1e-6):
            break
        s += 0.1 * math.isclose(math.inf, before) + 0.2 * math.isclose(-before, before) + math.isclose(v, v)
        before = s
    return s


def checked(v, strict):
    if v > 0.5:
        if strict:
            raise ValueError("too large")
        return 0.5 * v
    return v


def checked_at_once(v, strict):
    if v > 0.5 and strict:
        raise ValueError("too large")
    return 0.5 * v


def errors_on_some_ways(x):
    s = 0.0
    for i in range(3):
        for v in x:
            if i == 1 or v < 0.5:
                s += checked(v, i != 1) * v + checked_at_once(v, i != 1)
    return s


PROGRAMS = [
    keyword_defaults, signs_of_defaults, attributes_of_functions, names_of_functions, made_by_their_class,
    with_attributes, members_of_enumerations, texts_of_arrays, texts_with_a_rule_of_their_own, close_to_infinity,
    errors_on_some_ways,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=name_of)
def test_what_they_hold_is_told_apart(f: Callable) -> None:
    assert_right(f, SIZE, 1, 16)
    assert_right(f, SIZE, 1, 0)
