"""Objects as arguments: their shadows, and what a call puts into their attributes, are machine code's."""

from __future__ import annotations

import copy
import enum
import functools
import gc
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError, OverlapError


class Plain:
    def __init__(self, a, b, n=3, name="x"):
        self.a, self.b, self.n, self.name = a, b, n, name


class Slotted:
    __slots__ = ("a", "b", "n", "name")

    def __init__(self, a, b, n=3, name="x"):
        self.a, self.b, self.n, self.name = a, b, n, name


@dataclass
class Record:
    a: Any
    b: Any
    n: int = 3
    name: str = "x"


@dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any
    n: int = 3
    name: str = "x"


@dataclass(frozen=True, slots=True)
class FrozenSlots:
    a: Any
    b: Any
    n: int = 3
    name: str = "x"


class Guarded:
    """Its own way to set attributes refuses; what a call leaves there is no business of it."""

    def __init__(self, a, b, n=3, name="x"):
        self.__dict__.update(a=a, b=b, n=n, name=name)

    def __setattr__(self, name, value):
        raise AttributeError(name)


class Named(NamedTuple):
    a: Any
    b: Any
    n: int = 3
    name: str = "x"


def namespace(a, b, n=3, name="x"):
    return types.SimpleNamespace(a=a, b=b, n=n, name=name)


KINDS = (Plain, Slotted, Record, Frozen, FrozenSlots, Guarded, Named, namespace)


def loss(p, x):
    return p.a**p.n * np.sum(x * p.b) + len(p.name) * p.a


def of_parts(a, b, x):
    return a**3 * np.sum(x * b) + a


class Slow(Exception):
    """A call went through Python."""


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise Slow

    monkeypatch.setattr("planned_ad.plan.replay", refuse)


def parts(p: Any) -> tuple:
    return tuple(getattr(p, name) for name in ("a", "b", "n", "name"))


@pytest.mark.parametrize("kind", KINDS)
def test_shadows(kind: Callable, fast: None) -> None:
    """New ones, with what is inactive in them as it was passed, and those that are passed."""
    x = np.linspace(1.0, 2.0, 4)
    plan = planned_ad.compile(loss, (kind(1.5, x + 1), x))
    expected = planned_ad.compile(of_parts, (1.5, x + 1, x))
    for a in (1.5, np.float64(-0.7)):
        p = kind(a, x * a)
        value, (da, db, dx) = expected.value_and_gradient(a, x * a, x)
        got, (shadow, other) = plan.value_and_gradient(p, x)
        assert got == value
        assert type(shadow) is type(p)
        assert parts(shadow)[0] == da and type(parts(shadow)[0]) is float
        np.testing.assert_array_equal(parts(shadow)[1], db)
        assert parts(shadow)[2:] == (3, "x")
        np.testing.assert_array_equal(other, dx)
        given = kind(9.0, np.empty(4))
        shadow, other = plan.gradient(p, x, given, np.empty(4))
        assert (shadow is given) == (kind not in (Frozen, FrozenSlots, Named))
        assert parts(shadow)[0] == da and parts(shadow)[1] is parts(given)[1]
        np.testing.assert_array_equal(parts(shadow)[1], db)
        assert parts(p)[0] is a


def test_functions_and_members_of_enums_are_in_the_shadow(fast: None) -> None:
    class Mode(enum.Enum):
        PLAIN, TWICE = 1, 2

    def f(model):
        return np.sum(model["act"](model["w"].a)) * (2.0 if model["mode"] is Mode.TWICE else 1.0)

    example = {"act": np.tanh, "w": Plain(np.ones(3), 0.0), "mode": Mode.TWICE}
    plan = planned_ad.compile(f, (example,))
    for given in ((), (plan.gradient(example),)):
        shadow = plan.gradient(example, *given)
        assert shadow["act"] is np.tanh and shadow["mode"] is Mode.TWICE
        np.testing.assert_allclose(shadow["w"].a, 2.0 / np.cosh(1.0) ** 2 * np.ones(3))


def test_what_is_inactive_is_in_the_shadow(fast: None) -> None:
    def f(tree):
        return tree["p"].a * tree["c"] * np.sum(tree["p"].b) * len(tree["q"])

    held, c = np.arange(3), 2.5
    example = {"p": Plain(1.0, held), "c": planned_ad.Const(c), "q": (1, [planned_ad.Const(np.ones(2))])}
    plan = planned_ad.compile(f, (example,))
    passed = {"p": Plain(3.0, np.arange(3) + 1), "c": 4.0, "q": (1, [np.ones(2)])}
    shadow = plan.gradient(passed)
    assert shadow["p"].a == 48.0 and shadow["p"].b is passed["p"].b
    assert shadow["c"] == 4.0 and shadow["q"][1][0] is passed["q"][1][0]


class Body:
    def __init__(self, x=1.0, v=0.5):
        self.t, self.x, self.v, self.k = 0.0, x, v, 2.0

    def step(self, dt):
        self.v -= self.k * self.x * dt
        self.x += self.v * dt
        self.t += dt


class SlottedBody:
    __slots__ = ("k", "t", "v", "x")
    __init__, step = Body.__init__, Body.step


def run(body, dt):
    for _ in range(5):
        body.step(dt)
    return body.x**2 + body.v**2


def run_all(bodies, dt):
    total = 0.0
    for body in bodies:
        total += run(body, dt)
    return total


def state(body: Any) -> list[tuple[type, float]]:
    return [(type(getattr(body, name)), getattr(body, name)) for name in ("t", "x", "v", "k")]


@pytest.mark.parametrize("kind", (Body, SlottedBody))
def test_numbers_that_a_call_puts_into_an_object(kind: type, fast: None) -> None:
    plan = planned_ad.compile(run, (kind(), 0.1))
    kept = planned_ad.compile(run, (kind(), 0.1), preserve_args=True)
    body, other = kind(), kind()
    for call in (plan, plan.gradient, plan.value_and_gradient, plan):
        before, expected = state(body), run(other, 0.1)
        got = kept(body, 0.1)
        assert got == pytest.approx(expected, rel=1e-14) and state(body) == before
        call(body, 0.1)
        assert [t for t, _ in state(body)] == [t for t, _ in state(other)]
        assert [v for _, v in state(body)] == pytest.approx([v for _, v in state(other)], rel=1e-14)


def test_derivatives_of_objects_that_change(fast: None) -> None:
    plan = planned_ad.compile(run, (Body(), 0.1))
    shadow, slope = plan.gradient(Body(1.2, 0.3), 0.1)
    for name in ("x", "v", "k"):
        up, down = Body(1.2, 0.3), Body(1.2, 0.3)
        setattr(up, name, getattr(up, name) + 1e-6)
        setattr(down, name, getattr(down, name) - 1e-6)
        assert getattr(shadow, name) == pytest.approx((run(up, 0.1) - run(down, 0.1)) / 2e-6, rel=1e-6)
    assert slope == pytest.approx((run(Body(1.2, 0.3), 0.1 + 1e-6) - run(Body(1.2, 0.3), 0.1 - 1e-6)) / 2e-6, rel=1e-6)


def test_objects_in_containers(fast: None) -> None:
    plan = planned_ad.compile(run_all, ([Body(x) for x in (1.0, 2.0, 3.0)], 0.1))
    for _ in range(2):
        bodies, others = ([Body(x) for x in (1.0, 1.5, 2.0)] for _ in range(2))
        tied = tuple(bodies)
        assert plan(bodies, 0.1) == pytest.approx(run_all(others, 0.1), rel=1e-14)
        assert all(a is b for a, b in zip(bodies, tied))
        for a, b in zip(bodies, others):
            assert [v for _, v in state(a)] == pytest.approx([v for _, v in state(b)], rel=1e-14)


class Heat:
    def __init__(self, n=8):
        self.u, self.old = np.sin(np.linspace(0.0, 3.0, n)), np.zeros(n)
        self.k, self.t = 0.1, 0.0

    def step(self, dt):
        new = self.u.copy()
        new[1:-1] += dt * self.k * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])
        self.old, self.u = self.u, new
        self.t += dt


class Wave:
    """Two arrays that change places; one more that a new one replaces, complex, not in C order."""

    def __init__(self, n=8):
        self.a, self.b = np.sin(np.linspace(0.0, 3.0, n)), np.zeros(n)
        self.c = np.asfortranarray(np.ones((2, 3)) * (1 + 1j))

    def step(self, dt):
        self.b[:] = 2 * self.a - self.b * dt
        self.a, self.b = self.b, self.a


class Turned(Wave):
    def step(self, dt):
        self.c = self.c * (1 + dt * 1j)
        self.a = self.b + np.abs(self.c[1, 2])


def summed(o, dt):
    for _ in range(3):
        o.step(dt)
    arrays = [o.u, o.old] if isinstance(o, Heat) else [o.a, o.b, np.abs(o.c)]
    return sum(np.sum((k + 1.0) * a**2) for k, a in enumerate(arrays))


def attributes(o: Any) -> dict[str, Any]:
    return dict(vars(o))


@pytest.mark.parametrize("kind", (Heat, Wave, Turned))
def test_arrays_that_a_call_puts_into_an_object(kind: type, fast: None) -> None:
    plan = planned_ad.compile(summed, (kind(), 0.1))
    kept = planned_ad.compile(summed, (kind(), 0.1), preserve_args=True)
    ours, theirs = kind(), kind()
    for call in (plan, plan, plan.gradient):
        before = attributes(ours)
        entries = {name: np.copy(value) for name, value in before.items()}
        expected = summed(theirs, 0.1)
        assert kept(ours, 0.1) == pytest.approx(expected, rel=1e-13)
        for name, value in attributes(ours).items():
            assert value is before[name]
            np.testing.assert_array_equal(value, entries[name])
        call(ours, 0.1)
        for name, value in attributes(theirs).items():
            np.testing.assert_allclose(getattr(ours, name), value, rtol=1e-13, atol=1e-300)
    if kind is Wave:
        assert ours.a is before["b"] and ours.b is before["a"]
    else:
        np.testing.assert_array_equal(before["u" if kind is Heat else "c"], entries["u" if kind is Heat else "c"])
    got, _ = plan.gradient(kind(), 0.1)
    expected, _ = kept.gradient(kind(), 0.1)
    for name, value in attributes(expected).items():
        np.testing.assert_allclose(getattr(got, name), value, rtol=1e-13, atol=1e-300)


def test_objects_that_exchange_arrays(fast: None) -> None:
    def exchanged(pair, dt):
        a, b = pair
        a.u, b.u = b.u, a.u * dt
        return np.sum(a.u * b.u)

    plan = planned_ad.compile(exchanged, ([Heat(), Heat()], 0.1))
    ours, theirs = ([Heat(), Heat()] for _ in range(2))
    for k, o in enumerate((*ours, *theirs)):
        o.u = np.arange(8.0) + k % 2
    for _ in range(3):
        assert plan(ours, 0.1) == pytest.approx(exchanged(theirs, 0.1), rel=1e-14)
        for mine, other in zip(ours, theirs):
            np.testing.assert_allclose(mine.u, other.u, rtol=1e-14)


def test_the_types_of_numbers() -> None:
    """A NumPy number where the function leaves one, an int where it does: the first by machine code."""

    def f(p, x):
        p.a = np.sum(x) * p.a
        p.n = 7
        return p.a

    def g(p, x):
        p.a = 4
        return np.sum(x)

    x = np.arange(3.0)
    for function, n in ((f, 7), (g, 3)):
        ours, theirs = Plain(2.0, 1.0, n), Plain(2.0, 1.0, n)
        plan = planned_ad.compile(function, (copy.copy(ours), x))
        assert plan(ours, x) == function(theirs, x)
        assert [(type(v), v) for v in parts(ours)] == [(type(v), v) for v in parts(theirs)]


def test_an_object_in_two_places() -> None:
    """Each place would have a number of its own."""
    plan = planned_ad.compile(run_all, ([Body(), Body()], 0.1))
    body = Body()
    with pytest.raises(ArgumentError):
        plan([body, body], 0.1)
    with pytest.raises(ArgumentError):
        plan.gradient([Body(), Body()], 0.1, [body, body])
    assert state(body) == state(Body())

    def both(a, b):
        a.step(0.1)
        return a.x * b.x

    plan = planned_ad.compile(both, (Body(), Body()))
    with pytest.raises(OverlapError):
        plan(body, body)
    assert state(body) == state(Body())


def test_tuples_in_objects_stay_what_they_are() -> None:
    """A tuple around an object that changes is the one that was passed; one of numbers is another."""

    class Outer:
        def __init__(self):
            self.pair, self.inner = (1.0, 2.0), (Body(), 3.0)

    def f(o, dt):
        o.inner[0].step(dt)
        return o.inner[0].x * o.inner[1] * o.pair[0]

    def g(o, dt):
        o.pair = (o.pair[0] * dt, o.pair[1])
        return o.pair[0]

    for function in (f, g):
        plan = planned_ad.compile(function, (Outer(), 0.1))
        ours, theirs = Outer(), Outer()
        inner = ours.inner
        assert plan(ours, 0.1) == pytest.approx(function(theirs, 0.1), rel=1e-14)
        assert ours.inner is inner and ours.pair == theirs.pair
        assert ours.inner[0].x == pytest.approx(theirs.inner[0].x, rel=1e-14)


@pytest.mark.parametrize("kind", (Plain, Slotted, Frozen))
def test_nothing_is_left_behind(kind: type) -> None:
    x = np.ones(3)
    plan, p = planned_ad.compile(loss, (kind(1.0, x), x)), kind(1.0, x)
    stepping, body, shadow = planned_ad.compile(run, (Body(), 0.1)), Body(), Body()
    given = kind(1.0, x.copy()), x.copy()
    heat, wave, turned = Heat(), Wave(), Turned()
    of_arrays = [planned_ad.compile(summed, (copy.copy(o), 1e-9)) for o in (heat, wave, turned)]
    calls = (
        lambda: plan.gradient(p, x),
        lambda: plan.gradient(p, x, *given),
        lambda: stepping(body, 1e-9),
        lambda: stepping.gradient(body, 1e-9, shadow),
        *(functools.partial(p.gradient, o, 1e-9) for p, o in zip(of_arrays, (heat, wave, turned))),
    )
    for call in calls:
        for _ in range(20):
            call()
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(2000):
            call()
        gc.collect()
        assert sys.getallocatedblocks() - before < 100
